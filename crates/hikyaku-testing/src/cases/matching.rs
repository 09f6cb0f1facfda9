//! Messages that the receiver matches by their keys.

use crate::support::{bytes, expect_error};
use hikyaku::matching::{Keys, Matched, Matching, Source};
use hikyaku::{Error, Job};
use std::time::Duration;

/// Within a word of a message, beside it, by a slot.
const SIZES: [usize; 9] = [0, 1, 40, 41, 1000, 8192, 8193, 20_000, 200_000];

/// What this rank sends to another under a key.
fn letter(from: usize, to: usize, key: u64, len: usize) -> Vec<u8> {
    bytes(from * 31 + to * 7 + key as usize * 13, len)
}

/// Of every size, to everybody, received in another order than they were sent in.
pub fn messages_are_matched_by_their_keys(job: &Job) {
    let (matching, me) = (job.matching().unwrap(), job.rank());
    for shift in 0..job.size() {
        let (to, from) = ((me + shift) % job.size(), (me + job.size() - shift) % job.size());
        let data: Vec<_> = (0..).zip(SIZES).map(|(key, len)| letter(me, to, key, len)).collect();
        let mut rooms: Vec<_> = SIZES.iter().map(|len| vec![0xee; len + 3]).collect();
        matching
            .scope(|scope| {
                for (key, data) in (0..).zip(&data) {
                    let _ = scope.isend(data, to, key)?;
                }
                let mut receives = Vec::new();
                for (key, room) in rooms.iter_mut().enumerate().rev() {
                    receives.push((key, scope.irecv(room, from, key as u64)?));
                }
                for (key, receive) in receives {
                    let expected = Matched { rank: from, key: key as u64, len: SIZES[key] };
                    assert_eq!(scope.wait_receive(receive)?, expected);
                }
                Ok(())
            })
            .unwrap();
        for ((key, len), room) in (0..).zip(SIZES).zip(&rooms) {
            assert!(room[..len] == letter(from, me, key, len) && room[len..] == [0xee; 3], "{len} bytes");
        }
    }
    matching.free().unwrap();
}

/// Every rank sends three messages to rank 0, which names source, key, some bits, or nothing.
pub fn receives_leave_open_what_they_want(job: &Job) {
    let (matching, me) = (job.matching().unwrap(), job.rank() as u64);
    for (round, long) in [(0, false), (1, true)] {
        let len = if long { 2000 } else { 1 };
        if me > 0 {
            let data: Vec<_> = (0..3).map(|kind| vec![me * 10 + kind; len]).collect();
            matching
                .scope(|scope| {
                    (0..)
                        .zip(&data)
                        .try_for_each(|(kind, data)| scope.isend(data, 0, round << 16 | kind << 8 | me).map(drop))
                })
                .unwrap();
            job.barrier().unwrap();
            continue;
        }
        let receive = |source: Source, keys: Keys| {
            let mut room = vec![0u64; len];
            let matched = matching.recv(&mut room, source, keys).unwrap();
            assert_eq!(matched.len, len);
            assert_eq!(room, vec![matched.rank as u64 * 10 + (matched.key >> 8 & 0xff); len]);
            (matched.rank, matched.key)
        };
        let key = |kind: u64, rank: u64| round << 16 | kind << 8 | rank;
        let size = job.size() as u64;
        // Of the last rank by its source, of the others by the bits of a kind, and the rest as it comes.
        let last = size as usize - 1;
        assert_eq!(receive(last.into(), Keys::ANY), (last, key(0, last as u64)));
        assert_eq!(receive(last.into(), key(2, last as u64).into()), (last, key(2, last as u64)));
        assert_eq!(receive(Source::Any, key(1, last as u64).into()), (last, key(1, last as u64)));
        let mut got: Vec<_> =
            (1..size - 1).map(|_| receive(Source::Any, Keys::with_ignored(key(1, 0), 0xff))).collect();
        got.extend((1..size - 1).map(|_| receive(Source::Any, Keys::with_ignored(key(2, 0), 0xff))));
        got.extend((1..size - 1).map(|_| receive(Source::Any, Keys::ANY)));
        got.sort_unstable();
        let all = (1..size - 1).flat_map(|rank| (0..3).map(move |kind| (rank as usize, key(kind, rank))));
        assert_eq!(got, all.collect::<Vec<_>>());
        assert_eq!(matching.try_probe(Source::Any, Keys::ANY).unwrap(), None);
        job.barrier().unwrap();
    }
    matching.free().unwrap();
}

/// Messages of a sender that one receive takes, and receives that take one message: in the order in which they were begun, long and
/// short in turn.
pub fn order_is_kept(job: &Job) {
    const COUNT: usize = 60;
    let (matching, me) = (job.matching().unwrap(), job.rank());
    let (to, from) = ((me + 1) % job.size(), (me + job.size() - 1) % job.size());
    for receives_first in [true, false] {
        let len = |number: usize| [1, 3000, 3, 20][number % 4];
        let data: Vec<_> = (0..COUNT).map(|number| vec![number as u64; len(number)]).collect();
        let mut rooms = vec![vec![0u64; 3000]; COUNT];
        matching
            .scope(|scope| {
                let mut rooms = rooms.iter_mut();
                // Each takes all of them, and no two in a row are of one kind.
                let patterns = [(from.into(), 7.into()), (Source::Any, 7.into()), (from.into(), Keys::ANY)];
                let mut start = |count| -> hikyaku::Result<Vec<_>> {
                    let each = rooms.by_ref().take(count).zip(patterns.into_iter().cycle());
                    each.map(|(room, (source, keys))| scope.irecv(room, source, keys)).collect()
                };
                let early = start(if receives_first { COUNT } else { 0 })?;
                if receives_first {
                    job.barrier()?;
                }
                for data in &data {
                    let _ = scope.isend(data, to, 7)?;
                }
                if !receives_first {
                    job.barrier()?;
                }
                let late = start(COUNT)?;
                for (number, receive) in early.into_iter().chain(late).enumerate() {
                    assert_eq!(scope.wait_receive(receive)?, Matched { rank: from, key: 7, len: len(number) });
                }
                Ok(())
            })
            .unwrap();
        for (number, room) in rooms.iter().enumerate() {
            assert_eq!(room[..len(number)], vec![number as u64; len(number)], "{number}");
        }
        job.barrier().unwrap();
    }
    matching.free().unwrap();
}

/// More long messages are under way than there are slots for them, and the last is wanted first.
pub fn long_messages_wait_for_nobody(job: &Job) {
    const COUNT: usize = 50;
    const LEN: usize = 12_000;
    let (matching, me) = (job.matching().unwrap(), job.rank());
    let peer = 1 - me;
    for _ in 0..2 {
        let data: Vec<_> = (0..COUNT as u64).map(|key| letter(me, peer, key, LEN)).collect();
        matching
            .scope(|scope| {
                for (key, data) in (0..).zip(&data) {
                    let _ = scope.isend(data, peer, key)?;
                }
                for key in (0..COUNT as u64).rev() {
                    let mut room = vec![0; LEN];
                    matching.recv(&mut room, peer, key)?;
                    assert!(room == letter(peer, me, key, LEN), "{key}");
                }
                Ok(())
            })
            .unwrap();
    }
    matching.free().unwrap();
}

/// Each sends many messages of one key before it receives any: short ones that fill what there is for them, and others among them. They
/// come in order, and what is given up, looked at or taken by others meanwhile changes nothing.
pub fn more_short_messages_than_there_is_room_for(job: &Job) {
    const COUNT: u64 = 300;
    let (matching, me) = (job.matching().unwrap(), job.rank());
    let (to, from) = ((me + 1) % job.size(), (me + job.size() - 1) % job.size());
    // A few rounds in which one in so many is not short.
    for every in [1000, 7, 2] {
        let len = |number: u64| match number % every {
            0 => [300, 20_000, 1000][number as usize / 7 % 3],
            _ => [8, 0, 33, 40, 32, 41, 100, 152][number as usize % 8],
        };
        let data: Vec<Vec<u8>> = (0..COUNT).map(|number| vec![number as u8; len(number)]).collect();
        let mut unused = [[0u8; 8]; COUNT as usize / 31 + 1];
        matching
            .scope(|scope| {
                for data in &data {
                    let _ = scope.isend(data, to, every)?;
                }
                let (mut room, mut unused) = (vec![0; 20_000], unused.iter_mut());
                for number in 0..COUNT {
                    if number % 31 == 0 {
                        let receive = scope.irecv(unused.next().unwrap(), from, 1)?;
                        assert_eq!(matching.try_probe(Source::Any, 1)?, None);
                        assert_eq!(scope.cancel_receive(receive)?, None);
                        matching.send(&[number], me, 3)?;
                    }
                    let (source, keys) = match number % 3 {
                        0 => (from.into(), every.into()),
                        1 => (Source::Any, every.into()),
                        _ => (from.into(), Keys::with_ignored(every, 0)),
                    };
                    assert_eq!(matching.probe(source, keys)?.len, len(number), "{number} of {every}");
                    let got = matching.recv(&mut room, source, keys)?;
                    assert_eq!(got, Matched { rank: from, key: every, len: len(number) });
                    assert_eq!(room[..got.len], data[number as usize]);
                    if number % 31 == 0 {
                        let mut own = [0];
                        matching.recv(&mut own, me, 3)?;
                        assert_eq!(own, [number]);
                    }
                }
                Ok(())
            })
            .unwrap();
    }
    matching.free().unwrap();
}

/// In a function that combines nothing can be waited for, but what has been sent before can be found.
pub fn functions_look_for_messages(job: &Job) {
    let (matching, world, peer) = (job.matching().unwrap(), job.new_world().unwrap(), 1 - job.rank());
    matching.send(&[1u8], peer, 5).unwrap();
    matching.send(&[2u8], peer, 6).unwrap();
    // One comes late, and finds everything there at once.
    if job.rank() == 0 && !job.is_simulated() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let combine = |total: &mut [u64], input: &[u64]| {
        let begin = job.now();
        let found = loop {
            let found = matching.try_probe(peer, 6).unwrap();
            if found.is_some() || job.now() - begin > Duration::from_secs(5) {
                break found;
            }
        };
        assert_eq!(found, Some(Matched { rank: peer, key: 6, len: 1 }));
        total[0] += input[0];
    };
    let mut total = [1u64];
    world.allreduce(&mut total, combine).unwrap();
    assert_eq!(total, [2]);
    let mut got = [0u8];
    matching.recv(&mut got, peer, 6).unwrap();
    matching.recv(&mut got, peer, 5).unwrap();
    assert_eq!(got, [1]);
    matching.free().unwrap();
}

pub fn thousands_are_under_way(job: &Job) {
    let count = if job.is_simulated() { 1000 } else { 5000 };
    let (matching, peer) = (job.matching().unwrap(), 1 - job.rank());
    let data: Vec<u64> = (0..count).map(|key| key ^ job.rank() as u64).collect();
    for receives_first in [true, false] {
        let mut rooms = vec![0u64; count as usize];
        matching
            .scope(|scope| {
                let mut rooms = rooms.iter_mut().map(std::slice::from_mut).enumerate();
                let mut start = |count| -> hikyaku::Result<()> {
                    rooms
                        .by_ref()
                        .rev()
                        .take(count)
                        .try_for_each(|(key, room)| scope.irecv(room, peer, key as u64).map(drop))
                };
                start(if receives_first { count as usize } else { 0 })?;
                for (key, number) in (0..).zip(data.chunks(1)) {
                    let _ = scope.isend(number, peer, key)?;
                }
                start(count as usize)
            })
            .unwrap();
        assert!((0..count).zip(&rooms).all(|(key, number)| *number == key ^ peer as u64));
    }
    matching.free().unwrap();
}

/// What goes beyond a megabyte is not sent before it is wanted, and nothing of it is lost.
pub fn a_flood_waits_with_its_sender(job: &Job) {
    const LEN: usize = 8000;
    let count = 400u64;
    let matching = job.matching().unwrap();
    if job.rank() == 0 {
        let data: Vec<_> = (0..count).map(|key| letter(0, 1, key, LEN)).collect();
        matching
            .scope(|scope| {
                let sends: Vec<_> =
                    (0..).zip(&data).map(|(key, data)| scope.isend(data, 1, key)).collect::<hikyaku::Result<_>>()?;
                job.barrier()?;
                // Nobody has received anything yet.
                let mut waiting = 0;
                for send in sends {
                    waiting += scope.test_send(send)?.is_err() as u64;
                }
                assert!(waiting > count / 2, "only {waiting} wait");
                job.barrier()
            })
            .unwrap();
        matching.send(&[1u8], 1, count).unwrap();
    } else {
        job.barrier().unwrap();
        job.barrier().unwrap();
        let mut room = vec![0; LEN];
        for key in (0..count).rev() {
            assert_eq!(matching.recv(&mut room, 0, key).unwrap().len, LEN);
            assert!(room == letter(0, 1, key, LEN), "{key}");
        }
        // There is room again.
        assert_eq!(matching.recv(&mut room, 0, count).unwrap().len, 1);
    }
    matching.free().unwrap();
}

/// Whatever a message had done for a receive that was given up, the next one gets it whole.
pub fn receives_that_are_given_up_lose_nothing(job: &Job) {
    let (matching, me) = (job.matching().unwrap(), job.rank());
    let peer = 1 - me;
    for len in [8, 5000, 100_000] {
        let data = letter(me, peer, 5, len);
        let mut room = vec![0; len];
        let late = matching.recv_for(&mut room, peer, 5, Duration::from_millis(1));
        assert!(matches!(late, Err(Error::Timeout { .. })), "{late:?}");
        job.barrier().unwrap();
        let mut unused = vec![0xee; len];
        matching
            .scope(|scope| {
                let cancelled = scope.irecv(&mut unused, peer, 5)?;
                let send = scope.isend(&data, peer, 5)?;
                let got = match scope.cancel_receive(cancelled)? {
                    Some(matched) => matched,
                    None => {
                        // However often it is given up.
                        loop {
                            match matching.recv_for(&mut room, peer, Keys::ANY, Duration::from_micros(1)) {
                                Err(Error::Timeout { .. }) => {}
                                other => break other?,
                            }
                        }
                    }
                };
                assert_eq!(got, Matched { rank: peer, key: 5, len });
                scope.wait_send(send)
            })
            .unwrap();
        let expected = letter(peer, me, 5, len);
        assert!(room == expected || unused == expected, "{len} bytes");
        job.barrier().unwrap();
    }
    matching.free().unwrap();
}

pub fn messages_that_do_not_fit_are_reported(job: &Job) {
    let (matching, peer) = (job.matching().unwrap(), 1 - job.rank());
    for (len, room) in [(10usize, 9usize), (8000, 100), (50_000, 49_999), (50_000, 0)] {
        for receives_first in [true, false] {
            let data = vec![7u8; len];
            let mut small = vec![0xeeu8; room];
            matching
                .scope(|scope| {
                    let reported = |received: hikyaku::Result<Matched>| {
                        let (from, bytes, room) = (peer, len, room);
                        let told = |error: &Error| {
                            matches!(error, Error::Overlong { from: f, key: 3, bytes: b, room: r }
                            if (*f, *b, *r) == (from, bytes, room))
                        };
                        assert!(received.as_ref().is_err_and(told), "{received:?}");
                    };
                    if receives_first {
                        let handle = scope.irecv(&mut small, peer, 3)?;
                        job.barrier()?;
                        let send = scope.isend(&data, peer, 3)?;
                        reported(scope.wait_receive(handle));
                        // The sender has done nothing wrong.
                        return scope.wait_send(send);
                    }
                    let send = scope.isend(&data, peer, 3)?;
                    job.barrier()?;
                    let handle = scope.irecv(&mut small, peer, 3)?;
                    reported(scope.wait_receive(handle));
                    scope.wait_send(send)
                })
                .unwrap();
            assert!(small.iter().all(|byte| *byte == 0xee), "nothing was written");
        }
    }
    let mut words = [0u32; 2];
    matching.send(&[1u8, 2, 3, 4, 5], peer, 9).unwrap();
    expect_error!(matching.recv(&mut words, peer, 9), Error::Uneven { key: 9, bytes: 5, element: 4, .. });
    job.barrier().unwrap();
    matching.free().unwrap();
}

pub fn a_rank_sends_to_itself_by_key(job: &Job) {
    let (matching, me) = (job.matching().unwrap(), job.rank());
    for len in SIZES {
        let data = letter(me, me, 4, len);
        let mut rooms = [vec![0; len], vec![0; len]];
        let [first, second] = &mut rooms;
        matching
            .scope(|scope| {
                let _ = scope.irecv(first, me, 4)?;
                let _ = scope.isend(&data, me, 4)?;
                let _ = scope.isend(&data, me, 5)?;
                let _ = scope.irecv(second, Source::Any, Keys::ANY)?;
                Ok(())
            })
            .unwrap();
        assert!(rooms.iter().all(|room| *room == data), "{len} bytes");
    }
    matching.free().unwrap();
}

pub fn probes_take_nothing(job: &Job) {
    let (matching, me) = (job.matching().unwrap(), job.rank());
    if me == 0 {
        job.barrier().unwrap();
        for (key, len) in (0..).zip(SIZES) {
            matching.send(&letter(0, 1, key, len), 1, key).unwrap();
        }
    } else {
        let none = matching.probe_for(0, Keys::ANY, Duration::from_millis(1));
        assert!(matches!(none, Err(Error::Timeout { .. })), "{none:?}");
        assert_eq!(matching.try_probe(Source::Any, Keys::ANY).unwrap(), None);
        job.barrier().unwrap();
        for (key, len) in (0..).zip(SIZES) {
            let expected = Matched { rank: 0, key, len };
            assert_eq!(matching.probe(Source::Any, key).unwrap(), expected);
            assert_eq!(matching.probe(0, Keys::ANY).unwrap(), expected);
            assert_eq!(matching.try_probe(0, key).unwrap(), Some(expected));
            let mut room = vec![0; len];
            assert_eq!(matching.recv(&mut room, 0, key).unwrap(), expected);
            assert!(room == letter(0, 1, key, len));
        }
    }
    matching.free().unwrap();
}

pub fn wrong_ranks_are_refused_by_matching(job: &Job) {
    let (matching, size) = (job.matching().unwrap(), job.size());
    expect_error!(matching.send(&[1], size, 0), Error::NoSuchRank { .. });
    expect_error!(matching.recv(&mut [1], size, 0), Error::NoSuchRank { .. });
    expect_error!(matching.probe(size, Keys::ANY), Error::NoSuchRank { .. });
    expect_error!(matching.try_probe(size, 1), Error::NoSuchRank { .. });
    let refused = matching.scope(|scope| scope.isend(&[1], size, 0).map(drop));
    expect_error!(refused, Error::NoSuchRank { .. });
    job.barrier().unwrap();
}

/// Their memory and their numbers come back, and what was left is forgotten: nothing of it is written to memory that is used again.
pub fn matching_is_freed(job: &Job) {
    let (me, size) = (job.rank(), job.size());
    for round in 0..70u64 {
        let matching = job.matching().unwrap();
        let (to, from) = ((me + 1) % size, (me + size - 1) % size);
        matching.send(&[round], to, 1).unwrap();
        // Never received.
        matching.send(&[u64::MAX], to, 1).unwrap();
        let mut got = [0];
        matching.recv(&mut got, from, Keys::ANY).unwrap();
        assert_eq!(got, [round]);
        // Some come right before the end.
        (0..round).for_each(|number| matching.send(&[number; 2], from, 2).unwrap());
        matching.free().unwrap();
        if round % 10 == 0 {
            let area = job.symmetric::<u64>(20_000).unwrap();
            job.barrier().unwrap();
            assert!(area.to_vec().iter().all(|word| *word == 0), "{round}");
            job.free(area).unwrap();
        }
    }
}

/// Short messages and longer ones among them, as many as need no room to be given back.
pub fn what_a_rank_sent_before_it_left_is_received(job: &Job) {
    const COUNT: u64 = 50;
    let matching: Matching<'_> = job.matching().unwrap();
    let (me, size) = (job.rank(), job.size());
    let letter = |to: usize, number: u64| vec![number << 8 | to as u64; if number % 20 == 9 { 40 } else { 1 }];
    if me == size - 1 {
        for (to, number) in (0..size - 1).flat_map(|to| (0..COUNT).map(move |number| (to, number))) {
            matching.send(&letter(to, number), to, 6).unwrap();
        }
        return;
    }
    // It has left by now, or not.
    let mut late = vec![0u8; 100_000];
    expect_error!(matching.recv(&mut late, size - 1, 7), Error::PeerLeft { .. });
    for number in 0..COUNT {
        let (mut got, sent) = ([0u64; 40], letter(me, number));
        assert_eq!(matching.recv(&mut got, size - 1, 6).unwrap().len, sent.len(), "{number}");
        assert_eq!(got[..sent.len()], sent);
    }
    expect_error!(matching.recv(&mut late, size - 1, 6), Error::PeerLeft { .. });
    expect_error!(matching.send(&late, size - 1, 7), Error::PeerLeft { .. });
}
