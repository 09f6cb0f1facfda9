//! When nobody writes any more to the words of these messages.

use super::{Core, Messages};
use crate::error::Result;
use crate::ni::route::Target;
use crate::ni::wait::{By, Progress};
use crate::sync::bell::ANY;

impl Messages<'_> {
    /// Waits until everything this rank has sent was taken, and it knows, and until nothing is under way from here any more.
    pub(crate) fn await_taken(&self) -> Result<()> {
        for member in (0..self.core.size).filter(|member| self.core.has_talked(*member)) {
            let by = By::Rank(self.core.rank_of(member));
            self.job.wait_until(by, None, ANY, Progress::Seldom, || self.core.was_taken(member).then_some(()))?;
            if self.core.is_far(member) {
                self.settle_far(member)?;
            }
        }
        Ok(())
    }

    /// When a push of nothing is answered, everything before it has arrived. A member that has ended has nothing to lose.
    fn settle_far(&self, member: usize) -> Result<()> {
        let link = self.core.far(member);
        let nothing = self.job.push_routed(Target::in_segment(&self.job.ni, link.rank, link.at(0)), &[], None);
        match nothing.and_then(|()| self.job.settle(link.rank)) {
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
