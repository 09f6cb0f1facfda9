//! Some bytes of memory that peers may read and write at any moment: where they begin, how many they are, and that they stay.
//!
//! What is computed from offsets becomes a span of the segment, by one check, and from there on every part of it is checked to be
//! one. There is no `&[u8]` to such memory: bytes are copied in and out (`memory::copy` says why), and what is kept there as words is
//! [`Shared`]. So nothing that a peer writes breaks a promise of the language; it can only be wrong, and is looked at afterwards.

use super::copy;
use crate::sync::Shared;
use crate::sync::atomic::AtomicU64;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Bytes of mapped memory, which stays mapped for `'m`.
#[derive(Clone, Copy, Debug)]
pub struct Span<'m> {
    start: NonNull<u8>,
    bytes: usize,
    memory: PhantomData<&'m ()>,
}

// SAFETY: a span gives no access but copies and atomics, which any thread may make at any time.
unsafe impl Send for Span<'_> {}
// SAFETY: as above.
unsafe impl Sync for Span<'_> {}

impl<'m> Span<'m> {
    /// # Safety
    /// `bytes` bytes at `start` are readable and writable for `'m`, and meanwhile there is no Rust reference to them but such to
    /// [`Shared`] types.
    #[inline(always)]
    pub unsafe fn new(start: NonNull<u8>, bytes: usize) -> Span<'m> {
        Span { start, bytes, memory: PhantomData }
    }

    /// Where they are, for who compares addresses, fetches lines ahead, or tells the kernel.
    #[inline(always)]
    pub fn start(self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// `bytes` of them from `offset` on; none if it has not as many.
    #[inline(always)]
    pub fn get(self, offset: usize, bytes: usize) -> Option<Span<'m>> {
        let is_inside = offset <= self.bytes && bytes <= self.bytes - offset;
        // SAFETY: inside, so at most one past its end.
        is_inside.then(|| Span { start: unsafe { self.start.add(offset) }, bytes, memory: PhantomData })
    }

    /// `bytes` of them from `offset` on.
    ///
    /// # Panics
    /// If it has not as many.
    #[inline(always)]
    pub fn part(self, offset: usize, bytes: usize) -> Span<'m> {
        match self.get(offset, bytes) {
            Some(part) => part,
            None => outside(offset, bytes, self.bytes),
        }
    }

    /// Words at `offset`; none if they are not inside, or not aligned.
    #[inline(always)]
    pub fn try_at<T: Shared>(self, offset: usize) -> Option<&'m T> {
        let place = self.get(offset, size_of::<T>())?.start.cast::<T>();
        if !place.is_aligned() {
            return None;
        }
        // SAFETY: inside what stays mapped for `'m`, and aligned. `T` is made of atomics, so any bytes are valid, and others may write
        // them.
        Some(unsafe { place.as_ref() })
    }

    /// Words at `offset`.
    ///
    /// # Panics
    /// If they are not inside, or not aligned.
    #[inline(always)]
    pub fn at<T: Shared>(self, offset: usize) -> &'m T {
        match self.try_at(offset) {
            Some(words) => words,
            None => outside(offset, size_of::<T>(), self.bytes),
        }
    }

    /// All of it as words, as far as whole ones fit; none if they are not aligned.
    #[inline(always)]
    pub fn all<T: Shared>(self) -> Option<&'m [T]> {
        let first = self.start.cast::<T>();
        // SAFETY: inside what stays mapped for `'m`, and aligned. `T` is made of atomics, so any bytes are valid, and others may write
        // them.
        first.is_aligned().then(|| unsafe { std::slice::from_raw_parts(first.as_ptr(), self.bytes / size_of::<T>()) })
    }

    /// Copies `data` to the first bytes.
    ///
    /// # Panics
    /// If there are not as many.
    #[inline(always)]
    pub fn copy_in(self, data: &[u8]) {
        let to = self.part(0, data.len());
        // SAFETY: as many bytes in both; a race is no matter to such a copy.
        unsafe { copy::copy(to.start.as_ptr(), data.as_ptr(), data.len()) };
    }

    /// Copies `data` to the first bytes, which another core reads next.
    ///
    /// # Panics
    /// If there are not as many.
    #[inline(always)]
    pub fn send_in(self, data: &[u8]) {
        let to = self.part(0, data.len());
        // SAFETY: as many bytes in both; a race is no matter to such a copy.
        unsafe { copy::copy_away(to.start.as_ptr(), data.as_ptr(), data.len()) };
    }

    /// Copies the first bytes to `into`.
    ///
    /// # Panics
    /// If there are not as many.
    #[inline(always)]
    pub fn copy_out(self, into: &mut [u8]) {
        let from = self.part(0, into.len());
        // SAFETY: as many bytes in both; a race is no matter to such a copy.
        unsafe { copy::copy(into.as_mut_ptr(), from.start.as_ptr(), into.len()) };
    }

    /// Copies the first bytes to `into`, a part of something that the caches do not hold, or do.
    ///
    /// # Panics
    /// If there are not as many.
    #[inline(always)]
    pub fn copy_out_part(self, uncached: bool, into: &mut [u8]) {
        let from = self.part(0, into.len());
        // SAFETY: as many bytes in both; a race is no matter to such a copy.
        unsafe { copy::copy_part(uncached, into.as_mut_ptr(), from.start.as_ptr(), into.len()) };
    }
}

/// Words as the bytes they are. Not of any shared type: the padding of one may not be written.
impl<'m> From<&'m [AtomicU64]> for Span<'m> {
    #[inline(always)]
    fn from(words: &'m [AtomicU64]) -> Span<'m> {
        let start = NonNull::from(words).cast();
        // SAFETY: borrowed for so long; to these words there are shared references alone, which allow that they change.
        unsafe { Span::new(start, size_of_val(words)) }
    }
}

#[cold]
#[inline(never)]
fn outside(offset: usize, bytes: usize, len: usize) -> ! {
    panic!("{bytes} bytes at {offset} pass the end of {len}, or are no words")
}

#[cfg(test)]
mod tests {
    use crate::memory::segment::{PAGE_BYTES, Segment};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn parts_are_inside_and_bytes_arrive() {
        let segment = Segment::create(PAGE_BYTES).unwrap();
        let span = segment.span(0, PAGE_BYTES);
        span.part(100, 5).copy_in(b"bytes");
        let mut got = [0; 7];
        span.part(99, 7).copy_out(&mut got);
        assert_eq!(&got, b"\0bytes\0");
        span.at::<AtomicU64>(8).store(7, Ordering::Relaxed);
        span.part(8, 1).copy_out_part(true, &mut got[..1]);
        assert_eq!(got[0], u64::to_ne_bytes(7)[0]);
        span.part(PAGE_BYTES, 0).copy_in(&[]);
        for (offset, bytes) in [(0, PAGE_BYTES + 1), (PAGE_BYTES + 1, 0), (1, usize::MAX), (usize::MAX, 1)] {
            assert!(span.get(offset, bytes).is_none(), "{bytes} at {offset}");
        }
    }

    #[test]
    fn what_is_not_inside_panics() {
        let segment = Segment::create(PAGE_BYTES).unwrap();
        let span = segment.span(0, PAGE_BYTES);
        let panics = |work: &mut dyn FnMut()| catch_unwind(AssertUnwindSafe(work)).is_err();
        assert!(panics(&mut || span.part(PAGE_BYTES - 3, 3).copy_in(&[0; 4])));
        assert!(panics(&mut || span.part(PAGE_BYTES - 3, 3).copy_out(&mut [0; 4])));
        assert!(panics(&mut || _ = span.at::<AtomicU64>(PAGE_BYTES - 7)));
        assert!(panics(&mut || _ = span.at::<AtomicU64>(4)));
        assert!(panics(&mut || _ = segment.span(1, PAGE_BYTES)));
    }
}
