//! Messages there and back, by whatever sends and receives them.

use hikyaku::{Job, Result};
use std::time::Duration;

/// The time of so many round trips of a message of so many bytes, sent from one buffer and received into the other. Its first and its last
/// word tell the round.
pub fn ping_pong(
    job: &Job,
    [out, into]: &mut [Vec<u64>; 2],
    bytes: usize,
    round_trips: u64,
    send: impl Fn(&[u64]) -> Result<()>,
    receive: impl Fn(&mut [u64]) -> Result<()>,
) -> Result<Duration> {
    let last = bytes / 8 - 1;
    let (out, into) = (&mut out[..=last], &mut into[..=last]);
    job.barrier()?;
    let begin = job.now();
    for stamp in 1..=round_trips {
        for turn in 0..2 {
            if turn == job.rank() {
                (out[0], out[last]) = (stamp, stamp);
                send(out)?;
            } else {
                receive(into)?;
                assert!(into[0] == stamp && into[last] == stamp, "a message was damaged");
            }
        }
    }
    let time = job.now() - begin;
    job.barrier()?;
    Ok(time)
}
