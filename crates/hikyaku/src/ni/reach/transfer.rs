//! Posting the pieces of transfers with far ranks, as far as there is room.

use crate::error::Result;
use crate::ni::base::Base;

impl Base {
    /// Posts pieces of one transfer of a port: whoever has started it, or has received an answer to it. False if there was no room.
    pub(crate) fn drive_transfer(&self, port: usize, token: u64) -> Result<bool> {
        while let Some(piece) = self.transfers[port].next(token) {
            if self.holds_back(piece.operation.at.rank) || !self.post_operation(&piece.operation, token)? {
                return Ok(false);
            }
            piece.posted();
        }
        Ok(true)
    }
}
