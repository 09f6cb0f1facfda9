//! Changing a number that others may change at the same moment.

use bytemuck::Pod;
use sealed::Sealed;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What an atomic operation does with a number. All give the value from before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Atomic<T = u64> {
    /// Adds; integers wrap around.
    Add(T),
    /// Replaces.
    Swap(T),
    /// Replaces by `new` if the number equals `old`, bit for bit.
    CompareSwap {
        /// The value expected.
        old: T,
        /// The value to store.
        new: T,
    },
    /// Bitwise and.
    And(T),
    /// Bitwise or.
    Or(T),
    /// Bitwise exclusive or.
    Xor(T),
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

    /// Does it on half a word, with the lower halves of what it is given.
    #[inline(always)]
    pub(crate) fn perform_on_half(self, half: &AtomicU32) -> u64 {
        let before = match self {
            Atomic::Add(value) => half.fetch_add(value as u32, Ordering::SeqCst),
            Atomic::Swap(value) => half.swap(value as u32, Ordering::SeqCst),
            Atomic::CompareSwap { old, new } => half
                .compare_exchange(old as u32, new as u32, Ordering::SeqCst, Ordering::SeqCst)
                .unwrap_or_else(|seen| seen),
            Atomic::And(value) => half.fetch_and(value as u32, Ordering::SeqCst),
            Atomic::Or(value) => half.fetch_or(value as u32, Ordering::SeqCst),
            Atomic::Xor(value) => half.fetch_xor(value as u32, Ordering::SeqCst),
        };
        before.into()
    }
}

impl<T> Atomic<T> {
    fn map<U>(self, each: impl Fn(T) -> U) -> Atomic<U> {
        match self {
            Atomic::Add(value) => Atomic::Add(each(value)),
            Atomic::Swap(value) => Atomic::Swap(each(value)),
            Atomic::CompareSwap { old, new } => Atomic::CompareSwap { old: each(old), new: each(new) },
            Atomic::And(value) => Atomic::And(each(value)),
            Atomic::Or(value) => Atomic::Or(each(value)),
            Atomic::Xor(value) => Atomic::Xor(each(value)),
        }
    }
}

/// Adds a floating-point number, both given by their bits. Addition is tried until nobody came between.
#[inline]
pub(crate) fn add_float(word: &AtomicU64, amount: u64) -> u64 {
    let sum = |bits| (f64::from_bits(bits) + f64::from_bits(amount)).to_bits();
    let mut before = word.load(Ordering::Relaxed);
    loop {
        match word.compare_exchange_weak(before, sum(before), Ordering::SeqCst, Ordering::Relaxed) {
            Ok(before) => return before,
            Err(seen) => before = seen,
        }
    }
}

/// A change of any number, as it travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Of 8 bytes.
    Word(Atomic),
    /// Of 4 bytes, with the lower halves of what it is given.
    Half(Atomic),
    /// Of an `f64`, by bits: the others are those of words.
    AddFloat(u64),
}

/// A number that ranks change atomically: `u64`, `i64`, `u32`, `i32` or `f64`. Bitwise operations and comparisons of an `f64` are
/// those of its bits.
pub trait AtomicNumber: Pod + Sealed {}

impl AtomicNumber for u64 {}
impl AtomicNumber for i64 {}
impl AtomicNumber for u32 {}
impl AtomicNumber for i32 {}
impl AtomicNumber for f64 {}

mod sealed {
    use super::{Atomic, Change};

    /// How such a number is changed as bits.
    pub trait Sealed: Sized {
        fn change(operation: Atomic<Self>) -> Change;
        fn from_bits(bits: u64) -> Self;
    }

    impl Sealed for u64 {
        #[inline(always)]
        fn change(operation: Atomic) -> Change {
            Change::Word(operation)
        }

        #[inline(always)]
        fn from_bits(bits: u64) -> u64 {
            bits
        }
    }

    impl Sealed for i64 {
        #[inline(always)]
        fn change(operation: Atomic<i64>) -> Change {
            Change::Word(operation.map(|value| value as u64))
        }

        #[inline(always)]
        fn from_bits(bits: u64) -> i64 {
            bits as i64
        }
    }

    impl Sealed for u32 {
        #[inline(always)]
        fn change(operation: Atomic<u32>) -> Change {
            Change::Half(operation.map(u64::from))
        }

        #[inline(always)]
        fn from_bits(bits: u64) -> u32 {
            bits as u32
        }
    }

    impl Sealed for i32 {
        #[inline(always)]
        fn change(operation: Atomic<i32>) -> Change {
            Change::Half(operation.map(|value| u64::from(value as u32)))
        }

        #[inline(always)]
        fn from_bits(bits: u64) -> i32 {
            bits as i32
        }
    }

    impl Sealed for f64 {
        #[inline(always)]
        fn change(operation: Atomic<f64>) -> Change {
            match operation {
                Atomic::Add(value) => Change::AddFloat(value.to_bits()),
                other => Change::Word(other.map(f64::to_bits)),
            }
        }

        #[inline(always)]
        fn from_bits(bits: u64) -> f64 {
            f64::from_bits(bits)
        }
    }
}
