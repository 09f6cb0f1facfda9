//! Multicast: the same bytes for several ranks.
//!
//! Ranks of this host get them by a copy each. To each other host with several of them the bytes travel once: one of the ranks there
//! writes them for all, since it has the memory of the others mapped. That is so for symmetric memory, which is at the same place of every
//! heap. Areas of single ranks are anywhere, also in private memory, so what goes there goes to each by itself.

use super::partial::{Units, check_local, push_changes, push_changes_at, push_parts};
use super::parts::{ByteParts, Parts};
use super::port::Port;
use super::raw::RawPort;
use super::recipients::{Common, Recipients};
use crate::error::{Error, Result};
use crate::ni::reach::place::{Place, Reach};
use crate::ni::wire::operation::Data;
use crate::ni::wire::shape::Shape;
use crate::ni::wire::target::Target;
use crate::{Bitmap, Stride, Twin};
use bytemuck::Pod;

impl Port {
    /// Writes `data` to the elements from `index` on of each recipient's part of a symmetric area, or of areas of theirs
    /// ([`Port::open_areas`]). `data` may be reused when the call returns. After the next [`Port::sync`] or barrier all of it is there.
    ///
    /// To symmetric memory of another host it travels once, whatever the number of recipients there, and one of them writes for all. So it is not ordered
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
    pub fn multicast<T: Pod>(&self, to: &Recipients, area: &impl Common<T>, index: usize, data: &[T]) -> Result<()> {
        // SAFETY: a live slice.
        unsafe { multicast(self, to, |rank| area.part_of(rank, index), (data.as_ptr(), data.len()), None) }
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
        area: &impl Common<T>,
        index: usize,
        data: &[T],
        (flag, flag_index): (&impl Common<u64>, usize),
        value: u64,
    ) -> Result<()> {
        let word: Word<'_> = &|rank| flag.part_of(rank, flag_index);
        // SAFETY: a live slice.
        unsafe {
            multicast(self, to, |rank| area.part_of(rank, index), (data.as_ptr(), data.len()), Some((word, value)))
        }
    }

    /// [`Port::push_stride`] to each recipient's part of a symmetric area, or of areas, from `index` on. Done when [`Port::multicast`] is.
    ///
    /// # Errors
    /// Those of both.
    pub fn multicast_stride<T: Pod>(
        &self,
        to: &Recipients,
        area: &impl Common<T>,
        index: usize,
        data: &[T],
        stride: Stride,
    ) -> Result<()> {
        self.multicast_shaped(to, area, index, data, stride.into(), None)
    }

    /// [`Port::push_bitmap`] to each recipient's part of a symmetric area, or of areas, from `index` on. Done when [`Port::multicast`] is.
    ///
    /// # Errors
    /// Those of both.
    pub fn multicast_bitmap<T: Pod>(
        &self,
        to: &Recipients,
        area: &impl Common<T>,
        index: usize,
        data: &[T],
        marked: &Bitmap,
    ) -> Result<()> {
        self.multicast_shaped(to, area, index, data, marked.into(), None)
    }

    /// [`Port::multicast_stride`] or [`Port::multicast_bitmap`], then `value` is written to a word of each recipient: whoever sees the word sees
    /// all parts.
    ///
    /// ```
    /// hikyaku::local(3, |job| {
    ///     let (matrix, flag) = (job.symmetric::<f64>(20)?, job.symmetric::<u64>(1)?);
    ///     if job.rank() == 0 {
    ///         let column = hikyaku::Stride::new(1, 5, 4).here(1);
    ///         let others = job.recipients(&[1, 2])?;
    ///         job.multicast_parts_notify(&others, &matrix, 4, &[1.0, 2.0, 3.0, 4.0], column, (&flag, 0), 1)?;
    ///     } else {
    ///         job.wait(flag.here(0), hikyaku::Until::Equal(1))?;
    ///         assert_eq!((matrix.get(4), matrix.get(19)), (1.0, 4.0));
    ///     }
    ///     job.barrier()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// As those, and when there is no such word.
    #[allow(clippy::too_many_arguments, reason = "what goes where, and a word")]
    pub fn multicast_parts_notify<'p, T: Pod>(
        &self,
        to: &Recipients,
        area: &impl Common<T>,
        index: usize,
        data: &[T],
        parts: impl Into<Parts<'p>>,
        (flag, flag_index): (&impl Common<u64>, usize),
        value: u64,
    ) -> Result<()> {
        let word: Word<'_> = &|rank| flag.part_of(rank, flag_index);
        self.multicast_shaped(to, area, index, data, parts.into(), Some((word, value)))
    }

    fn multicast_shaped<T: Pod>(
        &self,
        to: &Recipients,
        area: &impl Common<T>,
        index: usize,
        data: &[T],
        parts: Parts<'_>,
        word: Option<(Word<'_>, u64)>,
    ) -> Result<()> {
        let (shape, span) = parts.checked_shape(data)?;
        let at = |rank| area.part_of(rank, index);
        // SAFETY: all parts are in a live slice.
        then_word(self, to, at, word, |for_others| unsafe {
            multicast_parts(self, to, at, (span, for_others), &shape, data.as_ptr().cast())
        })
    }

    /// [`Port::push_diff`] to each recipient's part of a symmetric area, or of areas, from `index` on: those elements of `data` that differ from its
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
        area: &impl Common<T>,
        index: usize,
        data: &[T],
        twin: &mut Twin<T>,
    ) -> Result<usize> {
        self.multicast_changes(to, area, index, data, twin, None)
    }

    /// [`Port::multicast_diff`], then `value` is written to a word of each recipient, also if nothing has changed: whoever sees the word sees
    /// all changes.
    ///
    /// # Errors
    /// As [`Port::multicast_diff`], and when there is no such word.
    #[allow(clippy::too_many_arguments, reason = "what goes where, and a word")]
    pub fn multicast_diff_notify<T: Pod>(
        &self,
        to: &Recipients,
        area: &impl Common<T>,
        index: usize,
        data: &[T],
        twin: &mut Twin<T>,
        (flag, flag_index): (&impl Common<u64>, usize),
        value: u64,
    ) -> Result<usize> {
        let word: Word<'_> = &|rank| flag.part_of(rank, flag_index);
        self.multicast_changes(to, area, index, data, twin, Some((word, value)))
    }

    fn multicast_changes<T: Pod>(
        &self,
        to: &Recipients,
        area: &impl Common<T>,
        index: usize,
        data: &[T],
        twin: &mut Twin<T>,
        word: Option<(Word<'_>, u64)>,
    ) -> Result<usize> {
        twin.check_of(data)?;
        let unit = size_of::<T>();
        if unit == 0 {
            return Ok(0);
        }
        let at = |rank| area.part_of(rank, index)?.cast::<u8>();
        check(self, to, &at, size_of_val(data))?;
        then_word(self, to, at, word, |for_others| {
            push_changes(data, twin, |offset, now, shape| {
                let at = |rank| Ok(at(rank)?.plus(offset));
                // SAFETY: all units are in a live slice.
                unsafe { multicast_parts(self, to, at, (now.len(), for_others), shape, now.as_ptr()) }
            })
        })
    }
}

impl Port {
    /// [`Port::multicast_bitmap`] of units of any size.
    pub(crate) fn multicast_units(
        &self,
        to: &Recipients,
        area: (&dyn Common<u8>, usize),
        data: &[u8],
        marked: Units<'_>,
    ) -> Result<()> {
        check_local(marked.shape()?.1, data.len())?;
        // SAFETY: all units are in a live slice.
        unsafe { self.multicast_parts_from(to, area, data.as_ptr(), ByteParts::Marked(marked), None) }
    }
}

/// A word of each recipient: its area, its offset, and the value it gets.
pub type RawWord<'a> = Option<(&'a dyn Common<u8>, usize, u64)>;

/// Multicasts of local memory that no slice can stand for, since peers may change it meanwhile. All lengths are in bytes.
pub trait RawMulticast: sealed::Sealed {
    /// [`Port::multicast`] of `bytes` bytes at `data`, and then a word, if one is given.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn multicast_from(
        &self,
        to: &Recipients,
        area: (&dyn Common<u8>, usize),
        data: *const u8,
        bytes: usize,
        word: RawWord<'_>,
    ) -> Result<()>;

    /// [`Port::multicast_stride`] or [`Port::multicast_bitmap`] from `data`, and then a word.
    ///
    /// # Safety
    /// The parts can be read.
    unsafe fn multicast_parts_from(
        &self,
        to: &Recipients,
        area: (&dyn Common<u8>, usize),
        data: *const u8,
        parts: ByteParts<'_>,
        word: RawWord<'_>,
    ) -> Result<()>;

    /// [`Port::multicast_diff`] of as many bytes at `data` as the twin has, in units of `unit` bytes, and then a word; how many units have
    /// changed.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn multicast_diff_from(
        &self,
        to: &Recipients,
        area: (&dyn Common<u8>, usize),
        data: *const u8,
        twin: &mut [u8],
        unit: usize,
        word: RawWord<'_>,
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
        (area, offset): (&dyn Common<u8>, usize),
        data: *const u8,
        bytes: usize,
        word: RawWord<'_>,
    ) -> Result<()> {
        with_word(word, |word| {
            // SAFETY: the caller's promise.
            unsafe { multicast(self, to, |rank| area.part_of(rank, offset), (data, bytes), word) }
        })
    }

    unsafe fn multicast_parts_from(
        &self,
        to: &Recipients,
        (area, offset): (&dyn Common<u8>, usize),
        data: *const u8,
        parts: ByteParts<'_>,
        word: RawWord<'_>,
    ) -> Result<()> {
        let (shape, bytes) = parts.shape()?;
        let at = |rank| area.part_of(rank, offset);
        with_word(word, |word| {
            // SAFETY: the caller's promise.
            then_word(self, to, at, word, |for_others| unsafe {
                multicast_parts(self, to, at, (bytes, for_others), &shape, data)
            })
        })
    }

    unsafe fn multicast_diff_from(
        &self,
        to: &Recipients,
        (area, offset): (&dyn Common<u8>, usize),
        data: *const u8,
        twin: &mut [u8],
        unit: usize,
        word: RawWord<'_>,
    ) -> Result<usize> {
        let at = |rank| area.part_of(rank, offset);
        check(self, to, &at, twin.len())?;
        with_word(word, |word| {
            then_word(self, to, at, word, |for_others| {
                // SAFETY: the caller's promise; what is pushed is in a live slice.
                unsafe {
                    push_changes_at(data, twin, unit, |skipped, now, shape| {
                        let at = |rank| area.part_of(rank, offset + skipped);
                        multicast_parts(self, to, at, (now.len(), for_others), shape, now.as_ptr())
                    })
                }
            })
        })
    }
}

/// Goes on with a word that was given by its bytes.
fn with_word<R>(word: RawWord<'_>, go: impl FnOnce(Option<(Word<'_>, u64)>) -> R) -> R {
    match word {
        Some((flag, offset, value)) => go(Some((&|rank| flag.part_of(rank, offset)?.cast(), value))),
        None => go(None),
    }
}

/// Has `write` write to all recipients, then writes the word of each, if there is one, by whoever has written there. `write` is told whether
/// one may write for others.
fn then_word<'a, T: Pod, R>(
    port: &Port,
    to: &Recipients,
    at: impl Fn(usize) -> Result<Place<'a, T>>,
    word: Option<(Word<'_>, u64)>,
    write: impl FnOnce(bool) -> Result<R>,
) -> Result<R> {
    let Some((place, value)) = word else { return write(true) };
    // Before anything is written.
    check(port, to, &place, 1)?;
    let departures = port.initiator.ni.departures();
    let written = write(are_alike(to, &place)?)?;
    if port.initiator.ni.departures() != departures {
        // Another rank may write for a host from now on. What went to the one before it and was lost is an error here.
        port.sync()?;
    }
    let nothing = std::ptr::NonNull::<T>::dangling().as_ptr();
    // SAFETY: no elements.
    unsafe { multicast(port, to, at, (nothing, 0), Some((place, value)))? };
    Ok(written)
}

/// A word of each rank.
type Word<'a> = &'a dyn Fn(usize) -> Result<Place<'a, u64>>;

/// Whether places are the same in every heap: all of them are, or none.
fn are_alike<'a, T>(to: &Recipients, at: &impl Fn(usize) -> Result<Place<'a, T>>) -> Result<bool> {
    to.ranks.first().map_or(Ok(true), |rank| Ok(at(*rank)?.is_symmetric()))
}

/// # Safety
/// As many elements can be read from an address on; peers may change them meanwhile.
unsafe fn multicast<'a, T: Pod>(
    port: &Port,
    to: &Recipients,
    at: impl Fn(usize) -> Result<Place<'a, T>>,
    (data, len): (*const T, usize),
    word: Option<(Word<'_>, u64)>,
) -> Result<()> {
    let mut for_others = true;
    if let Some((word, _)) = word {
        check(port, to, &word, 1)?;
        for_others = are_alike(to, &word)?;
    }
    for_all(
        port,
        to,
        at,
        (len, for_others),
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
    at: impl Fn(usize) -> Result<Place<'a, T>>,
    (count, for_others): (usize, bool),
    shape: &Shape<'_>,
    data: *const u8,
) -> Result<()> {
    for_all(
        port,
        to,
        at,
        (count, for_others),
        // SAFETY: the caller's promise.
        |place| unsafe { push_parts(port, place, count, shape, data) },
        // SAFETY: as above.
        |target| unsafe { port.initiator.push_parts_routed(target, shape, data, None) },
    )
}

/// Before anything is written. Places of symmetric memory are alike on all ranks, so it is enough to look at one.
fn check<'a, T>(port: &Port, to: &Recipients, at: &impl Fn(usize) -> Result<Place<'a, T>>, count: usize) -> Result<()> {
    let ni = &port.initiator.ni;
    if to.job != ni.ground {
        return Err(Error::ForeignArea);
    }
    for rank in &to.ranks {
        let place = at(*rank)?;
        ni.resolve(place, count)?;
        if place.is_symmetric() {
            break;
        }
    }
    Ok(())
}

/// Does `far` for each party of another host, if the target is in the heaps of all its ranks, and may be written by one for all; else `near`
/// for each of them, as for each recipient of this host.
fn for_all<'a, T>(
    port: &Port,
    to: &Recipients,
    at: impl Fn(usize) -> Result<Place<'a, T>>,
    (count, for_others): (usize, bool),
    near: impl Fn(Place<'a, T>) -> Result<()>,
    far: impl Fn(Target) -> Result<()>,
) -> Result<()> {
    check(port, to, &at, count)?;
    let by = &port.initiator;
    // Those that take longer first.
    for party in &to.far {
        by.tick();
        let place = at(by.ni.writer_of(party))?;
        if !for_others || !place.is_symmetric() {
            party.ranks.iter().try_for_each(|rank| near(at(*rank)?))?;
            continue;
        }
        let Reach::Far(target) = by.ni.resolve(place, count)? else { unreachable!("a far rank") };
        let target = match party.ranks.len() {
            1 => target,
            _ => target.of_several(party.locals).ok_or_else(|| Error::Invalid("too many ranks on a host".into()))?,
        };
        far(target)?;
    }
    to.near.iter().try_for_each(|rank| near(at(*rank)?))
}
