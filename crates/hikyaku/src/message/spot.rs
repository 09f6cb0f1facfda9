//! Where a buffer is, seen from two processes, and copying between them.

use super::slot::Spot;
use crate::error::{Error, Result};
use crate::memory::copy;
use crate::ni::Ni;
use crate::transport::shm::cross;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A buffer of this rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    pub start: *mut u8,
    pub bytes: usize,
}

/// A buffer of a peer, as it told us.
#[derive(Clone, Copy, Debug)]
pub(super) struct Distant {
    rank: usize,
    start: u64,
    mapped: bool,
    pub bytes: usize,
}

impl Buffer {
    /// Its offset in job memory, if it lies there.
    fn offset(&self, ni: &Ni) -> Option<usize> {
        let segment = &ni.memory.segment;
        let offset = (self.start as usize).wrapping_sub(segment.base() as usize);
        (offset < segment.bytes() && self.bytes <= segment.bytes() - offset).then_some(offset)
    }

    /// Whether peers have it mapped.
    pub fn is_mapped(&self, ni: &Ni) -> bool {
        self.offset(ni).is_some()
    }

    /// Whether `rank` has no way to this buffer without this rank's help.
    pub fn needs_staging(&self, ni: &Ni, rank: usize) -> bool {
        !self.is_mapped(ni) && !ni.threads && rank != ni.rank && !ni.crosses_to(rank)
    }

    /// Tells a peer where this is.
    pub fn tell(&self, ni: &Ni, spot: &Spot) {
        let (offset, mapped) = (self.offset(ni).unwrap_or(0), self.is_mapped(ni));
        spot.start.store(if mapped { offset as u64 } else { self.start as u64 }, Ordering::Relaxed);
        spot.bytes.store(self.bytes as u64, Ordering::Relaxed);
        spot.mapped.store(mapped as u64, Ordering::Relaxed);
    }
}

/// A part of the own heap that stands in for a buffer peers cannot reach; given back when dropped.
pub(super) struct Staged {
    ni: Arc<Ni>,
    start: usize,
    bytes: usize,
}

impl std::fmt::Debug for Staged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.bytes)
    }
}

impl Staged {
    pub fn new(ni: &Arc<Ni>, bytes: usize) -> Result<Staged> {
        Ok(Staged { ni: ni.clone(), start: ni.take_heap(bytes)?, bytes })
    }

    pub fn buffer(&self) -> Buffer {
        // SAFETY: a part of the own heap, hence of the segment.
        Buffer { start: unsafe { self.ni.memory.segment.base().add(self.start) }, bytes: self.bytes }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        self.ni.give_heap(self.start, self.bytes);
    }
}

impl Distant {
    /// Reads what `rank` told, and believes it only as far as it does no harm here.
    pub fn heard(ni: &Ni, rank: usize, spot: &Spot) -> Result<Distant> {
        let start = spot.start.load(Ordering::Relaxed);
        let bytes = spot.bytes.load(Ordering::Relaxed);
        let mapped = spot.mapped.load(Ordering::Relaxed) == 1;
        let end = start.checked_add(bytes).filter(|_| bytes <= isize::MAX as u64);
        let inside = end.is_some_and(|end| !mapped || end <= ni.memory.segment.bytes() as u64);
        match inside {
            true => Ok(Distant { rank, start, mapped, bytes: bytes as usize }),
            false => Err(Error::PeerMisbehaved { rank, what: "a buffer outside its memory" }),
        }
    }

    /// Whether bytes can be moved from here without the peer's help.
    pub fn is_reachable(&self, ni: &Ni) -> bool {
        self.mapped || ni.threads || self.rank == ni.rank || ni.crosses_to(self.rank)
    }

    fn pointer(&self, ni: &Ni) -> Option<*mut u8> {
        match self.mapped {
            // SAFETY: checked to lie in the segment.
            true => Some(unsafe { ni.memory.segment.base().add(self.start as usize) }),
            false => (ni.threads || self.rank == ni.rank).then_some(self.start as usize as *mut u8),
        }
    }

    /// Copies `bytes` at `offset` of an own buffer to the same place here.
    ///
    /// # Safety
    /// Both buffers hold that range and stay while this runs; nobody else writes the target.
    pub unsafe fn write(&self, ni: &Ni, from: Buffer, offset: usize, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match self.pointer(ni) {
                Some(target) => copy::copy(target.add(offset), from.start.add(offset), bytes),
                None => {
                    let data = std::slice::from_raw_parts(from.start.add(offset), bytes);
                    cross::write(ni.process_of(self.rank), self.start + offset as u64, data)
                        .map_err(|error| cross::of_rank(self.rank, error))?;
                }
            }
        }
        Ok(())
    }

    /// Copies `bytes` at `offset` of here to the same place of an own buffer.
    ///
    /// # Safety
    /// Both buffers hold that range and stay while this runs; nobody else writes the target.
    pub unsafe fn read(&self, ni: &Ni, into: Buffer, offset: usize, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match self.pointer(ni) {
                Some(source) => copy::copy(into.start.add(offset), source.add(offset), bytes),
                None => {
                    let target = std::slice::from_raw_parts_mut(into.start.add(offset), bytes);
                    cross::read(ni.process_of(self.rank), self.start + offset as u64, target)
                        .map_err(|error| cross::of_rank(self.rank, error))?;
                }
            }
        }
        Ok(())
    }
}
