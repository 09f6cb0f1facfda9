//! Which elements of a range an operation is of, as a value: so one call starts, or tells of, a push or a pull of any shape.

use super::bitmap::Bitmap;
use super::partial::{RawParts, Units, changed_units, check_local, check_units, copy_units, pull_parts, push_parts};
use super::port::Port;
use super::stride::Stride;
use super::transfer::{RawTransfers, Transfer, TransferScope, far_target};
use super::twin::Twin;
use crate::error::{Error, Result};
use crate::memory::copy::copy_out;
use crate::memory::parts::marks::Marks;
use crate::ni::reach::place::Place;
use crate::ni::state::packed::Packed;
use crate::ni::state::transfer::BY_ADDRESS;
use crate::ni::wire::shape::Shape;
use crate::ni::wire::target::Target;
use bytemuck::Pod;

/// Some elements of a range: blocks of equal length at equal distances, or those that bits mark.
///
/// ```
/// use hikyaku::{Bitmap, Parts, Stride};
///
/// let column: Parts<'_> = Stride::new(1, 100, 50).into();
/// let odd = Bitmap::new(100);
/// let marked: Parts<'_> = (&odd).into();
/// assert_eq!((column.elements(), marked.elements()), (50, 0));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Parts<'a> {
    /// Blocks.
    Stride(Stride),
    /// Marked elements, at the same places on both sides.
    Bitmap(&'a Bitmap),
}

impl From<Stride> for Parts<'_> {
    fn from(stride: Stride) -> Self {
        Parts::Stride(stride)
    }
}

impl<'a> From<&'a Bitmap> for Parts<'a> {
    fn from(bitmap: &'a Bitmap) -> Self {
        Parts::Bitmap(bitmap)
    }
}

impl Parts<'_> {
    /// How many elements they are.
    pub fn elements(&self) -> usize {
        match self {
            Parts::Stride(stride) => stride.elements(),
            Parts::Bitmap(bitmap) => bitmap.marks().count(),
        }
    }

    /// Their shape in elements of a slice of this rank, and how far they reach in the memory of the other one.
    pub(super) fn checked_shape<T>(&self, local: &[T]) -> Result<(Shape<'_>, usize)> {
        match self {
            Parts::Stride(stride) => Ok((stride.checked_shape(local)?, stride.span_there())),
            Parts::Bitmap(bitmap) => {
                check_local(bitmap.len(), local.len())?;
                Ok((Shape::Marked { unit: size_of::<T>(), marks: bitmap.marks() }, bitmap.len()))
            }
        }
    }
}

impl Port {
    /// Writes parts of `data` as [`Port::push_stride`] and [`Port::push_bitmap`] do, then the word `value` to `flag` on the same rank: whoever
    /// sees the word sees all of them.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// use hikyaku::Stride;
    /// let (matrix, flag) = (job.symmetric::<f64>(20)?, job.symmetric::<u64>(1)?);
    /// if job.rank() == 0 {
    ///     let column = Stride::new(1, 5, 4).here(1);
    ///     job.push_parts_notify(matrix.at(1, 4), &[1.0, 2.0, 3.0, 4.0], column, flag.at(1, 0), 1)?;
    /// } else {
    ///     job.wait(flag.here(0), hikyaku::Until::Equal(1))?;
    ///     assert_eq!((matrix.get(4), matrix.get(19)), (1.0, 4.0));
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// # Errors
    /// As those; and before anything is written, when the word is on another rank, or not in its area.
    pub fn push_parts_notify<'p, T: Pod>(
        &self,
        to: Place<'_, T>,
        data: &[T],
        parts: impl Into<Parts<'p>>,
        flag: Place<'_, u64>,
        value: u64,
    ) -> Result<()> {
        check_flag(self, to.rank, flag)?;
        let parts = parts.into();
        let (shape, span) = parts.checked_shape(data)?;
        // SAFETY: all parts are in a live slice.
        unsafe { push_parts(self, to, span, &shape, data.as_ptr().cast())? };
        self.word(flag, value)
    }

    /// [`Port::push_diff`], then the word `value` to `flag` on the same rank, also if nothing has changed: whoever sees the word sees all
    /// changes.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let (table, flag) = (job.symmetric::<u64>(1000)?, job.symmetric::<u64>(1)?);
    /// if job.rank() == 0 {
    ///     let mut mine = [0; 1000];
    ///     let mut twin = job.pull_twin(table.at(1, 0), &mut mine)?;
    ///     mine[500] = 7;
    ///     assert_eq!(job.push_diff_notify(table.at(1, 0), &mine, &mut twin, flag.at(1, 0), 1)?, 1);
    /// } else {
    ///     job.wait(flag.here(0), hikyaku::Until::Equal(1))?;
    ///     assert_eq!(table.get(500), 7);
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// # Errors
    /// As [`Port::push_diff`] and [`Port::push_parts_notify`].
    pub fn push_diff_notify<T: Pod>(
        &self,
        to: Place<'_, T>,
        data: &[T],
        twin: &mut Twin<T>,
        flag: Place<'_, u64>,
        value: u64,
    ) -> Result<usize> {
        check_flag(self, to.rank, flag)?;
        let pushed = self.push_diff(to, data, twin)?;
        self.word(flag, value)?;
        Ok(pushed)
    }
}

impl<'scope, 'env> TransferScope<'scope, 'env> {
    /// Starts to write parts of `data` as [`Port::push_stride`] and [`Port::push_bitmap`] do. Unlike in [`TransferScope::start_push`] they are
    /// packed at once, so `data` is free when this returns. They are at their places when it was waited for.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// use hikyaku::Stride;
    /// let matrix = job.symmetric::<u32>(100 * 100)?;
    /// job.scope(|scope| {
    ///     for column in 0..100 {
    ///         let data = [column as u32; 100];
    ///         let _ = scope.start_push_parts(matrix.at(1 - job.rank(), column), &data, Stride::new(1, 100, 100).here(1))?;
    ///     }
    ///     Ok(()) // the scope waits for all
    /// })?;
    /// job.barrier()?;
    /// assert_eq!((matrix.get(9999), matrix.get(9901)), (99, 1));
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn start_push_parts<'p, T: Pod>(
        &'scope self,
        to: Place<'_, T>,
        data: &[T],
        parts: impl Into<Parts<'p>>,
    ) -> Result<Transfer> {
        let parts = parts.into();
        let (shape, span) = parts.checked_shape(data)?;
        // SAFETY: all parts are in a live slice.
        unsafe { start_push(self.port, self.number, to, span, &shape, data.as_ptr().cast()).map(Transfer) }
    }

    /// Starts to read parts from a place on into parts of `into`, as [`Port::pull_stride`] and [`Port::pull_bitmap`] do. They are there when
    /// it was waited for. Blocks and elements that are longer than a packet are there when this returns.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let table = job.symmetric::<u64>(100)?;
    /// table.write(0, &[5; 100]);
    /// job.barrier()?;
    /// let (mut copy, mut marked) = ([0; 100], hikyaku::Bitmap::new(100));
    /// marked.set_range(20..30);
    /// job.scope(|scope| {
    ///     let pull = scope.start_pull_parts(table.at(1 - job.rank(), 0), &mut copy, &marked)?;
    ///     // Compute something here.
    ///     scope.wait(pull)
    /// })?;
    /// assert_eq!((copy[19], copy[20], copy[30]), (0, 5, 0));
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn start_pull_parts<'p, T: Pod>(
        &'scope self,
        from: Place<'env, T>,
        into: &'env mut [T],
        parts: impl Into<Parts<'p>>,
    ) -> Result<Transfer> {
        let parts = parts.into();
        let (shape, span) = parts.checked_shape(into)?;
        // SAFETY: all parts are in a slice that is borrowed mutably for longer than the scope, which ends the transfer; any bytes are a
        // valid `T`.
        unsafe { start_pull(self.port, self.number, from, span, &shape, into.as_mut_ptr().cast()).map(Transfer) }
    }

    /// Starts to write what differs from a twin, as [`Port::push_diff`] does; also says how many elements that is. It is packed at once, so
    /// `data` is free when this returns, and the twin is as `data`: if the transfer fails, the twin has what was not pushed. If it is not
    /// even started, the twin is as before.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// use hikyaku::Twin;
    /// let table = job.symmetric::<u64>(1000)?;
    /// let mut twin = Twin::of(&[0; 1000]);
    /// let mut mine = [0; 1000];
    /// mine[500 + job.rank()] = 7;
    /// job.scope(|scope| {
    ///     let (push, count) = scope.start_push_diff(table.at(0, 0), &mine, &mut twin)?;
    ///     assert_eq!(count, 1);
    ///     scope.wait(push)
    /// })?;
    /// job.barrier()?;
    /// assert_eq!(job.pull_one(table.at(0, 501))?, 7);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn start_push_diff<T: Pod>(
        &'scope self,
        to: Place<'_, T>,
        data: &[T],
        twin: &mut Twin<T>,
    ) -> Result<(Transfer, usize)> {
        twin.check_of(data)?;
        let port = self.port;
        let Some(target) = far_target(port, to, data.len())? else {
            let pushed = port.push_diff(to, data, twin)?;
            settle_near(port, to.rank)?;
            return Ok((Transfer(None), pushed));
        };
        if size_of::<T>() == 0 {
            return Ok((Transfer(None), 0));
        }
        let (started, pushed) =
            start_changes(port, self.number, target, bytemuck::cast_slice(data), twin.bytes(), size_of::<T>())?;
        Ok((Transfer(started), pushed))
    }
}

/// Parts of bytes.
#[derive(Clone, Copy, Debug)]
pub enum ByteParts<'a> {
    /// Blocks.
    Stride(Stride),
    /// Marked units.
    Marked(Units<'a>),
}

impl ByteParts<'_> {
    pub(super) fn shape(&self) -> Result<(Shape<'_>, usize)> {
        match self {
            ByteParts::Stride(stride) => {
                stride.check()?;
                Ok((stride.shape(1), stride.span_there()))
            }
            ByteParts::Marked(units) => units.shape(),
        }
    }
}

/// The same of local memory that no slice can stand for, since peers may change it meanwhile. All lengths are in bytes.
pub trait RawStartedParts: RawTransfers {
    /// [`TransferScope::start_push_parts`] from parts at `data`.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn start_push_parts_from(&self, to: Place<'_, u8>, data: *const u8, parts: ByteParts<'_>) -> Result<u64>;

    /// [`TransferScope::start_pull_parts`] into parts at `into`.
    ///
    /// # Safety
    /// They can be written until one of the calls of [`RawTransfers`] has said that it has ended, or the port is dropped.
    unsafe fn start_pull_parts_into(&self, from: Place<'_, u8>, into: *mut u8, parts: ByteParts<'_>) -> Result<u64>;

    /// [`TransferScope::start_push_diff`] of as many bytes at `data` as the twin has, in units of `unit` bytes.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn start_push_diff_from(
        &self,
        to: Place<'_, u8>,
        data: *const u8,
        twin: &mut [u8],
        unit: usize,
    ) -> Result<(u64, usize)>;

    /// Whether a word that tells of a push to a place can be written: it is on the same rank.
    fn check_flag(&self, to: Place<'_, u8>, flag: Place<'_, u64>) -> Result<()>;

    /// [`Port::push_parts_notify`] from parts at `data`.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn push_parts_notify_from(
        &self,
        to: Place<'_, u8>,
        data: *const u8,
        parts: ByteParts<'_>,
        flag: Place<'_, u64>,
        value: u64,
    ) -> Result<()>;
}

impl RawStartedParts for Port {
    unsafe fn start_push_parts_from(&self, to: Place<'_, u8>, data: *const u8, parts: ByteParts<'_>) -> Result<u64> {
        let (shape, span) = parts.shape()?;
        // SAFETY: the caller's promise.
        unsafe { start_push(self, BY_ADDRESS, to, span, &shape, data) }.map(|token| token.unwrap_or(0))
    }

    unsafe fn start_pull_parts_into(&self, from: Place<'_, u8>, into: *mut u8, parts: ByteParts<'_>) -> Result<u64> {
        let (shape, span) = parts.shape()?;
        // SAFETY: the caller's promise.
        unsafe { start_pull(self, BY_ADDRESS, from, span, &shape, into) }.map(|token| token.unwrap_or(0))
    }

    unsafe fn start_push_diff_from(
        &self,
        to: Place<'_, u8>,
        data: *const u8,
        twin: &mut [u8],
        unit: usize,
    ) -> Result<(u64, usize)> {
        let Some(target) = far_target(self, to, twin.len())? else {
            // SAFETY: the caller's promise.
            let pushed = unsafe { self.push_diff_from(to, data, twin, unit)? };
            settle_near(self, to.rank)?;
            return Ok((0, pushed));
        };
        check_units(twin.len(), unit)?;
        // What is compared, sent, and kept as the twin is the same, whatever peers write meanwhile.
        let mut seen = vec![0; twin.len()];
        // SAFETY: the caller's promise.
        unsafe { copy_out(data, &mut seen) };
        let (started, pushed) = start_changes(self, BY_ADDRESS, target, &seen, twin, unit)?;
        Ok((started.unwrap_or(0), pushed))
    }

    fn check_flag(&self, to: Place<'_, u8>, flag: Place<'_, u64>) -> Result<()> {
        check_flag(self, to.rank, flag)
    }

    unsafe fn push_parts_notify_from(
        &self,
        to: Place<'_, u8>,
        data: *const u8,
        parts: ByteParts<'_>,
        flag: Place<'_, u64>,
        value: u64,
    ) -> Result<()> {
        check_flag(self, to.rank, flag)?;
        let (shape, span) = parts.shape()?;
        // SAFETY: the caller's promise.
        unsafe { push_parts(self, to, span, &shape, data)? };
        self.word(flag, value)
    }
}

/// Whether a word tells of what goes to the same rank, and is there.
fn check_flag(port: &Port, target: usize, flag: Place<'_, u64>) -> Result<()> {
    match flag.rank == target {
        true => port.initiator.ni.resolve(flag, 1).map(drop),
        false => Err(Error::NotAtTarget { rank: flag.rank, target }),
    }
}

/// # Safety
/// All parts can be read from `data` on; they are within `span` elements there.
unsafe fn start_push<T: Pod>(
    port: &Port,
    scope: u32,
    to: Place<'_, T>,
    span: usize,
    shape: &Shape<'_>,
    data: *const u8,
) -> Result<Option<u64>> {
    let Some(target) = far_target(port, to, span)?.filter(|_| !shape.is_empty()) else {
        // SAFETY: the caller's promise.
        unsafe { push_parts(port, to, span, shape, data)? };
        settle_near(port, to.rank)?;
        return Ok(None);
    };
    let mut packed = Packed::new(port.initiator.ni.payload_max(target.rank));
    // SAFETY: the caller's promise.
    unsafe { packed.add(0, shape, data) };
    start_packed(port, scope, target, packed)
}

/// Starts a push of those units that differ from a twin, which is as the data when it was started, and not before; how many units.
fn start_changes(
    port: &Port,
    scope: u32,
    to: Target,
    data: &[u8],
    twin: &mut [u8],
    unit: usize,
) -> Result<(Option<u64>, usize)> {
    port.initiator.may_start(to.rank)?;
    let (words, changed) = changed_units(data, twin, unit);
    let shape = Shape::Marked { unit, marks: Marks::new(&words, data.len() / unit) };
    let mut packed = Packed::new(port.initiator.ni.payload_max(to.rank));
    // SAFETY: all units are in a live slice.
    unsafe { packed.add(0, &shape, data.as_ptr()) };
    let started = start_packed(port, scope, to, packed)?;
    copy_units(twin, data, unit, &words);
    Ok((started, changed))
}

/// # Safety
/// All parts can be written from `into` on until the transfer has ended; they are within `span` elements there.
unsafe fn start_pull<T: Pod>(
    port: &Port,
    scope: u32,
    from: Place<'_, T>,
    span: usize,
    shape: &Shape<'_>,
    into: *mut u8,
) -> Result<Option<u64>> {
    if let Some(source) = far_target(port, from, span)?.filter(|_| !shape.is_empty())
        // SAFETY: the caller's promise.
        && let Some(token) = unsafe { port.initiator.start_pull_parts(scope, source, shape, into)? }
    {
        return Ok(Some(token));
    }
    // SAFETY: the caller's promise.
    unsafe { pull_parts(port, from, span, shape, into)? };
    Ok(None)
}

/// Starts a push of what was packed, if that is anything.
fn start_packed(port: &Port, scope: u32, to: Target, packed: Packed) -> Result<Option<u64>> {
    match packed.len() {
        0 => Ok(None),
        _ => port.initiator.start_packed(scope, to, packed).map(Some),
    }
}

/// Private memory of a near process may be written by its owner, who is waited for.
fn settle_near(port: &Port, rank: usize) -> Result<()> {
    if port.initiator.has_routed() && port.initiator.ni.is_near(rank) { port.flush(rank) } else { Ok(()) }
}
