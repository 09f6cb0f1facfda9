//! Back-pressure: bounded memory, no loss, no deadlock.

use crate::support::{await_asleep, expect_error, spin_until, thread_number, words};
use hikyaku::{By, Error, Job, PAYLOAD_MAX, Until};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const HANDLER: u16 = 1;

/// A handler that wants numbers in order.
fn register_counter(job: &Job) {
    let mut next = vec![0; job.size()];
    let handler = move |_: &mut hikyaku::Context<'_>, message: &hikyaku::Message<'_>| {
        assert_eq!(message.arguments[0], next[message.source], "lost or reordered");
        next[message.source] += 1;
    };
    job.register_handler(HANDLER, handler).unwrap();
}

pub fn a_full_ring_is_busy_and_empties(job: &Job) {
    let sent = job.symmetric::<u64>(1).unwrap();
    register_counter(job);
    job.barrier().unwrap();
    if job.rank() == 0 {
        let mut count = 0;
        let busy = loop {
            match job.try_send(1, HANDLER, 0, words(count), &[0; 10]) {
                Ok(()) => count += 1,
                Err(error) => break error,
            }
            assert!(count < 100_000, "no bound");
        };
        assert!(matches!(busy, Error::Busy { rank: 1 }), "{busy:?}");
        assert!(count >= 16, "only {count} messages fit");
        job.push(sent.at(1, 0), &[count]).unwrap();
        job.barrier().unwrap();
        // There is room again.
        job.try_send(1, HANDLER, 0, words(count), &[0; 10]).unwrap();
    } else {
        // Outside the library: nothing is received meanwhile.
        spin_until(|| sent.get(0) > 0);
        job.wait_handled(By::Rank(0), HANDLER, sent.get(0)).unwrap();
        job.barrier().unwrap();
        job.wait_handled(By::Rank(0), HANDLER, sent.get(0) + 1).unwrap();
    }
    job.barrier().unwrap();
}

pub fn a_flood_arrives_whole(job: &Job) {
    const COUNT: u64 = 3000;
    register_counter(job);
    job.barrier().unwrap();
    if job.rank() == 0 {
        let payload = vec![1; PAYLOAD_MAX];
        for number in 0..COUNT {
            let len = if number % 3 == 0 { PAYLOAD_MAX } else { (number % 200) as usize };
            job.send(1, HANDLER, 0, words(number), &payload[..len]).unwrap();
        }
    } else {
        job.wait_handled(By::Rank(0), HANDLER, COUNT).unwrap();
    }
    job.barrier().unwrap();
}

pub fn two_ranks_flood_each_other(job: &Job) {
    const COUNT: u64 = 5000;
    register_counter(job);
    job.barrier().unwrap();
    for number in 0..COUNT {
        job.send(1 - job.rank(), HANDLER, 0, words(number), &[0; 300]).unwrap();
    }
    job.wait_handled(By::Anyone, HANDLER, COUNT).unwrap();
    job.barrier().unwrap();
}

/// Every message of the flood makes its handler send one back. What does not fit is kept, up to a bound; then the
/// handler is told, and asks to be run again.
pub fn handlers_that_answer_a_flood(job: &Job) {
    const COUNT: u64 = 20_000;
    const ECHO: u16 = 2;
    register_counter(job);
    job.register_handler(ECHO, |context, message| {
        match context.send(message.source, HANDLER, 0, message.arguments, message.payload) {
            Ok(()) => {}
            Err(Error::Busy { rank }) => {
                assert_eq!(rank, message.source);
                context.retry_later();
            }
            Err(other) => panic!("{other:?}"),
        }
    })
    .unwrap();
    job.barrier().unwrap();
    for number in 0..COUNT {
        job.send(1 - job.rank(), ECHO, 0, words(number), &[7; 40]).unwrap();
    }
    job.wait_handled(By::Anyone, HANDLER, COUNT).unwrap();
    job.barrier().unwrap();
}

pub fn everyone_floods_one(job: &Job) {
    const COUNT: u64 = 1500;
    register_counter(job);
    job.barrier().unwrap();
    for number in 0..COUNT {
        job.send(0, HANDLER, 0, words(number), &[0; 64]).unwrap();
    }
    if job.rank() == 0 {
        job.wait_handled(By::Anyone, HANDLER, COUNT * job.size() as u64).unwrap();
    }
    job.barrier().unwrap();
}

/// Rank 0 is stuck in a handler, so nothing leaves the queues towards it. A call it makes meanwhile, from another
/// thread, finds the queue for its reply full: its handler must not run a second time for that.
pub fn a_handler_runs_once_though_its_reply_waits(job: &Job) {
    const STUCK: u16 = 3;
    const FLOOD: u16 = 4;
    const COUNTED: u16 = 5;
    let release_word = Arc::new(job.symmetric::<u64>(1).unwrap());
    let (release, stuck) = (release_word.clone(), Arc::new(AtomicBool::new(false)));
    let entered = stuck.clone();
    job.register_handler(STUCK, move |_, _| {
        entered.store(true, Ordering::SeqCst);
        spin_until(|| release.get(0) == 1);
    })
    .unwrap();
    job.register_handler(HANDLER, |_, _| {}).unwrap();
    job.register_handler(
        FLOOD,
        |context, message| {
            while context.send(message.source, HANDLER, 0, [0; 6], &[]).is_ok() {}
        },
    )
    .unwrap();
    let runs = Arc::new(AtomicU64::new(0));
    let count = runs.clone();
    job.register_handler(COUNTED, move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
    })
    .unwrap();
    job.barrier().unwrap();
    if job.rank() == 0 {
        let ni_thread = job.start_ni_thread().unwrap();
        job.send(0, STUCK, 0, [0; 6], &[]).unwrap();
        spin_until(|| stuck.load(Ordering::SeqCst));
        job.send(1, FLOOD, 0, [0; 6], &[]).unwrap();
        assert_eq!(job.call(1, COUNTED, [0; 6], &[]).unwrap(), [0; 6]);
        drop(ni_thread);
    } else {
        job.wait_handled(By::Rank(0), FLOOD, 1).unwrap();
        spin_until(|| {
            job.progress();
            runs.load(Ordering::SeqCst) > 0
        });
        for _ in 0..1000 {
            job.progress();
        }
        job.push(release_word.at(0, 0), &[1]).unwrap();
    }
    job.barrier().unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), (job.rank() == 1) as u64);
    // Dropped here, not by the handler at the end of the job.
    job.unregister_handler(STUCK).unwrap();
}

pub fn a_sleeping_sender_is_woken_by_room(job: &Job) {
    const COUNT: u64 = 1000;
    let sender = job.symmetric::<u64>(1).unwrap();
    register_counter(job);
    job.barrier().unwrap();
    if job.rank() == 0 {
        job.word(sender.at(1, 0), thread_number()).unwrap();
        for number in 0..COUNT {
            job.send(1, HANDLER, 0, words(number), &[]).unwrap();
        }
        expect_error!(job.try_send(7, HANDLER, 0, [0; 6], &[]), Error::NoSuchRank { .. });
    } else {
        let sender = job.wait(sender.here(0), Until::NotEqual(0)).unwrap();
        // Nothing is received until the sender has found the ring full and gone to sleep.
        await_asleep(job, sender);
        job.wait_handled(By::Rank(0), HANDLER, COUNT).unwrap();
    }
    job.barrier().unwrap();
}
