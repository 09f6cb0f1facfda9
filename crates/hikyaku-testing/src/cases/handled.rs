//! When messages were handled: `sync` and barriers wait for it, and a rank that waits in a collective call handles them.

use crate::support::{expect_error, words};
use hikyaku::collective::Sum;
use hikyaku::{By, Error, Job, Until};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const HANDLER: u16 = 9;

pub fn sync_waits_until_messages_were_handled(job: &Job) {
    let count = Arc::new(job.symmetric::<u64>(1).unwrap());
    let here = count.clone();
    job.register_handler(HANDLER, move |_, _| here.set(0, here.get(0) + 1)).unwrap();
    job.barrier().unwrap();
    if job.rank() == 0 {
        let mut sent = 0;
        // None, one, and more than a ring or the credits of a far rank hold.
        for messages in [0, 1, 2, 700, 0, 1] {
            for _ in 0..messages {
                (0..job.size()).for_each(|peer| job.send(peer, HANDLER, 0, [0; 6], &[]).unwrap());
            }
            sent += messages;
            job.sync().unwrap();
            for peer in 0..job.size() {
                assert_eq!(job.pull_one(count.at(peer, 0)).unwrap(), sent, "{messages} messages to rank {peer}");
            }
        }
    }
    job.barrier().unwrap();
    job.unregister_handler(HANDLER).unwrap();
}

pub fn barriers_wait_until_messages_were_handled(job: &Job) {
    job.register_handler(HANDLER, |_, _| {}).unwrap();
    let world = job.new_world().unwrap();
    let size = job.size() as u64;
    for round in 1..=60 {
        (0..job.size()).for_each(|peer| job.send(peer, HANDLER, 0, [0; 6], &[1; 40]).unwrap());
        if round % 2 == 0 { job.barrier() } else { world.barrier() }.unwrap();
        assert_eq!(job.handled(HANDLER), round * size, "round {round}");
        job.barrier().unwrap();
    }
}

/// Each port waits for its own messages.
pub fn ports_wait_for_their_own_messages(job: &Job) {
    let count = Arc::new(job.symmetric::<u64>(1).unwrap());
    let here = count.clone();
    job.register_handler(HANDLER, move |_, _| here.set(0, here.get(0) + 1)).unwrap();
    job.barrier().unwrap();
    if job.rank() == 0 {
        for round in 1..=20 {
            // The sending end of a port goes on when another opens it.
            let port = job.open().unwrap();
            port.send(1, HANDLER, 0, [0; 6], &[]).unwrap();
            port.sync().unwrap();
            assert_eq!(job.pull_one(count.at(1, 0)).unwrap(), round);
        }
    }
    job.barrier().unwrap();
    job.unregister_handler(HANDLER).unwrap();
}

pub fn sync_waits_for_a_handler_that_asks_to_be_run_again(job: &Job) {
    let (runs, handled) = (AtomicU64::new(0), Arc::new(job.symmetric::<u64>(1).unwrap()));
    let here = handled.clone();
    job.register_handler(HANDLER, move |context, _| match runs.fetch_add(1, Ordering::Relaxed) % 5 {
        4 => here.set(0, here.get(0) + 1),
        _ => context.retry_later(),
    })
    .unwrap();
    job.barrier().unwrap();
    if job.rank() == 0 {
        for sent in 1..=10 {
            job.send(1, HANDLER, 0, [0; 6], &[]).unwrap();
            job.sync().unwrap();
            assert_eq!(job.pull_one(handled.at(1, 0)).unwrap(), sent);
        }
    }
    job.barrier().unwrap();
    job.unregister_handler(HANDLER).unwrap();
}

/// A rank that leaves tells what it has handled.
pub fn messages_that_a_rank_handled_before_it_left_count(job: &Job) {
    job.register_handler(HANDLER, |_, _| {}).unwrap();
    job.barrier().unwrap();
    if job.rank() == 0 {
        (0..5).for_each(|_| job.send(1, HANDLER, 0, [0; 6], &[]).unwrap());
        while job.is_present(1).unwrap() {
            job.progress();
        }
        job.sync().unwrap();
    } else {
        job.wait_handled(By::Rank(0), HANDLER, 5).unwrap();
    }
}

/// And what it has not handled is an error of whoever wants to know, once.
pub fn messages_that_a_rank_left_unhandled_are_an_error(job: &Job) {
    let word = job.symmetric::<u64>(1).unwrap();
    job.register_handler(HANDLER, |context, _| context.retry_later()).unwrap();
    job.barrier().unwrap();
    if job.rank() == 0 {
        (0..3).for_each(|_| job.send(1, HANDLER, 0, [0; 6], &[]).unwrap());
        job.word(word.at(1, 0), 1).unwrap();
        expect_error!(job.sync(), Error::PeerLeft { rank: 1 });
        job.sync().unwrap();
    } else {
        job.wait_from(By::Rank(0), word.here(0), Until::Equal(1)).unwrap();
    }
}

/// Rank 0 comes to each call only when the others, who are inside, have answered.
pub fn a_rank_in_any_collective_handles_messages(job: &Job) {
    job.register_handler(HANDLER, |context, message| context.reply(words(message.arguments[0] + 1)).unwrap()).unwrap();
    let world = job.new_world().unwrap();
    let half = world.split(Some(u64::from(job.rank() >= job.size() / 2)), 0).unwrap().unwrap();
    let ask = || {
        if job.rank() == 0 {
            for peer in 1..job.size() {
                assert_eq!(job.call(peer, HANDLER, words(4), &[]).unwrap(), words(5));
            }
        }
    };
    for _ in 0..10 {
        ask();
        job.barrier().unwrap();
        ask();
        world.barrier().unwrap();
        ask();
        half.barrier().unwrap();
        ask();
        world.allreduce(&mut [1u64; 3], Sum).unwrap();
        ask();
        world.broadcast(&mut vec![job.rank() as u64; 5000], 0).unwrap();
        ask();
        world.scope(|scope| scope.ibarrier().and_then(|handle| scope.wait(handle))).unwrap();
        // Those of the other half do not wait in its barrier.
        world.barrier().unwrap();
    }
}
