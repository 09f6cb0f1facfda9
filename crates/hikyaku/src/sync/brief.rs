//! Locks of the threads of one rank. A panic of whoever had one leaves it usable.
//!
//! Nothing else in this crate calls `Mutex::lock` (clippy.toml): where the standard library was built without the thread sanitizer, that
//! does not see how a sleep inside it orders things. So under sanitizers nobody sleeps there.

use crate::sync::atomic::{Mutex, MutexGuard};
#[cfg(not(loom))]
use spin::mutex::SpinMutex;
#[cfg(not(loom))]
pub use spin::mutex::SpinMutexGuard as BriefGuard;
#[cfg(not(loom))]
use std::{sync::TryLockError, thread, time::Duration};

/// Locks what may be held for long: whoever has to wait sleeps.
#[inline]
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    #[cfg(hikyaku_atomic_copy)]
    return look_for(|| lock_now(mutex));
    #[cfg(not(hikyaku_atomic_copy))]
    #[allow(clippy::disallowed_methods, reason = "the one place")]
    return mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
}

/// Locks a mutex that nobody has.
#[cfg(not(loom))]
#[inline]
pub fn lock_now<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// What others have for some instructions only: whoever has to wait looks again and again, because they need less time than a sleep
/// takes. Nobody has to be woken, so to let go of it is a plain store, where a [`Mutex`] takes as long as to lock it.
#[cfg(not(loom))]
#[derive(Debug, Default)]
pub struct Brief<T>(SpinMutex<T>);

#[cfg(not(loom))]
impl<T> Brief<T> {
    /// Something that nobody has.
    pub const fn new(value: T) -> Brief<T> {
        Brief(SpinMutex::new(value))
    }

    /// Waits until nobody else has it.
    #[inline]
    pub fn lock(&self) -> BriefGuard<'_, T> {
        look_for(|| self.0.try_lock())
    }

    /// `None` if another thread has it.
    #[inline]
    pub fn try_lock(&self) -> Option<BriefGuard<'_, T>> {
        self.0.try_lock()
    }
}

/// Turns in which it spins, and then those in which it lets others run.
#[cfg(not(loom))]
const SPINS: u32 = 100;
#[cfg(not(loom))]
const YIELDS: u32 = 10_000;
/// Between two looks after that: whoever has the lock is kept from running.
#[cfg(not(loom))]
const NAP: Duration = Duration::from_micros(50);

/// Looks until there is something.
#[cfg(not(loom))]
#[inline]
pub fn look_for<G>(mut look: impl FnMut() -> Option<G>) -> G {
    look().unwrap_or_else(|| look_again(look))
}

#[cfg(not(loom))]
#[cold]
fn look_again<G>(mut look: impl FnMut() -> Option<G>) -> G {
    let mut turn = 0;
    loop {
        match look() {
            Some(found) => return found,
            None if turn < SPINS => std::hint::spin_loop(),
            None if turn < YIELDS => thread::yield_now(),
            None => thread::sleep(NAP),
        }
        turn = turn.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_turns() {
        let (mutex, brief) = (Mutex::new(0), Brief::new(0));
        let count = || {
            for _ in 0..10_000 {
                *lock(&mutex) += 1;
                *brief.lock() += 1;
            }
        };
        thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(count))));
        assert_eq!((*lock(&mutex), *brief.lock()), (30_000, 30_000));
    }

    #[test]
    fn a_lock_that_is_held_for_long_is_waited_for() {
        let brief = Brief::new(0);
        thread::scope(|scope| {
            let guard = brief.lock();
            assert!(brief.try_lock().is_none());
            let other = scope.spawn(|| *brief.lock() += 1);
            // Longer than all spins and yields.
            thread::sleep(Duration::from_millis(50));
            assert!(!other.is_finished());
            drop(guard);
        });
        assert_eq!(*brief.lock(), 1);
    }

    #[test]
    fn a_panic_leaves_the_lock_usable() {
        let (mutex, brief) = (Mutex::new(0), Brief::new(0));
        let inside = || {
            let _guards = (lock(&mutex), brief.lock());
            std::panic::resume_unwind(Box::new("on purpose"));
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(inside)).is_err());
        *lock(&mutex) += 1;
        *brief.lock() += 1;
        assert_eq!((*lock(&mutex), *brief.lock()), (1, 1));
    }
}
