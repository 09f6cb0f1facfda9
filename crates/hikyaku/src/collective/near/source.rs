//! A long buffer where it is: mapped, in this process, or reached by a system call.

use crate::error::{Error, Result};
use crate::memory::copy;
use crate::ni::Ni;
use crate::transport::shm::cross;
use bytemuck::{Pod, Zeroable};

/// Where a member's buffer is, as it tells the others.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(in crate::collective) struct Source {
    /// A [`Access`].
    pub way: u64,
    /// Offset in job memory, or address in the member's process.
    start: u64,
}

/// How a buffer is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(in crate::collective) enum Access {
    /// Through the buffers of the group.
    Rounds = 0,
    /// It lies in job memory, which everybody maps.
    Mapped = 1,
    /// From the member's process.
    Private = 2,
    /// Through two larger buffers of the member in job memory, used in turn.
    Staged = 3,
}

impl Source {
    /// The two halves of a buffer at `start` of the host's segment, which all members of a near group map.
    pub fn staged(start: usize) -> Source {
        Source { way: Access::Staged as u64, start: start as u64 }
    }

    /// One that is not told.
    pub fn in_rounds() -> Source {
        Source { way: Access::Rounds as u64, start: 0 }
    }

    /// The buffer at `start` of this rank.
    pub fn of(ni: &Ni, start: *const u8, bytes: usize) -> Source {
        let segment = &ni.memory.segment;
        let offset = (start as usize).wrapping_sub(segment.base() as usize);
        match offset < segment.bytes() && bytes <= segment.bytes() - offset {
            true => Source { way: Access::Mapped as u64, start: offset as u64 },
            false => Source { way: Access::Private as u64, start: start as u64 },
        }
    }

    /// Whether this rank reaches the buffer, which is one of another, `rank`: its own it does not look up here.
    pub fn is_reached(&self, ni: &Ni, rank: usize) -> bool {
        self.way == Access::Mapped as u64 || ni.threads || ni.crosses_to(rank)
    }

    /// Copies what lies at `offset` of the buffer of `rank`, which has `bytes` bytes: by the kernel, or as
    /// what the caches do not hold, or do.
    ///
    /// # Safety
    /// Among threads, the buffer stays there and has as many bytes, and nobody writes what is read.
    pub unsafe fn read(
        &self,
        uncached: bool,
        ni: &Ni,
        rank: usize,
        bytes: usize,
        offset: usize,
        into: &mut [u8],
    ) -> Result<()> {
        match self.locate(ni, rank, bytes, offset, into.len())? {
            // SAFETY: a live slice.
            Found::Address(process, address) => unsafe { cross::read(process, address, into.as_mut_ptr(), into.len()) },
            Found::Pointer(pointer) => {
                // SAFETY: checked by `locate`, or by the caller's promise.
                unsafe { copy::copy_part(uncached, into.as_mut_ptr(), pointer, into.len()) };
                Ok(())
            }
        }
    }

    /// Copies `data` to `offset` of the buffer of `rank`, which has `bytes` bytes: by the kernel, or as
    /// what the caches do not hold, or do.
    ///
    /// # Safety
    /// Among threads, the buffer stays there and has as many bytes, and nobody else uses what is written.
    pub unsafe fn write(
        &self,
        uncached: bool,
        ni: &Ni,
        rank: usize,
        bytes: usize,
        offset: usize,
        data: &[u8],
    ) -> Result<()> {
        match self.locate(ni, rank, bytes, offset, data.len())? {
            // SAFETY: a live slice.
            Found::Address(process, address) => unsafe { cross::write(process, address, data.as_ptr(), data.len()) },
            Found::Pointer(pointer) => {
                // SAFETY: checked by `locate`, or by the caller's promise.
                unsafe { copy::copy_part(uncached, pointer, data.as_ptr(), data.len()) };
                Ok(())
            }
        }
    }

    /// As [`Source::read`], of a buffer in job memory.
    pub fn read_mapped(
        &self,
        uncached: bool,
        ni: &Ni,
        rank: usize,
        bytes: usize,
        offset: usize,
        into: &mut [u8],
    ) -> Result<()> {
        let mapped = self.way == Access::Mapped as u64 || self.way == Access::Staged as u64;
        let start = usize::try_from(self.start).ok().filter(|_| mapped);
        let buffer = start.and_then(|start| ni.memory.segment.get(start, bytes));
        let buffer = buffer.ok_or(Error::PeerMisbehaved { rank, what: "a buffer outside its memory" })?;
        buffer.part(offset, into.len()).copy_out_part(uncached, into);
        Ok(())
    }

    /// Where `len` bytes at `offset` are, as far as what a peer has told can be believed.
    fn locate(&self, ni: &Ni, rank: usize, bytes: usize, offset: usize, len: usize) -> Result<Found> {
        assert!(offset <= bytes && len <= bytes - offset);
        let mapped = self.way == Access::Mapped as u64 || self.way == Access::Staged as u64;
        let end = self.start.checked_add(bytes as u64);
        if !end.is_some_and(|end| !mapped || end <= ni.memory.segment.bytes() as u64) {
            return Err(Error::PeerMisbehaved { rank, what: "a buffer outside its memory" });
        }
        let first = self.start + offset as u64;
        match mapped {
            // SAFETY: checked to lie in the segment.
            true => Ok(Found::Pointer(unsafe { ni.memory.segment.base().add(first as usize) })),
            false if ni.threads => Ok(Found::Pointer(first as usize as *mut u8)),
            // All members have said that they reach each other's, but a peer may say anything.
            false => match ni.crossing(rank) {
                Some(process) => Ok(Found::Address(process, first)),
                None => Err(Error::PeerMisbehaved { rank, what: "a buffer that cannot be reached" }),
            },
        }
    }
}

/// A place in a peer's buffer.
enum Found {
    Pointer(*mut u8),
    /// A process, and an address there.
    Address(i32, u64),
}
