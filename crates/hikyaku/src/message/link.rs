//! The near members a rank exchanges messages with: which ranks they are, and where the words of each pair lie.

use super::far::link::Roster;
use super::state::Peer;
use crate::ni::Ni;
use std::cell::RefCell;
use std::ops::Range;

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
}

/// The members around `me`, of `count`, whose memory is mapped here. Mapped ones that follow only after others that are not
/// are treated as those.
pub(super) fn near(ni: &Ni, roster: &Roster, me: usize, count: usize) -> Range<usize> {
    let is_near = |member: &usize| ni.is_near(roster.rank(*member));
    let before = (0..me).rev().take_while(is_near).count();
    me - before..me + (me..count).take_while(is_near).count()
}

/// The links of member `me`, of `count`, to near `members`.
pub(super) fn links(
    ni: &Ni,
    roster: &Roster,
    (me, count): (usize, usize),
    members: Range<usize>,
    pair_bytes: usize,
    entries: usize,
) -> Vec<Link> {
    let place = |owner: usize, member: usize| {
        let start = roster.part(owner);
        let part = ni.near_bytes(roster.rank(owner), start as u64, (count * pair_bytes) as u64).expect("a part of a heap");
        // SAFETY: inside the part, which holds one pair's words per member.
        unsafe { part.add(member * pair_bytes) }
    };
    let link = |member: usize| Link {
        rank: roster.rank(member),
        mine: place(me, member),
        theirs: place(member, me),
        state: RefCell::new(Peer::new(entries)),
    };
    members.map(link).collect()
}
