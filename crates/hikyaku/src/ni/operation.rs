//! Remote operations: push, pull, word, atomics, notification, flush.
//!
//! On a pointer an operation is done when the call returns. On a route a push may still be under way;
//! [`Port::flush`] and [`Port::sync`] wait for it, and a word or notification to the same rank comes after it: to a near rank it
//! waits by itself, to a far one it travels behind.

use super::place::{Place, Reach};
use super::port::Port;
use crate::error::{Error, Refusal, Result};
pub use crate::memory::atomic::Atomic;
use crate::transport::shm::layout::AreaKind;
use bytemuck::Pod;
use std::sync::atomic::{Ordering, fence};

impl Port {
    /// Writes `data` to a place. `data` may be reused when the call returns; the bytes are all there after the next
    /// [`Port::flush`], [`Port::word`] or notification to that rank.
    #[inline]
    pub fn push<T: Pod>(&self, to: Place<'_, T>, data: &[T]) -> Result<()> {
        self.push_slice(to, data)
    }

    /// Reads a place into `into`; done when the call returns.
    #[inline]
    pub fn pull<T: Pod>(&self, from: Place<'_, T>, into: &mut [T]) -> Result<()> {
        self.pull_slice(from, into)
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
        let Some(target) = self.ni.word_to(&to) else { return self.word_elsewhere(to, value) };
        if self.has_routed() {
            self.settle(to.rank)?;
        }
        target.store(value, Ordering::Release);
        self.ni.notify(to.rank, self.ni.watch_of(target.as_ptr().cast()));
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
        self.push_notify_slice(to, data, flag, value)
    }

    /// Writes `data`, and `value` into the word `status` of this rank's own memory once the data is all there
    /// (R3): the caller waits for the word, or looks at it, whenever it likes. A push that is refused (its area was
    /// revoked meanwhile) leaves the word as it is and is reported by [`Port::flush`] and [`Port::sync`].
    pub fn push_status<T: Pod>(&self, to: Place<'_, T>, data: &[T], status: Place<'_, u64>, value: u64) -> Result<()> {
        self.push_status_slice(to, data, status, value)
    }

    /// Reads into `into`, then writes `value` into the word `status` of this rank's own memory.
    pub fn pull_status<T: Pod>(
        &self,
        from: Place<'_, T>,
        into: &mut [T],
        status: Place<'_, u64>,
        value: u64,
    ) -> Result<()> {
        self.pull_status_slice(from, into, status, value)
    }

    /// Changes a word atomically and gives its value from before; wakes whoever waits for it.
    #[inline]
    pub fn atomic(&self, at: Place<'_, u64>, operation: Atomic) -> Result<u64> {
        self.tick();
        let Some(target) = self.ni.word_to(&at) else { return self.atomic_elsewhere(at, operation) };
        // Found before: what comes after waits for the operation.
        let block = self.ni.near_block(at.rank);
        let before = operation.perform(target);
        if let Some(block) = block {
            block.bell.ring(self.ni.fences, self.ni.watch_of(target.as_ptr().cast()));
        }
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
    #[track_caller]
    pub fn flush(&self, rank: usize) -> Result<()> {
        self.ni.check_rank(rank)?;
        fence(Ordering::SeqCst);
        if self.has_routed() {
            self.enter(&"flush");
            self.settle(rank)?;
        }
        self.report_refusal()
    }

    /// Waits until everything this port has started is done at its target, and reports what a peer refused.
    #[track_caller]
    pub fn sync(&self) -> Result<()> {
        self.enter(&"sync");
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

    /// Where a status word is in the own heap, if it lies in job memory, which stays while an operation is under way.
    pub(super) fn own_status(&self, status: Place<'_, u64>) -> Result<Option<usize>> {
        if status.rank != self.ni.rank {
            return Err(Error::NotMine { rank: status.rank });
        }
        match self.ni.resolve(status, 1)? {
            Reach::Pointer(word) => Ok(Some(self.ni.own_offset(word))),
            Reach::Area(area, offset) => {
                let word = area.own_address(&self.ni, offset)?;
                Ok((area.kind == AreaKind::Mapped).then(|| self.ni.own_offset(word)))
            }
            Reach::Far(_) => Err(Error::NotMine { rank: status.rank }),
        }
    }
}
