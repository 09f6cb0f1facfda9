//! Remote operations: push, pull, word, atomics, notification, flush.
//!
//! On a pointer an operation is done when the call returns. On a route a push may still be under way;
//! [`Port::flush`] and [`Port::sync`] wait for it, and a word or notification to the same rank comes after it: to a near rank it
//! waits by itself, to a far one it travels behind.

use super::port::Port;
use super::raw;
use crate::error::{Error, Result};
use crate::memory::atomic::Atomic;
use crate::ni::reach::place::{Place, Reach};
use crate::ni::remote::initiator::Initiator;
use bytemuck::Pod;
use std::sync::atomic::{Ordering, fence};

impl Port {
    /// Writes `data` to a place. `data` may be reused when the call returns; the bytes are all there after the next
    /// [`Port::flush`], [`Port::word`] or notification to that rank.
    #[inline]
    pub fn push<T: Pod>(&self, to: Place<'_, T>, data: &[T]) -> Result<()> {
        raw::push(self, to, data)
    }

    /// Reads a place into `into`; done when the call returns.
    #[inline]
    pub fn pull<T: Pod>(&self, from: Place<'_, T>, into: &mut [T]) -> Result<()> {
        raw::pull(self, from, into)
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
        let Initiator { ni, .. } = &self.initiator;
        self.initiator.tick();
        let Some(target) = self.initiator.word_to(&to) else { return word_elsewhere(&self.initiator, to, value) };
        if self.initiator.has_routed() {
            self.initiator.settle(to.rank)?;
        }
        target.store(value, Ordering::Release);
        ni.notify(to.rank, ni.watch_of(target.as_ptr().cast()));
        Ok(())
    }

    /// Writes `data`, then the word `value` to `flag` on the same rank: whoever sees the word sees the data.
    #[inline]
    pub fn push_notify<T: Pod>(&self, to: Place<'_, T>, data: &[T], flag: Place<'_, u64>, value: u64) -> Result<()> {
        raw::push_notify(self, to, data, flag, value)
    }

    /// Writes `data`, and `value` into the word `status` of this rank's own memory once the data is all there
    /// (R3): the caller waits for the word, or looks at it, whenever it likes. A push that is refused (its area was
    /// revoked meanwhile) leaves the word as it is and is reported by [`Port::flush`] and [`Port::sync`].
    pub fn push_status<T: Pod>(&self, to: Place<'_, T>, data: &[T], status: Place<'_, u64>, value: u64) -> Result<()> {
        raw::push_status(self, to, data, status, value)
    }

    /// Reads into `into`, then writes `value` into the word `status` of this rank's own memory.
    pub fn pull_status<T: Pod>(
        &self,
        from: Place<'_, T>,
        into: &mut [T],
        status: Place<'_, u64>,
        value: u64,
    ) -> Result<()> {
        raw::pull_status(self, from, into, status, value)
    }

    /// Changes a word atomically and gives its value from before; wakes whoever waits for it.
    #[inline]
    pub fn atomic(&self, at: Place<'_, u64>, operation: Atomic) -> Result<u64> {
        let Initiator { ni, .. } = &self.initiator;
        self.initiator.tick();
        let Some(target) = self.initiator.word_to(&at) else { return atomic_elsewhere(&self.initiator, at, operation) };
        // Found before: what comes after waits for the operation.
        let block = self.initiator.routes.block_of(at.rank);
        let before = operation.perform(target);
        if let Some(block) = block {
            block.bell.ring(ni.fences, ni.watch_of(target.as_ptr().cast()));
        }
        Ok(before)
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
        self.initiator.ni.check_rank(rank)?;
        fence(Ordering::SeqCst);
        if self.initiator.has_routed() {
            self.enter(&"flush");
            self.initiator.settle(rank)?;
        }
        self.initiator.report_refusal()
    }

    /// Waits until everything this port has started is done at its target, and reports what a peer refused.
    #[track_caller]
    pub fn sync(&self) -> Result<()> {
        self.enter(&"sync");
        self.initiator.complete()?;
        self.initiator.report_refusal()?;
        match self.initiator.ni.misbehaved.load(Ordering::Relaxed) {
            0 => Ok(()),
            rank => Err(Error::PeerMisbehaved { rank: rank as usize - 1, what: "a malformed message" }),
        }
    }
}

/// Out of line, here and below, so that what is compiled in place stays short.
#[inline(never)]
fn word_elsewhere(by: &Initiator, to: Place<'_, u64>, value: u64) -> Result<()> {
    match by.ni.resolve(to, 1)? {
        Reach::Area(area, offset) => by.word_area(area, offset, value),
        Reach::Far(target) => by.word_routed(target, value),
        Reach::Pointer(_) => unreachable!("written in place"),
    }
}

#[inline(never)]
fn atomic_elsewhere(by: &Initiator, at: Place<'_, u64>, operation: Atomic) -> Result<u64> {
    match by.ni.resolve(at, 1)? {
        Reach::Area(area, offset) => by.atomic_area(area, offset, operation),
        Reach::Far(target) => by.atomic_routed(target, operation),
        Reach::Pointer(_) => unreachable!("done in place"),
    }
}
