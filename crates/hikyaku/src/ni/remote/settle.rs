//! Waiting until what was started is done.

use super::initiator::Initiator;
use crate::error::{Refusal, Result};
use crate::ni::state::direct::Direct;
use crate::ni::wire::operation::{Act, Manner, Operation};
use crate::ni::wire::target::Target;
use crate::ni::wire::token;
use crate::planted::{Bug, planted};
use std::sync::atomic::{Ordering, fence};

impl Initiator {
    /// Waits until everything this port has started is done at its target, and its messages were handled.
    #[inline]
    pub fn complete(&self) -> Result<()> {
        self.ni.check_rank(self.ni.rank)?;
        fence(Ordering::SeqCst);
        if self.has_started() { self.complete_among(&|_| true) } else { Ok(()) }
    }

    /// The same for a call of some ranks. What was started towards others that have ended concerns none of them: it stays owed, and
    /// whoever asks for it is told.
    #[cold]
    pub fn complete_among(&self, concerns: &dyn Fn(usize) -> bool) -> Result<()> {
        self.end_owed()?;
        let settled = if self.has_routed() { self.settle_all(concerns) } else { Ok(()) };
        let handled = if self.has_messaged() { self.await_handled(concerns) } else { Ok(()) };
        settled.and(handled)
    }

    /// Fails if something was refused that nobody has heard of yet.
    #[inline]
    pub fn report_refusal(&self) -> Result<()> {
        match self.ni.accounts[self.index].take_refusal() {
            None => Ok(()),
            Some((rank, reason)) => Err(self.why_refused(rank, Refusal::from_u64(reason))),
        }
    }

    /// Waits until everything this port has sent to `rank` is done there, also what nobody answers.
    pub fn settle_quiet(&self, rank: usize) -> Result<()> {
        // Nothing is sent for it, but settling asks whether it is done.
        self.ni.accounts[self.index].start(rank, self.ni.memory.layout.size, None);
        self.settle(rank)
    }

    /// Waits until everything this port has routed to `rank` is done there.
    pub fn settle(&self, rank: usize) -> Result<()> {
        self.settle_if(rank, &|_| true)
    }

    /// The same; if the rank has ended and that concerns nobody, everything stays as it is.
    fn settle_if(&self, rank: usize, concerns: &dyn Fn(usize) -> bool) -> Result<()> {
        self.settle_copies_to(rank)?;
        self.settle_copies(|source, _| source == rank, rank)?;
        if !self.is_settled(rank) && !planted(Bug::CountUnread) {
            let settled = self.ask_settled(rank).and_then(|()| {
                let settled = || {
                    self.drive_transfers();
                    self.is_settled(rank).then_some(())
                };
                self.wait_for_rank(rank, settled)
            });
            // A rank that leaves says before what is done.
            if let Err(error) = settled
                && !self.is_settled(rank)
            {
                if error.is_peer_fault() {
                    if !concerns(rank) {
                        return Ok(());
                    }
                    self.ni.accounts[self.index].write_off(rank);
                    self.ni.direct.iter().for_each(|direct| direct.write_off(self.index, rank));
                }
                return Err(error);
            }
        }
        self.note_routed(!self.unsettled().is_empty() || !self.owed.borrow().is_empty());
        Ok(())
    }

    /// Whether everything that this port has routed to `rank` is done.
    fn is_settled(&self, rank: usize) -> bool {
        let is_direct_settled = |direct: &Direct| direct.is_settled(self.index, rank);
        self.ni.accounts[self.index].is_settled(rank)
            && self.desk().is_settled(rank)
            && self.ni.direct.as_ref().is_none_or(is_direct_settled)
    }

    /// The ranks to which something of this port is under way.
    fn unsettled(&self) -> Vec<usize> {
        let mut ranks = self.ni.accounts[self.index].unsettled();
        let counted = ranks.len();
        ranks.extend(self.desk().unsettled());
        ranks.extend(self.ni.direct.iter().flat_map(|direct| direct.unsettled(self.index)));
        if ranks.len() > counted {
            ranks.sort_unstable();
            ranks.dedup();
        }
        ranks
    }

    /// Waits until everything this port has routed is done; a rank that has ended does not keep the others from being waited for.
    pub fn settle_all(&self, concerns: &dyn Fn(usize) -> bool) -> Result<()> {
        let unsettled = self.unsettled();
        // All are asked before any is waited for; who cannot be asked cannot be waited for either.
        for rank in &unsettled {
            let _ = self.ask_settled(*rank);
        }
        unsettled.into_iter().map(|rank| self.settle_if(rank, concerns)).fold(Ok(()), Result::and)
    }

    /// Waits until everything this port has routed to these ranks is done there; fails for the first that has ended.
    pub fn settle_each(&self, ranks: impl Iterator<Item = usize> + Clone) -> Result<()> {
        if !self.has_routed() {
            return Ok(());
        }
        // As above.
        for rank in ranks.clone().filter(|rank| !self.is_settled(*rank)) {
            let _ = self.ask_settled(rank);
        }
        ranks.map(|rank| self.settle(rank)).fold(Ok(()), Result::and)
    }

    /// Asks to be told when everything up to now is done at `rank`.
    fn ask_settled(&self, rank: usize) -> Result<()> {
        let account = &self.ni.accounts[self.index];
        let Some(number) = account.ask(rank) else { return Ok(()) };
        let at = Target::of_unknown_area(rank, 0);
        let sent = self.submit_operation(
            &Operation { at, act: Act::Settle, manner: Manner::Plain },
            || token::counted(self.index, number, false),
            |_| (),
        );
        if sent.is_err() {
            account.ask_again(rank);
        }
        sent
    }
}
