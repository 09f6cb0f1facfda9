//! Shared regions.

use super::check_refused;
use hikyaku::{Job, Twin};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Whoever has forgotten its copy still gets what others write, in memory that nobody else has.
pub fn a_subscription_is_forgotten(job: &Job) {
    for round in 1..=5u64 {
        let region = job.region::<u64>(0, 100).unwrap();
        if job.rank() == 1 {
            std::mem::forget(region.subscribe().unwrap());
            std::mem::forget(region);
            let words = job.symmetric::<u64>(100).unwrap();
            job.barrier().unwrap();
            job.barrier().unwrap();
            assert!(words.to_vec().iter().all(|word| *word == 0), "round {round}");
            job.free(words).unwrap();
        } else {
            let shared = region.subscribe().unwrap();
            let words = job.symmetric::<u64>(100).unwrap();
            job.barrier().unwrap();
            shared.write(0, &[round; 100]).unwrap();
            job.barrier().unwrap();
            assert!(words.to_vec().iter().all(|word| *word == 0), "round {round}");
            job.free(words).unwrap();
            drop(shared);
            std::mem::forget(region);
        }
    }
}

/// A panic drops the copy; the rank can subscribe again, and the others do not mind.
pub fn a_panic_drops_a_subscription(job: &Job) {
    let region = job.region::<u64>(1, 10).unwrap();
    for round in 1..=20 {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let shared = region.subscribe().unwrap();
            shared.write(job.rank(), &[round]).unwrap();
            resume_unwind(Box::new("on purpose"));
        }));
        assert!(caught.is_err());
    }
    let shared = region.subscribe().unwrap();
    job.barrier().unwrap();
    assert!(shared.to_vec().unwrap()[..job.size()].iter().all(|element| *element == 20));
    job.barrier().unwrap();
    drop(shared);
    region.free().unwrap();
}

/// Functions that run inside a call cannot wait for others, whatever they do with a region.
pub fn a_function_uses_a_region(job: &Job) {
    let region = job.region::<u64>(0, 10).unwrap();
    let shared = region.subscribe().unwrap();
    let combine = |total: &mut [u64], input: &[u64]| {
        check_refused(job.region::<u64>(0, 10));
        check_refused(region.subscribe());
        check_refused(region.sharers());
        check_refused(shared.write(0, &[1]));
        check_refused(shared.write_diff(&[1; 10], &mut Twin::of(&[0; 10])));
        super::add(total, input);
    };
    job.world().unwrap().allreduce(&mut vec![1u64; 100], combine).unwrap();
    // One that is dropped there goes on to get what others write, and its rank may subscribe again.
    let mut dropped = Some(shared);
    let mut combine = |total: &mut [u64], input: &[u64]| {
        drop(dropped.take());
        super::add(total, input);
    };
    let cell = std::cell::RefCell::new(&mut combine);
    let combine = |total: &mut [u64], input: &[u64]| (cell.borrow_mut())(total, input);
    job.world().unwrap().allreduce(&mut vec![1u64; 100], combine).unwrap();
    drop(dropped);
    let shared = region.subscribe().unwrap();
    shared.write(job.rank(), &[7]).unwrap();
    job.barrier().unwrap();
    assert!(shared.to_vec().unwrap()[..job.size()].iter().all(|element| *element == 7));
    job.barrier().unwrap();
    drop(shared);
    region.free().unwrap();
}
