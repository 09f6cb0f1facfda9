//! Elements without a size travel as messages without bytes, which leave nothing to count.

use hikyaku::message::{Mode, Received};
use hikyaku::{Job, Result};
use std::time::Duration;

const NOTHING: [(); 3] = [(); 3];

pub fn in_every_mode(job: &Job) -> Result<()> {
    let messages = job.messages(1)?;
    messages.set_spare(100)?;
    for mode in [Mode::Standard, Mode::Synchronous, Mode::Spool(Duration::ZERO)] {
        messages.set_mode(mode);
        for _ in 0..3 {
            if job.rank() == 0 {
                messages.send(&NOTHING, 1, 0)?;
            } else {
                assert_eq!(messages.recv(&mut [(); 5], 0, 0)?, 0);
            }
        }
        messages.settle();
    }
    job.barrier()
}

pub fn from_anywhere(job: &Job) -> Result<()> {
    let messages = job.messages(2)?;
    if job.rank() == 0 {
        messages.send_any(&NOTHING, 1, 0)?;
        messages.send(&NOTHING, 1, 1)?;
    } else {
        assert_eq!(messages.recv_any(&mut [(); 5], 0)?, Received { rank: 0, slot: 0, len: 0 });
        assert_eq!(messages.recv_any_slot(&mut [(); 5], 0)?, Received { rank: 0, slot: 1, len: 0 });
    }
    job.barrier()
}

pub fn under_way(job: &Job) -> Result<()> {
    let messages = job.messages(1)?;
    let mut into = NOTHING;
    messages.scope(|scope| {
        if job.rank() == 0 {
            scope.wait_send(scope.isend(&NOTHING, 1, 0)?)
        } else {
            let received = scope.wait_receive(scope.irecv(&mut into, 0, 0)?)?;
            assert_eq!(received, 0);
            Ok(())
        }
    })?;
    job.barrier()
}

pub fn prepared(job: &Job) -> Result<()> {
    let messages = job.messages(1)?;
    if job.rank() == 0 {
        let mut send = messages.prepare_send(NOTHING, 1, 0)?;
        for _ in 0..3 {
            send.start()?;
            send.wait()?;
        }
    } else {
        let mut receive = messages.prepare_recv(NOTHING, 0, 0)?;
        for _ in 0..3 {
            receive.start()?;
            assert_eq!(receive.wait()?.len(), 0);
        }
    }
    job.barrier()
}
