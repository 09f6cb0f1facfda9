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
    /// Writes `data` to a place. `data` may be reused when the call returns. After the next [`Port::flush`] to that rank, or when a later
    /// [`Port::word`] or notification has arrived there, all bytes have arrived too.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let table = job.symmetric::<u32>(100)?;
    /// if job.rank() == 0 {
    ///     job.push(table.at(1, 10), &[1, 2, 3])?; // elements 10 to 12 of rank 1
    ///     job.flush(1)?;                          // they are there
    /// }
    /// job.barrier()?;
    /// assert_eq!(table.get(11), if job.rank() == 1 { 2 } else { 0 });
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[inline]
    pub fn push<T: Pod>(&self, to: Place<'_, T>, data: &[T]) -> Result<()> {
        raw::push(self, to, data)
    }

    /// Reads from a place into `into`. The data are there when the call returns.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let table = job.symmetric::<u32>(100)?;
    /// table.write(0, &[7; 100]);
    /// job.barrier()?;
    /// let mut copy = [0; 100];
    /// job.pull(table.at(1 - job.rank(), 0), &mut copy)?;
    /// assert_eq!(copy, [7; 100]);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[inline]
    pub fn pull<T: Pod>(&self, from: Place<'_, T>, into: &mut [T]) -> Result<()> {
        raw::pull(self, from, into)
    }

    /// Reads one element.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let value = job.symmetric::<f64>(1)?;
    /// value.set(0, job.rank() as f64);
    /// job.barrier()?;
    /// assert_eq!(job.pull_one(value.at(1, 0))?, 1.0);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[inline]
    pub fn pull_one<T: Pod>(&self, from: Place<'_, T>) -> Result<T> {
        let mut value = [T::zeroed()];
        self.pull(from, &mut value)?;
        Ok(value[0])
    }

    /// Writes a word of 8 bytes at once, after everything this port has pushed to that rank before, and wakes whoever waits for the word.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let (data, flag) = (job.symmetric::<u32>(8)?, job.symmetric::<u64>(1)?);
    /// if job.rank() == 0 {
    ///     job.push(data.at(1, 0), &[1, 2, 3, 4])?;
    ///     job.push(data.at(1, 4), &[5, 6, 7, 8])?;
    ///     job.word(flag.at(1, 0), 1)?; // arrives after both
    /// } else {
    ///     job.wait(flag.here(0), hikyaku::Until::Equal(1))?;
    ///     assert_eq!(data.to_vec(), [1, 2, 3, 4, 5, 6, 7, 8]);
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
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
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let (data, flag) = (job.symmetric::<f64>(1000)?, job.symmetric::<u64>(1)?);
    /// if job.rank() == 0 {
    ///     job.push_notify(data.at(1, 0), &[1.5; 1000], flag.at(1, 0), 1)?;
    /// } else {
    ///     job.wait(flag.here(0), hikyaku::Until::Equal(1))?;
    ///     assert_eq!(data.get(999), 1.5);
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[inline]
    pub fn push_notify<T: Pod>(&self, to: Place<'_, T>, data: &[T], flag: Place<'_, u64>, value: u64) -> Result<()> {
        raw::push_notify(self, to, data, flag, value)
    }

    /// Writes `data`. Once the data have arrived, `value` is written to `status`, a word in this rank's own memory, which the caller can
    /// wait for or poll at any time. If the push is refused, because its area was revoked meanwhile, the word stays as it is, and
    /// [`Port::flush`] and [`Port::sync`] report the error.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let (data, status) = (job.symmetric::<u8>(100)?, job.symmetric::<u64>(1)?);
    /// if job.rank() == 0 {
    ///     job.push_status(data.at(1, 0), &[9; 100], status.here(0), 1)?;
    ///     // Compute something here, then:
    ///     job.wait(status.here(0), hikyaku::Until::Equal(1))?; // all bytes are at rank 1
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn push_status<T: Pod>(&self, to: Place<'_, T>, data: &[T], status: Place<'_, u64>, value: u64) -> Result<()> {
        raw::push_status(self, to, data, status, value)
    }

    /// Reads into `into`, then writes `value` into the word `status` of this rank's own memory.
    ///
    /// ```
    /// # hikyaku::local(1, |job| {
    /// let (data, status) = (job.symmetric::<u8>(100)?, job.symmetric::<u64>(1)?);
    /// let mut copy = [0; 100];
    /// job.pull_status(data.at(0, 0), &mut copy, status.here(0), 5)?;
    /// assert_eq!(job.poll(status.here(0))?, 5);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn pull_status<T: Pod>(
        &self,
        from: Place<'_, T>,
        into: &mut [T],
        status: Place<'_, u64>,
        value: u64,
    ) -> Result<()> {
        raw::pull_status(self, from, into, status, value)
    }

    /// Changes a word atomically, wakes whoever waits for it, and returns the value it had before.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// use hikyaku::Atomic;
    /// let bits = job.symmetric::<u64>(1)?;
    /// job.atomic(bits.at(0, 0), Atomic::Or(1 << job.rank()))?;
    /// job.barrier()?;
    /// assert_eq!(job.pull_one(bits.at(0, 0))?, 0b11);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
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

    /// Adds to a word atomically; returns the value it had before.
    ///
    /// ```
    /// # hikyaku::local(3, |job| {
    /// // Each rank takes the next piece of work until none is left.
    /// let next = job.symmetric::<u64>(1)?;
    /// while let piece @ 0..10 = job.fetch_add(next.at(0, 0), 1)? {
    ///     println!("rank {} does piece {piece}", job.rank());
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[inline]
    pub fn fetch_add(&self, at: Place<'_, u64>, value: u64) -> Result<u64> {
        self.atomic(at, Atomic::Add(value))
    }

    /// Replaces a word atomically; returns the value it had before.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let last = job.symmetric::<u64>(1)?;
    /// let before = job.swap(last.at(0, 0), job.rank() as u64 + 1)?;
    /// println!("rank {} came after {before}", job.rank()); // 0 is nobody
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[inline]
    pub fn swap(&self, at: Place<'_, u64>, value: u64) -> Result<u64> {
        self.atomic(at, Atomic::Swap(value))
    }

    /// Replaces a word by `new` if it equals `old`, atomically; returns the value it had before.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// // Whoever finds 0 there has the lock.
    /// let lock = job.symmetric::<u64>(1)?;
    /// while job.compare_swap(lock.at(0, 0), 0, 1)? != 0 {}
    /// // One rank at a time is here.
    /// job.word(lock.at(0, 0), 0)?;
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[inline]
    pub fn compare_swap(&self, at: Place<'_, u64>, old: u64, new: u64) -> Result<u64> {
        self.atomic(at, Atomic::CompareSwap { old, new })
    }

    /// Waits until everything that this port has pushed to `rank` has arrived. Fails if a push was refused meanwhile.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let table = job.symmetric::<u32>(4)?;
    /// if job.rank() == 0 {
    ///     for index in 0..4 {
    ///         job.push(table.at(1, index), &[index as u32])?;
    ///     }
    ///     job.flush(1)?; // all four are there
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
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

    /// Waits until everything that this port has started is done at its target. Fails if a peer refused any of it.
    ///
    /// ```
    /// # hikyaku::local(3, |job| {
    /// let table = job.symmetric::<u32>(3)?;
    /// for rank in 0..3 {
    ///     job.push(table.at(rank, job.rank()), &[5])?;
    /// }
    /// job.sync()?;    // what this rank has pushed is there, at all ranks
    /// job.barrier()?; // and what the others have pushed
    /// assert_eq!(table.to_vec(), [5, 5, 5]);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
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
