//! A long buffer where it is: mapped, in this process, or reached by a system call.

use crate::error::{Error, Result};
use crate::memory::copy;
use crate::ni::Ni;
use crate::transport::shm::cross;
use bytemuck::{Pod, Zeroable};
use std::ops::Range;

/// Where a member's buffer is, as it tells the others.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Source {
    /// A [`Way`].
    pub way: u64,
    /// Offset in job memory, or address in the member's process.
    start: u64,
}

/// How a buffer is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Way {
    /// Through the buffers of the group.
    Rounds = 0,
    /// It lies in job memory, which everybody maps.
    Mapped = 1,
    /// From the member's process.
    Private = 2,
}

impl Source {
    /// One that is not told.
    pub fn in_rounds() -> Source {
        Source { way: Way::Rounds as u64, start: 0 }
    }

    /// The buffer at `start` of this rank.
    pub fn of(ni: &Ni, start: *const u8, bytes: usize) -> Source {
        let segment = &ni.memory.segment;
        let offset = (start as usize).wrapping_sub(segment.base() as usize);
        match offset < segment.bytes() && bytes <= segment.bytes() - offset {
            true => Source { way: Way::Mapped as u64, start: offset as u64 },
            false => Source { way: Way::Private as u64, start: start as u64 },
        }
    }

    /// Whether this rank reaches the buffer, which is one of `rank`.
    pub fn is_reached(&self, ni: &Ni, rank: usize) -> bool {
        self.way == Way::Mapped as u64 || ni.threads || rank == ni.rank || ni.crosses_to(rank)
    }

    /// Copies `range` of the buffer of `rank`, which has `bytes` bytes, to the same place of an own one.
    ///
    /// # Safety
    /// The own buffer has `bytes` bytes, and nobody else writes that range. Among threads, the other one stays there and
    /// has as many, and nobody writes it.
    pub unsafe fn read(&self, ni: &Ni, rank: usize, bytes: usize, range: Range<usize>, into: *mut u8) -> Result<()> {
        let first = self.locate(ni, rank, bytes, &range)?;
        // SAFETY: within the own buffer by the caller's promise, and within the other one as `locate` has checked, or by
        // that promise too.
        unsafe {
            let into = into.add(range.start);
            match first {
                Found::Pointer(pointer) => copy::copy(into, pointer, range.len()),
                Found::Address(address) => {
                    let into = std::slice::from_raw_parts_mut(into, range.len());
                    return cross::read(ni.process_of(rank), address, into);
                }
            }
        }
        Ok(())
    }

    /// Copies `range` of an own buffer to the same place of the buffer of `rank`, which has `bytes` bytes.
    ///
    /// # Safety
    /// The own buffer has `bytes` bytes, and nobody writes it. Among threads, the other one stays there and has as many;
    /// nobody else writes that range.
    pub unsafe fn write(&self, ni: &Ni, rank: usize, bytes: usize, range: Range<usize>, from: *const u8) -> Result<()> {
        let first = self.locate(ni, rank, bytes, &range)?;
        // SAFETY: as above.
        unsafe {
            let from = from.add(range.start);
            match first {
                Found::Pointer(pointer) => copy::copy(pointer, from, range.len()),
                Found::Address(address) => {
                    let from = std::slice::from_raw_parts(from, range.len());
                    return cross::write(ni.process_of(rank), address, from);
                }
            }
        }
        Ok(())
    }

    /// Where `range` is, as far as what a peer has told can be believed.
    fn locate(&self, ni: &Ni, rank: usize, bytes: usize, range: &Range<usize>) -> Result<Found> {
        assert!(range.start <= range.end && range.end <= bytes);
        let mapped = self.way == Way::Mapped as u64;
        let end = self.start.checked_add(bytes as u64);
        if !end.is_some_and(|end| !mapped || end <= ni.memory.segment.bytes() as u64) {
            return Err(Error::PeerMisbehaved { rank, what: "a buffer outside its memory" });
        }
        let first = self.start + range.start as u64;
        Ok(match mapped {
            // SAFETY: checked to lie in the segment.
            true => Found::Pointer(unsafe { ni.memory.segment.base().add(first as usize) }),
            false if ni.threads || rank == ni.rank => Found::Pointer(first as usize as *mut u8),
            false => Found::Address(first),
        })
    }
}

/// A place in a peer's buffer.
enum Found {
    Pointer(*mut u8),
    /// In its process.
    Address(u64),
}
