//! Locks that threads of one rank have for some instructions at a time.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Locks; also if whoever had it before has panicked. It spins for a while before it sleeps, which takes longer than the others need. And
/// the thread sanitizer does not see the sleep, in a standard library that was built without it.
#[inline]
pub fn lock_briefly<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    match mutex.try_lock() {
        Ok(guard) => guard,
        Err(_) => contended(mutex),
    }
}

#[cold]
fn contended<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    for turn in 0..10_000 {
        match mutex.try_lock() {
            Ok(guard) => return guard,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(TryLockError::WouldBlock) if turn < 100 => std::hint::spin_loop(),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
