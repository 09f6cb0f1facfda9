//! Message exchange.

use super::canary::Guarded;
use super::check_refused;
use crate::mail::Mail;
use hikyaku::matching::Keys;
use hikyaku::packets::Buffers;
use hikyaku::{Error, Job, Until};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

/// A receive that was given up gets nothing any more; the next one gets the message.
pub fn a_receive_is_given_up_and_made_again(job: &Job) {
    give_up(job, job.exchange().unwrap());
    give_up(job, job.packets().unwrap());
}

fn give_up(job: &Job, exchange: impl Mail) {
    for (round, bytes) in [(1, 8), (2, 3000), (3, 200_000)].into_iter().cycle().take(12) {
        if job.rank() == 0 {
            let mut given_up = vec![0u8; bytes];
            let late = exchange.recv_for(&mut given_up, 1, round, Duration::from_micros(50));
            assert!(matches!(late, Err(Error::Timeout { .. })));
            job.barrier().unwrap();
            let mut into = vec![0u8; bytes];
            exchange.recv(&mut into, 1, round).unwrap();
            assert!(into.iter().all(|byte| *byte == round as u8));
            assert!(given_up.iter().all(|byte| *byte == 0));
        } else {
            job.barrier().unwrap();
            exchange.send(&vec![round as u8; bytes], 0, round).unwrap();
        }
    }
    exchange.free().unwrap();
}

/// An exchange that is forgotten keeps its memory.
pub fn an_exchange_is_forgotten(job: &Job) {
    for _ in 0..3 {
        let exchange = job.exchange().unwrap();
        let peer = 1 - job.rank();
        exchange.send(&[1u8; 1000], peer, 0).unwrap();
        let words = job.symmetric::<u64>(10_000).unwrap();
        exchange.send(&[1u8; 1000], peer, 0).unwrap();
        job.barrier().unwrap();
        std::mem::forget(exchange);
        assert!(words.to_vec().iter().all(|word| *word == 0));
        job.free(words).unwrap();
    }
}

/// A handler panics while a rank waits for a message: the buffer is the program's again, and the message another's.
pub fn a_handler_panics_in_a_receive(job: &Job) {
    panic_in_receive(job, job.exchange().unwrap());
}

/// The same of messages in packets.
pub fn a_handler_panics_in_a_receive_of_packets(job: &Job) {
    panic_in_receive(job, job.packets().unwrap());
}

fn panic_in_receive(job: &Job, exchange: impl Mail) {
    job.register_handler(3, |_, _| resume_unwind(Box::new("on purpose"))).unwrap();
    job.barrier().unwrap();
    for bytes in [8, 3000, 100_000] {
        if job.rank() == 0 {
            let mut abandoned = Guarded::new(bytes);
            // A message to itself, which is handled when it waits.
            let caught = catch_unwind(AssertUnwindSafe(|| {
                job.send(0, 3, 0, [0; 6], &[]).unwrap();
                exchange.recv(abandoned.inside(), 1, 0)
            }));
            assert!(caught.is_err());
            job.barrier().unwrap();
            let mut into = vec![0u8; bytes];
            exchange.recv(&mut into, 1, 0).unwrap();
            assert!(into.iter().all(|byte| *byte == 9));
            abandoned.check_untouched();
        } else {
            job.barrier().unwrap();
            exchange.send(&vec![9u8; bytes], 0, 0).unwrap();
        }
    }
    exchange.free().unwrap();
}

/// Messages in packets are forgotten: their sends stop where they are, and nobody else is harmed.
pub fn packets_are_forgotten(job: &Job) {
    for _ in 0..3 {
        let packets = job.packets().unwrap();
        let peer = 1 - job.rank();
        packets.send(&[1u8; 100_000], peer, 0).unwrap();
        let words = job.symmetric::<u64>(10_000).unwrap();
        packets.send(&[1u8; 1000], peer, 0).unwrap();
        job.barrier().unwrap();
        std::mem::forget(packets);
        job.barrier().unwrap();
        assert!(words.to_vec().iter().all(|word| *word == 0));
        job.free(words).unwrap();
    }
}

/// A panic drops messages in packets, on a rank that has refused some and on one whose packets were refused: both go on, and so do the
/// others.
pub fn a_panic_drops_packets(job: &Job) {
    let peer = 1 - job.rank();
    for panics in 0..2 {
        let flag = job.symmetric::<u64>(1).unwrap();
        let work = || {
            let packets = job.packets_with(Buffers { messages: 1, bytes: 1 }).unwrap();
            for number in 0..20u8 {
                packets.send(&[number; 1000], peer, 0).unwrap();
            }
            if job.rank() == panics {
                while packets.traffic().refused == 0 {
                    job.progress();
                }
                resume_unwind(Box::new("on purpose"));
            }
            // The last of the other's messages arrives, though it was sent before its panic, and refused.
            for number in 0..20u8 {
                let mut into = [0u8; 1000];
                packets.recv(&mut into, peer, 0).unwrap();
                assert_eq!(into, [number; 1000]);
            }
            job.word(flag.at(peer, 0), 1).unwrap();
        };
        let caught = catch_unwind(AssertUnwindSafe(work));
        assert_eq!(caught.is_err(), job.rank() == panics);
        if job.rank() == panics {
            job.wait(flag.here(0), Until::Equal(1)).unwrap();
        }
        job.barrier().unwrap();
        job.free(flag).unwrap();
    }
}

/// A program asks again and again for a message that is behind others, which nobody wants yet.
pub fn a_program_polls_for_what_is_behind(job: &Job) {
    let packets = job.packets_with(Buffers { messages: 2, bytes: 2000 }).unwrap();
    if job.rank() == 0 {
        (0..50u64).for_each(|number| packets.send(&[number; 100], 1, number).unwrap());
    } else {
        while packets.try_probe(0, 49).unwrap().is_none() {}
        for number in (0..50u64).rev() {
            let mut into = [0; 100];
            packets.recv(&mut into, 0, number).unwrap();
            assert_eq!(into, [number; 100]);
        }
    }
    packets.free().unwrap();
}

/// A receive is given up when a part of its message is there: the buffer is the program's again, and the message comes whole to another one.
pub fn a_receive_is_given_up_in_the_middle(job: &Job) {
    const BYTES: usize = 3_000_000;
    let packets = job.packets().unwrap();
    for round in 0..20u8 {
        if job.rank() == 1 {
            packets.send(&vec![round + 1; BYTES], 0, 0).unwrap();
        } else {
            let mut into = vec![0; BYTES];
            let patience = Duration::from_micros(u64::from(round) * 40);
            if let Err(error) = packets.recv_for(&mut into, 1, 0, patience) {
                assert!(matches!(error, Error::Timeout { .. }), "{error}");
                into.fill(77);
                let mut whole = vec![0; BYTES];
                packets.recv(&mut whole, 1, 0).unwrap();
                assert!(whole.iter().all(|byte| *byte == round + 1));
                assert!(into.iter().all(|byte| *byte == 77));
            }
        }
        job.barrier().unwrap();
    }
    packets.free().unwrap();
}

/// Functions that run inside a call cannot wait for others.
pub fn a_function_uses_an_exchange(job: &Job) {
    use_in_function(job, job.exchange().unwrap());
    use_in_function(job, job.packets().unwrap());
}

fn use_in_function(job: &Job, exchange: impl Mail) {
    let peer = 1 - job.rank();
    let combine = |total: &mut [u64], input: &[u64]| {
        check_refused(job.exchange().map(drop));
        check_refused(job.packets().map(drop));
        check_refused(exchange.send(&vec![1u8; 100_000], peer, 0));
        check_refused(exchange.recv(&mut [0u8], peer, 1));
        check_refused(exchange.probe(peer, 1));
        super::add(total, input);
    };
    job.world().unwrap().allreduce(&mut vec![1u64; 100], combine).unwrap();
    exchange.send(&[5u64], peer, 0).unwrap();
    let mut into = [0u64];
    exchange.recv(&mut into, peer, 0).unwrap();
    assert_eq!(into, [5]);
    exchange.free().unwrap();
}

/// Handlers panic in the middle of sends: a message that was sent comes once, whole and in its order, and the exchange goes on.
pub fn handlers_panic_in_sends(job: &Job) {
    panic_in_sends(job, job.exchange().unwrap());
}

/// The same of messages in packets.
pub fn handlers_panic_in_sends_of_packets(job: &Job) {
    panic_in_sends(job, job.packets().unwrap());
}

fn panic_in_sends(job: &Job, exchange: impl Mail) {
    const PANICS: u16 = 3;
    const END: u64 = u64::MAX;
    job.register_handler(PANICS, |_, _| resume_unwind(Box::new("on purpose"))).unwrap();
    job.barrier().unwrap();
    // Its number, and the last one before it whose send has returned; words in all.
    let message = |number: u64, before: u64| {
        let mut words = vec![number; [2, 5, 40, 700, 4000][number as usize % 5]];
        words[1] = before;
        words
    };
    if job.rank() == 0 {
        let (mut came, mut into) = (vec![0], vec![0; 5000]);
        loop {
            let len = exchange.recv(&mut into, 1, Keys::ANY).unwrap().len;
            let (number, before) = (into[0], into[1]);
            assert!(came.binary_search(&before).is_ok(), "{before} is missing before {number}");
            assert!(into[..len] == message(number, before), "{number}");
            if number == END {
                break;
            }
            assert!(number > *came.last().unwrap(), "{number} after {:?}", came.last());
            came.push(number);
        }
    } else {
        let mut before = 0;
        for number in 1..1500 {
            let sends = || {
                if number % 11 == 0 {
                    job.send(1, PANICS, 0, [0; 6], &[]).unwrap();
                }
                exchange.send(&message(number, before), 0, number % 3).unwrap();
            };
            if catch_unwind(AssertUnwindSafe(sends)).is_ok() {
                before = number;
            }
        }
        while catch_unwind(AssertUnwindSafe(|| job.progress())).is_err() {}
        exchange.send(&message(END, before), 0, 0).unwrap();
    }
    job.barrier().unwrap();
    exchange.free().unwrap();
}

/// A long message finds no memory to go through, where its receiver cannot reach it by itself (`tests/misuse.rs` sees to it that there is too
/// little): then it was not sent, and nobody waits for it.
pub fn a_message_finds_no_memory(job: &Job) {
    const LONG: usize = 20 << 20;
    let exchange = job.exchange().unwrap();
    if job.rank() == 1 {
        let sent = match exchange.send(&vec![1u8; LONG], 0, 1) {
            Ok(()) => 1u64,
            Err(Error::NoMemory { .. }) => 0,
            Err(other) => panic!("{other}"),
        };
        exchange.send(&[sent], 0, 2).unwrap();
        exchange.send(&[2u8; 100_000], 0, 1).unwrap();
    } else {
        let first = exchange.probe(1, Keys::ANY).unwrap();
        if first.key == 1 {
            let mut into = vec![0u8; LONG];
            exchange.recv(&mut into, 1, 1).unwrap();
            assert!(into.iter().all(|byte| *byte == 1));
        }
        let mut sent = [9u64];
        exchange.recv(&mut sent, 1, 2).unwrap();
        assert_eq!(sent, [u64::from(first.key == 1)]);
        let mut into = vec![0u8; 100_000];
        exchange.recv(&mut into, 1, 1).unwrap();
        assert!(into.iter().all(|byte| *byte == 2));
    }
    exchange.free().unwrap();
}
