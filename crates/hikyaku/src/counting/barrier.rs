//! The words of such a barrier, and what the program sees of it.

use crate::error::{Error, Result};
use crate::job::Job;
use crate::ni::arrival::{ARRIVALS, COUNT, RELEASES, members_at, words_of};
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
    /// Those who take part.
    members: Box<[usize]>,
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
        let words = job.symmetric_for_group(words_of(job.size()))?;
        Ok(RawCountingBarrier::over(words, manager, (0..job.size()).collect()))
    }

    fn over(words: Symmetric<u64>, manager: usize, members: Box<[usize]>) -> RawCountingBarrier {
        let (arrived, passed, missed) = (Cell::new(0), Cell::new(0), Cell::new(None));
        RawCountingBarrier { words, manager, members, arrived, passed, missed }
    }

    /// A barrier of some ranks, of which the manager is one, as this rank is. All ranks of the job call it together: those with the same
    /// ranks have a barrier together.
    pub fn of_some(job: &Job, ranks: &[usize], manager: usize) -> Result<RawCountingBarrier> {
        job.agree_on_teams(check_team(job, ranks, manager))?;
        if job.ni.is_near(manager) {
            job.ni.parties();
        }
        let size = job.size();
        let words = job.symmetric_for_group(words_of(size))?;
        let barrier = RawCountingBarrier::over(words, manager, ranks.into());
        let mut team = vec![0; 1 + size.div_ceil(64)];
        team[0] = ranks.len() as u64;
        ranks.iter().for_each(|rank| team[1 + rank / 64] |= 1 << (rank % 64));
        if job.rank() == manager {
            barrier.words.write(members_at(size), &team);
        }
        job.barrier()?;
        let mut managers = vec![0; team.len()];
        let pulled = job.pull(barrier.at(members_at(size)), &mut managers);
        let is_same = pulled.and_then(|()| match managers == team {
            true => Ok(()),
            false => Err(Error::Invalid(format!("rank {manager} counts a barrier of other ranks than {ranks:?}"))),
        });
        job.agree_on_teams(is_same)?;
        Ok(barrier)
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
        let complete = job.read_silently(self.at(COUNT))? / self.members.len() as u64;
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
        if job.read_silently(self.at(COUNT))? >= number * self.members.len() as u64 {
            return Ok(true);
        }
        if job.ni.departures() == 0 {
            return Ok(false);
        }
        // One that has died may have said that it is there, and was not counted any more.
        let mut all = true;
        for rank in self.members.iter().copied() {
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

/// Whether these can be the ranks of a barrier of this one.
fn check_team(job: &Job, ranks: &[usize], manager: usize) -> Result<()> {
    ranks.iter().try_for_each(|rank| job.ni.check_rank(*rank))?;
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|two| two[0] == two[1]) {
        return Err(Error::Invalid(format!("rank {} is named twice", twice[0])));
    }
    match [job.rank(), manager].iter().find(|rank| !ranks.contains(rank)) {
        Some(rank) => Err(Error::Invalid(format!("rank {rank} is none of those that the barrier is of"))),
        None => Ok(()),
    }
}

/// A barrier of all ranks, or of some, that one of them counts, and that has two halves: [`CountingBarrier::post`] says that this rank
/// has arrived, and [`CountingBarrier::wait`] waits until all have. What a rank does between the two overlaps with the barrier, so who is late holds up
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

    /// Makes barriers of some ranks each, of which `manager`, one of them, counts. All ranks of the job call it together, each with the
    /// ranks of its own barrier; a rank that needs none names itself alone. Those of a group are the
    /// [`world_rank`](crate::Group::world_rank)s of its members.
    ///
    /// ```
    /// hikyaku::local(5, |job| {
    ///     // Odd and even ranks, counted by the first of each.
    ///     let first = job.rank() % 2;
    ///     let mine: Vec<usize> = (first..5).step_by(2).collect();
    ///     let barrier = job.counting_barrier_of(&mine, first)?;
    ///     for _ in 0..=first {
    ///         barrier.post()?;
    ///         barrier.wait()?; // the others are not waited for
    ///     }
    ///     barrier.free()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// On all ranks, if a rank names another twice, not itself or not the manager, or if those of a manager do not name the same ranks.
    #[track_caller]
    pub fn counting_barrier_of(&self, ranks: &[usize], manager: usize) -> Result<CountingBarrier<'_>> {
        self.enter(&"counting_barrier_of");
        Ok(CountingBarrier { job: self, raw: RawCountingBarrier::of_some(self, ranks, manager)? })
    }
}

impl CountingBarrier<'_> {
    /// This rank has arrived: what it has pushed so far, others see after the barrier. Fails if it has arrived already and not waited yet.
    pub fn post(&self) -> Result<()> {
        self.raw.post(self.job)
    }

    /// Waits until all its ranks have arrived. Fails if this one has not, and if one has ended before it has.
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

    /// Frees its memory. All ranks of the job call it together.
    #[track_caller]
    pub fn free(self) -> Result<()> {
        self.job.enter(&"free");
        self.raw.free(self.job)
    }
}
