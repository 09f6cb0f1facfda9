//! Calls of a far group that do not fit together, and members that end.
//!
//! A member waits for one other at a time, or at the network's barrier for all. It sees the end of that one, and it sees
//! its alarm: whoever finds out that a call can never be complete writes into the alarm of every member why. A death is known
//! to all without that. After a long wait it asks what another is about: both may wait for room for messages that nobody will
//! take. Who waits for all asks one at a time, each the next one first, so that everyone is asked at once by somebody.

use super::group::FarGroup;
use crate::collective::label::{self, Label, calls_before, same_number};
use crate::collective::round::Round;
use crate::collective::trouble::PATROL;
use crate::error::{Error, Result};
use crate::ni::{By, Target, Wait};
use crate::planted::{Bug, planted};
use crate::sync::shared;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

shared! {
    /// One member's words.
    #[derive(Debug)]
    struct Alarm {
        /// Written by whoever finds trouble, the first one last; read by the member it belongs to.
        words: [AtomicU64; WORDS],
        /// Head and argument of the calls the member has entered last. Written by it, read by the others.
        asks: [[AtomicU64; 2]; ASKS],
    }
}

const WORDS: usize = 7;
/// Calls a member can tell of.
const ASKS: usize = 8;
/// Marks an alarm; the number of the call it is about is below it.
const RAISED: u64 = 1 << 63;

/// How long the end of a member is not taken for the cause: the alarm that made it end may be under way.
const GRACE: Duration = Duration::from_millis(10);

/// What an alarm says.
#[derive(Clone, Copy)]
enum Why {
    /// Two ranks ask for different things: (rank, head, argument) of each.
    Differ([u64; 6]),
    /// A rank has left.
    Left(u64),
    /// A rank cannot be reached by the one that says so.
    Lost { rank: u64, by: u64 },
}

impl Why {
    fn words(self, number: u64) -> [u64; WORDS] {
        match self {
            Why::Differ([a, b, c, d, e, f]) => [RAISED | number << 2, a, b, c, d, e, f],
            Why::Left(rank) => [RAISED | number << 2 | 1, rank, 0, 0, 0, 0, 0],
            Why::Lost { rank, by } => [RAISED | number << 2 | 2, rank, by, 0, 0, 0, 0],
        }
    }
}

impl Alarm {
    /// The number of the call it is about, and why, if it was raised.
    fn look(&self) -> Option<(u64, Why)> {
        let head = self.words[0].load(Ordering::Acquire);
        if head & RAISED == 0 {
            return None;
        }
        let word = |index: usize| self.words[index].load(Ordering::Relaxed);
        let why = match head & 3 {
            0 => Why::Differ(std::array::from_fn(|index| word(index + 1))),
            1 => Why::Left(word(1)),
            _ => Why::Lost { rank: word(1), by: word(2) },
        };
        Some(((head & !RAISED) >> 2, why))
    }
}

impl<'g> FarGroup<'g, '_> {
    /// Waits within a call for something that `member` does.
    pub(super) fn wait_for_member<R>(
        self,
        round: &Round,
        member: usize,
        ready: impl FnMut() -> Option<Result<R>>,
    ) -> Result<R> {
        self.wait_for_members(round, member..member + 1, ready)
    }

    /// Waits within a call for something that takes all of `members`.
    pub(super) fn wait_for_members<R>(
        self,
        round: &Round,
        members: Range<usize>,
        mut ready: impl FnMut() -> Option<Result<R>>,
    ) -> Result<R> {
        let mut left = None;
        let mut turn = self.rank();
        let _patrol = self.port.patrol();
        loop {
            let look = || {
                let done = match ready() {
                    // An attempt to reach one that has left.
                    Some(Err(Error::PeerLeft { .. })) if left.is_some() => None,
                    other => other,
                };
                let trouble = || match left {
                    Some(_) => self.alarm_or_death(round),
                    None => self.trouble(round, members.clone()),
                };
                // What was done before counts.
                done.or_else(|| trouble().map(|trouble| ready().and_then(Result::ok).ok_or(trouble)))
            };
            let patience = if left.is_some() { GRACE } else { PATROL };
            let late =
                members.clone().map(|member| self.members[member].rank).find(|rank| *rank != self.port.ni().rank);
            let wait = Wait::on_rank(self.port.ni().rank).patrol(patience).late(late);
            let wait = || self.port.wait_until(wait, look);
            match self.quit_on_panic(wait) {
                // One of a later call may have covered that of this one, and does not let a wait for somebody who has given up
                // go on for ever.
                Err(Error::Timeout { .. }) if let Some((_, why)) = self.alarm().look() => {
                    return Err(self.fail_with(round, self.alarmed_by(round, why)));
                }
                Err(Error::Timeout { .. }) => match left {
                    Some(rank) => return Err(self.fail_with(round, Error::PeerLeft { rank })),
                    None => {
                        turn += 1;
                        self.patrol(round, members.start + turn % members.len())?;
                    }
                },
                Ok(Err(Error::PeerLeft { rank })) if left.is_none() => left = Some(rank),
                waited => return waited.and_then(|result| result).map_err(|error| self.fail_with(round, error)),
            }
        }
    }

    /// Asks what a member is about: the two may have gone different ways some calls ago.
    #[cold]
    fn patrol(self, round: &Round, member: usize) -> Result<()> {
        if member == self.rank() {
            return Ok(());
        }
        let mut theirs = [[0u64; 2]; ASKS];
        let place = self.place_of(member) + std::mem::offset_of!(Alarm, asks);
        let target = Target::in_heap(self.members[member].rank, place);
        let into: &mut [u8] = bytemuck::cast_slice_mut(&mut theirs);
        let asked = self.quit_on_panic(|| self.port.initiator.pull_bytes(target, into));
        asked.map_err(|error| self.fail_with(round, error))?;
        for (mine, theirs) in self.alarm().asks.iter().zip(theirs) {
            let mine = mine.each_ref().map(|word| word.load(Ordering::Relaxed));
            if same_number(theirs[0], mine[0]) && theirs != mine {
                let number = round.number - calls_before(mine[0], round.head);
                let earlier = Round { number, head: mine[0], argument: mine[1], ..*round };
                return Err(self.disagree(&earlier, member, theirs));
            }
        }
        Ok(())
    }

    /// Shows what this member asks for.
    pub(super) fn show(self, round: &Round) {
        let [head, argument] = &self.alarm().asks[round.number as usize % ASKS];
        argument.store(round.argument, Ordering::Relaxed);
        head.store(round.head, Ordering::Release);
    }

    /// Why the call can never be complete, if that is so.
    fn trouble(self, round: &Round, mut members: Range<usize>) -> Option<Error> {
        // In this order: one that left because another died is not the cause.
        let trouble = self.alarm_or_death(round);
        if trouble.is_some() || self.port.ni().departures() == 0 {
            return trouble;
        }
        members.find_map(|member| self.port.ni().find_departed(By::Rank(self.members[member].rank)).err())
    }

    fn alarm_or_death(self, round: &Round) -> Option<Error> {
        if self.broken.borrow().is_some() {
            return Some(self.why_broken());
        }
        if let Some((_, why)) = self.alarm().look().filter(|(number, _)| *number <= round.number) {
            return Some(self.alarmed_by(round, why));
        }
        if self.port.ni().has_no_deaths() {
            return None;
        }
        let ends = self.members.iter().filter_map(|member| self.port.ni().end_of(member.rank));
        ends.into_iter().find(|error| !matches!(error, Error::PeerLeft { .. }))
    }

    /// A member asks for something else than this one.
    #[cold]
    pub(super) fn disagree(self, round: &Round, member: usize, theirs: [u64; 2]) -> Error {
        let rank = self.members[member].rank;
        let both = [self.port.rank() as u64, round.head, round.argument, rank as u64, theirs[0], theirs[1]];
        self.raise(round, Why::Differ(both));
        self.fail(differs(round, rank, theirs))
    }

    /// The others must not wait for this member, which cannot go on with the call it has entered last.
    #[cold]
    pub(in crate::collective) fn far_quit(self) {
        // Only its number and history matter.
        self.quit(&Round { number: self.number.get(), slot: 0, head: 0, argument: 0 });
    }

    /// Begins a call that no other member can have asked for, so that nobody waits for this one.
    #[cold]
    pub(in crate::collective) fn far_refuse(self, odd: Label) -> Result<()> {
        self.begin(odd).map(|round| self.quit(&round))
    }

    /// This member cannot go on with a call: the others must not wait for it.
    #[cold]
    fn quit(self, round: &Round) {
        let rank = self.port.rank() as u64;
        self.raise(round, Why::Differ([rank, round.head, round.argument, rank, round.head, round.argument]));
    }

    /// A call has failed.
    fn fail_with(self, round: &Round, error: Error) -> Error {
        if self.broken.borrow().is_none() {
            match error {
                Error::PeerLeft { rank } => self.raise(round, Why::Left(rank as u64)),
                // The others may reach it, and wait for this member.
                Error::Unreachable { rank, .. } => {
                    self.raise(round, Why::Lost { rank: rank as u64, by: self.port.rank() as u64 });
                }
                _ => {}
            }
        }
        self.fail(self.port.ni().failing(error))
    }

    fn raise(self, round: &Round, why: Why) {
        if planted(Bug::AlarmSilent) {
            return;
        }
        let words = why.words(round.number);
        for member in (0..self.size()).filter(|member| *member != self.rank()) {
            let (rank, place) = (self.members[member].rank, self.place_of(member));
            // One that has ended needs no alarm, and one that cannot be reached gets none.
            let _ = self.port.initiator.push_then(Target::in_heap(rank, place), &[], place, &words);
        }
    }

    fn alarmed_by(self, round: &Round, why: Why) -> Error {
        match why {
            Why::Left(rank) => Error::PeerLeft { rank: rank as usize },
            Why::Lost { rank, by } => {
                Error::Unreachable { rank: rank as usize, tried: format!("rank {by} of the group has lost it") }
            }
            Why::Differ([first, head, argument, second, other_head, other_argument]) => {
                // At least one of them asks for something else than this member.
                let agrees = [head, argument] == [round.head, round.argument] || first as usize == self.port.rank();
                match agrees {
                    true => differs(round, second as usize, [other_head, other_argument]),
                    false => differs(round, first as usize, [head, argument]),
                }
            }
        }
    }

    fn alarm(self) -> &'g Alarm {
        self.own(self.alarm_offset())
    }

    fn alarm_offset(self) -> usize {
        self.far.alarm
    }

    /// Where the words of a member lie in its heap.
    fn place_of(self, member: usize) -> usize {
        self.members[member].start + self.alarm_offset()
    }
}

fn differs(round: &Round, rank: usize, theirs: [u64; 2]) -> Error {
    label::mismatch(rank, (round.head, round.argument), (theirs[0], theirs[1]))
}
