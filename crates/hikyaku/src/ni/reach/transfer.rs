//! Posting the pieces of transfers with far ranks, as far as there is room.

use crate::error::Result;
use crate::ni::base::Base;
use std::sync::atomic::Ordering;

impl Base {
    /// Posts pieces of one transfer of a port: whoever has started it, or has received an answer to it. False if there was no room.
    pub(crate) fn drive_transfer(&self, port: usize, token: u64) -> Result<bool> {
        while let Some(piece) = self.transfers[port].next(token) {
            if self.holds_back(piece.operation.at.rank) || !self.post_operation(&piece.operation, token)? {
                self.stalled.store(true, Ordering::Relaxed);
                return Ok(false);
            }
            piece.posted();
        }
        Ok(true)
    }
    /// Posts pieces of a port's transfers that have found no room before. An error of a transfer is for whoever waits for it.
    pub(crate) fn drive_transfers(&self, port: usize) {
        let mut from = (0, 0);
        while let Some((token, (rank, index))) = self.transfers[port].unposted(from) {
            // Only a port's holder writes into its rings.
            if self.is_near(rank) {
                from = (rank + 1, 0);
                continue;
            }
            from = match self.drive_transfer(port, token) {
                Ok(true) => (rank, index + 1),
                // The others with that rank find no room either: thousands of them are not tried one by one.
                Ok(false) | Err(_) => (rank + 1, 0),
            };
        }
    }

    /// Whether some piece found no room.
    pub(crate) fn is_stalled(&self) -> bool {
        self.stalled.load(Ordering::Relaxed)
    }

    /// The same of all ports, by whoever receives: nobody may wait for a copy.
    pub(crate) fn drive_stalled(&self) {
        if self.stalled.swap(false, Ordering::Relaxed) {
            (0..self.transfers.len()).for_each(|port| self.drive_transfers(port));
        }
    }
}
