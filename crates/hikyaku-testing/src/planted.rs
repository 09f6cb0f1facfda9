//! Bugs are planted in the protocols, one at a time, and each is caught by the check that is named here: a thousand seeds of chaos,
//! or one case. Rules that cost only time or memory where they are broken, and those of frames between hosts, are caught by the
//! library's own tests, named `planted_bugs_are_caught` and `every_planted_bug_is_caught`.
//!
//! Needs `RUSTFLAGS="--cfg hikyaku_planted"`. Here and not in `tests/`, for which all programs of this package would be built.

use crate::case;
use crate::chaos::{self, Failure, Plan, Workload};
use hikyaku::planted::{Bug, with_bug};
use hikyaku::sim::{Faults, Machine, Sim};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// What catches a bug.
#[derive(Clone, Copy, Debug)]
enum Check {
    /// Random programs while things go wrong.
    Chaos,
    /// Such programs where ranks lose each other for good too.
    Parted,
    /// This case, each rank on a host of its own or not, with few and with many faults.
    Case(&'static str),
}
use Check::{Case, Chaos, Parted};

const BUGS: &[(Bug, Check)] = &[
    (Bug::ChecksumUnread, Chaos),
    (Bug::DuplicatesTaken, Chaos),
    (Bug::GapsSkipped, Chaos),
    (Bug::GapsAcknowledged, Chaos),
    (Bug::NeverAcknowledgedAlone, Chaos),
    (Bug::AnswersForgotten, Chaos),
    (Bug::CopyGivenUpEarly, Chaos),
    (Bug::TimeoutsIgnored, Chaos),
    (Bug::KeyUnread, Chaos),
    (Bug::CountUnread, Chaos),
    (Bug::AtomicTwice, Chaos),
    (Bug::ComparisonSkipped, Chaos),
    (Bug::MeetingShort, Chaos),
    (Bug::MeetingPlaceShared, Chaos),
    (Bug::SlotReusedEarly, Chaos),
    (Bug::BounceFreedEarly, Chaos),
    (Bug::TruncationUntold, Chaos),
    (Bug::RefusalForgotten, Chaos),
    (Bug::HeaderDropped, Chaos),
    (Bug::ButterflyShort, Chaos),
    (Bug::LabelUnread, Chaos),
    (Bug::AlarmSilent, Chaos),
    (Bug::ScanDisordered, Chaos),
    (Bug::GateOpen, Chaos),
    (Bug::CastUnanswered, Chaos),
    (Bug::RoomUntold, Chaos),
    (Bug::DepartureEarly, Chaos),
    (Bug::NewsToOneHost, Chaos),
    (Bug::NewsUnread, Chaos),
    (Bug::LossForgotten, Parted),
    (Bug::ArrivalKept, Parted),
    (Bug::CreditUntold, Case("pressure::a_flood_arrives_whole")),
    (Bug::MessagesDisordered, Chaos),
    (Bug::NearUnnotified, Chaos),
    (Bug::TailLost, Chaos),
    (Bug::PullMisplaced, Case("operations::large_transfers")),
    (Bug::WordUnfenced, Chaos),
    (Bug::PutsUncounted, Chaos),
    (Bug::ForeignKey, Chaos),
    (Bug::BlocksExchanged, Chaos),
    (Bug::EndpointsShared, Chaos),
    (Bug::TransfersEndEarly, Chaos),
    (Bug::LastOfSeveralForgotten, Case("multicast::every_rank_tells_all_others")),
    (Bug::ArrivalsMiscounted, Case("counting::nobody_passes_before_all_have_arrived")),
    (Bug::ReleasesKept, Case("counting::nobody_passes_before_all_have_arrived")),
    (Bug::LaterReceiveFirst, Case("matching::order_is_kept")),
    (Bug::WithdrawnMessageLost, Chaos),
    (Bug::OfferSlotReused, Chaos),
    (Bug::LaneOvertaken, Case("matching::order_is_kept")),
    (Bug::BudgetIgnored, Case("matching::a_flood_waits_with_its_sender")),
    (Bug::CopyWordEarly, Chaos),
    (Bug::RelayAnsweredEarly, Chaos),
    (Bug::RelayRefusalKept, Case("copies::copies_of_revoked_areas_are_refused")),
    (Bug::PullMisplaced, Chaos),
    (Bug::SkipForgotten, Case("indirect::chains_scatter_and_gather")),
    (Bug::PointerReread, Case("indirect::a_long_message_lands_in_one_place")),
    (Bug::HearsayForgotten, Case("arguments::mismatched_sizes_are_reported")),
];

const SEEDS: u64 = 1000;

impl Check {
    /// What was noticed, and after how many runs.
    fn run(self) -> Option<(u64, String)> {
        let chaos = |plan: fn(u64) -> Plan| {
            (0..SEEDS)
                .find_map(|seed| chaos::run_plan(plan(seed)).err())
                .map(|Failure { plan, message }| (plan.seed + 1, format!("{:<10} {message}", plan.workload.name())))
        };
        match self {
            Chaos => chaos(|seed| Plan::new(seed, None)),
            Parted => chaos(|seed| Plan::parted(seed, None)),
            Case(name) => {
                let case = case(name).expect("listed");
                (0..20).find_map(|seed| {
                    let ranks = case.sizes(&[5])[0];
                    let hosts = if seed % 2 == 0 { ranks } else { ranks.min(2) };
                    let sim = Sim::new(Machine::plain(), ranks, seed).hosts(|rank| rank % hosts);
                    let faults = Faults::of_wire(if seed % 4 < 2 { 0.0 } else { 0.2 });
                    let sim = sim.faults(faults).time_limit(Duration::from_secs(5));
                    let ran = catch_unwind(AssertUnwindSafe(|| sim.run(|job| case.run(job))));
                    let noticed =
                        ran.map_or_else(|_| Some("a panic".into()), |ran| ran.err().map(|error| error.to_string()));
                    noticed.map(|what| (seed + 1, format!("{name} {what}")))
                })
            }
        }
    }
}

#[test]
fn every_planted_bug_is_caught() {
    // Panics are told below.
    std::panic::set_hook(Box::new(|_| ()));
    let mut missed = Vec::new();
    println!("{:<24} {:>6}  {:<10} what was noticed", "bug", "runs", "by");
    for (bug, check) in BUGS {
        match with_bug(*bug, || check.run()) {
            Some((runs, what)) => println!("{:<24} {runs:>6}  {what}", format!("{bug:?}")),
            None => missed.push(bug),
        }
    }
    let _ = std::panic::take_hook();
    assert!(missed.is_empty(), "not caught: {missed:?}");
}

/// A lock is no better than what it is built of.
#[test]
fn locks_notice_broken_atomic_operations() {
    for bug in [Bug::AtomicTwice, Bug::ComparisonSkipped] {
        let broken = |seed| chaos::run_plan(Plan::new(seed, Some(Workload::Locks))).err();
        let caught = with_bug(bug, || (0..SEEDS).find_map(broken)).unwrap_or_else(|| panic!("{bug:?} was not caught"));
        println!("{:<24} {:>6}  {}", format!("{bug:?}"), caught.plan.seed + 1, caught.message);
        // A lock that is never granted is waited for asleep, or by looking for it.
        let signs = ["locks", "wait for ever", "have not ended"];
        assert!(signs.iter().any(|sign| caught.message.contains(sign)), "{caught}");
    }
}

/// Workloads that are a part of others notice what concerns them by themselves.
#[test]
fn parts_of_workloads_notice_what_concerns_them() {
    for (bug, workload) in [
        (Bug::JoinedBlindly, Workload::Regions),
        (Bug::DirectoryKept, Workload::Regions),
        (Bug::LastOfSeveralForgotten, Workload::Multicast),
        (Bug::OfferSlotReused, Workload::Matching),
    ] {
        let broken = |seed| chaos::run_plan(Plan::new(seed, Some(workload))).err();
        let caught = with_bug(bug, || (0..SEEDS).find_map(broken)).unwrap_or_else(|| panic!("{bug:?} was not caught"));
        println!("{:<24} {:>6}  {}", format!("{bug:?}"), caught.plan.seed + 1, caught.message);
    }
}

/// Each check finds nothing where nothing is planted.
#[test]
fn nothing_is_caught_where_nothing_is_planted() {
    let cases = BUGS.iter().map(|(_, check)| *check).filter(|check| matches!(check, Case(_)));
    for check in cases.chain([Chaos, Parted]) {
        assert_eq!(check.run(), None, "{check:?}");
    }
}
