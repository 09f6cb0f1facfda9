//! Locks between two ranks.

use super::{Effort, Round};
use crate::bench::plan::Kind;
use hikyaku::ffi::RawPort;
use hikyaku::{CountingBarrier, Job, Mutex, Result, Symmetric};
use std::sync::atomic::Ordering;

/// The lock and what it protects, both with rank 1.
pub struct Locks<'a> {
    job: &'a Job,
    effort: Effort,
    mutex: Mutex<'a>,
    counter: Symmetric<u64>,
    barrier: CountingBarrier<'a>,
    /// The words of a barrier without a library: a count, and on a line of its own what each rank waits for.
    bare: Symmetric<u64>,
}

/// The words of a line.
const LINE: usize = 8;

impl<'a> Locks<'a> {
    pub fn new(job: &'a Job, effort: Effort) -> Result<Locks<'a>> {
        let (mutex, counter, barrier) = (job.mutex(1)?, job.symmetric(1)?, job.counting_barrier(1)?);
        Ok(Locks { job, effort, mutex, counter, barrier, bare: job.symmetric(2 * LINE)? })
    }

    /// One repetition of everything.
    pub fn measure(&self, round: &mut Round<'_>) -> Result<()> {
        round.note(Kind::LimitAtomic, 8, self.atomic()?);
        round.note(Kind::Lock, 0, self.by_one(|| self.mutex.lock()?.unlock())?);
        round.note(Kind::TryLock, 0, self.by_one(|| self.mutex.try_lock()?.expect("it is free").unlock())?);
        round.note(Kind::LockHandOver, 0, self.in_turn(|| self.mutex.lock()?.unlock())?);
        round.note(Kind::LockedAdd, 8, self.locked_add()?);
        let plain = self.barriers(|| Ok(()))?;
        round.note(Kind::CountingBarrier, 0, plain);
        // Work that takes some barriers.
        let work = || {
            let begin = self.job.now();
            while (self.job.now() - begin).as_nanos() < 4 * plain as u128 {}
            Ok(())
        };
        let alone = self.both(work)?;
        round.note(Kind::LimitHalves, 0, (self.bare_barriers(work)? - alone).max(0.0));
        round.note(Kind::FuzzyBarrier, 0, (self.barriers(work)? - alone).max(0.0));
        Ok(())
    }

    /// Limit: an atomic addition to a word of the other rank, without a library, ns.
    fn atomic(&self) -> Result<f64> {
        let word = self.job.mapped_word(self.counter.at(1, 0))?;
        self.by_one(|| {
            std::hint::black_box(word.fetch_add(1, Ordering::SeqCst));
            Ok(())
        })
    }

    /// What rank 0 takes for one while rank 1 sleeps or waits, ns.
    fn by_one(&self, work: impl Fn() -> Result<()>) -> Result<f64> {
        let job = self.job;
        job.barrier()?;
        let begin = job.now();
        if job.rank() == 0 {
            (0..self.effort.operations).try_for_each(|_| work())?;
        }
        let time = job.now() - begin;
        job.barrier()?;
        Ok(time.as_nanos() as f64 / self.effort.operations as f64)
    }

    /// What one takes if both ranks want it all the time, so that each hands on to the other, ns.
    fn in_turn(&self, work: impl Fn() -> Result<()>) -> Result<f64> {
        let (job, turns) = (self.job, self.effort.round_trips);
        job.barrier()?;
        let begin = job.now();
        (0..turns).try_for_each(|_| work())?;
        job.barrier()?;
        Ok((job.now() - begin).as_nanos() as f64 / (2 * turns) as f64)
    }

    /// A barrier with something between its halves, ns.
    fn barriers(&self, work: impl Fn() -> Result<()>) -> Result<f64> {
        self.both(|| {
            self.barrier.post()?;
            work()?;
            self.barrier.wait()
        })
    }

    /// Limit: the same by bare words.
    fn bare_barriers(&self, work: impl Fn() -> Result<()>) -> Result<f64> {
        let (job, bare) = (self.job, &self.bare);
        let count = job.mapped_word(bare.at(1, 0))?;
        let releases = [job.mapped_word(bare.at(0, LINE))?, job.mapped_word(bare.at(1, LINE))?];
        let own = releases[job.rank()];
        self.both(|| {
            let number = own.load(Ordering::Relaxed) + 1;
            if count.fetch_add(1, Ordering::SeqCst) + 1 == 2 * number {
                releases.iter().for_each(|word| word.store(number, Ordering::Release));
            }
            work()?;
            while own.load(Ordering::Acquire) < number {
                std::hint::spin_loop();
            }
            Ok(())
        })
    }

    /// What both ranks do at the same time, ns each.
    fn both(&self, work: impl Fn() -> Result<()>) -> Result<f64> {
        let (job, turns) = (self.job, self.effort.round_trips);
        job.barrier()?;
        let begin = job.now();
        (0..turns).try_for_each(|_| work())?;
        let time = job.now() - begin;
        job.barrier()?;
        Ok(time.as_nanos() as f64 / turns as f64)
    }

    /// Both ranks add to a counter of rank 1 by a pull and a push under the lock, ns each.
    fn locked_add(&self) -> Result<f64> {
        let (job, counter) = (self.job, &self.counter);
        job.barrier()?;
        let before = job.pull_one(counter.at(1, 0))?;
        let time = self.in_turn(|| {
            let guard = self.mutex.lock()?;
            let value = job.pull_one(counter.at(1, 0))?;
            job.push(counter.at(1, 0), &[value + 1])?;
            guard.unlock()
        })?;
        let added = job.pull_one(counter.at(1, 0))? - before;
        assert_eq!(added, 2 * self.effort.round_trips, "two were inside at once");
        Ok(time)
    }
}
