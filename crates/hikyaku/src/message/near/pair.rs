//! This rank and a near member.

use crate::message::state::core::Core;
use crate::message::state::link::{Link, NearLink};
use crate::message::wire::layout::Side;
use crate::sync::bell::ANY;

/// Whatever two ranks of one host do with each other's messages is a method of this.
#[derive(Clone, Copy)]
pub(in crate::message) struct NearPair<'c> {
    pub core: &'c Core,
    pub link: &'c NearLink,
}

impl<'c> NearPair<'c> {
    /// A member whose messages are sent and received in place: near, and talked with before. In a forked child none is.
    #[inline(always)]
    pub fn in_place(core: &'c Core, member: usize) -> Option<NearPair<'c>> {
        match core.links.met(member) {
            Some(Link::Near(link)) if link.rank < core.ni.size() => Some(NearPair { core, link }),
            _ => None,
        }
    }

    /// What this rank holds for the member.
    #[inline(always)]
    pub fn mine(self) -> Side<'c> {
        self.link.mine()
    }

    /// What the member holds for this rank.
    #[inline(always)]
    pub fn theirs(self) -> Side<'c> {
        self.link.theirs()
    }

    /// Wakes the member, if it sleeps for what this rank does: its other threads sleep on.
    #[inline(always)]
    pub fn notify(self) {
        self.core.ni.notify(self.link.rank, self.core.ni.watch_of(self.theirs().start()));
    }

    /// What a wait for the member alone is rung for by.
    pub fn watch(self) -> u64 {
        self.core.ni.watch_of(self.mine().start())
    }

    /// Whether it is this rank itself.
    #[inline(always)]
    pub fn is_oneself(self) -> bool {
        self.link.rank == self.core.ni.rank
    }
}

impl Core {
    /// What a wait for a member alone is rung for by.
    pub fn watch_of(&self, member: usize) -> u64 {
        NearPair::in_place(self, member).map_or(ANY, NearPair::watch)
    }
}
