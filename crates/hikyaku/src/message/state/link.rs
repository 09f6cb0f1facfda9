//! The members a rank exchanges messages with: one table of links, near and far in any order.
//!
//! A job may have thousands of ranks, of which each talks with a few: a link is made when it is first needed, and a member
//! that was never talked with costs an empty place in the table.

use super::far_link::FarLink;
use super::peer::Peer;
use crate::message::wire::layout::{Home, Side};
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
    mine: Home,
    /// What it holds for this rank.
    theirs: Home,
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

    /// The link of a member, which `make` makes.
    pub fn meet(&self, member: usize, make: impl FnOnce() -> Link) -> &Link {
        self.0[member].get_or_init(make)
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

    /// What is kept about a far member.
    pub fn far(&self) -> Option<&FarLink> {
        match self {
            Link::Near(_) => None,
            Link::Far(link) => Some(link),
        }
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

impl NearLink {
    /// To `rank`, for which this one holds what is at `mine`, and which holds what it has for this one at `theirs`.
    pub fn new(rank: usize, mine: Home, theirs: Home, entries: usize) -> NearLink {
        NearLink { rank, mine, theirs, state: RefCell::new(Peer::new(entries)) }
    }

    /// What this rank holds for the member.
    #[inline(always)]
    pub fn mine(&self) -> Side<'_> {
        self.mine.side()
    }

    /// What the member holds for this rank.
    #[inline(always)]
    pub fn theirs(&self) -> Side<'_> {
        self.theirs.side()
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
            let look = || messages.core.own_side(1 - job.rank()).post(0).look().0;
            assert_eq!(in_fork(|| 2 * look() as i32), 0);
            job.barrier()
        })
        .unwrap();
    }
}
