//! Remote operations by addresses, for interfaces to other languages: the ground of those on slices.

use super::port::Port;
use crate::error::{Error, Result};
use crate::memory::copy;
use crate::memory::span::Span;
use crate::ni::interface::Ni;
use crate::ni::reach::place::{Place, Reach};
use crate::ni::remote::initiator::Initiator;
use crate::ni::wire::operation::Data;
use crate::transport::shm::layout::AreaKind;
use bytemuck::Pod;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Remote operations on local memory that no slice can stand for, since peers may change it meanwhile.
pub trait RawPort: sealed::Sealed {
    /// [`Port::push`] from `len` elements at `data`, which peers may change meanwhile.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn push_from<T: Pod>(&self, to: Place<'_, T>, data: *const T, len: usize) -> Result<()>;

    /// [`Port::pull`] into `len` elements at `into`, which peers may change meanwhile.
    ///
    /// # Safety
    /// They can be written.
    unsafe fn pull_into<T: Pod>(&self, from: Place<'_, T>, into: *mut T, len: usize) -> Result<()>;

    /// [`Port::push_notify`] from `len` elements at `data`, which peers may change meanwhile.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn push_notify_from<T: Pod>(
        &self,
        to: Place<'_, T>,
        data: *const T,
        len: usize,
        flag: Place<'_, u64>,
        value: u64,
    ) -> Result<()>;

    /// [`Port::push_notify_add`] from `len` elements at `data`, which peers may change meanwhile.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn push_notify_add_from<T: Pod>(
        &self,
        to: Place<'_, T>,
        data: *const T,
        len: usize,
        counter: Place<'_, u64>,
        amount: u64,
    ) -> Result<()>;

    /// [`Port::push_status`] from `len` elements at `data`, which peers may change meanwhile.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn push_status_from<T: Pod>(
        &self,
        to: Place<'_, T>,
        data: *const T,
        len: usize,
        status: Place<'_, u64>,
        value: u64,
    ) -> Result<()>;

    /// [`Port::pull_status`] into `len` elements at `into`, which peers may change meanwhile.
    ///
    /// # Safety
    /// They can be written.
    unsafe fn pull_status_into<T: Pod>(
        &self,
        from: Place<'_, T>,
        into: *mut T,
        len: usize,
        status: Place<'_, u64>,
        value: u64,
    ) -> Result<()>;

    /// The address of a place that is mapped here: any element of a symmetric area of this host. An area that may be revoked has
    /// none. Who writes when is the caller's business.
    fn mapped_address<T: Pod>(&self, place: Place<'_, T>) -> Result<*mut T>;

    /// A word of a place that is mapped here, which all ranks of the host read and write whole.
    ///
    /// ```
    /// # use hikyaku::ffi::RawPort;
    /// # use std::sync::atomic::Ordering;
    /// # hikyaku::local(2, |job| {
    /// let area = job.symmetric::<u64>(4)?;
    /// job.mapped_word(area.at(1 - job.rank(), 3))?.fetch_add(5, Ordering::AcqRel);
    /// job.barrier()?;
    /// assert_eq!(area.get(3), 5);
    /// # hikyaku::Result::Ok(()) }).unwrap();
    /// ```
    fn mapped_word<'a>(&self, place: Place<'a, u64>) -> Result<&'a AtomicU64>;
}

impl RawPort for Port {
    #[inline]
    unsafe fn push_from<T: Pod>(&self, to: Place<'_, T>, data: *const T, len: usize) -> Result<()> {
        self.initiator.tick();
        let Some(target) = self.initiator.pointer_to(&to, len) else {
            // SAFETY: the caller's promise.
            return unsafe { push_elsewhere(&self.initiator, to, data, len) };
        };
        // SAFETY: found for that many elements; the caller's promise.
        unsafe { copy::copy_away(target, data.cast(), len * size_of::<T>()) };
        self.initiator.note_moved(len * size_of::<T>());
        Ok(())
    }

    #[inline]
    unsafe fn pull_into<T: Pod>(&self, from: Place<'_, T>, into: *mut T, len: usize) -> Result<()> {
        self.initiator.tick();
        let Some(source) = self.initiator.pointer_to(&from, len) else {
            // SAFETY: the caller's promise.
            return unsafe { pull_elsewhere(&self.initiator, from, into, len) };
        };
        // SAFETY: found for that many elements; the caller's promise.
        unsafe { copy::copy(into.cast(), source, len * size_of::<T>()) };
        Ok(())
    }

    #[inline]
    unsafe fn push_notify_from<T: Pod>(
        &self,
        to: Place<'_, T>,
        data: *const T,
        len: usize,
        flag: Place<'_, u64>,
        value: u64,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { notify(self, to, data, len, flag, Notice::Set(value)) }
    }

    #[inline]
    unsafe fn push_notify_add_from<T: Pod>(
        &self,
        to: Place<'_, T>,
        data: *const T,
        len: usize,
        counter: Place<'_, u64>,
        amount: u64,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { notify(self, to, data, len, counter, Notice::Add(amount)) }
    }

    unsafe fn push_status_from<T: Pod>(
        &self,
        to: Place<'_, T>,
        data: *const T,
        len: usize,
        status: Place<'_, u64>,
        value: u64,
    ) -> Result<()> {
        let status_word = own_status(&self.initiator, status)?;
        let reach = self.initiator.ni.resolve(to, len)?;
        // As long as the place, so it can be counted.
        let (start, bytes) = (data.cast(), len * size_of::<T>());
        // SAFETY: the caller's promise.
        unsafe {
            match (reach, status_word) {
                (Reach::Area(area, offset), Some(word)) => {
                    self.initiator.push_area(area, offset, start, bytes, Some((word, value)))
                }
                (Reach::Far(target), Some(word)) => {
                    self.initiator.push_routed(target, Data::shared(start, bytes), Some((word, value)))
                }
                _ => {
                    self.push_from(to, data, len)?;
                    self.flush(to.rank)?;
                    self.word(status, value)
                }
            }
        }
    }

    unsafe fn pull_status_into<T: Pod>(
        &self,
        from: Place<'_, T>,
        into: *mut T,
        len: usize,
        status: Place<'_, u64>,
        value: u64,
    ) -> Result<()> {
        own_status(&self.initiator, status)?;
        // SAFETY: the caller's promise.
        unsafe { self.pull_into(from, into, len)? };
        self.word(status, value)
    }

    fn mapped_address<T: Pod>(&self, place: Place<'_, T>) -> Result<*mut T> {
        match self.initiator.ni.resolve(place, 1)? {
            Reach::Pointer(address) => Ok(address.cast()),
            Reach::Area(..) => Err(Error::Invalid("an area that its owner may revoke has no lasting address".into())),
            Reach::Far(_) => Err(Error::Invalid("memory of a rank on another host has no address here".into())),
        }
    }

    fn mapped_word<'a>(&self, place: Place<'a, u64>) -> Result<&'a AtomicU64> {
        let address = self.mapped_address(place)?;
        // SAFETY: an aligned word of a symmetric area, which the place borrows and which keeps its memory mapped. Everybody reaches
        // it by atomics or by copies that are no accesses to the compiler.
        Ok(unsafe { AtomicU64::from_ptr(address) })
    }
}

#[inline(always)]
pub(super) fn push<T: Pod>(port: &Port, to: Place<'_, T>, data: &[T]) -> Result<()> {
    // SAFETY: a live slice.
    unsafe { port.push_from(to, data.as_ptr(), data.len()) }
}

#[inline(always)]
pub(super) fn pull<T: Pod>(port: &Port, from: Place<'_, T>, into: &mut [T]) -> Result<()> {
    // SAFETY: borrowed mutably; any bytes are a valid `T`.
    unsafe { port.pull_into(from, into.as_mut_ptr(), into.len()) }
}

#[inline(always)]
pub(super) fn push_notify<T: Pod>(
    port: &Port,
    to: Place<'_, T>,
    data: &[T],
    flag: Place<'_, u64>,
    value: u64,
) -> Result<()> {
    // SAFETY: a live slice.
    unsafe { port.push_notify_from(to, data.as_ptr(), data.len(), flag, value) }
}

#[inline(always)]
pub(super) fn push_notify_add<T: Pod>(
    port: &Port,
    to: Place<'_, T>,
    data: &[T],
    counter: Place<'_, u64>,
    amount: u64,
) -> Result<()> {
    // SAFETY: a live slice.
    unsafe { port.push_notify_add_from(to, data.as_ptr(), data.len(), counter, amount) }
}

pub(super) fn push_status<T: Pod>(
    port: &Port,
    to: Place<'_, T>,
    data: &[T],
    status: Place<'_, u64>,
    value: u64,
) -> Result<()> {
    // SAFETY: a live slice.
    unsafe { port.push_status_from(to, data.as_ptr(), data.len(), status, value) }
}

pub(super) fn pull_status<T: Pod>(
    port: &Port,
    from: Place<'_, T>,
    into: &mut [T],
    status: Place<'_, u64>,
    value: u64,
) -> Result<()> {
    // SAFETY: borrowed mutably; any bytes are a valid `T`.
    unsafe { port.pull_status_into(from, into.as_mut_ptr(), into.len(), status, value) }
}

/// Pushes what is mapped here, which peers may change meanwhile, and then a word, if one is given.
pub(super) fn push_span(
    port: &Port,
    to: Place<'_, u8>,
    from: Span<'_>,
    bytes: usize,
    word: Option<(Place<'_, u64>, u64)>,
) -> Result<()> {
    let from = from.part(0, bytes).start();
    // SAFETY: so many bytes of mapped memory, which stays while it is borrowed.
    unsafe {
        match word {
            None => port.push_from(to, from, bytes),
            Some((flag, value)) => port.push_notify_from(to, from, bytes, flag, value),
        }
    }
}

/// Pulls to where memory is mapped here, which peers may change meanwhile.
pub(super) fn pull_span(port: &Port, from: Place<'_, u8>, into: Span<'_>, bytes: usize) -> Result<()> {
    // SAFETY: so many bytes of mapped memory, which stays while it is borrowed.
    unsafe { port.pull_into(from, into.part(0, bytes).start(), bytes) }
}

/// A word of this rank's own memory, with the name it is rung for by.
#[inline]
pub(super) fn own_word<'p>(by: &'p Initiator, word: Place<'_, u64>) -> Result<(&'p AtomicU64, u64)> {
    own_word_of(&by.ni, word)
}

/// Likewise, by an interface instead of a port.
#[inline(always)]
pub(super) fn own_word_of<'p>(ni: &'p Ni, word: Place<'_, u64>) -> Result<(&'p AtomicU64, u64)> {
    if word.rank != ni.rank {
        return Err(Error::NotMine { rank: word.rank });
    }
    let pointer = match ni.resolve(word, 1)? {
        Reach::Pointer(pointer) => pointer,
        Reach::Area(area, offset) => area.own_address(ni, offset)?,
        Reach::Far(_) => return Err(Error::NotMine { rank: word.rank }),
    };
    // SAFETY: resolved within an area of this rank that outlives the borrow of the place; aligned as a `u64`;
    // accessed atomically by everyone.
    let atomic = unsafe { AtomicU64::from_ptr(pointer.cast()) };
    Ok((atomic, ni.watch_of(pointer)))
}

/// Out of line, here and below, so that what is compiled in place stays short.
///
/// # Safety
/// As for [`RawPort::push_from`].
#[inline(never)]
unsafe fn push_elsewhere<T: Pod>(by: &Initiator, to: Place<'_, T>, data: *const T, len: usize) -> Result<()> {
    let reach = by.ni.resolve(to, len)?;
    let (data, bytes) = (data.cast(), len * size_of::<T>());
    // SAFETY: the caller's promise.
    unsafe {
        match reach {
            Reach::Area(area, offset) => by.push_area(area, offset, data, bytes, None),
            Reach::Far(target) => by.push_routed(target, Data::shared(data, bytes), None),
            Reach::Pointer(_) => unreachable!("pushed in place"),
        }
    }
}

/// # Safety
/// As for [`RawPort::pull_into`].
#[inline(never)]
unsafe fn pull_elsewhere<T: Pod>(by: &Initiator, from: Place<'_, T>, into: *mut T, len: usize) -> Result<()> {
    let reach = by.ni.resolve(from, len)?;
    let (into, bytes) = (into.cast(), len * size_of::<T>());
    // SAFETY: the caller's promise.
    unsafe {
        match reach {
            Reach::Area(area, offset) => by.pull_area(area, offset, into, bytes),
            Reach::Far(source) => by.pull_routed(source, into, bytes),
            Reach::Pointer(_) => unreachable!("pulled in place"),
        }
    }
}

/// What becomes of the word that tells of a push.
#[derive(Clone, Copy)]
enum Notice {
    Set(u64),
    Add(u64),
}

impl Notice {
    #[inline(always)]
    fn give(self, word: &AtomicU64) {
        match self {
            Notice::Set(value) => word.store(value, Ordering::Release),
            Notice::Add(amount) => drop(word.fetch_add(amount, Ordering::AcqRel)),
        }
    }

    /// As a word of its own, behind a push.
    fn follow(self, port: &Port, flag: Place<'_, u64>) -> Result<()> {
        let amount = match self {
            Notice::Set(value) => return port.word(flag, value),
            Notice::Add(amount) => amount,
        };
        let by = &port.initiator;
        match by.ni.resolve(flag, 1)? {
            Reach::Area(area, offset) => by.add_area(area, offset, amount),
            Reach::Far(target) => by.add_routed(target, amount),
            Reach::Pointer(word) => {
                if by.has_routed() {
                    by.settle(flag.rank)?;
                }
                // SAFETY: found for one aligned `u64`, which everybody accesses atomically.
                self.give(unsafe { AtomicU64::from_ptr(word.cast()) });
                by.ni.notify(flag.rank, by.ni.watch_of(word));
                Ok(())
            }
        }
    }
}

/// # Safety
/// As for [`RawPort::push_from`].
#[inline(always)]
unsafe fn notify<T: Pod>(
    port: &Port,
    to: Place<'_, T>,
    data: *const T,
    len: usize,
    flag: Place<'_, u64>,
    notice: Notice,
) -> Result<()> {
    if to.rank != flag.rank {
        return Err(Error::NotAtTarget { rank: flag.rank, target: to.rank });
    }
    // SAFETY: the caller's promise.
    let elsewhere = || unsafe { notify_elsewhere(port, to, data, len, flag, notice) };
    let Some(target) = port.initiator.pointer_to(&to, len) else { return elsewhere() };
    let Some(word) = port.initiator.pointer_to(&flag, 1) else { return elsewhere() };
    port.initiator.tick();
    if port.initiator.has_routed() {
        port.initiator.settle(to.rank)?;
    }
    // SAFETY: found for that many elements, and for one aligned `u64` accessed atomically; the caller's promise.
    unsafe {
        copy::copy_away(target, data.cast(), len * size_of::<T>());
        notice.give(AtomicU64::from_ptr(word.cast()));
    }
    port.initiator.note_moved(len * size_of::<T>());
    port.initiator.ni.notify(flag.rank, port.initiator.ni.watch_of(word));
    Ok(())
}

/// # Safety
/// As for [`RawPort::push_from`].
#[inline(never)]
unsafe fn notify_elsewhere<T: Pod>(
    port: &Port,
    to: Place<'_, T>,
    data: *const T,
    len: usize,
    flag: Place<'_, u64>,
    notice: Notice,
) -> Result<()> {
    // Both are checked before anything is written.
    let (place, word) = (port.initiator.ni.resolve(to, len)?, port.initiator.ni.resolve(flag, 1)?);
    let place = match place {
        Reach::Far(target) => Some(target),
        Reach::Area(area, offset) => Some(area.target(offset)),
        Reach::Pointer(_) => None,
    };
    if let (Some(place), Reach::Far(word)) = (place, word) {
        // SAFETY: the caller's promise.
        let data = unsafe { Data::shared(data.cast(), len * size_of::<T>()) };
        return match notice {
            Notice::Set(value) => port.initiator.push_notify_routed(place, data, word.offset, value),
            Notice::Add(amount) => port.initiator.push_add_routed(place, data, word.offset, amount),
        };
    }
    // SAFETY: the caller's promise.
    unsafe { port.push_from(to, data, len)? };
    notice.follow(port, flag)
}

/// Where a status word is in the own heap, if it lies in job memory, which stays while an operation is under way.
fn own_status(by: &Initiator, status: Place<'_, u64>) -> Result<Option<usize>> {
    if status.rank != by.ni.rank {
        return Err(Error::NotMine { rank: status.rank });
    }
    match by.ni.resolve(status, 1)? {
        Reach::Pointer(word) => Ok(Some(by.ni.own_offset(word))),
        Reach::Area(area, offset) => {
            let word = area.own_address(&by.ni, offset)?;
            Ok((area.kind == AreaKind::Mapped).then(|| by.ni.own_offset(word)))
        }
        Reach::Far(_) => Err(Error::NotMine { rank: status.rank }),
    }
}

impl Initiator {
    /// The word that a place names, if it is mapped here and lasts.
    #[inline(always)]
    pub(super) fn word_to<'a>(&'a self, place: &Place<'a, u64>) -> Option<&'a AtomicU64> {
        let word = self.pointer_to(place, 1)?;
        // SAFETY: found for one `u64`, aligned since areas start on a line, of an area that the place borrows; accessed atomically
        // by everyone.
        Some(unsafe { AtomicU64::from_ptr(word.cast()) })
    }

    /// The half of a word that a place names, if it is mapped here and lasts.
    #[inline(always)]
    pub(super) fn half_to<'a>(&'a self, place: &Place<'a, u32>) -> Option<&'a AtomicU32> {
        let half = self.pointer_to(place, 1)?;
        // SAFETY: found for one `u32`, aligned since areas start on a line, of an area that the place borrows; accessed atomically
        // by everyone.
        Some(unsafe { AtomicU32::from_ptr(half.cast()) })
    }

    /// `count` elements of a place, if they are mapped here and last.
    #[inline(always)]
    pub(super) fn span_to<'a, T: Pod>(&'a self, place: &Place<'a, T>, count: usize) -> Option<Span<'a>> {
        let start = NonNull::new(self.pointer_to(place, count)?)?;
        // SAFETY: found for so many elements of an area that the place borrows, in memory that stays mapped; peers reach it by copies and
        // atomics.
        Some(unsafe { Span::new(start, count * size_of::<T>()) })
    }
}

mod sealed {
    /// Only ports of the library have it.
    pub trait Sealed {}

    impl Sealed for super::Port {}
}
