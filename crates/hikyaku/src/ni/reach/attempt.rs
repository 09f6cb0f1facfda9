//! Operations that nobody answers, sent now or not at all: for protocols that have a wait of their own. False while there is no
//! room.

use crate::error::Result;
use crate::ni::base::Base;
use crate::ni::wire::operation::{Act, Manner, Operation};
use crate::ni::wire::target::Target;
use crate::ni::wire::token;
use crate::transport::Parcel;
use crate::transport::hardware::Multicast;

impl Base {
    /// A push of what fits a packet, then words at an offset of the rank's heap, of which the first is written last. `prepared`: its description is an old one.
    pub(crate) fn try_push_then(
        &self,
        to: Target,
        data: &[u8],
        then: usize,
        tail: &[u64],
        prepared: bool,
    ) -> Result<bool> {
        let manner = if prepared { Manner::Prepared } else { Manner::Plain };
        self.try_quietly(&Operation::push_then(to, data, then, tail).in_manner(manner))
    }

    /// A push of what fits a packet, as a part of something longer. Who sends that looks at the transport soon, so the service thread need
    /// not: while it did, both would wait for each other's locks.
    pub(crate) fn try_push(&self, to: Target, data: &[u8]) -> Result<bool> {
        self.note_poll();
        self.try_quietly(&Operation::push(to, data))
    }

    /// A word.
    pub(crate) fn try_word(&self, to: Target, value: u64) -> Result<bool> {
        self.try_quietly(&Operation::word(to, value))
    }

    /// A word that nobody is expected to wait for: it may travel with the next packet.
    pub(crate) fn try_patient_word(&self, to: Target, value: u64) -> Result<bool> {
        self.try_quietly(&Operation::word(to, value).in_manner(Manner::Patient))
    }

    /// What is not in memory that the ranks of this host share is on another host.
    fn try_quietly(&self, operation: &Operation<'_>) -> Result<bool> {
        if self.performs_here(operation) {
            return Ok(true);
        }
        self.check_rank(operation.at.rank)?;
        Ok(!self.holds_back(operation.at.rank) && self.post_operation(operation, token::QUIET)?)
    }

    /// Asks a far rank by which key its symmetric memory is reached; false if there was no room.
    pub(crate) fn try_ask_key(&self, rank: usize) -> bool {
        let question = Operation { at: Target::in_heap(rank, 0), act: Act::Open, manner: Manner::Plain };
        matches!(self.post_operation(&question, token::KEY), Ok(true))
    }

    /// A push with words behind it for all other ranks at once, at offsets of their heaps: what is to be sent.
    pub(crate) fn multicast_then(&self, to: usize, data: &[u8], then: usize, tail: &[u64]) -> Parcel {
        // The packet names no rank.
        let to = Target::in_heap(self.rank, to);
        let (packet, payload) = Operation::push_then(to, data, then, tail).to_private(token::QUIET);
        Parcel { source: self.rank, packet, payload: payload.into() }
    }

    /// Sends it; false while there is no room.
    pub(crate) fn try_multicast(&self, network: &dyn Multicast, parcel: &Parcel) -> Result<bool> {
        self.check_rank(self.rank)?;
        network.multicast(parcel)
    }
}
