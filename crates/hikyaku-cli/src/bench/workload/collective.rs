//! What all ranks do together.
//!
//! Every operation is called many times in a row, and its time is that of the slowest rank from the common start to
//! its own end, divided by the calls. The root of a broadcast or reduction changes with every call, so that nobody
//! gets far ahead: each call's root had to take part in the one before. Peers do exactly the same.
//!
//! Two words of each result are checked in time, all of them afterwards.

use super::{Effort, Round};
use crate::bench::limit;
use crate::bench::part::Part;
use crate::bench::plan::Kind;
use crate::bench::rows::THRONG;
use hikyaku::collective::{Max, Sum};
use hikyaku::message::Messages;
use hikyaku::{CountingBarrier, Error, Group, Job, Result, Symmetric};

/// The time that one repetition is meant to take, and the least that tells how many calls that is.
const REPETITION_S: f64 = 0.010;
const CALIBRATION_S: f64 = 0.003;
/// In-place sums double with every call and must stay finite.
const SUMS_MAX: u64 = 500;

/// Slots for messages of a rank whose memory is told.
pub const SLOTS: usize = 1024;
/// Calls in a row at least, where there are very many ranks.
const CALLS_MIN: u64 = 4;

/// The sizes of broadcasts whose time is told.
pub const BROADCAST_SIZES: [usize; 6] = [8, 32, 128, 512, 2 << 10, 8 << 10];
/// The sizes of those whose bandwidth is told.
pub const BROADCAST_BANDWIDTH_SIZES: [usize; 5] = [32 << 10, 128 << 10, 512 << 10, 2 << 20, 8 << 20];

/// What is shown over the number of ranks.
pub const SCALING: [(Kind, usize); 3] = [(Kind::Barrier, 0), (Kind::Broadcast, 8 << 10), (Kind::Reduce, 8 << 10)];

/// What each does with each. Memory is last: after that everybody has talked to everybody.
const PAIRWISE: [(Kind, usize); 2] = [(Kind::Alltoall, 1 << 10), (Kind::Memory, 0)];

/// What so many ranks measure: kind, and bytes of the data.
pub fn tests(parts: &[Part], ranks: usize) -> Vec<(Kind, usize)> {
    let mut tests = if parts.contains(&Part::Collectives) { sizes(ranks) } else { Vec::new() };
    if parts.contains(&Part::Scaling) {
        tests.extend(SCALING.into_iter().filter(|test| !tests.contains(test)).collect::<Vec<_>>());
    }
    tests
}

fn sizes(ranks: usize) -> Vec<(Kind, usize)> {
    if ranks >= THRONG {
        let short = [(Kind::JobBarrier, 0), (Kind::Barrier, 0), (Kind::Allreduce, 8)];
        return short.into_iter().chain(PAIRWISE).collect();
    }
    let mut sizes = [Kind::JobBarrier, Kind::Barrier, Kind::CountedBarrier].map(|kind| (kind, 0)).to_vec();
    sizes.extend([(Kind::Reduce, 8 << 10), (Kind::Allreduce, 8)]);
    sizes.extend(BROADCAST_SIZES.map(|bytes| (Kind::Broadcast, bytes)));
    sizes.extend(BROADCAST_BANDWIDTH_SIZES.map(|bytes| (Kind::BroadcastBandwidth, bytes)));
    sizes.extend(PAIRWISE);
    if ranks == 2 {
        sizes.push((Kind::Allreduce, 8 << 20));
    }
    sizes
}

struct Test {
    kind: Kind,
    bytes: usize,
    /// Calls per repetition, once that is known.
    calls: Option<u64>,
}

pub struct Together<'a> {
    job: &'a Job,
    world: Group<'a>,
    counted: CountingBarrier<'a>,
    flags: Symmetric<u64>,
    /// Only take memory.
    _messages: Option<Messages<'a>>,
    tests: Vec<Test>,
    /// Makes every call another.
    stamp: u64,
}

impl<'a> Together<'a> {
    pub fn new(job: &'a Job, tests: Vec<(Kind, usize)>, effort: Effort) -> Result<Together<'a>> {
        let is_weighed = effort.physical && tests.iter().any(|(kind, _)| *kind == Kind::Memory);
        let _messages = if is_weighed { Some(job.messages(SLOTS)?) } else { None };
        let tests =
            tests.into_iter().map(|(kind, bytes)| Test { kind, bytes, calls: effort.calls_for(bytes) }).collect();
        let (world, counted, flags) = (job.new_world()?, job.counting_barrier(0)?, job.symmetric(job.size())?);
        Ok(Together { job, world, counted, flags, _messages, tests, stamp: 1 })
    }

    /// One repetition of everything.
    pub fn measure(&mut self, round: &mut Round<'_>) -> Result<()> {
        for index in 0..self.tests.len() {
            let Test { kind, bytes, calls } = self.tests[index];
            if kind == Kind::Memory {
                if self._messages.is_some() {
                    round.note(kind, bytes, self.memory()?);
                }
                continue;
            }
            let calls = match calls {
                Some(calls) => calls,
                None => self.choose_calls(kind, bytes)?,
            };
            self.tests[index].calls = Some(calls);
            let seconds = self.run(kind, bytes, calls)?;
            let bandwidth = kind == Kind::BroadcastBandwidth;
            round.note(kind, bytes, if bandwidth { bytes as f64 / seconds / 1e9 } else { seconds * 1e6 });
        }
        Ok(())
    }

    /// All ranks see the time of the slowest, and so come to the same number.
    fn choose_calls(&mut self, kind: Kind, bytes: usize) -> Result<u64> {
        let ranks = self.job.size();
        // So that every rank is root once, where that is not too often.
        let least = if ranks < THRONG { ranks as u64 } else { CALLS_MIN };
        let mut calls = least;
        loop {
            // The fastest of three: one that was disturbed would tell too few.
            let mut seconds = f64::INFINITY;
            for _ in 0..3 {
                seconds = seconds.min(self.run(kind, bytes, calls)?);
            }
            if seconds * calls as f64 >= CALIBRATION_S {
                return Ok(((REPETITION_S / seconds) as u64).max(least));
            }
            calls *= 4;
        }
    }

    /// Seconds per call.
    fn run(&mut self, kind: Kind, bytes: usize, calls: u64) -> Result<f64> {
        let stamp = self.stamp;
        self.stamp += calls;
        match kind {
            Kind::JobBarrier => self.barrier(stamp, calls, || self.job.barrier()),
            Kind::Barrier => self.barrier(stamp, calls, || self.world.barrier()),
            Kind::CountedBarrier => {
                self.barrier(stamp, calls, || self.counted.post().and_then(|()| self.counted.wait()))
            }
            Kind::Broadcast | Kind::BroadcastBandwidth => self.broadcast(bytes / 8, stamp, calls),
            Kind::Reduce => self.reduce(bytes / 8, stamp, calls),
            Kind::Alltoall => self.alltoall(bytes / 8, stamp, calls),
            Kind::Allreduce if bytes == 8 => self.allreduce_one(stamp, calls),
            Kind::Allreduce => self.allreduce_many(bytes / 8, calls.min(SUMS_MAX)),
            other => unreachable!("{other:?} is not done together"),
        }
    }

    /// The time of the slowest rank per call, seconds.
    fn slowest(&self, calls: u64, mut call: impl FnMut(u64) -> Result<()>) -> Result<f64> {
        self.world.barrier()?;
        let begin = self.job.now();
        for number in 0..calls {
            call(number)?;
        }
        let mut time = [(self.job.now() - begin).as_secs_f64()];
        self.world.allreduce(&mut time, Max)?;
        Ok(time[0] / calls as f64)
    }

    fn barrier(&self, stamp: u64, calls: u64, barrier: impl Fn() -> Result<()>) -> Result<f64> {
        let (job, flags) = (self.job, &self.flags);
        let seconds = self.slowest(calls, |_| barrier())?;
        // Nobody leaves before the last one enters: what each wrote before is there.
        for rank in 0..job.size() {
            job.word(flags.at(rank, job.rank()), stamp)?;
        }
        barrier()?;
        assert!(flags.to_vec().iter().all(|flag| *flag == stamp), "a rank left a barrier before all had entered");
        job.barrier()?;
        Ok(seconds)
    }

    fn broadcast(&self, words: usize, first_stamp: u64, calls: u64) -> Result<f64> {
        let (world, last) = (&self.world, words - 1);
        let mut data = limit::large_vector(words);
        if world.rank() != 0 {
            data.fill(0);
        }
        let seconds = self.slowest(calls, |number| {
            let (root, stamp) = (number as usize % world.size(), first_stamp + number);
            if root == world.rank() {
                data[0] = stamp;
                data[last] = stamp;
            }
            world.broadcast(&mut data, root)?;
            assert!(data[0] == stamp && data[last] == stamp, "a broadcast was damaged");
            Ok(())
        })?;
        super::check_whole(&data, "broadcast");
        Ok(seconds)
    }

    /// The root's contribution stays, as it does where a function takes two buffers: copying it counts.
    fn reduce(&self, words: usize, first_stamp: u64, calls: u64) -> Result<f64> {
        let (world, last) = (&self.world, words - 1);
        let mut own = contribution(world.rank(), words);
        let mut total = vec![0.0; words];
        let seconds = self.slowest(calls, |number| {
            let (root, stamp) = (number as usize % world.size(), (first_stamp + number) as f64);
            own[0] = stamp + world.rank() as f64;
            own[last] = own[0];
            if root != world.rank() {
                return world.reduce(&mut own, Sum, root);
            }
            total.copy_from_slice(&own);
            world.reduce(&mut total, Sum, root)?;
            let sum = sum_of_stamps(stamp, world.size());
            assert!(total[0] == sum && total[last] == sum, "a sum was damaged");
            Ok(())
        })?;
        // One that never was the root has no sums.
        if (world.rank() as u64) < calls {
            check_sums(&total, world.size(), 1.0);
        }
        Ok(seconds)
    }

    fn allreduce_one(&self, first_stamp: u64, calls: u64) -> Result<f64> {
        let world = &self.world;
        self.slowest(calls, |number| {
            let stamp = (first_stamp + number) as f64;
            let mut data = [stamp + world.rank() as f64];
            world.allreduce(&mut data, Sum)?;
            assert_eq!(data[0], sum_of_stamps(stamp, world.size()), "a sum was damaged");
            Ok(())
        })
    }

    fn alltoall(&self, words: usize, first_stamp: u64, calls: u64) -> Result<f64> {
        let (world, me) = (&self.world, self.world.rank() as u64);
        let (mut blocks, mut into) = (vec![0; words * world.size()], vec![0; words * world.size()]);
        let word = |from: u64, to: u64, stamp: u64| stamp << 32 | from << 16 | to;
        self.slowest(calls, |number| {
            let stamp = first_stamp + number;
            for (to, block) in blocks.chunks_exact_mut(words).enumerate() {
                block.fill(word(me, to as u64, stamp));
            }
            world.alltoall(&blocks, &mut into)?;
            let mut come = into.chunks_exact(words).enumerate();
            let whole = come.all(|(from, block)| {
                [block[0], block[words - 1]].iter().all(|found| *found == word(from as u64, me, stamp))
            });
            assert!(whole, "a block was damaged");
            Ok(())
        })
    }

    /// Private memory of a rank, the mean of all, MB.
    fn memory(&self) -> Result<f64> {
        let mut bytes = [private_bytes()?];
        self.world.allreduce(&mut bytes, Sum)?;
        Ok(bytes[0] / self.world.size() as f64 / 1e6)
    }

    /// In place: every sum contributes to the next, which is `ranks` times as large.
    fn allreduce_many(&self, words: usize, calls: u64) -> Result<f64> {
        let (world, last) = (&self.world, words - 1);
        let ranks = world.size() as f64;
        let mut data = contribution(world.rank(), words);
        let first = [0, last].map(|i| sum_of_contributions(i, world.size()));
        let mut factor = 1.0 / ranks;
        let seconds = self.slowest(calls, |_| {
            factor *= ranks;
            world.allreduce(&mut data, Sum)?;
            assert!(data[0] == first[0] * factor && data[last] == first[1] * factor, "a sum was damaged");
            Ok(())
        })?;
        check_sums(&data, world.size(), factor);
        Ok(seconds)
    }
}

/// What of this process's memory no other has.
fn private_bytes() -> Result<f64> {
    let path = "/proc/self/smaps_rollup";
    let text = std::fs::read_to_string(path).map_err(|error| Error::Invalid(format!("{path}: {error}")))?;
    let kilobytes = text.lines().filter(|line| line.starts_with("Private_")).filter_map(|line| {
        let number = line.split_whitespace().nth(1)?;
        number.parse::<f64>().ok()
    });
    Ok(kilobytes.sum::<f64>() * 1024.0)
}

/// What a rank contributes to a sum: small whole numbers, so that the sum is exact in any order.
fn contribution(rank: usize, words: usize) -> Vec<f64> {
    (0..words).map(|i| ((rank + 1) * (i % 1000 + 1)) as f64).collect()
}

fn sum_of_contributions(i: usize, ranks: usize) -> f64 {
    ((i % 1000 + 1) * ranks * (ranks + 1) / 2) as f64
}

fn sum_of_stamps(stamp: f64, ranks: usize) -> f64 {
    stamp * ranks as f64 + (ranks * (ranks - 1) / 2) as f64
}

/// All sums between the first and the last, which every call has checked.
fn check_sums(sums: &[f64], ranks: usize, factor: f64) {
    let whole = |(i, sum): (usize, &f64)| *sum == sum_of_contributions(i, ranks) * factor;
    assert!(sums.iter().enumerate().take(sums.len() - 1).skip(1).all(whole), "sums were damaged");
}
