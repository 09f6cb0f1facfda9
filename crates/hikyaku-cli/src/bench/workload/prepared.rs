//! Transfers that are set up once and started many times, between two ranks.

use super::check_whole;
use super::message::Talk;
use crate::bench::limit;
use hikyaku::{By, Result, Until};

impl Talk<'_> {
    /// Ping-pong of 8 bytes by a prepared send and a prepared receive on each side: one way, ns.
    pub(super) fn prepared_messages(&self) -> Result<f64> {
        let (job, peer, round_trips) = (self.job, self.peer(), self.effort.round_trips);
        let mut send = self.messages.prepare_send(vec![0u64], peer, 0)?;
        let mut receive = self.messages.prepare_recv(vec![0u64], peer, 0)?;
        let stamps = self.stamps(round_trips);
        job.barrier()?;
        let begin = job.now();
        for stamp in stamps {
            receive.start()?;
            for turn in 0..2 {
                if turn == job.rank() {
                    send.data_mut()?[0] = stamp;
                    send.start()?;
                    send.wait()?;
                } else {
                    assert_eq!(receive.wait()?, [stamp], "a prepared message was damaged");
                }
            }
        }
        let time = job.now() - begin;
        job.barrier()?;
        Ok(time.as_nanos() as f64 / (2 * round_trips) as f64)
    }

    /// Ping-pong of prepared pushes, whose data are used where they arrive: one way, ns.
    pub(super) fn prepared_pushes(&self, bytes: usize) -> Result<f64> {
        let (job, area, peer, words) = (self.job, &self.pushed, self.peer(), bytes / 8);
        let round_trips = (self.effort.rounds_for(bytes) as u64 / 2).min(self.effort.round_trips);
        let mut push = job.prepare_push(area.at(peer, 0), limit::large_vector(words), Some(area.at(peer, words)))?;
        area.set(words, 0);
        job.barrier()?;
        let begin = job.now();
        for round in 1..=round_trips {
            for turn in 0..2 {
                if turn == job.rank() {
                    push.data_mut()[0] = round;
                    push.data_mut()[words - 1] = round;
                    push.start()?;
                } else {
                    job.wait_from(By::Rank(peer), area.here(words), Until::Equal(round))?;
                    assert!(area.get(0) == round && area.get(words - 1) == round, "data after its flag");
                }
            }
        }
        let time = job.now() - begin;
        let mut got = vec![0; words];
        area.read(0, &mut got);
        check_whole(&got, "pushed");
        job.barrier()?;
        Ok(time.as_nanos() as f64 / (2 * round_trips) as f64)
    }
}
