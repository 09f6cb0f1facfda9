//! Locks that threads of one rank have for some instructions at a time.

use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::Duration;

/// Turns in which it spins, and then those in which it lets others run.
const SPINS: u32 = 100;
const YIELDS: u32 = 10_000;
/// Between two looks after that: whoever has the lock is kept from running.
const NAP: Duration = Duration::from_micros(50);

/// Locks; also if whoever had it before has panicked. It looks again and again, because the others need less time than a sleep takes. It
/// never sleeps inside the standard library's lock: where that was built without it, the thread sanitizer does not see how such a sleep
/// orders things.
#[inline]
pub fn lock_briefly<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    match mutex.try_lock() {
        Ok(guard) => guard,
        // This error has the lock.
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => contended(mutex),
    }
}

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
    fn a_lock_that_is_held_for_long_is_waited_for() {
        let mutex = Mutex::new(0);
        thread::scope(|scope| {
            let guard = mutex.lock().unwrap();
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
            let _guard = mutex.lock().unwrap();
            std::panic::resume_unwind(Box::new("on purpose"));
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(inside)).is_err());
        *lock_briefly(&mutex) += 1;
        assert_eq!(*lock_briefly(&mutex), 1);
    }
}
