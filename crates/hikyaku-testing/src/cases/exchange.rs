//! Message exchange, whose senders know their room, messages in packets, which a full receiver refuses, and message passing by any engine.

use crate::mail::Mail;
use crate::support::expect_error;
use hikyaku::exchange::Buffers;
use hikyaku::matching::{Keys, Source};
use hikyaku::passing::Engine;
use hikyaku::{Error, Job, Until};
use std::time::Duration;

/// Lengths in words, from none to what no buffer has room for.
const LENGTHS: [usize; 8] = [0, 1, 5, 6, 100, 1024, 1025, 40_000];

fn data(from: usize, to: usize, number: usize, words: usize) -> Vec<u64> {
    (0..words).map(|at| ((from * 31 + to) * 1000 + number) as u64 ^ (at as u64 * 0x9e37_79b9)).collect()
}

/// Everyone sends to everyone, in turns, by each engine: the same program.
pub fn engines_do_the_same(job: &Job) {
    let rounds = if job.is_simulated() { 2 } else { 20 };
    let (me, size) = (job.rank(), job.size());
    for engine in [Engine::Slots(3), Engine::Matched, Engine::Exchange, Engine::Packets] {
        let messages = job.message_passing(engine).unwrap();
        for number in 0..rounds * LENGTHS.len() {
            let words = LENGTHS[number % LENGTHS.len()];
            for distance in 1..size {
                let (to, from) = ((me + distance) % size, (me + size - distance) % size);
                let send = || messages.send(&data(me, to, number, words), to, number as u64 % 3).unwrap();
                let receive = || {
                    let mut into = vec![0; words];
                    if number % 2 == 0 {
                        assert_eq!(messages.probe(from, number as u64 % 3).unwrap(), words * 8);
                    }
                    assert_eq!(messages.recv(&mut into, from, number as u64 % 3).unwrap(), words);
                    assert!(into == data(from, me, number, words), "{engine:?}, {words} words of {from}");
                };
                // Long ones wait for each other: of each ring of ranks that send to each other the least one receives first.
                let ring = (0..size).scan(me, |rank, _| {
                    *rank = (*rank + distance) % size;
                    Some(*rank)
                });
                if ring.min() == Some(me) {
                    receive();
                    send();
                } else {
                    send();
                    receive();
                }
            }
        }
        let late = messages.recv_for(&mut [0u64], (me + 1) % size, 0, Duration::from_millis(1));
        expect_error!(late, Error::Timeout { .. });
        messages.free().unwrap();
    }
}

/// Messages are received in another order than that in which they came, by tag, by any tag and of any rank.
pub fn messages_are_found_by_tag(job: &Job) {
    find_by_tag(job, job.exchange().unwrap());
    find_by_tag(job, job.packets().unwrap());
}

fn find_by_tag(job: &Job, exchange: impl Mail) {
    let (me, size) = (job.rank(), job.size());
    const COUNT: usize = 24;
    if me > 0 {
        for number in 0..COUNT {
            exchange.send(&data(me, 0, number, number * 7), 0, number as u64 % 4).unwrap();
        }
        job.barrier().unwrap();
        exchange.send(&[me as u64], 0, 100).unwrap();
    } else {
        job.barrier().unwrap();
        for tag in (1..4).rev() {
            for from in 1..size {
                for number in (0..COUNT).filter(|number| *number as u64 % 4 == tag) {
                    let mut into = vec![0; 1000];
                    let matched = exchange.recv(&mut into, from, tag).unwrap();
                    assert_eq!((matched.rank, matched.key, matched.len), (from, tag, number * 7));
                    assert!(into[..matched.len] == data(from, 0, number, matched.len));
                }
            }
        }
        let mut next = vec![0; size];
        for _ in 0..(COUNT / 4) * (size - 1) {
            let there = exchange.probe(Source::Any, Keys::with_ignored(0, 3)).unwrap();
            assert_eq!(exchange.try_probe(there.rank, 0).unwrap(), Some(there));
            let mut into = vec![0; there.len / 8];
            let matched = exchange.recv(&mut into, there.rank, Keys::with_ignored(0, 3)).unwrap();
            assert_eq!((matched.key, matched.len), (0, next[matched.rank] * 7));
            assert!(into == data(matched.rank, 0, next[matched.rank], matched.len));
            next[matched.rank] += 4;
        }
        let mut seen = vec![false; size];
        for _ in 1..size {
            let mut into = [0u64];
            let matched = exchange.recv(&mut into, Source::Any, Keys::ANY).unwrap();
            assert_eq!((into[0], matched.key), (matched.rank as u64, 100));
            assert!(!std::mem::replace(&mut seen[matched.rank], true));
        }
        assert_eq!(exchange.try_probe(Source::Any, Keys::ANY).unwrap(), None);
    }
    exchange.free().unwrap();
}

/// All send before anyone receives, more than buffers hold.
pub fn all_send_before_anyone_receives(job: &Job) {
    let buffers = Buffers { messages: 4, bytes: 1024 };
    send_all_first(job, job.exchange_with(buffers).unwrap());
    send_all_first(job, job.packets_with(buffers).unwrap());
}

fn send_all_first(job: &Job, exchange: impl Mail) {
    let (me, size) = (job.rank(), job.size());
    let count = if job.is_simulated() { 20 } else { 200 };
    for number in 0..count {
        for to in 0..size {
            exchange.send(&data(me, to, number, number % 30), to, 1).unwrap();
        }
    }
    for number in 0..count {
        for from in 0..size {
            let mut into = vec![0; 30];
            assert_eq!(exchange.recv(&mut into, from, 1).unwrap().len, number % 30);
            assert!(into[..number % 30] == data(from, me, number, number % 30));
        }
    }
    exchange.free().unwrap();
}

/// A storm: a slow receiver of many senders. Nothing is lost, doubled or out of order, and senders wait, so that no more is under way than
/// buffers hold.
pub fn a_slow_receiver_is_not_overrun(job: &Job) {
    let (me, size) = (job.rank(), job.size());
    let buffers = Buffers { messages: 8, bytes: 2048 };
    let exchange = job.exchange_with(buffers).unwrap();
    let sent = job.symmetric::<u64>(size).unwrap();
    let count = if job.is_simulated() { 40 } else { 150 };
    if me > 0 {
        for number in 0..count {
            exchange.send(&data(me, 0, number, number * 13 % 300), 0, number as u64 % 2).unwrap();
            job.word(sent.at(0, me), number as u64 + 1).unwrap();
        }
    } else {
        for rank in 1..size {
            job.wait(sent.here(rank), Until::AtLeast(5)).unwrap();
        }
        let mut next = vec![0; size];
        for turn in 0..count * (size - 1) {
            if turn % 64 == 0 {
                (0..50).for_each(|_| std::thread::yield_now());
                // A message may be received before the word comes that counts it.
                let held = (1..size).map(|rank| sent.get(rank).saturating_sub(next[rank] as u64));
                assert!(
                    held.max().unwrap() <= 4 * buffers.messages as u64,
                    "{:?} were sent, {next:?} received",
                    sent.to_vec()
                );
            }
            let mut into = vec![0; 300];
            let matched = exchange.recv(&mut into, Source::Any, Keys::ANY).unwrap();
            let number = next[matched.rank];
            next[matched.rank] += 1;
            assert_eq!((matched.len, matched.key), (number * 13 % 300, number as u64 % 2));
            assert!(into[..matched.len] == data(matched.rank, 0, number, matched.len));
        }
    }
    exchange.free().unwrap();
}

/// The same of messages in packets: what the receiver has no room for it refuses, and nothing is refused over and over.
pub fn a_slow_receiver_refuses(job: &Job) {
    let (me, size) = (job.rank(), job.size());
    let packets = job.packets_with(Buffers { messages: 8, bytes: 2048 }).unwrap();
    let count = if job.is_simulated() { 40 } else { 150 };
    if me > 0 {
        for number in 0..count {
            packets.send(&data(me, 0, number, number * 13 % 900), 0, number as u64 % 2).unwrap();
        }
    } else {
        // Somebody has sent more than there is room for.
        while packets.traffic().refused == 0 {
            job.progress();
        }
        let mut next = vec![0; size];
        for turn in 0..count * (size - 1) {
            if turn % 64 == 0 {
                (0..50).for_each(|_| std::thread::yield_now());
            }
            let mut into = vec![0; 900];
            let matched = packets.recv(&mut into, Source::Any, Keys::ANY).unwrap();
            let number = next[matched.rank];
            next[matched.rank] += 1;
            assert_eq!((matched.len, matched.key), (number * 13 % 900, number as u64 % 2));
            assert!(into[..matched.len] == data(matched.rank, 0, number, matched.len));
        }
        // Each is refused when it comes, and perhaps once more when it was asked for and another receive was faster.
        let (refused, sent) = (packets.traffic().refused, (count * (size - 1)) as u64);
        assert!(refused <= 2 * sent, "{refused} refusals of {sent} messages");
    }
    packets.free().unwrap();
}

/// What came whole is received after its sender has left; then a receive fails, and so does a send.
pub fn senders_and_receivers_leave(job: &Job) {
    leave(job, job.exchange().unwrap());
}

/// The same of messages in packets.
pub fn senders_and_receivers_of_packets_leave(job: &Job) {
    leave(job, job.packets().unwrap());
}

fn leave(job: &Job, exchange: impl Mail) {
    if job.rank() == 1 {
        (0..10u64).for_each(|number| exchange.send(&[number; 20], 0, number).unwrap());
        return;
    }
    if job.rank() == 0 {
        for number in (0..10).rev() {
            let mut into = [0; 20];
            exchange.recv(&mut into, 1, number).unwrap();
            assert_eq!(into, [number; 20]);
        }
        let none = exchange.recv(&mut [0u64], 1, Keys::ANY);
        expect_error!(none, Error::PeerLeft { rank: 1 });
    }
    let error = loop {
        if let Err(error) = exchange.send(&[1u8; 100], 1, 0) {
            break error;
        }
    };
    assert!(matches!(error, Error::PeerLeft { rank: 1 }), "{error}");
}

/// What is wrong is an error, and what comes next is not harmed.
pub fn wrong_uses_of_exchange_are_refused(job: &Job) {
    expect_error!(job.exchange_with(Buffers { messages: 0, bytes: 10 }), Error::Invalid(_));
    expect_error!(job.exchange_with(Buffers { messages: 10, bytes: usize::MAX }), Error::Invalid(_));
    let differ = job.exchange_with(Buffers { messages: 10, bytes: 4096 << (4 * job.rank()) });
    expect_error!(differ, Error::Mismatch { operation: "exchange", .. });
    expect_error!(job.packets_with(Buffers { messages: 0, bytes: 10 }), Error::Invalid(_));
    match job.packets_with(Buffers { messages: 10, bytes: if job.rank() == 0 { usize::MAX } else { 4096 } }) {
        Err(Error::Invalid(_)) if job.rank() == 0 => {}
        Err(Error::Mismatch { operation: "packets", .. }) if job.rank() > 0 => {}
        result => panic!("{result:?}"),
    }
    misuse(job, job.exchange().unwrap());
    misuse(job, job.packets().unwrap());
    let messages = job.message_passing(Engine::Slots(2)).unwrap();
    expect_error!(messages.send(&[1], 0, 2), Error::NoSuchSlot { slot: 2, slots: 2 });
    expect_error!(messages.recv(&mut [1], 0, u64::MAX), Error::NoSuchSlot { .. });
    job.barrier().unwrap();
}

fn misuse(job: &Job, exchange: impl Mail) {
    expect_error!(exchange.send(&[1], job.size(), 0), Error::NoSuchRank { .. });
    expect_error!(exchange.recv(&mut [1], job.size(), 0), Error::NoSuchRank { .. });
    let peer = 1 - job.rank();
    for bytes in [30, 3000, 100_000] {
        if job.rank() == 0 {
            exchange.send(&vec![1u8; bytes], peer, 0).unwrap();
            exchange.send(&vec![2u8; bytes], peer, 0).unwrap();
            exchange.send(&vec![3u8; bytes + 1], peer, 1).unwrap();
        } else {
            let overlong = exchange.recv(&mut vec![0u8; bytes - 1], peer, 0);
            expect_error!(overlong, Error::Overlong { from: 0, key: 0, .. });
            let mut into = vec![0u8; bytes];
            exchange.recv(&mut into, peer, 0).unwrap();
            assert!(into.iter().all(|byte| *byte == 2));
            let uneven = exchange.recv(&mut vec![0u64; bytes], peer, 1);
            expect_error!(uneven, Error::Uneven { from: 0, key: 1, element: 8, .. });
        }
    }
    exchange.free().unwrap();
}
