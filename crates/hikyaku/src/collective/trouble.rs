//! Calls that do not fit together, and members that end: every wait of a group looks out for both.
//!
//! Whoever finds that another member asks for something else tells all members, so that nobody waits for a call that
//! will never be complete. A group in which a call failed is of no use any more: its members are out of step.

use super::group::Group;
use super::label::{Label, difference, same_number};
use super::round::Round;
use crate::error::{Error, Result};
use crate::ni::failure::Hold;
use crate::ni::message::refuse_in_handler;
use crate::ni::rest::Rest;
use crate::ni::wait::{By, Progress};
use crate::sync::bell::ANY;
use crate::transport::shm::layout::State;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Looks of a wait that does nothing else: about a microsecond.
const SHORT_WAIT_TURNS: u32 = 24;
/// A member that slept this long looks whether the others ask for the same: one that had nothing to wait for does not
/// tell.
pub(super) const PATROL: Duration = Duration::from_millis(200);
/// Turns of a wait before the first look at what the others ask for; each look doubles it.
const FIRST_LOOK_TURNS: u32 = 256;
/// An alarm holds so much of the number of the call it is about.
const ALARM_NUMBER_MASK: u64 = (1 << 31) - 1;

/// Whether an alarm about call `one` is about a later one than call `other`.
fn is_later(one: u64, other: u64) -> bool {
    other.wrapping_sub(one) & ALARM_NUMBER_MASK >= 1 << 30
}

impl Group<'_> {
    /// Waits within a call.
    #[inline(always)]
    pub(super) fn wait<R>(&self, round: Round, mut ready: impl FnMut() -> Option<R>) -> Result<R> {
        for _ in 0..self.short_wait_turns() {
            if let Some(result) = ready() {
                return Ok(result);
            }
            std::hint::spin_loop();
        }
        self.wait_longer(&round, ready)
    }

    /// Looks before a wait does anything else: most waits are short where every member has a core; trouble, handlers and
    /// sleep can wait so long.
    #[inline(always)]
    pub(super) fn short_wait_turns(&self) -> u32 {
        if self.crowded { 1 } else { SHORT_WAIT_TURNS }
    }

    pub(super) fn wait_longer<R>(&self, round: &Round, mut ready: impl FnMut() -> Option<R>) -> Result<R> {
        let alarm = &self.part(self.rank()).alarm;
        let (mut departed, mut turns) = (0, 0u32);
        loop {
            let look = || {
                if let Some(result) = ready() {
                    return Some(Ok(result));
                }
                turns = turns.wrapping_add(1);
                let looks = turns >= FIRST_LOOK_TURNS && turns.is_power_of_two();
                let now = self.job.ni.departures();
                if now == departed && !looks && alarm.load(Ordering::Relaxed) == 0 {
                    return None;
                }
                departed = now;
                let trouble = self.check(round).err()?;
                // What was done before counts.
                Some(ready().ok_or(trouble))
            };
            // Which members' ends matter depends on how far they were, so the look above decides, not the loop.
            let myself = By::Rank(self.job.ni.rank);
            let wait = || self.job.wait_until(myself, Some(PATROL), ANY, Progress::Seldom, look);
            match self.abandon_on_panic(wait) {
                Ok(Ok(result)) => return Ok(result),
                Ok(Err(error)) => return Err(self.fail(error)),
                Err(Error::Timeout { .. }) => turns = FIRST_LOOK_TURNS - 1,
                Err(error) => return Err(self.fail(error)),
            }
        }
    }

    /// Fails if the call can never be complete.
    #[cold]
    pub(super) fn check(&self, round: &Round) -> Result<()> {
        if self.broken.borrow().is_some() {
            return Err(self.why_broken());
        }
        let alarm = self.part(self.rank()).alarm.load(Ordering::Acquire);
        // Whoever is alarmed in a later call has done its part of this one.
        if alarm != 0 && !is_later(alarm >> 32, round.number) {
            return Err(self.alarmed(round, alarm));
        }
        let state = |member: usize| self.job.ni.state_of(self.members[member].rank);
        let has_left = |member: &usize| state(*member).has_left() && self.part(*member).finished.get() < round.number;
        // In this order: one that left because another died is not the cause.
        let left = (0..self.size()).find(has_left);
        let dead = (0..self.size()).find(|member| state(*member) == State::Dead);
        match (dead, left) {
            (Some(dead), _) => return Err(Error::PeerDead { rank: self.members[dead].rank }),
            (None, Some(left)) => return Err(Error::PeerLeft { rank: self.members[left].rank }),
            (None, None) => {}
        }
        if self.part(self.rank()).finished.get() >= round.number {
            // This member has finished the call, so the others may be using its slot again. Who has not finished
            // it looks itself whether the others ask for the same.
            return Ok(());
        }
        (0..self.size()).try_for_each(|member| {
            let (head, argument) = self.entry(member, round).ask.look();
            let differs = (head, argument) != (round.head, round.argument);
            match differs && same_number(head, round.head) && member != self.rank() {
                true => Err(self.mismatch(round, member)),
                false => Ok(()),
            }
        })
    }

    /// A member asks for something else than this one: tells everybody.
    #[cold]
    pub(super) fn mismatch(&self, round: &Round, member: usize) -> Error {
        self.tell_all_of(round, member);
        self.fail(self.disagreement(round, member))
    }

    /// Tells everybody that this call can never be complete because of a member.
    #[cold]
    fn tell_all_of(&self, round: &Round, member: usize) {
        // The highest bit tells it from no alarm.
        let number = round.number & ALARM_NUMBER_MASK;
        let alarm = 1 << 63 | number << 32 | (self.rank() as u64) << 16 | member as u64;
        // The one about the earliest call stays: whoever waits for that one does not mind those about later ones.
        let sooner = |old: u64| (old == 0 || is_later(old >> 32, number)).then_some(alarm);
        for peer in 0..self.size() {
            let _ = self.part(peer).alarm.fetch_update(Ordering::AcqRel, Ordering::Relaxed, sooner);
        }
        self.notify_all();
    }

    /// The program panicked in the middle of a call: the others must not wait for this member.
    #[cold]
    pub(super) fn abandon(&self) {
        self.give_up_with(Error::Invalid("a panic has ended a call of this group".into()));
    }

    /// This member cannot go on with the call it has entered last: the others must not wait for it. The error that every later
    /// call gets.
    #[cold]
    pub(super) fn give_up_with(&self, error: Error) -> Error {
        let is_broken = self.broken.borrow().is_some();
        // A forked child has no say.
        if !is_broken && self.job.ni.check_rank(self.job.ni.rank).is_ok() {
            if self.is_far() {
                self.quit(&self.last_round());
            } else {
                self.tell_all_of(&self.round_of(self.number.get()), self.rank());
            }
        }
        self.fail(error)
    }

    /// Runs something that calls functions of the program, which may panic: handlers too, in every wait.
    #[inline(always)]
    pub(super) fn abandon_on_panic<R>(&self, work: impl FnOnce() -> R) -> R {
        struct Abandons<'g, 'j>(&'g Group<'j>);
        impl Drop for Abandons<'_, '_> {
            fn drop(&mut self) {
                self.0.abandon();
            }
        }
        let abandons = Abandons(self);
        let result = work();
        std::mem::forget(abandons);
        result
    }

    /// Waits until nobody is at a buffer of this member any more, or `by` has ended, which is as good. Nothing may keep it from
    /// that, so the panic of a handler waits for the next call. In a forked child there is nothing to wait for.
    ///
    /// Buffers that a member reaches by itself are private memory of the program, so there is no way but to wait for it, even if
    /// it is another one that has written that it is there. Meanwhile this rank sleeps, and serves others.
    #[cold]
    pub(super) fn wait_out(&self, by: By, mut done: impl FnMut() -> Option<()>) {
        let (_hold, mut rest) = (Hold::enter(), Rest::new(&self.job.ni));
        while done().is_none() && self.job.ni.check_departed(by).is_ok() {
            // Also where no wait is possible.
            if self.job.wait_until(by, None, ANY, Progress::Seldom, &mut done).is_err() {
                rest.wait();
            }
        }
    }

    /// Not all members ask for the same: tells everybody, and names one that does not.
    #[cold]
    pub(super) fn mismatch_of_someone(&self, round: &Round) -> Error {
        let differs = |member: &usize| {
            let entry = self.entry(*member, round);
            entry.ask.look() != (round.head, round.argument)
        };
        self.mismatch(round, (0..self.size()).find(differs).unwrap_or(0))
    }

    /// Somebody has found two members that disagree: at least one of them asks for something else than this one.
    fn alarmed(&self, round: &Round, alarm: u64) -> Error {
        let [first, second] = [alarm >> 16 & 0xFFFF, alarm & 0xFFFF].map(|member| member as usize % self.size());
        let entry = self.entry(first, round);
        let agrees = entry.ask.look() == (round.head, round.argument);
        self.disagreement(round, if agrees || first == self.rank() { second } else { first })
    }

    fn disagreement(&self, round: &Round, member: usize) -> Error {
        let entry = self.entry(member, round);
        let theirs = entry.ask.look();
        let (operation, mine, theirs) = difference((round.head, round.argument), theirs);
        Error::Mismatch { operation, rank: self.members[member].rank, mine, theirs }
    }

    /// Remembers that the group is of no use any more.
    #[cold]
    pub(super) fn fail(&self, error: Error) -> Error {
        self.broken.borrow_mut().get_or_insert(error).clone()
    }

    /// Fails where every call would: before memory is taken for one.
    pub(super) fn check_usable(&self) -> Result<()> {
        refuse_in_handler()?;
        self.job.ni.check_rank(self.job.ni.rank)?;
        if self.broken.borrow().is_some() { Err(self.why_broken()) } else { Ok(()) }
    }

    /// The error that every later call gets.
    #[cold]
    pub(super) fn why_broken(&self) -> Error {
        self.broken.borrow().clone().expect("only a broken group is asked")
    }

    /// This member cannot do what it was asked: the others must not wait for it.
    #[cold]
    pub(super) fn refuse(&self, label: Label, reason: String) -> Error {
        // A size that no other member can have.
        let odd = Label { bytes: (1 << 48) - 1, ..label };
        if self.is_far() {
            return self.begin(odd).map_or_else(
                |error| error,
                |round| {
                    self.quit(&round);
                    self.broken.replace(Some(Error::Invalid(reason.clone())));
                    Error::Invalid(reason)
                },
            );
        }
        match self.enter(odd) {
            Ok(round) => {
                self.publish(&round);
                self.mismatch(&round, self.rank());
                self.broken.replace(Some(Error::Invalid(reason.clone())));
                Error::Invalid(reason)
            }
            Err(error) => error,
        }
    }
}
