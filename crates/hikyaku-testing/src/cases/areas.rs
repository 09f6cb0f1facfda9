//! Areas of one rank, by id, and their revocation.

use crate::os::register_for_good;
use crate::support::{await_half_a_push, beside, expect_error, push_outcome, spin_until, tag};
use hikyaku::{By, Error, Job, Until};

pub fn areas_are_reached_by_id(job: &Job) {
    // Sizes and ids differ between ranks: only the id is agreed on.
    let small = job.area::<u64>(3, 10 + job.rank()).unwrap();
    let large = job.area::<u64>(200, 5000).unwrap();
    assert_eq!((small.id(), small.len(), large.len()), (3, 10 + job.rank(), 5000));
    assert!(large.to_vec().iter().all(|word| *word == 0));
    job.barrier().unwrap();
    for peer in 0..job.size() {
        let remote = job.open_area::<u64>(peer, 3).unwrap();
        assert_eq!((remote.rank(), remote.len(), remote.is_empty()), (peer, 10 + peer, false));
        job.push(remote.at(job.rank()), &[tag(job.rank(), 3)]).unwrap();
        let remote = job.open_area::<u64>(peer, 200).unwrap();
        job.push(remote.at(1000 * job.rank()), &[tag(job.rank(), 200); 1000]).unwrap();
        assert_eq!(job.pull_one(remote.at(1000 * job.rank() + 999)).unwrap(), tag(job.rank(), 200));
        expect_error!(job.push(remote.at(4999), &[1, 2]), Error::OutOfBounds { index: 4999, count: 2, len: 5000 });
    }
    job.barrier().unwrap();
    for peer in 0..job.size() {
        assert_eq!(small.get(peer), tag(peer, 3));
        let mut part = [0; 1000];
        large.read(1000 * peer, &mut part);
        assert_eq!(part, [tag(peer, 200); 1000]);
    }
    large.write(0, &[1, 2]);
    assert_eq!((large.get(0), large.get(1)), (1, 2));
}

pub fn a_revoked_area_refuses_everything(job: &Job) {
    let status = job.symmetric::<u64>(1).unwrap();
    let area = job.area::<u64>(9, 4).unwrap();
    job.barrier().unwrap();
    let peer = 1 - job.rank();
    let remote = job.open_area::<u64>(peer, 9).unwrap();
    job.push(remote.at(0), &[1, 2]).unwrap();
    job.barrier().unwrap();
    drop(area);
    job.barrier().unwrap();
    let place = remote.at(0);
    let pushed = |started| push_outcome(job, peer, 9, started);
    expect_error!(pushed(job.push(place, &[1])), Error::AreaRevoked { rank, id: 9 } if rank == peer);
    expect_error!(job.pull(place, &mut [0]), Error::AreaRevoked { rank, id: 9 } if rank == peer);
    expect_error!(pushed(job.word(place, 1)), Error::AreaRevoked { .. });
    expect_error!(job.fetch_add(place, 1), Error::AreaRevoked { rank, id: 9 } if rank == peer);
    expect_error!(pushed(job.push_notify(place, &[1], remote.at(1), 1)), Error::AreaRevoked { .. });
    expect_error!(pushed(job.push_status(place, &[1], status.here(0), 1)), Error::AreaRevoked { .. });
    expect_error!(job.pull_status(place, &mut [0], status.here(0), 1), Error::AreaRevoked { .. });
    job.sync().expect("reported once");
    assert_eq!(status.get(0), 0, "no status for what did not happen");
    expect_error!(job.open_area::<u64>(peer, 9), Error::UnknownArea { rank, id: 9 } if rank == peer);
    job.barrier().unwrap();
}

pub fn an_old_handle_does_not_reach_a_new_area(job: &Job) {
    let peer = 1 - job.rank();
    for round in 0..50 {
        let area = job.area::<u64>(1, 8).unwrap();
        job.barrier().unwrap();
        let old = job.open_area::<u64>(peer, 1).unwrap();
        job.push(old.at(7), &[round]).unwrap();
        job.barrier().unwrap();
        drop(area);
        let area = job.area::<u64>(1, 8).unwrap();
        job.barrier().unwrap();
        expect_error!(push_outcome(job, peer, 1, job.push(old.at(7), &[1])), Error::AreaRevoked { .. });
        job.push(job.open_area::<u64>(peer, 1).unwrap().at(0), &[5]).unwrap();
        job.barrier().unwrap();
        assert_eq!(area.to_vec(), [5, 0, 0, 0, 0, 0, 0, 0]);
    }
}

/// Peers push as fast as they can while the owner takes the area away. A push that went on after that would show
/// in the next area, which gets the same memory.
pub fn nobody_writes_after_a_revocation(job: &Job) {
    const LEN: usize = 1 << 15;
    let started = job.symmetric::<u64>(1).unwrap();
    let (peers, data) = (job.size() as u64 - 1, [vec![1; LEN], vec![2; LEN]]);
    for round in 1..=15 {
        let area = (job.rank() == 0).then(|| job.area::<u64>(1, LEN).unwrap());
        job.barrier().unwrap();
        if let Some(area) = area {
            job.wait(started.here(0), Until::AtLeast(round * peers)).unwrap();
            await_half_a_push(job, || area.get(LEN / 2));
            drop(area);
            let next = job.area::<u64>(2, LEN).unwrap();
            job.barrier().unwrap();
            assert!(next.to_vec().iter().all(|word| *word == 0), "written after the revocation");
        } else {
            let remote = job.open_area::<u64>(0, 1).unwrap();
            job.push(remote.at(0), &data[1]).unwrap();
            job.fetch_add(started.at(0, 0), 1).unwrap();
            let push = |turn: usize| push_outcome(job, 0, 1, job.push(remote.at(0), &data[turn % 2]));
            let end = (0..).find_map(|turn| push(turn).err()).unwrap();
            assert!(matches!(end, Error::AreaRevoked { rank: 0, id: 1 }), "{end:?}");
            job.barrier().unwrap();
        }
    }
}

/// One thread ends an area while another waits for its id: the end of the old one must not take the new one along.
pub fn a_new_area_survives_the_end_of_the_old(job: &Job) {
    use std::sync::atomic::{AtomicBool, Ordering};
    for _ in 0..10 {
        let old = job.area::<u64>(7, 1 << 18).unwrap();
        let port = job.open().unwrap();
        let ended = AtomicBool::new(false);
        let ended = &ended;
        let renew = move || {
            let mut new = None;
            spin_until(|| {
                new = port.area::<u64>(7, 8).ok();
                new.is_some()
            });
            spin_until(|| ended.load(Ordering::Acquire));
            port.push(port.open_area::<u64>(0, 7).expect("the new area").at(3), &[4]).unwrap();
            assert_eq!(new.unwrap().get(3), 4);
        };
        beside(job, [renew], || {
            old.into_vec();
            ended.store(true, Ordering::Release);
        });
    }
}

pub fn into_vec_gives_the_content(job: &Job) {
    let area = job.area::<u32>(1, 100).unwrap();
    job.barrier().unwrap();
    let peer = 1 - job.rank();
    let remote = job.open_area::<u32>(peer, 1).unwrap();
    job.push(remote.at(20), &[5; 30]).unwrap();
    job.barrier().unwrap();
    let content = area.into_vec();
    assert_eq!(content.len(), 100);
    assert_eq!(content.iter().sum::<u32>(), 150);
    assert_eq!(&content[19..21], [0, 5]);
    job.barrier().unwrap();
    expect_error!(push_outcome(job, peer, 1, job.push(remote.at(0), &[1])), Error::AreaRevoked { .. });
    job.barrier().unwrap();
}

pub fn the_owner_waits_for_words_of_its_area(job: &Job) {
    let area = job.area::<u64>(1, 4).unwrap();
    job.barrier().unwrap();
    let peer = 1 - job.rank();
    let remote = job.open_area::<u64>(peer, 1).unwrap();
    if job.rank() == 0 {
        job.word(remote.at(0), 1).unwrap();
        job.wait(area.at(0), Until::Equal(1)).unwrap();
        job.push_notify(remote.at(1), &[7], remote.at(0), 2).unwrap();
        job.wait(area.at(0), Until::Equal(2)).unwrap();
        job.fetch_add(remote.at(0), 1).unwrap();
    } else {
        job.wait(area.at(0), Until::Equal(1)).unwrap();
        job.word(remote.at(0), 1).unwrap();
        job.wait_from(By::Rank(0), area.at(0), Until::Equal(2)).unwrap();
        assert_eq!(area.get(1), 7);
        job.word(remote.at(0), 2).unwrap();
        assert_eq!(job.wait(area.at(0), Until::NotEqual(2)).unwrap(), 3);
    }
    expect_error!(job.wait(remote.at(0), Until::Equal(0)), Error::NotMine { rank } if rank == peer);
    job.barrier().unwrap();
}

pub fn the_table_is_bounded(job: &Job) {
    let mut areas = Vec::new();
    let max = loop {
        match job.area::<u64>(areas.len() as u32, 1) {
            Ok(area) => areas.push(area),
            Err(Error::AreaIdTaken { id, max }) => {
                assert_eq!(id as usize, areas.len());
                break max as usize;
            }
            Err(other) => panic!("{other:?}"),
        }
    };
    assert_eq!(areas.len(), max);
    expect_error!(job.area::<u64>(5, 1), Error::AreaIdTaken { id: 5, .. });
    expect_error!(job.register::<u64>(5, vec![1]), Error::AreaIdTaken { id: 5, .. });
    expect_error!(job.register::<u64>(u32::MAX, vec![1]), Error::AreaIdTaken { id: u32::MAX, .. });
    drop(areas.swap_remove(5));
    // A refused area keeps no memory: more tries than the smallest heap would hold.
    for _ in 0..200 {
        expect_error!(job.area::<u8>(6, 1 << 20), Error::AreaIdTaken { .. });
    }
    job.area::<u64>(5, 1).unwrap();
}

pub fn the_wrong_element_is_refused(job: &Job) {
    let _area = job.area::<u8>(1, 20).unwrap();
    // A vector of bytes starts anywhere; 3 past an allocation of words is no word.
    let memory: &'static mut [u8] = bytemuck::cast_slice_mut(vec![0u64; 4].leak());
    let _odd = register_for_good(job, 2, &mut memory[3..19]).unwrap();
    job.barrier().unwrap();
    let peer = 1 - job.rank();
    expect_error!(job.open_area::<u64>(peer, 1), Error::WrongElement { bytes: 20, element: 8 });
    expect_error!(job.open_area::<[u8; 7]>(peer, 1), Error::WrongElement { bytes: 20, element: 7 });
    expect_error!(job.open_area::<u64>(peer, 2), Error::WrongElement { bytes: 16, element: 8 });
    expect_error!(job.open_area::<()>(peer, 1), Error::WrongElement { element: 0, .. });
    assert_eq!(job.open_area::<u32>(peer, 1).unwrap().len(), 5);
    job.barrier().unwrap();
}

pub fn freed_areas_are_zeroed_again(job: &Job) {
    for len in [1, 8, 500, 511, 512, 513, 3000] {
        let area = job.area::<u64>(1, len).unwrap();
        job.barrier().unwrap();
        let remote = job.open_area::<u64>(1 - job.rank(), 1).unwrap();
        job.push(remote.at(0), &vec![u64::MAX; len]).unwrap();
        job.barrier().unwrap();
        drop(area);
        let again = job.area::<u64>(1, len).unwrap();
        assert!(again.to_vec().iter().all(|word| *word == 0), "length {len}");
        job.barrier().unwrap();
    }
}
