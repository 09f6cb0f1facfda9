//! What is kept about a far member, and what it is owed.

use super::header::Header;
use super::peer::Peer;
use super::table::Table;
use crate::message::wire::far::FarSlot;
use crate::message::wire::layout::{Home, Side};
use crate::ni::{Ni, Target};
use std::cell::RefCell;
use std::collections::VecDeque;

/// One far member, as this rank sees it.
pub(in crate::message) struct FarLink {
    pub rank: usize,
    /// What this rank holds for it.
    mine: Home,
    /// Where it holds what it has for this rank, in its heap.
    theirs: usize,
    pub state: RefCell<Peer>,
    /// Per slot, what is kept of receives.
    pub desks: RefCell<Table<Desk>>,
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

impl FarLink {
    /// To `rank`, for which this one holds what is at `mine`, and which holds what it has for this one at `theirs`.
    pub fn new(rank: usize, mine: Home, theirs: usize, entries: usize) -> FarLink {
        let (state, desks) = (RefCell::new(Peer::new(entries)), RefCell::new(Table::new(entries)));
        FarLink { rank, mine, theirs, state, desks, owed: RefCell::default() }
    }

    /// What this rank holds for the member.
    pub fn mine(&self) -> Side<'_> {
        self.mine.side()
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
        let to = Target::in_heap(self.rank, at);
        let sent = match words {
            [word] => ni.try_patient_word(to, *word),
            _ => ni.try_push_then(to, &[], at, words, true),
        };
        // A rank that cannot be reached any more has ended, which waits find out by themselves.
        sent.unwrap_or(true)
    }
}
