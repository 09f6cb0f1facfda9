//! Operations on an area of one rank: by a pointer, by a system call, or by its owner's interface.

use super::account::StatusWord;
use super::area::Opened;
use super::operation::Atomic;
use super::port::Port;
use super::remote::{Data, Target};
use crate::error::Result;
use crate::memory::copy;
use crate::transport::shm::cross;
use std::sync::atomic::{AtomicU64, Ordering};

impl Port {
    /// Pushes to an area; `status` is written when the bytes are there.
    ///
    /// # Safety
    /// So many bytes can be read at `data`; peers may change them meanwhile.
    pub(super) unsafe fn push_area(
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
            return self.push_routed(Target::in_area(area, offset), data, status);
        }
        drop(inside);
        if let Some((word, value)) = status {
            ni.set_status(word, value);
        }
        Ok(())
    }

    /// # Safety
    /// So many bytes can be written at `into`; peers may change them meanwhile.
    pub(super) unsafe fn pull_area(&self, area: &Opened, offset: usize, into: *mut u8, bytes: usize) -> Result<()> {
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
        unsafe { self.pull_routed(Target::in_area(area, offset), into, bytes) }.map_err(|error| area.why(error))
    }

    pub(super) fn word_area(&self, area: &Opened, offset: usize, value: u64) -> Result<()> {
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
        self.word_routed(Target::in_area(area, offset), value)
    }

    pub(super) fn atomic_area(&self, area: &Opened, offset: usize, operation: Atomic) -> Result<u64> {
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
        self.atomic_routed(Target::in_area(area, offset), operation).map_err(|error| area.why(error))
    }

    /// Reads bytes, out of line.
    pub(crate) fn pull_bytes(&self, from: Target, into: &mut [u8]) -> Result<()> {
        // SAFETY: a live slice, borrowed mutably.
        unsafe { self.pull_routed(from, into.as_mut_ptr(), into.len()) }
    }
}
