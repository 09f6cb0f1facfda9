//! Calling a handler for its reply.

use crate::support::{beside, bytes, expect_error, words};
use hikyaku::{Error, Job, PAYLOAD_MAX, Refusal};

const DOUBLE: u16 = 1;

fn register_double(job: &Job) {
    job.register_handler(DOUBLE, |context, message| {
        let extra = message.payload.len() as u64;
        context.reply(message.arguments.map(|word| 2 * word + extra)).unwrap();
    })
    .unwrap();
}

pub fn a_call_returns_the_reply(job: &Job) {
    register_double(job);
    job.barrier().unwrap();
    for number in 0..500 {
        let arguments = [number, 1, 2, 3, 4, 5];
        let reply = job.call(1 - job.rank(), DOUBLE, arguments, &[0; 3]).unwrap();
        assert_eq!(reply, [2 * number + 3, 5, 7, 9, 11, 13]);
    }
    job.barrier().unwrap();
}

pub fn a_call_without_reply_returns_zeros(job: &Job) {
    register_double(job);
    job.register_handler(2, |_, _| {}).unwrap();
    job.barrier().unwrap();
    for _ in 0..100 {
        job.call(1 - job.rank(), DOUBLE, [9; 6], &[]).unwrap();
        assert_eq!(job.call(1 - job.rank(), 2, [9; 6], &[]).unwrap(), [0; 6]);
    }
    job.barrier().unwrap();
}

pub fn everyone_calls_everyone(job: &Job) {
    register_double(job);
    job.barrier().unwrap();
    for number in 0..100 {
        for peer in 0..job.size() {
            let id = number * 100 + peer as u64;
            assert_eq!(job.call(peer, DOUBLE, words(id), &[]).unwrap(), words(2 * id));
        }
    }
    job.barrier().unwrap();
}

pub fn a_rank_calls_itself(job: &Job) {
    register_double(job);
    for number in 0..600 {
        assert_eq!(job.call(0, DOUBLE, words(number), &[]).unwrap(), words(2 * number));
    }
}

pub fn a_call_to_an_unknown_handler_is_refused(job: &Job) {
    register_double(job);
    job.barrier().unwrap();
    let peer = 1 - job.rank();
    for _ in 0..10 {
        expect_error!(
            job.call(peer, 99, [0; 6], &[]),
            Error::Refused { rank, reason: Refusal::UnknownHandler } if rank == peer
        );
        assert_eq!(job.call(peer, DOUBLE, words(4), &[]).unwrap(), words(8), "the next call is not disturbed");
    }
    job.sync().expect("the call told already");
    job.barrier().unwrap();
}

pub fn ports_get_their_own_replies(job: &Job) {
    register_double(job);
    job.barrier().unwrap();
    let peer = 1 - job.rank();
    let callers = [0u64, 1, 2, 3].map(|index| {
        let port = job.open().unwrap();
        move || {
            for number in 0..300 {
                let id = index << 32 | number;
                assert_eq!(port.call(peer, DOUBLE, words(id), &[]).unwrap(), words(2 * id));
            }
        }
    });
    beside(job, callers, || {});
    job.barrier().unwrap();
}

pub fn only_the_first_reply_counts(job: &Job) {
    job.register_handler(1, |context, _| {
        context.reply(words(1)).unwrap();
        context.reply(words(2)).unwrap();
    })
    .unwrap();
    job.register_handler(2, |context, _| context.reply(words(3)).unwrap()).unwrap();
    job.barrier().unwrap();
    let peer = 1 - job.rank();
    for _ in 0..100 {
        // A reply to what is not a call goes nowhere.
        job.send(peer, 2, 0, [0; 6], &[]).unwrap();
        assert_eq!(job.call(peer, 1, [0; 6], &[]).unwrap(), words(1));
        assert_eq!(job.call(peer, 2, [0; 6], &[]).unwrap(), words(3));
    }
    job.barrier().unwrap();
}

pub fn a_rank_in_a_barrier_answers(job: &Job) {
    register_double(job);
    job.barrier().unwrap();
    if job.rank() == 0 {
        for number in 0..100 {
            assert_eq!(job.call(1, DOUBLE, words(number), &[]).unwrap(), words(2 * number));
        }
    }
    job.barrier().unwrap();
}

/// Replies as many bytes as it is asked for, which depend on the request's.
fn register_echo(job: &Job) {
    job.register_handler(DOUBLE, |context, message| {
        let [len, seed, ..] = message.arguments.map(|word| word as usize);
        assert_eq!(message.payload, bytes(seed + 1, len));
        context.reply_with(message.arguments.map(|word| 2 * word), &bytes(seed, len)).unwrap();
        context.reply_with([0; 6], b"the second time").unwrap();
    })
    .unwrap();
    job.barrier().unwrap();
}

pub fn replies_carry_bytes_of_every_length(job: &Job) {
    register_echo(job);
    let mut reply = [0xEE; PAYLOAD_MAX + 1];
    for (seed, len) in [0, 1, 7, 8, 63, 64, 65, 1000, PAYLOAD_MAX - 1, PAYLOAD_MAX, 3, 0].into_iter().enumerate() {
        for peer in 0..job.size() {
            let arguments = [len as u64, seed as u64, 0, 0, 0, 5];
            let request = bytes(seed + 1, len);
            reply.fill(0xEE);
            let (words, got) = job.call_with(peer, DOUBLE, arguments, &request, &mut reply).unwrap();
            assert_eq!((words, got), (arguments.map(|word| 2 * word), len));
            assert!(reply[..len] == bytes(seed, len) && reply[len..].iter().all(|byte| *byte == 0xEE), "{len} bytes");
            // Whoever does not ask for them gets the words.
            assert_eq!(job.call(peer, DOUBLE, arguments, &request).unwrap(), words);
        }
    }
    job.barrier().unwrap();
}

pub fn replies_that_do_not_fit_are_refused(job: &Job) {
    job.register_handler(1, |context, message| {
        let too_long = vec![7; message.arguments[0] as usize];
        expect_error!(context.reply_with([1; 6], &too_long), Error::PayloadTooLong { max: PAYLOAD_MAX, .. });
        // It is not answered by that.
        context.reply_with([2; 6], &[8; PAYLOAD_MAX]).unwrap();
    })
    .unwrap();
    job.register_handler(2, |_, _| {}).unwrap();
    job.barrier().unwrap();
    let peer = 1 - job.rank();
    let mut reply = vec![0; PAYLOAD_MAX];
    for room in [0, 1, PAYLOAD_MAX - 1] {
        expect_error!(
            job.call_with(peer, 1, [PAYLOAD_MAX as u64 + 1; 6], &[], &mut reply[..room]),
            Error::ReplyTooLong { rank, bytes: PAYLOAD_MAX, room: r } if (rank, r) == (peer, room)
        );
        assert!(reply.iter().all(|byte| *byte == 0), "nothing was written");
    }
    assert_eq!(job.call_with(peer, 1, [1 << 20; 6], &[], &mut reply).unwrap(), ([2; 6], PAYLOAD_MAX));
    assert!(reply.iter().all(|byte| *byte == 8));
    assert_eq!(job.call_with(peer, 2, [9; 6], &[], &mut reply).unwrap(), ([0; 6], 0), "nothing of the reply before");
    expect_error!(
        job.call_with(peer, 99, [0; 6], &[], &mut reply),
        Error::Refused { rank, reason: Refusal::UnknownHandler } if rank == peer
    );
    expect_error!(job.call_with(peer, 1, [0; 6], &[0; PAYLOAD_MAX + 1], &mut reply), Error::PayloadTooLong { .. });
    expect_error!(job.call_with(2, 1, [0; 6], &[], &mut reply), Error::NoSuchRank { .. });
    job.barrier().unwrap();
}

pub fn ports_get_their_own_bytes(job: &Job) {
    register_echo(job);
    let peer = 1 - job.rank();
    let callers = [1usize, 2, 3].map(|index| {
        let port = job.open().unwrap();
        move || {
            let mut reply = [0; 500];
            for number in 0..100 {
                let (len, seed) = (number + index, number * index);
                let arguments = [len as u64, seed as u64, 0, 0, 0, 0];
                let (_, got) = port.call_with(peer, DOUBLE, arguments, &bytes(seed + 1, len), &mut reply).unwrap();
                assert_eq!(reply[..got], bytes(seed, len));
            }
        }
    });
    beside(job, callers, || {});
    job.barrier().unwrap();
}
