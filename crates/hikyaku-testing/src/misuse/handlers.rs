//! Misuse of active messages and of the interface's thread.

use crate::support::other;
use hikyaku::Job;

/// The panic goes through the program of the rank whose handler it is, and the other is told of the end.
pub fn a_handler_panics_in_a_barrier(job: &Job) {
    if job.rank() == 0 {
        job.register_handler(1, |_, _| panic!("on purpose")).unwrap();
    }
    job.barrier().unwrap();
    if job.rank() == 1 {
        job.send(other(job), 1, 0, [0; 6], &[]).unwrap();
    }
    job.barrier().unwrap();
}
