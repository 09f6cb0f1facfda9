//! Bugs are planted in the protocols, one at a time: chaos catches each within a thousand seeds.

use hikyaku::planted::{Bug, with_bug};
use hikyaku_testing::chaos::{self, Plan, Workload};

/// Those that a program can notice. The others cost time or memory only, or need a link that begins a second life: the
/// tests of links catch them.
const BUGS: &[Bug] = &[
    Bug::ChecksumUnread,
    Bug::DuplicatesTaken,
    Bug::GapsSkipped,
    Bug::GapsAcknowledged,
    Bug::NeverAcknowledgedAlone,
    Bug::AnswersForgotten,
    Bug::CopyGivenUpEarly,
    Bug::TimeoutsIgnored,
    Bug::KeyUnread,
    Bug::CountUnread,
    Bug::AtomicTwice,
    Bug::ComparisonSkipped,
    Bug::MeetingShort,
    Bug::MeetingPlaceShared,
    Bug::SlotReusedEarly,
    Bug::BounceFreedEarly,
    Bug::TruncationUntold,
    Bug::RefusalForgotten,
    Bug::HeaderDropped,
    Bug::ButterflyShort,
    Bug::LabelUnread,
    Bug::AlarmSilent,
    Bug::ScanDisordered,
    Bug::FarTakenForNear,
    Bug::GateOpen,
    Bug::CastUnanswered,
    Bug::RoomUntold,
    Bug::DepartureEarly,
];

const SEEDS: u64 = 1000;

#[test]
fn every_planted_bug_is_caught() {
    let mut missed = Vec::new();
    println!("{:<24} {:>6}  {:<10} what was noticed", "bug", "seeds", "workload");
    for bug in BUGS {
        let caught = with_bug(*bug, || (0..SEEDS).find_map(|seed| chaos::run(seed).err()));
        match caught {
            Some(failure) => {
                let (seeds, workload) = (failure.plan.seed + 1, failure.plan.workload.name());
                println!("{:<24} {seeds:>6}  {workload:<10} {}", format!("{bug:?}"), failure.message);
            }
            None => missed.push(bug),
        }
    }
    assert!(missed.is_empty(), "not caught within {SEEDS} seeds: {missed:?}");
}

/// A lock is no better than what it is built of.
#[test]
fn locks_notice_broken_atomic_operations() {
    for bug in [Bug::AtomicTwice, Bug::ComparisonSkipped] {
        let broken = |seed| chaos::run_plan(Plan::new(seed, Some(Workload::Locks))).err();
        let caught = with_bug(bug, || (0..SEEDS).find_map(broken)).unwrap_or_else(|| panic!("{bug:?} was not caught"));
        println!("{:<24} {:>6}  {}", format!("{bug:?}"), caught.plan.seed + 1, caught.message);
        assert!(caught.message.contains("locks") || caught.message.contains("wait for ever"), "{caught}");
    }
}

/// The same seeds find nothing where nothing is planted.
#[test]
fn nothing_is_caught_where_nothing_is_planted() {
    if let Some(failure) = (0..SEEDS).find_map(|seed| chaos::run(seed).err()) {
        panic!("{failure}");
    }
}
