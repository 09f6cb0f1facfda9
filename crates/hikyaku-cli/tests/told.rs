//! What users are told when something is wrong: the exact text, for typical mistakes.

mod support;

use hikyaku_testing::watchdog;
use std::process::{Command, Output, Stdio};
use support::{HIKYAKU, err, examples};

/// Runs the program that makes this mistake as two processes.
fn mistake(name: &str) -> Output {
    let mut command = Command::new(HIKYAKU);
    command.args(["run", "-n", "2"]).arg(examples().join("mistakes")).args(["processes", name]);
    watchdog::output(command.env("RUST_BACKTRACE", "0").stdin(Stdio::null()))
}

/// The lines of the launcher.
fn report(output: &Output) -> Vec<String> {
    err(output).lines().filter(|line| line.starts_with("hikyaku: ")).map(str::to_owned).collect()
}

#[test]
fn the_first_cause_is_named_and_then_who_followed() {
    for (name, status, said, first, then) in [
        ("panic", 101, "on purpose", "rank 0 exited with status 101", "rank 1 exited with status 1"),
        ("exit", 3, "Error: rank 0 died", "rank 0 exited with status 3", "rank 1 exited with status 1"),
        (
            "error",
            1,
            "Error: rank 7 does not exist: the job has 2 ranks (0 to 1)",
            "rank 0 exited with status 1",
            "rank 1 exited with status 1",
        ),
    ] {
        let output = mistake(name);
        assert_eq!(output.status.code(), Some(status), "{name}: {}", err(&output));
        assert!(err(&output).lines().any(|line| line == said), "{name}: {}", err(&output));
        let lines = report(&output);
        assert_eq!(lines[0], format!("hikyaku: {first}; the job has ended"), "{name}");
        // Where the machine is busy, rank 1 may have been asked to end before it came to that by itself.
        if let Some(line) = lines.get(1) {
            assert_eq!(*line, format!("hikyaku: after that {then}"), "{name}");
        }
    }
}

/// What rank 0 is told, or rank 1 where the mistake is its own, as processes, as threads and simulated.
#[test]
fn mistakes_of_calls_are_told_in_words() {
    const SAME: &str = "all ranks must make the same call";
    for (name, said) in [
        ("operation", format!("rank 1 calls allreduce(max, 10 x f64), this rank allreduce(sum, 10 x f64); {SAME}")),
        ("count", format!("rank 1 calls allreduce(sum, 11 x f64), this rank allreduce(sum, 10 x f64); {SAME}")),
        ("call", format!("rank 1 calls allgather(8 bytes), this rank barrier; {SAME}")),
        ("memory", format!("rank 1 calls symmetric(88 bytes), this rank symmetric(80 bytes); {SAME}")),
        (
            "type",
            "a message of 12 bytes from rank 0 in slot 0 is not a whole number of elements of 8 bytes: is it of another type?"
                .to_owned(),
        ),
    ] {
        let said = format!("Error: {said}");
        let output = mistake(name);
        assert!(err(&output).lines().any(|line| line == said), "{name}: {}", err(&output));
        for place in ["threads", "simulated"] {
            let output = watchdog::output(Command::new(examples().join("mistakes")).args([place, name]));
            assert_eq!((output.status.code(), err(&output)), (Some(1), said.clone() + "\n"), "{name}, {place}");
        }
    }
}

fn run(arguments: &[&str], variable: Option<(&str, &str)>) -> Output {
    watchdog::output(Command::new(HIKYAKU).args(arguments).envs(variable).stdin(Stdio::null()))
}

#[test]
fn an_unknown_option_is_no_program() {
    let output = run(&["run", "-n", "2", "--xyzzy", "./program"], None);
    assert_eq!(output.status.code(), Some(2));
    let said = "error: unexpected argument '--xyzzy' found\n\n  tip: to pass '--xyzzy' as a value, use '-- --xyzzy'\n";
    assert!(err(&output).starts_with(said), "{}", err(&output));
    let output = run(&["run", "-n", "2", "--", "--odd-name"], None);
    assert!(err(&output).starts_with("hikyaku: cannot start --odd-name: "), "{}", err(&output));
}

#[test]
fn a_setting_that_cannot_be_read_is_an_error() {
    let said = "HIKYAKU_PORTS=abc cannot be read; accepted is a whole number from 2 to 64\n";
    let output = run(&["run", "-n", "2", "true"], Some(("HIKYAKU_PORTS", "abc")));
    assert_eq!((output.status.code(), err(&output)), (Some(1), format!("hikyaku: {said}")));
    // A program that is started alone, or as threads, says the same.
    for place in ["processes", "threads"] {
        let mut command = Command::new(examples().join("mistakes"));
        let output = watchdog::output(command.args([place, "panic"]).env("HIKYAKU_PORTS", "abc"));
        assert_eq!((output.status.code(), err(&output)), (Some(1), format!("Error: {said}")));
    }
}
