//! The words of a lock.
//!
//! ```text
//!   every rank      TURN: the turn that this rank was told of        LOST: it cannot reach the manager any more
//!   the manager     HEAD: whose turn it is     TAIL: the next ticket
//!                   slots, by ticket: who has it                     marks, by rank: which ticket it has
//! ```
//! Slots say whom to tell, and are shared by tickets: a packet that a rank sent before it died can come late and write over the name of
//! a later ticket. Marks say for certain who has a ticket: each is written by its own rank alone.
//!
//! What the manager has lies together: with few ranks it is one line, which moves to whoever changes it, and nobody polls it.

use super::turn::RawMutex;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::memory::atomic::Atomic;
use crate::ni::Place;
use std::sync::atomic::{Ordering, fence};

const TURN: usize = 0;
const LOST: usize = 1;
const HEAD: usize = 8;
const TAIL: usize = 9;
const SLOTS: usize = 10;

/// Whose turn it is: a ticket, and whether an owner before it has died and nobody knows yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn(pub u64);

impl Turn {
    pub fn new(ticket: u64, died: bool) -> Turn {
        Turn(ticket << 1 | died as u64)
    }

    pub fn ticket(self) -> u64 {
        self.0 >> 1
    }

    pub fn owner_died(self) -> bool {
        self.0 & 1 != 0
    }

    /// The next ticket's. A death that nobody knows of yet is told to that one.
    pub fn next(self) -> Turn {
        Turn::new(self.ticket() + 1, self.owner_died())
    }
}

/// Who has a ticket, as far as its slot says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// It says nothing of this ticket.
    Unnamed,
    /// This rank waits, or is inside.
    Waits(usize),
    /// This rank has given it up.
    GaveUp(usize),
    /// It was given up, and passed over.
    Passed,
}

const WAITS: u64 = 1;
const GAVE_UP: u64 = 2;
const PASSED: u64 = 3;
/// A slot holds a ticket, a rank, and one of those. The highest bits of the ticket are left out: a slot is written for every ticket that
/// uses it, unless its rank dies, so what an old one has left there is not as old as that.
const RANK_SHIFT: u32 = 2;
const TICKET_SHIFT: u32 = 20;

impl Holder {
    /// As a slot says it.
    pub fn word(self, ticket: u64) -> u64 {
        let (rank, state) = match self {
            Holder::Unnamed => return 0,
            Holder::Waits(rank) => (rank, WAITS),
            Holder::GaveUp(rank) => (rank, GAVE_UP),
            Holder::Passed => (0, PASSED),
        };
        ticket << TICKET_SHIFT | (rank as u64) << RANK_SHIFT | state
    }

    /// What a slot says of this ticket.
    pub fn read(word: u64, ticket: u64, size: usize) -> Result<Holder> {
        if word >> TICKET_SHIFT != ticket << TICKET_SHIFT >> TICKET_SHIFT {
            return Ok(Holder::Unnamed);
        }
        let rank = ((word % (1 << TICKET_SHIFT)) >> RANK_SHIFT) as usize;
        match word % (1 << RANK_SHIFT) {
            WAITS if rank < size => Ok(Holder::Waits(rank)),
            GAVE_UP if rank < size => Ok(Holder::GaveUp(rank)),
            PASSED => Ok(Holder::Passed),
            0 => Ok(Holder::Unnamed),
            _ => Err(spoilt()),
        }
    }
}

/// What a rank says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// It has no ticket, or none that it waits for.
    Nothing,
    /// It takes one right now.
    Takes,
    Has(u64),
}

impl Mark {
    fn word(self) -> u64 {
        match self {
            Mark::Nothing => 0,
            Mark::Takes => 1,
            Mark::Has(ticket) => (ticket + 1) << 1,
        }
    }
}

/// So many tickets can be in the queue: one of each rank, and one that was given up and is just being passed over.
fn slots_of(size: usize) -> usize {
    (size + 1).next_power_of_two()
}

/// Words that no rank has written by these calls.
#[cold]
pub(super) fn spoilt() -> Error {
    Error::Invalid("the words of a lock make no sense: a program has written over them".into())
}

/// How many words each rank has for a lock.
pub(super) fn words_of(size: usize) -> usize {
    SLOTS + slots_of(size) + size
}

/// How they are reached.
impl RawMutex {
    fn at(&self, index: usize) -> Place<'_, u64> {
        self.words.at(self.manager, index)
    }

    fn slot(&self, ticket: u64) -> Place<'_, u64> {
        // A power of two.
        let mask = slots_of(self.size) as u64 - 1;
        self.at(SLOTS + (ticket & mask) as usize)
    }

    fn marks(&self) -> usize {
        SLOTS + slots_of(self.size)
    }

    pub(super) fn turn(&self, job: &Job) -> Result<Turn> {
        job.read_silently(self.at(HEAD)).map(Turn)
    }

    /// Makes it another's turn, if it still is `from`'s.
    pub(super) fn move_turn(&self, job: &Job, from: Turn, to: Turn) -> Result<bool> {
        let change = Atomic::CompareSwap { old: from.0, new: to.0 };
        Ok(job.change_silently(self.at(HEAD), change)? == from.0)
    }

    /// A new ticket.
    pub(super) fn draw(&self, job: &Job) -> Result<u64> {
        job.change_silently(self.at(TAIL), Atomic::Add(1))
    }

    /// The ticket `next`, if it is the next one.
    pub(super) fn draw_if_next(&self, job: &Job, next: u64) -> Result<bool> {
        let change = Atomic::CompareSwap { old: next, new: next + 1 };
        Ok(job.change_silently(self.at(TAIL), change)? == next)
    }

    /// The ticket that nobody has yet.
    pub(super) fn tail(&self, job: &Job) -> Result<u64> {
        job.read_silently(self.at(TAIL))
    }

    pub(super) fn holder(&self, job: &Job, ticket: u64) -> Result<Holder> {
        Holder::read(job.read_silently(self.slot(ticket))?, ticket, self.size)
    }

    /// Says who has a ticket, before it is asked whose turn it is.
    pub(super) fn name(&self, job: &Job, ticket: u64, holder: Holder) -> Result<()> {
        job.change_silently(self.slot(ticket), Atomic::Swap(holder.word(ticket))).map(drop)
    }

    /// Says who has a ticket whose turn it is.
    pub(super) fn name_owner(&self, job: &Job, ticket: u64) -> Result<()> {
        job.write_silently(self.slot(ticket), Holder::Waits(job.rank()).word(ticket))
    }

    /// Says that somebody else has it, or in another way, if nothing has changed.
    pub(super) fn rename(&self, job: &Job, ticket: u64, from: Holder, to: Holder) -> Result<bool> {
        let (old, new) = (from.word(ticket), to.word(ticket));
        Ok(job.change_silently(self.slot(ticket), Atomic::CompareSwap { old, new })? == old)
    }

    /// Says what this rank has, before whatever it does next at the manager.
    pub(super) fn mark(&self, job: &Job, mark: Mark) -> Result<()> {
        job.write_silently(self.at(self.marks() + job.rank()), mark.word())
    }

    /// Who may have this ticket, by what each says of itself.
    pub(super) fn marked(&self, job: &Job, ticket: u64) -> Result<Vec<usize>> {
        let mut marks = vec![0; self.size];
        job.pull(self.at(self.marks()), &mut marks)?;
        // What is read next is read after them.
        fence(Ordering::SeqCst);
        let may_have = |rank: &usize| [Mark::Takes, Mark::Has(ticket)].iter().any(|mark| mark.word() == marks[*rank]);
        Ok((0..self.size).filter(may_have).collect())
    }

    /// The word by which this rank is told of its turn.
    pub(super) fn own_turn(&self) -> Place<'_, u64> {
        self.words.here(TURN)
    }

    /// Tells a rank that it is its turn. It may have seen that, done what it wanted and left before it is told.
    pub(super) fn tell(&self, job: &Job, rank: usize, turn: Turn) -> Result<()> {
        job.hint(self.words.at(rank, TURN), turn.0)
    }

    /// This rank will never touch the lock again: it cannot reach the manager.
    pub(super) fn set_lost(&self) {
        self.words.set(LOST, 1);
    }

    /// Whether a rank has said so.
    pub(super) fn is_lost_to(&self, job: &Job, rank: usize) -> Result<bool> {
        Ok(job.read_silently(self.words.at(rank, LOST))? != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_say_what_was_written_and_nothing_of_other_tickets() {
        let size = 1 << 16;
        for ticket in [0, 1, 77, (1 << 44) - 1, 1 << 44, u64::MAX >> 1] {
            for holder in [Holder::Waits(0), Holder::Waits(size - 1), Holder::GaveUp(5), Holder::Passed] {
                let word = holder.word(ticket);
                assert_eq!(Holder::read(word, ticket, size).unwrap(), holder);
                assert_eq!(Holder::read(word, ticket + 1, size).unwrap(), Holder::Unnamed);
                assert_eq!(Holder::read(word, ticket.wrapping_sub(size as u64), size).unwrap(), Holder::Unnamed);
            }
        }
        // Memory starts zeroed.
        assert_eq!(Holder::read(0, 0, 2).unwrap(), Holder::Unnamed);
        assert!(Holder::read(Holder::Waits(2).word(3), 3, 2).is_err());
    }

    #[test]
    fn a_death_is_told_to_the_next() {
        let turn = Turn::new(7, true);
        assert_eq!((turn.ticket(), turn.owner_died()), (7, true));
        assert_eq!(turn.next(), Turn::new(8, true));
    }
}
