//! The words of such a barrier, and what the program sees of it.

use crate::error::{Error, Result};
use crate::job::Job;
use crate::ni::arrival::{ARRIVALS, COUNT, RELEASES};
use crate::ni::{Awaited, By, Place, Symmetric, Until, Wait, refuse_in_handler};
use crate::planted::{Bug, planted};
use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often whoever waits looks at the manager's words, though nobody has told it anything.
const PATROL: Duration = Duration::from_millis(200);

/// A barrier without a lifetime, for interfaces to other languages; programs in Rust use [`CountingBarrier`].
#[derive(Debug)]
pub struct RawCountingBarrier {
    pub(super) words: Symmetric<u64>,
    manager: usize,
    /// How often this rank has arrived, and how often it has waited for the others.
    arrived: Cell<u64>,
    passed: Cell<u64>,
    /// Since when a rank is known to have left whose arrival may still be on its way.
    missed: Cell<Option<Instant>>,
}

impl RawCountingBarrier {
    /// A barrier that `manager` counts. All ranks call it together, with the same argument.
    pub fn new(job: &Job, manager: usize) -> Result<RawCountingBarrier> {
        job.agree_on_counter(manager)?;
        if job.ni.is_near(manager) {
            // Whoever counts the last arrival has everything at hand.
            job.ni.parties();
        }
        let words = job.symmetric_for_group(ARRIVALS + job.size())?;
        let (arrived, passed, missed) = (Cell::new(0), Cell::new(0), Cell::new(None));
        Ok(RawCountingBarrier { words, manager, arrived, passed, missed })
    }

    /// Frees its memory. All ranks call it together.
    pub fn free(self, job: &Job) -> Result<()> {
        if job.ni.spans_hosts() && !planted(Bug::ReleasesUnawaited) {
            self.await_releases(job)?;
        }
        job.free(self.words)
    }

    /// Waits until nobody writes to this rank's words any more: until it was told of every barrier that all have come to.
    fn await_releases(&self, job: &Job) -> Result<()> {
        // Afterwards no arrival is on its way, so the count is what it will be.
        job.begin_free(&self.words)?;
        let complete = job.read_silently(self.at(COUNT))? / job.size() as u64;
        let (releases, watch) = job.own_word(self.words.here(RELEASES))?;
        let met = || (releases.load(Ordering::Acquire) >= complete).then_some(());
        job.wait_until(Wait::on(By::Anyone).watch(watch).of(Awaited::Word(Until::AtLeast(complete))), met)
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
            job.initiator.settle_all(&|_| true)?;
        }
        job.initiator.check_peer(self.manager)?;
        let number = self.arrived.get() + 1;
        job.arrive(&self.words, self.manager, number)?;
        self.arrived.set(number);
        self.missed.set(None);
        Ok(())
    }

    /// Whether all have arrived that this rank waits for.
    pub fn is_complete(&self, job: &Job) -> Result<bool> {
        let number = self.awaited()?;
        job.ni.check_rank(job.rank())?;
        job.progress();
        let (releases, _) = job.own_word(self.words.here(RELEASES))?;
        let is_complete = releases.load(Ordering::Acquire) >= number;
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
        let (releases, watch) = job.own_word(self.words.here(RELEASES))?;
        if releases.load(Ordering::Acquire) >= number {
            self.passed.set(number);
            return Ok(());
        }
        let deadline = timeout.and_then(|timeout| job.ni.now().checked_add(timeout));
        let left = |deadline: Instant| deadline.saturating_duration_since(job.ni.now());
        let mut departures = 0;
        let _patrol = job.patrol();
        loop {
            let met =
                || (releases.load(Ordering::Acquire) >= number || departures != job.ni.departures()).then_some(());
            let patience = deadline.map_or(PATROL, |deadline| left(deadline).min(PATROL));
            let wait = Wait::on(By::Rank(self.manager)).patrol(patience).watch(watch);
            // Ranks of other hosts are counted when this one looks.
            let counts = self.manager == job.rank() && job.ni.spans_hosts();
            let wait = if counts { wait.always() } else { wait };
            match job.wait_until(wait.of(Awaited::Word(Until::AtLeast(number))), met) {
                Ok(()) | Err(Error::Timeout { .. }) => {}
                // What the manager did before its end counts.
                Err(_) if releases.load(Ordering::Acquire) >= number => {}
                Err(error) => return Err(error),
            }
            departures = job.ni.departures();
            if releases.load(Ordering::Acquire) >= number || self.look(job, number)? {
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
                let end = end.filter(|error| !self.may_follow(job, rank, error));
                end.map_or(Ok(()), |error| Err(job.ni.failing(error)))?;
                all = false;
            }
        }
        Ok(all)
    }

    /// Whether a rank that has left may have arrived before: its arrival was there when it left, but whoever receives it may be a
    /// little late. A packet of this rank would come after it; only who looks into the manager's memory itself can be early.
    fn may_follow(&self, job: &Job, rank: usize, end: &Error) -> bool {
        let (ni, now) = (&job.ni, job.ni.now());
        if !matches!(end, Error::PeerLeft { .. }) || ni.is_near(rank) || !ni.is_near(self.manager) {
            return false;
        }
        let since = self.missed.get().unwrap_or(now);
        self.missed.set(Some(since));
        now.saturating_duration_since(since) < PATROL
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
    pub(super) raw: RawCountingBarrier,
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
