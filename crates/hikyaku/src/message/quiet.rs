//! When nobody writes any more to the words of these messages.

use super::{Core, Messages};
use crate::error::Result;
use crate::ni::route::Target;
use crate::ni::wait::{By, Progress};
use crate::sync::atomic::Ordering;
use crate::sync::bell::ANY;
use crate::transport::shm::layout::State;

impl Messages<'_> {
    /// Waits until everything this rank has sent was taken, and it knows, and until nothing is under way from here any more.
    pub(crate) fn await_taken(&self) -> Result<()> {
        for member in (0..self.core.size).filter(|member| self.core.has_talked(*member)) {
            let by = By::Rank(self.core.rank_of(member));
            self.job.wait_until(by, None, ANY, Progress::Seldom, || self.core.was_taken(member).then_some(()))?;
        }
        self.await_arrived()
    }

    /// Waits until nothing is under way from here any more, whether it is taken or not.
    pub(crate) fn await_arrived(&self) -> Result<()> {
        let is_concerned = |member: &usize| self.core.is_far(*member) && self.core.has_talked(*member);
        (0..self.core.size).filter(is_concerned).try_for_each(|member| self.settle_far(member))
    }

    /// Tells all others, who are near, that this rank does not touch their parts any more.
    pub(crate) fn leave(&self) {
        for member in 0..self.core.size {
            self.core.theirs(member).left().store(1, Ordering::Release);
        }
    }

    /// Whether nobody else touches the part of this rank any more: all others, who are near, have left, or have ended.
    pub(crate) fn is_left_alone(&self) -> bool {
        let core = &self.core;
        let has_left = |member: usize| core.mine(member).left().load(Ordering::Acquire) != 0;
        let state = |member: usize| core.ni.state_of(core.rank_of(member));
        let has_ended = |member: usize| matches!(state(member), State::Left | State::Dead);
        (0..core.size).all(|member| member == core.me || has_left(member) || has_ended(member))
    }

    /// When a push of nothing is answered, everything before it has arrived. A member that has ended has nothing to lose.
    fn settle_far(&self, member: usize) -> Result<()> {
        let link = self.core.far(member);
        let (by, core) = (By::Rank(link.rank), &self.core);
        let clear = self.job.wait_until(by, None, ANY, Progress::Seldom, || link.is_clear(&core.ni).then_some(()));
        let nothing = self.job.push_routed(Target::in_heap(&self.job.ni, link.rank, link.at(0)), &[], None);
        match clear.and(nothing).and_then(|()| self.job.settle(link.rank)) {
            Err(error) if error.is_peer_fault() => Ok(()),
            other => other,
        }
    }
}

impl Core {
    /// Whether everything that was sent to a member was taken, as far as is known here.
    fn was_taken(&self, member: usize) -> bool {
        let peer = &mut *self.state(member).borrow_mut();
        let mut entries = 0..peer.sends.len();
        if !self.is_far(member) {
            return entries.all(|entry| peer.is_free(self.mine(member), entry));
        }
        let link = self.far(member);
        let mine = link.mine(&self.layout);
        link.is_clear(&self.ni) && entries.all(|entry| peer.has_taken(entry, || mine.far(entry).post().taken))
    }
}
