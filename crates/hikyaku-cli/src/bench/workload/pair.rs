//! Two ranks on two hosts: what is measured alike whichever transport is between them.

use super::limit;
use hikyaku::message::Messages;
use hikyaku::{By, Job, Result, Symmetric, Until};
use std::time::{Duration, Instant};

/// Each test is run once in each, so that a slow moment of the machine hits all alike. They are many and short: where others
/// use the machine too, some are left undisturbed.
pub const REPETITIONS: usize = 15;
pub const ROUND_TRIPS: u64 = 1_000;
/// Round trips of long messages.
pub const LONG_ROUND_TRIPS: u64 = 12;
pub const LONG: usize = 1 << 20;
/// Pushes to a rank that computes, and how far apart.
pub const LANDINGS: usize = 12;
pub const PAUSE: Duration = Duration::from_millis(3);
/// How long a rank waits for nothing.
const IDLE: Duration = Duration::from_secs(1);

/// What the tests use.
pub struct Pair<'a> {
    pub job: &'a Job,
    pub words: Symmetric<u64>,
    messages: Messages<'a>,
    /// To send from and to receive into.
    private: [Vec<u64>; 2],
}

impl<'a> Pair<'a> {
    pub fn new(job: &'a Job) -> Result<Pair<'a>> {
        let private = [limit::large_vector(LONG / 8), limit::large_vector(LONG / 8)];
        Ok(Pair { job, words: job.symmetric(64)?, messages: job.messages(4)?, private })
    }

    pub fn peer(&self) -> usize {
        1 - self.job.rank()
    }

    /// A message of 8 bytes, one way, ns.
    pub fn send_short(&mut self) -> Result<f64> {
        Ok(self.send(1, ROUND_TRIPS)?.as_nanos() as f64 / (2 * ROUND_TRIPS) as f64)
    }

    /// Long messages, GB/s.
    pub fn send_long(&mut self) -> Result<f64> {
        Ok(bandwidth(self.send(LONG / 8, LONG_ROUND_TRIPS)?))
    }

    /// Ping-pong of a word of data and a flag: half of the round trip, ns.
    pub fn push(&self) -> Result<f64> {
        let (job, area, peer) = (self.job, &self.words, self.peer());
        area.set(1, 0);
        job.barrier()?;
        let begin = Instant::now();
        for round in 1..=ROUND_TRIPS {
            for turn in 0..2 {
                if turn == job.rank() {
                    job.push_notify(area.at(peer, 0), &[round * 3], area.at(peer, 1), round)?;
                } else {
                    job.wait_from(By::Rank(peer), area.here(1), Until::Equal(round))?;
                    assert_eq!(area.get(0), round * 3, "data after its flag");
                }
            }
        }
        let time = begin.elapsed();
        job.barrier()?;
        Ok(time.as_nanos() as f64 / (2 * ROUND_TRIPS) as f64)
    }

    /// Ping-pong of long pushes from private memory, each with a word, GB/s.
    pub fn push_long(&self, area: &Symmetric<u64>) -> Result<f64> {
        let (job, words, peer, data) = (self.job, &self.words, self.peer(), &self.private[0]);
        words.set(1, 0);
        job.barrier()?;
        let begin = Instant::now();
        for round in 1..=LONG_ROUND_TRIPS {
            for turn in 0..2 {
                if turn == job.rank() {
                    job.push_notify(area.at(peer, 0), data, words.at(peer, 1), round)?;
                } else {
                    job.wait_from(By::Rank(peer), words.here(1), Until::Equal(round))?;
                }
            }
        }
        let time = begin.elapsed();
        assert_eq!(area.get(LONG / 8 - 1), data[LONG / 8 - 1], "all of it");
        job.barrier()?;
        Ok(bandwidth(time))
    }

    /// The time of so many round trips of a message from and to private memory.
    fn send(&mut self, words: usize, round_trips: u64) -> Result<Duration> {
        let (job, peer) = (self.job, self.peer());
        let [out, into] = self.private.each_mut().map(|private| &mut private[..words]);
        job.barrier()?;
        let begin = Instant::now();
        for round in 1..=round_trips {
            out[0] = round;
            if job.rank() == 0 {
                self.messages.send(out, peer, 0)?;
                self.messages.recv(into, peer, 0)?;
            } else {
                self.messages.recv(into, peer, 0)?;
                self.messages.send(out, peer, 0)?;
            }
            assert_eq!(into[0], round, "messages in order");
        }
        let time = begin.elapsed();
        super::check_whole(into, "received");
        job.barrier()?;
        Ok(time)
    }

    /// Pushes to rank 1, which calls nothing of the library until it sees them: from each push to the answer, us.
    pub fn landing(&self) -> Result<Vec<f64>> {
        let (job, area, peer) = (self.job, &self.words, self.peer());
        area.set(1, 0);
        job.barrier()?;
        let mut times = Vec::new();
        for round in 1..=LANDINGS as u64 {
            if job.rank() == 0 {
                std::thread::sleep(PAUSE);
                let begin = Instant::now();
                job.push_notify(area.at(peer, 0), &[round * 3], area.at(peer, 1), round)?;
                job.wait_from(By::Rank(peer), area.here(1), Until::Equal(round))?;
                times.push(begin.elapsed().as_nanos() as f64 / 1e3);
            } else {
                while area.get(1) != round {
                    std::hint::spin_loop();
                }
                assert_eq!(area.get(0), round * 3, "data after its flag");
                job.word(area.at(peer, 1), round)?;
            }
        }
        job.barrier()?;
        Ok(times)
    }

    /// What rank 0 takes of its core while it waits, %.
    pub fn idle(&self) -> Result<f64> {
        let (job, area, peer) = (self.job, &self.words, self.peer());
        area.set(1, 0);
        job.barrier()?;
        if job.rank() == 1 {
            std::thread::sleep(IDLE);
            job.word(area.at(peer, 1), 1)?;
            job.barrier()?;
            return Ok(0.0);
        }
        let (begin, before) = (Instant::now(), processor_time());
        job.wait_from(By::Rank(peer), area.here(1), Until::Equal(1))?;
        let share = (processor_time() - before).as_secs_f64() / begin.elapsed().as_secs_f64();
        job.barrier()?;
        Ok(share * 100.0)
    }
}

/// Of long round trips, GB/s.
fn bandwidth(time: Duration) -> f64 {
    (2 * LONG as u64 * LONG_ROUND_TRIPS) as f64 / time.as_secs_f64() / 1e9
}

/// What all threads of this process have taken.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
