//! Multicast: the same bytes for several ranks.
//!
//! Ranks of this host get them by a copy each. To each other host with several of them the bytes travel once: one of the ranks there
//! writes them for all, since it has the memory of the others mapped.

use super::partial::{Units, check_local, push_changes, push_changes_at, push_parts};
use super::port::Port;
use super::raw::RawPort;
use super::symmetric::Symmetric;
use crate::error::{Error, Result};
use crate::ni::reach::place::{Place, Reach};
use crate::ni::state::party::Party;
use crate::ni::wire::operation::Data;
use crate::ni::wire::shape::Shape;
use crate::ni::wire::target::Target;
use crate::{Bitmap, Stride, Twin};
use bytemuck::Pod;

/// Ranks that get the same by a multicast. Made once by [`Port::recipients`], and used any number of times.
#[derive(Clone, Debug)]
pub struct Recipients {
    job: u64,
    ranks: Vec<usize>,
    near: Vec<usize>,
    far: Vec<Party>,
}

impl Recipients {
    /// The ranks, in the order of their numbers.
    pub fn ranks(&self) -> &[usize] {
        &self.ranks
    }
}

impl Port {
    /// Ranks for a multicast, in any order; this rank may be one of them.
    ///
    /// ```
    /// # hikyaku::local(4, |job| {
    /// let odd = job.recipients(&[3, 1])?;
    /// assert_eq!(odd.ranks(), [1, 3]);
    /// assert!(job.recipients(&[1, 1]).is_err()); // twice
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn recipients(&self, ranks: &[usize]) -> Result<Recipients> {
        let ni = &self.initiator.ni;
        let mut ranks = ranks.to_vec();
        ranks.sort_unstable();
        if let Some(twice) = ranks.windows(2).find(|two| two[0] == two[1]) {
            return Err(Error::Invalid(format!("rank {} is named twice", twice[0])));
        }
        ranks.iter().try_for_each(|rank| ni.check_rank(*rank))?;
        let near = ranks.iter().copied().filter(|rank| ni.is_near(*rank)).collect();
        let far = Party::all(&ni.routes, |rank| ranks.binary_search(&rank).is_ok());
        Ok(Recipients { job: ni.ground, ranks, near, far })
    }

    /// Writes `data` to the elements from `index` on of each recipient's part of a symmetric area. `data` may be reused when the call
    /// returns. After the next [`Port::sync`] or barrier all of it is there.
    ///
    /// To another host it travels once, whatever the number of recipients there, and one of them writes for all. So it is not ordered
    /// with other pushes and words, which go to each rank by itself; [`Port::multicast_notify`] writes a word after the data.
    ///
    /// ```
    /// hikyaku::local(4, |job| {
    ///     let table = job.symmetric::<u64>(10)?;
    ///     let others = job.recipients(&[1, 2, 3])?;
    ///     if job.rank() == 0 {
    ///         job.multicast(&others, &table, 2, &[7, 8])?;
    ///     }
    ///     job.barrier()?;
    ///     assert_eq!(table.get(3), if job.rank() == 0 { 0 } else { 8 });
    ///     job.barrier()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// When there are not as many elements, or a rank that would write for others is gone; then some recipients may have the data.
    pub fn multicast<T: Pod>(&self, to: &Recipients, area: &Symmetric<T>, index: usize, data: &[T]) -> Result<()> {
        // SAFETY: a live slice.
        unsafe { multicast(self, to, |rank| area.at(rank, index), (data.as_ptr(), data.len()), None) }
    }

    /// [`Port::multicast`], then `value` is written to a word of each recipient: whoever sees the word sees the data.
    ///
    /// ```
    /// hikyaku::local(3, |job| {
    ///     let (table, flag) = (job.symmetric::<f64>(100)?, job.symmetric::<u64>(1)?);
    ///     if job.rank() == 0 {
    ///         job.multicast_notify(&job.recipients(&[1, 2])?, &table, 0, &[1.5; 100], (&flag, 0), 1)?;
    ///     } else {
    ///         job.wait(flag.here(0), hikyaku::Until::Equal(1))?;
    ///         assert_eq!(table.get(99), 1.5);
    ///     }
    ///     job.barrier()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`Port::multicast`], and when there is no such word.
    pub fn multicast_notify<T: Pod>(
        &self,
        to: &Recipients,
        area: &Symmetric<T>,
        index: usize,
        data: &[T],
        (flag, flag_index): (&Symmetric<u64>, usize),
        value: u64,
    ) -> Result<()> {
        let word: Word<'_> = &|rank| Ok(flag.at(rank, flag_index));
        // SAFETY: a live slice.
        unsafe { multicast(self, to, |rank| area.at(rank, index), (data.as_ptr(), data.len()), Some((word, value))) }
    }

    /// [`Port::push_stride`] to each recipient's part of a symmetric area, from `index` on. Done when [`Port::multicast`] is.
    ///
    /// # Errors
    /// Those of both.
    pub fn multicast_stride<T: Pod>(
        &self,
        to: &Recipients,
        area: &Symmetric<T>,
        index: usize,
        data: &[T],
        stride: Stride,
    ) -> Result<()> {
        let shape = stride.checked_shape(data)?;
        // SAFETY: all blocks are in a live slice.
        unsafe {
            multicast_parts(self, to, |rank| area.at(rank, index), stride.span_there(), &shape, data.as_ptr().cast())
        }
    }

    /// [`Port::push_bitmap`] to each recipient's part of a symmetric area, from `index` on. Done when [`Port::multicast`] is.
    ///
    /// # Errors
    /// Those of both.
    pub fn multicast_bitmap<T: Pod>(
        &self,
        to: &Recipients,
        area: &Symmetric<T>,
        index: usize,
        data: &[T],
        marked: &Bitmap,
    ) -> Result<()> {
        check_local(marked.len(), data.len())?;
        let shape = Shape::Marked { unit: size_of::<T>(), marks: marked.marks() };
        // SAFETY: all elements are in a live slice.
        unsafe { multicast_parts(self, to, |rank| area.at(rank, index), marked.len(), &shape, data.as_ptr().cast()) }
    }

    /// [`Port::push_diff`] to each recipient's part of a symmetric area, from `index` on: those elements of `data` that differ from its
    /// twin; how many they were. Done when [`Port::multicast`] is.
    ///
    /// ```
    /// hikyaku::local(3, |job| {
    ///     // Every rank has a copy of the table, changes its own element, and tells all.
    ///     let table = job.symmetric::<u32>(3)?;
    ///     let all = job.recipients(&[0, 1, 2])?;
    ///     let mut mine = table.to_vec();
    ///     let mut twin = hikyaku::Twin::of(&mine);
    ///     mine[job.rank()] = 10 + job.rank() as u32;
    ///     assert_eq!(job.multicast_diff(&all, &table, 0, &mine, &mut twin)?, 1);
    ///     job.barrier()?;
    ///     assert_eq!(table.to_vec(), [10, 11, 12]);
    ///     job.barrier()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// Those of both.
    pub fn multicast_diff<T: Pod>(
        &self,
        to: &Recipients,
        area: &Symmetric<T>,
        index: usize,
        data: &[T],
        twin: &mut Twin<T>,
    ) -> Result<usize> {
        twin.check_of(data)?;
        let unit = size_of::<T>();
        if unit == 0 {
            return Ok(0);
        }
        // Any element begins at a byte.
        let first = area.at(self.rank(), index).cast::<u8>()?;
        let at = |rank| Place { rank, ..first };
        check(self, to, &at, size_of_val(data))?;
        push_changes(data, twin, |offset, now, shape| {
            let at = |rank| at(rank).plus(offset);
            // SAFETY: all units are in a live slice.
            unsafe { multicast_parts(self, to, at, now.len(), shape, now.as_ptr()) }
        })
    }
}

impl Port {
    /// [`Port::multicast_bitmap`] of units of any size.
    pub(crate) fn multicast_units(
        &self,
        to: &Recipients,
        area: (&Symmetric<u8>, usize),
        data: &[u8],
        marked: Units<'_>,
    ) -> Result<()> {
        check_local(marked.shape()?.1, data.len())?;
        // SAFETY: all units are in a live slice.
        unsafe { self.multicast_marked_from(to, area, data.as_ptr(), marked) }
    }
}

/// Multicasts of local memory that no slice can stand for, since peers may change it meanwhile. All lengths are in bytes.
pub trait RawMulticast: sealed::Sealed {
    /// [`Port::multicast`] of `bytes` bytes at `data`, and then a word of each recipient, if one is given: its area, its offset, and
    /// the value.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn multicast_from(
        &self,
        to: &Recipients,
        area: (&Symmetric<u8>, usize),
        data: *const u8,
        bytes: usize,
        word: Option<(&Symmetric<u8>, usize, u64)>,
    ) -> Result<()>;

    /// [`Port::multicast_stride`] from blocks at `data`.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn multicast_stride_from(
        &self,
        to: &Recipients,
        area: (&Symmetric<u8>, usize),
        data: *const u8,
        stride: Stride,
    ) -> Result<()>;

    /// [`Port::multicast_bitmap`] of units at `data`.
    ///
    /// # Safety
    /// Those that are marked can be read.
    unsafe fn multicast_marked_from(
        &self,
        to: &Recipients,
        area: (&Symmetric<u8>, usize),
        data: *const u8,
        marked: Units<'_>,
    ) -> Result<()>;

    /// [`Port::multicast_diff`] of as many bytes at `data` as the twin has, in units of `unit` bytes; how many units have changed.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn multicast_diff_from(
        &self,
        to: &Recipients,
        area: (&Symmetric<u8>, usize),
        data: *const u8,
        twin: &mut [u8],
        unit: usize,
    ) -> Result<usize>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Port {}
}

impl RawMulticast for Port {
    unsafe fn multicast_from(
        &self,
        to: &Recipients,
        (area, offset): (&Symmetric<u8>, usize),
        data: *const u8,
        bytes: usize,
        word: Option<(&Symmetric<u8>, usize, u64)>,
    ) -> Result<()> {
        let word = word.map(|(flag, at, value)| (move |rank| flag.at(rank, at).cast::<u64>(), value));
        let word = word.as_ref().map(|(flag, value)| (flag as Word<'_>, *value));
        // SAFETY: the caller's promise.
        unsafe { multicast(self, to, |rank| area.at(rank, offset), (data, bytes), word) }
    }

    unsafe fn multicast_stride_from(
        &self,
        to: &Recipients,
        (area, offset): (&Symmetric<u8>, usize),
        data: *const u8,
        stride: Stride,
    ) -> Result<()> {
        stride.check()?;
        // SAFETY: the caller's promise.
        unsafe { multicast_parts(self, to, |rank| area.at(rank, offset), stride.span_there(), &stride.shape(1), data) }
    }

    unsafe fn multicast_marked_from(
        &self,
        to: &Recipients,
        (area, offset): (&Symmetric<u8>, usize),
        data: *const u8,
        marked: Units<'_>,
    ) -> Result<()> {
        let (shape, bytes) = marked.shape()?;
        // SAFETY: the caller's promise.
        unsafe { multicast_parts(self, to, |rank| area.at(rank, offset), bytes, &shape, data) }
    }

    unsafe fn multicast_diff_from(
        &self,
        to: &Recipients,
        (area, offset): (&Symmetric<u8>, usize),
        data: *const u8,
        twin: &mut [u8],
        unit: usize,
    ) -> Result<usize> {
        check(self, to, &|rank| area.at(rank, offset), twin.len())?;
        // SAFETY: the caller's promise.
        unsafe {
            push_changes_at(data, twin, unit, |at, now, shape| {
                multicast_parts(self, to, |rank| area.at(rank, offset + at), now.len(), shape, now.as_ptr())
            })
        }
    }
}

/// A word of each rank.
type Word<'a> = &'a dyn Fn(usize) -> Result<Place<'a, u64>>;

/// # Safety
/// As many elements can be read from an address on; peers may change them meanwhile.
unsafe fn multicast<'a, T: Pod>(
    port: &Port,
    to: &Recipients,
    at: impl Fn(usize) -> Place<'a, T>,
    (data, len): (*const T, usize),
    word: Option<(Word<'_>, u64)>,
) -> Result<()> {
    if let (Some((word, _)), Some(rank)) = (word, to.ranks.first()) {
        port.initiator.ni.resolve(word(*rank)?, 1)?;
    }
    for_all(
        port,
        to,
        at,
        len,
        |place| match word {
            // SAFETY: the caller's promise.
            None => unsafe { port.push_from(place, data, len) },
            // SAFETY: as above.
            Some((word, value)) => unsafe { port.push_notify_from(place, data, len, word(place.rank)?, value) },
        },
        |target| {
            // SAFETY: as above.
            let data = unsafe { Data::shared(data.cast(), len * size_of::<T>()) };
            let Some((word, value)) = word else { return port.initiator.push_routed(target, data, None) };
            let Reach::Far(word) = port.initiator.ni.resolve(word(target.rank)?, 1)? else {
                unreachable!("symmetric memory of a far rank")
            };
            port.initiator.push_notify_routed(target, data, word.offset, value)
        },
    )
}

/// # Safety
/// All parts can be read from `data` on; they are within `count` elements there. Peers may change them meanwhile.
unsafe fn multicast_parts<'a, T: Pod>(
    port: &Port,
    to: &Recipients,
    at: impl Fn(usize) -> Place<'a, T>,
    count: usize,
    shape: &Shape<'_>,
    data: *const u8,
) -> Result<()> {
    for_all(
        port,
        to,
        at,
        count,
        // SAFETY: the caller's promise.
        |place| unsafe { push_parts(port, place, count, shape, data) },
        // SAFETY: as above.
        |target| unsafe { port.initiator.push_parts_routed(target, shape, data, None) },
    )
}

/// Before anything is written. Places are alike on all ranks, so it is enough to look at one.
fn check<'a, T>(port: &Port, to: &Recipients, at: &impl Fn(usize) -> Place<'a, T>, count: usize) -> Result<()> {
    let ni = &port.initiator.ni;
    if to.job != ni.ground {
        return Err(Error::ForeignArea);
    }
    to.ranks.first().map_or(Ok(()), |rank| ni.resolve(at(*rank), count).map(drop))
}

/// Does `near` for each recipient of this host and `far` for each party of another: the target is in the heaps of all its ranks.
fn for_all<'a, T>(
    port: &Port,
    to: &Recipients,
    at: impl Fn(usize) -> Place<'a, T>,
    count: usize,
    near: impl Fn(Place<'a, T>) -> Result<()>,
    far: impl Fn(Target) -> Result<()>,
) -> Result<()> {
    check(port, to, &at, count)?;
    let by = &port.initiator;
    // Those that take longer first.
    for party in &to.far {
        by.tick();
        let Reach::Far(target) = by.ni.resolve(at(by.ni.writer_of(party)), count)? else { unreachable!("a far rank") };
        let target = match party.ranks.len() {
            1 => target,
            _ => target.of_several(party.locals).ok_or_else(|| Error::Invalid("too many ranks on a host".into()))?,
        };
        far(target)?;
    }
    to.near.iter().try_for_each(|rank| near(at(*rank)))
}
