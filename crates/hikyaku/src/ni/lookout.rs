//! Looking for messages without entering the engine: a few loads, so that a waiting rank can look all the time.
//!
//! The engine writes down how far it has read each ring. A look may be late, never wrong in the other direction: what
//! is written down is at most what was read, so a message that nobody has read is always found.

use super::Ni;
use crate::transport::shm::layout::Layout;
use crate::transport::shm::ring::arrived;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// What the engine has written down. Written by whoever is in the engine, read by all threads of the rank.
pub(crate) struct Lookout {
    /// The attached bits the engine knows.
    seen: Box<[AtomicU64]>,
    /// Rings the engine reads, and how far it has read each.
    rings: Box<[(AtomicUsize, AtomicU64)]>,
    ring_count: AtomicUsize,
    /// Messages of handlers that wait for room.
    spilled: AtomicUsize,
}

/// In place of a ring that is no longer read.
const CLOSED: usize = usize::MAX;

impl Lookout {
    pub fn new(layout: &Layout) -> Lookout {
        let sources = layout.size * layout.ports;
        Lookout {
            seen: (0..sources.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            rings: (0..sources).map(|_| Default::default()).collect(),
            ring_count: AtomicUsize::new(0),
            spilled: AtomicUsize::new(0),
        }
    }

    /// Whether the engine would find something to do.
    #[inline(always)]
    pub fn anything(&self, ni: &Ni) -> bool {
        let rings = &self.rings[..self.ring_count.load(Ordering::Acquire)];
        rings.iter().any(|(ring, consumed)| {
            let source = ring.load(Ordering::Relaxed);
            source != CLOSED && arrived(ni.memory.ring(ni.rank, source), consumed.load(Ordering::Relaxed))
        }) || self.spilled.load(Ordering::Relaxed) > 0
            || (0..self.seen.len()).any(|word| {
                ni.memory.attached(ni.rank, word).load(Ordering::Relaxed) != self.seen[word].load(Ordering::Relaxed)
            })
    }

    pub fn set_seen(&self, word: usize, bits: u64) {
        self.seen[word].store(bits, Ordering::Relaxed);
    }

    pub fn seen(&self, word: usize) -> u64 {
        self.seen[word].load(Ordering::Relaxed)
    }

    /// The engine reads one more ring; gives its number here.
    pub fn add(&self, source: usize) -> usize {
        let number = self.ring_count.load(Ordering::Relaxed);
        self.rings[number].0.store(source, Ordering::Relaxed);
        self.ring_count.store(number + 1, Ordering::Release);
        number
    }

    #[inline(always)]
    pub fn set_consumed(&self, number: usize, consumed: u64) {
        self.rings[number].1.store(consumed, Ordering::Release);
    }

    pub fn close(&self, number: usize) {
        self.rings[number].0.store(CLOSED, Ordering::Relaxed);
    }

    pub fn set_spilled(&self, spilled: usize) {
        self.spilled.store(spilled, Ordering::Relaxed);
    }
}
