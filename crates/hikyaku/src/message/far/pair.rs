//! This rank and a far member.

use crate::message::state::core::Core;
use crate::message::state::far_link::FarLink;
use crate::message::wire::layout::Side;

/// Whatever two ranks of different hosts do with each other's messages is a method of this.
#[derive(Clone, Copy)]
pub(in crate::message) struct FarPair<'c> {
    pub core: &'c Core,
    pub link: &'c FarLink,
}

impl<'c> FarPair<'c> {
    /// What this rank holds for the member.
    pub fn mine(self) -> Side<'c> {
        self.link.mine()
    }

    /// Writes words to the member, now or when there is room; nothing overtakes them.
    pub fn tell(self, member: usize, at: usize, words: &[u64]) {
        if !self.link.tell(&self.core.ni, at, words) {
            self.core.owing.borrow_mut().push(member);
            self.core.watch();
        }
    }
}
