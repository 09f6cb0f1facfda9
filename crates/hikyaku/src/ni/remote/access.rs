//! Operations on an area of one rank: by a pointer, by a system call, or by its owner's interface.

use super::initiator::Initiator;
use crate::error::Result;
use crate::memory::atomic::Atomic;
use crate::memory::copy;
use crate::ni::reach::opened::Opened;
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

    pub fn word_area(&self, area: &Opened, offset: usize, value: u64) -> Result<()> {
        let ni = &*self.ni;
        if self.has_routed() && ni.is_near(area.rank) {
            self.settle(area.rank)?;
        }
        {
            let _inside = self.guard_at(area.rank).enter(ni.fences);
            area.check(ni)?;
            if let Some(target) = area.pointer(ni, offset) {
                // SAFETY: in bounds, live, aligned (areas of `u64` are opened only where they are).
                unsafe { AtomicU64::from_ptr(target.cast()) }.store(value, Ordering::Release);
                ni.notify(area.rank, ni.watch_of(target));
                return Ok(());
            }
        }
        self.word_routed(area.target(offset), value)
    }

    pub fn atomic_area(&self, area: &Opened, offset: usize, operation: Atomic) -> Result<u64> {
        let ni = &*self.ni;
        {
            let _inside = self.guard_at(area.rank).enter(ni.fences);
            area.check(ni)?;
            if let Some(target) = area.pointer(ni, offset) {
                // SAFETY: in bounds, live, aligned.
                let before = operation.perform(unsafe { AtomicU64::from_ptr(target.cast()) });
                ni.notify(area.rank, ni.watch_of(target));
                return Ok(before);
            }
        }
        self.atomic_routed(area.target(offset), operation).map_err(|error| area.why(error))
    }
}
