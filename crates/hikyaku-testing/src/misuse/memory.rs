//! Misuse of areas, symmetric memory, registered vectors and ports; several jobs in one process.

use crate::support::other;
use hikyaku::Job;

/// It stays reachable: its memory is never given back.
pub fn an_area_is_leaked(job: &Job) {
    std::mem::forget(job.register::<u64>(1, vec![0; 100]).unwrap());
    job.barrier().unwrap();
    let area = job.open_area::<u64>(other(job), 1).unwrap();
    job.push(area.at(0), &[1; 100]).unwrap();
    job.flush(other(job)).unwrap();
    job.barrier().unwrap();
}
