//! Pushes and pulls of some elements of a range: blocks at a distance, marked ones, changed ones.
//!
//! One call is one operation, however many parts it has. As after a push, a [`Port::word`] or a notification to the same rank arrives after
//! all of them.

use super::bitmap::Bitmap;
use super::port::Port;
use super::stride::Stride;
use super::twin::Twin;
use crate::error::{Error, Result};
use crate::memory::copy::copy_out;
use crate::memory::parts::{copy_marked, mark_changed, marks::Marks};
use crate::ni::reach::place::{Place, Reach};
use crate::ni::wire::shape::Shape;
use bytemuck::Pod;

/// Elements that are compared at a time: what is found to have changed is still in the first cache when it is sent.
pub(crate) const COMPARED: usize = 4096;

impl Port {
    /// Writes blocks of `data` to blocks from a place on.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// use hikyaku::Stride;
    /// // A matrix of 4 rows of 5. Rank 0 writes the last column of rank 1's.
    /// let matrix = job.symmetric::<f64>(20)?;
    /// if job.rank() == 0 {
    ///     job.push_stride(matrix.at(1, 4), &[1.0, 2.0, 3.0, 4.0], Stride::new(1, 5, 4).here(1))?;
    /// }
    /// job.barrier()?;
    /// if job.rank() == 1 {
    ///     assert_eq!([matrix.get(4), matrix.get(9), matrix.get(19), matrix.get(18)], [1.0, 2.0, 4.0, 0.0]);
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// # Errors
    /// When blocks overlap, or some are not in `data` or not in the area.
    pub fn push_stride<T: Pod>(&self, to: Place<'_, T>, data: &[T], stride: Stride) -> Result<()> {
        let shape = stride.checked_shape(data)?;
        // SAFETY: all blocks are in a live slice.
        unsafe { push_parts(self, to, stride.span_there(), &shape, data.as_ptr().cast()) }
    }

    /// Reads blocks from a place on into blocks of `into`.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// use hikyaku::Stride;
    /// let matrix = job.symmetric::<u32>(20)?;
    /// matrix.write(0, &(0..20).collect::<Vec<u32>>());
    /// job.barrier()?;
    /// let mut column = [0; 4];
    /// job.pull_stride(matrix.at(1 - job.rank(), 2), &mut column, Stride::new(1, 5, 4).here(1))?;
    /// assert_eq!(column, [2, 7, 12, 17]);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// # Errors
    /// When blocks overlap, or some are not in `into` or not in the area.
    pub fn pull_stride<T: Pod>(&self, from: Place<'_, T>, into: &mut [T], stride: Stride) -> Result<()> {
        let shape = stride.checked_shape(into)?;
        // SAFETY: all blocks are in a slice that is borrowed mutably; any bytes are a valid `T`.
        unsafe { pull_parts(self, from, stride.span_there(), &shape, into.as_mut_ptr().cast()) }
    }

    /// Writes those elements of `data` that the bitmap has set to the same places behind `to`; others are left as they are.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let table = job.symmetric::<u64>(100)?;
    /// let mut odd = hikyaku::Bitmap::new(100);
    /// (1..100).step_by(2).for_each(|index| odd.set(index));
    /// if job.rank() == 0 {
    ///     job.push_bitmap(table.at(1, 0), &[7; 100], &odd)?;
    /// }
    /// job.barrier()?;
    /// assert_eq!((table.get(50), table.get(51)), (0, 7 * job.rank() as u64));
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// # Errors
    /// When the bitmap is for more elements than `data` has, or than there are in the area.
    pub fn push_bitmap<T: Pod>(&self, to: Place<'_, T>, data: &[T], marked: &Bitmap) -> Result<()> {
        check_local(marked.len(), data.len())?;
        let shape = Shape::Marked { unit: size_of::<T>(), marks: marked.marks() };
        // SAFETY: all elements are in a live slice.
        unsafe { push_parts(self, to, marked.len(), &shape, data.as_ptr().cast()) }
    }

    /// Reads those elements behind `from` that the bitmap has set to the same places of `into`; others are left as they are.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let table = job.symmetric::<u64>(100)?;
    /// table.write(0, &[5; 100]);
    /// job.barrier()?;
    /// let mut marked = hikyaku::Bitmap::new(100);
    /// marked.set_range(20..30);
    /// let mut copy = [0; 100];
    /// job.pull_bitmap(table.at(1 - job.rank(), 0), &mut copy, &marked)?;
    /// assert_eq!((copy[19], copy[20], copy[30]), (0, 5, 0));
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// # Errors
    /// When the bitmap is for more elements than `into` has, or than there are in the area.
    pub fn pull_bitmap<T: Pod>(&self, from: Place<'_, T>, into: &mut [T], marked: &Bitmap) -> Result<()> {
        check_local(marked.len(), into.len())?;
        let shape = Shape::Marked { unit: size_of::<T>(), marks: marked.marks() };
        // SAFETY: all elements are in a slice that is borrowed mutably; any bytes are a valid `T`.
        unsafe { pull_parts(self, from, marked.len(), &shape, into.as_mut_ptr().cast()) }
    }

    /// Reads from a place, and keeps a twin of what was read: [`Port::push_diff`] writes back only what has changed since.
    ///
    /// ```
    /// # hikyaku::local(3, |job| {
    /// // All ranks change the table of rank 0 at once, each another element.
    /// let table = job.symmetric::<u64>(1000)?;
    /// let mut mine = [0; 1000];
    /// let mut twin = job.pull_twin(table.at(0, 0), &mut mine)?;
    /// mine[job.rank()] = 7;
    /// assert_eq!(job.push_diff(table.at(0, 0), &mine, &mut twin)?, 1);
    /// job.barrier()?;
    /// assert_eq!(job.pull_one(table.at(0, 1))?, 7);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// # Errors
    /// As [`Port::pull`].
    pub fn pull_twin<T: Pod>(&self, from: Place<'_, T>, into: &mut [T]) -> Result<Twin<T>> {
        self.pull(from, into)?;
        Ok(Twin::of(into))
    }

    /// Writes those elements of `data` that differ from its twin to the same places behind `to`; how many they were. Then the twin is as
    /// `data`. Ranks that change different elements of one range do not undo each other's changes.
    ///
    /// # Errors
    /// When the twin has not as many elements as `data`, or there are not as many in the area. After any other error the twin has some of
    /// what was pushed.
    pub fn push_diff<T: Pod>(&self, to: Place<'_, T>, data: &[T], twin: &mut Twin<T>) -> Result<usize> {
        twin.check_of(data)?;
        // The whole range, also if nothing of it has changed.
        self.initiator.ni.resolve(to, data.len())?;
        let unit = size_of::<T>();
        if unit == 0 {
            return Ok(0);
        }
        // Any element begins at a byte.
        let to = to.cast::<u8>()?;
        push_changes(data, twin, |offset, now, shape| {
            // SAFETY: all units are in a live slice.
            unsafe { push_parts(self, to.plus(offset), now.len(), shape, now.as_ptr()) }
        })
    }
}

/// Gives `push` what differs from the twin, some elements at a time: how many bytes are before them, all of them, and which. How many
/// have changed.
pub(super) fn push_changes<T: Pod>(
    data: &[T],
    twin: &mut Twin<T>,
    mut push: impl FnMut(usize, &[u8], &Shape<'_>) -> Result<()>,
) -> Result<usize> {
    let (unit, mut pushed) = (size_of::<T>(), 0);
    let parts = data.chunks(COMPARED).zip(twin.elements().chunks_mut(COMPARED)).enumerate();
    for (number, (now, before)) in parts {
        let (now, before) = (bytemuck::cast_slice(now), bytemuck::cast_slice_mut(before));
        pushed += push_changed(now, before, unit, |now, shape| push(number * COMPARED * unit, now, shape))?;
    }
    Ok(pushed)
}

/// Partial transfers of local memory that no slice can stand for, since peers may change it meanwhile. All lengths are in bytes.
pub trait RawParts: sealed::Sealed {
    /// [`Port::push_stride`] from blocks at `data`.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn push_stride_from(&self, to: Place<'_, u8>, data: *const u8, stride: Stride) -> Result<()>;

    /// [`Port::pull_stride`] into blocks at `into`.
    ///
    /// # Safety
    /// They can be written.
    unsafe fn pull_stride_into(&self, from: Place<'_, u8>, into: *mut u8, stride: Stride) -> Result<()>;

    /// [`Port::push_bitmap`] of `units` units of `unit` bytes at `data`: unit `n` if bit `n % 64` of word `n / 64` is set.
    ///
    /// # Safety
    /// Those that are marked can be read.
    unsafe fn push_marked_from(&self, to: Place<'_, u8>, data: *const u8, marked: Units<'_>) -> Result<()>;

    /// [`Port::pull_bitmap`] into `units` units of `unit` bytes at `into`.
    ///
    /// # Safety
    /// Those that are marked can be written.
    unsafe fn pull_marked_into(&self, from: Place<'_, u8>, into: *mut u8, marked: Units<'_>) -> Result<()>;

    /// [`Port::push_diff`] of as many bytes at `data` as the twin has, in units of `unit` bytes; how many units were pushed.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn push_diff_from(&self, to: Place<'_, u8>, data: *const u8, twin: &mut [u8], unit: usize) -> Result<usize>;
}

/// Marked units.
#[derive(Clone, Copy, Debug)]
pub struct Units<'a> {
    /// Bytes of each.
    pub unit: usize,
    /// How many there are.
    pub units: usize,
    /// A bit for each.
    pub words: &'a [u64],
}

impl Units<'_> {
    /// The shape, and how many bytes all units have, marked or not.
    pub(super) fn shape(&self) -> Result<(Shape<'_>, usize)> {
        let Units { unit, units, words } = *self;
        if unit == 0 || words.len() < units.div_ceil(64) {
            return Err(Error::Invalid(format!("{} words of marks for {units} units of {unit} bytes", words.len())));
        }
        // What cannot be counted is in no area.
        Ok((Shape::Marked { unit, marks: Marks::new(words, units) }, unit.saturating_mul(units)))
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Port {}
}

impl RawParts for Port {
    unsafe fn push_stride_from(&self, to: Place<'_, u8>, data: *const u8, stride: Stride) -> Result<()> {
        stride.check()?;
        // SAFETY: the caller's promise.
        unsafe { push_parts(self, to, stride.span_there(), &stride.shape(1), data) }
    }

    unsafe fn pull_stride_into(&self, from: Place<'_, u8>, into: *mut u8, stride: Stride) -> Result<()> {
        stride.check()?;
        // SAFETY: the caller's promise.
        unsafe { pull_parts(self, from, stride.span_there(), &stride.shape(1), into) }
    }

    unsafe fn push_marked_from(&self, to: Place<'_, u8>, data: *const u8, marked: Units<'_>) -> Result<()> {
        let (shape, bytes) = marked.shape()?;
        // SAFETY: the caller's promise.
        unsafe { push_parts(self, to, bytes, &shape, data) }
    }

    unsafe fn pull_marked_into(&self, from: Place<'_, u8>, into: *mut u8, marked: Units<'_>) -> Result<()> {
        let (shape, bytes) = marked.shape()?;
        // SAFETY: the caller's promise.
        unsafe { pull_parts(self, from, bytes, &shape, into) }
    }

    unsafe fn push_diff_from(&self, to: Place<'_, u8>, data: *const u8, twin: &mut [u8], unit: usize) -> Result<usize> {
        self.initiator.ni.resolve(to, twin.len())?;
        // SAFETY: the caller's promise.
        unsafe {
            push_changes_at(data, twin, unit, |offset, seen, shape| {
                push_parts(self, to.plus(offset), seen.len(), shape, seen.as_ptr())
            })
        }
    }
}
/// [`push_changes`] of memory that peers may change meanwhile, in units of so many bytes.
///
/// # Safety
/// As many bytes as the twin has can be read.
pub(super) unsafe fn push_changes_at(
    data: *const u8,
    twin: &mut [u8],
    unit: usize,
    mut push: impl FnMut(usize, &[u8], &Shape<'_>) -> Result<()>,
) -> Result<usize> {
    check_units(twin.len(), unit)?;
    // What is compared, sent, and kept as the twin is the same, whatever peers write meanwhile.
    let most = COMPARED.saturating_mul(unit);
    let mut seen = vec![0; twin.len().min(most)];
    let mut pushed = 0;
    for (number, before) in twin.chunks_mut(most).enumerate() {
        let (offset, seen) = (number * most, &mut seen[..before.len()]);
        // SAFETY: the caller's promise.
        unsafe { copy_out(data.wrapping_add(offset), seen) };
        pushed += push_changed(seen, before, unit, |seen, shape| push(offset, seen, shape))?;
    }
    Ok(pushed)
}

/// Pushes the units that have changed, at most [`COMPARED`] in all; then the bytes before are as they are now.
fn push_changed(
    now: &[u8],
    before: &mut [u8],
    unit: usize,
    push: impl FnOnce(&[u8], &Shape<'_>) -> Result<()>,
) -> Result<usize> {
    let mut words = [0; COMPARED / 64];
    let changed = mark_changed(&mut words, now, before, unit);
    if changed > 0 {
        let shape = Shape::Marked { unit, marks: Marks::new(&words, now.len() / unit) };
        push(now, &shape)?;
        // SAFETY: both are live slices of as many units, and not the same.
        unsafe { copy_marked(before.as_mut_ptr(), now.as_ptr(), unit, Marks::new(&words, now.len() / unit)) };
    }
    Ok(changed)
}

/// Whether so many bytes are a whole number of units.
pub(crate) fn check_units(bytes: usize, unit: usize) -> Result<()> {
    match unit > 0 && bytes.is_multiple_of(unit) {
        true => Ok(()),
        false => Err(Error::Invalid(format!("{bytes} bytes are no whole number of units of {unit} bytes"))),
    }
}

/// A bit for each unit, which is set if the two differ there, and how many do.
///
/// # Panics
/// If the two are not as long, or no whole number of units.
pub(crate) fn changed_units(now: &[u8], before: &[u8], unit: usize) -> (Vec<u64>, usize) {
    let mut words = vec![0; (now.len() / unit).div_ceil(64)];
    let changed = mark_changed(&mut words, now, before, unit);
    (words, changed)
}

/// Copies the marked units to the same places.
///
/// # Panics
/// If the two are not as long, or there are too few marks.
pub(crate) fn copy_units(into: &mut [u8], from: &[u8], unit: usize, words: &[u64]) {
    let units = from.len() / unit;
    assert!(into.len() == from.len() && units <= words.len() * 64);
    // SAFETY: both are live slices of as many units, and not the same.
    unsafe { copy_marked(into.as_mut_ptr(), from.as_ptr(), unit, Marks::new(words, units)) };
}

/// Whether so many elements are in a slice of this rank.
pub(super) fn check_local(count: usize, len: usize) -> Result<()> {
    if count <= len { Ok(()) } else { Err(Error::OutOfBounds { index: 0, count, len }) }
}

/// # Safety
/// All parts can be read from `data` on; they are within `count` elements there.
pub(super) unsafe fn push_parts<T: Pod>(
    port: &Port,
    to: Place<'_, T>,
    count: usize,
    shape: &Shape<'_>,
    data: *const u8,
) -> Result<()> {
    let by = &port.initiator;
    by.tick();
    match by.ni.resolve(to, count)? {
        // SAFETY: found for that many elements; the caller's promise.
        Reach::Pointer(target) => unsafe { shape.push(target, data) },
        // SAFETY: as above.
        Reach::Area(area, offset) => unsafe { by.push_parts_area((area, offset), shape, data, None)? },
        // SAFETY: as above.
        Reach::Far(target) => unsafe { by.push_parts_routed(target, shape, data, None)? },
    }
    Ok(())
}

/// # Safety
/// All parts can be written from `into` on; they are within `count` elements there.
pub(super) unsafe fn pull_parts<T: Pod>(
    port: &Port,
    from: Place<'_, T>,
    count: usize,
    shape: &Shape<'_>,
    into: *mut u8,
) -> Result<()> {
    let by = &port.initiator;
    by.tick();
    match by.ni.resolve(from, count)? {
        // SAFETY: found for that many elements; the caller's promise.
        Reach::Pointer(source) => unsafe { shape.pull(into, source) },
        // SAFETY: as above.
        Reach::Area(area, offset) => unsafe { by.pull_parts_area((area, offset), shape, into)? },
        // SAFETY: as above.
        Reach::Far(target) => unsafe { by.pull_parts_routed(target, shape, into)? },
    }
    Ok(())
}
