//! What all ranks of a job do together, where they are on several hosts: the butterfly barrier (A7), in which ranks
//! tell each other what they ask for.
//!
//! In step `k` a rank tells the rank `2^k` above it everything it has heard so far, and waits for the one below it. What
//! is told are bounds, so it does not matter how often something is heard. Two places in turn suffice: whoever tells
//! something in the call after the next has heard from everyone in the next, to which all come after they have read.

use super::Job;
use super::collective::{Operation, Patience};
use crate::error::{Error, Refusal, Result};
use crate::ni::{By, Target, Until, Wait};
use crate::planted::{Bug, planted};
use crate::sync::barrier::{STEP_COUNT, partner};
use bytemuck::Pod;
use std::sync::atomic::Ordering;

/// What a rank has heard of all that ask for the same.
#[derive(Clone, Copy)]
struct Heard {
    /// (argument, rank): the least and the greatest.
    least: (u64, u64),
    most: (u64, u64),
    /// A rank that asks for something else, plus 1.
    other: u64,
    /// A rank that cannot, plus 1.
    failed: u64,
}

/// In place of an operation.
const NOTHING: u64 = 0xff;

impl Job {
    /// Waits until all ranks have come to this call; succeeds everywhere or nowhere.
    pub(super) fn meet(&self, operation: Operation, argument: u64, own: Result<()>) -> Result<()> {
        self.meet_within(&Patience::ENDLESS, operation, argument, own)
    }

    /// Likewise, for as long as there is patience.
    pub(super) fn meet_within(
        &self,
        patience: &Patience,
        operation: Operation,
        argument: u64,
        own: Result<()>,
    ) -> Result<()> {
        // What was told before a panic stands: it cannot be told again as something else.
        self.check_uninterrupted()?;
        let (rank, size) = (self.rank(), self.size());
        let number = self.barriers.get() + 1;
        let turn = if planted(Bug::MeetingPlaceShared) { 0 } else { (number % 2) as usize };
        let head = number << 8 | operation as u64;
        let asks = (argument, rank as u64);
        let failed = if own.is_err() { rank as u64 + 1 } else { 0 };
        let mut heard = Heard { least: asks, most: asks, other: 0, failed };
        self.ni.mine().life.arrivals.store(number, Ordering::Release);
        let lost = |error| self.take_back(number, error);
        for step in 0.. {
            let Some(peer) = partner(rank, size, step) else { break };
            if planted(Bug::MeetingShort) && partner(rank, size, step + 1).is_none() {
                break;
            }
            let target = Target::hearing(peer, turn, step);
            let told = match operation {
                // Nothing to compare: the cheapest of all operations.
                Operation::Barrier if heard.other == 0 => self.initiator.word_quietly(target, head),
                // What nobody asks for: whoever hears it knows that not all ask for the same.
                Operation::Barrier => self.initiator.word_quietly(target, number << 8 | NOTHING),
                _ => self.initiator.push_then(target, &[], target.offset as usize, &heard.words(head)),
            };
            told.map_err(lost)?;
            let below = (rank + size - (1 << step)) % size;
            let words = &self.ni.mine().hearings[turn][step];
            let told = || {
                let told = words[0].load(Ordering::Acquire);
                (told >> 8 == number).then_some(told)
            };
            let wait = Wait::on(By::Barrier(number)).at_most(patience.left(self));
            let told = self.wait_until(wait, told).map_err(lost)?;
            if told != head {
                heard.other = heard.other.max(below as u64 + 1);
            } else if operation != Operation::Barrier && !planted(Bug::HearsayForgotten) {
                heard.add(std::array::from_fn(|index| words[index].load(Ordering::Relaxed)));
            }
        }
        self.barriers.set(number);
        self.judge(operation, argument, heard, own)
    }

    /// A rank that has lost another, which the others may reach, cannot tell all what it should: it has not come, so that they do
    /// not wait for its part when it has left. Other ends all see by themselves.
    fn take_back(&self, number: u64, error: Error) -> Error {
        if matches!(error, Error::Unreachable { .. }) && !planted(Bug::ArrivalKept) {
            self.ni.mine().life.arrivals.store(number - 1, Ordering::Release);
        }
        error
    }

    /// What each rank gives, in the order of ranks. In step `k` a rank passes what it has of `2^k` ranks on to the rank as
    /// far below it.
    pub(crate) fn share<T: Pod>(&self, mine: T) -> Result<Vec<T>> {
        let (rank, size) = (self.rank(), self.size());
        let (table, flags) = (self.symmetric_for_group::<T>(size)?, self.symmetric_for_group::<u64>(STEP_COUNT)?);
        let mut known = vec![mine; size];
        for step in 0.. {
            let distance = 1usize << step;
            if distance >= size {
                break;
            }
            let count = distance.min(size - distance);
            let (below, above) = ((rank + size - distance) % size, (rank + distance) % size);
            let place = table.start + distance * size_of::<T>();
            let flag = flags.start + step * 8;
            let target = Target::in_heap(below, place);
            self.initiator.push_then(target, bytemuck::cast_slice(&known[..count]), flag, &[1])?;
            self.wait_from(By::Rank(above), flags.here(step), Until::Equal(1))?;
            table.read(distance, &mut known[distance..distance + count]);
        }
        self.free(table)?;
        self.free(flags)?;
        known.rotate_right(rank);
        Ok(known)
    }

    fn judge(&self, operation: Operation, argument: u64, heard: Heard, own: Result<()>) -> Result<()> {
        let mismatch = |rank: u64, theirs, call| Err(operation.mismatch(rank as usize, argument, theirs, call));
        if heard.other != 0 {
            return mismatch(heard.other - 1, 0, "something else".into());
        }
        for (theirs, rank) in [heard.least, heard.most] {
            if theirs != argument {
                return mismatch(rank, theirs, operation.call(theirs));
            }
        }
        own?;
        match heard.failed {
            0 => Ok(()),
            rank => Err(Error::Refused { rank: rank as usize - 1, reason: Refusal::OutOfMemory }),
        }
    }
}

impl Heard {
    fn words(&self, head: u64) -> [u64; 7] {
        [head, self.least.0, self.least.1, self.most.0, self.most.1, self.other, self.failed]
    }

    fn add(&mut self, [_, least, least_rank, most, most_rank, other, failed, _]: [u64; 8]) {
        self.least = self.least.min((least, least_rank));
        self.most = self.most.max((most, most_rank));
        self.other = self.other.max(other);
        self.failed = self.failed.max(failed);
    }
}

#[cfg(test)]
mod tests {
    use crate::sim::{Faults, Machine, Sim};

    /// More than a packet holds, to every distance.
    #[test]
    fn what_is_shared_may_be_long() {
        let mine = |rank: usize| -> [u64; 1024] { std::array::from_fn(|at| (rank << 32 | at) as u64) };
        let run = Sim::new(Machine::plain(), 13, 1).faults(Faults::of_wire(0.1)).run(|job| {
            let all = job.share(mine(job.rank())).unwrap();
            assert!(all.iter().enumerate().all(|(rank, got)| *got == mine(rank)));
            job.barrier().unwrap();
        });
        run.unwrap();
    }
}
