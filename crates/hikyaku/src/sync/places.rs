//! A list of free places that threads take and give back without a lock: one bit each in a word.
//!
//! ```text
//!   whoever takes                              whoever gives back
//!   free = the lowest clear bit; none: give up      use the place no more
//!   set it, if the word is as it was (acquire)      clear the bit (release)
//! ```
//! What is kept at a place belongs to whoever has it: taking acquires what the one before has released. A list of linked nodes would
//! have to tell a node that was taken and given back from one that stayed; a bit need not.

use super::atomic::{AtomicU64, Ordering};

/// As many places as a word has bits.
pub const PLACES_MAX: usize = 64;

/// Which places are taken.
#[derive(Debug)]
pub struct Places {
    taken: AtomicU64,
    count: usize,
}

impl Places {
    /// `count` places, of which the first `taken` are.
    ///
    /// # Panics
    /// If there are more than a word has bits.
    pub fn new(count: usize, taken: usize) -> Places {
        assert!(count <= PLACES_MAX && taken < PLACES_MAX);
        Places { taken: AtomicU64::new((1 << taken) - 1), count }
    }

    /// How many there are, taken or not.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Takes the first that is free.
    pub fn take(&self) -> Option<usize> {
        let mut taken = self.taken.load(Ordering::Relaxed);
        loop {
            let free = (!taken).trailing_zeros() as usize;
            if free >= self.count {
                return None;
            }
            match self.taken.compare_exchange_weak(taken, taken | 1 << free, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(free),
                Err(now) => taken = now,
            }
        }
    }

    /// Gives one back. Whoever took it does, once.
    pub fn give(&self, place: usize) {
        self.taken.fetch_and(!(1 << place), Ordering::Release);
    }
}
