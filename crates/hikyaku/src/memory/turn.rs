//! Taking turns: processes that share a file and want much memory at the same time, where there may not be enough for all.
//!
//! Each looks first how much is left, and then takes it. If all looked at once, each would find enough for itself, and the kernel would
//! begin to kill. The turn is a lock of the file. The kernel gives it free with the process, however that ends.

use crate::sync::brief::lock;
use rustix::fs::FlockOperation;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Others wait until it is dropped.
pub(super) struct Turn<'f> {
    file: &'f OwnedFd,
    _among_threads: MutexGuard<'static, ()>,
}

/// Whoever has the turn may have been stopped. Then it is better to go on without it.
const PATIENCE: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_micros(500);

impl<'f> Turn<'f> {
    /// Waits for the turn; nothing if it does not come.
    pub fn of(file: &'f OwnedFd) -> Option<Turn<'f>> {
        // The lock is the process's: it does not keep its threads apart.
        static THREADS: Mutex<()> = Mutex::new(());
        let among_threads = lock(&THREADS);
        let begin = Instant::now();
        while rustix::fs::fcntl_lock(file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if begin.elapsed() >= PATIENCE {
                return None;
            }
            std::thread::sleep(STEP);
        }
        Some(Turn { file, _among_threads: among_threads })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let _ = rustix::fs::fcntl_lock(self.file, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn one_has_the_turn_at_a_time() {
        let file = rustix::fs::memfd_create("turn", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    let turns = Cell::new(0);
                    while turns.get() < 20 {
                        let turn = Turn::of(&file).unwrap();
                        most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(turn);
                        turns.set(turns.get() + 1);
                    }
                });
            }
        });
        assert_eq!(most.load(Ordering::SeqCst), 1);
    }
}
