//! What all ranks of a job do together: the barrier, and agreeing on a collective call.

use super::Job;
use crate::error::{Error, Result};
use crate::ni::message::refuse_in_handler;
use crate::ni::wait::{By, Progress};
use crate::sync::barrier::{await_last, partner};
use crate::sync::bell::ANY;
use std::sync::atomic::Ordering;

/// Which collective a rank is in, to be compared with the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Operation {
    Barrier = 0,
    Allocate = 1,
    Free = 2,
}

impl Operation {
    pub fn name(self) -> &'static str {
        match self {
            Operation::Barrier => "barrier",
            Operation::Allocate => "symmetric",
            Operation::Free => "free",
        }
    }
}

impl Job {
    /// Waits until every rank has called it. What any rank wrote before, all see after.
    pub fn barrier(&self) -> Result<()> {
        // Before anything is announced: a barrier refused half-way would put the ranks out of step.
        refuse_in_handler()?;
        self.complete()?;
        if self.ni.far.is_some() {
            return self.meet(Operation::Barrier, 0, Ok(()));
        }
        let number = self.barriers.get() + 1;
        self.ni.mine().life.arrivals.store(number, Ordering::Release);
        if self.counts { self.barrier_by_counter(number) } else { self.barrier_by_flags(number) }?;
        self.barriers.set(number);
        Ok(())
    }

    fn barrier_by_flags(&self, number: u64) -> Result<()> {
        let (rank, size) = (self.rank(), self.size());
        let flags = &self.ni.mine().flags;
        for step in 0.. {
            let Some(peer) = partner(rank, size, step) else { break };
            self.ni.memory.block(peer).flags.set(step, number);
            self.ni.notify(peer, ANY);
            let reached = || flags.reached(step, number).then_some(());
            if reached().is_none() {
                self.wait_until(By::Barrier(number), None, ANY, Progress::Seldom, reached)?;
            }
        }
        Ok(())
    }

    fn barrier_by_counter(&self, number: u64) -> Result<()> {
        let size = self.size();
        let counter = &self.ni.memory.header().counter;
        if counter.arrive(size, number) {
            for rank in (0..size).filter(|rank| *rank != self.rank()) {
                self.ni.notify(rank, ANY);
            }
            return Ok(());
        }
        if await_last(|| (number * size as u64).saturating_sub(counter.get())) {
            return Ok(());
        }
        let complete = || counter.complete(size, number).then_some(());
        self.wait_until(By::Barrier(number), None, ANY, Progress::Seldom, complete)
    }

    /// Enters a collective with an argument that must be the same everywhere, and with this rank's own success so
    /// far; succeeds everywhere or nowhere.
    pub(super) fn agree(&self, operation: Operation, argument: u64, own: Result<()>) -> Result<()> {
        if self.ni.far.is_some() {
            self.complete()?;
            return self.meet(operation, argument, own);
        }
        let count = self.collectives.get() + 1;
        self.collectives.set(count);
        let turn = (count % 2) as usize;
        let label = count << 8 | operation as u64;
        // The barrier orders these words. Two turns suffice: whoever comes to the same turn again has passed the barrier
        // of the one between, to which all come after they have read.
        let mine = &self.ni.mine().proposals[turn];
        mine.argument.store(argument, Ordering::Relaxed);
        mine.failure.store(own.is_err() as u64, Ordering::Relaxed);
        mine.operation.store(label, Ordering::Release);
        self.barrier()?;
        let mut failed = None;
        for rank in 0..self.size() {
            let theirs = &self.ni.memory.block(rank).proposals[turn];
            let their_label = theirs.operation.load(Ordering::Acquire);
            let their_argument = theirs.argument.load(Ordering::Relaxed);
            if their_label != label || their_argument != argument {
                return Err(Error::Mismatch {
                    operation: operation.name(),
                    rank,
                    mine: argument,
                    theirs: their_argument,
                });
            }
            if theirs.failure.load(Ordering::Relaxed) != 0 && failed.is_none() {
                failed = Some(rank);
            }
        }
        own?;
        match failed {
            Some(rank) => Err(Error::Refused { rank, reason: crate::error::Refusal::OutOfMemory }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Config;
    use crate::job::choice::{Choices, Version};

    #[test]
    fn the_barrier_is_the_one_that_was_chosen() {
        for (version, counts) in [(Version::Buffers, false), (Version::Direct, true)] {
            let config = Config { choices: Choices::all(version), ..Config::default() };
            let arrivals = crate::local_with(3, config, |job| {
                (0..5).try_for_each(|_| job.barrier()).unwrap();
                job.ni.memory.header().counter.get()
            });
            assert_eq!(arrivals.unwrap(), [if counts { 15 } else { 0 }; 3]);
        }
    }
}
