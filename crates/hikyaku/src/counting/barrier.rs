//! The words of such a barrier, and what the program sees of it.

use crate::error::{Error, Result};
use crate::job::Job;
use crate::memory::atomic::Atomic;
use crate::ni::{Awaited, By, Place, Symmetric, Until, Wait, refuse_in_handler};
use crate::planted::{Bug, planted};
use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often whoever waits looks at the manager's words, though nobody has told it anything.
const PATROL: Duration = Duration::from_millis(200);

/// Words at the manager: how many arrivals there were, of all ranks and barriers.
const COUNT: usize = 0;
/// At each rank: the last barrier that all have come to.
const COMPLETE: usize = 1;
/// At the manager, from here on: how often each rank has arrived.
const ARRIVALS: usize = 2;

/// A barrier without a lifetime, for interfaces to other languages; programs in Rust use [`CountingBarrier`].
#[derive(Debug)]
pub struct RawCountingBarrier {
    words: Symmetric<u64>,
    manager: usize,
    /// How often this rank has arrived, and how often it has waited for the others.
    arrived: Cell<u64>,
    passed: Cell<u64>,
}

impl RawCountingBarrier {
    /// A barrier that `manager` counts. All ranks call it together, with the same argument.
    pub fn new(job: &Job, manager: usize) -> Result<RawCountingBarrier> {
        job.agree_on_counter(manager)?;
        let words = job.symmetric_for_group(ARRIVALS + job.size())?;
        Ok(RawCountingBarrier { words, manager, arrived: Cell::new(0), passed: Cell::new(0) })
    }

    /// Frees its memory. All ranks call it together.
    pub fn free(self, job: &Job) -> Result<()> {
        job.free(self.words)
    }

    fn at(&self, word: usize) -> Place<'_, u64> {
        self.words.at(self.manager, word)
    }

    /// This rank arrives, after everything that it has pushed.
    pub fn post(&self, job: &Job) -> Result<()> {
        refuse_in_handler()?;
        job.ni.check_rank(job.rank())?;
        job.initiator.tick();
        if self.arrived.get() != self.passed.get() {
            return Err(Error::Invalid(
                "this rank has arrived at the barrier already: wait for the others first".into(),
            ));
        }
        if job.initiator.has_routed() {
            job.initiator.settle_all()?;
        }
        job.initiator.check_peer(self.manager)?;
        let number = self.arrived.get() + 1;
        // Before it is counted: whoever leaves afterwards has arrived, as anybody can see.
        job.write_silently(self.at(ARRIVALS + job.rank()), number)?;
        let before = job.change_silently(self.at(COUNT), Atomic::Add(1))?;
        self.arrived.set(number);
        if before + 1 == number * job.size() as u64 - u64::from(planted(Bug::ArrivalsMiscounted)) {
            for rank in 0..job.size() {
                // Whoever does not get it finds the count.
                let _ = job.hint(self.words.at(rank, COMPLETE), number);
            }
        }
        Ok(())
    }

    /// Whether all have arrived that this rank waits for.
    pub fn is_complete(&self, job: &Job) -> Result<bool> {
        let number = self.awaited()?;
        job.ni.check_rank(job.rank())?;
        job.progress();
        let (complete, _) = job.own_word(self.words.here(COMPLETE))?;
        let is_complete = complete.load(Ordering::Acquire) >= number;
        if is_complete {
            self.passed.set(number);
        } else if job.ni.departures() != 0 && refuse_in_handler().is_ok() {
            return self.look(job, number);
        }
        Ok(is_complete)
    }

    /// Waits until all ranks have arrived as often as this one. Fails with [`Error::Timeout`] after `timeout`.
    pub fn wait(&self, job: &Job, timeout: Option<Duration>) -> Result<()> {
        refuse_in_handler()?;
        let number = self.awaited()?;
        let (complete, watch) = job.own_word(self.words.here(COMPLETE))?;
        let deadline = timeout.and_then(|timeout| job.ni.now().checked_add(timeout));
        let left = |deadline: Instant| deadline.saturating_duration_since(job.ni.now());
        let mut departures = 0;
        let _patrol = job.patrol();
        loop {
            let met =
                || (complete.load(Ordering::Acquire) >= number || departures != job.ni.departures()).then_some(());
            let patience = deadline.map_or(PATROL, |deadline| left(deadline).min(PATROL));
            let wait = Wait::on(By::Rank(self.manager)).patrol(patience).watch(watch);
            match job.wait_until(wait.of(Awaited::Word(Until::AtLeast(number))), met) {
                Ok(()) | Err(Error::Timeout { .. }) => {}
                // What the manager did before its end counts.
                Err(_) if complete.load(Ordering::Acquire) >= number => {}
                Err(error) => return Err(error),
            }
            departures = job.ni.departures();
            if complete.load(Ordering::Acquire) >= number || self.look(job, number)? {
                self.passed.set(number);
                return Ok(());
            }
            if deadline.is_some_and(|deadline| left(deadline).is_zero()) {
                return Err(Error::Timeout { after: timeout.unwrap_or_default() });
            }
        }
    }

    /// Which barrier this rank has come to.
    fn awaited(&self) -> Result<u64> {
        match self.arrived.get() > self.passed.get() {
            true => Ok(self.arrived.get()),
            false => Err(Error::Invalid("this rank has not arrived at the barrier: post it first".into())),
        }
    }

    /// Whether all have arrived, as the manager's words say. Fails if a rank has ended that has not.
    fn look(&self, job: &Job, number: u64) -> Result<bool> {
        if job.read_silently(self.at(COUNT))? >= number * job.size() as u64 {
            return Ok(true);
        }
        if job.ni.departures() == 0 {
            return Ok(false);
        }
        // One that has died may have said that it is there, and was not counted any more.
        let mut all = true;
        for rank in 0..job.size() {
            // First: what a rank did before its end counts.
            let end = job.ni.end_of(rank);
            if job.read_silently(self.at(ARRIVALS + rank))? < number {
                end.map_or(Ok(()), |error| Err(job.ni.failing(error)))?;
                all = false;
            }
        }
        Ok(all)
    }
}

/// A barrier of all ranks that one of them counts, and that has two halves: [`CountingBarrier::post`] says that this rank has arrived, and
/// [`CountingBarrier::wait`] waits until all have. What a rank does between the two overlaps with the barrier, so who is late holds up
/// nobody who still has something to do. Others call it a fuzzy or a split-phase barrier.
///
/// ```
/// hikyaku::local(4, |job| {
///     let table = job.symmetric::<u64>(job.size())?;
///     let barrier = job.counting_barrier(0)?;
///     for round in 1..=10 {
///         for rank in 0..job.size() {
///             job.push(table.at(rank, job.rank()), &[round])?;
///         }
///         barrier.post()?;
///         // What needs nothing of the others is done here.
///         barrier.wait()?;
///         assert!(table.to_vec().iter().all(|value| *value >= round)); // all have pushed
///     }
///     barrier.free()
/// })
/// .unwrap();
/// ```
#[derive(Debug)]
pub struct CountingBarrier<'j> {
    job: &'j Job,
    raw: RawCountingBarrier,
}

impl Job {
    /// Makes a barrier that `manager` counts, in two halves. All ranks call it together, with the same argument. The manager's program
    /// does nothing for it.
    #[track_caller]
    pub fn counting_barrier(&self, manager: usize) -> Result<CountingBarrier<'_>> {
        self.enter(&"counting_barrier");
        Ok(CountingBarrier { job: self, raw: RawCountingBarrier::new(self, manager)? })
    }
}

impl CountingBarrier<'_> {
    /// This rank has arrived: what it has pushed so far, others see after the barrier. Fails if it has arrived already and not waited yet.
    pub fn post(&self) -> Result<()> {
        self.raw.post(self.job)
    }

    /// Waits until all ranks have arrived. Fails if this one has not, and if a rank has ended before it has.
    #[track_caller]
    pub fn wait(&self) -> Result<()> {
        self.job.enter(&"wait");
        self.raw.wait(self.job, None)
    }

    /// [`CountingBarrier::wait`] for at most `timeout`; fails with [`Error::Timeout`] then, and can be called again.
    #[track_caller]
    pub fn wait_for(&self, timeout: Duration) -> Result<()> {
        self.job.enter(&"wait_for");
        self.raw.wait(self.job, Some(timeout))
    }

    /// Whether all have arrived; then this rank need not wait any more.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let barrier = job.counting_barrier(1)?;
    /// barrier.post()?;
    /// while !barrier.is_complete()? {
    ///     // compute something here
    /// }
    /// barrier.free()?;
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn is_complete(&self) -> Result<bool> {
        self.raw.is_complete(self.job)
    }

    /// Frees its memory. All ranks call it together.
    #[track_caller]
    pub fn free(self) -> Result<()> {
        self.job.enter(&"free");
        self.raw.free(self.job)
    }
}
