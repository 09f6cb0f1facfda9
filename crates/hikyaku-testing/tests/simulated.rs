//! The conformance suite in virtual time, one test per case.

use hikyaku::sim::{Faults, Machine, Sim};
use hikyaku_testing::{case, cases, watchdog};
use std::panic::{AssertUnwindSafe, catch_unwind};

macro_rules! tests {
    ($($theme:ident { $($case:ident: $ranks:expr),* $(,)? })*) => {
        $(mod $theme {
            $(#[test]
            fn $case() {
                super::run(concat!(stringify!($theme), "::", stringify!($case)));
            })*
        })*
    };
}
hikyaku_testing::for_each_case!(tests);

const THREADS: &str = "what several threads of a rank do at once, and a simulated rank has one";
const DESCRIPTOR: &str = "a descriptor for an event loop, whose time is not virtual";
/// What virtual time has no place for, and why.
const OUTSIDE: [(&str, &str); 8] = [
    ("areas::a_new_area_survives_the_end_of_the_old", THREADS),
    ("messages::handlers_run_one_at_a_time", THREADS),
    ("pressure::a_handler_runs_once_though_its_reply_waits", THREADS),
    ("ports::a_port_moves_to_another_thread", THREADS),
    ("waiting::two_threads_sleep_for_different_words", THREADS),
    ("event::a_descriptor_becomes_readable", DESCRIPTOR),
    ("event::every_kind_of_arrival_signals", DESCRIPTOR),
    ("event::a_cleared_descriptor_stays_unreadable", DESCRIPTOR),
];

fn is_outside(name: &str) -> bool {
    OUTSIDE.iter().any(|(outside, _)| *outside == name)
}

fn run(name: &str) {
    if is_outside(name) {
        return;
    }
    let case = case(name).expect("listed");
    watchdog::watched(name, || Sim::new(Machine::plain(), case.ranks, 1).run(case.run).expect("a simulated job"));
}

/// Every case over a wire that loses, doubles and reorders a fifth of all frames, and damages some.
#[test]
fn every_case_over_a_wire_with_faults() {
    let mut failed = Vec::new();
    for (seed, case) in cases().iter().enumerate().filter(|(_, case)| !is_outside(case.name)) {
        let faults = Faults { corruption: 0.05, ..Faults::of_wire(0.2) };
        let sim = Sim::new(Machine::plain(), case.ranks, seed as u64).faults(faults);
        let run = || watchdog::watched(case.name, || sim.run(case.run));
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => failed.push(format!("{}: {error}", case.name)),
            Err(_) => failed.push(case.name.to_string()),
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
