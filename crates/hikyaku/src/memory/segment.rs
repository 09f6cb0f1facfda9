//! An unnamed, sealed, mapped file.
//!
//! It has no name in any file system, so nothing is left behind however its users die; its size is sealed, so no
//! peer can pull pages away (no SIGBUS); it is sparse, so a large reservation costs nothing until it is used. It is
//! handed on by passing its descriptor.

use super::limits;
use super::span::Span;
use super::turn::Turn;
use crate::error::{Error, Result};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;

const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// The unit of segments, heaps and commitments: the smallest page there is. Where pages are larger, parts of one page are
/// committed and given back like whole ones, but the system gets only whole ones back.
pub const PAGE_BYTES: usize = 4096;

/// A mapped file, or a part of one.
#[derive(Debug)]
pub struct Segment {
    mapping: Arc<Mapping>,
    /// Where it begins in the file.
    start: usize,
    base: NonNull<u8>,
    bytes: usize,
}

/// One mapped file.
#[derive(Debug)]
struct Mapping {
    file: OwnedFd,
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is shared memory for the life of the value; all access goes through raw copies and atomics.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}
// SAFETY: as above.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Segment {
    /// Makes a zeroed segment of `bytes`, sealed and mapped. Pages are taken when committed or first touched.
    pub fn create(bytes: usize) -> Result<Segment> {
        limits::check_file_size(bytes)?;
        let file = rustix::fs::memfd_create("hikyaku", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)
            .map_err(|e| Error::system("memfd_create", e))?;
        rustix::fs::ftruncate(&file, bytes as u64).map_err(|e| limits::explain("ftruncate", e, bytes))?;
        rustix::fs::fcntl_add_seals(&file, SEALS).map_err(|e| Error::system("fcntl(F_ADD_SEALS)", e))?;
        Segment::map(file, bytes)
    }

    /// Maps a segment that another process made, after checking that it is one: sealed and of the stated size.
    pub fn open(file: OwnedFd, bytes: usize) -> Result<Segment> {
        let seals = rustix::fs::fcntl_get_seals(&file).map_err(|e| Error::system("fcntl(F_GET_SEALS)", e))?;
        let stat = rustix::fs::fstat(&file).map_err(|e| Error::system("fstat", e))?;
        if !seals.contains(SEALS) || stat.st_size as u64 != bytes as u64 {
            return Err(Error::Launcher { reason: "the job's memory is not sealed or not of the stated size".into() });
        }
        Segment::map(file, bytes)
    }

    fn map(file: OwnedFd, bytes: usize) -> Result<Segment> {
        // SAFETY: a fresh mapping at an address the kernel chooses; nothing existing is replaced.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::NORESERVE,
                &file,
                0,
            )
        }
        .map_err(|e| match e {
            // The system itself does not refuse this; whatever runs the program does.
            rustix::io::Errno::INVAL => Error::Invalid(format!(
                "the job's memory, {bytes} bytes of address space, cannot be mapped here, as under valgrind; start the job with a \
                 smaller heap: `hikyaku run --heap 64M`, or HIKYAKU_HEAP=64M"
            )),
            other => limits::explain("mmap", other, bytes),
        })?;
        let base = NonNull::new(base.cast()).expect("mmap never returns null");
        Ok(Segment { mapping: Arc::new(Mapping { file, base, bytes }), start: 0, base, bytes })
    }

    /// Cuts it into `count` segments of equal size, in whole pages: hosts of a simulation, of which there may be more than a
    /// process may have files.
    pub fn cut(self, count: usize) -> Vec<Segment> {
        let bytes = self.bytes / count / PAGE_BYTES * PAGE_BYTES;
        let part = |index: usize| Segment {
            mapping: self.mapping.clone(),
            start: self.start + index * bytes,
            // SAFETY: inside the mapping, since the parts together are no longer than it.
            base: unsafe { self.base.add(index * bytes) },
            bytes,
        };
        (0..count).map(part).collect()
    }

    /// The first byte.
    #[inline]
    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// `bytes` bytes of it, from `offset` on.
    ///
    /// # Panics
    /// If it has not as many.
    #[inline(always)]
    pub fn span(&self, offset: usize, bytes: usize) -> Span<'_> {
        self.whole().part(offset, bytes)
    }

    /// `bytes` bytes of it, from `offset` on; none if it has not as many.
    pub fn get(&self, offset: usize, bytes: usize) -> Option<Span<'_>> {
        self.whole().get(offset, bytes)
    }

    #[inline(always)]
    fn whole(&self) -> Span<'_> {
        // SAFETY: mapped as long as this is there; whoever maps the file has copies and atomics for it alone.
        unsafe { Span::new(self.base, self.bytes) }
    }

    /// The size.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The descriptor, to be passed to a peer.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.mapping.file.as_fd()
    }

    /// Takes zeroed pages for `[start, start + bytes)` now, so that touching them later cannot fail.
    pub fn commit(&self, start: usize, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        assert!(start <= self.bytes && bytes <= self.bytes - start, "inside the segment");
        limits::check_memory(bytes)?;
        let start = (self.start + start) as u64;
        loop {
            match rustix::fs::fallocate(&self.mapping.file, FallocateFlags::empty(), start, bytes as u64) {
                Err(rustix::io::Errno::INTR) => continue,
                other => return other.map_err(|e| limits::explain("fallocate", e, bytes)),
            }
        }
    }

    /// As [`Segment::commit`], where `ranks` of this host may ask for as much at the same time: if there may not be enough for all, they
    /// take turns, so that each finds out before it takes anything.
    pub fn commit_among(&self, start: usize, bytes: usize, ranks: usize) -> Result<()> {
        /// The margins stand for less.
        const LARGE: usize = 1 << 20;
        let is_scarce = || !limits::has_room((bytes as u64).saturating_mul(ranks as u64));
        let _turn = if ranks > 1 && bytes >= LARGE && is_scarce() { Turn::of(&self.mapping.file) } else { None };
        self.commit(start, bytes)
    }

    /// Gives the whole pages inside `[start, start + bytes)` back; they read as zero afterwards.
    pub fn release(&self, start: usize, bytes: usize) {
        let first = start.next_multiple_of(PAGE_BYTES);
        let end = (start + bytes) / PAGE_BYTES * PAGE_BYTES;
        self.punch(first, end);
    }

    /// Makes `[first, end)` zero. The kernel takes the whole pages in it, and zeroes its parts of others.
    fn punch(&self, first: usize, end: usize) {
        if end > first {
            assert!(end <= self.bytes, "inside the segment");
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            // Failing to give memory back early is no error: it goes with the segment.
            let start = (self.start + first) as u64;
            let _ = rustix::fs::fallocate(&self.mapping.file, hole, start, (end - first) as u64);
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `map`, unmapped once; nobody holds pointers into it past the segments that keep it.
        unsafe {
            let _ = rustix::mm::munmap(self.base.as_ptr().cast(), self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_cannot_be_truncated_or_grown_or_unsealed() {
        let segment = Segment::create(8 * PAGE_BYTES).unwrap();
        assert!(rustix::fs::ftruncate(segment.file(), 0).is_err());
        assert!(rustix::fs::ftruncate(segment.file(), 1 << 30).is_err());
        assert!(rustix::fs::fcntl_add_seals(segment.file(), SealFlags::WRITE).is_err());
    }

    #[test]
    fn a_file_that_is_not_sealed_is_refused() {
        let file = rustix::fs::memfd_create("x", MemfdFlags::ALLOW_SEALING).unwrap();
        rustix::fs::ftruncate(&file, PAGE_BYTES as u64).unwrap();
        assert!(Segment::open(file, PAGE_BYTES).is_err());
    }

    #[test]
    fn released_pages_read_as_zero() {
        let segment = Segment::create(4 * PAGE_BYTES).unwrap();
        segment.commit(0, 4 * PAGE_BYTES).unwrap();
        // SAFETY: inside the segment.
        unsafe { segment.base().add(PAGE_BYTES).write_volatile(7) };
        segment.release(PAGE_BYTES, PAGE_BYTES);
        // SAFETY: inside the segment.
        assert_eq!(unsafe { segment.base().add(PAGE_BYTES).read_volatile() }, 0);
    }

    /// What is given back where pages are larger than the unit.
    #[test]
    fn parts_of_pages_read_as_zero_and_their_neighbours_as_before() {
        let page = rustix::param::page_size();
        let segment = Segment::create(4 * page).unwrap();
        segment.commit(0, 4 * page).unwrap();
        let base = segment.base();
        for at in 0..4 * page {
            // SAFETY: inside the mapping.
            unsafe { base.add(at).write_volatile(7) };
        }
        for (first, end) in [(64, 128), (page / 2, page + page / 2), (2 * page + 64, 4 * page - 64)] {
            segment.punch(first, end);
        }
        let holes = [64..128, page / 2..page + page / 2, 2 * page + 64..4 * page - 64];
        for at in 0..4 * page {
            let expected = if holes.iter().any(|hole| hole.contains(&at)) { 0 } else { 7 };
            // SAFETY: inside the mapping.
            assert_eq!(unsafe { base.add(at).read_volatile() }, expected, "byte {at}");
        }
    }
}
