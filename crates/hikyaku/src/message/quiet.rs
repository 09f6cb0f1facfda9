//! When nobody writes any more to the words of these messages.

use super::Messages;
use crate::error::Result;
use crate::ni::wait::{By, Progress};
use crate::sync::bell::ANY;

impl Messages<'_> {
    /// Waits until everything this rank has sent was taken, and it knows: then nothing of that is under way any more.
    pub(crate) fn await_taken(&self) -> Result<()> {
        for member in 0..self.core.links.len() {
            let by = By::Rank(self.core.rank_of(member));
            self.job.wait_until(by, None, ANY, Progress::Seldom, || {
                let mut peer = self.core.links[member].state.borrow_mut();
                let entries = peer.sends.len();
                (0..entries).all(|entry| peer.is_free(self.core.mine(member), entry)).then_some(())
            })?;
        }
        Ok(())
    }
}
