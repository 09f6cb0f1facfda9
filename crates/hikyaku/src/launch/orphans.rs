//! Processes that ranks have left behind: for a program that is nothing but a launcher, of which they become children.

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::time::{Duration, Instant};

/// Processes that cannot be ended, because they are stuck in the kernel or have become somebody else's, keep the launcher for so long.
const PATIENCE: Duration = Duration::from_millis(500);
/// The largest number that Linux gives to processes, and the largest if nobody has allowed more.
const NUMBER_MAX: i32 = 4 * 1024 * 1024;
const USUAL_MAX: i32 = 32 * 1024;

/// Ends them all.
pub(super) fn end_orphans() {
    // Orphans of orphans appear when their parents end, so look again until there are none.
    while has_children() {
        let mut children = listed();
        if children.is_empty() {
            children = searched();
        }
        if !end(&children) {
            return super::shown::tell("hikyaku: processes that ranks have left behind run on; they cannot be ended\n");
        }
    }
}

/// Kills children; false if none of them ends.
fn end(children: &[Pid]) -> bool {
    // The number of a child is not given to another process before it was waited for, below.
    for child in children {
        let _ = kill_process(*child, Signal::KILL);
    }
    let has_ended =
        |child: &&Pid| !matches!(waitid(WaitId::Pid(**child), WaitIdOptions::EXITED | WaitIdOptions::NOHANG), Ok(None));
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if children.iter().filter(has_ended).count() > 0 {
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}

/// Whether there are children, ended or not.
fn has_children() -> bool {
    waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT).is_ok()
}

fn is_child(process: &Pid) -> bool {
    waitid(WaitId::Pid(*process), WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT).is_ok()
}

/// Children, as the system lists them; none where there is no `/proc`, or one of other processes, or one without such lists.
fn listed() -> Vec<Pid> {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let numbers = lists.flat_map(|list| list.split_whitespace().filter_map(|it| it.parse().ok()).collect::<Vec<i32>>());
    numbers.filter_map(Pid::from_raw).filter(is_child).collect()
}

/// Children, found without a list, by trying all numbers that there may be. That takes some milliseconds where numbers are small, as in
/// most containers, and about a second at most.
fn searched() -> Vec<Pid> {
    let some = |numbers: std::ops::Range<i32>| numbers.filter_map(Pid::from_raw).filter(is_child).collect::<Vec<_>>();
    let usual = some(1..USUAL_MAX);
    if usual.is_empty() { some(USUAL_MAX..NUMBER_MAX + 1) } else { usual }
}
