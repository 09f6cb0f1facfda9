//! Protocols on a few shared words: the alphabet everything above is spelled with.
//!
//! Rests on: nothing but atomics and two system calls (futex, membarrier).
//! Leaves out: where the words live. A protocol here is a struct of atomics; `memory` lays it over
//! mapped memory, and the loom models in `tests/loom.rs` build it on the heap and explore every interleaving.
//!
//! | file | concept |
//! |---|---|
//! | `atomic` | the atomic types, replaced by loom's under `--cfg loom` |
//! | `line` | one cache line per writer |
//! | `fence` | the asymmetric fence: free for the frequent side, a system call for the rare side |
//! | `futex` | sleeping on a word shared between processes |
//! | `bell` | waking a sleeper at no cost to the sender when nobody sleeps |
//! | `brief` | locks of the threads of one rank, most of them for some instructions |
//! | `barrier` | flags in a butterfly, and one counter for crowded cores |
//! | `departure` | telling everybody that a rank has ended |
//! | `entry` | a few words described under a key that changes |
//! | `gate` | threads that wait for a decision, and all pass or none |
//! | `guard` | waiting until nobody is inside an operation on memory that is being taken away |
//! | `places` | a list of free places, without a lock |
//! | `signals` | threads of the library, which take no signals |

pub mod atomic;
pub mod barrier;
pub mod bell;
pub mod brief;
pub mod departure;
pub mod entry;
pub mod fence;
pub mod futex;
pub mod gate;
pub mod guard;
pub mod line;
pub mod places;
#[cfg(not(loom))]
pub mod signals;

/// A type made of atomics alone.
///
/// # Safety
/// Every field is an atomic (or an array or struct of them), so that any bit pattern is valid, a shared
/// reference may be held while other processes write, and the layout is fixed (`repr(C)`). Bytes between fields may be written by
/// anybody: no access to an atomic reads them.
pub unsafe trait Shared: Sync {}

// SAFETY: atomics themselves.
unsafe impl Shared for atomic::AtomicU64 {}
// SAFETY: atomics themselves.
unsafe impl Shared for atomic::AtomicU32 {}
// SAFETY: an array of shared types has no other bytes.
unsafe impl<T: Shared, const N: usize> Shared for [T; N] {}
// SAFETY: beside those of a shared type there are only bytes that nobody reads.
unsafe impl<T: Shared> Shared for line::Line<T> {}

/// Memory that is copied as bytes, for the model checker, which wants every use of it ordered.
#[cfg(loom)]
pub mod plain {
    use loom::cell::UnsafeCell;

    /// Something without any protection of its own.
    #[derive(Debug)]
    pub struct Plain<T>(UnsafeCell<T>);

    // SAFETY: sharing it unordered is what the models look for; loom stops at the first such access.
    unsafe impl<T: Send> Sync for Plain<T> {}
    // SAFETY: as above; in the models nothing lies in mapped memory.
    unsafe impl super::Shared for Plain<u64> {}

    impl<T: Copy> Plain<T> {
        pub fn new(value: T) -> Plain<T> {
            Plain(UnsafeCell::new(value))
        }

        pub fn get(&self) -> T {
            // SAFETY: loom has checked that no write overlaps.
            self.0.with(|value| unsafe { *value })
        }

        pub fn set(&self, new: T) {
            // SAFETY: loom has checked that no other access overlaps.
            self.0.with_mut(|value| unsafe { *value = new })
        }
    }
}

/// Defines structs that are [`Shared`], of fields that are: that they are is checked when this is compiled.
macro_rules! shared {
    ($(#[$text:meta])* $seen:vis struct $name:ident { $($(#[$about:meta])* $shown:vis $field:ident: $type:ty),* $(,)? }) => {
        $(#[$text])*
        #[repr(C)]
        $seen struct $name { $($(#[$about])* $shown $field: $type),* }

        // SAFETY: all fields are shared, or this does not compile; the layout is fixed above.
        unsafe impl $crate::sync::Shared for $name where $($type: $crate::sync::Shared),* {}
    };
    ($(#[$text:meta])* $seen:vis struct $name:ident($($shown:vis $type:ty),*);) => {
        $(#[$text])*
        #[repr(C)]
        $seen struct $name($($shown $type),*);

        // SAFETY: all fields are shared, or this does not compile; the layout is fixed above.
        unsafe impl $crate::sync::Shared for $name where $($type: $crate::sync::Shared),* {}
    };
}
pub(crate) use shared;
