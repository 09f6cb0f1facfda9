//! One rank's part in a region.

use super::words::{DIRECTORY, STANDING, Stage, Standing, VERSION, update_of, words_of};
use crate::error::{Error, Result};
use crate::job::Job;
use crate::memory::atomic::Atomic;
use crate::ni::{Hold, Place, Recipients, Symmetric, refuse_in_handler};
use crate::planted::{Bug, planted};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A region without a lifetime or a type, for interfaces to other languages; programs in Rust use [`crate::Region`]. All lengths are in
/// bytes.
#[derive(Debug)]
pub struct RawRegion {
    /// The words, and behind them the copy.
    memory: Symmetric<u8>,
    pub(super) words: Symmetric<u64>,
    pub(super) copies: Symmetric<u8>,
    pub(super) home: usize,
    pub(super) size: usize,
    is_sharer: Cell<bool>,
    /// How often this rank has joined.
    joined: Cell<u64>,
    /// What this rank's word at the home says about its updates.
    pub(super) updates: Cell<u64>,
    pub(super) directory: RefCell<Directory>,
    pub(super) home_alone: Recipients,
    ends: RefCell<Ends>,
}

/// Whose ends this rank has dealt with.
#[derive(Debug)]
struct Ends {
    /// How many there were when it last looked, and when it first saw that many.
    departures: u64,
    since: Instant,
    looks: Vec<Look>,
}

/// Whether this rank has looked for what another one left half done when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    None,
    /// When it was seen to have ended. What it had under way may still have come to the home after that.
    First(Instant),
    /// Nothing comes any more.
    Last,
}

/// How long what a rank had under way when it died may take to come to the home.
const UNDER_WAY: Duration = Duration::from_secs(1);

/// What a writer knows of the others.
#[derive(Debug)]
pub(super) struct Directory {
    /// For which number of the home's directory this is right.
    pub version: Option<u64>,
    /// For each rank its entry, as it was read last.
    pub entries: Vec<u64>,
    /// For each rank the entry with which it had a copy.
    pub has_copy: Vec<u64>,
    /// For each rank the entry with which it could not be reached, which was told: it is left out.
    pub missed: Vec<u64>,
    /// All sharers but the home.
    pub others: Recipients,
}

impl RawRegion {
    /// A region of so many bytes, with its first copy at `home`. All ranks call it together, with the same arguments.
    pub fn new(job: &Job, home: usize, bytes: usize) -> Result<RawRegion> {
        job.agree_on_home(home)?;
        let words = words_of(job.size());
        // One allocation, so that it succeeds or fails as a whole. What cannot be counted is too much.
        let memory = job.symmetric_for_region(bytes.saturating_add(words * size_of::<u64>()))?;
        let (words, copies) = (memory.part(0, words), memory.part(words * size_of::<u64>(), bytes));
        let size = job.size();
        let nothing = vec![0; size];
        let (entries, has_copy, missed) = (nothing.clone(), nothing.clone(), nothing);
        let directory = Directory { version: None, entries, has_copy, missed, others: job.recipients(&[])? };
        Ok(RawRegion {
            memory,
            words,
            copies,
            home,
            size,
            is_sharer: Cell::new(false),
            joined: Cell::new(0),
            updates: Cell::new(0),
            directory: RefCell::new(directory),
            home_alone: job.recipients(&[home])?,
            ends: RefCell::new(Ends { departures: 0, since: job.ni.now(), looks: vec![Look::None; size] }),
        })
    }

    /// Frees its memory. All ranks call it together; none need have unsubscribed.
    pub fn free(self, job: &Job) -> Result<()> {
        job.free(self.memory)
    }

    /// The rank that has the first copy.
    pub fn home(&self) -> usize {
        self.home
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        self.copies.len()
    }

    /// This rank gets a copy, and from then on what others write.
    pub fn subscribe(&self, job: &Job) -> Result<()> {
        self.begin(job)?;
        if self.is_sharer.get() {
            return Err(Error::Invalid("this rank shares the region already".into()));
        }
        self.join(job).map_err(|error| job.ni.failing(error))?;
        self.is_sharer.set(true);
        Ok(())
    }

    /// This rank has no copy any more.
    pub fn unsubscribe(&self, job: &Job) -> Result<()> {
        self.leave(job).map_err(|error| job.ni.failing(error))
    }

    fn leave(&self, job: &Job) -> Result<()> {
        refuse_in_handler()?;
        job.ni.check_rank(job.rank())?;
        self.check_sharer()?;
        self.is_sharer.set(false);
        if self.home == job.rank() {
            return Ok(());
        }
        let _hold = Hold::enter();
        self.set_stage(self.own_standing(job)?, Stage::Away);
        // Who writes to it all the same, because it does not know yet, does no harm: the memory is there until all ranks free it.
        job.initiator.check_peer(self.home)?;
        self.enter(job, 0)
    }

    /// [`RawRegion::unsubscribe`] where nobody hears of errors. If it cannot be done now, the others go on to write to this rank's memory,
    /// which does no harm.
    pub fn abandon(&self, job: &Job) {
        if self.is_sharer.get() {
            let _ = self.leave(job);
            self.is_sharer.set(false);
        }
    }

    /// Copies bytes of this rank's copy out.
    pub fn read(&self, job: &Job, offset: usize, into: &mut [u8]) -> Result<()> {
        self.check_sharer()?;
        self.check_range(offset, into.len())?;
        self.catch_up(job)?;
        self.copies.read(offset, into);
        Ok(())
    }

    /// Who shares the region, in the order of ranks. The home always does.
    pub fn sharers(&self, job: &Job) -> Result<Vec<usize>> {
        self.begin(job)?;
        let entries = self.entries(job).map_err(|error| job.ni.failing(error))?;
        Ok((0..self.size).filter(|rank| *rank == self.home || entries[*rank] != 0).collect())
    }

    /// Before a call that needs the home.
    pub(super) fn begin(&self, job: &Job) -> Result<()> {
        refuse_in_handler()?;
        job.initiator.tick();
        job.ni.check_rank(job.rank())?;
        job.initiator.check_peer(self.home).map_err(|error| job.ni.failing(error))
    }

    pub(super) fn check_sharer(&self) -> Result<()> {
        match self.is_sharer.get() {
            true => Ok(()),
            false => Err(Error::Invalid("this rank does not share the region: subscribe first".into())),
        }
    }

    pub(super) fn check_range(&self, index: usize, count: usize) -> Result<()> {
        let len = self.bytes();
        match index.checked_add(count).is_some_and(|end| end <= len) {
            true => Ok(()),
            false => Err(Error::OutOfBounds { index, count, len }),
        }
    }

    pub(super) fn at_home(&self, word: usize) -> Place<'_, u64> {
        self.words.at(self.home, word)
    }

    /// The directory, as it is now.
    pub(super) fn entries(&self, job: &Job) -> Result<Vec<u64>> {
        let mut entries = vec![0; self.size];
        job.pull(self.at_home(DIRECTORY), &mut entries)?;
        Ok(entries)
    }

    /// Changes this rank's entry.
    fn enter(&self, job: &Job, entry: u64) -> Result<()> {
        job.change_silently(self.at_home(DIRECTORY + job.rank()), Atomic::Swap(entry))?;
        job.change_silently(self.at_home(VERSION), Atomic::Add(1)).map(drop)
    }

    /// Takes a rank out of the directory that has ended, unless somebody else has.
    pub(super) fn strike_out(&self, job: &Job, rank: usize, entry: u64) -> Result<()> {
        let taken = Atomic::CompareSwap { old: entry, new: 0 };
        if job.change_silently(self.at_home(DIRECTORY + rank), taken)? == entry {
            job.change_silently(self.at_home(VERSION), Atomic::Add(1))?;
        }
        Ok(())
    }

    fn own_standing<'j>(&self, job: &'j Job) -> Result<&'j AtomicU64> {
        job.own_word(self.words.here(STANDING)).map(|(word, _)| word)
    }

    fn set_stage(&self, standing: &AtomicU64, stage: Stage) {
        let next = |now| Some(Standing(now).at(stage).0);
        standing.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next).expect("there is always a next one");
    }

    /// Enters the directory, or enters it anew, and copies what the home has.
    fn join(&self, job: &Job) -> Result<()> {
        if self.home == job.rank() {
            return Ok(());
        }
        // No panic of a handler leaves it half way.
        let _hold = Hold::enter();
        let standing = self.own_standing(job)?;
        let joined = self.join_as(job, standing);
        if joined.is_err() {
            self.set_stage(standing, Stage::Away);
        }
        joined
    }

    fn join_as(&self, job: &Job, standing: &AtomicU64) -> Result<()> {
        self.set_stage(standing, Stage::Joining);
        self.joined.set(self.joined.get() + 1);
        self.enter(job, self.joined.get())?;
        let before = Standing(standing.load(Ordering::SeqCst));
        self.copy_home(job)?;
        job.ni.look();
        let after = before.at(Stage::Joined).0;
        if planted(Bug::JoinedBlindly) {
            self.set_stage(standing, Stage::Joined);
            return Ok(());
        }
        if standing.compare_exchange(before.0, after, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            self.set_stage(standing, Stage::Holding);
            self.copy_home(job)?;
            self.set_stage(standing, Stage::Joined);
        }
        Ok(())
    }

    fn copy_home(&self, job: &Job) -> Result<()> {
        match self.bytes() {
            0 => Ok(()),
            bytes => job.copy(self.copies.at(self.home, 0), self.copies.here(0), bytes),
        }
    }

    /// Joins anew if a rank has ended in the middle of an update, which this rank may not have got. Nothing is done if the home has ended:
    /// nobody can have more.
    pub(super) fn catch_up(&self, job: &Job) -> Result<()> {
        if job.ni.departures() == 0 || self.home == job.rank() || planted(Bug::HalfUpdateKept) {
            return Ok(());
        }
        match self.catch_up_with_ends(job) {
            Err(error) if error.is_end_of_peer() && error.rank() == Some(self.home) => Ok(()),
            result => result.map_err(|error| job.ni.failing(error)),
        }
    }

    #[cold]
    fn catch_up_with_ends(&self, job: &Job) -> Result<()> {
        let (now, departures) = (job.ni.now(), job.ni.departures());
        let is_late = |since| now.saturating_duration_since(since) > UNDER_WAY;
        let looks: Vec<(usize, Look)> = {
            let mut ends = self.ends.borrow_mut();
            if ends.departures != departures {
                (ends.departures, ends.since) = (departures, now);
            }
            // An end is counted before it can be seen.
            if is_late(ends.since) && !ends.looks.iter().any(|look| matches!(look, Look::First(_))) {
                return Ok(());
            }
            let look = |(rank, look): (usize, &Look)| match look {
                Look::None => job.ni.end_of(rank).map(|_| (rank, Look::First(now))),
                Look::First(since) => is_late(*since).then_some((rank, Look::Last)),
                Look::Last => None,
            };
            ends.looks.iter().enumerate().filter(|(rank, _)| *rank != self.home).filter_map(look).collect()
        };
        if looks.is_empty() {
            return Ok(());
        }
        refuse_in_handler()?;
        job.initiator.check_peer(self.home)?;
        let mut is_half = false;
        for (rank, _) in &looks {
            is_half |= !job.read_silently(self.at_home(update_of(*rank, self.size)))?.is_multiple_of(2);
        }
        if is_half {
            self.join(job)?;
        }
        let mut ends = self.ends.borrow_mut();
        looks.into_iter().for_each(|(rank, look)| ends.looks[rank] = look);
        Ok(())
    }
}
