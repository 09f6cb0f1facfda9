//! What there is, without taking it.

use crate::error::Result;
use crate::message::messages::Messages;
use crate::ni::{Awaited, By, Wait};
use std::time::Duration;

impl Messages<'_> {
    /// Whether no non-blocking operation is under way: every one was found to have ended by a wait or a test.
    pub fn is_idle(&self) -> bool {
        self.core.pending.borrow().is_idle()
    }

    /// Waits for a message in slot `slot` of `rank`, and gives its length in bytes. The message stays: the next receive of the slot takes
    /// it.
    ///
    /// ```
    /// hikyaku::local(2, |job| {
    ///     let messages = job.messages(4)?;
    ///     if job.rank() == 0 {
    ///         messages.send(&[1u64; 5], 1, 3)
    ///     } else {
    ///         // Room for exactly what comes.
    ///         let mut data = vec![0u64; messages.probe(0, 3)? / 8];
    ///         assert_eq!(messages.recv(&mut data, 0, 3)?, 5);
    ///         assert_eq!(messages.try_probe(0, 3).ok().flatten(), None);
    ///         Ok(())
    ///     }
    /// })
    /// .unwrap();
    /// ```
    #[track_caller]
    pub fn probe(&self, rank: usize, slot: usize) -> Result<usize> {
        self.port.enter(&"probe");
        self.probe_within(rank, slot, None)
    }

    /// [`Messages::probe`] that waits for at most `timeout`, and then fails with [`crate::Error::Timeout`].
    #[track_caller]
    pub fn probe_for(&self, rank: usize, slot: usize, timeout: Duration) -> Result<usize> {
        self.port.enter(&"probe_for");
        self.probe_within(rank, slot, Some(timeout))
    }

    fn probe_within(&self, rank: usize, slot: usize, patience: Option<Duration>) -> Result<usize> {
        self.core.check(rank, slot)?;
        let awaited = Awaited::AnyMessage(Some(slot));
        let wait = Wait::on_rank(self.core.rank_of(rank)).at_most(patience).of(awaited);
        self.port.wait_until(wait, || {
            self.core.move_spooled();
            self.core.waiting_bytes(rank, slot).transpose()
        })?
    }

    /// The length in bytes of the message in slot `slot` of `rank`, if there is one now.
    pub fn try_probe(&self, rank: usize, slot: usize) -> Result<Option<usize>> {
        self.core.check(rank, slot)?;
        self.port.progress();
        self.core.move_spooled();
        let departed = self.port.ni().check_departed(By::Rank(self.core.rank_of(rank)));
        // What was sent before the end counts.
        match self.core.waiting_bytes(rank, slot)? {
            None => departed.map(|()| None),
            found => Ok(found),
        }
    }

    /// The slot of the message that [`Messages::recv_any_slot`] would take, if there is one now.
    ///
    /// ```
    /// hikyaku::local(2, |job| {
    ///     let messages = job.messages(4)?;
    ///     if job.rank() == 0 {
    ///         messages.send(&[1u8], 1, 3)?;
    ///         job.barrier()
    ///     } else {
    ///         job.barrier()?;
    ///         assert_eq!(messages.waiting_slot(0)?, Some(3));
    ///         messages.recv(&mut [0u8], 0, 3)?;
    ///         assert_eq!(messages.waiting_slot(1)?, None);
    ///         Ok(())
    ///     }
    /// })
    /// .unwrap();
    /// ```
    pub fn waiting_slot(&self, rank: usize) -> Result<Option<usize>> {
        self.core.check(rank, 0)?;
        self.port.progress();
        self.core.move_spooled();
        let departed = self.port.ni().check_departed(By::Rank(self.core.rank_of(rank)));
        // What was sent before the end counts.
        match self.core.find_slot(rank) {
            None => departed.map(|()| None),
            found => Ok(found),
        }
    }
}
