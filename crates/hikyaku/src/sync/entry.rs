//! A few words described under a key that changes: what a rank tells of one of its areas.
//!
//! ```text
//!   owner                              reader
//!   key = 0        (revoked)           k = key, acquired;  0: nothing there
//!   release fence                      read the words
//!   write the words                    acquire fence
//!   key = new, released                key still k?  no: nothing there
//! ```
//! A reader that sees a word of a new description sees, at its second look, that the old key is gone.

use super::atomic::{AtomicU64, Ordering, fence};
use super::shared;

/// Words of a description.
pub const WORD_COUNT: usize = 3;

shared! {
    /// The entry. Written by its owner alone (one thread at a time), read by every peer.
    #[derive(Debug)]
    pub struct Entry {
        /// A random number while there is a description, else 0.
        key: AtomicU64,
        words: [AtomicU64; WORD_COUNT],
    }
}

impl Entry {
    /// Describes something under `key`; false if the entry is taken.
    pub fn publish(&self, key: u64, words: [u64; WORD_COUNT]) -> bool {
        if self.key.load(Ordering::Relaxed) != 0 {
            return false;
        }
        // After the old key went, before any new word comes.
        fence(Ordering::Release);
        for (place, word) in self.words.iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
        self.key.store(key, Ordering::Release);
        true
    }

    /// The key and the words that belong to it, if there are any and they are not just changing.
    pub fn look(&self) -> Option<(u64, [u64; WORD_COUNT])> {
        let key = self.key.load(Ordering::Acquire);
        let words = core::array::from_fn(|i| self.words[i].load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        (key != 0 && self.key.load(Ordering::Relaxed) == key).then_some((key, words))
    }

    /// Whether the description is still the one of `key`.
    #[inline]
    pub fn is(&self, key: u64) -> bool {
        self.key.load(Ordering::Acquire) == key
    }

    /// Takes the description of `key` away; false if it was gone before.
    pub fn revoke(&self, key: u64) -> bool {
        self.key.compare_exchange(key, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Takes away whatever is described: a key that nobody has published, should somebody else have written here.
    pub fn clear(&self) {
        self.key.store(0, Ordering::SeqCst);
    }

    /// For models; in a job it is zeroed mapped memory.
    pub fn new() -> Entry {
        Entry { key: AtomicU64::new(0), words: core::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

impl Default for Entry {
    fn default() -> Entry {
        Entry::new()
    }
}
