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
        let Some(target) = ni.word_to(&to) else { return word_elsewhere(&self.initiator, to, value) };
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

    /// Waits until everything this port has pushed to `rank` is there, and reports what was refused meanwhile. Messages to handlers are
    /// none of it: [`Port::sync`] waits for those.
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

    /// Waits until everything this port has started is done at its target, and reports what a peer refused. That is, pushes are there,
    /// and the handlers of messages that were sent with [`Port::send`] have run, as soon as their ranks are inside calls of the library;
    /// what such a handler has sent further is its own rank's. If a rank has ended without having handled a message, that is
    /// the error.
    ///
    /// Who has sent no messages since the last time waits for none, and pays nothing for them.
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
