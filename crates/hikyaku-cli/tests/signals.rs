//! Signals that the launcher gets: what is passed on, what is ignored, and when ranks are killed.

mod support;

use hikyaku_testing::patience::{assert_prompt, eventually};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::{HIKYAKU, signal};

/// Starts `run` with these options and a script, by `prefix`, and waits until both of its ranks have said that they are ready.
fn start(prefix: &[&str], options: &[&str], script: &str) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT,QUIT").args(prefix).arg(HIKYAKU).args(["run", "-n", "2"]).args(options);
    let mut job = command.args(["sh", "-c", script]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(job.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!([lines.next().unwrap(), lines.next().unwrap()], ["ready", "ready"]);
    (job, lines)
}

fn count(lines: impl Iterator<Item = String>, text: &str) -> usize {
    lines.filter(|line| line == text).count()
}

/// Ranks that take their time to end.
const CLEANS: &str = "trap 'sleep 0.7; echo clean; exit 0' INT TERM HUP; echo ready; while :; do sleep 0.02; done";
/// Ranks that do not end.
const STAYS: &str = "trap '' INT TERM HUP QUIT; echo ready; while :; do sleep 0.02; done";

#[test]
fn ranks_have_time_to_end_after_any_number_of_signals_but_a_second_ctrl_c() {
    for [first, second] in [["-TERM", "-TERM"], ["-HUP", "-TERM"], ["-INT", "-TERM"], ["-TERM", "-HUP"]] {
        let (mut job, lines) = start(&[], &[], CLEANS);
        signal(job.id(), first);
        std::thread::sleep(Duration::from_millis(30));
        signal(job.id(), second);
        assert_eq!(count(lines, "clean"), 2, "{first} {second}");
        assert_eq!(job.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn the_end_of_one_rank_does_not_shorten_the_time_of_the_others() {
    let script = "trap '[ $HIKYAKU_RANK = 0 ] && exit 3; sleep 1.2; echo clean; exit 0' TERM
        echo ready; while :; do sleep 0.02; done";
    let (mut job, lines) = start(&[], &[], script);
    signal(job.id(), "-TERM");
    assert_eq!(count(lines, "clean"), 1);
    assert_eq!(job.wait().unwrap().code(), Some(3));
}

#[test]
fn timeout_lets_ranks_end() {
    for _ in 0..3 {
        let (mut job, lines) = start(&["timeout", "1"], &[], CLEANS);
        assert_eq!(count(lines, "clean"), 2);
        assert_eq!(job.wait().unwrap().code(), Some(124));
    }
}

#[test]
fn a_second_ctrl_c_kills() {
    let (mut job, _lines) = start(&[], &[], STAYS);
    signal(job.id(), "-INT");
    for other in ["-TERM", "-HUP", "-QUIT"] {
        signal(job.id(), other);
    }
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(job.try_wait().unwrap(), None, "it has ended by something else");
    let begin = Instant::now();
    signal(job.id(), "-INT");
    let status = eventually("it stays", || job.try_wait().unwrap());
    assert_eq!(status.code(), Some(128 + 9));
    assert_prompt(begin.elapsed(), Duration::from_secs(2), "it ended");
}

#[test]
fn ranks_that_stay_after_sigterm_are_killed_when_their_time_is_over() {
    let (mut job, _lines) = start(&[], &["--grace", "0.5"], STAYS);
    let begin = Instant::now();
    signal(job.id(), "-TERM");
    let status = eventually("it stays", || job.try_wait().unwrap());
    assert_eq!(status.code(), Some(128 + 9));
    assert!(begin.elapsed() >= Duration::from_millis(450), "{:?}", begin.elapsed());
    assert_prompt(begin.elapsed(), Duration::from_secs(2), "it ended");
}

#[test]
fn what_the_launcher_was_told_to_ignore_nobody_hears() {
    let script = "trap 'exit 7' USR1; echo ready; while :; do sleep 0.02; done";
    for ignored in ["HUP", "INT", "QUIT", "TERM"] {
        let (mut job, _lines) = start(&["env", &format!("--ignore-signal={ignored}")], &[], script);
        for _ in 0..2 {
            signal(job.id(), &format!("-{ignored}"));
            std::thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(job.try_wait().unwrap(), None, "{ignored}");
        signal(job.id(), "-USR1");
        assert_eq!(job.wait().unwrap().code(), Some(7));
    }
}
