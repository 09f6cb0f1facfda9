//! Locks and their guards.

use super::check_refused;
use crate::support::expect_error;
use hikyaku::collective::Sum;
use hikyaku::{By, Error, Job, Until};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

/// Rank 2 forgets its guard: it holds the lock until it leaves, and only then the others get it.
pub fn a_guard_is_forgotten(job: &Job) {
    let go_on = job.symmetric::<u64>(1).unwrap();
    let mutex = job.mutex(0).unwrap();
    if job.rank() == 2 {
        std::mem::forget(mutex.lock().unwrap());
        expect_error!(mutex.lock(), Error::Invalid(_));
    }
    job.barrier().unwrap();
    if job.rank() == 2 {
        // Both have tried.
        job.wait(go_on.here(0), Until::AtLeast(2)).unwrap();
        return;
    }
    assert!(mutex.try_lock().unwrap().is_none());
    job.fetch_add(go_on.at(2, 0), 1).unwrap();
    drop(mutex.lock().unwrap());
    // Rank 0 has the words.
    match job.rank() {
        1 => job.word(go_on.at(0, 0), 9).unwrap(),
        _ => drop(job.wait_from(By::Rank(1), go_on.here(0), Until::Equal(9)).unwrap()),
    }
}

/// The lock is free again, and the next owner is told.
pub fn a_panic_drops_a_guard(job: &Job) {
    let mutex = job.mutex(1).unwrap();
    for _ in 0..20 {
        if job.rank() == 0 {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                let _guard = mutex.lock().unwrap();
                resume_unwind(Box::new("on purpose"));
            }));
            assert!(caught.is_err());
        }
        job.barrier().unwrap();
        if job.rank() == 1 {
            assert!(mutex.lock().unwrap().owner_died());
            assert!(!mutex.lock().unwrap().owner_died());
        }
        job.barrier().unwrap();
    }
    mutex.free().unwrap();
}

/// Rank 1 waits for the lock, and a handler panics meanwhile: its ticket does not hold up rank 2.
pub fn a_handler_panics_in_the_wait_for_a_lock(job: &Job) {
    const HANDLER: u16 = 1;
    let words = job.symmetric::<u64>(1).unwrap();
    job.register_handler(HANDLER, |_, _| resume_unwind(Box::new("on purpose"))).unwrap();
    let mutex = job.mutex(0).unwrap();
    for round in 1..=10 {
        let held = (job.rank() == 0).then(|| mutex.lock().unwrap());
        job.barrier().unwrap();
        match job.rank() {
            0 => {
                job.wait_from(By::Rank(1), words.here(0), Until::Equal(round)).unwrap();
                job.send(1, HANDLER, 0, [0; 6], &[]).unwrap();
                job.wait_from(By::Rank(1), words.here(0), Until::Equal(100 + round)).unwrap();
            }
            1 => {
                job.word(words.at(0, 0), round).unwrap();
                // The handler may run before the wait.
                while catch_unwind(AssertUnwindSafe(|| mutex.lock_for(Duration::from_millis(50)).map(drop))).is_ok() {}
                job.word(words.at(0, 0), 100 + round).unwrap();
            }
            _ => {}
        }
        drop(held);
        if job.rank() == 2 || round % 2 == 0 {
            drop(mutex.lock().unwrap());
        }
        job.barrier().unwrap();
    }
    mutex.free().unwrap();
}

pub fn guards_of_several_locks_are_dropped_in_odd_orders(job: &Job) {
    let mutexes: Vec<_> = (0..6).map(|number| job.mutex(number % 2).unwrap()).collect();
    for turn in 0..10 {
        // Always taken in the same order, so that nobody waits in a circle.
        let mut guards: Vec<_> = mutexes.iter().map(|mutex| mutex.lock().unwrap()).collect();
        while !guards.is_empty() {
            drop(guards.swap_remove((turn * 7) % guards.len()));
        }
    }
    job.barrier().unwrap();
    mutexes.into_iter().rev().for_each(|mutex| mutex.free().unwrap());
}

pub fn a_lock_is_asked_for_in_a_function(job: &Job) {
    let mutex = job.mutex(0).unwrap();
    let mut sums = vec![1u64; 100];
    let combine = |total: &mut [u64], input: &[u64]| {
        check_refused(mutex.lock().map(drop));
        check_refused(mutex.try_lock().map(drop));
        check_refused(job.mutex(0).map(drop));
        super::add(total, input);
    };
    job.world().unwrap().allreduce(&mut sums, combine).unwrap();
    assert!(sums.iter().all(|sum| *sum == 2));
    drop(mutex.lock().unwrap());
    job.barrier().unwrap();
    mutex.free().unwrap();
}

/// The lock is released when the rank next asks for it.
pub fn a_guard_is_dropped_in_a_function(job: &Job) {
    let mutex = job.mutex(1).unwrap();
    for unlocks in [false, true] {
        let held = Cell::new((job.rank() == 0).then(|| mutex.lock().unwrap()));
        let combine = |total: &mut [u64], input: &[u64]| {
            match held.take() {
                Some(guard) if unlocks => check_refused(guard.unlock()),
                guard => drop(guard),
            }
            super::add(total, input);
        };
        // On both ranks, wherever the parts are combined.
        job.world().unwrap().allreduce(&mut vec![1u64; 100], combine).unwrap();
        drop(held.take());
        job.barrier().unwrap();
        if job.rank() == 0 {
            drop(mutex.lock().unwrap());
        }
        job.barrier().unwrap();
        drop(mutex.lock().unwrap());
        job.barrier().unwrap();
    }
    mutex.free().unwrap();
}

/// By a guard that was forgotten: its memory is used again, and nobody writes there.
pub fn a_lock_is_freed_while_it_is_held(job: &Job) {
    for _ in 0..20 {
        let mutex = job.mutex(0).unwrap();
        if job.rank() == 1 {
            std::mem::forget(mutex.lock().unwrap());
        }
        job.barrier().unwrap();
        if job.rank() == 0 {
            expect_error!(mutex.lock_for(Duration::from_micros(10)), Error::Timeout { .. });
        }
        mutex.free().unwrap();
        let words = job.symmetric::<u64>(100).unwrap();
        job.barrier().unwrap();
        assert!(words.to_vec().iter().all(|word| *word == 0));
        job.free(words).unwrap();
    }
}

/// A job inside of another: each has its own locks.
pub fn a_lock_of_another_job_is_used(job: &Job) {
    let outer = job.mutex(0).unwrap();
    let _held = outer.lock().unwrap();
    hikyaku::local(1, |inner| {
        let mutex = inner.mutex(0).unwrap();
        drop(mutex.lock().unwrap());
        std::mem::forget(mutex.lock().unwrap());
    })
    .map(drop)
    .unwrap();
}

pub fn waits_for_a_lock_are_given_up_all_the_time(job: &Job) {
    let counter = job.symmetric::<u64>(1).unwrap();
    let mutex = job.mutex(3).unwrap();
    let mut been = 0;
    for turn in 0..300u64 {
        match mutex.lock_for(Duration::from_micros(turn % 20)) {
            Ok(_guard) => {
                let value = job.pull_one(counter.at(0, 0)).unwrap();
                job.push(counter.at(0, 0), &[value + 1]).unwrap();
                been += 1;
            }
            Err(Error::Timeout { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    let mut sum = [been];
    job.world().unwrap().allreduce(&mut sum, Sum).unwrap();
    job.barrier().unwrap();
    assert_eq!(job.pull_one(counter.at(0, 0)).unwrap(), sum[0]);
    // However many tickets were given up, the lock is free.
    drop(mutex.lock().unwrap());
    job.barrier().unwrap();
    mutex.free().unwrap();
}

/// Nobody frees it, one has a ticket that it gave up, and all leave.
pub fn a_lock_is_dropped_and_its_ranks_leave(job: &Job) {
    let mutex = job.mutex(0).unwrap();
    let held = (job.rank() == 0).then(|| mutex.lock().unwrap());
    job.barrier().unwrap();
    if held.is_none() {
        expect_error!(mutex.lock_for(Duration::from_micros(10)), Error::Timeout { .. });
    }
    job.barrier().unwrap();
    drop(held);
}
