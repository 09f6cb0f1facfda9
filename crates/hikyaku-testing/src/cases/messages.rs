//! Active messages: whole, in order, one handler at a time.

use crate::support::{beside, bytes, expect_error, lock, spin_until, words};
use hikyaku::{By, Error, Job, PAYLOAD_MAX, Refusal};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const HANDLER: u16 = 7;

pub fn a_handler_gets_everything(job: &Job) {
    type Seen = (usize, u64, [u64; 6], Vec<u8>);
    let seen = Arc::new(Mutex::new(Vec::<Seen>::new()));
    let log = seen.clone();
    job.register_handler(HANDLER, move |context, message| {
        assert_eq!(context.rank(), 1);
        lock(&log).push((message.source, message.address, message.arguments, message.payload.to_vec()));
    })
    .unwrap();
    job.barrier().unwrap();
    let sent: Vec<Seen> = vec![
        (0, 0, [0; 6], vec![]),
        (0, u64::MAX, [1, 2, 3, 4, 5, u64::MAX], vec![]),
        (0, 9, [6; 6], vec![1, 2, 3]),
        (0, 1 << 63, [7; 6], bytes(1, PAYLOAD_MAX)),
    ];
    if job.rank() == 0 {
        for (_, address, arguments, payload) in &sent {
            job.send(1, HANDLER, *address, *arguments, payload).unwrap();
        }
    } else {
        job.wait_handled(By::Rank(0), HANDLER, sent.len() as u64).unwrap();
        assert_eq!(*lock(&seen), sent);
    }
    job.barrier().unwrap();
}

pub fn messages_of_a_pair_stay_in_order(job: &Job) {
    const COUNT: u64 = 2000;
    let next = Arc::new(Mutex::new(vec![0u64; job.size()]));
    let expected = next.clone();
    job.register_handler(HANDLER, move |_, message| {
        let mut expected = lock(&expected);
        assert_eq!(message.arguments[0], expected[message.source], "from rank {}", message.source);
        assert_eq!(message.payload.len() as u64, message.arguments[0] % 50);
        expected[message.source] += 1;
    })
    .unwrap();
    job.barrier().unwrap();
    let payload = [0; 50];
    for number in 0..COUNT {
        for peer in 0..job.size() {
            job.send(peer, HANDLER, 0, words(number), &payload[..(number % 50) as usize]).unwrap();
        }
    }
    job.wait_handled(By::Anyone, HANDLER, COUNT * job.size() as u64).unwrap();
    assert_eq!(*lock(&next), vec![COUNT; job.size()]);
    job.barrier().unwrap();
    assert_eq!(job.handled(HANDLER), COUNT * job.size() as u64, "nothing comes twice");
}

pub fn payloads_of_every_length(job: &Job) {
    let lengths: Vec<usize> = (0..=70).chain([255, 1000, 4095, 4096, 8000, PAYLOAD_MAX - 1, PAYLOAD_MAX]).collect();
    job.register_handler(HANDLER, |_, message| {
        let (seed, len) = (message.arguments[0] as usize, message.arguments[1] as usize);
        assert!(message.payload == bytes(seed, len), "{len} bytes");
    })
    .unwrap();
    job.barrier().unwrap();
    for round in 0..3 {
        for len in &lengths {
            let arguments = [round, *len as u64, 0, 0, 0, 0];
            job.send(1 - job.rank(), HANDLER, 0, arguments, &bytes(round as usize, *len)).unwrap();
        }
    }
    job.wait_handled(By::Anyone, HANDLER, 3 * lengths.len() as u64).unwrap();
    job.barrier().unwrap();
}

pub fn a_handler_sends_further(job: &Job) {
    const HOPS: u64 = 1000;
    let size = job.size();
    job.register_handler(HANDLER, move |context, message| {
        let left = message.arguments[0];
        if left > 0 {
            let next = (context.rank() + 1) % size;
            context.send(next, HANDLER, 0, words(left - 1), message.payload).unwrap();
        }
    })
    .unwrap();
    job.barrier().unwrap();
    if job.rank() == 0 {
        job.send(1, HANDLER, 0, words(HOPS), b"token").unwrap();
    }
    // Rank 1 gets HOPS, rank 2 HOPS - 1, ...: the number that ends in 0.
    let first = (job.rank() + size - 1) % size;
    let runs = (0..=HOPS as usize).filter(|hop| hop % size == first).count() as u64;
    job.wait_handled(By::Anyone, HANDLER, runs).unwrap();
    job.barrier().unwrap();
    assert_eq!(job.handled(HANDLER), runs);
}

pub fn a_rank_sends_to_itself(job: &Job) {
    let sum = Arc::new(AtomicU64::new(0));
    let total = sum.clone();
    job.register_handler(HANDLER, move |context, message| {
        total.fetch_add(message.arguments[0], Ordering::Relaxed);
        if message.address == 1 {
            context.send(context.rank(), HANDLER, 0, words(1000), &[]).unwrap();
        }
    })
    .unwrap();
    // More than a ring holds: sending makes the room itself.
    for number in 0..2000 {
        job.send(0, HANDLER, (number == 1999) as u64, words(1), &[1; 100]).unwrap();
    }
    job.wait_handled(By::Anyone, HANDLER, 2001).unwrap();
    assert_eq!(sum.load(Ordering::Relaxed), 3000);
}

pub fn handlers_run_one_at_a_time(job: &Job) {
    const COUNT: u64 = 100;
    let inside = AtomicBool::new(false);
    let handler = move |_: &mut hikyaku::Context<'_>, _: &hikyaku::Message<'_>| {
        assert!(!inside.swap(true, Ordering::SeqCst), "two handlers at once");
        std::thread::yield_now();
        inside.store(false, Ordering::SeqCst);
    };
    job.register_handler(HANDLER, handler).unwrap();
    job.barrier().unwrap();
    let peer = 1 - job.rank();
    let ni_thread = job.start_ni_thread().unwrap();
    let senders = [job.open().unwrap(), job.open().unwrap()].map(|port| {
        move || {
            for _ in 0..COUNT {
                port.send(peer, HANDLER, 0, [0; 6], &[]).unwrap();
            }
            port.wait_handled(By::Anyone, HANDLER, 2 * COUNT).unwrap();
        }
    });
    beside(job, senders, || job.wait_handled(By::Anyone, HANDLER, 2 * COUNT).unwrap());
    job.barrier().unwrap();
    assert_eq!(job.handled(HANDLER), 2 * COUNT);
    drop(ni_thread);
    job.barrier().unwrap();
}

pub fn handler_runs_are_counted(job: &Job) {
    job.register_handler(1, |_, _| {}).unwrap();
    job.register_handler(2, |_, _| {}).unwrap();
    job.barrier().unwrap();
    assert_eq!((job.handled(1), job.handled(2), job.handled(u16::MAX)), (0, 0, 0));
    job.barrier().unwrap();
    for number in 0..10 {
        job.send(1 - job.rank(), 1 + number % 2, 0, [0; 6], &[]).unwrap();
    }
    job.wait_handled(By::Anyone, 1, 5).unwrap();
    job.wait_handled(By::Anyone, 2, 5).unwrap();
    assert_eq!((job.handled(1), job.handled(2)), (5, 5));
    job.barrier().unwrap();
}

/// What a peer refused comes with the next `sync` after its answer.
fn await_refusal(job: &Job) -> Error {
    let mut error = None;
    spin_until(|| {
        job.progress();
        error = job.sync().err();
        error.is_some()
    });
    error.unwrap()
}

pub fn an_unknown_handler_is_reported(job: &Job) {
    job.register_handler(HANDLER, |_, _| {}).unwrap();
    job.barrier().unwrap();
    if job.rank() == 0 {
        job.send(1, 99, 0, [0; 6], &[1, 2, 3]).unwrap();
        job.send(1, HANDLER, 0, [0; 6], &[]).unwrap();
        let error = await_refusal(job);
        assert!(matches!(error, Error::Refused { rank: 1, reason: Refusal::UnknownHandler }), "{error:?}");
        job.sync().expect("reported once");
    } else {
        // The message behind the refused one arrives all the same.
        job.wait_handled(By::Rank(0), HANDLER, 1).unwrap();
    }
    job.barrier().unwrap();
}

pub fn an_unregistered_handler_is_unknown(job: &Job) {
    job.register_handler(HANDLER, |_, _| {}).unwrap();
    job.barrier().unwrap();
    if job.rank() == 0 {
        job.call(1, HANDLER, [0; 6], &[]).unwrap();
        job.barrier().unwrap();
        job.barrier().unwrap();
        job.send(1, HANDLER, 0, [0; 6], &[]).unwrap();
        let error = await_refusal(job);
        assert!(matches!(error, Error::Refused { rank: 1, reason: Refusal::UnknownHandler }), "{error:?}");
        expect_error!(job.call(1, HANDLER, [0; 6], &[]), Error::Refused { rank: 1, .. });
    } else {
        job.barrier().unwrap();
        job.unregister_handler(HANDLER).unwrap();
        expect_error!(job.unregister_handler(HANDLER), Error::UnknownHandler { id: HANDLER });
        job.barrier().unwrap();
    }
    job.barrier().unwrap();
    assert_eq!(job.handled(HANDLER), job.rank() as u64);
    // The id is free again.
    if job.rank() == 1 {
        job.register_handler(HANDLER, |context, _| context.reply(words(5)).unwrap()).unwrap();
    }
    job.barrier().unwrap();
    if job.rank() == 0 {
        assert_eq!(job.call(1, HANDLER, [0; 6], &[]).unwrap(), words(5));
    }
    job.barrier().unwrap();
}

pub fn a_handler_asks_to_be_run_again(job: &Job) {
    const COUNT: u64 = 20;
    let attempts = Arc::new(AtomicU64::new(0));
    let (tries, mut next) = (attempts.clone(), 0);
    job.register_handler(HANDLER, move |context, message| {
        assert_eq!(message.arguments[0], next, "later messages wait behind");
        assert_eq!(message.payload, [next as u8; 5]);
        if tries.fetch_add(1, Ordering::Relaxed) % 4 < 3 {
            context.retry_later();
        } else {
            next += 1;
        }
    })
    .unwrap();
    job.barrier().unwrap();
    if job.rank() == 0 {
        for number in 0..COUNT {
            job.send(1, HANDLER, 0, words(number), &[number as u8; 5]).unwrap();
        }
    } else {
        job.wait_handled(By::Rank(0), HANDLER, COUNT).unwrap();
        assert_eq!(attempts.load(Ordering::Relaxed), 4 * COUNT);
        assert_eq!(job.handled(HANDLER), COUNT, "only the run that takes the message counts");
    }
    job.barrier().unwrap();
}

pub fn a_rank_that_only_pushes_answers_too(job: &Job) {
    let area = job.symmetric::<u64>(1).unwrap();
    job.register_handler(HANDLER, |context, _| context.reply(words(3)).unwrap()).unwrap();
    job.barrier().unwrap();
    if job.rank() == 0 {
        assert_eq!(job.call(1, HANDLER, [0; 6], &[]).unwrap(), words(3));
    } else {
        while job.handled(HANDLER) == 0 {
            job.push(area.at(0, 0), &[1]).unwrap();
        }
    }
    job.barrier().unwrap();
}
