//! Waiting until nobody is inside an operation on memory that is being taken away.
//!
//! An area may be revoked while a peer is about to write to it. The peer marks itself inside, then checks the
//! area's key, then writes; the owner clears the key, then waits until everyone who was inside has come out.
//!
//! ```text
//!   peer                                       owner
//!   inside = odd number                        key = 0
//!   light fence                                heavy fence
//!   key still mine?  no: leave, refused        wait while a peer's `inside` is the same odd number
//!   write                                      nobody writes any more: memory may be freed
//!   inside = next even number
//! ```

use super::atomic::{AtomicU64, Ordering};
use super::fence::Fences;
use super::line::Line;
use super::shared;

shared! {
    /// One port's mark: odd while inside an operation. Written by that port alone.
    #[derive(Debug)]
    pub struct Guard(Line<AtomicU64>);
}

/// Inside until dropped.
#[derive(Debug)]
pub struct Inside<'a> {
    guard: &'a Guard,
    number: u64,
}

impl Guard {
    /// Enters; the caller checks the key only afterwards.
    #[inline]
    pub fn enter(&self, fences: Fences) -> Inside<'_> {
        // The mark has one writer, so a load and a store make the increment.
        let number = self.0.load(Ordering::Relaxed) | 1;
        // Released: an owner that waits for the previous operation may see only this mark, not the even one before.
        self.0.store(number, Ordering::Release);
        fences.light();
        Inside { guard: self, number }
    }

    /// What the owner sees after its heavy fence: a number to wait for if someone is inside.
    pub fn occupied(&self) -> Option<u64> {
        let number = self.0.load(Ordering::Acquire);
        (number % 2 == 1).then_some(number)
    }

    /// Whether the one seen by [`Guard::occupied`] has come out.
    pub fn left(&self, number: u64) -> bool {
        self.0.load(Ordering::Acquire) != number
    }

    /// For models; in a job it is zeroed mapped memory.
    pub fn new() -> Guard {
        Guard(Line(AtomicU64::new(0)))
    }
}

impl Default for Guard {
    fn default() -> Guard {
        Guard::new()
    }
}

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        // Wrapping: any peer may have written the number that it began with.
        self.guard.0.store(self.number.wrapping_add(1), Ordering::Release);
    }
}
