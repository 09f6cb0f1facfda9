//! Changing a word of 8 bytes that others may change at the same moment.

use std::sync::atomic::{AtomicU64, Ordering};

/// What an atomic operation does with a word. All give the value from before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Atomic {
    /// Adds, wrapping around.
    Add(u64),
    /// Replaces.
    Swap(u64),
    /// Replaces by `new` if the word equals `old`.
    CompareSwap {
        /// The value expected.
        old: u64,
        /// The value to store.
        new: u64,
    },
    /// Bitwise and.
    And(u64),
    /// Bitwise or.
    Or(u64),
    /// Bitwise exclusive or.
    Xor(u64),
}

impl Atomic {
    /// Does it.
    #[inline(always)]
    pub(crate) fn perform(self, word: &AtomicU64) -> u64 {
        match self {
            Atomic::Add(value) => word.fetch_add(value, Ordering::SeqCst),
            Atomic::Swap(value) => word.swap(value, Ordering::SeqCst),
            Atomic::CompareSwap { old, new } => {
                word.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst).unwrap_or_else(|seen| seen)
            }
            Atomic::And(value) => word.fetch_and(value, Ordering::SeqCst),
            Atomic::Or(value) => word.fetch_or(value, Ordering::SeqCst),
            Atomic::Xor(value) => word.fetch_xor(value, Ordering::SeqCst),
        }
    }
}
