//! Regions of which every subscriber has a copy.

use crate::support::expect_error;
use hikyaku::{Bitmap, By, Error, Job, Until};

/// All change a region at once, each an element of its own, by every form of write.
pub fn all_copies_get_what_anyone_writes(job: &Job) {
    let rounds = if job.is_simulated() { 5 } else { 50 };
    let (me, size) = (job.rank(), job.size());
    for home in [0, size - 1] {
        let region = job.region::<u32>(home, 5000).unwrap();
        let shared = region.subscribe().unwrap();
        job.barrier().unwrap();
        assert_eq!(region.sharers().unwrap(), (0..size).collect::<Vec<_>>());
        let mut mine = vec![1; 5000];
        let mut twin = shared.read_twin(&mut mine).unwrap();
        assert!(mine.iter().all(|element| *element == 0));
        job.barrier().unwrap();
        for round in 1..=rounds {
            let index = (round as usize * 17 + me * 1000) % 5000;
            mine[index] = round;
            match (round as usize + me) % 3 {
                0 => shared.write(index, &[round]).unwrap(),
                1 => assert_eq!(shared.write_diff(&mine, &mut twin).unwrap(), 1),
                _ => {
                    let mut marked = Bitmap::new(5000);
                    marked.set(index);
                    shared.write_bitmap(&mine, &marked).unwrap();
                }
            }
            job.barrier().unwrap();
            shared.refresh(&mut mine, &mut twin).unwrap();
            for rank in 0..size {
                let index = (round as usize * 17 + rank * 1000) % 5000;
                assert_eq!((mine[index], shared.get(index).unwrap()), (round, round), "of rank {rank}");
            }
            job.barrier().unwrap();
        }
        assert_eq!(shared.to_vec().unwrap(), mine);
        drop(shared);
        region.free().unwrap();
    }
}

/// While some write all the time, others come and go, and miss nothing.
pub fn who_joins_misses_nothing(job: &Job) {
    let rounds = if job.is_simulated() { 20 } else { 300 };
    let (me, size) = (job.rank(), job.size());
    let region = job.region::<u64>(size / 2, size * 100).unwrap();
    let mut own = vec![0; 100];
    for round in 1..=rounds {
        let shared = region.subscribe().unwrap();
        let mut seen = vec![0; 100];
        shared.read(me * 100, &mut seen).unwrap();
        assert_eq!(seen, own, "round {round}");
        own[round as usize * 7 % 100] = round;
        shared.write(me * 100, &own).unwrap();
        shared.read(me * 100, &mut seen).unwrap();
        assert_eq!(seen, own, "round {round}");
        if round % 2 == 0 {
            shared.unsubscribe().unwrap();
        }
    }
    let shared = region.subscribe().unwrap();
    job.barrier().unwrap();
    let seen = shared.to_vec().unwrap();
    for rank in 0..size {
        assert_eq!(seen[rank * 100..][..100], own, "rank {rank}"); // all have written the same
    }
    job.barrier().unwrap();
    drop(shared);
    assert!(region.sharers().unwrap().contains(&(size / 2)));
    region.free().unwrap();
}

/// A sharer that leaves the job is none any more; without the home nobody can write.
pub fn sharers_and_the_home_leave(job: &Job) {
    let (me, size) = (job.rank(), job.size());
    let region = job.region::<u64>(0, 10).unwrap();
    let done = job.symmetric::<u64>(size).unwrap();
    let shared = region.subscribe().unwrap();
    job.barrier().unwrap();
    if me == size - 1 {
        return;
    }
    // Both before and after it has left.
    for round in 1..=100 {
        shared.write(me, &[round]).unwrap();
    }
    // It can be written to as long as nobody has noticed; who is told of its end does without it.
    expect_error!(job.wait_from(By::Rank(size - 1), done.here(size - 1), Until::Equal(1)), Error::PeerLeft { .. });
    shared.write(me, &[1000]).unwrap();
    job.word(done.at(0, me), 1).unwrap();
    if me == 0 {
        for rank in 1..size - 1 {
            job.wait_from(By::Rank(rank), done.here(rank), Until::Equal(1)).unwrap();
        }
        assert!(!region.sharers().unwrap().contains(&(size - 1)));
        return;
    }
    expect_error!(job.wait_from(By::Rank(0), done.here(0), Until::Equal(1)), Error::PeerLeft { .. });
    expect_error!(shared.write(me, &[1]), Error::PeerLeft { rank: 0 });
    expect_error!(region.sharers(), Error::PeerLeft { rank: 0 });
    assert_eq!(shared.get(me).unwrap(), 1000);
    drop(shared);
    expect_error!(region.subscribe(), Error::PeerLeft { rank: 0 });
}

pub fn wrong_uses_of_regions_are_refused(job: &Job) {
    let size = job.size();
    expect_error!(job.region::<u8>(size, 10), Error::NoSuchRank { .. });
    expect_error!(job.region::<u64>(0, usize::MAX / 4), Error::Invalid(_));
    expect_error!(job.region::<()>(0, 1), Error::Invalid(_));
    let empty = job.region::<u64>(0, 0).unwrap();
    let nothing = empty.subscribe().unwrap();
    nothing.write(0, &[]).unwrap();
    assert!(nothing.to_vec().unwrap().is_empty() && empty.is_empty());
    drop(nothing);
    empty.free().unwrap();

    let region = job.region::<[u8; 3]>(0, 10).unwrap();
    assert_eq!((region.len(), region.home()), (10, 0));
    let shared = region.subscribe().unwrap();
    expect_error!(region.subscribe(), Error::Invalid(_));
    expect_error!(shared.get(10), Error::OutOfBounds { index: 10, count: 1, len: 10 });
    expect_error!(shared.write(9, &[[1; 3]; 2]), Error::OutOfBounds { .. });
    expect_error!(shared.write(usize::MAX, &[[1; 3]]), Error::OutOfBounds { .. });
    expect_error!(shared.write_bitmap(&[[1; 3]; 5], &Bitmap::new(6)), Error::OutOfBounds { .. });
    expect_error!(shared.write_bitmap(&[[1; 3]; 20], &Bitmap::new(11)), Error::OutOfBounds { .. });
    let mut twin = hikyaku::Twin::of(&[[0u8; 3]; 9]);
    expect_error!(shared.write_diff(&[[0; 3]; 10], &mut twin), Error::Invalid(_));
    expect_error!(shared.write_diff(&[[0; 3]; 9], &mut twin), Error::Invalid(_));
    expect_error!(shared.refresh(&mut [[0; 3]; 10], &mut twin), Error::Invalid(_));
    expect_error!(shared.read_twin(&mut [[0; 3]; 9]), Error::Invalid(_));
    assert!(shared.to_vec().unwrap().iter().all(|element| *element == [0; 3]));
    job.barrier().unwrap();
    drop(shared);
    region.free().unwrap();
    expect_error!(job.region::<u8>(job.rank(), 10), Error::Mismatch { .. });
}
