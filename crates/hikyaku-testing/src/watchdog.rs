//! A hang becomes a failure with a name.

use std::io::Write;
use std::sync::{Mutex, MutexGuard, Once};
use std::time::{Duration, Instant};

/// Far beyond what any case takes, sanitizers and noisy machines included.
pub const LIMIT: Duration = Duration::from_secs(120);

/// Runs `work`; ends the process if it takes longer than [`LIMIT`].
pub fn watched<R>(name: &str, work: impl FnOnce() -> R) -> R {
    static WATCHER: Once = Once::new();
    WATCHER.call_once(|| drop(std::thread::spawn(watch)));
    let entry = Entry { name: name.to_owned(), end: Instant::now() + LIMIT };
    running().push(entry.clone());
    let _over = Over(entry);
    work()
}

/// The same for a process that is one rank: the kernel ends it.
pub fn watch_process() {
    // SAFETY: a number; the default action of the signal ends the process.
    unsafe { libc::alarm(LIMIT.as_secs() as u32) };
}

/// What runs, and when it must be over.
#[derive(Clone, PartialEq, Eq)]
struct Entry {
    name: String,
    end: Instant,
}

/// Takes an entry off the list, also when the work panics.
struct Over(Entry);

impl Drop for Over {
    fn drop(&mut self) {
        running().retain(|entry| *entry != self.0);
    }
}

fn running() -> MutexGuard<'static, Vec<Entry>> {
    static RUNNING: Mutex<Vec<Entry>> = Mutex::new(Vec::new());
    RUNNING.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn watch() {
    loop {
        std::thread::sleep(Duration::from_secs(1));
        if let Some(entry) = running().iter().find(|entry| entry.end < Instant::now()) {
            // Not by `eprintln`, which the test harness would keep to itself.
            let _ = writeln!(std::io::stderr(), "{} hangs", entry.name);
            std::process::abort();
        }
    }
}
