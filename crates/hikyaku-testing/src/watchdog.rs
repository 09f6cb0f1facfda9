//! A hang becomes a failure with a name.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// Far beyond what any case takes, sanitizers and noisy machines included.
pub const LIMIT: Duration = Duration::from_secs(120);

/// Runs `work`; ends the process if it takes longer than [`LIMIT`].
pub fn watched<R>(name: &str, work: impl FnOnce() -> R) -> R {
    let (done, ended) = mpsc::channel::<()>();
    let name = name.to_owned();
    let watcher = std::thread::spawn(move || {
        if ended.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{name} hangs");
            std::process::abort();
        }
    });
    let result = work();
    drop(done);
    let _ = watcher.join();
    result
}

/// The same for a process that is one rank: the kernel ends it.
pub fn watch_process() {
    // SAFETY: a number; the default action of the signal ends the process.
    unsafe { libc::alarm(LIMIT.as_secs() as u32) };
}
