//! Remote operations: push, pull, word, notification, flush.
//!
//! On a pointer an operation is done when the call returns. On a route a push may still be under way;
//! [`Port::flush`] and [`Port::sync`] wait for it, and a word or notification to the same rank comes after it: to a near rank it
//! waits by itself, to a far one it travels behind.

use super::port::Port;
use super::raw;
use crate::error::{Error, Result};
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

    /// Writes `data`, then adds `amount` to the word `counter` on the same rank: whoever sees the sum sees the data. Many ranks can add to
    /// one counter, so that their target waits for all of them at once.
    ///
    /// ```
    /// hikyaku::local(4, |job| {
    ///     let parts = job.symmetric::<u64>(4)?;
    ///     let counter = job.symmetric::<u64>(1)?;
    ///     job.push_notify_add(parts.at(0, job.rank()), &[job.rank() as u64], counter.at(0, 0), 1)?;
    ///     if job.rank() == 0 {
    ///         job.wait(counter.here(0), hikyaku::Until::AtLeast(4))?;
    ///         assert_eq!(parts.to_vec(), [0, 1, 2, 3]);
    ///     }
    ///     job.barrier()
    /// })
    /// .unwrap();
    /// ```
    #[inline]
    pub fn push_notify_add<T: Pod>(
        &self,
        to: Place<'_, T>,
        data: &[T],
        counter: Place<'_, u64>,
        amount: u64,
    ) -> Result<()> {
        raw::push_notify_add(self, to, data, counter, amount)
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

    /// Waits until everything that this port has pushed to `rank` has arrived. Fails if a push was refused meanwhile.
    /// It does not wait for messages to handlers; [`Port::sync`] does.
    ///
    /// Fails if a rank of another host has ended. What is mapped of a rank of this host ([`Port::is_mapped`]) stays when that rank ends: what is
    /// pushed there arrives. Whoever waits for what the rank is to do is told of its end ([`Port::wait_from`], receives, locks, barriers).
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

    /// Waits until everything that this port has started is done at its target: pushes have arrived, and the handlers of messages that
    /// were sent with [`Port::send`] have run. Handlers run while their ranks are inside calls of the library. Messages that a handler
    /// sends are not waited for. Fails if a peer refused any of it, or if a rank has ended without handling a message.
    ///
    /// A port that has sent no messages to handlers since the last call pays nothing for them.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    /// let sums = [0, 1].map(|_| Arc::new(AtomicU64::new(0)));
    /// hikyaku::local(2, |job| {
    ///     let sum = sums[job.rank()].clone();
    ///     job.register_handler(1, move |_, message| drop(sum.fetch_add(message.address, SeqCst)))?;
    ///     job.barrier()?;
    ///     let peer = 1 - job.rank();
    ///     (1..=10).try_for_each(|value| job.send(peer, 1, value, [0; 6], &[]))?;
    ///     job.sync()?;
    ///     assert_eq!(sums[peer].load(SeqCst), 55);
    ///     job.barrier()
    /// })
    /// .unwrap();
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

/// Out of line, so that what is compiled in place stays short.
#[inline(never)]
fn word_elsewhere(by: &Initiator, to: Place<'_, u64>, value: u64) -> Result<()> {
    match by.ni.resolve(to, 1)? {
        Reach::Area(area, offset) => by.word_area(area, offset, value),
        Reach::Far(target) => by.word_routed(target, value),
        Reach::Pointer(_) => unreachable!("written in place"),
    }
}
