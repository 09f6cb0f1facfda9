//! Sleeping on a word that may be shared between processes.
//!
//! Under loom a lost wake-up must be seen as a deadlock, so the model puts a real queue behind the word.

use super::atomic::AtomicU32;
use std::time::Duration;

#[cfg(not(loom))]
pub use real::{wait, wake_all};

#[cfg(loom)]
pub use model::{Queue, wait, wake_all};

#[cfg(not(loom))]
mod real {
    use super::*;
    use rustix::thread::futex;

    /// Sleeps until woken, a signal, or the timeout, but only if `word` still holds `seen`.
    /// May return early; callers look again.
    pub fn wait(word: &AtomicU32, seen: u32, timeout: Option<Duration>) {
        let timeout = timeout.map(|t| rustix::fs::Timespec {
            tv_sec: t.as_secs().min(i64::MAX as u64) as i64,
            tv_nsec: t.subsec_nanos().into(),
        });
        // Every outcome (woken, changed, interrupted, timed out) means the same: look again.
        let _ = futex::wait(word, futex::Flags::empty(), seen, timeout.as_ref());
    }

    /// Wakes everyone who sleeps on `word`.
    pub fn wake_all(word: &AtomicU32) {
        let _ = futex::wake(word, futex::Flags::empty(), i32::MAX as u32);
    }
}

#[cfg(loom)]
mod model {
    use super::*;
    use loom::sync::{Condvar, Mutex};
    use std::sync::Arc;

    /// The kernel's queue of sleepers; one stands for all words of a model.
    #[derive(Clone)]
    pub struct Queue(Arc<(Mutex<()>, Condvar)>);

    impl Default for Queue {
        fn default() -> Queue {
            Queue(Arc::new((Mutex::new(()), Condvar::new())))
        }
    }

    loom::lazy_static! {
        static ref QUEUE: Queue = Queue::default();
    }

    pub fn wait(word: &AtomicU32, seen: u32, _timeout: Option<Duration>) {
        let (lock, woken) = &*QUEUE.0;
        let guard = lock.lock().unwrap();
        if word.load(loom::sync::atomic::Ordering::SeqCst) == seen {
            drop(woken.wait(guard).unwrap());
        }
    }

    pub fn wake_all(_word: &AtomicU32) {
        let (lock, woken) = &*QUEUE.0;
        let _guard = lock.lock().unwrap();
        woken.notify_all();
    }
}
