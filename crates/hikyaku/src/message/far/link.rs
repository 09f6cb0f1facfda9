//! Far members: which ranks they are, and what is kept about each.
//!
//! A job may have thousands of ranks, of which each talks with a few: nothing is made for a pair before its first message,
//! and a member that was never talked with costs one pointer.

use super::header::Header;
use super::words::FarSlot;
use crate::message::layout::{Layout, Side};
use crate::message::state::Peer;
use crate::message::{Core, DOMAINS};
use crate::ni::Ni;
use crate::ni::route::Target;
use std::cell::{OnceCell, RefCell};
use std::collections::VecDeque;

/// Where the parts of members lie.
pub(in crate::message) enum Roster {
    /// All ranks of the job, each at this offset of its heap.
    World(usize),
    /// (rank, where its part of its heap begins)
    Listed(Box<[(usize, usize)]>),
}

impl Roster {
    /// The rank of a member.
    pub fn rank(&self, member: usize) -> usize {
        match self {
            Roster::World(_) => member,
            Roster::Listed(members) => members[member].0,
        }
    }

    /// Where its part of its heap begins.
    pub fn part(&self, member: usize) -> usize {
        match self {
            Roster::World(start) => *start,
            Roster::Listed(members) => members[member].1,
        }
    }
}

/// One far member, as this rank sees it.
pub(in crate::message) struct FarLink {
    pub rank: usize,
    /// What this rank holds for it.
    mine: *mut u8,
    /// Where it holds what it has for this rank, in its heap.
    theirs: usize,
    pub state: RefCell<Peer>,
    /// Per slot, what is kept of receives.
    pub desks: RefCell<Box<[Desk]>>,
    /// Words that found no room on their way: (offset in its heap, value), in order. At most a few per slot, since
    /// the peer sends nothing more in a slot before it has heard of the last message.
    owed: RefCell<VecDeque<(usize, Vec<u64>)>>,
}

/// The receiving side of one slot.
#[derive(Debug, Default)]
pub(in crate::message) struct Desk {
    /// The header of a receive that was given up, and that its sender may still use.
    pub left: Option<Box<Header>>,
    /// The last message that was refused.
    pub refused: u64,
}

/// All of them.
pub(in crate::message) struct FarLinks {
    links: Box<[OnceCell<Box<FarLink>>]>,
    /// Members that are owed something.
    owing: RefCell<Vec<usize>>,
}

impl Core {
    /// A far member.
    pub(in crate::message) fn far(&self, member: usize) -> &FarLink {
        self.far.links[member].get_or_init(|| {
            let entries = DOMAINS * self.slots;
            Box::new(FarLink {
                rank: self.rank_of(member),
                mine: self.own_part(member),
                theirs: self.roster.part(member) + self.me * self.layout.peer_bytes,
                state: RefCell::new(Peer::new(entries)),
                desks: RefCell::new((0..entries).map(|_| Desk::default()).collect()),
                owed: RefCell::default(),
            })
        })
    }

    /// What this rank holds for a far member.
    pub(in crate::message) fn own_side(&self, member: usize) -> Side<'_> {
        // SAFETY: the pair's part of job memory, which stays mapped.
        unsafe { Side::new(self.own_part(member), &self.layout) }
    }

    fn own_part(&self, member: usize) -> *mut u8 {
        let start = self.roster.part(self.me) + member * self.layout.peer_bytes;
        self.ni.own_bytes(start, self.layout.peer_bytes)
    }

    /// Whether this rank has ever had to do with a member, other than to look for its messages.
    pub(in crate::message) fn has_talked(&self, member: usize) -> bool {
        !self.is_far(member) || self.far.links[member].get().is_some()
    }

    /// Writes words to a far member, now or when there is room; nothing overtakes them.
    pub(super) fn tell(&self, member: usize, at: usize, words: &[u64]) {
        if !self.far(member).tell(&self.ni, at, words) {
            self.far.owing.borrow_mut().push(member);
        }
    }

    /// Writes what is owed, as far as there is room; gives a member that is still owed something.
    pub(in crate::message) fn pay(&self) -> Option<usize> {
        let mut owing = self.far.owing.borrow_mut();
        owing.retain(|member| !self.far(*member).is_clear(&self.ni));
        owing.first().copied()
    }
}

impl FarLinks {
    /// For so many members.
    pub fn new(members: usize) -> FarLinks {
        FarLinks { links: (0..members).map(|_| OnceCell::new()).collect(), owing: RefCell::default() }
    }
}

impl FarLink {
    /// What this rank holds for the member.
    pub fn mine<'a>(&self, layout: &'a Layout) -> Side<'a> {
        // SAFETY: the pair's part of job memory, which stays mapped.
        unsafe { Side::new(self.mine, layout) }
    }

    /// Where something of a slot lies at the member.
    pub fn slot_at(&self, entry: usize, part: usize) -> usize {
        self.theirs + entry * size_of::<FarSlot>() + part
    }

    /// Where something lies at the member that belongs to no slot.
    pub fn at(&self, offset: usize) -> usize {
        self.theirs + offset
    }

    /// Writes words at an offset of its heap, now or when there is room; nothing overtakes them. False if they are owed.
    pub fn tell(&self, ni: &Ni, at: usize, words: &[u64]) -> bool {
        let told = self.is_clear(ni) && self.try_tell(ni, at, words);
        if !told {
            self.owed.borrow_mut().push_back((at, words.to_vec()));
        }
        told
    }

    /// Whether nothing is owed any more, so that other packets may go.
    pub fn is_clear(&self, ni: &Ni) -> bool {
        let mut owed = self.owed.borrow_mut();
        while let Some((at, words)) = owed.front() {
            if !self.try_tell(ni, *at, words) {
                return false;
            }
            owed.pop_front();
        }
        true
    }

    /// A word that says that a message was taken is one of the cheapest operations; a header is described once.
    fn try_tell(&self, ni: &Ni, at: usize, words: &[u64]) -> bool {
        let to = Target::in_heap(ni, self.rank, at);
        let sent = match words {
            [word] => ni.try_word(to, *word),
            _ => ni.try_push_then(to, &[], at, words, true),
        };
        // A rank that cannot be reached any more has ended, which waits find out by themselves.
        sent.unwrap_or(true)
    }
}
