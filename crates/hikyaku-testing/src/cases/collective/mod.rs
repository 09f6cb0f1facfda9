//! What groups and their collectives do, each compared with a plain model. Every case is a function of one rank, for any
//! number of ranks, so that it runs as threads and as processes.

mod deadline;
mod exchange;
mod formation;
mod membership;
mod mismatch;
mod order;
mod pending;
mod reduction;
mod uneven;

use hikyaku::Job;

/// What one rank does.
pub type Case = fn(&Job);

/// Name and body of every case.
pub const CASES: &[(&str, Case)] = &[
    ("group_world", membership::world),
    ("group_world_is_made_once", membership::the_world_is_made_once),
    ("group_barrier", membership::barrier),
    ("group_broadcast", exchange::broadcast),
    ("group_broadcast_of_job_memory", exchange::broadcast_of_job_memory),
    ("group_broadcasts_in_a_row", exchange::broadcasts_in_a_row),
    ("group_reduce", reduction::reduce),
    ("group_reduction_of_job_memory", reduction::reduction_of_job_memory),
    ("group_allreduce", reduction::allreduce),
    ("group_operations", reduction::operations),
    ("group_functions_in_order", reduction::functions_in_order),
    ("group_results_are_repeatable", reduction::results_are_repeatable),
    ("group_scan", reduction::scan),
    ("group_exscan", reduction::exscan),
    ("group_gather", exchange::gather),
    ("group_scatter", exchange::scatter),
    ("group_alltoall", exchange::alltoall),
    ("group_gatherv", uneven::gatherv),
    ("group_scatterv", uneven::scatterv),
    ("group_alltoallv", uneven::alltoallv),
    ("group_reduce_scatter", uneven::reduce_scatter),
    ("group_uneven_mismatch", uneven::mismatch),
    ("group_uneven_wrong_arguments", uneven::wrong_arguments),
    ("group_exchange_of_sizeless_elements", exchange::of_sizeless_elements),
    ("group_reduction_of_sizeless_elements", reduction::of_sizeless_elements),
    ("group_by_choice", membership::by_choice),
    ("group_split", membership::split),
    ("group_freed_and_made_again", membership::freed_and_made_again),
    ("formations_come_and_go", formation::come_and_go),
    ("formations_overlap", formation::overlap),
    ("formation_mismatch", formation::mismatch),
    ("group_mixture", order::mixture),
    ("group_runs_ahead", order::runs_ahead),
    ("group_kind_mismatch", mismatch::kind),
    ("group_size_mismatch", mismatch::size),
    ("group_root_mismatch", mismatch::root),
    ("group_operation_mismatch", mismatch::operation),
    ("group_wrong_arguments", mismatch::wrong_arguments),
    ("pending_every_call", pending::every_call),
    ("pending_several_at_once", pending::several_at_once),
    ("pending_groups_cross", pending::groups_cross),
    ("pending_mixed_with_blocking_calls", pending::mixed_with_blocking_calls),
    ("pending_tested", pending::tested),
    ("barriers_with_a_deadline", deadline::barriers),
    ("pending_goes_on_in_other_waits", pending::goes_on_in_other_waits),
    ("pending_errors", pending::errors),
    ("pending_call_in_a_function", pending::call_in_a_function),
    ("pending_panics", pending::panics),
];

const LENGTHS: [usize; 8] = [0, 1, 6, 7, 8, 1000, 5000, 100_000];

/// Element `index` of what `rank` contributes.
fn value(rank: usize, index: usize) -> u64 {
    (rank as u64 + 1) * 1_000_003 + index as u64 * 7 + 1
}

fn values(rank: usize, len: usize) -> Vec<u64> {
    (0..len).map(|index| value(rank, index)).collect()
}

fn sum_of(ranks: std::ops::Range<usize>, len: usize) -> Vec<u64> {
    (0..len).map(|index| ranks.clone().map(|rank| value(rank, index)).sum()).collect()
}

fn all_values(size: usize, len: usize) -> Vec<u64> {
    (0..size).flat_map(|rank| values(rank, len)).collect()
}
