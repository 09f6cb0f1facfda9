//! The members a rank exchanges messages with: which ranks they are, and where the words of each pair lie.

use super::state::Peer;
use crate::ni::Ni;
use std::cell::{Cell, RefCell};

/// One member, as this rank sees it.
pub(super) struct Link {
    /// Its rank in the job.
    pub rank: usize,
    /// What this rank holds for it.
    pub mine: *mut u8,
    /// What it holds for this rank.
    pub theirs: *mut u8,
    /// What this rank keeps to itself.
    pub state: RefCell<Peer>,
    /// A receive from anyone has told of its death.
    pub is_mourned: Cell<bool>,
}

/// The links of member `me` to all `members`, given as (rank, where its part of the segment begins).
pub(super) fn links(ni: &Ni, members: &[(usize, usize)], me: usize, pair_bytes: usize, entries: usize) -> Vec<Link> {
    let end = ni.memory.segment.bytes();
    let place = |start: usize, member: usize| {
        assert!(start + members.len() * pair_bytes <= end, "a part inside the segment");
        // SAFETY: inside the segment, as asserted: a part holds one pair's words per member.
        unsafe { ni.memory.segment.base().add(start + member * pair_bytes) }
    };
    let link = |(member, (rank, start)): (usize, &(usize, usize))| Link {
        rank: *rank,
        mine: place(members[me].1, member),
        theirs: place(*start, me),
        state: RefCell::new(Peer::new(entries)),
        is_mourned: Cell::new(false),
    };
    members.iter().enumerate().map(link).collect()
}
