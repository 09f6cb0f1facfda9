//! Where a buffer is, seen from two processes, and copying between them.

use super::shape::{Run, Shape, runs};
use crate::error::{Error, Result};
use crate::memory::cache;
use crate::memory::{copy, memcheck};
use crate::message::wire::slot::Spot;
use crate::ni::Ni;
use crate::transport::shm::cross::{Direction, Pieces};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A buffer of this rank.
#[derive(Clone, Copy, Debug)]
pub(in crate::message) struct Buffer {
    pub start: *mut u8,
    pub bytes: usize,
    pub shape: Shape,
}

/// The buffer on the other side of a message.
#[derive(Clone, Copy, Debug)]
pub(in crate::message) struct Distant {
    rank: usize,
    place: Location,
    pub bytes: usize,
    shape: Shape,
}

/// Where it is.
#[derive(Clone, Copy, Debug)]
enum Location {
    /// In job memory, at an offset that was checked.
    Mapped(usize),
    /// In private memory of its rank, as that has told.
    Private(u64),
    /// A buffer of this rank, as it knows itself.
    Own(*mut u8),
    /// One that this rank has no more.
    Gone,
}

impl Buffer {
    /// One that lies in one piece.
    #[inline(always)]
    pub fn whole(start: *mut u8, bytes: usize) -> Buffer {
        Buffer { start, bytes, shape: Shape::WHOLE }
    }

    /// One that is only read.
    #[inline(always)]
    pub fn of(data: &[u8]) -> Buffer {
        Buffer::whole(data.as_ptr().cast_mut(), data.len())
    }

    /// One that is written.
    #[inline(always)]
    pub fn of_mut(data: &mut [u8]) -> Buffer {
        Buffer::whole(data.as_mut_ptr(), data.len())
    }

    /// One that lies in one piece, to read it.
    ///
    /// # Safety
    /// It stays, and nobody writes it, for `'a`. The start of an empty one may be anything.
    #[inline(always)]
    pub unsafe fn as_slice<'a>(&self) -> &'a [u8] {
        assert!(self.shape.is_whole());
        // SAFETY: the caller's promise.
        if self.bytes == 0 { &[] } else { unsafe { std::slice::from_raw_parts(self.start, self.bytes) } }
    }

    /// Copies bytes that lie in one piece to where those of this buffer from `at` on belong.
    ///
    /// # Safety
    /// `from` is readable for `bytes` bytes, the buffer writable from `at` on for as many.
    #[inline(always)]
    pub unsafe fn fill(&self, at: usize, from: *const u8, bytes: usize) {
        if self.shape.is_whole() {
            // SAFETY: the caller's promise.
            return unsafe { copy::copy(self.start.add(at), from, bytes) };
        }
        for run in runs(at..at + bytes, [self.shape, Shape::WHOLE]) {
            // SAFETY: the caller's promise.
            unsafe { copy::copy(self.start.add(run.starts[0]), from.add(run.starts[1] - at), run.bytes) };
        }
    }

    /// Peers have written its first `bytes`.
    pub fn was_written(&self, bytes: usize) {
        if memcheck::is_running() {
            let runs = runs(0..bytes, [self.shape, Shape::WHOLE]);
            runs.for_each(|run| memcheck::written_by_another(self.start.wrapping_add(run.starts[0]), run.bytes));
        }
    }

    /// Copies the whole buffer to bytes that lie in one piece.
    ///
    /// # Safety
    /// The buffer is readable, `to` writable for as many bytes.
    pub unsafe fn copy_to(&self, to: *mut u8) {
        for run in runs(0..self.bytes, [self.shape, Shape::WHOLE]) {
            // SAFETY: the caller's promise.
            unsafe { copy::copy(to.add(run.starts[1]), self.start.add(run.starts[0]), run.bytes) };
        }
    }

    /// Its offset in job memory, if it lies there.
    fn offset(&self, ni: &Ni) -> Option<usize> {
        let segment = &ni.memory.segment;
        let offset = (self.start as usize).wrapping_sub(segment.base() as usize);
        let extent = self.shape.extent(self.bytes)?;
        (offset < segment.bytes() && extent <= segment.bytes() - offset).then_some(offset)
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
        spot.shape.store(self.shape.word(), Ordering::Relaxed);
    }
}

/// The bytes of a buffer, in one piece; `None` without memory for them.
pub(in crate::message) fn copy_of(buffer: Buffer) -> Option<Box<[u8]>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(buffer.bytes).ok()?;
    // SAFETY: room for as many bytes, all of which are written before they count.
    unsafe {
        buffer.copy_to(copy.as_mut_ptr());
        copy.set_len(buffer.bytes);
    }
    Some(copy.into_boxed_slice())
}

/// A part of the own heap that stands in for a buffer peers cannot reach; given back when dropped.
pub(in crate::message) struct Staged {
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
        Buffer::whole(self.ni.own_bytes(self.start, self.bytes), self.bytes)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        self.ni.give_heap(self.start, self.bytes);
    }
}

impl Distant {
    /// A buffer of this rank `rank`, as it knows itself, and whether it is still there.
    pub fn own(rank: usize, buffer: Buffer, is_there: bool) -> Distant {
        let Buffer { start, bytes, shape } = buffer;
        let place = if is_there { Location::Own(start) } else { Location::Gone };
        Distant { rank, place, bytes, shape }
    }

    /// The rank that it belongs to.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Reads what `rank` told, and believes it only as far as it does no harm here.
    pub fn heard(ni: &Ni, rank: usize, spot: &Spot) -> Result<Distant> {
        let start = spot.start.load(Ordering::Relaxed);
        let bytes = spot.bytes.load(Ordering::Relaxed);
        let mapped = spot.mapped.load(Ordering::Relaxed) == 1;
        let (bytes, shape) = (bytes as usize, Shape::of_word(spot.shape.load(Ordering::Relaxed)));
        let extent = shape.extent(bytes).filter(|extent| *extent <= isize::MAX as usize);
        let end = extent.and_then(|extent| start.checked_add(extent as u64));
        let inside = end.is_some_and(|end| !mapped || end <= ni.memory.segment.bytes() as u64);
        match inside {
            true if mapped => Ok(Distant { rank, place: Location::Mapped(start as usize), bytes, shape }),
            true => Ok(Distant { rank, place: Location::Private(start), bytes, shape }),
            false => Err(Error::PeerMisbehaved { rank, what: "a buffer outside its memory" }),
        }
    }

    /// Whether bytes can be moved from here without the peer's help.
    pub fn is_reachable(&self, ni: &Ni) -> bool {
        match self.place {
            Location::Mapped(_) | Location::Own(_) => true,
            Location::Private(_) => ni.threads || ni.crosses_to(self.rank),
            Location::Gone => false,
        }
    }

    /// The address, or where it is in the process of its rank.
    fn find(&self, ni: &Ni) -> std::result::Result<*mut u8, u64> {
        match self.place {
            // SAFETY: checked to lie in the segment.
            Location::Mapped(offset) => Ok(unsafe { ni.memory.segment.base().add(offset) }),
            Location::Private(address) if ni.threads => Ok(address as usize as *mut u8),
            Location::Private(address) => Err(address),
            Location::Own(start) => Ok(start),
            Location::Gone => Err(0),
        }
    }

    /// Whether the caches do not hold a message between it and an own buffer: the shorter one is as long as the message.
    fn is_uncached(&self, own: Buffer) -> bool {
        self.bytes.min(own.bytes) > cache::transfer_max()
    }

    /// Copies a part of an own buffer to the same place here.
    ///
    /// # Safety
    /// Both buffers hold that part and stay while this runs; nobody else writes the target.
    pub unsafe fn write(&self, ni: &Ni, from: Buffer, part: Range<usize>) -> Result<()> {
        match self.find(ni) {
            Ok(target) => {
                let uncached = self.is_uncached(from);
                for Run { bytes, starts: [there, here] } in runs(part, [self.shape, from.shape]) {
                    // SAFETY: the caller's promise.
                    unsafe { copy::copy_part(uncached, target.add(there), from.start.add(here), bytes) };
                }
                Ok(())
            }
            // SAFETY: the caller's promise.
            Err(there) => unsafe { self.cross(ni, Direction::Write, there, from, part) },
        }
    }

    /// Copies a part of here to the same place of an own buffer.
    ///
    /// # Safety
    /// Both buffers hold that part and stay while this runs; nobody else writes the target.
    pub unsafe fn read(&self, ni: &Ni, into: Buffer, part: Range<usize>) -> Result<()> {
        match self.find(ni) {
            Ok(source) => {
                let uncached = self.is_uncached(into);
                for Run { bytes, starts: [there, here] } in runs(part, [self.shape, into.shape]) {
                    // SAFETY: the caller's promise.
                    unsafe { copy::copy_part(uncached, into.start.add(here), source.add(there), bytes) };
                }
                Ok(())
            }
            // SAFETY: the caller's promise.
            Err(there) => unsafe { self.cross(ni, Direction::Read, there, into, part) },
        }
    }

    /// Copies a part between here and an own buffer through the kernel, some runs at a time.
    ///
    /// # Safety
    /// As above.
    unsafe fn cross(&self, ni: &Ni, direction: Direction, address: u64, own: Buffer, part: Range<usize>) -> Result<()> {
        let unreached = Error::PeerMisbehaved { rank: self.rank, what: "a buffer that cannot be reached" };
        let process = ni.crossing(self.rank).ok_or(unreached)?;
        let mut at = part.start;
        while at < part.end {
            let mut pieces = Pieces::default();
            for Run { bytes, starts: [there, here] } in runs(at..part.end, [self.shape, own.shape]) {
                if !pieces.add(own.start.wrapping_add(here), address.wrapping_add(there as u64), bytes) {
                    break;
                }
            }
            // SAFETY: parts of the own buffer, by the caller's promise.
            let moved = unsafe { pieces.move_some(direction, process) };
            at += moved.map_err(|error| ni.why_unreached(self.rank, error))?;
        }
        Ok(())
    }
}
