//! Writing to a region.

use super::share::RawRegion;
use super::words::{ASK, STANDING, Stage, Standing, VERSION, update_of};
use crate::error::{Error, Result};
use crate::job::Job;
use crate::memory::atomic::Atomic;
use crate::ni::{ByteParts, Hold, RawMulticast, Recipients, Units, Wait};
use crate::ni::{COMPARED, changed_units, check_units, copy_units};
use crate::planted::{Bug, planted};
use std::cell::Ref;
use std::time::Duration;

/// How often a writer looks whether a rank that joins has its copy.
const SOON: Duration = Duration::from_micros(50);

impl RawRegion {
    /// Writes bytes to all copies. They are there when the call returns.
    pub fn write(&self, job: &Job, offset: usize, data: &[u8]) -> Result<()> {
        self.check_range(offset, data.len())?;
        self.update(job, |to| job.multicast(to, &self.copies, offset, data))
    }

    /// [`RawRegion::write`] of memory that no slice can stand for, since peers may change it meanwhile.
    ///
    /// # Safety
    /// As many bytes can be read.
    pub unsafe fn write_from(&self, job: &Job, offset: usize, data: *const u8, bytes: usize) -> Result<()> {
        self.check_range(offset, bytes)?;
        // SAFETY: the caller's promise.
        self.update(job, |to| unsafe { job.multicast_from(to, (&self.copies, offset), data, bytes, None) })
    }

    /// Writes the marked units to all copies.
    pub fn write_marked(&self, job: &Job, offset: usize, data: &[u8], marked: Units<'_>) -> Result<()> {
        self.check_range(offset, data.len())?;
        self.update(job, |to| job.multicast_units(to, (&self.copies, offset), data, marked))
    }

    /// [`RawRegion::write_marked`] of memory that no slice can stand for, since peers may change it meanwhile.
    ///
    /// # Safety
    /// As many bytes as there are units, marked or not, can be read.
    pub unsafe fn write_marked_from(&self, job: &Job, offset: usize, data: *const u8, marked: Units<'_>) -> Result<()> {
        self.check_range(offset, marked.unit.saturating_mul(marked.units))?;
        let parts = ByteParts::Marked(marked);
        // SAFETY: the caller's promise.
        self.update(job, |to| unsafe { job.multicast_parts_from(to, (&self.copies, offset), data, parts, None) })
    }

    /// Writes the units of the whole region that differ from a twin to all copies; how many they were. Then the twin is as `data`.
    pub fn write_diff(&self, job: &Job, data: &[u8], twin: &mut [u8], unit: usize) -> Result<usize> {
        self.check_whole(data.len(), twin.len())?;
        check_units(data.len(), unit)?;
        let (words, changed) = changed_units(data, twin, unit);
        if changed > 0 {
            let marked = Units { unit, units: data.len() / unit, words: &words };
            let written = self.write_marked(job, 0, data, marked);
            // Also if a sharer was missed: all others have it.
            if written.as_ref().err().is_none_or(|error| self.is_missed(error)) {
                copy_units(twin, data, unit, &words);
            }
            written?;
        } else {
            self.check_sharer()?;
        }
        Ok(changed)
    }

    /// Takes over what others have written: where units of this rank's copy differ from the twin, the twin and `data` become as it is. How
    /// many they were.
    pub fn refresh(&self, job: &Job, data: &mut [u8], twin: &mut [u8], unit: usize) -> Result<usize> {
        self.check_whole(data.len(), twin.len())?;
        check_units(data.len(), unit)?;
        let most = COMPARED.saturating_mul(unit);
        let (mut seen, mut count) = (vec![0; data.len().min(most)], 0);
        for (number, (data, twin)) in data.chunks_mut(most).zip(twin.chunks_mut(most)).enumerate() {
            let seen = &mut seen[..data.len()];
            self.read(job, number * most, seen)?;
            let (words, changed) = changed_units(seen, twin, unit);
            if changed > 0 {
                copy_units(twin, seen, unit, &words);
                copy_units(data, seen, unit, &words);
                count += changed;
            }
        }
        Ok(count)
    }

    /// Whether both are as long as the region.
    fn check_whole(&self, data: usize, twin: usize) -> Result<()> {
        match (data, twin) == (self.bytes(), self.bytes()) {
            true => Ok(()),
            false => Err(Error::Invalid(format!(
                "the data have {data} bytes and their twin {twin}, the region has {}",
                self.bytes()
            ))),
        }
    }

    /// Has `send` write to all copies, the home's first.
    fn update(&self, job: &Job, send: impl Fn(&Recipients) -> Result<()>) -> Result<()> {
        self.begin(job)?;
        self.check_sharer()?;
        // A handler that panics meanwhile must not leave it half done.
        let _hold = Hold::enter();
        let updated = self.begin_update(job).and_then(|()| {
            let updated = self.update_all(job, send);
            match &updated {
                // The home may not have it, or others: if this rank ends, they look.
                Err(error) if !self.is_missed(error) => updated,
                _ => updated.and(self.end_update(job)),
            }
        });
        updated.map_err(|error| job.ni.failing(error))
    }

    /// Says at the home that an update begins, before any of it is there.
    fn begin_update(&self, job: &Job) -> Result<()> {
        // After one that has failed it is still odd.
        self.updates.set((self.updates.get() + 1) | 1);
        let (word, value) = (self.at_home(update_of(job.rank(), self.size)), self.updates.get());
        // Where memory is written in any order, an answer says that it is there.
        match job.ni.direct.is_some() && !planted(Bug::UpdateUnannounced) {
            true => job.change_silently(word, Atomic::Swap(value)).map(drop),
            false => job.write_silently(word, value),
        }
    }

    /// Says that it is done.
    fn end_update(&self, job: &Job) -> Result<()> {
        self.updates.set(self.updates.get() + 1);
        job.write_silently(self.at_home(update_of(job.rank(), self.size)), self.updates.get())
    }

    /// Whether an update is done but for a sharer that could not be reached.
    fn is_missed(&self, error: &Error) -> bool {
        matches!(error, Error::Unreachable { rank, .. } if *rank != self.home)
    }

    fn update_all(&self, job: &Job, send: impl Fn(&Recipients) -> Result<()>) -> Result<()> {
        send(&self.home_alone)?;
        // After the data, in one order with the changes of those who join: who does not see them has written before they copy.
        let version = job.change_silently(self.at_home(VERSION), Atomic::Add(0))?;
        let (mut lost, mut result) = (Vec::new(), Ok(()));
        loop {
            let failed = match self.others(job, version, &lost) {
                Ok(others) => match send(&others).and_then(|()| job.initiator.settle_each(self.with_home(&others))) {
                    Ok(()) => break,
                    Err(error) => error,
                },
                Err(error) => error,
            };
            let rank = failed.rank().filter(|rank| *rank != self.home && failed.is_peer_fault());
            let Some(rank) = rank.filter(|rank| !lost.contains(rank)) else { return Err(failed) };
            // It may have been the one that writes for others, so all of them get it once more.
            lost.push(rank);
            if let Error::Unreachable { .. } | Error::PeerMisbehaved { .. } = failed {
                result = result.and(Err(failed));
            }
        }
        let mut directory = self.directory.borrow_mut();
        for rank in lost {
            directory.missed[rank] = directory.entries[rank];
            // From now on it is left out by a look, not by a failure.
            directory.version = None;
        }
        result
    }

    fn with_home<'a>(&self, others: &'a Recipients) -> impl Iterator<Item = usize> + Clone + 'a {
        std::iter::once(self.home).chain(others.ranks().iter().copied())
    }

    /// The sharers that have a copy, but the home and those that were lost.
    fn others(&self, job: &Job, version: u64, lost: &[usize]) -> Result<Ref<'_, Recipients>> {
        let is_known = self.directory.borrow().version == Some(version) || planted(Bug::DirectoryKept);
        if !is_known || !lost.is_empty() {
            self.look_up(job, version, lost)?;
        }
        Ok(Ref::map(self.directory.borrow(), |directory| &directory.others))
    }

    fn look_up(&self, job: &Job, version: u64, lost: &[usize]) -> Result<()> {
        let entries = self.entries(job)?;
        let mut directory = self.directory.borrow_mut();
        directory.version = None;
        directory.entries.clone_from(&entries);
        let (mut others, mut is_complete) = (Vec::new(), lost.is_empty());
        for (rank, entry) in entries.into_iter().enumerate() {
            if rank == self.home || entry == 0 {
                continue;
            }
            if let Some(Error::PeerDead { .. } | Error::PeerLeft { .. }) = job.ni.end_of(rank) {
                self.strike_out(job, rank, entry)?;
                is_complete = false;
                continue;
            }
            if lost.contains(&rank) || directory.missed[rank] == entry {
                continue;
            }
            if directory.has_copy[rank] != entry {
                let stage = self.ask(job, rank)?;
                if stage == Stage::Away {
                    // It has left, or has failed to join, and could not say so.
                    self.strike_out(job, rank, entry)?;
                }
                if stage != Stage::Joined {
                    is_complete = false;
                    continue;
                }
                directory.has_copy[rank] = entry;
            }
            others.push(rank);
        }
        directory.others = job.recipients(&others)?;
        directory.version = is_complete.then_some(version);
        Ok(())
    }

    /// How far a rank is with joining. If it has no copy yet, it gets what is at the home by itself.
    fn ask(&self, job: &Job, rank: usize) -> Result<Stage> {
        let standing = self.words.at(rank, STANDING);
        let mut stage = Standing(job.change_silently(standing, Atomic::Add(ASK))?).stage();
        while stage == Stage::Holding {
            // It copies again, and would not see that it has to do so once more.
            match job.wait_until(Wait::on_rank(rank).at_most(Some(SOON)), || None::<()>) {
                Ok(()) | Err(Error::Timeout { .. }) => {}
                Err(error) => return Err(error),
            }
            stage = Standing(job.read_silently(standing)?).stage();
        }
        Ok(stage)
    }
}
