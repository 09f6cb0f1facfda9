//! Chaos: some seeds of each workload, and the same seed is the same run.

use hikyaku_testing::chaos::{self, Plan, Workload};
use hikyaku_testing::watchdog;

fn check(workload: Workload) {
    watchdog::watched(workload.name(), || {
        for seed in 0..60 {
            if let Err(failure) = chaos::run_plan(Plan::new(seed, Some(workload))) {
                panic!("{failure}");
            }
        }
    });
}

#[test]
fn memory() {
    check(Workload::Memory);
}

#[test]
fn active() {
    check(Workload::Active);
}

#[test]
fn slots() {
    check(Workload::Slots);
}

#[test]
fn together() {
    check(Workload::Together);
}

#[test]
fn revoked() {
    check(Workload::Revoked);
}

#[test]
fn locks() {
    check(Workload::Locks);
}

#[test]
fn matching() {
    check(Workload::Matching);
}

#[test]
fn regions() {
    check(Workload::Regions);
}

#[test]
fn multicast() {
    check(Workload::Multicast);
}

#[test]
fn mixture() {
    check(Workload::Mixture);
}

/// Ranks that lose each other for good, in one direction mostly, near and far ones in one job.
#[test]
fn parted_ranks() {
    watchdog::watched("parted", || {
        for seed in 0..200 {
            chaos::run_plan(Plan::parted(seed, None)).unwrap_or_else(|failure| panic!("{failure}"));
        }
    });
}

#[test]
fn the_same_seed_is_the_same_run() {
    let mut events = 0;
    for seed in 0..20 {
        let run = || chaos::run(seed).unwrap_or_else(|failure| panic!("{failure}"));
        let first = run();
        events += first.events;
        assert_eq!(first, run(), "seed {seed}");
    }
    // A rank that dies at once makes a short run; not all do.
    assert!(events > 10_000, "{events}");
}
