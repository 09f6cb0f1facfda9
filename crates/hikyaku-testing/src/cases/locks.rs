//! Locks: one rank at a time, first come, first served.

use crate::support::expect_error;
use hikyaku::{By, Error, Job, Until};
use std::time::Duration;

/// Each adds to a counter of another rank by a pull and a push, which only adds up if nobody comes between.
pub fn ranks_count_one_at_a_time(job: &Job) {
    const TURNS: u64 = 50;
    let counter = job.symmetric::<u64>(1).unwrap();
    for manager in [0, job.size() - 1] {
        let mutex = job.mutex(manager).unwrap();
        assert_eq!(mutex.manager(), manager);
        for turn in 0..TURNS {
            let guard = match turn % 3 {
                0 => mutex.lock().unwrap(),
                1 => loop {
                    match mutex.lock_for(Duration::from_micros(50)) {
                        Ok(guard) => break guard,
                        Err(Error::Timeout { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                },
                _ => loop {
                    if let Some(guard) = mutex.try_lock().unwrap() {
                        break guard;
                    }
                    job.progress();
                },
            };
            assert!(!guard.owner_died());
            let value = job.pull_one(counter.at(1, 0)).unwrap();
            job.push(counter.at(1, 0), &[value + 1]).unwrap();
            if turn % 2 == 0 {
                guard.unlock().unwrap();
            }
        }
        job.barrier().unwrap();
        mutex.free().unwrap();
    }
    assert_eq!(job.pull_one(counter.at(1, 0)).unwrap(), 2 * TURNS * job.size() as u64);
    job.barrier().unwrap();
}

pub fn a_lock_that_is_held_is_not_taken(job: &Job) {
    let mutex = job.mutex(0).unwrap();
    let held = (job.rank() == 2).then(|| mutex.try_lock().unwrap().expect("nobody has it"));
    job.barrier().unwrap();
    if held.is_none() {
        assert!(mutex.try_lock().unwrap().is_none());
        expect_error!(mutex.lock_for(Duration::from_millis(2)), Error::Timeout { .. });
        assert!(mutex.try_lock().unwrap().is_none());
    }
    job.barrier().unwrap();
    drop(held);
    // Those who have given up are passed over, or come back.
    if job.rank() != 1 {
        drop(mutex.lock().unwrap());
    }
    job.barrier().unwrap();
    mutex.free().unwrap();
}

/// Rank 2 leaves with the lock, while the others wait for it.
pub fn an_owner_that_leaves_is_told(job: &Job) {
    let told = job.symmetric::<u64>(1).unwrap();
    let mutex = job.mutex(0).unwrap();
    let held = (job.rank() == 2).then(|| mutex.lock().unwrap());
    job.barrier().unwrap();
    if held.is_some() {
        return std::mem::forget(held);
    }
    let guard = mutex.lock().unwrap();
    if guard.owner_died() {
        job.fetch_add(told.at(0, 0), 1).unwrap();
    }
    guard.unlock().unwrap();
    // Rank 0 has what rank 1 needs.
    match job.rank() {
        1 => job.fetch_add(told.at(0, 0), 100).map(drop).unwrap(),
        _ => drop(job.wait_from(By::Rank(1), told.here(0), Until::AtLeast(101)).unwrap()),
    }
}

pub fn wrong_uses_of_locks_are_refused(job: &Job) {
    expect_error!(job.mutex(2), Error::NoSuchRank { rank: 2, size: 2 });
    expect_error!(job.mutex(job.rank()), Error::Mismatch { .. });
    let mutex = job.mutex(0).unwrap();
    let guard = mutex.lock().unwrap();
    expect_error!(mutex.lock(), Error::Invalid(_));
    expect_error!(mutex.try_lock(), Error::Invalid(_));
    expect_error!(mutex.lock_for(Duration::from_secs(1)), Error::Invalid(_));
    guard.unlock().unwrap();
    job.barrier().unwrap();
    mutex.free().unwrap();
}
