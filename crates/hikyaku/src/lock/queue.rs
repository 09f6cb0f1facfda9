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
use std::sync::atomic::{AtomicU64, Ordering, fence};

const TURN: usize = 0;
const LOST: usize = 1;
const HEAD: usize = 8;
const TAIL: usize = 9;
const SLOTS: usize = 10;

/// Whose turn it is: a ticket, and whether an owner before it has died and nobody knows yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn(pub u64);

impl Turn {
    #[inline(always)]
    pub fn new(ticket: u64, died: bool) -> Turn {
        Turn(ticket << 1 | died as u64)
    }

    #[inline(always)]
    pub fn ticket(self) -> u64 {
        self.0 >> 1
    }

    #[inline(always)]
    pub fn owner_died(self) -> bool {
        self.0 & 1 != 0
    }

    /// The next ticket's. A death that nobody knows of yet is told to that one.
    pub fn next(self) -> Turn {
        self.over(self.owner_died())
    }

    /// The next ticket's, since this one's owner is done, or has died.
    #[inline(always)]
    pub fn over(self, died: bool) -> Turn {
        Turn::new(self.ticket() + 1, died)
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
    #[inline(always)]
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
    #[inline(always)]
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
    #[inline(always)]
    fn word(self) -> u64 {
        match self {
            Mark::Nothing => 0,
            Mark::Takes => 1,
            Mark::Has(ticket) => (ticket + 1) << 1,
        }
    }
}

/// So many tickets can be in the queue: one of each rank, and one that was given up and is just being passed over.
#[inline(always)]
fn slots_of(size: usize) -> usize {
    (size + 1).next_power_of_two()
}

/// Words that no rank has written by these calls.
#[cold]
pub(super) fn spoilt() -> Error {
    Error::Invalid("the words of a lock make no sense: a program has written over them".into())
}

/// How many words each rank has for a lock.
#[inline(always)]
pub(super) fn words_of(size: usize) -> usize {
    SLOTS + slots_of(size) + size
}

/// How a call of this rank reaches the words that the manager has.
pub(super) trait Words {
    fn change(&self, index: usize, operation: Atomic) -> Result<u64>;
    fn read(&self, index: usize) -> Result<u64>;
    /// Before whatever this rank does next there.
    fn write(&self, index: usize, value: u64) -> Result<()>;
}

/// Words that are mapped here.
impl Words for &[AtomicU64] {
    #[inline(always)]
    fn change(&self, index: usize, operation: Atomic) -> Result<u64> {
        Ok(operation.perform(&self[index]))
    }

    #[inline(always)]
    fn read(&self, index: usize) -> Result<u64> {
        Ok(self[index].load(Ordering::SeqCst))
    }

    #[inline(always)]
    fn write(&self, index: usize, value: u64) -> Result<()> {
        self[index].store(value, Ordering::Release);
        Ok(())
    }
}

/// Words wherever they are. A simulated rank may be interrupted, or killed, before it comes to any of them.
#[derive(Clone, Copy)]
pub(super) struct Anywhere<'m> {
    mutex: &'m RawMutex,
    job: &'m Job,
}

impl<'m> Anywhere<'m> {
    fn place(&self, index: usize) -> Place<'m, u64> {
        self.mutex.words.at(self.mutex.manager, index)
    }
}

impl Words for Anywhere<'_> {
    fn change(&self, index: usize, operation: Atomic) -> Result<u64> {
        self.job.change_silently(self.place(index), operation)
    }

    fn read(&self, index: usize) -> Result<u64> {
        self.job.read_silently(self.place(index))
    }

    fn write(&self, index: usize, value: u64) -> Result<()> {
        self.job.write_silently(self.place(index), value)
    }
}

/// What the manager has, for one call of this rank.
#[derive(Clone, Copy)]
pub(super) struct Desk<W> {
    words: W,
    rank: usize,
    size: usize,
}

impl<'m> Desk<&'m [AtomicU64]> {
    /// Of a lock of this job whose words are mapped here, so that nothing comes between two steps. Not in a forked child: the lock is its
    /// parent's. Nor in the simulator.
    #[inline(always)]
    pub fn at_hand(mutex: &'m RawMutex, job: &'m Job) -> Option<Desk<&'m [AtomicU64]>> {
        if job.ni.environment.is_some() {
            return None;
        }
        let words = job.mapped_words(mutex.words.at(mutex.manager, 0), mutex.words.len())?.all()?;
        (words.len() > SLOTS).then_some(Desk { words, rank: job.rank(), size: mutex.size })
    }
}

impl<'m> Desk<Anywhere<'m>> {
    /// Of a lock of this job.
    pub fn of(mutex: &'m RawMutex, job: &'m Job) -> Desk<Anywhere<'m>> {
        Desk { words: Anywhere { mutex, job }, rank: job.rank(), size: mutex.size }
    }

    /// The ticket that nobody has yet.
    pub fn tail(&self) -> Result<u64> {
        self.words.read(TAIL)
    }

    /// Who may have this ticket, by what each says of itself.
    pub fn marked(&self, ticket: u64) -> Result<Vec<usize>> {
        let mut marks = vec![0; self.size];
        self.words.job.pull(self.words.place(self.marks()), &mut marks)?;
        // What is read next is read after them.
        fence(Ordering::SeqCst);
        let may_have = |rank: &usize| [Mark::Takes, Mark::Has(ticket)].iter().any(|mark| mark.word() == marks[*rank]);
        Ok((0..self.size).filter(may_have).collect())
    }
}

impl<W: Words> Desk<W> {
    /// Where the slot of a ticket is.
    #[inline(always)]
    fn slot(&self, ticket: u64) -> usize {
        SLOTS + (ticket as usize & (slots_of(self.size) - 1))
    }

    #[inline(always)]
    fn marks(&self) -> usize {
        SLOTS + slots_of(self.size)
    }

    #[inline(always)]
    pub fn turn(&self) -> Result<Turn> {
        self.words.read(HEAD).map(Turn)
    }

    /// The turn, if it is that of a ticket.
    #[inline(always)]
    pub fn turn_of(&self, ticket: u64) -> Result<Option<Turn>> {
        let turn = self.turn()?;
        Ok((turn.ticket() == ticket).then_some(turn))
    }

    /// Makes it another's turn, if it still is `from`'s.
    #[inline(always)]
    pub fn move_turn(&self, from: Turn, to: Turn) -> Result<bool> {
        Ok(self.words.change(HEAD, Atomic::CompareSwap { old: from.0, new: to.0 })? == from.0)
    }

    /// A new ticket.
    #[inline(always)]
    pub fn draw(&self) -> Result<u64> {
        self.words.change(TAIL, Atomic::Add(1))
    }

    /// The ticket `next`, if it is the next one.
    #[inline(always)]
    pub fn draw_if_next(&self, next: u64) -> Result<bool> {
        Ok(self.words.change(TAIL, Atomic::CompareSwap { old: next, new: next + 1 })? == next)
    }

    #[inline(always)]
    pub fn holder(&self, ticket: u64) -> Result<Holder> {
        Holder::read(self.words.read(self.slot(ticket))?, ticket, self.size)
    }

    /// Says who has a ticket, before it is asked whose turn it is.
    pub fn name(&self, ticket: u64, holder: Holder) -> Result<()> {
        self.words.change(self.slot(ticket), Atomic::Swap(holder.word(ticket))).map(drop)
    }

    /// Says that this rank waits with it.
    pub fn name_waiting(&self, ticket: u64) -> Result<()> {
        self.name(ticket, Holder::Waits(self.rank))
    }

    /// Says who has a ticket whose turn it is.
    #[inline(always)]
    pub fn name_owner(&self, ticket: u64) -> Result<()> {
        self.words.write(self.slot(ticket), Holder::Waits(self.rank).word(ticket))
    }

    /// Says that somebody else has it, or in another way, if nothing has changed.
    pub fn rename(&self, ticket: u64, from: Holder, to: Holder) -> Result<bool> {
        let (old, new) = (from.word(ticket), to.word(ticket));
        Ok(self.words.change(self.slot(ticket), Atomic::CompareSwap { old, new })? == old)
    }

    /// Says what this rank has, before whatever it does next at the manager.
    #[inline(always)]
    pub fn mark(&self, mark: Mark) -> Result<()> {
        self.words.write(self.marks() + self.rank, mark.word())
    }
}

/// What each rank is told, and says, in words of its own.
impl RawMutex {
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
