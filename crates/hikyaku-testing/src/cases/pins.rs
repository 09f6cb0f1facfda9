//! Areas that peers have pinned.

use crate::support::{expect_error, other};
use hikyaku::{By, Error, Job, Until};
use std::time::Duration;

const LEN: usize = 1000;
const SHORT: Duration = Duration::from_millis(1);

/// As long as a peer has a pin, the owner cannot take the area away; the pin ends with its release or when it is dropped.
pub fn an_area_stays_until_it_is_released(job: &Job) {
    let peer = other(job);
    for release in [true, false] {
        let (area, vector) = (job.area::<u64>(1, LEN).unwrap(), job.register(2, vec![0u32; LEN]).unwrap());
        job.barrier().unwrap();
        let (first, second) = (job.open_area::<u64>(peer, 1).unwrap(), job.open_area::<u32>(peer, 2).unwrap());
        let pins = (job.pin(first.at(900), 100).unwrap(), job.pin(second.at(0), LEN).unwrap());
        assert_eq!((pins.0.len(), pins.0.is_empty(), pins.0.rank()), (100, false, peer));
        job.barrier().unwrap();
        assert_eq!((area.pinned_by(), vector.pinned_by()), (Some(peer), Some(peer)));
        expect_error!(job.wait_unpinned(&area, Some(SHORT)), Error::AreaPinned { rank, id: 1 } if rank == peer);
        expect_error!(job.wait_unpinned(&vector, Some(Duration::ZERO)), Error::AreaPinned { rank, id: 2 } if rank == peer);
        // It stays as it was: another pin can be had.
        job.barrier().unwrap();
        drop(job.pin(first.at(0), 0).unwrap());
        job.barrier().unwrap();
        job.push(pins.0.at(0), &[7; 100]).unwrap();
        job.push(pins.1.at(0), &[9; LEN]).unwrap();
        match release {
            true => {
                pins.0.release().unwrap();
                pins.1.release().unwrap();
            }
            false => drop(pins),
        }
        // What was pushed before the release is there.
        job.wait_unpinned(&area, None).unwrap();
        job.wait_unpinned(&vector, Some(Duration::from_secs(20))).unwrap();
        assert_eq!((area.get(899), area.get(900), area.get(999)), (0, 7, 7));
        assert_eq!((area.pinned_by(), vector.pinned_by()), (None, None));
        // Both have waited, so nothing of either can be pinned any more.
        job.barrier().unwrap();
        expect_error!(job.pin(first.at(0), 1), Error::AreaRevoked { rank, id: 1 } if rank == peer);
        job.barrier().unwrap();
        assert!(area.into_vec().iter().rev().take(100).all(|value| *value == 7));
        assert_eq!(vector.into_vec(), [9; LEN]);
        job.barrier().unwrap();
        expect_error!(job.pin(second.at(0), 1), Error::AreaRevoked { rank, id: 2 } if rank == peer);
        job.barrier().unwrap();
    }
}

/// Only what is there can be pinned, and a place of a pin ends with its range.
pub fn ranges_of_pins_are_checked(job: &Job) {
    let peer = other(job);
    let area = job.area::<u64>(1, 10).unwrap();
    let symmetric = job.symmetric::<u64>(10).unwrap();
    job.barrier().unwrap();
    let remote = job.open_area::<u64>(peer, 1).unwrap();
    expect_error!(job.pin(remote.at(5), 6), Error::OutOfBounds { index: 5, count: 6, len: 10 });
    expect_error!(job.pin(remote.at(11), 0), Error::OutOfBounds { index: 11, .. });
    expect_error!(job.pin(remote.at(0), usize::MAX), Error::OutOfBounds { .. });
    let pinned = job.pin(remote.at(5), 3).unwrap();
    job.push(pinned.at(2), &[1]).unwrap();
    expect_error!(job.push(pinned.at(2), &[1, 2]), Error::OutOfBounds { .. });
    expect_error!(job.push(pinned.at(3), &[1]), Error::OutOfBounds { .. });
    expect_error!(job.push(pinned.at(usize::MAX), &[1]), Error::OutOfBounds { .. });
    // Symmetric memory stays anyway.
    expect_error!(job.pin(symmetric.at(peer, 5), 6), Error::OutOfBounds { .. });
    let always = job.pin(symmetric.at(peer, 5), 5).unwrap();
    job.push(always.at(0), &[1; 5]).unwrap();
    always.release().unwrap();
    pinned.release().unwrap();
    job.barrier().unwrap();
    assert_eq!((area.get(7), area.get(8)), (1, 0));
    assert_eq!(area.pinned_by(), None);
    job.barrier().unwrap();
}

/// Everybody pins one area, several times; the owner hears of the last release.
pub fn the_last_of_many_pins_counts(job: &Job) {
    const ROUNDS: u64 = 20;
    let done = job.symmetric::<u64>(1).unwrap();
    for round in 1..=ROUNDS {
        let area = (job.rank() == 0).then(|| job.register(1, vec![0u64; job.size()]).unwrap());
        job.barrier().unwrap();
        let remote = job.open_area::<u64>(0, 1).unwrap();
        // The owner too.
        let mut pins: Vec<_> = (0..3).map(|_| job.pin(remote.at(job.rank()), 1).unwrap()).collect();
        job.barrier().unwrap();
        if job.rank() == 0 {
            pins.clear();
            let area = area.unwrap();
            job.wait_unpinned(&area, None).unwrap();
            assert!(area.into_vec().iter().skip(1).all(|value| *value == round));
            (1..job.size()).for_each(|rank| job.word(done.at(rank, 0), round).unwrap());
        } else {
            drop(pins.remove(1));
            for pinned in pins.drain(..) {
                job.push(pinned.at(0), &[round]).unwrap();
            }
            job.wait_from(By::Rank(0), done.here(0), Until::Equal(round)).unwrap();
        }
        drop(pins);
        job.barrier().unwrap();
    }
}

/// A rank that has ended has no pins any more.
pub fn pins_end_with_their_rank(job: &Job) {
    let area = (job.rank() == 0).then(|| job.register(1, vec![1u8; LEN]).unwrap());
    job.barrier().unwrap();
    if job.rank() != 0 {
        let remote = job.open_area::<u8>(0, 1).unwrap();
        std::mem::forget(job.pin(remote.at(0), LEN).unwrap());
    }
    job.barrier().unwrap();
    if let Some(area) = area {
        job.wait_unpinned(&area, None).unwrap();
        assert_eq!(area.pinned_by(), None);
        assert_eq!(area.into_vec(), [1; LEN]);
    }
}
