//! Misuse of sends and receives.

use super::canary::Guarded;
use crate::support::{bytes, other};
use hikyaku::message::Messages;
use hikyaku::{Error, Job};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Nobody ever withdraws it; its buffer is never freed.
pub fn a_prepared_receive_is_leaked_under_way(job: &Job) {
    let messages = job.messages(2).unwrap();
    let mut outside = Guarded::new(9_000);
    if job.rank() == 0 {
        let mut receive = messages.prepare_recv(vec![0u8; 9_000], 1, 0).unwrap();
        receive.start().unwrap();
        std::mem::forget(receive);
        job.barrier().unwrap();
        assert_eq!(messages.recv(outside.inside(), 1, 1).unwrap(), 9_000);
        assert!(outside.inside() == bytes(1, 9_000));
    } else {
        job.barrier().unwrap();
        messages.send(&bytes(1, 9_000), other(job), 1).unwrap();
    }
    outside.check_margins();
    job.barrier().unwrap();
}

/// The receiver gives receives up and posts others in the same slot, with other buffers, while the sender looks where the
/// last one wanted its bytes. Nobody writes to a buffer that was given up.
pub fn a_receive_is_withdrawn_and_posted_again(job: &Job) {
    const BYTES: usize = 9_000;
    const TURNS: usize = if cfg!(debug_assertions) { 5_000 } else { 50_000 };
    let messages = job.messages(2).unwrap();
    if job.rank() == 1 {
        let post_and_drop = || messages.prepare_recv(vec![0u8; BYTES], 0, 0).unwrap().start().unwrap();
        for turn in 0..TURNS {
            post_and_drop();
            let kept = vec![0u8; BYTES];
            post_and_drop();
            assert!(kept.iter().all(|byte| *byte == 0), "turn {turn}: a buffer was written that is nobody's");
        }
        // Whatever is still on its way, up to the last message.
        messages.send(&[1u8], 0, 1).unwrap();
        let mut last = vec![0u8; BYTES];
        while messages.recv(&mut last, 0, 0).unwrap() != 1 {
            assert!(last == bytes(1, BYTES), "a message that was given up by some came whole to another");
        }
    } else {
        let data = bytes(1, BYTES);
        while messages.waiting_slot(1).unwrap().is_none() {
            messages
                .scope(|scope| {
                    let mut send = scope.isend(&data, 1, 0)?;
                    while let Err(again) = scope.test_send(send)? {
                        send = again;
                        if messages.waiting_slot(1)?.is_some() {
                            break;
                        }
                    }
                    Ok(())
                })
                .unwrap();
        }
        messages.recv(&mut [0u8], 1, 1).unwrap();
        messages.send(&[2u8], 1, 0).unwrap();
    }
    job.barrier().unwrap();
}

/// Receives are given up and posted again, of messages of many chunks, of which some were copied already.
pub fn long_receives_are_withdrawn_half_copied(job: &Job) {
    const BYTES: usize = 200_000;
    const MESSAGES: usize = 20;
    let messages = job.messages(2).unwrap();
    if job.rank() == 0 {
        for number in 0..MESSAGES {
            messages.send(&bytes(number, BYTES), 1, 0).unwrap();
        }
        messages.send(&[2u8], 1, 0).unwrap();
    } else {
        let mut kept = Vec::new();
        let mut seen = 0;
        loop {
            for _ in 0..3 {
                messages.prepare_recv(vec![0u8; BYTES], 0, 0).unwrap().start().unwrap();
                kept.push(Guarded::new(BYTES));
            }
            let mut got = vec![0u8; BYTES];
            if messages.recv(&mut got, 0, 0).unwrap() == 1 {
                break;
            }
            // In order, and whole; those that had come when their receive was given up went with it.
            seen = (seen..MESSAGES).find(|number| got == bytes(*number, BYTES)).expect("a whole message") + 1;
            kept.drain(..).for_each(|buffer| buffer.check_untouched());
        }
    }
    job.barrier().unwrap();
}

/// What is printed tells what it is, not what peers write at that moment.
pub fn a_prepared_receive_is_printed_under_way(job: &Job) {
    const BYTES: usize = 100_000;
    let messages = job.messages(1).unwrap();
    for _ in 0..20 {
        if job.rank() == 0 {
            let mut receive = messages.prepare_recv(vec![0u8; BYTES], 1, 0).unwrap();
            receive.start().unwrap();
            let printed = format!("{receive:?}");
            assert!(printed.len() < 200, "the buffer was read: {} bytes", printed.len());
            assert!(receive.wait().unwrap() == bytes(1, BYTES));
        } else {
            let mut send = messages.prepare_send(bytes(1, BYTES), 0, 0).unwrap();
            send.start().unwrap();
            assert!(format!("{send:?}").len() < 200);
            send.wait().unwrap();
        }
    }
    job.barrier().unwrap();
}

/// Nobody receives it, so nothing but its end could end the wait for it.
pub fn a_panic_leaves_a_long_send_that_nobody_receives(job: &Job) {
    let messages = job.messages(1).unwrap();
    if job.rank() == 0 {
        let data = vec![1u8; 100_000];
        let _ = messages.scope(|scope| -> hikyaku::Result<()> {
            let _send = scope.isend(&data, 1, 0)?;
            panic!("on purpose")
        });
    } else {
        job.barrier().unwrap();
    }
}

/// Starts sends of `sizes` to the slots from 0 on, and panics; afterwards their buffers hold something else.
fn panic_after_sends(messages: &Messages<'_>, to: usize, sizes: &[usize]) {
    let mut data: Vec<_> = sizes.iter().enumerate().map(|(slot, size)| bytes(slot, *size)).collect();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        messages.scope(|scope| -> hikyaku::Result<()> {
            for (slot, data) in data.iter().enumerate() {
                let _ = scope.isend(data, to, slot)?;
            }
            panic!("on purpose")
        })
    }));
    assert!(panicked.is_err());
    data.iter_mut().for_each(|data| data.fill(0xEE));
}

const SIZES: [usize; 5] = [8, 5_000, 9_000, 100_000, 600_000];

fn receive_all(messages: &Messages<'_>, from: usize) {
    for (slot, size) in SIZES.iter().enumerate() {
        let mut got = vec![0u8; *size];
        assert_eq!(messages.recv(&mut got, from, slot).unwrap(), *size);
        assert!(got == bytes(slot, *size), "what was sent, not what was in the buffer later");
    }
}

/// What was sent before the panic arrives as it was then, and the slots serve again.
pub fn a_caught_panic_lets_go_of_sends(job: &Job) {
    let messages = job.messages(SIZES.len()).unwrap();
    for _ in 0..3 {
        if job.rank() == 0 {
            panic_after_sends(&messages, 1, &SIZES);
            job.barrier().unwrap();
        } else {
            job.barrier().unwrap();
            receive_all(&messages, 0);
        }
    }
    job.barrier().unwrap();
}

/// What was sent before the panic arrives as it was then, though a receiver is in the midst of taking it.
pub fn a_caught_panic_lets_go_of_sends_that_are_being_taken(job: &Job) {
    let messages = job.messages(SIZES.len()).unwrap();
    for _ in 0..8 {
        match job.rank() {
            0 => panic_after_sends(&messages, 1, &SIZES),
            _ => receive_all(&messages, 0),
        }
    }
    job.barrier().unwrap();
}

/// To oneself: whoever sends is the one who receives.
pub fn a_caught_panic_lets_go_of_sends_to_oneself(job: &Job) {
    let messages = job.messages(SIZES.len()).unwrap();
    for _ in 0..3 {
        panic_after_sends(&messages, job.rank(), &SIZES);
        receive_all(&messages, job.rank());
    }
    job.barrier().unwrap();
}

/// A send that nobody has taken is dropped while its receiver waits for this rank's handler.
pub fn an_offered_send_is_dropped_while_its_receiver_calls(job: &Job) {
    const BYTES: usize = 100_000;
    job.register_handler(1, |context, _| context.reply([7; 6]).unwrap()).unwrap();
    let messages = job.messages(1).unwrap();
    job.barrier().unwrap();
    if job.rank() == 0 {
        let mut send = messages.prepare_send(bytes(1, BYTES), 1, 0).unwrap();
        send.start().unwrap();
        drop(send);
    } else {
        assert_eq!(job.call(0, 1, [0; 6], &[]).unwrap(), [7; 6]);
        let mut got = vec![0u8; BYTES];
        messages.recv(&mut got, 0, 0).unwrap();
        assert!(got == bytes(1, BYTES));
    }
    job.barrier().unwrap();
}

/// Each is dropped as soon as it was started, also while the ones before it have not left; all of them arrive, in order.
pub fn prepared_sends_are_dropped_one_after_the_other(job: &Job) {
    let messages = job.messages(1).unwrap();
    for round in 0..3 {
        if job.rank() == 0 {
            for (number, size) in SIZES.iter().enumerate() {
                messages.prepare_send(bytes(number + round, *size), 1, 0).unwrap().start().unwrap();
            }
        } else {
            for (number, size) in SIZES.iter().enumerate() {
                let mut got = vec![0u8; *size];
                assert_eq!(messages.recv(&mut got, 0, 0).unwrap(), *size);
                assert!(got == bytes(number + round, *size));
            }
        }
    }
    job.barrier().unwrap();
}

/// All of a group's messages are freed with prepared transfers leaked under way, and with sends that go on by themselves
/// and that nobody receives.
pub fn messages_are_freed_with_everything_under_way(job: &Job) {
    const BYTES: usize = 100_000;
    let (world, peer) = (job.new_world().unwrap(), other(job));
    for _ in 0..3 {
        let messages = world.messages(4).unwrap();
        let mut send = messages.prepare_send(vec![1u8; BYTES], peer, 0).unwrap();
        let mut receive = messages.prepare_recv(vec![2u8; BYTES], peer, 1).unwrap();
        let mut short = messages.prepare_recv(vec![2u8; 8], peer, 2).unwrap();
        send.start().unwrap();
        receive.start().unwrap();
        short.start().unwrap();
        std::mem::forget((send, receive, short));
        for _ in 0..3 {
            messages.send_owned(vec![3u8; BYTES].into(), peer, 3).unwrap();
        }
        world.free_messages(messages).unwrap();
    }
    // Where the old ones lay there is something else by now.
    let messages = world.messages(4).unwrap();
    let mut got = vec![0u8; BYTES];
    messages.send_owned(bytes(1, BYTES).into(), peer, 0).unwrap();
    messages.recv(&mut got, peer, 0).unwrap();
    assert!(got == bytes(1, BYTES));
    world.free_messages(messages).unwrap();
    world.free().unwrap();
}

/// A handle that outlived its scope names nothing in another one, also if there is something of the same slot there.
pub fn a_handle_outlives_its_scope(job: &Job) {
    let messages = job.messages(1).unwrap();
    let me = job.rank();
    let (mut old, mut new) = ([0u8; 8], [0u64; 1]);
    messages.send(&[1u8; 8], me, 0).unwrap();
    let handle = messages.scope(|scope| scope.irecv(&mut old, me, 0)).unwrap();
    messages
        .scope(|scope| {
            let receive = scope.irecv(&mut new, me, 0)?;
            messages.send(&[2u64], me, 0)?;
            let refused = scope.wait_receive(handle);
            assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
            assert_eq!(scope.wait_receive(receive)?, 1);
            Ok(())
        })
        .unwrap();
    assert_eq!((old, new), ([1; 8], [2]));
    job.barrier().unwrap();
}

/// A receive that is leaked under way outlives its messages. What stood in for its buffer, if peers cannot reach that, is
/// given back: nobody writes to what lies there next.
pub fn a_leaked_receive_outlives_its_messages(job: &Job) {
    const BYTES: usize = 100_000;
    let messages = job.messages(1).unwrap();
    if job.rank() == 0 {
        let mut receive = messages.prepare_recv(vec![0u8; BYTES], 1, 0).unwrap();
        receive.start().unwrap();
        std::mem::forget(receive);
        drop(messages);
        let areas: Vec<_> = (0..4).map(|id| job.area::<u8>(id, BYTES).unwrap()).collect();
        job.barrier().unwrap();
        job.barrier().unwrap();
        assert!(areas.iter().all(|area| area.to_vec().iter().all(|byte| *byte == 0)), "written by nobody's leave");
    } else {
        job.barrier().unwrap();
        let mut send = messages.prepare_send(vec![1u8; BYTES], 0, 0).unwrap();
        send.start().unwrap();
        // A far one may have left: what was given up there belongs to the next receive.
        let may_leave = !job.is_mapped(0).unwrap();
        for _ in 0..100 {
            assert!(!send.test().unwrap() || may_leave, "nobody receives it");
        }
        // Nobody will: it is not waited for.
        std::mem::forget(send);
        job.barrier().unwrap();
    }
    job.barrier().unwrap();
}

/// What a slot is prepared with is made by code of the program, which panics: the slot is not lost.
pub fn a_buffer_panics_while_it_is_made(job: &Job) {
    struct Never;
    impl From<Never> for Box<[u8]> {
        fn from(_: Never) -> Box<[u8]> {
            panic!("on purpose")
        }
    }
    let messages = job.messages(1).unwrap();
    let me = job.rank();
    let send = || messages.prepare_send::<u8>(Never, me, 0).map(drop);
    let receive = || messages.prepare_recv::<u8>(Never, me, 0).map(drop);
    assert!(catch_unwind(AssertUnwindSafe(send)).is_err());
    assert!(catch_unwind(AssertUnwindSafe(receive)).is_err());
    let mut got = [0u8];
    messages.send(&[5u8], me, 0).unwrap();
    messages.recv(&mut got, me, 0).unwrap();
    assert_eq!(got, [5]);
    job.barrier().unwrap();
}

/// A wait that is refused in a function ends nothing: the scope does, before its buffer is the program's again.
pub fn a_function_waits_in_a_scope(job: &Job) {
    const BYTES: usize = 1000;
    let (messages, world, peer) = (job.messages(1).unwrap(), job.new_world().unwrap(), other(job));
    let buffer = RefCell::new(Guarded::new(BYTES));
    let function = |total: &mut [u64], input: &[u64]| {
        let mut buffer = buffer.borrow_mut();
        let ended = messages.scope(|scope| {
            let receive = scope.irecv(buffer.inside(), peer, 0)?;
            scope.wait_receive(receive)
        });
        assert!(matches!(ended, Err(Error::InFunction)), "{ended:?}");
        total[0] += input[0];
    };
    world.allreduce(&mut [1u64], function).unwrap();
    job.barrier().unwrap();
    messages.send(&bytes(1, BYTES), peer, 0).unwrap();
    // Whatever is under way moves on in waits.
    (0..10).for_each(|_| job.barrier().unwrap());
    buffer.borrow().check_untouched();
    let mut got = vec![0u8; BYTES];
    messages.recv(&mut got, peer, 0).unwrap();
    assert!(got == bytes(1, BYTES));
    job.barrier().unwrap();
}

/// A rank waits for a message, and a function that runs meanwhile tries to receive it: it comes once.
pub fn a_function_receives_what_its_rank_waits_for(job: &Job) {
    let (messages, world, peer) = (job.messages(3).unwrap(), job.new_world().unwrap(), other(job));
    for len in [8, 5_000, 100_000] {
        let mut sum = [1u64];
        let steal = || {
            // The other one sends only now.
            messages.send(&[1u8], peer, 2).unwrap();
            while messages.waiting_slot(peer).unwrap().is_none() {}
            let mut stolen = Guarded::new(len);
            let taken = messages.recv(stolen.inside(), peer, 0);
            assert!(matches!(taken, Err(Error::SlotBusy { .. })), "{taken:?}");
            let prepared = messages.prepare_recv(vec![0u8; len], peer, 0).map(drop);
            assert!(matches!(prepared, Err(Error::SlotBusy { .. })), "{prepared:?}");
            let started = messages.scope(|scope| scope.irecv(stolen.inside(), peer, 0).map(drop));
            assert!(matches!(started, Err(Error::SlotBusy { .. })), "{started:?}");
            stolen.check_untouched();
        };
        let function = |total: &mut [u64], input: &[u64]| {
            total[0] += input[0];
            if job.rank() == 0 {
                steal();
            }
        };
        let exchange = |scope: &hikyaku::collective::Scope<'_, '_>| {
            if job.rank() == 0 {
                messages.send(&[1u8], peer, 2)?;
                let mut got = vec![0u8; len];
                for number in 1..3 {
                    assert_eq!(messages.recv(&mut got, peer, 0)?, len);
                    assert!(got == bytes(number, len), "message {number} of {len} bytes");
                }
                messages.recv(&mut [0u8], peer, 1)?;
            } else {
                messages.recv(&mut [0u8], peer, 2)?;
                messages.send_owned(bytes(1, len).into(), peer, 0)?;
                messages.send_owned(bytes(2, len).into(), peer, 0)?;
                messages.send(&[1u8], peer, 1)?;
            }
            assert!(!scope.is_idle());
            Ok(())
        };
        if job.rank() == 1 {
            // Then the other one's call is under way.
            messages.recv(&mut [0u8], peer, 2).unwrap();
        }
        let both = world.scope(|scope| {
            let call = scope.iallreduce(&mut sum, function)?;
            exchange(scope)?;
            scope.wait(call)
        });
        both.unwrap();
        assert_eq!(sum, [2]);
    }
    job.barrier().unwrap();
}

/// Given up again and again while the sender copies into them: nobody writes to a buffer whose receive has timed out.
pub fn receives_time_out_half_copied(job: &Job) {
    const BYTES: usize = 200_000;
    const TURNS: usize = if cfg!(debug_assertions) { 100 } else { 1000 };
    let messages = job.messages(1).unwrap();
    for turn in 0..TURNS {
        if job.rank() == 0 {
            messages.send(&bytes(turn, BYTES), other(job), 0).unwrap();
            continue;
        }
        let mut kept = Vec::new();
        loop {
            let mut into = vec![0u8; BYTES];
            let patience = std::time::Duration::from_nanos(1000 * (turn as u64 % 50));
            match messages.recv_for(&mut into, 0, 0, patience) {
                Ok(came) => {
                    assert!(came == BYTES && into == bytes(turn, BYTES), "turn {turn}");
                    break;
                }
                Err(Error::Timeout { .. }) if kept.len() < 20 => kept.push((into.clone(), into)),
                Err(Error::Timeout { .. }) => drop(into),
                Err(error) => panic!("{error}"),
            }
        }
        assert!(kept.iter().all(|(before, after)| before == after), "turn {turn}");
    }
    job.barrier().unwrap();
}

/// A receive is given up, and the next one has room for more than comes: behind the message its buffer is as it was, and has nothing of
/// the buffer that was dropped.
pub fn a_dropped_receive_leaves_the_next_buffer_alone(job: &Job) {
    const ROOM: usize = 300_000;
    const SENT: usize = 40_000;
    const CANARY: u8 = 0xC9;
    let messages = job.messages(1).unwrap();
    for _ in 0..5 {
        if job.rank() == 1 {
            messages.send(&[1u8; SENT], 0, 0).unwrap();
            continue;
        }
        let mut receive = messages.prepare_recv(vec![2u8; ROOM], 1, 0).unwrap();
        receive.start().unwrap();
        if receive.test().unwrap().is_some() {
            continue;
        }
        drop(receive);
        let mut room = vec![CANARY; ROOM];
        match messages.recv_for(&mut room, 1, 0, std::time::Duration::from_secs(1)) {
            Ok(len) => assert!(len == SENT && room[..SENT].iter().all(|byte| *byte == 1)),
            // It had come before the first was dropped.
            Err(hikyaku::Error::Timeout { .. } | hikyaku::Error::PeerLeft { .. }) => continue,
            Err(error) => panic!("{error}"),
        }
        let written = room[SENT..].iter().filter(|byte| **byte != CANARY).count();
        assert_eq!(written, 0, "bytes behind the message were written");
    }
    job.barrier().unwrap();
}
