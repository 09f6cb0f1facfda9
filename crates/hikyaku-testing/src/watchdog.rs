//! A hang becomes a failure with a name.

use rustix::event::{PollFd, PollFlags, Timespec};
use std::io::{PipeReader, Write};
use std::time::Duration;

/// Far beyond what any case takes, sanitizers and noisy machines included.
pub const LIMIT: Duration = Duration::from_secs(120);

/// Runs `work`; ends the process if it takes longer than [`LIMIT`].
pub fn watched<R>(name: &str, work: impl FnOnce() -> R) -> R {
    // The pipe closes when the work is over, also by a panic.
    let (over, running) = std::io::pipe().expect("a pipe");
    let name = name.to_owned();
    let watcher = std::thread::spawn(move || watch(&name, &over));
    let result = work();
    drop(running);
    let _ = watcher.join();
    result
}

/// The same for a process that is one rank: the kernel ends it.
pub fn watch_process() {
    // SAFETY: a number; the default action of the signal ends the process.
    unsafe { libc::alarm(LIMIT.as_secs() as u32) };
}

fn watch(name: &str, over: &PipeReader) {
    let limit = Timespec { tv_sec: LIMIT.as_secs() as i64, tv_nsec: 0 };
    let ended = loop {
        match rustix::event::poll(&mut [PollFd::new(over, PollFlags::IN)], Some(&limit)) {
            Ok(ended) => break ended,
            Err(error) => assert_eq!(error, rustix::io::Errno::INTR),
        }
    };
    if ended == 0 {
        // Not by `eprintln`, which the test harness would keep to itself.
        let _ = writeln!(std::io::stderr(), "{name} hangs");
        std::process::abort();
    }
}
