//! Whether threads of a process that are not inside a call of this library can still do something, as the system sees them: the main
//! thread of a rank, for example, while it waits for the end of threads that have endpoints.

use std::collections::BTreeSet;
use std::path::Path;

/// Threads of this library that do nothing by themselves: the service thread, and the watch over processes.
const OWN_THREADS: [&str; 2] = ["hikyaku-far-", "hikyaku-watch"];
/// A process with more threads is not looked at.
const THREADS_MAX: usize = 1024;

/// The threads of this process.
pub(crate) fn threads_here() -> BTreeSet<u32> {
    threads(Path::new("/proc/self/task")).unwrap_or_default()
}

fn threads(folder: &Path) -> Option<BTreeSet<u32>> {
    std::fs::read_dir(folder).ok()?.map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Whether every thread of the process that `thread` belongs to, except those that `is_known`, waits without a deadline for another one.
/// False where the system does not tell.
pub(crate) fn others_sleep(thread: u32, is_known: impl Fn(u32) -> bool) -> bool {
    // A thread that was seen asleep may be woken before the next one is seen. If none has run until all are looked at again, they were
    // asleep at the same time.
    let sleepers = || sleepers(thread, &is_known);
    sleepers().is_some_and(|before| sleepers() == Some(before))
}

/// All other threads, with how often each has run so far; nothing if one of them does not sleep.
fn sleepers(thread: u32, is_known: &impl Fn(u32) -> bool) -> Option<Vec<(u32, u64)>> {
    let folder = Path::new("/proc").join(thread.to_string()).join("task");
    let threads = threads(&folder)?;
    if threads.len() > THREADS_MAX {
        return None;
    }
    let mut found = Vec::new();
    for number in threads.into_iter().filter(|number| !is_known(*number)) {
        let read = |name: &str| std::fs::read_to_string(folder.join(number.to_string()).join(name)).ok();
        let name = read("comm")?;
        if OWN_THREADS.iter().any(|own| name.starts_with(own)) {
            continue;
        }
        if !waits_for_a_thread(&read("syscall")?) {
            return None;
        }
        found.push((number, switches(&read("status")?)?));
    }
    Some(found)
}

/// Whether this is the system call of a thread that another one must wake: `futex`, without a deadline.
fn waits_for_a_thread(call: &str) -> bool {
    let mut words = call.split_whitespace();
    if words.next().and_then(|number| number.parse().ok()) != Some(libc::SYS_futex) {
        return false;
    }
    let arguments: Option<Vec<u64>> =
        words.take(4).map(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()).collect();
    let Some(&[_, operation, _, deadline]) = arguments.as_deref() else { return false };
    let operation = operation as i32 & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    matches!(operation, libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET) && deadline == 0
}

/// How often a thread has begun to wait, or had to.
fn switches(status: &str) -> Option<u64> {
    let counts = status.lines().filter_map(|line| line.split_once("voluntary_ctxt_switches:"));
    counts.map(|(_, count)| count.trim().parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    /// Runs a thread; gives whether it, and those that it starts, are seen to sleep for good, once that has not changed for a while.
    fn sleeps(work: impl FnOnce(mpsc::Receiver<()>) + Send) -> bool {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // Threads are called as those that have started them; all others are of other tests.
        let name = format!("asleep-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let is_other = |thread: u32| {
            let called = std::fs::read_to_string(format!("/proc/self/task/{thread}/comm"));
            // One that is gone by now, too.
            !called.is_ok_and(|called| called.trim() == name)
        };
        let (wakes, woken) = mpsc::channel();
        std::thread::scope(|scope| {
            std::thread::Builder::new().name(name.clone()).spawn_scoped(scope, || work(woken)).unwrap();
            std::thread::sleep(Duration::from_millis(200));
            let seen = others_sleep(std::process::id(), is_other);
            // It may have ended.
            let _ = wakes.send(());
            seen
        })
    }

    #[test]
    fn a_thread_that_waits_for_another_sleeps() {
        assert!(sleeps(|woken| woken.recv().unwrap()));
        assert!(sleeps(|woken| std::thread::scope(|scope| {
            // Waits for the end of a thread, which waits itself.
            scope.spawn(move || woken.recv().unwrap());
        })));
    }

    #[test]
    fn a_thread_with_a_deadline_or_with_work_does_not() {
        assert!(!sleeps(|woken| woken.recv_timeout(Duration::from_secs(60)).unwrap()));
        assert!(!sleeps(|_woken| std::thread::sleep(Duration::from_millis(400))));
        assert!(!sleeps(|woken| while woken.try_recv().is_err() {}));
    }

    #[test]
    fn nothing_is_made_of_what_the_system_does_not_tell() {
        let futex = libc::SYS_futex;
        assert!(waits_for_a_thread(&format!("{futex} 0x7f00 0x189 0x0 0x0 0x0 0xffffffff 0x7f 0x7f\n")));
        assert!(waits_for_a_thread(&format!("{futex} 0x7f00 0x80 0x2 0x0 0x0 0x0 0x7f 0x7f\n")));
        for call in ["", "running\n", "-1 0x0 0x0", "0 0x0 0x80 0x0 0x0", &format!("{futex} 0x7f00 0x80")] {
            assert!(!waits_for_a_thread(call), "{call}");
        }
        assert!(!waits_for_a_thread(&format!("{futex} 0x7f00 0x80 0x2 0x7fff 0x0 0x0 0x7f 0x7f\n")), "a deadline");
        assert!(!waits_for_a_thread(&format!("{futex} 0x7f00 0x81 0x1 0x0 0x0 0x0 0x7f 0x7f\n")), "wakes others");
        assert_eq!(switches("Name: a\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t2\n"), Some(7));
        assert_eq!(switches("voluntary_ctxt_switches:\tmany\n"), None);
    }
}
