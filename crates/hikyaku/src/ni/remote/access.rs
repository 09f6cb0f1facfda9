//! Operations on an area of one rank: by a pointer, by a system call, or by its owner's interface.

use super::initiator::Initiator;
use crate::error::{Error, Result};
use crate::memory::atomic::Change;
use crate::memory::copy;
use crate::ni::reach::opened::Opened;
use crate::ni::reach::perform::change_at;
use crate::ni::state::account::StatusWord;
use crate::ni::wire::operation::Data;
use crate::transport::shm::cross;
use std::sync::atomic::{AtomicU64, Ordering};

impl Initiator {
    /// Pushes to an area; `status` is written when the bytes are there.
    ///
    /// # Safety
    /// So many bytes can be read at `data`; peers may change them meanwhile.
    pub unsafe fn push_area(
        &self,
        area: &Opened,
        offset: usize,
        data: *const u8,
        bytes: usize,
        status: Option<StatusWord>,
    ) -> Result<()> {
        let ni = &*self.ni;
        let inside = self.guard_at(area.rank).enter(ni.fences);
        area.check(ni)?;
        if let Some(target) = area.pointer(ni, offset) {
            // SAFETY: in bounds by the resolution, live by the key checked inside the guard; the caller's promise.
            unsafe { copy::copy_away(target, data, bytes) };
        } else if let Some(process) = ni.crossing(area.rank) {
            // SAFETY: the caller's promise.
            let written = unsafe { cross::write(process, area.start + offset as u64, data, bytes) };
            if let Err(error) = written {
                // Whoever revokes an area must not wait for the news too.
                drop(inside);
                return Err(ni.why_unreached(area.rank, error));
            }
        } else {
            drop(inside);
            // SAFETY: the caller's promise.
            let data = unsafe { Data::shared(data, bytes) };
            return self.push_routed(area.target(offset), data, status);
        }
        drop(inside);
        if let Some((word, value)) = status {
            ni.set_status(word, value);
        }
        Ok(())
    }

    /// # Safety
    /// So many bytes can be written at `into`; peers may change them meanwhile.
    pub unsafe fn pull_area(&self, area: &Opened, offset: usize, into: *mut u8, bytes: usize) -> Result<()> {
        let ni = &*self.ni;
        let inside = self.guard_at(area.rank).enter(ni.fences);
        area.check(ni)?;
        if let Some(source) = area.pointer(ni, offset) {
            // SAFETY: in bounds by the resolution, live by the key checked inside the guard.
            unsafe { copy::copy(into, source, bytes) };
            return Ok(());
        }
        if let Some(process) = ni.crossing(area.rank) {
            // SAFETY: the caller's promise.
            let read = unsafe { cross::read(process, area.start + offset as u64, into, bytes) };
            drop(inside);
            return read.map_err(|error| ni.why_unreached(area.rank, error));
        }
        drop(inside);
        // SAFETY: the caller's promise.
        unsafe { self.pull_routed(area.target(offset), into, bytes) }.map_err(|error| area.why(error))
    }

    /// Copies between two areas that both have addresses here; false if one has none.
    pub fn copy_areas(
        &self,
        (from, from_at): (&Opened, usize),
        (to, to_at): (&Opened, usize),
        bytes: usize,
    ) -> Result<bool> {
        let ni = &*self.ni;
        let (one, other) = (self.guard_at(from.rank), self.guard_at(to.rank));
        let _inside = one.enter(ni.fences);
        // A port has one mark for all areas of others.
        let _inside_too = (!std::ptr::eq(one, other)).then(|| other.enter(ni.fences));
        from.check(ni)?;
        to.check(ni)?;
        let (Some(source), Some(target)) = (from.pointer(ni, from_at), to.pointer(ni, to_at)) else { return Ok(false) };
        if source.addr().abs_diff(target.addr()) < bytes {
            return Err(Error::Invalid("the ranges of a copy overlap".into()));
        }
        // SAFETY: in bounds by the resolution, live by the keys checked inside the guards; they do not overlap.
        unsafe { copy::copy_away(target, source, bytes) };
        Ok(true)
    }

    pub fn word_area(&self, area: &Opened, offset: usize, value: u64) -> Result<()> {
        let store = |word: &AtomicU64| word.store(value, Ordering::Release);
        match self.notify_area(area, offset, store)? {
            true => Ok(()),
            false => self.word_routed(area.target(offset), value),
        }
    }

    /// Adds to a word, after everything this port has pushed to that rank before.
    pub fn add_area(&self, area: &Opened, offset: usize, amount: u64) -> Result<()> {
        let add = |word: &AtomicU64| {
            word.fetch_add(amount, Ordering::AcqRel);
        };
        match self.notify_area(area, offset, add)? {
            true => Ok(()),
            false => self.add_routed(area.target(offset), amount),
        }
    }

    /// Writes a word if it is mapped here, after everything this port has routed to that rank; false if it is not mapped.
    fn notify_area(&self, area: &Opened, offset: usize, write: impl FnOnce(&AtomicU64)) -> Result<bool> {
        let ni = &*self.ni;
        if self.has_routed() && ni.is_near(area.rank) {
            self.settle(area.rank)?;
        }
        let _inside = self.guard_at(area.rank).enter(ni.fences);
        area.check(ni)?;
        let Some(target) = area.pointer(ni, offset) else { return Ok(false) };
        // SAFETY: in bounds, live, aligned (areas of `u64` are opened only where they are).
        write(unsafe { AtomicU64::from_ptr(target.cast()) });
        ni.notify(area.rank, ni.watch_of(target));
        Ok(true)
    }

    /// Changes a number; gives its bits from before.
    pub fn change_area(&self, area: &Opened, offset: usize, change: Change) -> Result<u64> {
        let ni = &*self.ni;
        {
            let _inside = self.guard_at(area.rank).enter(ni.fences);
            area.check(ni)?;
            if let Some(target) = area.pointer(ni, offset) {
                // SAFETY: in bounds, live, aligned.
                let before = unsafe { change_at(target, change) };
                ni.notify(area.rank, ni.watch_around(target));
                return Ok(before);
            }
        }
        self.change_routed(area.target(offset), change).map_err(|error| area.why(error))
    }
}
