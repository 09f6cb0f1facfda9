//! Barriers that one rank counts.

use super::check_refused;
use crate::support::expect_error;
use hikyaku::{Error, Job};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// It stays where it is, and so do the others' words: new ones lie elsewhere.
pub fn a_barrier_is_forgotten_between_its_halves(job: &Job) {
    for round in 1..=10u64 {
        let barrier = job.counting_barrier(0).unwrap();
        barrier.post().unwrap();
        std::mem::forget(barrier);
        let words = job.symmetric::<u64>(10).unwrap();
        let barrier = job.counting_barrier(1).unwrap();
        barrier.post().unwrap();
        barrier.wait().unwrap();
        assert!(words.to_vec().iter().all(|word| *word == 0), "round {round}");
        barrier.free().unwrap();
        job.free(words).unwrap();
    }
}

/// A panic between the halves leaves the barrier as it is: whoever goes on waits for the others.
pub fn a_panic_between_the_halves(job: &Job) {
    let barrier = job.counting_barrier(1).unwrap();
    for _ in 0..10 {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            barrier.post().unwrap();
            resume_unwind(Box::new("on purpose"));
        }));
        assert!(caught.is_err());
        expect_error!(barrier.post(), Error::Invalid(_));
        barrier.wait().unwrap();
    }
    barrier.free().unwrap();
}

pub fn a_function_uses_a_counted_barrier(job: &Job) {
    let barrier = job.counting_barrier(0).unwrap();
    let combine = |total: &mut [u64], input: &[u64]| {
        check_refused(barrier.post());
        check_refused(job.counting_barrier(0));
        super::add(total, input);
    };
    job.world().unwrap().allreduce(&mut vec![1u64; 100], combine).unwrap();
    barrier.post().unwrap();
    let combine = |total: &mut [u64], input: &[u64]| {
        check_refused(barrier.wait());
        super::add(total, input);
    };
    job.world().unwrap().allreduce(&mut vec![1u64; 100], combine).unwrap();
    barrier.wait().unwrap();
    barrier.free().unwrap();
}

/// Each rank's team is another one at every turn; barriers are freed between their halves, forgotten, and made again.
pub fn teams_come_and_go(job: &Job) {
    let (me, size) = (job.rank(), job.size());
    for round in 0..30 {
        let team: Vec<usize> = (0..size).filter(|rank| (rank * 7 + round) % 3 == (me * 7 + round) % 3).collect();
        let barrier = job.counting_barrier_of(&team, team[round % team.len()]).unwrap();
        barrier.post().unwrap();
        match round % 3 {
            // Nobody has waited.
            0 => barrier.free().unwrap(),
            1 => std::mem::forget(barrier),
            _ => {
                let caught = catch_unwind(AssertUnwindSafe(|| {
                    barrier.wait().unwrap();
                    resume_unwind(Box::new("on purpose"));
                }));
                assert!(caught.is_err());
                barrier.free().unwrap();
            }
        }
        let words = job.symmetric::<u64>(20).unwrap();
        job.barrier().unwrap();
        assert!(words.to_vec().iter().all(|word| *word == 0), "round {round}");
        job.free(words).unwrap();
    }
    let combine = |total: &mut [u64], input: &[u64]| {
        check_refused(job.counting_barrier_of(&[me], me));
        super::add(total, input);
    };
    job.world().unwrap().allreduce(&mut vec![1u64; 100], combine).unwrap();
}
