//! The course of one call: enter, publish, await the others, finish.
//!
//! ```text
//!   member                                       peer
//!   enter: everybody has finished call n - 8
//!   copy the contribution into slot n
//!   entry[n] = what I ask for          ------->  sees the number, compares, reads the contribution
//!                                                done = n
//!   ...
//!   enter call n + 8: reads done
//! ```
//! Members keep the lowest `done` they know of, and calls in which everybody is seen raise it for nothing, so `done` is
//! seldom read.

use super::group::NearGroup;
use crate::collective::label::{Kind, Label, same_number};
use crate::collective::part::{Entry, PART_BYTES, Part, WORD_BYTES};
use crate::collective::round::Round;
use crate::collective::words::SLOT_COUNT;
use crate::error::Result;
use crate::ni::refuse_in_handler;
use crate::sync::bell::ANY;

impl<'g> NearGroup<'g, '_> {
    /// Begins the next call: its slot is free afterwards, at every member.
    #[inline(always)]
    pub(in crate::collective) fn enter(self, label: Label) -> Result<Round> {
        self.enter_keeping(label, 0)
    }

    /// Begins the next call with `spare` more slots free. A member that sees the entry of one that entered with a spare slot knows
    /// that
    /// its own next slot is free too.
    #[inline(always)]
    pub(in crate::collective) fn enter_keeping(self, label: Label, spare: u64) -> Result<Round> {
        refuse_in_handler()?;
        self.port.ni().check_rank(self.port.ni().rank)?;
        if self.broken.borrow().is_some() {
            return Err(self.why_broken());
        }
        let number = self.number.get() + 1;
        let round = Round::new(label, number, self.history.get());
        if let Some(needed) = self.floor.lacks(number, spare) {
            self.await_floor(needed)?;
        }
        self.number.set(number);
        self.history.set(round.checksum());
        if !self.has_buffers.get() && label.kind != Kind::Barrier {
            self.take_buffers()?;
        }
        Ok(round)
    }

    /// Puts memory behind the own buffers, before anybody writes there: the first call that may need them does.
    #[cold]
    fn take_buffers(self) -> Result<()> {
        let taken = self.port.ni().commit_heap(self.start + WORD_BYTES, PART_BYTES - WORD_BYTES);
        taken.map_err(|error| self.quit_with(error))?;
        self.has_buffers.set(true);
        Ok(())
    }

    /// Waits until every member has finished call `needed`.
    #[cold]
    fn await_floor(self, needed: u64) -> Result<()> {
        self.await_done(needed)?;
        self.look_how_far_all_are();
        Ok(())
    }

    /// Learns how far the slowest is.
    pub(in crate::collective) fn look_how_far_all_are(self) {
        let finished = |member| self.part(member).finished.get();
        let lowest = (0..self.size()).filter(|member| *member != self.rank()).map(finished).min();
        // This member counts by the call it has entered: it is done with that before it enters another.
        self.floor.raise(lowest.unwrap_or(u64::MAX).min(self.number.get()));
    }

    /// Waits until every other member has finished call `number`.
    pub(in crate::collective) fn await_done(self, number: u64) -> Result<()> {
        let (mut next, mut told) = (0, false);
        self.wait(self.round_of(number), || {
            while next < self.size() && (next == self.rank() || self.part(next).finished.get() >= number) {
                next += 1;
            }
            if next < self.size() && !told {
                // At the first look, all that may still be waited for: the next look may be the one within a sleep.
                (next..self.size()).for_each(|member| self.part(member).finished.want());
                told = true;
            }
            (next == self.size()).then_some(())
        })
    }

    /// A call of this member whose entry is still there.
    pub(in crate::collective) fn round_of(self, number: u64) -> Round {
        let slot = (number % SLOT_COUNT) as usize;
        let entry = &self.part(self.rank()).entries[slot];
        let (head, argument) = entry.ask.look();
        Round { number, slot, head, argument }
    }

    /// Shows what this member asks for, without a contribution.
    #[inline(always)]
    pub(in crate::collective) fn publish(self, round: &Round) {
        self.entry(self.rank(), round).ask.publish(round.head, round.argument);
    }

    /// Whether a member has entered the call; an error if it asks for something else.
    #[inline(always)]
    pub(in crate::collective) fn has_entered(self, round: &Round, member: usize) -> Result<bool> {
        let (head, argument) = self.entry(member, round).ask.look();
        if head == round.head {
            match argument == round.argument {
                true => Ok(true),
                false => Err(self.mismatch(round, member)),
            }
        } else if same_number(head, round.head) {
            Err(self.mismatch(round, member))
        } else {
            Ok(false)
        }
    }

    /// Waits until a member has entered the call.
    #[inline(always)]
    pub(in crate::collective) fn await_member(self, round: &Round, member: usize) -> Result<()> {
        let ask = &self.entry(member, round).ask;
        for _ in 0..self.short_wait_turns() {
            if ask.look() == (round.head, round.argument) {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        self.await_member_longer(round, member)
    }

    #[cold]
    fn await_member_longer(self, round: &Round, member: usize) -> Result<()> {
        self.wait_longer(ANY, round, || match self.has_entered(round, member) {
            Ok(false) => None,
            other => Some(other.map(|_| ())),
        })?
    }

    /// Waits until all members below `end` have entered the call.
    #[inline(always)]
    pub(in crate::collective) fn await_members(self, round: &Round, end: usize) -> Result<()> {
        (0..end).filter(|member| *member != self.rank()).try_for_each(|member| self.await_member(round, member))
    }

    /// Everybody has entered this call, so everybody has finished the one before.
    #[inline(always)]
    pub(in crate::collective) fn saw_everyone(self, round: &Round) {
        self.floor.saw_everyone(round.number);
    }

    /// A member that entered this call with a slot to spare was seen.
    #[inline(always)]
    pub(in crate::collective) fn saw_keeper(self, round: &Round) {
        self.floor.saw_keeper(round.number);
    }

    /// This member reads nothing of the call any more.
    #[inline(always)]
    pub(in crate::collective) fn finish(self, round: &Round) {
        if self.part(self.rank()).finished.set(self.port.ni().fences, round.number) {
            self.notify_all();
        }
    }

    /// Tells a member that something has changed.
    #[inline(always)]
    pub(in crate::collective) fn notify(self, member: usize) {
        self.port.ni().notify(self.members[member].rank, ANY);
    }

    #[inline]
    pub(in crate::collective) fn notify_all(self) {
        (0..self.size()).filter(|member| *member != self.rank()).for_each(|member| self.notify(member));
    }

    #[inline(always)]
    pub(in crate::collective) fn part(self, member: usize) -> &'g Part {
        self.members[member].part()
    }

    #[inline(always)]
    pub(in crate::collective) fn entry(self, member: usize, round: &Round) -> &'g Entry {
        &self.part(member).entries[round.slot]
    }
}
