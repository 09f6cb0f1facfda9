//! Remote operations between two ranks.

use super::{Effort, Round, check_whole};
use crate::bench::limit;
use crate::bench::plan::Kind;
use hikyaku::{By, Job, Result, Symmetric, Until};
use std::cell::RefCell;

/// Entries of the ring in the message rate test.
const RING: usize = 1024;
/// The sizes of the bandwidth tests.
pub const BANDWIDTH_SIZES: [usize; 8] = [8, 64, 512, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20];

const PING: u16 = 1;
const PONG: u16 = 2;
const NULL: u16 = 3;

/// The memory the tests use.
pub struct Remote<'a> {
    job: &'a Job,
    effort: Effort,
    /// Words of the flag tests; data and flag of a small push share a line.
    flags: Symmetric<u64>,
    ring: Symmetric<u64>,
    bulk: Symmetric<u64>,
    own: Vec<u64>,
    /// Where bulk data are read into.
    into: RefCell<Vec<u64>>,
}

impl<'a> Remote<'a> {
    pub fn new(job: &'a Job, effort: Effort) -> Result<Remote<'a>> {
        job.register_handler(PING, |context, message| {
            let _ = context.send(message.source, PONG, message.address, message.arguments, &[]);
        })?;
        job.register_handler(PONG, |_, message| {
            assert_eq!(message.arguments, [1, 2, 3, 4, 5, message.address], "a message was damaged");
        })?;
        job.register_handler(NULL, |context, message| {
            let _ = context.reply(message.arguments);
        })?;
        let words = BANDWIDTH_SIZES.into_iter().max().unwrap_or(8) / 8;
        let (own, into) = (limit::large_vector(words), RefCell::new(limit::large_vector(words)));
        let (flags, ring, bulk) = (job.symmetric(4096)?, job.symmetric(2 * RING + 16)?, job.symmetric(words)?);
        job.barrier()?;
        Ok(Remote { job, effort, flags, ring, bulk, own, into })
    }

    /// One repetition of everything.
    pub fn measure(&self, round: &mut Round<'_>) -> Result<()> {
        round.note(Kind::Word, 8, self.word()?);
        round.note(Kind::PushFlag, 8, self.push_flag(1)?);
        round.note(Kind::PushFlag, 4096, self.push_flag(512)?);
        round.note(Kind::ActiveMessage, 48, self.active_message()?);
        round.note(Kind::Call, 48, self.call()?);
        round.note(Kind::NullCall, 0, self.null_call()?);
        round.note(Kind::Pull, 8, self.pull()?);
        round.note(Kind::FetchAdd, 8, self.fetch_add()?);
        round.note(Kind::Rate, 8, self.rate()?);
        for bytes in BANDWIDTH_SIZES {
            round.note(Kind::Push, bytes, self.push_bandwidth(bytes)?);
            round.note(Kind::PullBandwidth, bytes, self.pull_bandwidth(bytes)?);
        }
        Ok(())
    }

    fn peer(&self) -> usize {
        1 - self.job.rank()
    }

    /// Ping-pong of a word that is its own flag: half of the round trip, ns.
    fn word(&self) -> Result<f64> {
        let (job, area, peer, round_trips) = (self.job, &self.flags, self.peer(), self.effort.round_trips);
        area.set(128, 0);
        job.barrier()?;
        let begin = job.now();
        for round in 1..=round_trips {
            for turn in 0..2 {
                if turn == job.rank() {
                    job.word(area.at(peer, 128), round)?;
                } else {
                    job.wait_from(By::Rank(peer), area.here(128), Until::Equal(round))?;
                }
            }
        }
        let time = job.now() - begin;
        job.barrier()?;
        Ok(time.as_nanos() as f64 / (2 * round_trips) as f64)
    }

    /// Ping-pong of `words` words and a flag behind them: half of the round trip, ns.
    fn push_flag(&self, words: usize) -> Result<f64> {
        let (job, area, peer) = (self.job, &self.flags, self.peer());
        let round_trips = if words > 8 { self.effort.long_round_trips() } else { self.effort.round_trips };
        let mut data = limit::large_vector(words);
        let mut got = vec![0u64; words];
        area.set(words, 0);
        job.barrier()?;
        let begin = job.now();
        for round in 1..=round_trips {
            for turn in 0..2 {
                if turn == job.rank() {
                    data[0] = round;
                    data[words - 1] = round;
                    job.push_notify(area.at(peer, 0), &data, area.at(peer, words), round)?;
                } else {
                    job.wait_from(By::Rank(peer), area.here(words), Until::Equal(round))?;
                    area.read(0, &mut got);
                    assert!(got[0] == round && got[words - 1] == round, "data after its flag");
                }
            }
        }
        let time = job.now() - begin;
        check_whole(&got, "pushed");
        job.barrier()?;
        Ok(time.as_nanos() as f64 / (2 * round_trips) as f64)
    }

    /// Six words to a handler, which sends them back to another: half of the round trip, ns.
    fn active_message(&self) -> Result<f64> {
        let (job, round_trips) = (self.job, self.effort.round_trips);
        let pings = job.handled(PING);
        let pongs = job.handled(PONG);
        job.barrier()?;
        let begin = job.now();
        if job.rank() == 0 {
            for round in 1..=round_trips {
                job.send(1, PING, round, [1, 2, 3, 4, 5, round], &[])?;
                job.wait_handled(By::Rank(1), PONG, pongs + round)?;
            }
        } else {
            job.wait_handled(By::Rank(0), PING, pings + round_trips)?;
        }
        let time = job.now() - begin;
        job.barrier()?;
        Ok(time.as_nanos() as f64 / (2 * round_trips) as f64)
    }

    /// A call with its reply: the whole round trip, ns.
    fn call(&self) -> Result<f64> {
        self.calls(1)
    }

    /// A call to this rank's own network interface, ns.
    fn null_call(&self) -> Result<f64> {
        self.calls(0)
    }

    fn calls(&self, target: usize) -> Result<f64> {
        let (job, round_trips) = (self.job, self.effort.round_trips);
        let before = job.handled(NULL);
        job.barrier()?;
        let begin = job.now();
        if job.rank() == 0 {
            for round in 0..round_trips {
                let reply = job.call(target, NULL, [round; 6], &[])?;
                assert_eq!(reply, [round; 6], "a reply was damaged");
            }
        } else if target == 1 {
            job.wait_handled(By::Rank(0), NULL, before + round_trips)?;
        }
        let time = job.now() - begin;
        job.barrier()?;
        Ok(time.as_nanos() as f64 / round_trips as f64)
    }

    /// Reads of 8 bytes, ns each.
    fn pull(&self) -> Result<f64> {
        self.flags.set(0, 4711 + self.job.rank() as u64);
        self.one_sided(|bench| {
            let mut sum = 0;
            for _ in 0..bench.effort.operations {
                sum += bench.job.pull_one(bench.flags.at(1, 0))?;
            }
            assert_eq!(sum, bench.effort.operations * 4712, "what was read");
            Ok(())
        })
    }

    /// Additions to a peer's word, ns each.
    fn fetch_add(&self) -> Result<f64> {
        self.flags.set(0, 0);
        let time = self.one_sided(|bench| {
            for count in 0..bench.effort.operations {
                assert_eq!(bench.job.fetch_add(bench.flags.at(1, 0), 1)?, count, "the value from before");
            }
            Ok(())
        })?;
        assert!(self.job.rank() == 0 || self.flags.get(0) == self.effort.operations, "the sum");
        Ok(time)
    }

    fn one_sided(&self, work: impl Fn(&Remote<'_>) -> Result<()>) -> Result<f64> {
        let job = self.job;
        job.barrier()?;
        let begin = job.now();
        if job.rank() == 0 {
            work(self)?;
        }
        let time = job.now() - begin;
        job.barrier()?;
        Ok(time.as_nanos() as f64 / self.effort.operations as f64)
    }

    /// Words with a notification each into a ring that the peer empties, million/s.
    fn rate(&self) -> Result<f64> {
        /// The peer tells how far it is once per so many entries.
        const CREDIT: u64 = RING as u64 / 4;
        let (job, ring, count) = (self.job, &self.ring, self.effort.ring_entries);
        let credit = 2 * RING + 8;
        for entry in 0..RING {
            ring.write(2 * entry, &[0, 0]);
        }
        ring.set(credit, 0);
        job.barrier()?;
        let begin = job.now();
        if job.rank() == 0 {
            let mut room = RING as u64;
            for number in 1..=count {
                if number > room {
                    let consumed =
                        job.wait_from(By::Rank(1), ring.here(credit), Until::AtLeast(number - RING as u64))?;
                    room = consumed + RING as u64;
                }
                let entry = 2 * ((number - 1) % RING as u64) as usize;
                job.push_notify(ring.at(1, entry), &[number * 3], ring.at(1, entry + 1), number)?;
            }
            job.wait_from(By::Rank(1), ring.here(credit), Until::AtLeast(count))?;
        } else {
            for number in 1..=count {
                let entry = 2 * ((number - 1) % RING as u64) as usize;
                job.wait_from(By::Rank(0), ring.here(entry + 1), Until::Equal(number))?;
                assert_eq!(ring.get(entry), number * 3, "an entry was damaged");
                if number % CREDIT == 0 || number == count {
                    job.word(ring.at(0, credit), number)?;
                }
            }
        }
        let time = job.now() - begin;
        job.barrier()?;
        Ok(count as f64 / time.as_secs_f64() / 1e6)
    }

    /// Pushes of one size, GB/s.
    fn push_bandwidth(&self, bytes: usize) -> Result<f64> {
        let words = bytes / 8;
        let rounds = self.effort.rounds_for(bytes);
        if self.job.rank() == 1 {
            // What earlier ones left there.
            self.bulk.write(0, &vec![0; words]);
        }
        let time = self.timed(|bench| {
            for _ in 0..rounds {
                bench.job.push(bench.bulk.at(1, 0), &bench.own[..words])?;
            }
            bench.job.flush(1)
        })?;
        if self.job.rank() == 1 {
            let got = &mut self.into.borrow_mut()[..words];
            self.bulk.read(0, got);
            assert!(*got == self.own[..words], "pushed bytes of size {bytes}");
        }
        self.job.barrier()?;
        Ok((bytes * rounds) as f64 / time / 1e9)
    }

    /// Pulls of one size, GB/s.
    fn pull_bandwidth(&self, bytes: usize) -> Result<f64> {
        let words = bytes / 8;
        let rounds = self.effort.rounds_for(bytes);
        if self.job.rank() == 1 {
            self.bulk.write(0, &self.own[..words]);
        }
        let into = &mut self.into.borrow_mut()[..words];
        into.fill(0);
        let time = self.timed(|bench| {
            for _ in 0..rounds {
                bench.job.pull(bench.bulk.at(1, 0), into)?;
            }
            Ok(())
        })?;
        assert!(self.job.rank() == 1 || *into == self.own[..words], "pulled bytes of size {bytes}");
        Ok((bytes * rounds) as f64 / time / 1e9)
    }

    /// Seconds that rank 0 needs for `work`; rank 1 waits meanwhile.
    fn timed(&self, work: impl FnOnce(&Remote<'_>) -> Result<()>) -> Result<f64> {
        let job = self.job;
        job.barrier()?;
        let begin = job.now();
        if job.rank() == 0 {
            work(self)?;
        }
        let time = (job.now() - begin).as_secs_f64();
        job.barrier()?;
        Ok(time)
    }
}
