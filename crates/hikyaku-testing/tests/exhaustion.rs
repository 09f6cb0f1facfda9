//! Fault 18: every system call that takes something of the machine fails once, in turn. The outcome is success or an
//! error of the library, nothing is left behind, and a retry succeeds. The program `exhausted` does the work.

use hikyaku::launch::{Ending, Launcher};
use hikyaku_testing::watchdog::{LIMITS, Limits, watched, watched_with};
use hikyaku_testing::{leftovers::Watch, nth};
use std::process::Command;
use std::time::Duration;

const EXHAUSTED: &str = env!("CARGO_BIN_EXE_exhausted");

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

/// A rank joins once in its life, so here the job as a whole is what is tried again: each run is one.
#[test]
fn fault_18_every_call_fails_once_in_a_rank() {
    let watch = Watch::new(env!("CARGO_TARGET_TMPDIR"));
    for call in nth::CALLS {
        let (mut number, mut failed) = (0, 0);
        loop {
            number += 1;
            let what = format!("{} {number}", call.name);
            let launcher = Launcher::new(EXHAUSTED).args(["rank", call.name, &number.to_string()]).ranks(2);
            let launcher = launcher.env("TMPDIR", watch.folder()).capture(true);
            let outcome = watched(&what, || launcher.run().unwrap());
            for (ending, output) in outcome.endings.iter().zip(&outcome.output) {
                let said = String::from_utf8_lossy(&output.output) + String::from_utf8_lossy(&output.errors);
                assert!(matches!(ending, Ending::Exited(0 | 7)), "{what}: {ending:?}: {said}");
                let errors = String::from_utf8_lossy(&output.errors);
                assert!(errors.lines().all(is_expected), "{what}: {said}");
            }
            failed += (outcome.status() != 0) as usize;
            let said = String::from_utf8_lossy(&outcome.output[1].output);
            let calls = said.lines().find_map(|line| line.strip_suffix(" calls")?.parse::<usize>().ok());
            if calls.unwrap_or_else(|| panic!("{what}: {said}")) < number {
                assert_eq!(outcome.status(), 0, "{what}");
                break;
            }
        }
        println!("{}: {} failed in turn, {failed} errors", call.name, number - 1);
    }
    watch.check();
}
