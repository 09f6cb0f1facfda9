//! Pushes through pointers and chains of commands, and by each path, between two ranks.

use super::{Effort, Round, limit};
use crate::bench::plan::Kind;
use hikyaku::{
    Area, By, Chain, Commands, Job, Place, Pointer, PushPath, Register, RemoteArea, Result, Symmetric, Until,
};
use std::time::Duration;

/// Blocks of a message that a chain unpacks, and their words.
pub const BLOCKS: usize = 1000;
const BLOCK: usize = 8;
/// Bytes of the message.
pub const CHAINED: usize = BLOCKS * BLOCK * 8;
/// The sizes that each path is measured at.
pub const PATH_SIZES: [usize; 5] = [64, 464, 4 << 10, 64 << 10, 1 << 20];
/// And those that are shown as curves.
pub const CURVE_SIZES: [usize; 8] = [8, 64, 464, 4 << 10, 16 << 10, 64 << 10, 1 << 20, 4 << 20];

/// Ids of areas.
const DATA: u32 = 41;
const SPREAD: u32 = 42;
const CHAINS: [u32; 2] = [43, 44];

/// The words that the blocks of a message begin at: every second block, or so.
fn places(is_even: bool) -> impl Iterator<Item = usize> + Clone {
    (0..BLOCKS).map(move |block| 2 * block * BLOCK + if is_even { 0 } else { block * block % 61 % BLOCK })
}

pub struct Indirect<'a> {
    job: &'a Job,
    effort: Effort,
    /// A word, and behind it its flag.
    data: Area<u64>,
    theirs: RemoteArea<u64>,
    pointers: Symmetric<Pointer>,
    /// Where chains unpack.
    spread: Area<u64>,
    _chains: [Chain; 2],
    /// Where a plain loop does.
    bare: Symmetric<u64>,
    flag: Symmetric<u64>,
    bulk: Symmetric<u8>,
}

impl<'a> Indirect<'a> {
    pub fn new(job: &'a Job, effort: Effort) -> Result<Indirect<'a>> {
        let data = job.area::<u64>(DATA, 8)?;
        let spread = job.area::<u64>(SPREAD, 2 * BLOCKS * BLOCK)?;
        let chain = |is_even: bool| {
            let commands = places(is_even).try_fold(Commands::new(), |list, at| list.write(spread.at(at), BLOCK))?;
            job.chain(CHAINS[usize::from(is_even)], &commands)
        };
        let chains = [chain(false)?, chain(true)?];
        let pointers = job.symmetric::<Pointer>(1)?;
        pointers.set(0, Pointer::to(data.at(0))?);
        job.set_register(0, Pointer::to(data.at(0))?)?;
        job.set_register(1, chains[0].pointer())?;
        job.set_register(2, chains[1].pointer())?;
        job.barrier()?;
        let theirs = job.open_area(1 - job.rank(), DATA)?;
        let bare = job.symmetric(2 * BLOCKS * BLOCK)?;
        let (flag, bulk) = (job.symmetric(8)?, job.symmetric(CURVE_SIZES[CURVE_SIZES.len() - 1])?);
        Ok(Indirect { job, effort, data, theirs, pointers, spread, _chains: chains, bare, flag, bulk })
    }

    /// One repetition of everything.
    pub fn measure(&self, round: &mut Round<'_>) -> Result<()> {
        let (job, peer) = (self.job, 1 - self.job.rank());
        let direct = self.ping_pong(|value| job.push(self.theirs.at(0), &[value]))?;
        round.note(Kind::AreaFlag, 8, direct);
        let through = self.ping_pong(|value| job.push_indirect(self.pointers.at(peer, 0), &[value]))?;
        round.note(Kind::PointerFlag, 8, through);
        let register = Register { rank: peer, number: 0 };
        round.note(Kind::RegisterFlag, 8, self.ping_pong(|value| job.push_indirect(register, &[value]))?);
        for (kind, limit, is_even) in
            [(Kind::ChainEven, Kind::LimitEven, true), (Kind::ChainUneven, Kind::LimitUneven, false)]
        {
            let register = Register { rank: peer, number: 1 + usize::from(is_even) };
            self.spread.write(0, &vec![0; 2 * BLOCKS * BLOCK]);
            let time =
                self.unpack(is_even, |at| self.spread.get(at), |message| job.push_indirect(register, message))?;
            round.note(kind, CHAINED, time);
            self.bare.write(0, &vec![0; 2 * BLOCKS * BLOCK]);
            let scatter = |message: &[u64]| limit::scatter(job, &self.bare, message, BLOCK, places(is_even));
            round.note(limit, CHAINED, self.unpack(is_even, |at| self.bare.get(at), scatter)?);
        }
        for bytes in CURVE_SIZES {
            let data = vec![7u8; bytes];
            let place = self.bulk.at(peer, 0);
            round.note(Kind::PathPlain, bytes, self.rate(bytes, |job| job.push(place, &data))?);
            round.note(Kind::PathWindow, bytes, self.rate(bytes, |job| job.push_by(PushPath::Window, place, &data))?);
            round.note(Kind::PathBulk, bytes, self.rate(bytes, |job| job.push_by(PushPath::Bulk, place, &data))?);
        }
        let (word, place): (_, Place<'_, u8>) = ([7u8; 8], self.bulk.at(peer, 0));
        round.note(Kind::PathWord, 8, self.rate(8, |job| job.push_by(PushPath::Word, place, &word))?);
        Ok(())
    }

    /// Ping-pong of a word and a flag on the same line: half of the round trip, ns.
    fn ping_pong(&self, push: impl Fn(u64) -> Result<()>) -> Result<f64> {
        let (job, peer, round_trips) = (self.job, 1 - self.job.rank(), self.effort.round_trips);
        self.data.write(0, &[0; 8]);
        job.barrier()?;
        let begin = job.now();
        for round in 1..=round_trips {
            for turn in 0..2 {
                if turn == job.rank() {
                    push(round)?;
                    job.word(self.theirs.at(1), round)?;
                } else {
                    job.wait_from(By::Rank(peer), self.data.at(1), Until::Equal(round))?;
                    assert!(self.data.get(0) == round, "data after its flag");
                }
            }
        }
        let time = job.now() - begin;
        job.barrier()?;
        Ok(half(time, round_trips))
    }

    /// Ping-pong of a message that is unpacked where it arrives, and read there: half of the round trip, ns.
    fn unpack(&self, is_even: bool, read: impl Fn(usize) -> u64, push: impl Fn(&[u64]) -> Result<()>) -> Result<f64> {
        let (job, peer, round_trips) = (self.job, 1 - self.job.rank(), self.effort.long_round_trips());
        let mut message: Vec<u64> = (0..BLOCKS * BLOCK).map(limit::pattern).collect();
        let words: Vec<usize> = places(is_even).flat_map(|at| at..at + BLOCK).collect();
        let last = message.len() - 1;
        self.flag.set(0, 0);
        job.barrier()?;
        let begin = job.now();
        for round in 1..=round_trips {
            for turn in 0..2 {
                if turn == job.rank() {
                    (message[0], message[last]) = (round, round);
                    push(&message)?;
                    job.word(self.flag.at(peer, 0), round)?;
                } else {
                    job.wait_from(By::Rank(peer), self.flag.here(0), Until::Equal(round))?;
                    assert!(read(words[0]) == round && read(words[last]) == round, "data after its flag");
                }
            }
        }
        let time = job.now() - begin;
        let mut inner = words.iter().enumerate().take(last).skip(1);
        assert!(inner.all(|(at, word)| read(*word) == limit::pattern(at)), "unpacked words were damaged");
        job.barrier()?;
        Ok(half(time, round_trips))
    }

    /// GB/s of pushes of one size by rank 0.
    fn rate(&self, bytes: usize, push: impl Fn(&Job) -> Result<()>) -> Result<f64> {
        let (job, rounds) = (self.job, self.effort.rounds_for(bytes));
        job.barrier()?;
        let begin = job.now();
        if job.rank() == 0 {
            (0..rounds).try_for_each(|_| push(job))?;
            job.flush(1)?;
        }
        let time = job.now() - begin;
        job.barrier()?;
        if job.rank() == 1 {
            assert!(self.bulk.get(0) == 7 && self.bulk.get(bytes - 1) == 7, "pushed bytes were damaged");
            self.bulk.write(0, &vec![0; bytes]);
        }
        job.barrier()?;
        Ok((bytes * rounds) as f64 / time.as_secs_f64() / 1e9)
    }
}

/// Half of one of so many round trips, ns.
fn half(time: Duration, round_trips: u64) -> f64 {
    time.as_nanos() as f64 / (2 * round_trips) as f64
}
