//! Many ranks: descriptors, and the time that it takes to start them.

mod support;

use hikyaku_testing::watchdog;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use support::{HIKYAKU, err, out};

/// Runs a script of bash in which `hikyaku` is the program.
fn bash(script: &str) -> Output {
    let mut command = Command::new("bash");
    command.args(["-c", &script.replace("hikyaku", HIKYAKU)]).stdin(Stdio::null());
    watchdog::output(&mut command)
}

#[test]
fn the_launcher_asks_for_descriptors_and_its_ranks_find_the_limit_as_it_was() {
    let output = bash("ulimit -Sn 256; exec hikyaku run -n 100 bash -c 'ulimit -Sn'");
    assert_eq!(out(&output), "256\n".repeat(100), "{}", err(&output));
    let output = bash("ulimit -n 256; exec hikyaku run -n 100 true");
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("100 ranks on one host need "), "{}", err(&output));
    assert!(err(&output).contains("but this process may have 256 at most; raise the limit"), "{}", err(&output));
    assert!(bash("ulimit -n 256; exec hikyaku run -n 30 true").status.success());
}

/// How long a command takes, at its best.
fn best(mut run: impl FnMut() -> bool) -> Duration {
    let times = (0..3).map(|_| {
        let begin = Instant::now();
        assert!(run());
        begin.elapsed()
    });
    times.min().unwrap()
}

/// A thousand processes, started one after the other and then waited for: what no launcher can do without.
fn bare() -> bool {
    let start = || Command::new("true").stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let mut processes: Vec<_> = (0..1000).map(|_| start()).collect();
    processes.iter_mut().all(|process| process.wait().unwrap().success())
}

#[test]
fn a_thousand_ranks_start_about_as_fast_as_bare_processes() {
    let run = || bash("exec hikyaku run -n 1000 true").status.success();
    let (ours, bare) = (best(run), best(bare));
    // Without optimisation, and beside other tests. With time that grows with the square of the ranks it was 20 times as long.
    assert!(ours < 8 * bare, "{ours:?}, of bare processes {bare:?}");
}
