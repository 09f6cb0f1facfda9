//! What the models share.

use loom::cell::UnsafeCell;

/// Explores with at most `preemptions` forced switches: nearly all bugs show with two or three.
pub fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(model);
}

/// Memory without any protection of its own: loom reports two accesses that nothing orders.
pub struct Memory<T>(UnsafeCell<T>);

// SAFETY: sharing it unordered is what the models look for; loom stops at the first such access.
unsafe impl<T: Send> Sync for Memory<T> {}

impl<T: Copy> Memory<T> {
    pub fn new(value: T) -> Memory<T> {
        Memory(UnsafeCell::new(value))
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
