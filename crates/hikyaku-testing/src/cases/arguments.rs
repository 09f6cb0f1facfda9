//! Wrong calls (fault 17): a typed error at the call, nothing written, nobody hangs, and the job goes on.

use crate::support::{expect_error, words};
use hikyaku::{By, Error, Event, Job, PAYLOAD_MAX, Until};
use std::time::Duration;

pub fn zero_length_is_fine_anywhere(job: &Job) {
    let area = job.symmetric::<u64>(4).unwrap();
    let empty = job.symmetric::<u64>(0).unwrap();
    let own = job.area::<u64>(1, 0).unwrap();
    let vector = job.register::<u64>(2, Vec::new()).unwrap();
    let flag = job.symmetric::<u64>(1).unwrap();
    job.barrier().unwrap();
    let peer = 1 - job.rank();
    let (remote, private) = (job.open_area::<u64>(peer, 1).unwrap(), job.open_area::<u64>(peer, 2).unwrap());
    assert!(empty.is_empty() && own.is_empty() && vector.is_empty() && remote.is_empty());
    for place in [area.at(peer, 0), area.at(peer, 4), empty.at(peer, 0), remote.at(0), private.at(0)] {
        job.push(place, &[]).unwrap();
        job.pull(place, &mut []).unwrap();
        job.push_status(place, &[], flag.here(0), 1).unwrap();
        job.wait(flag.here(0), Until::Equal(1)).unwrap();
        flag.set(0, 0);
    }
    expect_error!(job.word(empty.at(peer, 0), 1), Error::OutOfBounds { index: 0, count: 1, len: 0 });
    expect_error!(job.fetch_add(remote.at(0), 1), Error::OutOfBounds { .. });
    job.barrier().unwrap();
    // A notification without data is a notification.
    job.push_notify(area.at(peer, 4), &[], flag.at(peer, 0), 3).unwrap();
    job.wait(flag.here(0), Until::Equal(3)).unwrap();
    assert_eq!(area.to_vec(), [0; 4]);
    job.barrier().unwrap();
    assert_eq!(vector.into_vec(), []);
    assert_eq!(own.into_vec(), []);
}

pub fn out_of_bounds_is_refused(job: &Job) {
    let area = job.symmetric::<u64>(8).unwrap();
    let mapped = job.area::<u64>(1, 8).unwrap();
    let private = job.register(2, vec![0u64; 8]).unwrap();
    let flag = job.symmetric::<u64>(1).unwrap();
    job.barrier().unwrap();
    let peer = 1 - job.rank();
    let (remote, routed) = (job.open_area::<u64>(peer, 1).unwrap(), job.open_area::<u64>(peer, 2).unwrap());
    let half = usize::MAX / 2 + 1;
    for index in [8, 9, half, usize::MAX / 8, usize::MAX / 8 + 1, usize::MAX] {
        for place in [area.at(peer, index), remote.at(index), routed.at(index)] {
            assert_eq!((place.rank(), place.index()), (peer, index));
            expect_error!(job.push(place, &[1]), Error::OutOfBounds { index: i, count: 1, len: 8 } if i == index);
            expect_error!(job.pull(place, &mut [0]), Error::OutOfBounds { .. });
            expect_error!(job.word(place, 1), Error::OutOfBounds { .. });
            expect_error!(job.fetch_add(place, 1), Error::OutOfBounds { .. });
            expect_error!(job.push_notify(place, &[1], flag.at(peer, 0), 1), Error::OutOfBounds { .. });
            expect_error!(job.push_notify(area.at(peer, 0), &[1], place, 1), Error::OutOfBounds { .. });
            expect_error!(job.push_status(place, &[1], flag.here(0), 1), Error::OutOfBounds { .. });
            if index > 8 {
                expect_error!(job.push(place, &[]), Error::OutOfBounds { .. });
            }
        }
        for place in [area.here(index), mapped.at(index), private.at(index)] {
            expect_error!(job.wait(place, Until::Equal(0)), Error::OutOfBounds { .. });
            expect_error!(job.poll(place), Error::OutOfBounds { .. });
        }
    }
    for (index, count) in [(0, 9), (7, 2), (8, 1), (1, 8)] {
        for place in [area.at(peer, index), remote.at(index), routed.at(index)] {
            expect_error!(job.push(place, &vec![1; count]), Error::OutOfBounds { .. });
            expect_error!(job.pull(place, &mut vec![1; count]), Error::OutOfBounds { .. });
        }
    }
    job.barrier().unwrap();
    assert_eq!(
        (area.to_vec(), mapped.to_vec(), private.to_vec(), flag.get(0)),
        (vec![0; 8], vec![0; 8], vec![0; 8], 0)
    );
    job.barrier().unwrap();
}

pub fn impossible_sizes_are_refused(job: &Job) {
    for len in [usize::MAX, usize::MAX / 8 + 1, 1 << 61] {
        expect_error!(job.symmetric::<u64>(len), Error::Invalid(_));
        expect_error!(job.area::<u64>(1, len), Error::Invalid(_));
        expect_error!(super::registered::register_nowhere(job, 64, len), Error::Invalid(_));
    }
    for len in [1 << 46, usize::MAX / 16] {
        expect_error!(job.symmetric::<u64>(len), Error::NoMemory { .. });
        expect_error!(job.area::<u64>(1, len), Error::NoMemory { .. });
    }
    expect_error!(job.symmetric::<()>(4), Error::Invalid(_));
    expect_error!(job.area::<()>(1, 4), Error::Invalid(_));
    expect_error!(job.register::<()>(1, vec![(); 4]), Error::Invalid(_));
    // The ids are free, and the collectives in step.
    let area = job.area::<u64>(1, 4).unwrap();
    let symmetric = job.symmetric::<u64>(4).unwrap();
    job.push(symmetric.at(1 - job.rank(), 3), &[1]).unwrap();
    job.barrier().unwrap();
    assert_eq!((area.len(), symmetric.get(3)), (4, 1));
}

pub fn a_wrong_rank_is_refused(job: &Job) {
    let area = job.symmetric::<u64>(4).unwrap();
    for rank in [2, 3, 1 << 16, usize::MAX] {
        let place = area.at(rank, 0);
        expect_error!(job.push(place, &[1]), Error::NoSuchRank { rank: r, size: 2 } if r == rank);
        expect_error!(job.push(place, &[]), Error::NoSuchRank { .. });
        expect_error!(job.pull(place, &mut [0]), Error::NoSuchRank { .. });
        expect_error!(job.word(place, 1), Error::NoSuchRank { .. });
        expect_error!(job.fetch_add(place, 1), Error::NoSuchRank { .. });
        expect_error!(job.push_notify(place, &[1], place, 1), Error::NoSuchRank { .. });
        expect_error!(job.send(rank, 0, 0, [0; 6], &[]), Error::NoSuchRank { .. });
        expect_error!(job.try_send(rank, 0, 0, [0; 6], &[]), Error::NoSuchRank { .. });
        expect_error!(job.call(rank, 0, [0; 6], &[]), Error::NoSuchRank { .. });
        expect_error!(job.open_area::<u64>(rank, 0), Error::NoSuchRank { .. });
        expect_error!(job.flush(rank), Error::NoSuchRank { .. });
        expect_error!(job.is_present(rank), Error::NoSuchRank { .. });
        expect_error!(job.reaches_private_memory(rank), Error::NoSuchRank { .. });
        let events = [Event::Word(area.here(0), Until::Equal(1))];
        let moment = Some(Duration::from_millis(1));
        expect_error!(job.wait_any(By::Rank(rank), &events, moment), Error::NoSuchRank { .. });
    }
    job.register_handler(1, |context, message| {
        let sent = context.send(message.arguments[0] as usize, 1, 0, [0; 6], &[]);
        context.reply(words(matches!(sent, Err(Error::NoSuchRank { rank: 9, size: 2 })) as u64)).unwrap();
    })
    .unwrap();
    job.barrier().unwrap();
    assert_eq!(job.call(1 - job.rank(), 1, words(9), &[]).unwrap(), words(1));
    job.barrier().unwrap();
}

pub fn memory_of_another_job_is_refused(job: &Job) {
    let own = job.symmetric::<u64>(4).unwrap();
    // Another job, of one thread, inside this process; its memory outlives it.
    let mut foreign = hikyaku::local(1, |other| {
        let symmetric = other.symmetric::<u64>(4).unwrap();
        let area = other.area::<u64>(1, 4).unwrap();
        let opened = other.open_area::<u64>(0, 1).unwrap();
        (symmetric, area, opened)
    })
    .unwrap();
    let (symmetric, area, opened) = foreign.pop().unwrap();
    for place in [symmetric.at(0, 0), area.at(0), opened.at(0)] {
        expect_error!(job.push(place, &[1]), Error::ForeignArea);
        expect_error!(job.pull(place, &mut [0]), Error::ForeignArea);
        expect_error!(job.word(place, 1), Error::ForeignArea);
        expect_error!(job.fetch_add(place, 1), Error::ForeignArea);
        if job.rank() == 0 {
            expect_error!(job.wait(place, Until::Equal(0)), Error::ForeignArea);
            expect_error!(job.push_status(own.at(1, 0), &[1], place, 1), Error::ForeignArea);
            expect_error!(job.push_notify(own.at(0, 0), &[1], place, 1), Error::ForeignArea);
        }
    }
    assert_eq!((symmetric.to_vec(), area.to_vec()), (vec![0; 4], vec![0; 4]));
    expect_error!(job.free(symmetric), Error::ForeignArea);
    job.barrier().unwrap();
    assert_eq!(own.to_vec(), [0; 4]);
}

pub fn memory_of_a_peer_cannot_be_waited_on(job: &Job) {
    let area = job.symmetric::<u64>(1).unwrap();
    let peer = 1 - job.rank();
    let place = area.at(peer, 0);
    expect_error!(job.wait(place, Until::Equal(0)), Error::NotMine { rank } if rank == peer);
    expect_error!(job.wait_from(By::Anyone, place, Until::Equal(0)), Error::NotMine { .. });
    expect_error!(job.wait_any(By::Anyone, &[Event::Word(place, Until::Equal(0))], None), Error::NotMine { .. });
    expect_error!(job.poll(place), Error::NotMine { .. });
    job.barrier().unwrap();
}

pub fn unknown_ids_are_refused(job: &Job) {
    let peer = 1 - job.rank();
    for id in [0, 255, 256, 1 << 20, u32::MAX] {
        expect_error!(job.open_area::<u64>(peer, id), Error::UnknownArea { rank, id: i } if rank == peer && i == id);
    }
    for id in [256, u16::MAX] {
        expect_error!(job.send(peer, id, 0, [0; 6], &[]), Error::HandlerTaken { id: i, max: 256 } if i == id);
        expect_error!(job.try_send(peer, id, 0, [0; 6], &[]), Error::HandlerTaken { .. });
        expect_error!(job.call(peer, id, [0; 6], &[]), Error::HandlerTaken { .. });
    }
    for bytes in [PAYLOAD_MAX + 1, 1 << 16, (1 << 16) + 5, 1 << 20] {
        let payload = vec![0; bytes];
        expect_error!(
            job.send(peer, 1, 0, [0; 6], &payload),
            Error::PayloadTooLong { bytes: b, max: PAYLOAD_MAX } if b == bytes
        );
        expect_error!(job.try_send(peer, 1, 0, [0; 6], &payload), Error::PayloadTooLong { .. });
        expect_error!(job.call(peer, 1, [0; 6], &payload), Error::PayloadTooLong { .. });
    }
    job.register_handler(1, |context, message| {
        let long = context.send(message.source, 1, 0, [0; 6], &[0; PAYLOAD_MAX + 1]);
        let unknown = context.send(message.source, 256, 0, [0; 6], &[]);
        let both =
            matches!(long, Err(Error::PayloadTooLong { .. })) && matches!(unknown, Err(Error::HandlerTaken { .. }));
        context.reply(words(both as u64)).unwrap();
    })
    .unwrap();
    job.barrier().unwrap();
    assert_eq!(job.call(peer, 1, [0; 6], &[]).unwrap(), words(1));
    job.barrier().unwrap();
}

pub fn a_refused_notification_writes_nothing(job: &Job) {
    let area = job.symmetric::<u64>(4).unwrap();
    let next = (job.rank() + 1) % 3;
    let after = (job.rank() + 2) % 3;
    // Data and flag must be on one rank.
    expect_error!(job.push_notify(area.at(next, 0), &[1], area.at(after, 1), 1), Error::NotAtTarget { .. });
    expect_error!(job.push_notify(area.at(next, 0), &[1], area.at(next, 4), 1), Error::OutOfBounds { .. });
    expect_error!(job.push_notify(area.at(next, 3), &[1, 1], area.at(next, 1), 1), Error::OutOfBounds { .. });
    expect_error!(job.push_status(area.at(next, 3), &[1, 1], area.here(1), 1), Error::OutOfBounds { .. });
    job.barrier().unwrap();
    assert_eq!(area.to_vec(), [0; 4]);
    job.barrier().unwrap();
}

pub fn mismatched_sizes_are_reported(job: &Job) {
    let bytes = |rank: usize| 8 * (10 + rank as u64);
    for _ in 0..3 {
        match job.symmetric::<u64>(10 + job.rank()) {
            Err(Error::Mismatch { operation, rank, mine, theirs, .. }) => {
                assert_eq!((operation, mine, theirs), ("symmetric", bytes(job.rank()), bytes(rank)));
            }
            other => panic!("{other:?}"),
        }
    }
    // Nothing is lost by it.
    let area = job.symmetric::<u64>(10).unwrap();
    let next = (job.rank() + 1) % job.size();
    job.push(area.at(next, 9), &[5]).unwrap();
    job.barrier().unwrap();
    assert_eq!(area.get(9), 5);
    job.barrier().unwrap();
}

pub fn mismatched_collectives_are_reported(job: &Job) {
    let first = job.symmetric::<u64>(10).unwrap();
    let second = job.symmetric::<u64>(10).unwrap();
    // One allocates, the other frees.
    if job.rank() == 0 {
        expect_error!(job.symmetric::<u64>(10), Error::Mismatch { operation: "symmetric", rank: 1, .. });
        expect_error!(job.free(first), Error::Mismatch { operation: "free", rank: 1, .. });
    } else {
        expect_error!(job.free(first), Error::Mismatch { operation: "free", rank: 0, .. });
        // They free different areas.
        expect_error!(job.free(second), Error::Mismatch { operation: "free", rank: 0, .. });
    }
    let again = job.symmetric::<u64>(1000).unwrap();
    job.push(again.at(1 - job.rank(), 999), &[1]).unwrap();
    job.barrier().unwrap();
    assert_eq!(again.get(999), 1);
    job.barrier().unwrap();
    // One allocates, the other only passes a barrier: found by the one that can tell. Far ranks tell each other what they
    // ask for, in a barrier too.
    if job.rank() == 0 {
        expect_error!(job.symmetric::<u64>(10), Error::Mismatch { rank: 1, .. });
    } else if job.is_mapped(0).unwrap() {
        job.barrier().unwrap();
    } else {
        expect_error!(job.barrier(), Error::Mismatch { operation: "barrier", rank: 0, .. });
    }
}

pub fn an_impossible_size_on_one_rank_is_reported(job: &Job) {
    for _ in 0..2 {
        if job.rank() == 0 {
            expect_error!(job.symmetric::<u64>(usize::MAX), Error::Invalid(_) | Error::Mismatch { .. });
        } else {
            expect_error!(job.symmetric::<u64>(10), Error::Mismatch { rank: 0, .. });
        }
    }
    // And the ranks are still in step.
    let area = job.symmetric::<u64>(10).unwrap();
    job.push(area.at(1 - job.rank(), 9), &[1]).unwrap();
    job.barrier().unwrap();
    assert_eq!(area.get(9), 1);
    job.barrier().unwrap();
}

pub fn waiting_for_nothing_possible_is_refused(job: &Job) {
    let moment = Some(Duration::from_millis(1));
    expect_error!(job.wait_any(By::Anyone, &[], moment), Error::Invalid(_));
    expect_error!(job.wait_any(By::Anyone, &[Event::Handler(256, 1)], moment), Error::HandlerTaken { id: 256, .. });
    // A handler that is not registered may be, later.
    expect_error!(job.wait_any(By::Anyone, &[Event::Handler(255, 1)], moment), Error::Timeout { .. });
    expect_error!(job.wait_handled(By::Anyone, 256, 1), Error::HandlerTaken { .. });
    job.barrier().unwrap();
}

pub fn errors_name_their_rank(job: &Job) {
    let area = job.symmetric::<u64>(1).unwrap();
    let peer = 1 - job.rank();
    assert_eq!(job.push(area.at(5, 0), &[1]).unwrap_err().rank(), Some(5));
    assert_eq!(job.wait(area.at(peer, 0), Until::Equal(0)).unwrap_err().rank(), Some(peer));
    assert_eq!(job.open_area::<u64>(peer, 3).unwrap_err().rank(), Some(peer));
    let error = job.call(peer, 3, [0; 6], &[]).unwrap_err();
    assert_eq!((error.rank(), error.is_peer_fault()), (Some(peer), false));
    assert!(error.to_string().contains(&format!("rank {peer}")));
    assert_eq!(job.push(area.at(0, 3), &[1]).unwrap_err().rank(), None);
    job.barrier().unwrap();
}
