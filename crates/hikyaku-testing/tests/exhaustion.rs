//! Fault 18: every system call that takes something of the machine fails once, in turn. The outcome is success or an
//! error of the library, nothing is left behind, and a retry succeeds. The program `exhausted` does the work.

use hikyaku::launch::{Ending, Launcher};
use hikyaku_testing::netns::Network;
use hikyaku_testing::watchdog::{LIMITS, Limits, watched, watched_with};
use hikyaku_testing::{leftovers::Watch, nth};
use std::process::Command;
use std::time::Duration;

const EXHAUSTED: &str = env!("CARGO_BIN_EXE_exhausted");
const AFAR: &str = env!("CARGO_BIN_EXE_afar");

/// A file of measured choices that cannot be read is said, and done without. A rank that gives up may leave messages.
fn is_expected(line: &str) -> bool {
    line.ends_with("; the built-in choices are used")
        || line.starts_with("hikyaku: rank ")
            && (line.contains(" unhandled: ") || line.contains(" without handling them. "))
}

fn sweep(way: &str) {
    let watch = Watch::new(env!("CARGO_TARGET_TMPDIR"));
    let mut command = Command::new(EXHAUSTED);
    command.arg(way).env("TMPDIR", watch.folder());
    // Hundreds of jobs, one after the other.
    let limits = Limits { busy: Duration::from_secs(1800), clock: Duration::from_secs(7200), ..LIMITS };
    let output = watched_with(limits, way, || command.output().unwrap());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or_default();
    assert!(output.status.success(), "{way}: {:?} after {last}: {errors}", output.status);
    let surprises: Vec<_> = errors.lines().filter(|line| !is_expected(line)).collect();
    assert!(surprises.is_empty(), "{way}: {surprises:?}");
    said.lines().filter(|line| line.contains(':')).for_each(|line| println!("{line}"));
    watch.check();
}

#[test]
fn fault_18_every_call_fails_once_in_a_job_of_threads() {
    sweep("local");
}

#[test]
fn fault_18_every_call_fails_once_in_a_launcher() {
    sweep("launcher");
}

/// A rank joins once in its life, so here the job as a whole is what is tried again: each run is one. The calls of rank 1 fail, whose
/// number `next` follows another one.
fn sweep_rank(way: &str, names: &[&str], next: fn(usize) -> usize, launcher: impl Fn([&str; 3]) -> Launcher) {
    let watch = Watch::new(env!("CARGO_TARGET_TMPDIR"));
    for call in nth::CALLS.iter().filter(|call| names.is_empty() || names.contains(&call.name)) {
        let (mut number, mut runs, mut failed) = (1, 0, 0);
        loop {
            let what = format!("{} {number}, {way}", call.name);
            let launcher = launcher(["rank", call.name, &number.to_string()]);
            let launcher = launcher.env("TMPDIR", watch.folder()).capture(true);
            let outcome = watched(&what, || launcher.run().unwrap());
            for (ending, output) in outcome.endings.iter().zip(&outcome.output) {
                let said = String::from_utf8_lossy(&output.output) + String::from_utf8_lossy(&output.errors);
                // Rank 0 may be ended before it has heard of it.
                let is_ended = matches!(ending, Ending::Killed(libc::SIGTERM | libc::SIGKILL));
                let is_excused = is_ended && outcome.endings[1] == Ending::Exited(7);
                assert!(matches!(ending, Ending::Exited(0 | 7)) || is_excused, "{what}: {ending:?}: {said}");
                let errors = String::from_utf8_lossy(&output.errors);
                assert!(errors.lines().all(is_expected), "{what}: {said}");
            }
            runs += 1;
            failed += (outcome.status() != 0) as usize;
            let said = String::from_utf8_lossy(&outcome.output[1].output);
            let calls = said.lines().find_map(|line| line.strip_suffix(" calls")?.parse::<usize>().ok());
            if calls.unwrap_or_else(|| panic!("{what}: {said}")) < number {
                assert_eq!(outcome.status(), 0, "{what}");
                break;
            }
            number = next(number);
        }
        println!("{} {way}: {} failed in turn, {failed} errors", call.name, runs - 1);
    }
    watch.check();
}

#[test]
fn fault_18_every_call_fails_once_in_a_rank() {
    let launcher = |arguments: [&str; 3]| Launcher::new(EXHAUSTED).args(arguments).ranks(2);
    sweep_rank("near", &[], |number| number + 1, launcher);
}

/// Whose peer is on another host, so that it sends and receives hundreds of packets: beyond the first calls of a kind, some fail.
fn sweep_far(transport: &str, names: &[&str]) {
    let Some(network) = Network::new(2) else { return };
    let launcher = |arguments: [&str; 3]| {
        let launcher = network.launcher(EXHAUSTED, AFAR, &[0, 1]).args(arguments);
        launcher.env("HIKYAKU_TRANSPORT", transport)
    };
    sweep_rank(&format!("by {transport}"), names, |number| number + 1 + number / 2, launcher);
}

/// Calls by which a rank comes to datagrams, and sends them.
const OF_UDP: [&str; 8] =
    ["socket", "connect", "epoll_create1", "epoll_ctl", "timerfd_create", "eventfd2", "sendmsg", "sendto"];

/// Calls by which a rank comes to libfabric. Those by which that works are left out: it takes their failure for a connection that does not
/// work, which is found out seconds later.
const OF_LIBFABRIC: [&str; 4] = ["epoll_create1", "timerfd_create", "eventfd2", "pidfd_open"];

#[test]
fn fault_18_calls_of_datagrams_fail_in_a_rank_with_far_ones() {
    sweep_far("udp", &OF_UDP);
}

#[test]
fn fault_18_calls_of_libfabric_fail_in_a_rank_with_far_ones() {
    sweep_far("ofi", &OF_LIBFABRIC);
}

#[test]
#[ignore = "takes minutes: scripts/hosts runs it"]
fn fault_18_every_call_fails_in_a_rank_with_far_ones() {
    sweep_far("udp", &[]);
}
