//! Message exchange.

use super::canary::Guarded;
use super::check_refused;
use hikyaku::{Error, Job};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

/// A receive that was given up gets nothing any more; the next one gets the message.
pub fn a_receive_is_given_up_and_made_again(job: &Job) {
    let exchange = job.exchange().unwrap();
    for (round, bytes) in [(1, 8), (2, 3000), (3, 200_000)].into_iter().cycle().take(12) {
        if job.rank() == 0 {
            let mut given_up = vec![0u8; bytes];
            let late = exchange.recv_for(&mut given_up, 1, round, Duration::from_micros(50));
            assert!(matches!(late, Err(Error::Timeout { .. })));
            job.barrier().unwrap();
            let mut into = vec![0u8; bytes];
            exchange.recv(&mut into, 1, round).unwrap();
            assert!(into.iter().all(|byte| *byte == round as u8));
            assert!(given_up.iter().all(|byte| *byte == 0));
        } else {
            job.barrier().unwrap();
            exchange.send(&vec![round as u8; bytes], 0, round).unwrap();
        }
    }
    exchange.free().unwrap();
}

/// An exchange that is forgotten keeps its memory.
pub fn an_exchange_is_forgotten(job: &Job) {
    for _ in 0..3 {
        let exchange = job.exchange().unwrap();
        let peer = 1 - job.rank();
        exchange.send(&[1u8; 1000], peer, 0).unwrap();
        let words = job.symmetric::<u64>(10_000).unwrap();
        exchange.send(&[1u8; 1000], peer, 0).unwrap();
        job.barrier().unwrap();
        std::mem::forget(exchange);
        assert!(words.to_vec().iter().all(|word| *word == 0));
        job.free(words).unwrap();
    }
}

/// A handler panics while a rank waits for a message: the buffer is the program's again, and the message another's.
pub fn a_handler_panics_in_a_receive(job: &Job) {
    let exchange = job.exchange().unwrap();
    job.register_handler(3, |_, _| resume_unwind(Box::new("on purpose"))).unwrap();
    job.barrier().unwrap();
    for bytes in [8, 3000, 100_000] {
        if job.rank() == 0 {
            let mut abandoned = Guarded::new(bytes);
            // A message to itself, which is handled when it waits.
            let caught = catch_unwind(AssertUnwindSafe(|| {
                job.send(0, 3, 0, [0; 6], &[]).unwrap();
                exchange.recv(abandoned.inside(), 1, 0)
            }));
            assert!(caught.is_err());
            job.barrier().unwrap();
            let mut into = vec![0u8; bytes];
            exchange.recv(&mut into, 1, 0).unwrap();
            assert!(into.iter().all(|byte| *byte == 9));
            abandoned.check_untouched();
        } else {
            job.barrier().unwrap();
            exchange.send(&vec![9u8; bytes], 0, 0).unwrap();
        }
    }
    exchange.free().unwrap();
}

/// Functions that run inside a call cannot wait for others.
pub fn a_function_uses_an_exchange(job: &Job) {
    let exchange = job.exchange().unwrap();
    let peer = 1 - job.rank();
    let combine = |total: &mut [u64], input: &[u64]| {
        check_refused(job.exchange().map(drop));
        check_refused(exchange.send(&vec![1u8; 100_000], peer, 0));
        check_refused(exchange.recv(&mut [0u8], peer, 1));
        check_refused(exchange.probe(peer, 1));
        super::add(total, input);
    };
    job.world().unwrap().allreduce(&mut vec![1u64; 100], combine).unwrap();
    exchange.send(&[5u64], peer, 0).unwrap();
    let mut into = [0u64];
    exchange.recv(&mut into, peer, 0).unwrap();
    assert_eq!(into, [5]);
    exchange.free().unwrap();
}
