//! The conformance suite in virtual time, one test per case; all of it on other machines and with other seeds.

use hikyaku::sim::{Faults, Machine, Sim};
use hikyaku_testing::runner::{self, Kind};
use hikyaku_testing::{Suite, case, suite, watchdog};

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

fn run(name: &str) {
    runner::check("simulated", &Kind::Simulated(&|ranks, _| Sim::new(Machine::plain(), ranks, 1)), case(name), &[]);
}

fn all(what: &str, sim: &(dyn Fn(usize, u64) -> Sim + Sync)) {
    runner::check(what, &Kind::Simulated(sim), suite(Suite::Conformance), &[]);
}

#[test]
fn every_case_on_every_machine() {
    for machine in Machine::shipped() {
        all(&format!("on {}", machine.name), &|ranks, _| Sim::new(machine.clone(), ranks, 1));
    }
}

#[test]
fn every_case_with_every_seed_and_the_same_again() {
    let check = |seed| {
        for case in suite(Suite::Conformance).filter(|case| runner::has_virtual_time(case)) {
            let sim = Sim::new(Machine::plain(), case.sizes(&[])[0], seed);
            let run = || watchdog::watched(case.name, || sim.run(|job| case.run(job)).unwrap().hash);
            assert_eq!(run(), run(), "{} with seed {seed} differs from itself", case.name);
        }
    };
    // Beside each other: their time is their own.
    std::thread::scope(|scope| (2..6).for_each(|seed| drop(scope.spawn(move || check(seed)))));
}

/// Ranks of one host share memory, and reach those of others by the network: near and far ranks in one job, in mixed order.
#[test]
fn every_case_on_hosts_of_several_ranks() {
    for hosts in [2, 3] {
        all(&format!("on {hosts} simulated hosts"), &|ranks, seed| {
            let faults = if seed % 2 == 0 { Faults::default() } else { Faults::of_wire(0.1) };
            Sim::new(Machine::plain(), ranks, seed).hosts(|rank| rank % hosts.min(ranks)).faults(faults)
        });
    }
}

/// Every case over a wire that loses, doubles and reorders a fifth of all frames, and damages some.
#[test]
fn every_case_over_a_wire_with_faults() {
    let faults = Faults { corruption: 0.05, ..Faults::of_wire(0.2) };
    all("simulated with faults", &|ranks, seed| Sim::new(Machine::plain(), ranks, seed).faults(faults.clone()));
}
