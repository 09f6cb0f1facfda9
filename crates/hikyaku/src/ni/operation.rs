//! Remote operations: push, pull, word, atomics, notification, flush.
//!
//! On a pointer an operation is done when the call returns. On a route a push may still be under way;
//! [`Port::flush`] and [`Port::sync`] wait for it, and a word or notification to the same rank comes after it: to a near rank it
//! waits by itself, to a far one it travels behind.

use super::place::{Place, Reach};
use super::port::Port;
use super::raw::RawPort;
use super::remote::{Data, Target};
use crate::error::{Error, Refusal, Result};
pub use crate::memory::atomic::Atomic;
use crate::transport::shm::layout::AreaKind;
use bytemuck::Pod;
use std::sync::atomic::{AtomicU64, Ordering, fence};

impl Port {
    /// Writes `data` to a place. `data` may be reused when the call returns; the bytes are all there after the next
    /// [`Port::flush`], [`Port::word`] or notification to that rank.
    #[inline]
    pub fn push<T: Pod>(&self, to: Place<'_, T>, data: &[T]) -> Result<()> {
        // SAFETY: a live slice.
        unsafe { self.push_from(to, data.as_ptr(), data.len()) }
    }

    /// Out of line, here and below, so that what is compiled in place stays short.
    ///
    /// # Safety
    /// As for [`RawPort::push_from`].
    #[inline(never)]
    pub(super) unsafe fn push_elsewhere<T: Pod>(&self, to: Place<'_, T>, data: *const T, len: usize) -> Result<()> {
        let reach = self.ni.resolve(to, len)?;
        let (data, bytes) = (data.cast(), len * size_of::<T>());
        // SAFETY: the caller's promise.
        unsafe {
            match reach {
                Reach::Area(area, offset) => self.push_area(area, offset, data, bytes, None),
                Reach::Far(target) => self.push_routed(target, Data::shared(data, bytes), None),
                Reach::Pointer(_) => unreachable!("pushed in place"),
            }
        }
    }

    /// Reads a place into `into`; done when the call returns.
    #[inline]
    pub fn pull<T: Pod>(&self, from: Place<'_, T>, into: &mut [T]) -> Result<()> {
        // SAFETY: borrowed mutably; any bytes are a valid `T`.
        unsafe { self.pull_into(from, into.as_mut_ptr(), into.len()) }
    }

    /// # Safety
    /// As for [`RawPort::pull_into`].
    #[inline(never)]
    pub(super) unsafe fn pull_elsewhere<T: Pod>(&self, from: Place<'_, T>, into: *mut T, len: usize) -> Result<()> {
        let reach = self.ni.resolve(from, len)?;
        let (into, bytes) = (into.cast(), len * size_of::<T>());
        // SAFETY: the caller's promise.
        unsafe {
            match reach {
                Reach::Area(area, offset) => self.pull_area(area, offset, into, bytes),
                Reach::Far(source) => self.pull_routed(source, into, bytes),
                Reach::Pointer(_) => unreachable!("pulled in place"),
            }
        }
    }

    /// Reads one element.
    #[inline]
    pub fn pull_one<T: Pod>(&self, from: Place<'_, T>) -> Result<T> {
        let mut value = [T::zeroed()];
        self.pull(from, &mut value)?;
        Ok(value[0])
    }

    /// Writes a word that arrives whole, after everything this port has pushed to that rank before, and wakes
    /// whoever waits for it.
    #[inline]
    pub fn word(&self, to: Place<'_, u64>, value: u64) -> Result<()> {
        self.tick();
        let Some(target) = self.ni.pointer_to(&to, 1) else { return self.word_elsewhere(to, value) };
        if self.has_routed() {
            self.settle(to.rank)?;
        }
        // SAFETY: found for one `u64`, aligned since areas start on a line; accessed atomically.
        unsafe { AtomicU64::from_ptr(target.cast()) }.store(value, Ordering::Release);
        self.ni.notify(to.rank, self.ni.watch_of(target));
        Ok(())
    }

    #[inline(never)]
    fn word_elsewhere(&self, to: Place<'_, u64>, value: u64) -> Result<()> {
        match self.ni.resolve(to, 1)? {
            Reach::Area(area, offset) => self.word_area(area, offset, value),
            Reach::Far(target) => self.word_routed(target, value),
            Reach::Pointer(_) => unreachable!("written in place"),
        }
    }

    /// Writes `data`, then the word `value` to `flag` on the same rank: whoever sees the word sees the data.
    #[inline]
    pub fn push_notify<T: Pod>(&self, to: Place<'_, T>, data: &[T], flag: Place<'_, u64>, value: u64) -> Result<()> {
        // SAFETY: a live slice.
        unsafe { self.push_notify_from(to, data.as_ptr(), data.len(), flag, value) }
    }

    /// # Safety
    /// As for [`RawPort::push_from`].
    #[inline(never)]
    pub(super) unsafe fn notify_elsewhere<T: Pod>(
        &self,
        to: Place<'_, T>,
        data: *const T,
        len: usize,
        flag: Place<'_, u64>,
        value: u64,
    ) -> Result<()> {
        // Both are checked before anything is written.
        let (place, word) = (self.ni.resolve(to, len)?, self.ni.resolve(flag, 1)?);
        let place = match place {
            Reach::Far(target) => Some(target),
            Reach::Area(area, offset) => Some(Target::in_area(area, offset)),
            Reach::Pointer(_) => None,
        };
        if let (Some(place), Reach::Far(word)) = (place, word) {
            // SAFETY: the caller's promise.
            let data = unsafe { Data::shared(data.cast(), len * size_of::<T>()) };
            return self.push_notify_routed(place, data, word.offset, value);
        }
        // SAFETY: the caller's promise.
        unsafe { self.push_from(to, data, len)? };
        self.word(flag, value)
    }

    /// Writes `data`, and `value` into the word `status` of this rank's own memory once the data is all there
    /// (R3): the caller waits for the word, or looks at it, whenever it likes. A push that is refused (its area was
    /// revoked meanwhile) leaves the word as it is and is reported by [`Port::flush`] and [`Port::sync`].
    pub fn push_status<T: Pod>(&self, to: Place<'_, T>, data: &[T], status: Place<'_, u64>, value: u64) -> Result<()> {
        // SAFETY: a live slice.
        unsafe { self.push_status_from(to, data.as_ptr(), data.len(), status, value) }
    }

    /// Reads into `into`, then writes `value` into the word `status` of this rank's own memory.
    pub fn pull_status<T: Pod>(
        &self,
        from: Place<'_, T>,
        into: &mut [T],
        status: Place<'_, u64>,
        value: u64,
    ) -> Result<()> {
        // SAFETY: borrowed mutably; any bytes are a valid `T`.
        unsafe { self.pull_status_into(from, into.as_mut_ptr(), into.len(), status, value) }
    }

    /// Changes a word atomically and gives its value from before; wakes whoever waits for it.
    #[inline]
    pub fn atomic(&self, at: Place<'_, u64>, operation: Atomic) -> Result<u64> {
        self.tick();
        let Some(target) = self.ni.pointer_to(&at, 1) else { return self.atomic_elsewhere(at, operation) };
        // SAFETY: found for one aligned `u64`, accessed atomically by everyone.
        let before = operation.perform(unsafe { AtomicU64::from_ptr(target.cast()) });
        self.ni.notify(at.rank, self.ni.watch_of(target));
        Ok(before)
    }

    #[inline(never)]
    fn atomic_elsewhere(&self, at: Place<'_, u64>, operation: Atomic) -> Result<u64> {
        match self.ni.resolve(at, 1)? {
            Reach::Area(area, offset) => self.atomic_area(area, offset, operation),
            Reach::Far(target) => self.atomic_routed(target, operation),
            Reach::Pointer(_) => unreachable!("done in place"),
        }
    }

    /// Adds to a word; gives the value from before.
    #[inline]
    pub fn fetch_add(&self, at: Place<'_, u64>, value: u64) -> Result<u64> {
        self.atomic(at, Atomic::Add(value))
    }

    /// Replaces a word; gives the value from before.
    #[inline]
    pub fn swap(&self, at: Place<'_, u64>, value: u64) -> Result<u64> {
        self.atomic(at, Atomic::Swap(value))
    }

    /// Replaces a word by `new` if it equals `old`; gives the value from before.
    #[inline]
    pub fn compare_swap(&self, at: Place<'_, u64>, old: u64, new: u64) -> Result<u64> {
        self.atomic(at, Atomic::CompareSwap { old, new })
    }

    /// Waits until everything this port has pushed to `rank` is there, and reports what was refused meanwhile.
    #[inline]
    pub fn flush(&self, rank: usize) -> Result<()> {
        self.ni.check_rank(rank)?;
        fence(Ordering::SeqCst);
        if self.has_routed() {
            self.settle(rank)?;
        }
        self.report_refusal()
    }

    /// Waits until everything this port has started is done at its target, and reports what a peer refused.
    pub fn sync(&self) -> Result<()> {
        self.complete()?;
        self.report_refusal()?;
        match self.ni.misbehaved.load(Ordering::Relaxed) {
            0 => Ok(()),
            rank => Err(Error::PeerMisbehaved { rank: rank as usize - 1, what: "a malformed message" }),
        }
    }

    /// Waits until everything this port has started is done at its target.
    #[inline]
    pub(crate) fn complete(&self) -> Result<()> {
        self.ni.check_rank(self.ni.rank)?;
        fence(Ordering::SeqCst);
        if self.has_routed() { self.settle_all() } else { Ok(()) }
    }

    #[inline]
    fn report_refusal(&self) -> Result<()> {
        match self.ni.accounts[self.index].take_refusal() {
            None => Ok(()),
            Some((rank, reason)) => Err(Error::Refused { rank, reason: Refusal::from_u64(reason) }),
        }
    }

    /// The address of a status word, if it lies in job memory, which stays while an operation is under way.
    pub(super) fn own_status(&self, status: Place<'_, u64>) -> Result<Option<*mut u8>> {
        if status.rank != self.ni.rank {
            return Err(Error::NotMine { rank: status.rank });
        }
        match self.ni.resolve(status, 1)? {
            Reach::Pointer(word) => Ok(Some(word)),
            Reach::Area(area, offset) => {
                let word = area.own_address(&self.ni, offset)?;
                Ok((area.kind == AreaKind::Mapped).then_some(word))
            }
            Reach::Far(_) => Err(Error::NotMine { rank: status.rank }),
        }
    }
}
