//! Misuse of sends and receives.

use super::canary::Guarded;
use crate::support::{bytes, other};
use hikyaku::Job;

/// Nobody ever withdraws it; its buffer is never freed.
pub fn a_prepared_receive_is_leaked_under_way(job: &Job) {
    let messages = job.messages(2).unwrap();
    let mut outside = Guarded::new(9_000);
    if job.rank() == 0 {
        let mut receive = messages.prepare_recv(vec![0u8; 9_000], 1, 0).unwrap();
        receive.start().unwrap();
        std::mem::forget(receive);
        job.barrier().unwrap();
        assert_eq!(messages.recv(outside.inside(), 1, 1).unwrap(), 9_000);
        assert!(outside.inside() == bytes(1, 9_000));
    } else {
        job.barrier().unwrap();
        messages.send(&bytes(1, 9_000), other(job), 1).unwrap();
    }
    outside.check_margins();
    job.barrier().unwrap();
}
