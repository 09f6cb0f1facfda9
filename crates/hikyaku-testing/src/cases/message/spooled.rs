//! Sends that go on by themselves: from the spare buffer, and from buffers that were handed over.

use super::{SIZES, pattern};
use hikyaku::message::Mode;
use hikyaku::{Error, Job, Result};
use std::time::Duration;

pub fn buffered_sends_return_at_once_and_leave_by_themselves(job: &Job) -> Result<()> {
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

pub fn a_send_is_spooled_when_its_time_is_over(job: &Job) -> Result<()> {
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

pub fn a_full_spare_buffer_makes_sends_wait_and_loses_nothing(job: &Job) -> Result<()> {
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

pub fn spooled_sends_survive_their_messages(job: &Job) -> Result<()> {
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

pub fn buffers_handed_over_keep_their_place_in_every_mode(job: &Job) -> Result<()> {
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

pub fn many_spooled_sends_of_many_slots(job: &Job) -> Result<()> {
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
