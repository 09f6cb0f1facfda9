//! Messages that are matched by keys, between two ranks.

use super::turns::ping_pong;
use super::{Effort, Round};
use crate::bench::plan::Kind;
use hikyaku::matching::Matching;
use hikyaku::{Job, Result};
use std::cell::RefCell;
use std::time::Duration;

/// The sizes whose latency is measured, and those whose bandwidth is.
pub const SHORT: [usize; 4] = [8, 64, 1 << 10, 4 << 10];
pub const LONG: [usize; 3] = [16 << 10, 64 << 10, 1 << 20];
/// How many are under way.
pub const CROWDS: [usize; 3] = [1, 100, 10_000];

pub struct Matched<'a> {
    job: &'a Job,
    effort: Effort,
    matching: Matching<'a>,
    /// Private memory to send from and to receive into.
    buffers: RefCell<[Vec<u64>; 2]>,
}

impl<'a> Matched<'a> {
    pub fn new(job: &'a Job, effort: Effort) -> Result<Matched<'a>> {
        let words = LONG[LONG.len() - 1] / 8;
        let buffers = RefCell::new([vec![1; words], vec![0; words]]);
        Ok(Matched { job, effort, matching: job.matching()?, buffers })
    }

    /// One repetition of everything.
    pub fn measure(&self, round: &mut Round<'_>) -> Result<()> {
        for bytes in SHORT {
            let trips = if bytes <= 64 { self.effort.round_trips } else { self.effort.long_round_trips() };
            let time = self.ping_pong(bytes, trips)?;
            round.note(Kind::MatchedSend, bytes, time.as_nanos() as f64 / (2 * trips) as f64);
        }
        for bytes in LONG {
            let trips = (self.effort.rounds_for(bytes) / 2).clamp(1, 200) as u64;
            let time = self.ping_pong(bytes, trips)?;
            round.note(Kind::MatchedBandwidth, bytes, (2 * trips as usize * bytes) as f64 / time.as_secs_f64() / 1e9);
        }
        for count in CROWDS {
            round.note(Kind::MatchedPosted, count, self.posted(count)?);
            round.note(Kind::MatchedWaiting, count, self.waiting(count)?);
        }
        Ok(())
    }

    /// The time of so many round trips.
    fn ping_pong(&self, bytes: usize, round_trips: u64) -> Result<Duration> {
        let (matching, peer) = (&self.matching, 1 - self.job.rank());
        let send = |data: &[u64]| matching.send(data, peer, 0);
        let receive = |into: &mut [u64]| matching.recv(into, peer, 0).map(drop);
        ping_pong(self.job, &mut self.buffers.borrow_mut(), bytes, round_trips, send, receive)
    }

    /// How often a crowd is gone through.
    fn rounds(&self, count: usize) -> usize {
        (self.effort.round_trips as usize / count).clamp(1, 500)
    }

    /// Both ranks post so many receives, each with a key of its own; then a ping-pong goes through the keys, the last first. One way, ns.
    fn posted(&self, count: usize) -> Result<f64> {
        let (job, matching, peer) = (self.job, &self.matching, 1 - self.job.rank());
        let (rounds, mut time) = (self.rounds(count), Duration::ZERO);
        for _ in 0..rounds {
            let mut got = vec![u64::MAX; count];
            matching.scope(|scope| {
                let mut receives = Vec::with_capacity(count);
                for (key, into) in got.chunks_mut(1).enumerate() {
                    receives.push(scope.irecv(into, peer, key as u64)?);
                }
                job.barrier()?;
                let begin = job.now();
                for (key, receive) in receives.into_iter().enumerate().rev() {
                    if job.rank() == 0 {
                        matching.send(&[key as u64], peer, key as u64)?;
                    }
                    scope.wait_receive(receive)?;
                    if job.rank() == 1 {
                        matching.send(&[key as u64], peer, key as u64)?;
                    }
                }
                time += job.now() - begin;
                Ok(())
            })?;
            assert!(got.iter().enumerate().all(|(key, value)| *value == key as u64), "a message was damaged");
        }
        job.barrier()?;
        Ok(time.as_nanos() as f64 / (2 * rounds * count) as f64)
    }

    /// So many messages are there, which rank 0 receives, the last first. A receive, ns.
    fn waiting(&self, count: usize) -> Result<f64> {
        let (job, matching) = (self.job, &self.matching);
        let (rounds, mut time) = (self.rounds(count), Duration::ZERO);
        for _ in 0..rounds {
            if job.rank() == 1 {
                (0..count as u64).try_for_each(|key| matching.send(&[key], 0, key))?;
            } else {
                // The last one is there.
                matching.probe(1, count as u64 - 1)?;
                let begin = job.now();
                for key in (0..count as u64).rev() {
                    let mut value = [u64::MAX];
                    matching.recv(&mut value, 1, key)?;
                    assert_eq!(value, [key], "a message was damaged");
                }
                time += job.now() - begin;
            }
            job.barrier()?;
        }
        Ok(time.as_nanos() as f64 / (rounds * count) as f64)
    }
}
