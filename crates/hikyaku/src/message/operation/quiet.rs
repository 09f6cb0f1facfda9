//! When nobody writes any more to the words of these messages.

use crate::error::{Error, Result};
use crate::message::messages::Messages;
use crate::message::pair::Pair;
use crate::message::state::core::Core;
use crate::message::state::far_link::FarLink;
use crate::ni::{By, Wait};

impl Messages<'_> {
    /// Waits until everything this rank has sent was taken, and it knows, and until nothing is under way from here any more. Fails if a
    /// member has died: others may have failed by that, and take nothing any more.
    pub(crate) fn await_taken(&self) -> Result<()> {
        for (member, link) in self.core.links.all_met() {
            let by = By::Rank(self.core.rank_of(member));
            self.port.wait_until(Wait::on(by), || match Pair::by(&self.core, link).was_taken() {
                true => Some(Ok(())),
                false => self.death().map(Err),
            })??;
        }
        self.await_arrived()
    }

    /// How a member has died or was lost, if one has.
    fn death(&self) -> Option<Error> {
        let ni = &self.core.ni;
        if ni.has_no_deaths() {
            return None;
        }
        let mut ends = (0..self.core.size).filter_map(|member| ni.end_of(self.core.rank_of(member)));
        ends.find(|end| !matches!(end, Error::PeerLeft { .. }))
    }

    /// Gives back the memory of messages that no member uses any more.
    pub(crate) fn give_part(self) {
        let core = self.core.clone();
        self.give_extras();
        core.ni.give_heap(core.roster.part(core.me), core.layout.peer_bytes * core.size);
    }

    /// Gives back what they have besides their part.
    pub(crate) fn give_extras(self) {
        let core = self.core.clone();
        drop(self);
        core.give_nodes();
    }

    /// Waits until nothing is under way from here any more, whether it is taken or not.
    pub(crate) fn await_arrived(&self) -> Result<()> {
        let mut far = self.core.links.all_met().filter_map(|(_, link)| link.far());
        far.try_for_each(|link| self.await_clear(link))
    }

    /// Whether this rank has sent or received anything here, or tried to: otherwise it has written nothing to the words of anybody.
    pub(crate) fn were_used(&self) -> bool {
        self.core.links.all_met().next().is_some()
    }

    /// A member that has ended has nothing to lose.
    fn await_clear(&self, link: &FarLink) -> Result<()> {
        let (by, core) = (By::Rank(link.rank), &self.core);
        let clear = self.port.wait_until(Wait::on(by), || link.is_clear(&core.ni).then_some(()));
        match clear.and_then(|()| self.port.initiator.settle_quiet(link.rank)) {
            Err(error) if error.is_peer_fault() => Ok(()),
            other => other,
        }
    }
}

impl Core {
    /// Writes what far members are owed, as far as there is room; gives a member that is still owed something.
    pub(super) fn flush_owed(&self) -> Option<usize> {
        let mut owing = self.owing.borrow_mut();
        owing.retain(|member| self.link(*member).far().is_some_and(|link| !link.is_clear(&self.ni)));
        owing.first().copied()
    }
}
