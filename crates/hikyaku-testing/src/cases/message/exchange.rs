//! Sending and receiving at once, looking at what has come, and receives with a deadline.

use super::{SIZES, pattern};
use hikyaku::message::EAGER_MAX;
use hikyaku::{Error, Job, Result};
use std::time::Duration;

const SOON: Duration = Duration::from_micros(50);
const LONG: Duration = Duration::from_secs(600);

/// Everyone sends to the next and receives from the one before, however long the messages are.
pub fn all_send_and_receive_in_a_circle(job: &Job) -> Result<()> {
    let messages = job.messages(2)?;
    let (rank, size) = (job.rank(), job.size());
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
    for bytes in SIZES {
        let mut into = vec![0; bytes + 1];
        let came = messages.sendrecv(&pattern(rank, bytes), next, 0, &mut into, before, 0)?;
        assert!(came == bytes && into[..bytes] == pattern(before, bytes), "{bytes} bytes");
        let mut data = pattern(rank, bytes);
        assert_eq!(messages.sendrecv_replace(&mut data, before, 1, next, 1)?, bytes);
        assert!(data == pattern(next, bytes), "{bytes} bytes in place");
        // To oneself.
        messages.sendrecv_replace(&mut data, rank, 0, rank, 0)?;
        assert!(data == pattern(next, bytes), "{bytes} bytes to oneself");
    }
    job.barrier()
}

/// Nothing is left under way by a call that is refused, and nobody is waited for.
pub fn a_wrong_exchange_is_refused(job: &Job) -> Result<()> {
    let messages = job.messages(2)?;
    let (peer, mut into) = (1 - job.rank(), vec![0u8; 20_000]);
    let data = into.clone();
    let no_rank = messages.sendrecv(&data, 9, 0, &mut into, peer, 0);
    assert!(matches!(no_rank, Err(Error::NoSuchRank { rank: 9, .. })), "{no_rank:?}");
    let no_slot = messages.sendrecv(&data, peer, 0, &mut into, peer, 2);
    assert!(matches!(no_slot, Err(Error::NoSuchSlot { slot: 2, .. })), "{no_slot:?}");
    messages.scope(|scope| {
        let send = scope.isend(&data, peer, 0)?;
        let busy = messages.sendrecv(&data, peer, 0, &mut into, peer, 1);
        assert!(matches!(busy, Err(Error::SlotBusy { .. })), "{busy:?}");
        // A peer that receives would free the slot.
        job.barrier()?;
        assert_eq!(messages.recv(&mut into, peer, 0)?, 20_000);
        scope.wait_send(send)
    })?;
    // One that does not fit is not written, and the send has gone all the same.
    let short = messages.sendrecv(&data[..9], peer, 0, &mut into[..8], peer, 0);
    assert!(matches!(short, Err(Error::Truncated { .. })), "{short:?}");
    assert!(messages.is_idle());
    assert_eq!(messages.sendrecv(&data, peer, 1, &mut into, peer, 1)?, 20_000);
    job.barrier()
}

pub fn a_message_is_probed(job: &Job) -> Result<()> {
    let messages = job.messages(2)?;
    let peer = 1 - job.rank();
    for bytes in SIZES {
        if job.rank() == 0 {
            messages.send(&pattern(1, bytes), 1, 1)?;
            messages.recv(&mut [0u8], 1, 0)?;
        } else {
            assert_eq!(messages.try_probe(0, 0)?, None);
            assert_eq!(messages.probe(0, 1)?, bytes);
            // It stays.
            assert_eq!((messages.try_probe(0, 1)?, messages.probe_for(0, 1, LONG)?), (Some(bytes), bytes));
            let mut data = vec![0; bytes];
            assert_eq!(messages.recv(&mut data, 0, 1)?, bytes);
            assert!(data == pattern(1, bytes), "{bytes} bytes");
            assert!(matches!(messages.probe_for(0, 1, SOON), Err(Error::Timeout { .. })));
            messages.send(&[1u8], 0, 0)?;
        }
    }
    // Of those that wait behind others, the first.
    if job.rank() == 0 {
        (1..5).try_for_each(|bytes| messages.send_owned(vec![9; bytes].into(), 1, 0))?;
    } else {
        for bytes in 1..5 {
            assert_eq!(messages.probe(0, 0)?, bytes);
            messages.recv(&mut [0u8; 8], 0, 0)?;
        }
    }
    assert!(matches!(messages.probe(9, 0), Err(Error::NoSuchRank { .. })));
    assert!(matches!(messages.try_probe(peer, 9), Err(Error::NoSuchSlot { .. })));
    job.barrier()
}

/// Messages come once and in order, wherever the receiver gives up.
pub fn receives_give_up_and_lose_nothing(job: &Job) -> Result<()> {
    const TURNS: usize = 120;
    let bytes = |turn: usize| [4, 60, 3000, EAGER_MAX + 1, 70_000][turn % 5];
    let messages = job.messages(1)?;
    for turn in 0..TURNS {
        if job.rank() == 0 {
            messages.send(&pattern(turn, bytes(turn)), 1, 0)?;
            continue;
        }
        let (mut late, mut buffer) = (0u32, vec![0; 70_000]);
        let came = loop {
            // Another buffer each time: what was given up is not written to.
            let mut into = vec![0; 70_000];
            match messages.recv_for(&mut into, 0, 0, SOON * (late % 7)) {
                Ok(came) => {
                    buffer = into;
                    break came;
                }
                Err(Error::Timeout { .. }) => late += 1,
                Err(error) => return Err(error),
            }
            if late > 20 {
                break messages.recv(&mut buffer, 0, 0)?;
            }
        };
        assert!(came == bytes(turn) && buffer[..came] == pattern(turn, came), "turn {turn}");
    }
    assert!(messages.is_idle());
    job.barrier()
}

/// What is under way stays so.
pub fn waits_for_operations_under_way_give_up(job: &Job) -> Result<()> {
    let (messages, peer) = (job.messages(1)?, 1 - job.rank());
    for bytes in [8, EAGER_MAX, EAGER_MAX + 1, 100_000] {
        let (data, mut into) = (pattern(job.rank(), bytes), vec![0; bytes]);
        messages.scope(|scope| {
            let receive = scope.irecv(&mut into, peer, 0)?;
            let receive = scope.wait_receive_for(receive, SOON)?.expect_err("nobody has sent");
            job.barrier()?;
            let mut send = scope.isend(&data, peer, 0)?;
            while let Err(back) = scope.wait_send_for(send, SOON)? {
                send = back;
            }
            assert_eq!(scope.wait_receive_for(receive, LONG)?.expect("it has come"), bytes);
            Ok(())
        })?;
        assert!(into == pattern(peer, bytes), "{bytes} bytes");
        job.barrier()?;
    }
    Ok(())
}
