//! Parts of the own heap that layers above keep, to use them again: how much that is together.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that are kept.
#[derive(Debug)]
pub(crate) struct Kept {
    bytes: AtomicUsize,
    max: usize,
}

impl Kept {
    /// The most: a rank that runs ahead of the others sends so much before any of it is received.
    pub const MAX: usize = 4 << 20;
    /// But no larger share of its heap.
    const SHARE: usize = 16;

    /// For a rank with so large a heap.
    pub fn new(heap_bytes: usize) -> Kept {
        Kept { bytes: AtomicUsize::new(0), max: Kept::MAX.min(heap_bytes / Kept::SHARE) }
    }

    /// Keeps so many bytes more; false if that is too much.
    pub fn add(&self, bytes: usize) -> bool {
        // Threads that add at the same time may keep a little more.
        let fits = self.bytes.load(Ordering::Relaxed) + bytes <= self.max;
        if fits {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        fits
    }

    /// So many bytes are in use again, or the heap's.
    pub fn subtract(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}
