//! Many send to one that takes messages from anyone, and a sender is killed while it fills a bounce buffer: the messages
//! of the others keep coming, whole and in order.

use super::{Ready, SLOT, check, content, die_after, mortal, now_ns};
use hikyaku::{Error, Job, Result};
use std::time::Duration;

/// Messages of every sender that lives.
const COUNT: usize = 300;

/// Most fill a bounce buffer, some are copied by both sides.
fn bytes_of(round: usize) -> usize {
    if round % 5 == 4 { 100_000 } else { 8000 }
}

pub fn send_to_one(job: &Job, ready: &Ready<'_>, life: Duration) -> Result<()> {
    let start = job.barrier();
    if job.rank() == mortal(job) {
        die_after(life);
    }
    match start {
        Ok(()) => {}
        Err(Error::PeerDead { rank }) if rank == mortal(job) => {}
        Err(other) => return Err(other),
    }
    let rank = job.rank();
    let send = |round| ready.messages.send_any(&content(rank, round, bytes_of(round)), 0, SLOT);
    match rank {
        0 => receive(job, ready)?,
        _ if rank == mortal(job) => (0..).try_for_each(send)?,
        _ => (0..COUNT).try_for_each(send)?,
    }
    println!("went on");
    Ok(())
}

fn receive(job: &Job, ready: &Ready<'_>) -> Result<()> {
    let mut rounds = vec![0; job.size()];
    let mut got = vec![0; 100_000];
    let mut is_told = false;
    // Until the death is known, so that it is learned here whenever it comes.
    while !is_told || (1..mortal(job)).any(|rank| rounds[rank] < COUNT) {
        match ready.messages.recv_any(&mut got, SLOT) {
            Ok(received) => {
                let round = &mut rounds[received.rank];
                assert_eq!(received.len, bytes_of(*round));
                check(&got[..received.len], received.rank, *round);
                *round += 1;
            }
            Err(Error::PeerDead { rank }) if rank == mortal(job) && !is_told => {
                println!("learned {}", now_ns());
                is_told = true;
            }
            Err(other) => return Err(other),
        }
    }
    Ok(())
}
