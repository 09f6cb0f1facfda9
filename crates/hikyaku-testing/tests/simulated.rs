//! The conformance suite in virtual time, one test per case; all of it on other machines and with other seeds.

use hikyaku::sim::{Faults, Machine, Sim};
use hikyaku_testing::{Case, case, cases, watchdog};
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

fn run(name: &str) {
    case(name).expect("listed");
    if let Some(case) = inside().find(|case| case.name == name) {
        watchdog::watched(name, || simulate(case, Machine::plain(), 1));
    }
}

/// The cases that virtual time has a place for.
fn inside() -> impl Iterator<Item = &'static Case> {
    cases().iter().filter(|case| OUTSIDE.iter().all(|(outside, _)| *outside != case.name))
}

/// Runs a case; gives the checksum of all that happened.
fn simulate(case: &Case, machine: Machine, seed: u64) -> u64 {
    let what = format!("{} on {} with seed {seed}", case.name, machine.name);
    let run = Sim::new(machine, case.ranks, seed).run(case.run);
    run.unwrap_or_else(|error| panic!("{what}: {error}")).hash
}

#[test]
fn every_case_on_every_machine() {
    for machine in Machine::shipped() {
        for case in inside() {
            watchdog::watched(case.name, || simulate(case, machine.clone(), 1));
        }
    }
}

#[test]
fn every_case_with_every_seed_and_the_same_again() {
    for seed in 2..6 {
        for case in inside() {
            let run = || watchdog::watched(case.name, || simulate(case, Machine::plain(), seed));
            assert_eq!(run(), run(), "{} with seed {seed} differs from itself", case.name);
        }
    }
}

/// Ranks of one host share memory, and reach those of others by the network: near and far ranks in one job, in mixed order.
#[test]
fn every_case_on_hosts_of_several_ranks() {
    let mut failed = Vec::new();
    for (seed, case) in inside().enumerate() {
        let faults = if seed % 2 == 0 { Faults::default() } else { Faults::of_wire(0.1) };
        for hosts in [2, 3] {
            let hosts = hosts.min(case.ranks);
            let sim = Sim::new(Machine::plain(), case.ranks, seed as u64).hosts(|rank| rank % hosts);
            let run = || watchdog::watched(case.name, || sim.clone().faults(faults.clone()).run(case.run));
            match catch_unwind(AssertUnwindSafe(run)) {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => failed.push(format!("{} on {hosts} hosts: {error}", case.name)),
                Err(_) => failed.push(format!("{} on {hosts} hosts", case.name)),
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Every case over a wire that loses, doubles and reorders a fifth of all frames, and damages some.
#[test]
fn every_case_over_a_wire_with_faults() {
    let mut failed = Vec::new();
    for (seed, case) in inside().enumerate() {
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
