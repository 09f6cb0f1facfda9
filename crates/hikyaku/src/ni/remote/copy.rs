//! Copies between two far ranks: the owner of the bytes is asked to send them on, piece by piece (`receive::relay` is its side).
//!
//! A copy is one of the port's transfers, with the owner of the bytes, and answers drive it on. It has no handle, and ends by itself. Who
//! flushes to its target waits for it, or syncs, and hears of what was refused.

use super::initiator::Initiator;
use crate::error::{Error, Refusal, Result};
use crate::ni::state::awaited::{By, Wait};
use crate::ni::state::inside::refuse_in_handler;
use crate::ni::wire::onward::{COPY_MAX, ONWARD_BYTES, Onward};
use crate::ni::wire::operation::{Act, Data, Manner, Operation};
use crate::ni::wire::target::Target;
use crate::ni::wire::token;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// So many copies of a port may be under way.
const COPIES_MAX: usize = 256;
/// How long a copy may stand still before its initiator asks whether everybody is there.
const STANDSTILL: Duration = Duration::from_millis(500);

impl Initiator {
    /// Whether a far rank can be asked to copy to another target by itself: to what it has mapped, or to another host.
    pub fn is_relayed(&self, from: &Target, to: &Target) -> bool {
        let host = |target: &Target| self.ni.routes.to(target.rank).host;
        let is_far = |target: &Target| !self.ni.is_near(target.rank);
        let is_reached = host(from) != host(to) || from.rank == to.rank || to.is_heap();
        is_far(from) && is_far(to) && is_reached
    }

    /// Copies bytes of a far rank to another one, or to another place of the same, then writes a word at an offset of its heap.
    pub fn copy_routed(&self, from: Target, to: Target, bytes: usize, then: Option<(u64, u64)>) -> Result<()> {
        refuse_in_handler()?;
        self.check_peer(from.rank)?;
        self.check_peer(to.rank)?;
        while self.desk().copy_count() >= COPIES_MAX {
            let Some((_, oldest, _)) = self.desk().find_copy(|_, _| true) else { break };
            self.settle_copies(|source, _| source == oldest, oldest)?;
        }
        let is_one_host = self.ni.routes.to(from.rank).host == self.ni.routes.to(to.rank).host;
        let piece = if is_one_host { COPY_MAX } else { COPY_MAX.min(self.ni.payload_max(from.rank)) };
        let token = self.desk().open_copy(self.index, from, (bytes, piece), &Onward { to, then })?;
        self.note_routed(true);
        if let Err(error) = self.ni.drive_transfer(self.index, token) {
            self.end_transfer(token);
            return Err(error);
        }
        self.tick();
        Ok(())
    }

    /// Waits until all copies to a rank are done.
    pub fn settle_copies_to(&self, rank: usize) -> Result<()> {
        while let Some((_, source, _)) = self.desk().find_copy(|_, to| to == rank) {
            self.settle_copies(|from, to| (from, to) == (source, rank), source)?;
        }
        Ok(())
    }

    /// Waits until such copies are done, which all have this source. Ends with an error if the source has ended; if the target has,
    /// that is a refusal.
    pub fn settle_copies(&self, is_such: impl Fn(usize, usize) -> bool, source: usize) -> Result<()> {
        while self.desk().find_copy(&is_such).is_some() {
            let are_done = || {
                self.drive_transfers();
                self.strike_lost_copies();
                self.desk().find_copy(&is_such).is_none().then_some(())
            };
            match self.wait_until(Wait::on_rank(source).always().patrol(STANDSTILL), are_done) {
                Err(Error::Timeout { .. }) => self.ask_after(&is_such),
                Err(error) if error.is_peer_fault() => {
                    self.write_off_copies(source);
                    return Err(error);
                }
                ended => return ended,
            }
        }
        Ok(())
    }

    /// Nothing moves: the silence of whoever takes part must be noticed, by this rank, and by the one that sends on.
    #[cold]
    fn ask_after(&self, is_such: impl Fn(usize, usize) -> bool) {
        let Some((_, source, target)) = self.desk().find_copy(is_such) else { return };
        [source, target].into_iter().for_each(|rank| self.ni.watch(By::Rank(rank)));
        let onward = Onward { to: Target::in_heap(target, 0), then: None }.encode();
        debug_assert_eq!(onward.len(), ONWARD_BYTES);
        let act = Act::Copy { bytes: 0, position: 0, is_last: false, onward: Data::from(&onward[..]) };
        let at = Target::in_heap(source, 0);
        // If there is no room, the source is busy, or soon known to be gone.
        let _ = self.ni.post_operation(&Operation { at, act, manner: Manner::Plain }, token::QUIET);
    }

    /// Copies to ranks that are known here to be dead, or cannot be reached, are given up: whoever sends them on may not know it yet. One
    /// that has left has said before what is done.
    fn strike_lost_copies(&self) {
        if self.ni.departures() == 0 {
            return;
        }
        let is_lost = |rank| matches!(self.ni.end_of(rank), Some(Error::PeerDead { .. } | Error::Unreachable { .. }));
        while let Some((token, _, target)) = self.desk().find_copy(|_, to| is_lost(to)) {
            self.ni.accounts[self.index].refuse(target, Refusal::Unreached as u64);
            self.end_transfer(token);
        }
    }

    /// Gives up copies of what a rank has that has ended.
    pub fn write_off_copies(&self, source: usize) {
        while let Some((token, ..)) = self.desk().find_copy(|from, _| from == source) {
            self.end_transfer(token);
        }
    }

    /// Why something was refused that this rank has asked for.
    #[cold]
    pub fn why_refused(&self, rank: usize, reason: Refusal) -> Error {
        match reason {
            Refusal::Unreached => self.ni.failing(self.ni.end_of(rank).unwrap_or_else(|| Error::Unreachable {
                rank,
                tried: "the rank that was to copy something there has lost it".into(),
            })),
            reason => Error::Refused { rank, reason },
        }
    }
}
