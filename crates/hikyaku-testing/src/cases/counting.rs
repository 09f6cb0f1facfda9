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

/// Teams of any size count by themselves, whoever counts, and none waits for another.
pub fn teams_wait_for_themselves_alone(job: &Job) {
    let rounds = if job.is_simulated() { 10 } else { 100 };
    let (me, size) = (job.rank(), job.size());
    let table = job.symmetric::<u64>(size).unwrap();
    for kind in 0..4 {
        // All; odd and even ones, backwards; all but one, who is alone; each alone.
        let team_of = |rank: usize| match kind {
            0 => 0,
            1 => rank % 2,
            2 => (rank == 1).into(),
            _ => rank,
        };
        let mine: Vec<usize> = (0..size).rev().filter(|rank| team_of(*rank) == team_of(me)).collect();
        let manager = mine[kind % mine.len()];
        let barrier = job.counting_barrier_of(&mine, manager).unwrap();
        // Teams meet at different times, and not equally often.
        let rounds = rounds * (1 + team_of(me) as u64 % 3);
        for round in 1..=rounds {
            for rank in &mine {
                job.push(table.at(*rank, me), &[round]).unwrap();
            }
            barrier.post().unwrap();
            match (round as usize + me) % 3 {
                0 => while !barrier.is_complete().unwrap() {},
                1 => while let Err(Error::Timeout { .. }) = barrier.wait_for(Duration::from_micros(50)) {},
                _ => barrier.wait().unwrap(),
            }
            let seen = table.to_vec();
            assert!(mine.iter().all(|rank| seen[*rank] == round), "kind {kind}, round {round}: {seen:?}");
            barrier.post().unwrap();
            barrier.wait().unwrap();
        }
        barrier.free().unwrap();
        table.write(0, &vec![0; size]);
        job.barrier().unwrap();
    }
}

/// Whose team differs from that of others learns it, and so do all.
pub fn wrong_teams_are_refused(job: &Job) {
    let (me, size) = (job.rank(), job.size());
    let all: Vec<usize> = (0..size).collect();
    let wrong: [(&[usize], usize); 5] = [(&[0, size], 0), (&[0, 1, 1], 0), (&[1], 1), (&[0], 1), (&[], 0)];
    for (ranks, manager) in wrong {
        let (ranks, manager) = if me == 0 { (ranks, manager) } else { (&all[..], 0) };
        let refused = job.counting_barrier_of(ranks, manager);
        assert!(
            matches!(refused, Err(Error::Invalid(_) | Error::NoSuchRank { .. })),
            "{ranks:?}, {manager}: {refused:?}"
        );
    }
    // Rank 0 is alone; the others do not know.
    let team = if me == 0 { &all[..1] } else { &all[..] };
    expect_error!(job.counting_barrier_of(team, 0), Error::Invalid(_));
    match me {
        0 => expect_error!(job.counting_barrier_of(&all, 0), Error::Mismatch { .. }),
        _ => expect_error!(job.counting_barrier(0), Error::Mismatch { .. }),
    }
    let barrier = job.counting_barrier_of(&all, 0).unwrap();
    barrier.post().unwrap();
    expect_error!(barrier.post(), Error::Invalid(_));
    barrier.wait().unwrap();
    barrier.free().unwrap();
}
