//! Looking for messages without entering the engine: a few loads, so that a waiting rank can look all the time.
//!
//! ```text
//!   engine (one thread at a time)               a thread that wants to sleep
//!   a new source: note its ring, note its bit   show that it sleeps; heavy fence (`sync::bell`)
//!   a message read: note how far                the next message of a noted ring arrived?  spilled?
//!   light fence; wake who sleeps                a bit that is not noted?   no: nothing to do
//! ```
//! A look may miss what the engine is about to note, or sees old notes beside new ones; so whoever has noted anything in
//! the engine wakes the sleepers of the rank afterwards. Either the engine sees the sleeper, or the sleeper's look sees all
//! the notes; and then a message that nobody has read is found, or its sender sees the sleeper.

use crate::sync::atomic::{AtomicU64, Ordering};

/// What the engine has noted. Written by whoever is in the engine, read by all threads of the rank.
#[derive(Debug)]
pub struct Lookout {
    /// The attached bits the engine knows.
    seen: Box<[AtomicU64]>,
    /// Rings the engine reads.
    rings: Box<[Noted]>,
    ring_count: AtomicU64,
    /// Messages of handlers that wait for room.
    spilled: AtomicU64,
    /// Packets of far ranks that were put off.
    put_off: AtomicU64,
    /// Pins that ports have left to be released.
    left: AtomicU64,
}

#[derive(Debug, Default)]
struct Noted {
    source: AtomicU64,
    /// How far its ring was read.
    consumed: AtomicU64,
}

/// In place of the source of a ring that is no longer read.
const CLOSED: u64 = u64::MAX;

impl Lookout {
    /// A lookout for so many sources.
    pub fn new(source_count: usize) -> Lookout {
        Lookout {
            seen: (0..source_count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            rings: (0..source_count).map(|_| Noted::default()).collect(),
            ring_count: AtomicU64::new(0),
            spilled: AtomicU64::new(0),
            put_off: AtomicU64::new(0),
            left: AtomicU64::new(0),
        }
    }

    /// Whether the engine would find something to do. `arrived` tells whether a source's message at a position is there,
    /// `attached` gives a word of the bits that senders set.
    #[inline(always)]
    pub fn anything(&self, arrived: impl Fn(usize, u64) -> bool, attached: impl Fn(usize) -> u64) -> bool {
        let rings = &self.rings[..self.ring_count.load(Ordering::Acquire) as usize];
        rings.iter().any(|ring| {
            let source = ring.source.load(Ordering::Relaxed);
            source != CLOSED && arrived(source as usize, ring.consumed.load(Ordering::Relaxed))
        }) || self.spilled.load(Ordering::Relaxed) > 0
            || self.put_off.load(Ordering::Relaxed) > 0
            || self.has_left()
            || (0..self.seen.len()).any(|word| !self.knows(word, attached(word)))
    }

    /// Whether the engine knows these attached bits. Should a peer take one back, that is nothing to look at.
    #[inline(always)]
    pub fn knows(&self, word: usize, attached: u64) -> bool {
        attached & !self.seen[word].load(Ordering::Relaxed) == 0
    }

    /// Notes attached bits; gives those that are new.
    pub fn note_attached(&self, word: usize, attached: u64) -> u64 {
        let seen = self.seen[word].load(Ordering::Relaxed);
        // Bits are never taken back; should a peer do so all the same, a ring must not be read twice.
        self.seen[word].store(attached | seen, Ordering::Relaxed);
        attached & !seen
    }

    /// Notes one more ring that the engine reads; gives its number here.
    pub fn note_ring(&self, source: usize) -> usize {
        let number = self.ring_count.load(Ordering::Relaxed);
        self.rings[number as usize].source.store(source as u64, Ordering::Relaxed);
        self.ring_count.store(number + 1, Ordering::Release);
        number as usize
    }

    /// Notes how far a ring was read.
    #[inline(always)]
    pub fn note_consumed(&self, number: usize, consumed: u64) {
        self.rings[number].consumed.store(consumed, Ordering::Relaxed);
    }

    /// Notes that a ring is no longer read.
    pub fn close(&self, number: usize) {
        self.rings[number].source.store(CLOSED, Ordering::Relaxed);
    }

    /// Whether packets of far ranks were put off.
    pub fn has_put_off(&self) -> bool {
        self.put_off.load(Ordering::Relaxed) > 0
    }

    /// Notes how many packets of far ranks were put off.
    pub fn note_put_off(&self, put_off: usize) {
        self.put_off.store(put_off as u64, Ordering::Relaxed);
    }

    /// Whether ports have left pins to be released.
    #[inline(always)]
    pub fn has_left(&self) -> bool {
        self.left.load(Ordering::Relaxed) > 0
    }

    /// Notes how many pins ports have left to be released. Under the lock of those.
    pub fn note_left(&self, left: usize) {
        self.left.store(left as u64, Ordering::Relaxed);
    }

    /// Notes how many messages of handlers wait for room.
    pub fn note_spilled(&self, spilled: usize) {
        self.spilled.store(spilled as u64, Ordering::Relaxed);
    }
}
