//! Calls that do not fit together, and members that end: every wait of a group looks out for both.
//!
//! Whoever finds that another member asks for something else tells all members, so that nobody waits for a call that
//! will never be complete. A group in which a call failed is of no use any more: its members are out of step.

use super::group::NearGroup;
use crate::collective::label::{self, Label, same_number};
use crate::collective::round::Round;
use crate::collective::trouble::PATROL;
use crate::error::{Error, Result};
use crate::ni::Wait;
use crate::sync::bell::{ANY, EVERYBODY};
use crate::transport::shm::layout::State;
use std::sync::atomic::Ordering;

/// Looks of a wait that does nothing else: about a microsecond.
const SHORT_WAIT_TURNS: u32 = 24;
/// Turns of a wait before the first look at what the others ask for; each look doubles it.
const FIRST_LOOK_TURNS: u32 = 256;
/// An alarm holds so much of the number of the call it is about.
const ALARM_NUMBER_MASK: u64 = (1 << 31) - 1;

/// Whether an alarm about call `one` is about a later one than call `other`.
fn is_later(one: u64, other: u64) -> bool {
    other.wrapping_sub(one) & ALARM_NUMBER_MASK >= 1 << 30
}

impl NearGroup<'_, '_> {
    /// Waits within a call.
    #[inline(always)]
    pub(in crate::collective) fn wait<R>(self, round: Round, ready: impl FnMut() -> Option<R>) -> Result<R> {
        self.wait_for(ANY, round, ready)
    }

    /// Waits within a call for what a member does and then notifies this one of. Messages that come meanwhile leave it asleep.
    #[inline(always)]
    pub(in crate::collective) fn wait_for_notice<R>(self, round: Round, ready: impl FnMut() -> Option<R>) -> Result<R> {
        self.wait_for(EVERYBODY, round, ready)
    }

    #[inline(always)]
    fn wait_for<R>(self, watch: u64, round: Round, mut ready: impl FnMut() -> Option<R>) -> Result<R> {
        for _ in 0..self.short_wait_turns() {
            if let Some(result) = ready() {
                return Ok(result);
            }
            std::hint::spin_loop();
        }
        self.wait_longer(watch, &round, ready)
    }

    /// Looks before a wait does anything else: most waits are short where every member has a core; trouble, handlers and
    /// sleep can wait so long.
    #[inline(always)]
    pub(in crate::collective) fn short_wait_turns(self) -> u32 {
        if self.crowded { 1 } else { SHORT_WAIT_TURNS }
    }

    pub(in crate::collective) fn wait_longer<R>(
        self,
        watch: u64,
        round: &Round,
        mut ready: impl FnMut() -> Option<R>,
    ) -> Result<R> {
        let alarm = &self.part(self.rank()).alarm;
        let (mut departed, mut turns, mut late) = (0, 0u32, None);
        let _patrol = self.port.patrol();
        loop {
            let look = || {
                if let Some(result) = ready() {
                    return Some(Ok(result));
                }
                turns = turns.wrapping_add(1);
                let looks = turns >= FIRST_LOOK_TURNS && turns.is_power_of_two();
                let now = self.port.ni().departures();
                if now == departed && !looks && alarm.load(Ordering::Relaxed) == 0 {
                    return None;
                }
                departed = now;
                let trouble = self.check(round).err()?;
                // What was done before counts.
                Some(ready().ok_or(trouble))
            };
            // Which members' ends matter depends on how far they were, so the look above decides, not the loop.
            let wait = Wait::on_rank(self.port.ni().rank).patrol(PATROL).watch(watch).late(late);
            let wait = || self.port.wait_until(wait, look);
            match self.quit_on_panic(wait) {
                Ok(Ok(result)) => return Ok(result),
                Ok(Err(error)) => return Err(self.fail(error)),
                Err(Error::Timeout { .. }) => {
                    turns = FIRST_LOOK_TURNS - 1;
                    // Nobody is told before: most waits end without a look at all members.
                    late = self.late(round);
                }
                Err(error) => return Err(self.fail(error)),
            }
        }
    }

    /// A member that has not come to the call, if that can be seen.
    #[cold]
    fn late(self, round: &Round) -> Option<usize> {
        let has_come = |member: &usize| {
            let (head, _) = self.entry(*member, round).ask.look();
            same_number(head, round.head) || self.part(*member).finished.get() >= round.number
        };
        let late = (0..self.size()).find(|member| *member != self.rank() && !has_come(member));
        late.map(|member| self.members[member].rank)
    }

    /// Fails if the call can never be complete.
    #[cold]
    pub(in crate::collective) fn check(self, round: &Round) -> Result<()> {
        if self.broken.borrow().is_some() {
            return Err(self.why_broken());
        }
        let alarm = self.part(self.rank()).alarm.load(Ordering::Acquire);
        // Whoever is alarmed in a later call has done its part of this one.
        if alarm != 0 && !is_later(alarm >> 32, round.number) {
            return Err(self.alarmed(round, alarm));
        }
        let state = |member: usize| self.port.ni().state_of(self.members[member].rank);
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
    pub(in crate::collective) fn mismatch(self, round: &Round, member: usize) -> Error {
        self.tell_all_of(round, member);
        self.fail(self.disagreement(round, member))
    }

    /// Tells everybody that this call can never be complete because of a member.
    #[cold]
    fn tell_all_of(self, round: &Round, member: usize) {
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

    /// Not all members ask for the same: tells everybody, and names one that does not.
    #[cold]
    pub(in crate::collective) fn mismatch_of_someone(self, round: &Round) -> Error {
        let differs = |member: &usize| {
            let entry = self.entry(*member, round);
            entry.ask.look() != (round.head, round.argument)
        };
        self.mismatch(round, (0..self.size()).find(differs).unwrap_or(0))
    }

    /// Somebody has found two members that disagree: at least one of them asks for something else than this one.
    fn alarmed(self, round: &Round, alarm: u64) -> Error {
        let [first, second] = [alarm >> 16 & 0xFFFF, alarm & 0xFFFF].map(|member| member as usize % self.size());
        let about = self.earlier(round, alarm);
        let agrees = self.entry(first, &about).ask.look() == (about.head, about.argument);
        self.disagreement(&about, if agrees || first == self.rank() { second } else { first })
    }

    /// The call that an alarm is about, if it is an earlier one of which this member's entry still tells; else this one.
    fn earlier(self, round: &Round, alarm: u64) -> Round {
        let number = round.number.wrapping_sub(round.number.wrapping_sub(alarm >> 32) & ALARM_NUMBER_MASK);
        let about = self.round_of(number);
        let is_told = number != round.number && same_number(about.head, number << 32);
        if is_told { about } else { *round }
    }

    fn disagreement(self, round: &Round, member: usize) -> Error {
        let entry = self.entry(member, round);
        let theirs = entry.ask.look();
        label::mismatch(self.members[member].rank, (round.head, round.argument), theirs)
    }

    /// The others must not wait for this member, which cannot go on with the call it has entered last.
    #[cold]
    pub(in crate::collective) fn near_quit(self) {
        self.tell_all_of(&self.round_of(self.number.get()), self.rank());
    }

    /// Enters a call that no other member can have asked for, so that nobody waits for this one.
    #[cold]
    pub(in crate::collective) fn near_refuse(self, odd: Label) -> Result<()> {
        let round = self.enter(odd)?;
        self.publish(&round);
        self.mismatch(&round, self.rank());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::Config;
    use crate::job::choice::{Choices, Version};
    use crate::message::Mode;
    use std::time::{Duration, Instant};

    /// Not after a patrol, of which there are five a second.
    #[test]
    fn messages_of_a_tree_wake_its_members() {
        let config = Config { choices: Choices::all(Version::Tree), ..Config::default() };
        let begin = Instant::now();
        crate::local_with(4, config, |job| {
            let world = job.world()?;
            for number in 0..200u64 {
                let mut data = [if job.rank() == 0 { number } else { 0 }; 3];
                world.broadcast(&mut data, 0)?;
                assert_eq!(data, [number; 3]);
                // Everybody else waits.
                if number % 10 == 0 && job.rank() == 0 {
                    std::thread::sleep(Duration::from_millis(2));
                }
                world.allreduce(&mut [1u64], crate::collective::Sum)?;
            }
            job.barrier()
        })
        .unwrap()
        .into_iter()
        .for_each(Result::unwrap);
        assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
    }

    #[test]
    fn messages_leave_whoever_waits_for_a_barrier_asleep() {
        crate::local(2, |job| {
            let (world, messages) = (job.world()?, job.messages(1)?);
            messages.set_spare(1 << 20)?;
            messages.set_mode(Mode::Spool(Duration::ZERO));
            world.barrier()?;
            if job.rank() == 0 {
                let bell = &job.ni.near_block(1).unwrap().bell;
                while !bell.wakings().1 {
                    std::thread::yield_now();
                }
                let before = bell.wakings().0;
                (0..100u64).try_for_each(|number| messages.send(&[number], 1, 0))?;
                assert_eq!(bell.wakings().0, before);
            }
            world.barrier()?;
            if job.rank() == 1 {
                for number in 0..100 {
                    let mut got = [0u64];
                    messages.recv(&mut got, 0, 0)?;
                    assert_eq!(got, [number]);
                }
            }
            job.barrier()
        })
        .unwrap()
        .into_iter()
        .for_each(Result::unwrap);
    }
}
