//! Programs whose ranks wait for each other for ever: within two seconds it is told who waits for what, from whom, and where.

use hikyaku::launch::{Launcher, OnDeadlock, Outcome, Stopped};
use hikyaku::sim::{Machine, Sim};
use hikyaku_testing::deadlock::{MISTAKES, Mistake, PATIENT, WORKERS};
use hikyaku_testing::watchdog::watched;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_deadlock");

/// A table of both ranks and a sentence, and where in the program that is.
fn assert_explained(mistake: &Mistake, text: &str) {
    let row = |rank: usize| {
        let start = format!("  {rank} ");
        text.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no rank {rank} in\n{text}"))
    };
    for (rank, (call, whom)) in mistake.waits.iter().enumerate() {
        let cells: Vec<&str> = row(rank).split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        assert_eq!(cells[..3], [&rank.to_string(), *call, *whom], "{}\n{text}", mistake.name);
        assert!(cells[3].ends_with(" s"), "{text}");
        assert!(cells[4].contains("src/deadlock.rs:"), "{text}");
    }
    assert!(text.lines().any(|line| line == mistake.sentence), "{}\n{text}", mistake.name);
}

fn job(mistake: &Mistake) -> Launcher {
    Launcher::new(PROGRAM).arg(mistake.name).ranks(2).capture(true)
}

fn remarks(outcome: &Outcome) -> String {
    outcome.remarks.join("\n")
}

#[test]
fn processes_that_wait_for_each_other_are_explained_and_ended() {
    for mistake in MISTAKES.iter().chain([&WORKERS]) {
        let outcome = job(mistake).on_deadlock(OnDeadlock::End).run().unwrap();
        assert_eq!((outcome.stopped, outcome.status()), (Some(Stopped::Deadlock), 124), "{outcome:?}");
        let text = remarks(&outcome);
        assert!(text.starts_with("nothing has moved for ") && text.ends_with("\nThe job is ended."), "{text}");
        assert_explained(mistake, &text);
    }
}

#[test]
fn a_job_goes_on_unless_it_is_to_be_ended() {
    let outcome = job(&MISTAKES[0]).timeout(Duration::from_secs(3)).run().unwrap();
    assert_eq!((outcome.stopped, outcome.status()), (Some(Stopped::Timeout), 124));
    assert_eq!(outcome.remarks.len(), 2, "{outcome:?}");
    assert_explained(&MISTAKES[0], &outcome.remarks[0]);
    assert!(
        outcome.remarks[1].starts_with("the job has not ended within 3 s, so it is ended\nwho waits"),
        "{outcome:?}"
    );
    let outcome = job(&MISTAKES[0]).timeout(Duration::from_secs(3)).on_deadlock(OnDeadlock::Ignore).run().unwrap();
    assert_eq!(outcome.remarks.len(), 1, "{outcome:?}");
}

/// Main threads that are not in a call may still do something, unless they wait for other threads.
#[test]
fn workers_that_wait_for_their_main_threads_are_no_deadlock() {
    let outcome =
        Launcher::new(PROGRAM).arg(PATIENT).ranks(2).capture(true).on_deadlock(OnDeadlock::End).run().unwrap();
    assert_eq!((outcome.stopped, outcome.status(), remarks(&outcome).as_str()), (None, 0, ""), "{outcome:?}");
    let output = Command::new(PROGRAM).args([PATIENT, "threads"]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn simulated_ranks_that_wait_for_each_other_are_explained() {
    for mistake in &MISTAKES {
        for hosts in [1, 2] {
            // Members of a group, and those who wait for a lock, look around now and then, so there is always something under way.
            let limit = Duration::from_secs(10);
            let sim = Sim::new(Machine::plain(), 2, 1).hosts(|rank| rank % hosts).time_limit(limit);
            let text = sim.run(mistake.run).unwrap_err().to_string();
            let why = match mistake.name {
                "different_calls" | "locks_in_different_order" => "have not ended within the limit",
                _ => "wait for ever",
            };
            assert!(text.contains(&format!("ranks 0, 1 {why}")), "{text}");
            assert_explained(mistake, &text);
        }
    }
}

#[test]
fn threads_that_wait_for_each_other_are_explained_at_once() {
    for mistake in MISTAKES.iter().chain([&WORKERS]) {
        let begin = Instant::now();
        let mut child = Command::new(PROGRAM).args([mistake.name, "threads"]).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut text = String::new();
        // The sentence is the last of it.
        watched(mistake.name, || {
            while !text.ends_with(".\n") {
                text += &lines.next().expect("it goes on").unwrap();
                text.push('\n');
            }
        });
        // Two seconds, where the machine has nothing else to do.
        assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
        assert!(text.starts_with("hikyaku: nothing has moved for 1."), "{text}");
        assert_explained(mistake, &text);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
