//! Messages by slots: every mode and size, and misuse. Each case is what every rank runs; `message.rs` runs them on
//! threads, the conformance suite as processes.

#[path = "sizeless.rs"]
mod sizeless;

use hikyaku::message::{EAGER_MAX, Mode, Received};
use hikyaku::{Error, Job, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A case: its name, how many ranks it needs, and what each of them runs.
pub type Case = (&'static str, usize, fn(&Job) -> Result<()>);

/// All cases.
pub const CASES: &[Case] = &[
    ("every_size_arrives_in_every_mode", 2, every_size_arrives_in_every_mode),
    ("a_rank_sends_to_itself", 1, a_rank_sends_to_itself),
    ("a_synchronous_send_waits_for_its_receive", 2, a_synchronous_send_waits_for_its_receive),
    ("buffered_sends_return_at_once_and_leave_by_themselves", 2, buffered_sends_return_at_once_and_leave_by_themselves),
    ("a_send_is_spooled_when_its_time_is_over", 2, a_send_is_spooled_when_its_time_is_over),
    (
        "a_full_spare_buffer_makes_sends_wait_and_loses_nothing",
        2,
        a_full_spare_buffer_makes_sends_wait_and_loses_nothing,
    ),
    ("receives_from_any_slot", 2, receives_from_any_slot),
    (
        "receives_from_any_rank_keep_each_senders_order_and_hold_floods_back",
        4,
        receives_from_any_rank_keep_each_senders_order_and_hold_floods_back,
    ),
    (
        "a_message_that_does_not_fit_is_an_error_and_writes_nothing",
        2,
        a_message_that_does_not_fit_is_an_error_and_writes_nothing,
    ),
    ("a_slot_is_not_used_twice_at_once", 2, a_slot_is_not_used_twice_at_once),
    (
        "an_early_receive_lets_the_send_go_without_the_receiver",
        2,
        an_early_receive_lets_the_send_go_without_the_receiver,
    ),
    ("a_scope_ends_its_operations_even_after_a_panic", 2, a_scope_ends_its_operations_even_after_a_panic),
    ("operations_under_way_go_on_in_every_wait", 3, operations_under_way_go_on_in_every_wait),
    ("operations_under_way_can_be_tested", 2, operations_under_way_can_be_tested),
    ("prepared_transfers_of_every_size", 2, prepared_transfers_of_every_size),
    ("a_prepared_transfer_keeps_its_slot_and_its_buffer", 2, a_prepared_transfer_keeps_its_slot_and_its_buffer),
    ("spooled_sends_survive_their_messages", 2, spooled_sends_survive_their_messages),
    ("buffers_handed_over_keep_their_place_in_every_mode", 2, buffers_handed_over_keep_their_place_in_every_mode),
    ("many_spooled_sends_of_many_slots", 2, many_spooled_sends_of_many_slots),
    ("groups_have_slots_of_their_own", 4, groups_have_slots_of_their_own),
    ("sizeless_elements_in_every_mode", 2, sizeless::in_every_mode),
    ("sizeless_elements_from_anywhere", 2, sizeless::from_anywhere),
    ("sizeless_elements_under_way", 2, sizeless::under_way),
    ("sizeless_elements_prepared", 2, sizeless::prepared),
];

const SIZES: [usize; 13] = [0, 1, 7, 8, 9, 63, 64, 65, 1000, EAGER_MAX, EAGER_MAX + 1, 100_000, 1_000_003];

/// Bytes that tell messages apart.
pub fn pattern(seed: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 31 + i / 251 + seed * 17) as u8).collect()
}

fn every_size_arrives_in_every_mode(job: &Job) -> Result<()> {
    for mode in [Mode::Standard, Mode::Synchronous, Mode::Spool(Duration::ZERO), Mode::Spool(Duration::from_millis(1))]
    {
        let messages = job.messages(4)?;
        messages.set_mode(mode);
        messages.set_spare(4_000_000)?;
        let peer = 1 - job.rank();
        for (round, bytes) in SIZES.into_iter().enumerate() {
            let (mine, expected) = (pattern(round + job.rank(), bytes), pattern(round + peer, bytes));
            let mut got = vec![0xEE; bytes + 100];
            if job.rank() == 0 {
                messages.send(&mine, peer, round % 4)?;
                assert_eq!(messages.recv(&mut got, peer, round % 4)?, bytes);
            } else {
                assert_eq!(messages.recv(&mut got, peer, round % 4)?, bytes);
                messages.send(&mine, peer, round % 4)?;
            }
            assert!(got[..bytes] == expected, "{mode:?}, {bytes} bytes");
            assert!(got[bytes..].iter().all(|byte| *byte == 0xEE), "{mode:?}, behind {bytes} bytes");
        }
        while messages.check_spool()?.remaining > 0 {}
        job.barrier()?;
    }
    Ok(())
}

fn a_rank_sends_to_itself(job: &Job) -> Result<()> {
    let messages = job.messages(2)?;
    for bytes in SIZES {
        let (data, mut got) = (pattern(1, bytes), vec![0; bytes]);
        messages.scope(|scope| {
            let receive = scope.irecv(&mut got, 0, 1)?;
            messages.send(&data, 0, 1)?;
            assert_eq!(scope.wait_receive(receive)?, bytes);
            Ok(())
        })?;
        assert!(got == data);
    }
    Ok(())
}

fn a_synchronous_send_waits_for_its_receive(job: &Job) -> Result<()> {
    let messages = job.messages(1)?;
    let late = job.symmetric::<u64>(1)?;
    messages.set_mode(Mode::Synchronous);
    if job.rank() == 0 {
        messages.send(&[1u8], 1, 0)?;
        assert_eq!(job.pull_one(late.at(1, 0))?, 1, "the send returned before its receive had begun");
    } else {
        std::thread::sleep(Duration::from_millis(20));
        late.set(0, 1);
        messages.recv(&mut [0u8], 0, 0)?;
    }
    job.barrier()
}

fn buffered_sends_return_at_once_and_leave_by_themselves(job: &Job) -> Result<()> {
    let messages = job.messages(3)?;
    messages.set_spare(1_000_000)?;
    messages.set_mode(Mode::Spool(Duration::ZERO));
    if job.rank() == 0 {
        // Nobody receives yet: all of these wait in the spare buffer, several per slot.
        for number in 0..9usize {
            messages.send(&pattern(number, 100_000), 1, number % 3)?;
        }
        assert!(messages.check_spool()?.remaining >= 6);
        // Too long for the spare buffer, ever.
        assert!(matches!(messages.send(&vec![0u8; 1_000_001], 1, 0), Err(Error::Invalid(_))));
        job.barrier()?;
        let mut moved = 0;
        loop {
            let report = messages.check_spool()?;
            moved += report.moved;
            if report.remaining == 0 {
                break;
            }
        }
        assert!(moved <= 9);
    } else {
        job.barrier()?;
        for slot in [2, 0, 1] {
            for turn in 0..3 {
                let mut got = vec![0; 100_000];
                messages.recv(&mut got, 0, slot)?;
                assert!(got == pattern(turn * 3 + slot, 100_000), "order within a slot");
            }
        }
    }
    job.barrier()
}

fn a_send_is_spooled_when_its_time_is_over(job: &Job) -> Result<()> {
    let messages = job.messages(1)?;
    messages.set_spare(1_000_000)?;
    // One whose receive comes in time, and one that waits in vain. The time of the first is never over.
    for time in [Duration::from_secs(1000), Duration::from_millis(20)] {
        let (data, mut got) = (pattern(6, 100_000), vec![0; 100_000]);
        let in_time = time > Duration::from_secs(1);
        if job.rank() == 0 {
            messages.set_mode(Mode::Spool(time));
            let begin = job.now();
            messages.send(&data, 1, 0)?;
            let (elapsed, report) = (job.now() - begin, messages.check_spool()?);
            match in_time {
                true => assert_eq!((report.moved, report.remaining), (0, 0), "not spooled"),
                false => assert_eq!((elapsed >= time, report.remaining), (true, 1), "{elapsed:?}"),
            }
        } else if in_time {
            std::thread::sleep(Duration::from_millis(20));
            messages.recv(&mut got, 0, 0)?;
        }
        job.barrier()?;
        if job.rank() == 1 && !in_time {
            messages.recv(&mut got, 0, 0)?;
        }
        assert!(job.rank() == 0 || got == data);
        messages.settle();
        job.barrier()?;
    }
    Ok(())
}

fn a_full_spare_buffer_makes_sends_wait_and_loses_nothing(job: &Job) -> Result<()> {
    let messages = job.messages(1)?;
    messages.set_spare(250_000)?;
    messages.set_mode(Mode::Spool(Duration::ZERO));
    for number in 0..20 {
        if job.rank() == 0 {
            messages.send(&pattern(number, 100_000), 1, 0)?;
        } else {
            let mut got = vec![0; 100_000];
            messages.recv(&mut got, 0, 0)?;
            assert!(got == pattern(number, 100_000));
        }
    }
    while messages.check_spool()?.remaining > 0 {}
    job.barrier()
}

fn receives_from_any_slot(job: &Job) -> Result<()> {
    let messages = job.messages(100)?;
    if job.rank() == 0 {
        for slot in [70, 3, 99, 0] {
            messages.send(&[slot as u64], 1, slot)?;
        }
        job.barrier()?;
        messages.send(&pattern(5, 200_000), 1, 42)?;
    } else {
        let mut slots = Vec::new();
        for _ in 0..4 {
            let mut value = [0u64];
            let Received { rank, slot, len } = messages.recv_any_slot(&mut value, 0)?;
            assert_eq!((rank, value[0], len), (0, slot as u64, 1));
            slots.push(slot);
        }
        slots.sort();
        assert_eq!(slots, [0, 3, 70, 99]);
        job.barrier()?;
        let mut long = vec![0; 200_000];
        assert_eq!(messages.recv_any_slot(&mut long, 0)?.slot, 42);
        assert!(long == pattern(5, 200_000));
    }
    job.barrier()
}

fn receives_from_any_rank_keep_each_senders_order_and_hold_floods_back(job: &Job) -> Result<()> {
    const COUNT: u64 = 300;
    let messages = job.messages(2)?;
    if job.rank() != 0 {
        for number in 0..COUNT {
            messages.send_any(&[job.rank() as u64, number], 0, 1)?;
            if number % 100 == 0 {
                messages.send_any(&vec![number; 5000], 0, 0)?;
            }
        }
    } else {
        let mut next = [0u64; 4];
        for _ in 0..3 * COUNT {
            let mut value = [0u64; 2];
            let got = messages.recv_any(&mut value, 1)?;
            assert_eq!(got.rank as u64, value[0]);
            assert_eq!(value[1], next[got.rank], "order of rank {}", got.rank);
            next[got.rank] += 1;
            if value[1] % 100 == 0 {
                let mut long = vec![0u64; 5000];
                let got = messages.recv_any(&mut long, 0)?;
                assert_eq!(got.len, 5000);
                assert!(long.iter().all(|word| *word == long[0]));
            }
        }
        assert_eq!(next, [0, COUNT, COUNT, COUNT]);
    }
    job.barrier()
}

fn a_message_that_does_not_fit_is_an_error_and_writes_nothing(job: &Job) -> Result<()> {
    let messages = job.messages(2)?;
    let sizes = [(8, 7), (64, 10), (5000, 100), (100_000, 50), (100_000, 99_999)];
    let modes = [Mode::Standard, Mode::Synchronous];
    for ((bytes, room), mode) in sizes.into_iter().flat_map(|sizes| modes.map(|mode| (sizes, mode))) {
        if job.rank() == 0 {
            messages.set_mode(mode);
            let sent = messages.send(&vec![1u8; bytes], 1, 1);
            // A short message that nobody waits for has left before anybody could say that it does not fit.
            if bytes > EAGER_MAX || mode == Mode::Synchronous {
                assert!(matches!(sent, Err(Error::Truncated { to: 1, slot: 1, .. })), "{sent:?}");
            }
        } else {
            let mut got = vec![7u8; room];
            match messages.recv(&mut got, 0, 1) {
                Err(Error::Truncated { from: 0, to: 1, slot: 1, bytes: told }) => assert_eq!(told, bytes),
                other => panic!("expected Truncated, got {other:?}"),
            }
            assert!(got.iter().all(|byte| *byte == 7));
        }
        job.barrier()?;
    }
    // The slot still works.
    if job.rank() == 0 {
        messages.send(&[5u8], 1, 1)?;
    } else {
        messages.recv(&mut [0u8], 0, 1)?;
    }
    job.barrier()
}

fn a_slot_is_not_used_twice_at_once(job: &Job) -> Result<()> {
    let messages = job.messages(3)?;
    let peer = 1 - job.rank();
    let (data, mut first, mut second) = (vec![3u8; 50_000], vec![0u8; 50_000], [0u8; 10]);
    messages.scope(|scope| {
        // No receive is there yet, so a long send is under way until the barrier.
        let send = scope.isend(&data, peer, 2)?;
        assert!(matches!(messages.send(&[1u8], peer, 2), Err(Error::SlotBusy { rank, slot: 2 }) if rank == peer));
        assert!(matches!(scope.isend(&data, peer, 2), Err(Error::SlotBusy { .. })));
        job.barrier()?;
        let receive = scope.irecv(&mut first, peer, 2)?;
        assert!(matches!(scope.irecv(&mut second, peer, 2), Err(Error::SlotBusy { rank, slot: 2 }) if rank == peer));
        assert!(matches!(messages.recv(&mut [0u8], peer, 2), Err(Error::SlotBusy { .. })));
        scope.wait_receive(receive)?;
        scope.wait_send(send)
    })?;
    assert!(first == data);
    job.barrier()?;
    assert!(matches!(messages.send(&[1u8], 5, 0), Err(Error::NoSuchRank { .. })));
    assert!(matches!(messages.send(&[1u8], peer, 3), Err(Error::NoSuchSlot { slot: 3, slots: 3 })));
    assert!(matches!(job.messages(0), Err(Error::Invalid(_))));
    job.barrier()
}

fn an_early_receive_lets_the_send_go_without_the_receiver(job: &Job) -> Result<()> {
    let messages = job.messages(1)?;
    let done = job.symmetric::<u64>(1)?;
    if job.rank() == 1 {
        let mut got = vec![0u8; 3_000_000];
        messages.scope(|scope| {
            let receive = scope.irecv(&mut got, 0, 0)?;
            // This rank does not call the library until the send has returned.
            match job.mapped_address(done.at(0, 0)).and(job.mapped_address(done.here(0))) {
                Ok(address) => watch(address),
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
fn watch(address: *mut u64) {
    // SAFETY: a word of this rank's own symmetric memory, which stays until the job ends; others write it whole.
    let word = unsafe { AtomicU64::from_ptr(address) };
    let begin = Instant::now();
    while word.load(Ordering::Acquire) != 1 {
        assert!(begin.elapsed() < Duration::from_secs(20), "a send waits for help of its receiver");
        std::thread::yield_now();
    }
}

fn a_scope_ends_its_operations_even_after_a_panic(job: &Job) -> Result<()> {
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
fn operations_under_way_go_on_in_every_wait(job: &Job) -> Result<()> {
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

fn operations_under_way_can_be_tested(job: &Job) -> Result<()> {
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

fn prepared_transfers_of_every_size(job: &Job) -> Result<()> {
    let messages = job.messages(SIZES.len())?;
    let peer = 1 - job.rank();
    for (slot, bytes) in SIZES.into_iter().enumerate() {
        let mut send = messages.prepare_send(vec![0u8; bytes], peer, slot)?;
        let mut receive = messages.prepare_recv(vec![0u8; bytes + 1], peer, slot)?;
        for round in 0..20 {
            send.data_mut()?.copy_from_slice(&pattern(round + job.rank(), bytes));
            // Both before and after the other side's.
            if (round + job.rank()).is_multiple_of(2) {
                send.start()?;
                receive.start()?;
            } else {
                receive.start()?;
                send.start()?;
            }
            assert!(receive.wait()? == pattern(round + peer, bytes), "{bytes} bytes, round {round}");
            send.wait()?;
        }
    }
    job.barrier()
}

fn a_prepared_transfer_keeps_its_slot_and_its_buffer(job: &Job) -> Result<()> {
    let messages = job.messages(2)?;
    let busy = |result: Result<()>| assert!(matches!(result, Err(Error::SlotBusy { slot: 1, .. })), "{result:?}");
    if job.rank() == 0 {
        let mut send = messages.prepare_send(pattern(1, 100_000), 1, 1)?;
        busy(messages.send(&[1u8], 1, 1));
        send.start()?;
        busy(send.data_mut().map(drop));
        busy(send.start());
        assert!(!send.test()?);
        job.barrier()?;
        // Dropped under way: it ends first.
        drop(send);
        messages.send(&[9u8], 1, 1)?;
    } else {
        let mut receive = messages.prepare_recv(vec![0u8; 200_000], 0, 1)?;
        busy(messages.recv(&mut [0u8], 0, 1).map(drop));
        assert_eq!(receive.wait()?, [0u8; 0], "none is under way");
        job.barrier()?;
        receive.start()?;
        busy(receive.start());
        assert!(receive.wait()? == pattern(1, 100_000));
        // A receive that is given up takes nothing.
        receive.start()?;
        drop(receive);
        let mut got = [0u8];
        messages.recv(&mut got, 0, 1)?;
        assert_eq!(got, [9]);
    }
    job.barrier()
}

fn spooled_sends_survive_their_messages(job: &Job) -> Result<()> {
    let messages = job.messages(1)?;
    if job.rank() == 0 {
        messages.set_spare(1_000_000)?;
        messages.set_mode(Mode::Spool(Duration::ZERO));
        for number in 0..5 {
            messages.send(&pattern(number, 100_000), 1, 0)?;
        }
        drop(messages);
    } else {
        std::thread::sleep(Duration::from_millis(20));
        for number in 0..5 {
            let mut got = vec![0; 100_000];
            messages.recv(&mut got, 0, 0)?;
            assert!(got == pattern(number, 100_000), "message {number}");
        }
    }
    job.barrier()
}

fn buffers_handed_over_keep_their_place_in_every_mode(job: &Job) -> Result<()> {
    let messages = job.messages(2)?;
    for mode in [Mode::Standard, Mode::Synchronous, Mode::Spool(Duration::ZERO)] {
        messages.set_mode(mode);
        if job.rank() == 0 {
            // Nobody receives yet, and there is no spare buffer.
            for (number, bytes) in SIZES.into_iter().enumerate() {
                messages.send_owned(pattern(number, bytes).into(), 1, 0)?;
            }
            assert!(messages.spooled(1, 0) >= SIZES.len() - 1 && messages.spooled(1, 1) == 0);
            job.barrier()?;
            // A message of another slot goes past them, one of the same slot waits behind them.
            messages.set_mode(Mode::Standard);
            messages.send(&[1u8], 1, 1)?;
            messages.send(&[2u8], 1, 0)?;
            assert_eq!(messages.spooled(1, 0), 0);
        } else {
            job.barrier()?;
            messages.recv(&mut [0u8], 0, 1)?;
            for (number, bytes) in SIZES.into_iter().enumerate() {
                let mut got = vec![0; bytes + 1];
                assert_eq!(messages.recv(&mut got, 0, 0)?, bytes);
                assert!(got[..bytes] == pattern(number, bytes), "message {number}");
            }
            let mut last = [0u8];
            messages.recv(&mut last, 0, 0)?;
            assert_eq!(last, [2]);
        }
        job.barrier()?;
    }
    assert!(matches!(messages.send_owned(Box::new([1]), 2, 0), Err(Error::NoSuchRank { rank: 2, .. })));
    assert!(matches!(messages.send_owned(Box::new([1]), 1, 2), Err(Error::NoSuchSlot { slot: 2, .. })));
    job.barrier()
}

fn many_spooled_sends_of_many_slots(job: &Job) -> Result<()> {
    const SLOTS: usize = 7;
    const EACH: usize = 1000;
    let messages = job.messages(SLOTS)?;
    messages.set_spare(usize::MAX)?;
    messages.set_mode(Mode::Spool(Duration::ZERO));
    let peer = 1 - job.rank();
    for number in 0..EACH {
        for slot in 0..SLOTS {
            messages.send(&[number, slot, job.rank()], peer, slot)?;
        }
    }
    for slot in (0..SLOTS).rev() {
        for number in 0..EACH {
            let mut got = [0usize; 3];
            messages.recv(&mut got, peer, slot)?;
            assert_eq!(got, [number, slot, peer]);
        }
    }
    messages.settle();
    assert_eq!(messages.check_spool()?.remaining, 0);
    job.barrier()
}

fn groups_have_slots_of_their_own(job: &Job) -> Result<()> {
    let world = job.messages(1)?;
    for round in 0..3 {
        // (0, 2) and (1, 3), the higher rank first.
        let pair = job.world()?.split(Some(job.rank() as u64 % 2), -(job.rank() as i64))?.expect("all join");
        let messages = pair.messages(1)?;
        assert_eq!((messages.size(), messages.slots()), (2, 1));
        let (peer, other) = (1 - pair.rank(), pair.world_rank(1 - pair.rank()).expect("a member"));
        // The same slot number in both, received the other way round.
        world.send(&[1u8, round], other, 0)?;
        messages.send(&[2u8, round], peer, 0)?;
        let mut got = [0u8; 2];
        messages.recv(&mut got, peer, 0)?;
        assert_eq!(got, [2, round]);
        world.recv(&mut got, other, 0)?;
        assert_eq!(got, [1, round]);
        // Names are checked within the group; errors name ranks of the job.
        assert!(matches!(messages.send(&[0u8], 2, 0), Err(Error::NoSuchRank { rank: 2, size: 2 })));
        messages.send_any(&[job.rank()], peer, 0)?;
        let mut from = [0];
        assert_eq!(messages.recv_any(&mut from, 0)?, Received { rank: peer, slot: 0, len: 1 });
        assert_eq!(from, [other]);
        pair.free_messages(messages)?;
        // Different numbers of slots do not fit together, and no slots are none.
        let wrong = pair.messages(1 + pair.rank());
        assert!(matches!(wrong, Err(Error::Mismatch { .. })), "{wrong:?}");
        assert!(pair.messages(0).is_err());
        pair.free()?;
    }
    job.barrier()
}
