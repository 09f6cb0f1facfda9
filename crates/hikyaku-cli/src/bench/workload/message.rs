//! Send and receive between two ranks.
//!
//! Latency and bandwidth are both half of a round trip in which each rank sends one message and receives one, from and
//! into buffers of its own. Two words of each message say which one it is and are checked in time; all its bytes are
//! checked afterwards.

use super::{Effort, Round, check_whole};
use crate::bench::limit;
use crate::bench::plan::Kind;
use hikyaku::message::{Messages, Mode};
use hikyaku::{Block, Job, Result, Symmetric};
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::time::Duration;

/// The sizes of the latency tests.
pub const LATENCY_SIZES: [usize; 6] = [8, 16, 64, 256, 1 << 10, 4 << 10];
/// The sizes of the bandwidth tests.
pub const BANDWIDTH_SIZES: [usize; 6] = [16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20];
/// Receives that are posted ahead.
pub const POSTED: usize = 600;
/// Messages outstanding in the message rate test.
const OUTSTANDING: usize = 64;

/// The memory the tests use.
pub struct Talk<'a> {
    pub(super) job: &'a Job,
    pub(super) effort: Effort,
    pub(super) messages: Messages<'a>,
    /// Private memory to send from and to receive into.
    private: RefCell<[Vec<u64>; 2]>,
    /// Job memory for the same.
    mapped: RefCell<[Block; 2]>,
    /// Where pushes arrive, each with its flag behind it.
    pub(super) pushed: Symmetric<u64>,
    /// Makes every message another.
    stamp: Cell<u64>,
}

impl<'a> Talk<'a> {
    pub fn new(job: &'a Job, effort: Effort) -> Result<Talk<'a>> {
        let words = BANDWIDTH_SIZES.into_iter().max().unwrap_or(8) / 8;
        let mapped = RefCell::new([job.block(8 * words)?, job.block(8 * words)?]);
        let private = RefCell::new([limit::large_vector(words), limit::large_vector(words)]);
        let (messages, pushed) = (job.messages(POSTED)?, job.symmetric(words + 1)?);
        Ok(Talk { job, effort, messages, private, mapped, pushed, stamp: Cell::new(0) })
    }

    /// One repetition of everything.
    pub fn measure(&self, round: &mut Round<'_>) -> Result<()> {
        for bytes in LATENCY_SIZES {
            round.note(Kind::Send, bytes, self.latency(bytes)?);
        }
        self.messages.set_mode(Mode::Synchronous);
        round.note(Kind::SendSynchronous, 8, self.latency(8)?);
        self.messages.set_mode(Mode::Standard);
        round.note(Kind::SendPrepared, 8, self.prepared_messages()?);
        for bytes in LATENCY_SIZES.into_iter().chain(BANDWIDTH_SIZES) {
            round.note(Kind::PushPrepared, bytes, self.prepared_pushes(bytes)?);
        }
        round.note(Kind::SendCall, 8, self.calls(0)?);
        round.note(Kind::ReceiveCall, 8, self.calls(1)?);
        if self.effort.physical {
            self.phases(round)?;
        }
        round.note(Kind::SendRate, 8, self.rate()?);
        for bytes in BANDWIDTH_SIZES {
            round.note(Kind::SendBandwidth, bytes, self.private_bandwidth(bytes)?);
            round.note(Kind::SendBandwidthMapped, bytes, self.mapped_bandwidth(bytes)?);
        }
        round.note(Kind::PostedOne, 8, self.posted_one()?);
        let (gap, latency) = self.posted_many()?;
        round.note(Kind::PostGap, 8, gap);
        round.note(Kind::PostedMany, 8, latency);
        Ok(())
    }

    pub(super) fn peer(&self) -> usize {
        1 - self.job.rank()
    }

    /// So many stamps that no message has had.
    pub(super) fn stamps(&self, count: u64) -> Range<u64> {
        let first = self.stamp.get();
        self.stamp.set(first + count);
        first..first + count
    }

    /// One way, ns.
    fn latency(&self, bytes: usize) -> Result<f64> {
        let round_trips = if bytes > 64 { self.effort.long_round_trips() } else { self.effort.round_trips };
        let (mut out, mut into) = (limit::large_vector(bytes / 8), vec![0u64; bytes / 8]);
        Ok(self.ping_pong(&mut out, &mut into, round_trips)?.as_nanos() as f64 / (2 * round_trips) as f64)
    }

    /// From private memory to private memory, GB/s.
    fn private_bandwidth(&self, bytes: usize) -> Result<f64> {
        let [out, into] = &mut *self.private.borrow_mut();
        self.bandwidth(&mut out[..bytes / 8], &mut into[..bytes / 8])
    }

    /// From job memory to job memory, GB/s.
    fn mapped_bandwidth(&self, bytes: usize) -> Result<f64> {
        let blocks = &mut *self.mapped.borrow_mut();
        let [out, into] = blocks.each_mut().map(|block| &mut block.as_mut_slice::<u64>()[..bytes / 8]);
        self.bandwidth(out, into)
    }

    fn bandwidth(&self, out: &mut [u64], into: &mut [u64]) -> Result<f64> {
        let bytes = size_of_val(out);
        let round_trips = (self.effort.rounds_for(bytes) / 2).min(200) as u64;
        out.iter_mut().enumerate().for_each(|(i, word)| *word = limit::pattern(i));
        into.fill(0);
        let time = self.ping_pong(out, into, round_trips)?;
        Ok((2 * round_trips as usize * bytes) as f64 / time.as_secs_f64() / 1e9)
    }

    /// The time of so many round trips.
    fn ping_pong(&self, out: &mut [u64], into: &mut [u64], round_trips: u64) -> Result<Duration> {
        let (job, messages, peer, last) = (self.job, &self.messages, self.peer(), out.len() - 1);
        let stamps = self.stamps(round_trips);
        job.barrier()?;
        let begin = job.now();
        for stamp in stamps {
            for turn in 0..2 {
                if turn == job.rank() {
                    out[0] = stamp;
                    out[last] = stamp;
                    messages.send(out, peer, 0)?;
                } else {
                    messages.recv(into, peer, 0)?;
                    assert!(into[0] == stamp && into[last] == stamp, "a message was damaged");
                }
            }
        }
        let time = job.now() - begin;
        check_whole(into, "sent");
        job.barrier()?;
        Ok(time)
    }

    /// Rank `from` sends windows of messages; the other takes each when all of it is there. Rank 0's time per call, ns.
    fn calls(&self, from: usize) -> Result<f64> {
        const WINDOWS: u32 = 40;
        let (job, messages, peer) = (self.job, &self.messages, self.peer());
        let mut calling = Duration::ZERO;
        for _ in 0..WINDOWS {
            let stamp = self.stamp.replace(self.stamp.get() + 1) << 16;
            job.barrier()?;
            let begin = job.now();
            if job.rank() == from {
                for slot in 0..OUTSTANDING {
                    messages.send(&[stamp + slot as u64], peer, slot)?;
                }
                calling += job.now() - begin;
            }
            job.barrier()?;
            if job.rank() != from {
                let (begin, mut got) = (job.now(), [0u64]);
                for slot in 0..OUTSTANDING {
                    messages.recv(&mut got, peer, slot)?;
                    assert_eq!(got[0], stamp + slot as u64, "a message was damaged");
                }
                calling += job.now() - begin;
            }
        }
        job.barrier()?;
        Ok(calling.as_nanos() as f64 / f64::from(WINDOWS) / OUTSTANDING as f64)
    }

    /// Windows of messages of 8 bytes, each in its slot, with an answer per window: million/s.
    fn rate(&self) -> Result<f64> {
        let (job, messages, windows) = (self.job, &self.messages, self.effort.windows);
        job.barrier()?;
        let begin = job.now();
        for window in 0..windows {
            if job.rank() == 0 {
                for slot in 0..OUTSTANDING {
                    messages.send(&[window + slot as u64], 1, slot)?;
                }
                messages.recv(&mut [0u64], 1, OUTSTANDING)?;
            } else {
                let mut got = [0u64];
                for slot in 0..OUTSTANDING {
                    messages.recv(&mut got, 0, slot)?;
                    assert_eq!(got[0], window + slot as u64, "a message was damaged");
                }
                messages.send(&[window], 0, OUTSTANDING)?;
            }
        }
        let time = job.now() - begin;
        job.barrier()?;
        Ok((windows * OUTSTANDING as u64) as f64 / time.as_secs_f64() / 1e6)
    }

    /// Ping-pong in which each rank posts its one receive before it sends: one way, ns.
    fn posted_one(&self) -> Result<f64> {
        let (job, messages, peer) = (self.job, &self.messages, self.peer());
        let round_trips = self.effort.round_trips;
        job.barrier()?;
        let begin = job.now();
        for round in 0..round_trips {
            let mut got = [0u64];
            messages.scope(|scope| {
                let receive = scope.irecv(&mut got, peer, 0)?;
                if job.rank() == 0 {
                    messages.send(&[round], peer, 0)?;
                }
                scope.wait_receive(receive)
            })?;
            assert_eq!(got, [round], "a message was damaged");
            if job.rank() == 1 {
                messages.send(&[round], peer, 0)?;
            }
        }
        let time = job.now() - begin;
        job.barrier()?;
        Ok(time.as_nanos() as f64 / (2 * round_trips) as f64)
    }

    /// Both ranks post many receives, each on a slot of its own; then a ping-pong goes through the slots, the last
    /// first. Posting, ns each; one way, ns.
    fn posted_many(&self) -> Result<(f64, f64)> {
        const ROUNDS: u32 = 5;
        let (job, messages, peer) = (self.job, &self.messages, self.peer());
        let (mut posting, mut talking) = (Duration::ZERO, Duration::ZERO);
        let value = |slot: usize, rank: usize| [(self.stamp.get() << 16) + (slot << 1 | rank) as u64];
        for _ in 0..ROUNDS {
            let mut got = vec![0u64; POSTED];
            job.barrier()?;
            messages.scope(|scope| {
                let mut receives = Vec::with_capacity(POSTED);
                let begin = job.now();
                for (slot, into) in got.chunks_mut(1).enumerate() {
                    receives.push(scope.irecv(into, peer, slot)?);
                }
                posting += job.now() - begin;
                job.barrier()?;
                let begin = job.now();
                for (slot, receive) in receives.into_iter().enumerate().rev() {
                    if job.rank() == 0 {
                        messages.send(&value(slot, 0), peer, slot)?;
                    }
                    scope.wait_receive(receive)?;
                    if job.rank() == 1 {
                        messages.send(&value(slot, 1), peer, slot)?;
                    }
                }
                talking += job.now() - begin;
                Ok(())
            })?;
            let whole = got.iter().enumerate().all(|(slot, got)| *got == value(slot, peer)[0]);
            assert!(whole, "a message to a posted receive was damaged");
            job.barrier()?;
            self.stamp.set(self.stamp.get() + 1);
        }
        let each = |time: Duration| time.as_nanos() as f64 / f64::from(ROUNDS) / POSTED as f64;
        Ok((each(posting), each(talking) / 2.0))
    }
}
