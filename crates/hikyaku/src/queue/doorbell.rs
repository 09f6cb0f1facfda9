//! Which lanes the consumer looks at.
//!
//! While there are few it looks at all of them. Of many, those that had nothing for a while are left alone, and their producers know: the
//! word that tells them how far their lane was read says whether it is looked at. A producer that finds that it is not sets its bit in a
//! word at the owner, after its item. So an idle producer costs the consumer nothing, and a busy one looks at a word of its own memory that
//! hardly ever changes.
//!
//! ```text
//!   consumer                              producer
//!   tells the producer: not looked at     item, stamp
//!   heavy fence                           light fence
//!   is there an item?                     not looked at?  sets its bit, once for each time it was told so
//! ```
//! Either the consumer sees the item or the producer sees that it must ring (see [`crate::sync::fence`]). That holds where memory is
//! shared: the lanes of far ranks, whose items come as packets, are looked at always.

use super::lane::{Memory, Reader, Told};
use crate::error::Result;
use crate::job::Job;
use crate::memory::atomic::Atomic;
use std::sync::atomic::Ordering;

/// So many lanes are looked at whatever happens.
const FEW: usize = 8;
/// A lane that was looked at so often in vain is left alone.
const PATIENCE: u32 = 64;
/// After so many items of one lane it is another's turn.
const BURST: u32 = 64;

/// How many bytes the bits of so many producers take: whole lines.
pub(super) fn bytes_of(size: usize) -> usize {
    (size.div_ceil(64) * 8).next_multiple_of(64)
}

/// Whether producers ever have to ring, if there are so many.
pub(super) fn rings(size: usize) -> bool {
    size > FEW
}

/// A producer has written an item: sets its bit if nobody looks. `rung` is what it was told when it did so last.
#[inline(never)]
pub(super) fn ring_at(job: &Job, memory: &Memory, owner: usize, bits: usize, told: Told) -> Result<()> {
    debug_assert!(!told.is_awake());
    let bit = 1 << (job.rank() % 64);
    job.atomic(memory.word(owner, bits + job.rank() / 64 * 8), Atomic::Or(bit)).map(drop)
}

/// The lanes of a queue, as its consumer sees them.
#[derive(Debug)]
pub(super) struct Lanes {
    readers: Vec<Reader>,
    /// For each rank, how often its lane was looked at in vain; `None` while it is left alone.
    idle: Vec<Option<u32>>,
    /// Those that are looked at, and whose turn it is.
    active: Vec<usize>,
    turn: usize,
    burst: u32,
    /// Where the bits are, in this rank's part of the memory.
    bits: usize,
}

impl Lanes {
    pub fn new(job: &Job, readers: Vec<Reader>, bits: usize) -> Lanes {
        let size = readers.len();
        let is_always = |rank: &usize| !rings(size) || !job.ni.is_near(*rank);
        let active: Vec<usize> = (0..size).filter(is_always).collect();
        let mut idle = vec![None; size];
        active.iter().for_each(|rank| idle[*rank] = Some(0));
        Lanes { readers, idle, active, turn: 0, burst: 0, bits }
    }

    pub fn reader(&mut self, rank: usize) -> &mut Reader {
        &mut self.readers[rank]
    }

    /// The rank whose item is the next one, if there is any.
    #[inline(always)]
    pub fn find(&mut self, job: &Job, memory: &Memory) -> Option<usize> {
        if let Some(rank) = self.active.get(self.turn).copied()
            && self.burst < BURST
            && self.readers[rank].has(job, memory, 0)
        {
            self.burst += 1;
            return Some(rank);
        }
        self.find_next(job, memory)
    }

    #[inline(never)]
    fn find_next(&mut self, job: &Job, memory: &Memory) -> Option<usize> {
        self.hear(job, memory);
        let count = self.active.len();
        let mut is_patient = true;
        for step in 1..=count {
            let at = (self.turn + step) % count;
            let rank = self.active[at];
            if self.readers[rank].has(job, memory, 0) {
                (self.turn, self.burst) = (at, 1);
                self.idle[rank] = Some(0);
                return Some(rank);
            }
            self.readers[rank].tell_owed(job, memory);
            if let Some(idle) = &mut self.idle[rank] {
                *idle = idle.saturating_add(1);
                is_patient &= *idle < PATIENCE;
            }
        }
        if !is_patient && count > FEW && self.leave_alone(job, memory) {
            return self.active.iter().copied().find(|rank| self.readers[*rank].has(job, memory, 0));
        }
        None
    }

    /// Looks from now on at the lanes whose producers have rung.
    #[inline(always)]
    fn hear(&mut self, job: &Job, memory: &Memory) {
        if !rings(self.readers.len()) {
            return;
        }
        for at in 0..self.readers.len().div_ceil(64) {
            let Ok((word, _)) = memory.own_word(job, self.bits + at * 8) else { return };
            if word.load(Ordering::Relaxed) != 0 {
                self.wake(job, memory, at * 64, word.swap(0, Ordering::AcqRel));
            }
        }
    }

    #[cold]
    fn wake(&mut self, job: &Job, memory: &Memory, first: usize, mut bits: u64) {
        let before = self.active.len();
        while bits != 0 {
            let rank = first + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            // Any rank may have set bits that nobody has.
            if self.idle.get(rank).is_some_and(Option::is_none) {
                self.idle[rank] = Some(0);
                self.active.push(rank);
            }
        }
        for at in before..self.active.len() {
            self.readers[self.active[at]].tell(job, memory, true);
        }
    }

    /// Leaves those alone that had nothing for a while; whether one of them has something after all, which is then looked at.
    #[cold]
    fn leave_alone(&mut self, job: &Job, memory: &Memory) -> bool {
        let is_left = |idle: &Option<u32>| idle.is_some_and(|idle| idle >= PATIENCE);
        let near = |rank: &usize| job.ni.is_near(*rank);
        let left: Vec<usize> =
            self.active.iter().copied().filter(|rank| is_left(&self.idle[*rank]) && near(rank)).collect();
        left.iter().for_each(|rank| self.readers[*rank].tell(job, memory, false));
        job.ni.fences.heavy();
        job.ni.look();
        let mut has_some = false;
        for rank in left {
            if self.readers[rank].has(job, memory, 0) {
                self.idle[rank] = Some(0);
                self.readers[rank].tell(job, memory, true);
                has_some = true;
            } else {
                self.idle[rank] = None;
            }
        }
        self.active.retain(|rank| self.idle[*rank].is_some());
        self.turn = 0;
        // Far ones are always looked at.
        self.active.iter().for_each(|rank| self.idle[*rank] = Some(0));
        has_some
    }
}
