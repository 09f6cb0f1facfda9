//! Barriers that one rank counts, in two halves.

use crate::support::expect_error;
use hikyaku::{By, Error, Job, Until};
use std::time::Duration;

/// What was pushed before the first half is there after the second, whoever counts, and whatever is done between.
pub fn nobody_passes_before_all_have_arrived(job: &Job) {
    let rounds = if job.is_simulated() { 20 } else { 300 };
    let (me, size) = (job.rank(), job.size());
    let table = job.symmetric::<u64>(size).unwrap();
    for manager in [0, size - 1] {
        let barrier = job.counting_barrier(manager).unwrap();
        for round in 1..=rounds {
            for rank in 0..size {
                job.push(table.at(rank, me), &[round]).unwrap();
            }
            barrier.post().unwrap();
            match (round as usize + me) % 3 {
                0 => barrier.wait().unwrap(),
                1 => while !barrier.is_complete().unwrap() {},
                _ => {
                    // Something of its own meanwhile.
                    job.push(table.at(me, me), &[round]).unwrap();
                    while let Err(Error::Timeout { .. }) = barrier.wait_for(Duration::from_micros(50)) {}
                }
            }
            let seen = table.to_vec();
            assert!(seen.iter().all(|value| *value == round), "round {round}: {seen:?}");
            // Nobody begins the next round before all have looked.
            barrier.post().unwrap();
            barrier.wait().unwrap();
        }
        barrier.free().unwrap();
        table.write(0, &vec![0; size]);
        job.barrier().unwrap();
    }
}

/// A late rank holds up nobody who has something to do, and a wait for it can be given up.
pub fn a_late_rank_is_waited_for(job: &Job) {
    let barrier = job.counting_barrier(1).unwrap();
    if job.rank() == 0 {
        job.barrier().unwrap();
        barrier.post().unwrap();
    } else {
        barrier.post().unwrap();
        assert!(!barrier.is_complete().unwrap());
        expect_error!(barrier.wait_for(Duration::from_millis(2)), Error::Timeout { .. });
        job.barrier().unwrap();
    }
    barrier.wait().unwrap();
    barrier.free().unwrap();
}

/// A rank that leaves after it has arrived has arrived; the next barrier fails.
pub fn a_rank_leaves_that_was_counted(job: &Job) {
    let (barrier, last) = (job.counting_barrier(0).unwrap(), job.size() - 1);
    let done = job.symmetric::<u64>(job.size()).unwrap();
    barrier.post().unwrap();
    if job.rank() == last {
        return;
    }
    barrier.wait().unwrap();
    barrier.post().unwrap();
    expect_error!(barrier.wait(), Error::PeerLeft { rank } if rank == last);
    expect_error!(barrier.is_complete(), Error::PeerLeft { rank } if rank == last);
    // The manager stays as long as the others need it.
    job.word(done.at(0, job.rank()), 1).unwrap();
    for rank in (1..last).filter(|_| job.rank() == 0) {
        job.wait_from(By::Rank(rank), done.here(rank), Until::Equal(1)).unwrap();
    }
}

pub fn wrong_uses_of_counted_barriers_are_refused(job: &Job) {
    let size = job.size();
    expect_error!(job.counting_barrier(size), Error::NoSuchRank { .. });
    let barrier = job.counting_barrier(0).unwrap();
    expect_error!(barrier.wait(), Error::Invalid(_));
    expect_error!(barrier.is_complete(), Error::Invalid(_));
    barrier.post().unwrap();
    expect_error!(barrier.post(), Error::Invalid(_));
    barrier.wait().unwrap();
    expect_error!(barrier.wait(), Error::Invalid(_));
    barrier.free().unwrap();
    expect_error!(job.counting_barrier(job.rank()), Error::Mismatch { .. });
}
