//! What there is, without waiting for it.

use crate::error::Result;
use crate::message::messages::Messages;
use crate::ni::By;

impl Messages<'_> {
    /// Whether no non-blocking operation is under way: every one was found to have ended by a wait or a test.
    pub fn is_idle(&self) -> bool {
        self.core.pending.borrow().is_idle()
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
        self.job.progress();
        self.core.move_spooled();
        let departed = self.job.ni.check_departed(By::Rank(self.core.rank_of(rank)));
        // What was sent before the end counts.
        match self.core.find_slot(rank) {
            None => departed.map(|()| None),
            found => Ok(found),
        }
    }
}
