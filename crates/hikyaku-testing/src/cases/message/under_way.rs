//! Operations that go on while the program does something else.

use super::pattern;
use hikyaku::ffi::{RawMessages, RawPort};
use hikyaku::message::Mode;
use hikyaku::{Error, Job, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub fn an_early_receive_lets_the_send_go_without_the_receiver(job: &Job) -> Result<()> {
    let messages = job.messages(1)?;
    let done = job.symmetric::<u64>(1)?;
    if job.rank() == 1 {
        let mut got = vec![0u8; 3_000_000];
        messages.scope(|scope| {
            let receive = scope.irecv(&mut got, 0, 0)?;
            // This rank does not call the library until the send has returned.
            match job.mapped_word(done.at(0, 0)).and(job.mapped_word(done.here(0))) {
                Ok(word) => watch(word),
                // Of simulated ranks no other is mapped; and they stand still while they do not call.
                Err(_) => job.wait(done.here(0), hikyaku::Until::Equal(1)).map(drop)?,
            }
            scope.wait_receive(receive)
        })?;
        assert!(got == pattern(9, 3_000_000));
    } else {
        messages.send(&pattern(9, 3_000_000), 1, 0)?;
        job.word(done.at(1, 0), 1)?;
    }
    job.barrier()
}

/// Waits until a word of job memory is 1, without the library.
fn watch(word: &AtomicU64) {
    // A send that waits for help of its receiver never ends: whoever watches the test says so.
    while word.load(Ordering::Acquire) != 1 {
        std::thread::yield_now();
    }
}

pub fn a_scope_ends_its_operations_even_after_a_panic(job: &Job) -> Result<()> {
    let messages = job.messages(2)?;
    let peer = 1 - job.rank();
    let mut unwanted = vec![0u8; 100_000];
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        messages.scope(|scope| -> Result<()> {
            let _forgotten = scope.irecv(&mut unwanted, peer, 0)?;
            panic!("in the scope")
        })
    }));
    assert!(panicked.is_err());
    job.barrier()?;
    // The slot was given back, and nobody writes to the old buffer.
    let mut wanted = vec![0u8; 100_000];
    messages.scope(|scope| {
        let receive = scope.irecv(&mut wanted, peer, 0)?;
        messages.send(&pattern(4, 100_000), peer, 0)?;
        scope.wait_receive(receive)
    })?;
    assert!(wanted == pattern(4, 100_000));
    assert!(unwanted.iter().all(|byte| *byte == 0));
    job.barrier()
}

/// More sends than there is room for leave while their rank waits for something else, and a synchronous send to a rank that
/// has posted its receive and waits for a third one returns.
pub fn operations_under_way_go_on_in_every_wait(job: &Job) -> Result<()> {
    const COUNT: usize = 40;
    let messages = job.messages(COUNT)?;
    let data = pattern(3, 5000);
    match job.rank() {
        0 => {
            messages.scope(|scope| {
                for slot in 0..COUNT {
                    let _ = scope.isend(&data, 1, slot)?;
                }
                // Rank 1 sends this when it has received everything.
                messages.recv(&mut [0u8], 1, 0).map(drop)
            })?;
            messages.set_mode(Mode::Synchronous);
            messages.send(&[7u8], 1, 1)?;
            messages.send(&[8u8], 2, 0)?;
        }
        1 => {
            for slot in (0..COUNT).rev() {
                let mut got = vec![0; data.len()];
                assert_eq!(messages.recv(&mut got, 0, slot)?, data.len());
                assert!(got == data);
            }
            messages.send(&[1u8], 0, 0)?;
            let mut early = [0u8];
            messages.scope(|scope| {
                let receive = scope.irecv(&mut early, 0, 1)?;
                messages.recv(&mut [0u8], 2, 0)?;
                assert_eq!(scope.wait_receive(receive)?, 1);
                Ok(())
            })?;
            assert_eq!(early, [7]);
        }
        _ => {
            // Comes only after rank 0's synchronous send to rank 1 has returned.
            messages.recv(&mut [0u8], 0, 0)?;
            messages.send(&[1u8], 1, 0)?;
        }
    }
    job.barrier()
}

/// Short ones, which only their slots know of, and long ones; whatever has come is found, whichever is asked for or given up
/// first, and whatever else is waited for meanwhile.
pub fn receives_under_way_end_in_any_order(job: &Job) -> Result<()> {
    const COUNT: usize = 48;
    let messages = job.messages(COUNT + 1)?;
    let (me, sizes) = (job.rank(), [0, 8, 60, 1000, 5000, 20_000]);
    let bytes = |slot: usize| sizes[slot % sizes.len()];
    let data = |from: usize, slot: usize| pattern(from * COUNT + slot, bytes(slot));
    for round in 0..4 {
        // Each order has all of them: the factors have no divisor in common with the count.
        let order = |factor: usize| (0..COUNT).map(move |at| (at * factor + round) % COUNT);
        if me < 2 {
            for slot in order([5, 11][me]) {
                // Some senders wait until their messages are taken.
                messages.set_mode(if slot % 3 == 0 { Mode::Synchronous } else { Mode::Standard });
                messages.send(&data(me, slot), 2, slot)?;
            }
            messages.set_mode(Mode::Standard);
            messages.send(&[1u8], 2, COUNT)?;
        } else {
            let mut rooms: Vec<_> = (0..2 * COUNT).map(|at| vec![0u8; bytes(at % COUNT)]).collect();
            messages.scope(|scope| {
                let mut handles = Vec::new();
                for (at, room) in rooms.iter_mut().enumerate() {
                    handles.push(Some(scope.irecv(room, at / COUNT, at % COUNT)?));
                }
                for (step, slot) in order(7).enumerate() {
                    for at in [slot, COUNT + (slot + 17) % COUNT] {
                        let mut handle = handles[at].take().expect("once");
                        // Half of them are asked for again and again, the other half are waited for.
                        let got = loop {
                            if step % 2 == 0 {
                                break scope.wait_receive(handle)?;
                            }
                            match scope.test_receive(handle)? {
                                Ok(got) => break got,
                                Err(again) => handle = again,
                            }
                        };
                        assert_eq!(got, bytes(at % COUNT));
                    }
                    if step == COUNT / 3 {
                        // The rest comes while something else is waited for, from one of them; the other is not asked for.
                        assert_eq!(messages.recv(&mut [0u8], 0, COUNT)?, 1);
                    }
                    if step == COUNT / 2 {
                        break;
                    }
                }
                Ok(())
            })?;
            for (at, room) in rooms.iter().enumerate() {
                assert!(*room == data(at / COUNT, at % COUNT), "round {round}, {at}");
            }
            assert_eq!(messages.recv(&mut [0u8], 1, COUNT)?, 1);
        }
    }
    job.barrier()
}

/// Its buffer is left alone, the others that wait are not lost, and the slot serves again.
pub fn a_short_receive_under_way_can_be_given_up(job: &Job) -> Result<()> {
    const COUNT: usize = 9;
    let messages = job.messages(COUNT)?;
    let peer = 1 - job.rank();
    let mut receives =
        (0..COUNT).map(|slot| messages.prepare_recv(vec![0u64], peer, slot)).collect::<Result<Vec<_>>>()?;
    receives.iter_mut().try_for_each(|receive| receive.start())?;
    // From the front, the middle and the end.
    for given_up in [8, 4, 0] {
        drop(receives.remove(given_up));
    }
    job.barrier()?;
    for slot in 0..COUNT {
        messages.send(&[100 + slot as u64], peer, slot)?;
    }
    for (receive, slot) in receives.iter_mut().zip([1, 2, 3, 5, 6, 7]).rev() {
        assert_eq!(receive.wait()?, [100 + slot]);
    }
    for slot in [0, 4, 8] {
        let mut got = [0u64];
        messages.recv(&mut got, peer, slot)?;
        assert_eq!(got, [100 + slot as u64]);
    }
    job.barrier()
}

/// Messages that wait behind one another are found by receives that were started, when they are asked for and before.
pub fn receives_under_way_get_what_waits_behind_others(job: &Job) -> Result<()> {
    let messages = job.messages(1)?;
    let sizes = [8, 300, 8, 5000, 0, 8000];
    for meanwhile in [false, true] {
        if job.rank() == 0 {
            messages.set_spare(100_000)?;
            messages.set_mode(Mode::Spool(Duration::ZERO));
            for (number, bytes) in sizes.into_iter().enumerate() {
                messages.send(&pattern(number, bytes), 1, 0)?;
            }
            job.barrier()?;
            if meanwhile {
                sizes.iter().try_for_each(|_| job.barrier())?;
            }
        } else {
            job.barrier()?;
            for (number, bytes) in sizes.into_iter().enumerate() {
                let mut got = vec![0; bytes];
                let received = messages.scope(|scope| {
                    let receive = scope.irecv(&mut got, 0, 0)?;
                    if meanwhile {
                        job.barrier()?;
                    }
                    scope.wait_receive(receive)
                })?;
                assert_eq!(received, bytes);
                assert!(got == pattern(number, bytes), "message {number}");
            }
        }
        messages.settle();
        job.barrier()?;
    }
    Ok(())
}

/// Handles are good where they were made, also when as many were made elsewhere.
pub fn a_handle_of_another_scope_is_refused(job: &Job) -> Result<()> {
    let messages = job.messages(3)?;
    let me = job.rank();
    let (mut one, mut other) = ([0u8], [0u8]);
    messages.scope(|outer| {
        let receive = outer.irecv(&mut one, me, 1)?;
        messages.scope(|inner| {
            let _waits = inner.irecv(&mut other, me, 2)?;
            let refused = inner.wait_receive(receive);
            assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
            messages.send(&[1u8], me, 1)?;
            messages.send(&[2u8], me, 2)
        })
    })?;
    assert_eq!([one, other], [[1], [2]]);
    job.barrier()
}

/// What was promised to go on by itself may need a receive that its rank will never ask for, so that must not be given up too
/// soon, or one waits for ever. Whatever else is under way is given up.
pub fn messages_are_freed_while_operations_are_under_way(job: &Job) -> Result<()> {
    const BYTES: usize = 100_000;
    let world = job.new_world()?;
    let (mut room, unwanted) = (vec![0u8; BYTES], vec![1u8; BYTES]);
    let messages = world.messages(2)?;
    if job.rank() == 1 {
        // SAFETY: the buffer outlives the messages, which are freed below.
        unsafe { messages.irecv(room.as_mut_ptr(), BYTES, 0, 0)? };
    } else {
        // Rank 1 most likely waits for the others by now.
        std::thread::sleep(Duration::from_millis(20));
        messages.send_owned(pattern(2, BYTES).into(), 1, 0)?;
        // SAFETY: likewise.
        unsafe { messages.isend(unwanted.as_ptr(), BYTES, 1, 1)? };
    }
    world.free_messages(messages)?;
    // The buffers are the program's again.
    room.fill(3);
    world.barrier()?;
    assert!(room.iter().all(|byte| *byte == 3));
    world.free()
}

pub fn operations_under_way_can_be_tested(job: &Job) -> Result<()> {
    let messages = job.messages(2)?;
    let (data, mut got) = (pattern(5, 300_000), vec![0u8; 300_000]);
    if job.rank() == 0 {
        messages.scope(|scope| {
            let mut send = scope.isend(&data, 1, 0)?;
            // Nobody receives before the barrier.
            send = scope.test_send(send)?.expect_err("nobody has received it");
            job.barrier()?;
            loop {
                match scope.test_send(send)? {
                    Ok(()) => return Ok(()),
                    Err(again) => send = again,
                }
            }
        })?;
    } else {
        messages.scope(|scope| {
            job.barrier()?;
            let mut receive = scope.irecv(&mut got, 0, 0)?;
            loop {
                match scope.test_receive(receive)? {
                    Ok(len) => {
                        assert_eq!(len, 300_000);
                        return Ok(());
                    }
                    Err(again) => receive = again,
                }
            }
        })?;
        assert!(got == data);
    }
    job.barrier()
}

/// However soon its receive has found out.
pub fn a_send_under_way_is_told_when_it_is_waited_for_that_it_did_not_fit(job: &Job) -> Result<()> {
    let messages = job.messages(1)?;
    let data = pattern(7, 100_000);
    for _ in 0..500 {
        if job.rank() == 0 {
            let sent = messages.scope(|scope| {
                let send = scope.isend(&data, 1, 0).expect("it was only started");
                scope.wait_send(send)
            });
            assert!(matches!(sent, Err(Error::Truncated { .. })), "{sent:?}");
        } else {
            let got = messages.recv(&mut [0u8; 100], 0, 0);
            assert!(matches!(got, Err(Error::Truncated { .. })), "{got:?}");
        }
    }
    job.barrier()
}
