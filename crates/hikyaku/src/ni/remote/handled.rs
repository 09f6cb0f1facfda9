//! Waiting until the messages of a port were handled.
//!
//! A receiver counts what it has handled anyway, since it returns room to the sender: in a near rank's ring, and to a far rank by
//! credits. It does so now and then. Whoever wants to know asks by a message behind the others, and is told the exact count:
//!
//! ```text
//!   sender                                     receiver
//!   messages --------------------------------> handlers run, or will
//!   asks, behind them -----------------------> taken after them: tells how many it has handled, at once
//!   as many as were sent?  <------------------
//! ```
//! A rank that leaves tells as well. So no message costs anything more, and who sends none pays nothing.

use super::initiator::Initiator;
use crate::error::Result;
use crate::transport::packet::kind;
use crate::transport::shm::ring::{self, Packet};

impl Initiator {
    /// Waits until all messages that this port has sent were handled; a rank that has ended does not keep the others from being
    /// waited for. Of those whose end `concerns` nobody, it is left to the next who asks.
    pub fn await_handled(&self, concerns: &dyn Fn(usize) -> bool) -> Result<()> {
        let unhandled = self.unhandled();
        // All are asked before any is waited for; who cannot be asked cannot be waited for either.
        for (rank, _) in &unhandled {
            let _ = self.submit(*rank, &Packet { kind: kind::ASK, ..Packet::default() }, &[]);
        }
        let mut outcome = Ok(());
        let mut is_known = true;
        for (rank, count) in unhandled {
            if self.has_handled(rank, count) {
                continue;
            }
            let handled = || self.has_handled(rank, count).then_some(());
            if let Err(error) = self.wait_for_rank(rank, handled) {
                // A rank that leaves says before what it has handled.
                if self.has_handled(rank, count) {
                    continue;
                }
                if error.is_peer_fault() && !concerns(rank) {
                    is_known = false;
                    continue;
                }
                match error.is_peer_fault() {
                    true => drop(self.lane.borrow_mut().given_up.insert(rank, count)),
                    false => is_known = false,
                }
                outcome = outcome.and(Err(error));
            }
        }
        if is_known {
            self.note_messaged(false);
        }
        outcome
    }

    /// Messages that were sent to ranks which have ended without having handled them: how many to whom.
    pub fn sent_in_vain(&self) -> Vec<(usize, u64)> {
        if !self.has_messaged() {
            return Vec::new();
        }
        let ended = self.unhandled().into_iter().filter(|(rank, _)| self.ni.end_of(*rank).is_some());
        ended.map(|(rank, count)| (rank, count - self.handled_by(rank).min(count))).collect()
    }

    /// The ranks that may have unhandled messages of this port, and how many it has sent to each.
    fn unhandled(&self) -> Vec<(usize, u64)> {
        let lane = self.lane.borrow();
        let near = self.ni.routes.near().iter().zip(&lane.to);
        let near = near.filter_map(|(rank, producer)| Some((*rank, producer.as_ref()?.sent())));
        let far = self.ni.credits.iter().enumerate().map(|(rank, credit)| (rank, credit.position().0));
        let far = far.filter(|(rank, _)| !self.ni.is_near(*rank));
        let is_open = |(rank, sent): &(usize, u64)| {
            *sent > self.handled_by(*rank).max(lane.given_up.get(rank).copied().unwrap_or(0))
        };
        near.chain(far).filter(is_open).collect()
    }

    /// Whether a rank has handled the first `count` messages.
    fn has_handled(&self, rank: usize, count: u64) -> bool {
        match self.ni.is_near(rank) {
            true => self.handled_by(rank) >= count,
            false => self.ni.credits[rank].has_handled(count),
        }
    }

    /// How many messages a rank says to have handled.
    fn handled_by(&self, rank: usize) -> u64 {
        if !self.ni.is_near(rank) {
            return self.ni.credits[rank].position().1;
        }
        let source = self.ni.memory.source(self.ni.local, self.index);
        ring::returned(self.ni.memory.ring(self.ni.local_of(rank), source))
    }
}
