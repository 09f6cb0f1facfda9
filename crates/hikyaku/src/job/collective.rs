//! What all ranks of a job do together: the barrier, and agreeing on a collective call.

use super::Job;
use crate::error::{Error, Result};
use crate::ni::{By, Wait, refuse_in_handler};
use crate::sync::barrier::{await_last, partner};
use crate::sync::bell::ANY;
use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Which collective a rank is in, to be compared with the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Operation {
    Barrier = 0,
    Allocate = 1,
    Free = 2,
    /// Allocations of the library. Who wants one of these, and who wants memory for itself, must not get the same: what the
    /// library reads there, only the library writes.
    Messages = 3,
    Group = 4,
    Channel = 5,
    Endpoint = 6,
    Mutex = 7,
    Matching = 8,
    Counter = 9,
    Region = 10,
    RegionMemory = 11,
    Queue = 12,
    QueueMemory = 13,
    Exchange = 14,
    Packets = 15,
}

/// In place of bytes, of a rank that has no port left for an endpoint.
pub(super) const NO_PORT: u64 = u64::MAX - 1;

/// More than any job has ranks: who owns a queue, and how long its items are, is agreed on as one number.
const QUEUE_OWNERS: u64 = 1 << 24;

impl Operation {
    pub fn name(self) -> &'static str {
        match self {
            Operation::Barrier => "barrier",
            Operation::Allocate => "symmetric",
            Operation::Free => "free",
            Operation::Messages => "messages",
            Operation::Group => "group",
            Operation::Channel => "channel",
            Operation::Endpoint => "endpoints",
            Operation::Mutex => "mutex",
            Operation::Matching => "matching",
            Operation::Counter => "counting_barrier",
            Operation::Region | Operation::RegionMemory => "region",
            Operation::Queue | Operation::QueueMemory => "queue",
            Operation::Exchange => "exchange",
            Operation::Packets => "packets",
        }
    }

    /// The one behind a number that came from a peer.
    fn from_u8(code: u8) -> Option<Operation> {
        use Operation::*;
        let first = [Barrier, Allocate, Free, Messages, Group, Channel, Endpoint, Mutex, Matching, Counter, Region];
        let later = [RegionMemory, Queue, QueueMemory, Exchange, Packets];
        first.into_iter().chain(later).find(|it| *it as u8 == code)
    }

    /// The call of a rank with this argument.
    pub fn call(self, argument: u64) -> String {
        match self {
            Operation::Barrier => "barrier".into(),
            Operation::Free => format!("free of the area at {argument}"),
            Operation::Endpoint if argument == NO_PORT => {
                "endpoints without a port left for them (HIKYAKU_PORTS)".into()
            }
            Operation::Mutex => format!("mutex(manager {argument})"),
            Operation::Counter if argument == u64::MAX => "counting_barrier_of(some ranks)".into(),
            Operation::Counter => format!("counting_barrier(manager {argument})"),
            Operation::Region => format!("region(home {argument})"),
            Operation::RegionMemory if argument != u64::MAX => {
                format!("region of {argument} bytes, with its directory")
            }
            Operation::Queue => {
                let (owner, item) = (argument % QUEUE_OWNERS, argument / QUEUE_OWNERS);
                format!("queue(owner {owner}, items of {item} bytes)")
            }
            Operation::QueueMemory if argument != u64::MAX => format!("queue of {argument} bytes in all"),
            Operation::Matching | Operation::Packets if argument == NO_PORT => {
                format!("{} without a port left for it (HIKYAKU_PORTS)", self.name())
            }
            Operation::Matching | Operation::Packets if argument != u64::MAX => {
                format!("{} (number {argument} of this rank)", self.name())
            }
            _ if argument == u64::MAX => format!("{} of an impossible size", self.name()),
            _ => format!("{}({argument} bytes)", self.name()),
        }
    }

    /// What this rank asks for is not what that rank does.
    pub fn mismatch(self, rank: usize, mine: u64, theirs: u64, their_call: String) -> Error {
        Error::Mismatch { operation: self.name(), rank, mine, theirs, my_call: self.call(mine), their_call }
    }
}

/// Until when a call of all ranks waits.
pub(super) struct Patience {
    /// Of the job's own clock; `None`: for ever.
    deadline: Option<Instant>,
}

impl Patience {
    /// Without end.
    pub const ENDLESS: Patience = Patience { deadline: None };

    fn new(job: &Job, timeout: Option<Duration>) -> Patience {
        // A deadline beyond all time is none.
        Patience { deadline: timeout.and_then(|timeout| job.ni.now().checked_add(timeout)) }
    }

    /// How long it may still wait.
    pub fn left(&self, job: &Job) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(job.ni.now()))
    }
}

impl Job {
    /// Waits until every rank has called it. What any rank wrote before, all see after; and the messages that any rank has sent to
    /// handlers before ([`crate::Port::send`]) were handled. While a rank waits here, its handlers run.
    ///
    /// If a handler panics in it, the call ends, but this rank counts as having arrived. If the program survives, its next call continues
    /// the same barrier.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let table = job.symmetric::<u32>(1)?;
    /// table.set(0, 7);
    /// job.barrier()?; // every rank has set its element
    /// assert_eq!(job.pull_one(table.at(1 - job.rank(), 0))?, 7);
    /// job.barrier()?; // every rank has read
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[track_caller]
    pub fn barrier(&self) -> Result<()> {
        self.enter(&"barrier");
        self.barrier_within(None)
    }

    /// [`Job::barrier`] that waits for at most `timeout`, and then fails with [`Error::Timeout`].
    ///
    /// This rank has come then, and is counted: the others may pass. Its next `barrier` or `barrier_for` goes on with the same barrier, as
    /// does every other call that all ranks make together, before it begins; so ranks stay in step, however often the time passes.
    ///
    /// ```
    /// use hikyaku::Error;
    /// use std::time::Duration;
    ///
    /// hikyaku::local(2, |job| {
    ///     if job.rank() == 0 {
    ///         while let Err(late) = job.barrier_for(Duration::from_millis(1)) {
    ///             assert!(matches!(late, Error::Timeout { .. }));
    ///             // Do something else meanwhile.
    ///         }
    ///         Ok(())
    ///     } else {
    ///         std::thread::sleep(Duration::from_millis(5));
    ///         job.barrier()
    ///     }
    /// })
    /// .unwrap();
    /// ```
    #[track_caller]
    pub fn barrier_for(&self, timeout: Duration) -> Result<()> {
        self.enter(&"barrier_for");
        self.barrier_within(Some(timeout))
    }

    fn barrier_within(&self, timeout: Option<Duration>) -> Result<()> {
        // Before anything is announced: a barrier refused half-way would put the ranks out of step.
        refuse_in_handler()?;
        self.initiator.complete()?;
        let patience = Patience::new(self, timeout);
        if self.ni.spans_hosts() {
            return self.meet_within(&patience, Operation::Barrier, 0, Ok(()));
        }
        let number = self.barriers.get() + 1;
        self.ni.mine().life.arrivals.store(number, Ordering::Release);
        match self.counts {
            true => self.barrier_by_counter(number, &patience),
            false => self.barrier_by_flags(number, &patience),
        }?;
        self.barriers.set(number);
        Ok(())
    }

    fn barrier_by_flags(&self, number: u64, patience: &Patience) -> Result<()> {
        let (rank, size) = (self.rank(), self.size());
        let flags = &self.ni.mine().flags;
        for step in 0.. {
            let Some(peer) = partner(rank, size, step) else { break };
            let block = self.ni.near_block(peer).expect("all ranks are near");
            block.flags.set(step, number);
            block.bell.ring(self.ni.fences, ANY);
            let reached = || flags.reached(step, number).then_some(());
            if reached().is_none() {
                self.wait_until(Wait::on(By::Barrier(number)).at_most(patience.left(self)), reached)?;
            }
        }
        Ok(())
    }

    fn barrier_by_counter(&self, number: u64, patience: &Patience) -> Result<()> {
        let size = self.size();
        let counter = &self.ni.memory.header().counter;
        // Once, however often the call is made again after a panic or an error.
        if self.counted.replace(number) != number && counter.arrive(size, number) {
            for rank in (0..size).filter(|rank| *rank != self.rank()) {
                self.ni.notify(rank, ANY);
            }
            return Ok(());
        }
        if await_last(|| (number * size as u64).saturating_sub(counter.get())) {
            return Ok(());
        }
        let complete = || counter.complete(size, number).then_some(());
        self.wait_until(Wait::on(By::Barrier(number)).at_most(patience.left(self)), complete)
    }

    /// Enters a collective with an argument that must be the same everywhere, and with this rank's own success so
    /// far; succeeds everywhere or nowhere.
    pub(super) fn agree(&self, operation: Operation, argument: u64, own: Result<()>) -> Result<()> {
        self.check_uninterrupted()?;
        if self.is_in_barrier() {
            // One that a panic has ended: the others count this rank as having come to it.
            self.barrier()?;
        }
        let interrupts = Interrupts(&self.interrupted);
        let agreed = self.agree_uninterrupted(operation, argument, own);
        std::mem::forget(interrupts);
        agreed
    }

    /// All ranks make a lock, with the same manager.
    pub(crate) fn agree_on_manager(&self, manager: usize) -> Result<()> {
        refuse_in_handler()?;
        self.ni.check_rank(self.ni.rank)?;
        self.agree(Operation::Mutex, manager as u64, self.ni.check_rank(manager))
    }

    /// All ranks make a barrier that one counts, with the same manager.
    pub(crate) fn agree_on_counter(&self, manager: usize) -> Result<()> {
        refuse_in_handler()?;
        self.ni.check_rank(self.ni.rank)?;
        self.agree(Operation::Counter, manager as u64, self.ni.check_rank(manager))
    }

    /// All ranks make barriers of some of them each. `own` is what is wrong with this rank's.
    pub(crate) fn agree_on_teams(&self, own: Result<()>) -> Result<()> {
        refuse_in_handler()?;
        self.ni.check_rank(self.ni.rank)?;
        self.agree(Operation::Counter, u64::MAX, own).map_err(|error| match error {
            Error::Refused { rank, .. } => Error::Invalid(format!("rank {rank} has named other ranks for its barrier")),
            other => other,
        })
    }

    /// All ranks make a region, with the same home.
    pub(crate) fn agree_on_home(&self, home: usize) -> Result<()> {
        refuse_in_handler()?;
        self.ni.check_rank(self.ni.rank)?;
        self.agree(Operation::Region, home as u64, self.ni.check_rank(home))
    }

    /// All ranks make a queue, with the same owner, of items of the same length.
    pub(crate) fn agree_on_queue(&self, owner: usize, item: usize) -> Result<()> {
        refuse_in_handler()?;
        self.ni.check_rank(self.ni.rank)?;
        let argument = (item as u64).saturating_mul(QUEUE_OWNERS).saturating_add(owner as u64 % QUEUE_OWNERS);
        self.agree(Operation::Queue, argument, self.ni.check_rank(owner))
    }

    /// All ranks prepare message exchange, with buffers for so many messages of so many bytes together.
    pub(crate) fn agree_on_buffers(&self, messages: usize, bytes: usize) -> Result<()> {
        refuse_in_handler()?;
        self.ni.check_rank(self.ni.rank)?;
        let argument = (messages as u64).rotate_left(40) ^ bytes as u64;
        self.agree(Operation::Exchange, argument, Ok(()))
    }

    /// All ranks prepare matched messages, under the same number; `None` if this rank has failed to.
    pub(crate) fn agree_on_matching(&self, number: Option<u16>) -> Result<()> {
        self.agree_on_handler(Operation::Matching, number)
    }

    /// The same for messages in packets.
    pub(crate) fn agree_on_packets(&self, number: Option<u16>) -> Result<()> {
        self.agree_on_handler(Operation::Packets, number)
    }

    /// This rank wants messages in packets to have buffers that cannot be: then nobody gets them.
    pub(crate) fn disagree_on_packets(&self, wrong: Error) -> Error {
        match self.agree(Operation::Packets, u64::MAX, Err(wrong.clone())) {
            Err(error) if error.is_peer_fault() => error,
            _ => wrong,
        }
    }

    fn agree_on_handler(&self, operation: Operation, number: Option<u16>) -> Result<()> {
        refuse_in_handler()?;
        self.ni.check_rank(self.ni.rank)?;
        let own = number.map(drop).ok_or(Error::NoPort { max: self.ni.memory.layout.ports });
        self.agree(operation, number.map_or(NO_PORT, u64::from), own)
    }

    /// Whether this rank has come to a barrier of which it does not know whether all others have.
    pub(super) fn is_in_barrier(&self) -> bool {
        self.ni.mine().life.arrivals.load(Ordering::Relaxed) > self.barriers.get()
    }

    /// Fails after a panic in the middle of an agreement: what the others have agreed on meanwhile is not known here, so this
    /// rank's memory may not look like theirs.
    pub(super) fn check_uninterrupted(&self) -> Result<()> {
        match self.interrupted.get() {
            true => Err(Error::Invalid("a panic has ended a call that all ranks of the job make together".into())),
            false => Ok(()),
        }
    }

    fn agree_uninterrupted(&self, operation: Operation, argument: u64, own: Result<()>) -> Result<()> {
        if self.ni.spans_hosts() {
            self.initiator.complete()?;
            return self.meet(operation, argument, own);
        }
        // The number of the barrier below: what was proposed for another is never taken for this.
        let number = self.barriers.get() + 1;
        let turn = (number % 2) as usize;
        let label = number << 8 | operation as u64;
        // The barrier orders these words. Two turns suffice: whoever comes to the same turn again has passed the barrier
        // between, to which all come after they have read.
        let mine = &self.ni.mine().proposals[turn];
        mine.argument.store(argument, Ordering::Relaxed);
        mine.failure.store(own.is_err() as u64, Ordering::Relaxed);
        mine.operation.store(label, Ordering::Release);
        self.barrier()?;
        let mut failed = None;
        for rank in 0..self.size() {
            let theirs = &self.ni.memory.block(self.ni.local_of(rank)).proposals[turn];
            let their_label = theirs.operation.load(Ordering::Acquire);
            let their_argument = theirs.argument.load(Ordering::Relaxed);
            if their_label != label || their_argument != argument {
                // Who proposes nothing for this number passes a barrier.
                let other = Operation::from_u8(their_label as u8).filter(|_| their_label >> 8 == number);
                let their_call = other.unwrap_or(Operation::Barrier).call(their_argument);
                return Err(operation.mismatch(rank, argument, their_argument, their_call));
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

/// Notes, when dropped by a panic, that it went through an agreement.
struct Interrupts<'j>(&'j Cell<bool>);

impl Drop for Interrupts<'_> {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

#[cfg(test)]
mod tests {
    use crate::Config;
    use crate::job::choice::{Choices, Version};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU64, Ordering};

    /// By each of the two: a handler panics in the barrier, and the program calls it again.
    #[test]
    fn a_barrier_that_a_panic_has_ended_counts_once() {
        for version in [Version::Buffers, Version::Direct] {
            let config = Config { choices: Choices::all(version), ..Config::default() };
            let come = AtomicU64::new(0);
            crate::local_with(2, config, |job| {
                let word = job.symmetric::<u64>(1)?;
                if job.rank() == 0 {
                    let mut last = 0;
                    job.register_handler(1, move |_, message| {
                        if std::mem::replace(&mut last, message.address) != message.address {
                            panic!("on purpose");
                        }
                    })?;
                }
                job.barrier()?;
                if job.rank() == 0 {
                    for turn in 1..10 {
                        job.word(word.at(1, 0), turn)?;
                        assert!(catch_unwind(AssertUnwindSafe(|| job.barrier())).is_err());
                    }
                    job.barrier()?;
                    assert_eq!(come.load(Ordering::SeqCst), 1, "{version:?} passed alone");
                } else {
                    for turn in 1..10 {
                        job.wait(word.here(0), crate::Until::Equal(turn))?;
                        job.send(0, 1, turn, [0; 6], &[])?;
                    }
                    // Whoever is counted twice has time to pass.
                    std::thread::sleep(std::time::Duration::from_millis(5));
                    come.store(1, Ordering::SeqCst);
                    job.barrier()?;
                }
                // Both have passed as many.
                job.barrier()?;
                job.free(word)
            })
            .unwrap()
            .into_iter()
            .for_each(|ended| ended.unwrap());
        }
    }

    /// The end of a rank that never came is told each time, and nobody passes by having come twice.
    #[test]
    fn a_barrier_that_failed_counts_once() {
        let config = Config { choices: Choices::all(Version::Direct), ..Config::default() };
        crate::local_with(3, config, |job| {
            for _ in 0..5 {
                if job.rank() < 2 {
                    assert!(job.barrier().is_err());
                }
            }
        })
        .unwrap();
    }

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
