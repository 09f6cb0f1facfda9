//! Simulated hosts whose network interfaces reach memory by themselves: every case of the registry, and what goes between hosts.

use hikyaku::sim::{Faults, Machine, NicOrder, Sim};
use hikyaku_testing::registry::cases;
use hikyaku_testing::runner::{self, Kind};

/// On which of three hosts a rank is.
fn host_of(ranks: usize) -> impl Fn(usize) -> usize {
    move |rank| rank % ranks.min(3)
}

/// Near and far ranks in one job, in mixed order; half of the jobs over a wire with faults.
fn every_case(what: &str, order: NicOrder) {
    let sim = |ranks: usize, seed| {
        let faults = if seed % 2 == 0 { Faults::default() } else { Faults::of_wire(0.1) };
        Sim::new(Machine::plain(), ranks, seed).hosts(host_of(ranks)).remote_memory(order).faults(faults)
    };
    // Twenty thousand pushes to the same bytes, each of which waits for the one before it where there is no order.
    let takes_long = |name: &str| order == NicOrder::AnyOrder && name == "operations::words_are_never_torn";
    runner::check(what, &Kind::Simulated(&sim), cases().iter().filter(|case| !takes_long(case.name)), &[6]);
}

#[test]
fn every_case_where_memory_is_written_in_order() {
    every_case("on hosts with remote memory in order", NicOrder::InOrder);
}

#[test]
fn every_case_where_memory_is_written_in_any_order() {
    every_case("on hosts with remote memory in any order", NicOrder::AnyOrder);
}

#[test]
fn every_case_where_only_long_transfers_are_done_by_the_network() {
    every_case("on hosts with remote memory for transfers only", NicOrder::TransfersOnly);
}

#[test]
fn every_case_where_long_transfers_with_areas_are_done_by_the_network() {
    every_case("on hosts with remote memory for transfers with areas only", NicOrder::AreasOnly);
}
