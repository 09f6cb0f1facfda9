//! Locks of the threads of one rank. A panic of whoever had one leaves it usable.
//!
//! Nothing else in this crate calls `Mutex::lock` (clippy.toml): where the standard library was built without the thread sanitizer, that
//! does not see how a sleep inside it orders things. So under sanitizers nobody sleeps there.

use crate::sync::atomic::{Mutex, MutexGuard};
#[cfg(not(loom))]
use std::{sync::TryLockError, thread, time::Duration};

/// Locks what may be held for long: whoever has to wait sleeps.
#[inline]
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    #[cfg(hikyaku_atomic_copy)]
    return lock_briefly(mutex);
    #[cfg(not(hikyaku_atomic_copy))]
    #[allow(clippy::disallowed_methods, reason = "the one place")]
    return mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
}

/// Turns in which it spins, and then those in which it lets others run.
#[cfg(not(loom))]
const SPINS: u32 = 100;
#[cfg(not(loom))]
const YIELDS: u32 = 10_000;
/// Between two looks after that: whoever has the lock is kept from running.
#[cfg(not(loom))]
const NAP: Duration = Duration::from_micros(50);

/// Locks what others have for some instructions only. It looks again and again, because they need less time than a sleep takes.
#[cfg(not(loom))]
#[inline]
pub fn lock_briefly<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    match mutex.try_lock() {
        Ok(guard) => guard,
        // This error has the lock.
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => contended(mutex),
    }
}

#[cfg(not(loom))]
#[cold]
fn contended<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    let mut turn = 0;
    loop {
        match mutex.try_lock() {
            Ok(guard) => return guard,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(TryLockError::WouldBlock) if turn < SPINS => std::hint::spin_loop(),
            Err(TryLockError::WouldBlock) if turn < YIELDS => thread::yield_now(),
            Err(TryLockError::WouldBlock) => thread::sleep(NAP),
        }
        turn = turn.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_turns() {
        let mutex = Mutex::new(0);
        let count = || (0..10_000).for_each(|_| *lock(&mutex) += 1);
        thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(count))));
        assert_eq!(*lock(&mutex), 30_000);
    }

    #[test]
    fn a_lock_that_is_held_for_long_is_waited_for() {
        let mutex = Mutex::new(0);
        thread::scope(|scope| {
            let guard = lock(&mutex);
            let other = scope.spawn(|| *lock_briefly(&mutex) += 1);
            // Longer than all spins and yields.
            thread::sleep(Duration::from_millis(50));
            assert!(!other.is_finished());
            drop(guard);
        });
        assert_eq!(*lock_briefly(&mutex), 1);
    }

    #[test]
    fn a_panic_leaves_the_lock_usable() {
        let mutex = Mutex::new(0);
        let inside = || {
            let _guard = lock(&mutex);
            std::panic::resume_unwind(Box::new("on purpose"));
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(inside)).is_err());
        *lock(&mutex) += 1;
        *lock_briefly(&mutex) += 1;
        assert_eq!(*lock_briefly(&mutex), 2);
    }
}
