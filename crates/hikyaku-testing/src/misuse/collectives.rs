//! Misuse of groups and of what their members do together.

use hikyaku::Job;
use hikyaku::collective::Sum;

/// The scope waits for it.
pub fn a_scope_is_left_with_a_call_under_way(job: &Job) {
    let world = job.world().unwrap();
    let mut data = vec![1u64; 10_000];
    world.scope(|scope| scope.iallreduce(&mut data, Sum).map(std::mem::forget)).unwrap();
    assert!(data.iter().all(|sum| *sum == job.size() as u64));
}
