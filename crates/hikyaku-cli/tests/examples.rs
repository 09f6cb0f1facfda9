//! The programs of `examples/rust`, as a reader would run them: alone, and as the ranks of jobs. They check their results.

mod support;

use hikyaku_testing::netns::Network;
use hikyaku_testing::watchdog;
use std::path::Path;
use std::process::{Command, Output};
use support::{Trial, examples};

/// A program that hangs is ended after this long.
const PATIENCE_SECONDS: &str = "1800";

fn patiently(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", PATIENCE_SECONDS]).arg(program.as_ref());
    command
}

fn run(size: usize, example: &str, arguments: &[&str]) -> Output {
    let mut command = patiently(env!("CARGO_BIN_EXE_hikyaku"));
    command.args(["run", "-n", &size.to_string(), "--"]).arg(examples().join(example)).args(arguments);
    watchdog::output(&mut command)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The example has come out right: it says so in a line that ends with `verdict`, and tells how many ranks took part.
fn assert_right(output: Output, size: usize, verdict: &str) {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && err.is_empty(), "{}\n{out}{err}", output.status);
    assert!(out.contains(&format!(" {size} ranks ")), "{size} ranks: {out}");
    assert!(out.lines().last().is_some_and(|line| line.ends_with(verdict)), "{out}");
}

/// Runs an example alone and in jobs of 1 to 4 ranks.
fn runs_right(example: &str, arguments: &[&str], verdict: &str) {
    assert_right(watchdog::output(patiently(examples().join(example)).args(arguments)), 1, verdict);
    for size in 1..=4 {
        assert_right(run(size, example, arguments), size, verdict);
    }
}

#[test]
fn ring() {
    let verdict = "ranks and added up: as expected";
    runs_right("ring", &["20000", "100"], verdict);
    runs_right("ring", &["1", "1"], verdict);
}

#[test]
fn heat() {
    let verdict = "the same as computed by one rank";
    runs_right("heat", &["50", "60", "120"], verdict);
    // Strips of one row, in long messages; a plate that comes to rest early.
    runs_right("heat", &["4", "2000", "60"], verdict);
    runs_right("heat", &["12", "12", "100000"], verdict);
}

#[test]
fn sort() {
    let verdict = "the same count, sum and parity as before";
    runs_right("sort", &["30000", "7"], verdict);
    // Fewer numbers than ranks.
    runs_right("sort", &["1"], verdict);
    runs_right("sort", &["0"], verdict);
}

#[test]
fn cholesky() {
    for way in ["", "--barriers"] {
        runs_right("cholesky", &["7", "20", "2", way], "the same as computed by one rank");
    }
    runs_right("cholesky", &["1", "5", "1"], "the same as computed by one rank");
}

#[test]
fn stencil() {
    for way in ["", "--barriers"] {
        runs_right("stencil", &["3", "12", "40", "2", way], "the same as computed by one rank");
    }
    runs_right("stencil", &["1", "1", "5", "1"], "the same as computed by one rank");
}

/// Tiles and edges go by datagrams between the hosts, and by memory on each.
#[test]
fn tasks_of_two_ranks_on_each_of_two_hosts() {
    let Some(network) = Network::new(2) else { return };
    let verdict = "the same as computed by one rank";
    for slots in [[(0, 2), (1, 2)].as_slice(), &[(0, 1), (1, 1), (0, 1), (1, 1)]] {
        for (example, arguments) in [("cholesky", ["7", "20", "2"].as_slice()), ("stencil", &["3", "12", "40", "2"])] {
            for way in ["", "--barriers"] {
                let program = examples().join(example);
                let trial = Trial::new(&network, slots).args(&["--", program.to_str().unwrap()]);
                assert_right(trial.args(arguments).args(&[way]).run(), 4, verdict);
            }
        }
    }
}

#[test]
fn couriers() {
    runs_right("couriers", &["5", "20"], "as expected");
    runs_right("couriers", &["0", "20"], "as expected");
}

#[test]
fn columns() {
    runs_right("columns", &["60", "50", "12"], "ranks came out as expected");
    runs_right("columns", &["1", "1", "5"], "ranks came out as expected");
}

#[test]
fn table() {
    runs_right("table", &["5000", "15"], "entries): as expected");
    runs_right("table", &["3", "1"], "entries): as expected");
}

#[test]
fn queue() {
    runs_right("queue", &["6"], ": as expected");
}

#[test]
fn jacobi() {
    let verdict = "the same as computed by one rank";
    runs_right("jacobi", &["100", "70"], verdict);
    runs_right("jacobi", &["1", "9"], verdict);
}

#[test]
fn what_they_cannot_do_they_say() {
    for (example, arguments, reason) in [
        ("ring", ["many", "1"], "usage: ring [ELEMENTS [LAPS]]"),
        ("heat", ["1", "100"], "heat: 1 rows of 100 cells make no strips for 2 ranks"),
        ("queue", ["99", "1"], "usage: queue [DIGITS], at most 12"),
        ("sort", ["-1", "1"], "usage: sort [NUMBERS_PER_RANK [SEED]]"),
    ] {
        let output = run(2, example, &arguments);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(text(&output.stderr).contains(reason), "{output:?}");
    }
}
