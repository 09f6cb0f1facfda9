//! Memory that existed before: vectors of the program. Reached by a pointer (threads), by a system call, or by
//! messages to the owner's network interface; the promises are the same.

use crate::support::{await_half_a_push, bytes, expect_error, needs_progress_of, push_outcome, spin_until, tag};
use hikyaku::{Atomic, By, Error, Job, Refusal, Symmetric, Until};
use std::hint::black_box;

pub fn every_operation_reaches_a_vector(job: &Job) {
    let back = job.symmetric::<u64>(1).unwrap();
    if job.rank() == 0 {
        let area = job.register::<u64>(4, (0..64).collect()).unwrap();
        job.barrier().unwrap();
        assert_eq!(job.wait(area.at(3), Until::Equal(300)).unwrap(), 300);
        job.word(back.at(1, 0), 1).unwrap();
        job.wait(area.at(5), Until::Equal(500)).unwrap();
        assert_eq!(area.get(6), 600, "data before its word");
        job.barrier().unwrap();
        let mut expected: Vec<u64> = (0..64).collect();
        expected[1..3].copy_from_slice(&[100, 200]);
        expected[3..7].copy_from_slice(&[300, 44, 500, 600]);
        expected[10] = 0b1010;
        assert_eq!(area.into_vec(), expected);
    } else {
        job.barrier().unwrap();
        let remote = job.open_area::<u64>(0, 4).unwrap();
        assert_eq!(remote.len(), 64);
        let mut got = [0; 64];
        job.pull(remote.at(0), &mut got).unwrap();
        assert_eq!(got, std::array::from_fn(|i| i as u64));
        job.push(remote.at(1), &[100, 200]).unwrap();
        assert_eq!(job.pull_one(remote.at(2)).unwrap(), 200, "a pull sees what this port pushed");
        job.word(remote.at(3), 300).unwrap();
        job.wait(back.here(0), Until::Equal(1)).unwrap();
        assert_eq!(job.fetch_add(remote.at(4), 40).unwrap(), 4);
        assert_eq!(job.swap(remote.at(10), 0b1100).unwrap(), 10);
        assert_eq!(job.atomic(remote.at(10), Atomic::And(0b0110)).unwrap(), 0b1100);
        assert_eq!(job.atomic(remote.at(10), Atomic::Or(0b0010)).unwrap(), 0b0100);
        assert_eq!(job.atomic(remote.at(10), Atomic::Xor(0b1100)).unwrap(), 0b0110);
        assert_eq!(job.compare_swap(remote.at(10), 0, 9).unwrap(), 0b1010);
        assert_eq!(job.compare_swap(remote.at(10), 0b1010, 0b1010).unwrap(), 0b1010);
        job.push_notify(remote.at(6), &[600], remote.at(5), 500).unwrap();
        job.barrier().unwrap();
    }
}

pub fn a_vector_comes_back_the_same(job: &Job) {
    let peer = 1 - job.rank();
    let memory = vec![tag(job.rank(), 0); 1000];
    let address = memory.as_ptr();
    let area = job.register(1, memory).unwrap();
    job.barrier().unwrap();
    let remote = job.open_area::<u64>(peer, 1).unwrap();
    job.push(remote.at(10), &[5, 6]).unwrap();
    job.barrier().unwrap();
    let memory = area.into_vec();
    assert_eq!(memory.as_ptr(), address, "the same vector");
    assert_eq!(&memory[9..13], [tag(job.rank(), 0), 5, 6, tag(job.rank(), 0)]);
    job.barrier().unwrap();
}

pub fn large_and_odd_transfers(job: &Job) {
    const LEN: usize = 300_000;
    let area = job.register(1, vec![0xEEu8; LEN]).unwrap();
    job.barrier().unwrap();
    let remote = job.open_area::<u8>(1 - job.rank(), 1).unwrap();
    let mut model = vec![0xEEu8; LEN];
    for (offset, len) in
        [(0, 0), (0, 1), (7, 9), (1, 8191), (3, 8192), (5, 8193), (16_380, 8), (17, 100_001), (LEN - 3, 3), (LEN, 0)]
    {
        let data = bytes(offset + len, len);
        job.push(remote.at(offset), &data).unwrap();
        model[offset..offset + len].copy_from_slice(&data);
        let mut got = vec![0; len];
        job.pull(remote.at(offset), &mut got).unwrap();
        assert!(got == data, "{len} bytes at {offset}");
    }
    let mut all = vec![0; LEN];
    job.pull(remote.at(0), &mut all).unwrap();
    assert!(all == model, "neighbours");
    job.barrier().unwrap();
    assert!(area.into_vec() == model);
}

pub fn a_word_follows_pushes_to_private_memory(job: &Job) {
    let flag = job.symmetric::<u64>(1).unwrap();
    let area = job.register(1, vec![0u64; 5000]).unwrap();
    job.barrier().unwrap();
    let peer = 1 - job.rank();
    let remote = job.open_area::<u64>(peer, 1).unwrap();
    for turn in 1..=60u64 {
        if turn % 2 == job.rank() as u64 {
            for part in 0..5 {
                job.push(remote.at(part * 1000), &[turn; 1000]).unwrap();
            }
            // By turns a word of symmetric memory and one of the area itself.
            if turn % 4 < 2 {
                job.word(flag.at(peer, 0), turn).unwrap();
            } else {
                job.push(remote.at(0), &[turn]).unwrap();
                job.word(flag.at(peer, 0), turn).unwrap();
            }
        } else {
            job.wait(flag.here(0), Until::Equal(turn)).unwrap();
            assert!(area.to_vec().iter().all(|word| *word == turn), "turn {turn}: the word came before the data");
        }
    }
    job.barrier().unwrap();
}

pub fn data_and_flag_in_different_kinds_of_memory(job: &Job) {
    let shared = job.symmetric::<u64>(101).unwrap();
    let area = job.register(1, vec![0u64; 101]).unwrap();
    job.barrier().unwrap();
    let peer = 1 - job.rank();
    let remote = job.open_area::<u64>(peer, 1).unwrap();
    for turn in 1..=60u64 {
        let data_in_area = turn % 4 < 2;
        if turn % 2 == job.rank() as u64 {
            if data_in_area {
                job.push_notify(remote.at(0), &[turn; 100], shared.at(peer, 100), turn).unwrap();
            } else {
                job.push_notify(shared.at(peer, 0), &[turn; 100], remote.at(100), turn).unwrap();
            }
        } else if data_in_area {
            job.wait(shared.here(100), Until::Equal(turn)).unwrap();
            assert!(area.to_vec()[..100].iter().all(|word| *word == turn), "turn {turn}");
        } else {
            job.wait(area.at(100), Until::Equal(turn)).unwrap();
            assert!(shared.to_vec()[..100].iter().all(|word| *word == turn), "turn {turn}");
        }
    }
    job.barrier().unwrap();
}

pub fn concurrent_adds_on_private_memory(job: &Job) {
    const ADDS: u64 = 300;
    let area = (job.rank() == 0).then(|| job.register(1, vec![0u64; 2]).unwrap());
    job.barrier().unwrap();
    let remote = job.open_area::<u64>(0, 1).unwrap();
    for _ in 0..ADDS {
        job.fetch_add(remote.at(1), 3).unwrap();
    }
    job.barrier().unwrap();
    if let Some(area) = area {
        assert_eq!(area.into_vec(), [0, 3 * ADDS * job.size() as u64]);
    }
}

pub fn memory_of_another_owner(job: &Job) {
    let memory: &'static mut [u64] = Box::leak(vec![0u64; 10].into_boxed_slice());
    let (start, len) = (memory.as_mut_ptr(), memory.len());
    // SAFETY: leaked memory stays; it is not used by reference before the area is dropped.
    let area = unsafe { job.register_raw(1, start, len) }.unwrap();
    job.barrier().unwrap();
    let remote = job.open_area::<u64>(1 - job.rank(), 1).unwrap();
    job.push(remote.at(8), &[1, 2]).unwrap();
    expect_error!(job.push(remote.at(9), &[1, 2]), Error::OutOfBounds { .. });
    job.barrier().unwrap();
    assert_eq!(area.to_vec()[7..], [0, 1, 2]);
    assert_eq!(area.into_vec()[9], 2);
    // SAFETY: made by `Box::leak` above; no area refers to it any more.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, len)) });
    expect_error!(register_nowhere(job, 0, 4), Error::WrongElement { .. });
    expect_error!(register_nowhere(job, 12, 4), Error::WrongElement { .. });
    job.barrier().unwrap();
}

/// Registers memory that does not exist.
pub fn register_nowhere(job: &Job, address: usize, len: usize) -> hikyaku::Result<()> {
    // SAFETY: refused before it is used.
    let refused = unsafe { job.register_raw::<u64>(1, std::ptr::without_provenance_mut(address), len) };
    Err(refused.expect_err("it is refused"))
}

pub fn status_of_pushes_to_private_memory(job: &Job) {
    const COUNT: usize = 50;
    let status = job.symmetric::<u64>(COUNT).unwrap();
    let area = job.register(1, vec![0u64; COUNT * 2000]).unwrap();
    job.barrier().unwrap();
    let remote = job.open_area::<u64>(1 - job.rank(), 1).unwrap();
    for index in 0..COUNT {
        // Of one piece and of several.
        let len = if index % 2 == 0 { 3 } else { 2000 };
        job.push_status(remote.at(index * 2000), &vec![index as u64; len], status.here(index), 1).unwrap();
    }
    for index in 0..COUNT {
        job.wait(status.here(index), Until::Equal(1)).unwrap();
        let last = if index % 2 == 0 { 2 } else { 1999 };
        assert_eq!(job.pull_one(remote.at(index * 2000 + last)).unwrap(), index as u64);
    }
    job.barrier().unwrap();
    assert_eq!(area.get(COUNT * 2000 - 1), COUNT as u64 - 1);
}

/// Rank 1 stays outside the library from the moment rank 0 comes back from here until `go` is 1, so that what rank 0
/// sends it meanwhile stays under way.
fn hold_rank_1(job: &Job, go: &Symmetric<u64>) {
    match job.rank() {
        0 => spin_until(|| go.get(0) == 1),
        1 => {
            job.push(go.at(0, 0), &[1]).unwrap();
            spin_until(|| go.get(0) == 1);
        }
        _ => {}
    }
}

/// The status word's area ends before the push does: its memory, by then another area's, must stay untouched.
pub fn a_status_word_dies_with_its_area(job: &Job) {
    let go = job.symmetric::<u64>(1).unwrap();
    let area = (job.rank() == 1).then(|| job.register(1, vec![0u64; 4]).unwrap());
    job.barrier().unwrap();
    hold_rank_1(job, &go);
    if job.rank() == 0 {
        let remote = job.open_area::<u64>(1, 1).unwrap();
        let status = job.area::<u64>(2, 4).unwrap();
        job.push_status(remote.at(0), &[5], status.at(0), 77).unwrap();
        drop(status);
        let next = job.area::<u64>(2, 4).unwrap();
        job.push(go.at(1, 0), &[1]).unwrap();
        job.sync().unwrap();
        assert_eq!(next.to_vec(), [0; 4], "written after the end of its area");
    }
    job.barrier().unwrap();
    assert!(area.is_none_or(|area| area.get(0) == 5));
}

pub fn a_revoked_vector_refuses_everything(job: &Job) {
    let peer = 1 - job.rank();
    let area = job.register(9, vec![1u64; 4]).unwrap();
    job.barrier().unwrap();
    let remote = job.open_area::<u64>(peer, 9).unwrap();
    job.push(remote.at(0), &[2]).unwrap();
    job.barrier().unwrap();
    let memory = area.into_vec();
    job.barrier().unwrap();
    let place = remote.at(0);
    let pushed = |started| push_outcome(job, peer, 9, started);
    expect_error!(pushed(job.push(place, &[1])), Error::AreaRevoked { rank, id: 9 } if rank == peer);
    expect_error!(job.pull(place, &mut [0]), Error::AreaRevoked { rank, id: 9 } if rank == peer);
    expect_error!(pushed(job.word(place, 1)), Error::AreaRevoked { .. });
    expect_error!(job.fetch_add(place, 1), Error::AreaRevoked { rank, id: 9 } if rank == peer);
    expect_error!(pushed(job.push_notify(place, &[1], remote.at(1), 1)), Error::AreaRevoked { .. });
    job.sync().expect("reported once");
    job.barrier().unwrap();
    assert_eq!(memory, [2, 1, 1, 1]);
}

pub fn nobody_writes_to_a_vector_after_a_revocation(job: &Job) {
    const LEN: usize = 1 << 15;
    let started = job.symmetric::<u64>(1).unwrap();
    let peers = job.size() as u64 - 1;
    for round in 1..=15 {
        let area = (job.rank() == 0).then(|| job.register(1, vec![0u64; LEN]).unwrap());
        job.barrier().unwrap();
        if let Some(area) = area {
            job.wait(started.here(0), Until::AtLeast(round * peers)).unwrap();
            await_half_a_push(job, || area.get(LEN / 2));
            let memory = area.into_vec();
            // From the end: a push on its way there is still behind.
            let copy: Vec<u64> = black_box(&memory).iter().rev().copied().collect();
            job.barrier().unwrap();
            assert!(black_box(&memory).iter().eq(copy.iter().rev()), "written after the revocation");
        } else {
            let remote = job.open_area::<u64>(0, 1).unwrap();
            job.push(remote.at(0), &vec![1; LEN]).unwrap();
            job.flush(0).unwrap();
            job.fetch_add(started.at(0, 0), 1).unwrap();
            let data = [vec![2; LEN], vec![3; LEN]];
            let push = |turn: usize| push_outcome(job, 0, 1, job.push(remote.at(0), &data[turn % 2]));
            let end = (0..).find_map(|turn| push(turn).err()).unwrap();
            assert!(matches!(end, Error::AreaRevoked { rank: 0, id: 1 }), "{end:?}");
            // By messages, pushes may have been under way.
            if let Err(error) = job.sync() {
                assert!(matches!(error, Error::Refused { rank: 0, reason: Refusal::UnknownArea }), "{error:?}");
            }
            job.barrier().unwrap();
        }
    }
}

pub fn a_push_overtaken_by_the_revocation_is_reported(job: &Job) {
    let go = job.symmetric::<u64>(1).unwrap();
    let area = (job.rank() == 1).then(|| job.register(1, vec![0u64; 4]).unwrap());
    job.barrier().unwrap();
    hold_rank_1(job, &go);
    if job.rank() == 0 {
        let remote = job.open_area::<u64>(1, 1).unwrap();
        job.push(remote.at(0), &[5]).unwrap();
        job.push(go.at(1, 0), &[1]).unwrap();
        match needs_progress_of(job, 1) {
            false => job.flush(1).unwrap(),
            true => {
                expect_error!(job.flush(1), Error::Refused { rank: 1, reason: Refusal::UnknownArea });
                job.flush(1).expect("reported once");
            }
        }
    } else {
        drop(area);
    }
    job.barrier().unwrap();
}

/// Rank 1 leaves without having looked at what rank 0 sent it. Rank 0 learns of it, and goes on with rank 2.
pub fn operations_under_way_to_a_rank_that_left(job: &Job) {
    let go = job.symmetric::<u64>(1).unwrap();
    let area = (job.rank() == 1).then(|| job.register(1, vec![0u64; 4]).unwrap());
    job.barrier().unwrap();
    hold_rank_1(job, &go);
    match job.rank() {
        0 => {
            let remote = job.open_area::<u64>(1, 1).unwrap();
            job.push(remote.at(0), &[5]).unwrap();
            job.push(go.at(1, 0), &[1]).unwrap();
            match needs_progress_of(job, 1) {
                false => job.sync().unwrap(),
                true => expect_error!(job.sync(), Error::PeerLeft { rank: 1 }),
            }
            job.sync().expect("reported once");
            job.push(go.at(2, 0), &[0]).unwrap();
            job.flush(2).unwrap();
            job.word(go.at(2, 0), 1).unwrap();
            job.wait_from(By::Rank(2), go.here(0), Until::Equal(2)).unwrap();
        }
        1 => drop(area),
        _ => {
            job.wait_from(By::Rank(0), go.here(0), Until::Equal(1)).unwrap();
            job.word(go.at(0, 0), 2).unwrap();
        }
    }
}

/// Whoever runs the suite says which way private memory must be reached, if it matters.
pub fn the_route_is_the_one_asked_for(job: &Job) {
    let direct = job.reaches_private_memory(1 - job.rank()).unwrap();
    match std::env::var("HIKYAKU_EXPECT_ROUTE").as_deref() {
        Ok("direct") => assert!(direct),
        Ok("messages") => assert!(!direct),
        _ => {}
    }
    assert!(job.reaches_private_memory(job.rank()).unwrap());
    job.barrier().unwrap();
}
