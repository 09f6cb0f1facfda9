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

use super::group::Group;
use super::label::{Label, history, same_number};
use super::part::{Entry, INLINE_MAX, Part};
use super::pieces::PIECE_BYTES;
use super::words::SLOT_COUNT;
use crate::error::Result;
use crate::memory::copy;
use crate::memory::span::Span;
use crate::ni::message::refuse_in_handler;
use crate::sync::bell::ANY;
use bytemuck::Pod;

/// One call of this member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    pub number: u64,
    pub slot: usize,
    /// What this member asks for.
    pub head: u64,
    pub argument: u64,
}

impl Round {
    /// Call `number` of a member that asked for what `history` says before.
    #[inline(always)]
    pub fn new(label: Label, number: u64, history: u16) -> Round {
        let slot = (number % SLOT_COUNT) as usize;
        Round { number, slot, head: label.head(number, history), argument: label.argument() }
    }

    /// What this member asks for, as it is compared.
    #[inline(always)]
    pub fn asks(&self) -> [u64; 2] {
        [self.head, self.argument]
    }

    /// Of what this member asks for, and asked for before.
    #[inline(always)]
    pub fn checksum(&self) -> u16 {
        history(self.head, self.argument)
    }
}

impl Group<'_> {
    /// Begins the next call: its slot is free afterwards, at every member.
    #[inline(always)]
    pub(super) fn enter(&self, label: Label) -> Result<Round> {
        self.enter_keeping(label, 0)
    }

    /// Begins the next call with `spare` more slots free. A member that sees the entry of one that entered with a spare slot knows
    /// that
    /// its own next slot is free too.
    #[inline(always)]
    pub(super) fn enter_keeping(&self, label: Label, spare: u64) -> Result<Round> {
        refuse_in_handler()?;
        self.job.ni.check_rank(self.job.ni.rank)?;
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
        Ok(round)
    }

    /// Waits until every member has finished call `needed`.
    #[cold]
    fn await_floor(&self, needed: u64) -> Result<()> {
        self.await_done(needed)?;
        self.look_how_far_all_are();
        Ok(())
    }

    /// Learns how far the slowest is.
    fn look_how_far_all_are(&self) {
        let finished = |member| self.part(member).finished.get();
        let lowest = (0..self.size()).filter(|member| *member != self.rank()).map(finished).min();
        // This member counts by the call it has entered: it is done with that before it enters another.
        self.floor.raise(lowest.unwrap_or(u64::MAX).min(self.number.get()));
    }

    /// Waits until every other member has finished call `number`.
    pub(super) fn await_done(&self, number: u64) -> Result<()> {
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

    /// The call that this member has entered last: only its number and history matter.
    pub(super) fn last_round(&self) -> Round {
        Round { number: self.number.get(), slot: 0, head: 0, argument: 0 }
    }

    /// A call of this member whose entry is still there.
    pub(super) fn round_of(&self, number: u64) -> Round {
        let slot = (number % SLOT_COUNT) as usize;
        let entry = &self.part(self.rank()).entries[slot];
        let (head, argument) = entry.ask.look();
        Round { number, slot, head, argument }
    }

    /// Shows what this member asks for, without a contribution.
    #[inline(always)]
    pub(super) fn publish(&self, round: &Round) {
        self.entry(self.rank(), round).ask.publish(round.head, round.argument);
    }

    /// Shows what this member asks for, with a contribution of at most [`BUFFER_BYTES`].
    #[inline(always)]
    pub(super) fn contribute(&self, round: &Round, data: &[u8]) {
        if self.goes_in_pieces(data.len()) {
            self.contribute_in_pieces(round, data);
        } else {
            self.put(round, self.rank(), data);
            self.publish(round);
        }
        if data.len() > INLINE_MAX {
            self.expect_next(round, data.len());
        }
    }

    /// Fetches the lines that the next contribution will most likely be written to, which others have read since they
    /// were last written: members contribute in every call, or take turns. Not while others may still read them.
    #[inline(always)]
    fn expect_next(&self, round: &Round, bytes: usize) {
        let stride = round.number - self.contributed.replace(round.number);
        let next = round.number + stride;
        if stride >= SLOT_COUNT {
            return;
        }
        if self.floor.lacks(next, 0).is_some() {
            // Now, while others read what was contributed: where every member has a core it costs nothing to know.
            self.look_how_far_all_are();
        }
        if self.floor.lacks(next, 0).is_none() {
            let slot = (next % SLOT_COUNT) as usize;
            copy::expect_write(self.members[self.rank()].buffer(slot).start(), bytes);
            self.expect_pieces(slot, bytes);
        }
    }

    /// Copies into the place for a contribution (or result) of `data.len()` bytes in the slot of a member.
    #[inline(always)]
    pub(super) fn put(&self, round: &Round, member: usize, data: &[u8]) {
        let target = self.contribution(round, member, data.len());
        target.copy_in(data);
    }

    /// Copies into a part of the place for this member's contribution of `bytes` bytes.
    pub(super) fn put_part(&self, round: &Round, bytes: usize, offset: usize, data: &[u8]) {
        let target = self.contribution(round, self.rank(), bytes);
        target.part(offset, data.len()).copy_in(data);
    }

    /// Where the contribution of a member lies, if it has `bytes` bytes.
    #[inline(always)]
    pub(super) fn contribution(&self, round: &Round, member: usize, bytes: usize) -> Span<'_> {
        match bytes <= INLINE_MAX {
            true => self.entry(member, round).payload().part(0, bytes),
            false => self.members[member].buffer(round.slot).part(0, bytes),
        }
    }

    /// Copies `into.len()` bytes at `offset` of a contribution of `bytes` bytes out. Waits for what is still to come of one
    /// that goes in pieces.
    #[inline(always)]
    pub(super) fn take(
        &self,
        round: &Round,
        member: usize,
        bytes: usize,
        offset: usize,
        into: &mut [u8],
    ) -> Result<()> {
        assert!(offset + into.len() <= bytes);
        if self.goes_in_pieces(bytes) && member != self.rank() {
            return self.take_in_pieces(round, member, offset, into);
        }
        let source = self.contribution(round, member, bytes);
        source.part(offset, into.len()).copy_out(into);
        Ok(())
    }

    /// The value that a member has contributed: short enough to have come with its entry.
    pub(super) fn value_of<T: Pod>(&self, round: &Round, member: usize) -> T {
        const { assert!(size_of::<T>() <= PIECE_BYTES) };
        let mut value = T::zeroed();
        let source = self.contribution(round, member, size_of::<T>());
        source.copy_out(bytemuck::bytes_of_mut(&mut value));
        value
    }

    /// Copies into the buffer of a member, at `offset`, whatever the size.
    pub(super) fn put_in_buffer(&self, round: &Round, member: usize, offset: usize, data: &[u8]) {
        self.members[member].buffer(round.slot).part(offset, data.len()).copy_in(data);
    }

    /// Copies out of the buffer of a member.
    pub(super) fn take_from_buffer(&self, round: &Round, member: usize, offset: usize, into: &mut [u8]) {
        self.members[member].buffer(round.slot).part(offset, into.len()).copy_out(into);
    }

    /// Whether a member has entered the call; an error if it asks for something else.
    #[inline(always)]
    pub(super) fn has_entered(&self, round: &Round, member: usize) -> Result<bool> {
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
    pub(super) fn await_member(&self, round: &Round, member: usize) -> Result<()> {
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
    fn await_member_longer(&self, round: &Round, member: usize) -> Result<()> {
        self.wait_longer(round, || match self.has_entered(round, member) {
            Ok(false) => None,
            other => Some(other.map(|_| ())),
        })?
    }

    /// Waits until all members below `end` have entered the call.
    #[inline(always)]
    pub(super) fn await_members(&self, round: &Round, end: usize) -> Result<()> {
        (0..end).filter(|member| *member != self.rank()).try_for_each(|member| self.await_member(round, member))
    }

    /// Everybody has entered this call, so everybody has finished the one before.
    #[inline(always)]
    pub(super) fn saw_everyone(&self, round: &Round) {
        self.floor.saw_everyone(round.number);
    }

    /// A member that entered this call with a slot to spare was seen.
    #[inline(always)]
    pub(super) fn saw_keeper(&self, round: &Round) {
        self.floor.saw_keeper(round.number);
    }

    /// This member reads nothing of the call any more.
    #[inline(always)]
    pub(super) fn finish(&self, round: &Round) {
        if self.part(self.rank()).finished.set(self.job.ni.fences, round.number) {
            self.notify_all();
        }
    }

    /// Tells a member that something has changed.
    #[inline(always)]
    pub(super) fn notify(&self, member: usize) {
        self.job.ni.notify(self.members[member].rank, ANY);
    }

    #[inline]
    pub(super) fn notify_all(&self) {
        (0..self.size()).filter(|member| *member != self.rank()).for_each(|member| self.notify(member));
    }

    #[inline(always)]
    pub(super) fn part(&self, member: usize) -> &Part {
        self.members[member].part()
    }

    #[inline(always)]
    pub(super) fn entry(&self, member: usize, round: &Round) -> &Entry {
        &self.part(member).entries[round.slot]
    }
}
