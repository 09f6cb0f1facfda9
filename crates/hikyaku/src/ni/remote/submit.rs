//! Sending messages and operations, waiting for room.

use super::initiator::Initiator;
use crate::error::{Error, Result};
use crate::ni::state::awaited::By;
use crate::ni::state::inside::refuse_in_handler;
use crate::ni::wire::message::check_content;
use crate::ni::wire::operation::{Act, Operation};
use crate::transport::shm::ring::Packet;

/// Messages.
impl Initiator {
    /// Sends a packet, waiting for room.
    #[inline]
    pub fn submit(&self, rank: usize, packet: &Packet, payload: &[u8]) -> Result<()> {
        self.check_message(rank, packet, payload)?;
        if self.lane.borrow_mut().try_send(&self.ni, rank, packet, payload)? {
            self.tick();
            return Ok(());
        }
        self.submit_when_room(rank, packet, payload)
    }

    #[cold]
    fn submit_when_room(&self, rank: usize, packet: &Packet, payload: &[u8]) -> Result<()> {
        refuse_in_handler()?;
        let try_again = || {
            let sent = self.lane.borrow_mut().try_send(&self.ni, rank, packet, payload);
            match sent {
                Ok(true) => Some(Ok(())),
                Ok(false) => None,
                Err(error) => Some(Err(error)),
            }
        };
        self.wait_for_rank(rank, try_again)?
    }

    /// Sends a packet, or fails where there is no room now.
    pub fn try_submit(&self, rank: usize, packet: &Packet, payload: &[u8]) -> Result<()> {
        self.check_message(rank, packet, payload)?;
        if self.lane.borrow_mut().try_send(&self.ni, rank, packet, payload)? {
            return Ok(());
        }
        // Ranks that only try must still serve each other.
        self.ni.progress();
        Err(Error::Busy { rank })
    }

    /// Sends a packet for a handler of a layer above; false where there is no room now. Runs no handler meanwhile, and raises no panic of
    /// one: who calls this is in the middle of something.
    #[inline]
    pub fn try_post(&self, rank: usize, packet: &Packet, payload: &[u8]) -> Result<bool> {
        self.ni.check_rank(rank)?;
        if self.ni.departures() != 0 {
            self.ni.check_departed(By::Rank(rank))?;
        }
        self.lane.borrow_mut().try_send(&self.ni, rank, packet, payload)
    }

    #[inline(always)]
    fn check_message(&self, rank: usize, packet: &Packet, payload: &[u8]) -> Result<()> {
        self.ni.check_rank(rank)?;
        check_content(packet.handler, payload)?;
        self.check_peer(rank)
    }
}

/// Operations.
impl Initiator {
    /// Calls `each` with parts of the operation that fit a packet, in order, and whether it is the last.
    pub fn in_pieces(
        &self,
        operation: &Operation<'_>,
        mut each: impl FnMut(&Operation<'_>, bool) -> Result<()>,
    ) -> Result<()> {
        let max = match self.ni.is_common(&operation.at) {
            true => usize::MAX,
            false => self.ni.payload_max(operation.at.rank),
        };
        let data = match operation.act.data() {
            Some(data) if data.len() > max => data,
            _ => return each(operation, true),
        };
        let mut from = 0;
        while data.len() - from > max {
            let piece = Act::Push(data.part(from, max));
            each(&Operation { at: operation.at.plus(from), act: piece, ..*operation }, false)?;
            from += max;
        }
        let rest = data.part(from, max);
        let act = operation.act.with_data(rest);
        each(&Operation { at: operation.at.plus(from), act, ..*operation }, true)
    }

    /// Sends an operation, waiting for room. Each time it is tried `start` gives its token, and `tried` hears whether it was sent.
    pub fn submit_operation(
        &self,
        operation: &Operation<'_>,
        start: impl Fn() -> u64,
        tried: impl Fn(bool),
    ) -> Result<()> {
        let rank = operation.at.rank;
        self.check_peer(rank)?;
        let attempt = || {
            let sent = self.try_operation(operation, start());
            tried(matches!(sent, Ok(true)));
            match sent {
                Ok(true) => Some(Ok(())),
                Ok(false) => None,
                Err(error) => Some(Err(error)),
            }
        };
        match attempt() {
            Some(sent) => {
                self.tick();
                sent
            }
            None => {
                refuse_in_handler()?;
                self.wait_for_rank(rank, attempt)?
            }
        }
    }

    /// Sends an operation now; false while there is no room.
    pub fn try_operation(&self, operation: &Operation<'_>, token: u64) -> Result<bool> {
        self.lane.borrow_mut().try_operation(&self.ni, operation, token)
    }
}
