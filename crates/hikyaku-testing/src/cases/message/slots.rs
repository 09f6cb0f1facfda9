//! What a slot promises: every size in every mode, room, one message at a time, and slots of groups.

use super::{SIZES, pattern};
use hikyaku::message::{EAGER_MAX, Mode, Received};
use hikyaku::{Error, Job, Result};
use std::time::Duration;

pub fn every_size_arrives_in_every_mode(job: &Job) -> Result<()> {
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

pub fn a_rank_sends_to_itself(job: &Job) -> Result<()> {
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

/// Long ones may be read in place while they are sent, and sent again.
pub fn a_buffer_is_its_owners_again_when_its_send_returns(job: &Job) -> Result<()> {
    let messages = job.messages(1)?;
    let bytes = 400_000;
    let mut buffer = vec![0; bytes];
    for number in 0..8u8 {
        if job.rank() == 0 {
            buffer.copy_from_slice(&pattern(number.into(), bytes));
            messages.send(&buffer, 1, 0)?;
            buffer.fill(0xee);
        } else {
            assert_eq!(messages.recv(&mut buffer, 0, 0)?, bytes);
            assert!(buffer == pattern(number.into(), bytes), "message {number} was changed after its send");
        }
    }
    job.barrier()
}

pub fn a_synchronous_send_waits_for_its_receive(job: &Job) -> Result<()> {
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

pub fn a_message_that_does_not_fit_is_an_error_and_writes_nothing(job: &Job) -> Result<()> {
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
    // The same where the receive was started before; what it came to is told when it is asked for, and only then.
    messages.set_mode(Mode::Standard);
    for ((bytes, room), at_once) in sizes.into_iter().flat_map(|sizes| [true, false].map(|at_once| (sizes, at_once))) {
        let mut got = vec![7u8; room];
        if job.rank() == 0 {
            job.barrier()?;
            let sent = messages.send(&vec![1u8; bytes], 1, 1);
            assert!(bytes <= EAGER_MAX || matches!(sent, Err(Error::Truncated { .. })), "{sent:?}");
            // Rank 1 waits for this with the receive still under way.
            messages.send(&[1u8], 1, 0)?;
        } else {
            let received = messages.scope(|scope| {
                let receive = scope.irecv(&mut got, 0, 1)?;
                job.barrier()?;
                if at_once {
                    return scope.wait_receive(receive).map(drop);
                }
                messages.recv(&mut [0u8], 0, 0)?;
                scope.wait_receive(receive).map(drop)
            });
            assert!(matches!(received, Err(Error::Truncated { from: 0, slot: 1, .. })), "{received:?}");
            assert!(got.iter().all(|byte| *byte == 7));
            if at_once {
                messages.recv(&mut [0u8], 0, 0)?;
            }
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

pub fn a_slot_is_not_used_twice_at_once(job: &Job) -> Result<()> {
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

pub fn groups_have_slots_of_their_own(job: &Job) -> Result<()> {
    let world = job.messages(1)?;
    for round in 0..3 {
        // (0, 2) and (1, 3), the higher rank first.
        let pair = job.new_world()?.split(Some(job.rank() as u64 % 2), -(job.rank() as i64))?.expect("all join");
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
