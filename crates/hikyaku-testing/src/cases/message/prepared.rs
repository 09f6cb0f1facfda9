//! Transfers that are set up once.

use super::{SIZES, pattern};
use hikyaku::{Error, Job, Result};

pub fn prepared_transfers_of_every_size(job: &Job) -> Result<()> {
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

pub fn a_prepared_transfer_keeps_its_slot_and_its_buffer(job: &Job) -> Result<()> {
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
