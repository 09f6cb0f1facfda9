//! The members a rank exchanges messages with: one table of links, near and far in any order.
//!
//! A job may have thousands of ranks, of which each talks with a few: a link is made when it is first needed, and a member
//! that was never talked with costs an empty place in the table. Whether a member is near or far is asked when its link is
//! made, and never again.

use super::far::link::FarLink;
use super::layout::{Home, Side};
use super::state::Peer;
use super::{Core, DOMAINS};
use std::cell::{OnceCell, RefCell};

/// One member, as this rank sees it.
pub(super) enum Link {
    Near(Box<NearLink>),
    Far(Box<FarLink>),
}

/// A member whose memory is mapped here.
pub(super) struct NearLink {
    /// Its rank in the job.
    pub rank: usize,
    /// What this rank holds for it.
    mine: Home,
    /// What it holds for this rank.
    theirs: Home,
    /// What this rank keeps to itself.
    pub state: RefCell<Peer>,
}

/// All of them.
pub(super) struct Links(Box<[OnceCell<Link>]>);

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
    pub(super) fn link(&self, member: usize) -> &Link {
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
            let theirs = self.start_of(member, self.me);
            Link::Far(Box::new(FarLink::new(rank, mine, theirs, entries)))
        })
    }

    /// A member whose messages are sent and received in place: near, and talked with before. In a forked child none is.
    #[inline(always)]
    pub(super) fn in_place(&self, member: usize) -> Option<&NearLink> {
        match self.links.met(member) {
            Some(Link::Near(link)) if link.rank < self.ni.size() => Some(link),
            _ => None,
        }
    }

    /// Where a near member, or this rank, holds what it has for `member`.
    fn part(&self, owner: usize, member: usize) -> Home {
        Home::find(&self.ni, self.rank_of(owner), self.start_of(owner, member), self.layout.peer_bytes)
    }

    /// Where that is in the owner's heap.
    fn start_of(&self, owner: usize, member: usize) -> usize {
        self.roster.part(owner) + member * self.layout.peer_bytes
    }

    /// What this rank holds for a member, whether they have talked or not.
    pub(super) fn own_side(&self, member: usize) -> Side<'_> {
        self.side_of(self.me, member)
    }

    /// What a near member holds for this rank, whether they have talked or not.
    pub(super) fn their_side(&self, member: usize) -> Side<'_> {
        assert!(self.ni.is_near(self.rank_of(member)), "a near member");
        self.side_of(member, self.me)
    }

    fn side_of(&self, owner: usize, member: usize) -> Side<'_> {
        let (start, bytes) = (self.start_of(owner, member) as u64, self.layout.peer_bytes as u64);
        let span = self.ni.near_span(self.rank_of(owner), start, bytes);
        Side::over(span.expect("a part of the heap of a near member"), &self.layout)
    }

    /// What this rank holds for a near member.
    #[inline(always)]
    pub(super) fn mine<'a>(&'a self, link: &'a NearLink) -> Side<'a> {
        link.mine.side(&self.layout)
    }

    /// What a near member holds for this rank.
    #[inline(always)]
    pub(super) fn theirs<'a>(&'a self, link: &'a NearLink) -> Side<'a> {
        link.theirs.side(&self.layout)
    }

    /// Wakes a near member.
    #[inline(always)]
    pub(super) fn notify(&self, link: &NearLink) {
        self.ni.notify(link.rank, crate::sync::bell::ANY);
    }
}

#[cfg(test)]
mod tests {
    use crate::sync::signals::in_fork;

    /// A forked child drops what it has of its parent's, and may look for it first.
    #[test]
    fn members_are_where_they_were_in_a_forked_child() {
        crate::local(2, |job| {
            let messages = job.messages(1).unwrap();
            let look = || messages.core.own_side(1 - job.rank()).left().load(std::sync::atomic::Ordering::Relaxed);
            assert_eq!(in_fork(|| 2 * look() as i32), 0);
            job.barrier()
        })
        .unwrap();
    }
}
