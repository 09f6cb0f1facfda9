//! The members a rank exchanges messages with: one table of links, near and far in any order.
//!
//! A job may have thousands of ranks, of which each talks with a few: a link is made when it is first needed, and a member
//! that was never talked with costs an empty place in the table. Whether a member is near or far is asked when its link is
//! made, and never again.

use super::far_link::FarLink;
use super::peer::Peer;
use crate::message::wire::layout::Side;
use crate::message::{Core, DOMAINS};
use std::cell::{OnceCell, RefCell};

/// One member, as this rank sees it.
pub(in crate::message) enum Link {
    Near(Box<NearLink>),
    Far(Box<FarLink>),
}

/// A member whose memory is mapped here.
pub(in crate::message) struct NearLink {
    /// Its rank in the job.
    pub rank: usize,
    /// What this rank holds for it.
    mine: *mut u8,
    /// What it holds for this rank.
    theirs: *mut u8,
    /// What this rank keeps to itself.
    pub state: RefCell<Peer>,
}

/// All of them.
pub(in crate::message) struct Links(Box<[OnceCell<Link>]>);

impl Links {
    /// For so many members.
    pub fn new(members: usize) -> Links {
        Links((0..members).map(|_| OnceCell::new()).collect())
    }

    /// The link of a member, if this rank has ever had to do with it other than to look for its messages.
    #[inline(always)]
    pub fn met(&self, member: usize) -> Option<&Link> {
        self.0.get(member)?.get()
    }

    /// Those there are, with the members they lead to.
    pub fn all_met(&self) -> impl Iterator<Item = (usize, &Link)> {
        self.0.iter().enumerate().filter_map(|(member, place)| Some((member, place.get()?)))
    }
}

impl Link {
    /// Whether the member is reached by packets.
    #[inline(always)]
    pub fn is_far(&self) -> bool {
        matches!(self, Link::Far(_))
    }

    /// What this rank keeps to itself about the member.
    #[inline(always)]
    pub fn state(&self) -> &RefCell<Peer> {
        match self {
            Link::Near(link) => &link.state,
            Link::Far(link) => &link.state,
        }
    }
}

impl Core {
    /// A member, whose link is made if there is none.
    #[inline(always)]
    pub(in crate::message) fn link(&self, member: usize) -> &Link {
        match self.links.met(member) {
            Some(link) => link,
            None => self.meet(member),
        }
    }

    #[cold]
    fn meet(&self, member: usize) -> &Link {
        self.links.0[member].get_or_init(|| {
            let (rank, entries, mine) = (self.rank_of(member), DOMAINS * self.slots, self.part(self.me, member));
            if self.ni.is_near(rank) {
                let (theirs, state) = (self.part(member, self.me), RefCell::new(Peer::new(entries)));
                return Link::Near(Box::new(NearLink { rank, mine, theirs, state }));
            }
            let theirs = self.roster.part(member) + self.me * self.layout.peer_bytes;
            Link::Far(Box::new(FarLink::new(rank, mine, theirs, entries)))
        })
    }

    /// A member whose messages are sent and received in place: near, and talked with before. In a forked child none is.
    #[inline(always)]
    pub(in crate::message) fn in_place(&self, member: usize) -> Option<&NearLink> {
        match self.links.met(member) {
            Some(Link::Near(link)) if link.rank < self.ni.size() => Some(link),
            _ => None,
        }
    }

    /// Where a near member, or this rank, holds what it has for `member`.
    fn part(&self, owner: usize, member: usize) -> *mut u8 {
        let start = self.roster.part(owner) + member * self.layout.peer_bytes;
        let found = self.ni.near_bytes(self.rank_of(owner), start as u64, self.layout.peer_bytes as u64);
        found.expect("a part of the heap of a near member")
    }

    /// What this rank holds for a member, whether they have talked or not.
    pub(in crate::message) fn own_side(&self, member: usize) -> Side<'_> {
        // SAFETY: the pair's part of job memory, which stays mapped.
        unsafe { Side::new(self.part(self.me, member), &self.layout) }
    }

    /// What a near member holds for this rank, whether they have talked or not.
    pub(in crate::message) fn their_side(&self, member: usize) -> Side<'_> {
        assert!(self.ni.is_near(self.rank_of(member)), "a near member");
        // SAFETY: the pair's part of job memory, which is mapped here, as asserted, and stays so.
        unsafe { Side::new(self.part(member, self.me), &self.layout) }
    }

    /// What this rank holds for a near member.
    #[inline(always)]
    pub(in crate::message) fn mine(&self, link: &NearLink) -> Side<'_> {
        // SAFETY: a link leads to the parts of its pair, which the job keeps mapped.
        unsafe { Side::new(link.mine, &self.layout) }
    }

    /// What a near member holds for this rank.
    #[inline(always)]
    pub(in crate::message) fn theirs(&self, link: &NearLink) -> Side<'_> {
        // SAFETY: as above.
        unsafe { Side::new(link.theirs, &self.layout) }
    }

    /// Wakes a near member.
    #[inline(always)]
    pub(in crate::message) fn notify(&self, link: &NearLink) {
        self.ni.notify(link.rank, crate::sync::bell::ANY);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// A forked child drops what it has of its parent's, and may look for it first.
    #[test]
    fn members_are_where_they_were_in_a_forked_child() {
        crate::local(2, |job| {
            let messages = job.messages(1).unwrap();
            let look = || messages.core.own_side(1 - job.rank()).left().load(std::sync::atomic::Ordering::Relaxed);
            // SAFETY: the child looks at a word, and ends.
            let status = unsafe {
                match libc::fork() {
                    0 => {
                        libc::alarm(100);
                        libc::_exit(catch_unwind(AssertUnwindSafe(look)).map_or(1, |left| 2 * left as i32))
                    }
                    child => {
                        let mut status = 0;
                        assert_eq!(libc::waitpid(child, &mut status, 0), child);
                        status
                    }
                }
            };
            assert_eq!(status, 0);
            job.barrier()
        })
        .unwrap();
    }
}
