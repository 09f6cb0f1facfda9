//! Pushes, pulls, words and atomic operations against a model, on symmetric memory, areas and vectors.
//!
//! In a round each rank writes one part of every memory, another one each round, so the outcome of a round is known
//! whatever the order; counters, which everyone changes at once, commute. Every rank works out what all do.

use super::trouble::{Outcome, promise};
use super::{copied, started};
use crate::chance::Chance;
use hikyaku::{Area, Atomic, Job, Place, RemoteArea, Symmetric, Until};

/// Words of a memory that one rank may write in a round; between parts lies a word that nobody writes.
const PART: usize = 12;
const STRIDE: usize = PART + 1;
/// Words that everyone adds to.
const COUNTERS: usize = 2;
/// Symmetric, an area, a vector.
const KINDS: usize = 3;
/// Beside the area, in the same heap.
const CANARY: u64 = 0xca9a_a7ca_9aa7_ca9a;

enum Step {
    Push { at: usize, data: Vec<u64> },
    Pull { at: usize, len: usize },
    Word { at: usize, value: u64 },
    Change { at: usize, operation: Atomic },
    Count { counter: usize, value: u64 },
}

struct Ways {
    symmetric: Symmetric<u64>,
    area: Area<u64>,
    vector: Area<u64>,
    remote: Vec<[RemoteArea<u64>; 2]>,
}

impl Ways {
    fn at(&self, kind: usize, rank: usize, index: usize) -> Place<'_, u64> {
        match kind {
            0 => self.symmetric.at(rank, index),
            _ => self.remote[rank][kind - 1].at(index),
        }
    }

    fn own(&self, kind: usize) -> Vec<u64> {
        match kind {
            0 => self.symmetric.to_vec(),
            1 => self.area.to_vec(),
            _ => self.vector.to_vec(),
        }
    }
}

/// The steps of a rank in a round: (kind, rank, step).
fn steps(seed: u64, round: usize, rank: usize, size: usize) -> Vec<(usize, usize, Step)> {
    let mut chance = Chance::new(seed, (round * 64 + rank) as u64 + 1000);
    let count = chance.below(8);
    let mut step = || {
        let at = chance.below(PART);
        let value = chance.number();
        let step = match chance.below(5) {
            0 => Step::Push { at, data: (0..=chance.below(PART - at)).map(|i| value ^ i as u64).collect() },
            1 => Step::Pull { at, len: 1 + chance.below(PART - at) },
            2 => Step::Word { at, value: value % 4 },
            3 => Step::Change { at, operation: operation(&mut chance) },
            _ => Step::Count { counter: chance.below(COUNTERS), value: value % 1000 },
        };
        (chance.below(KINDS), chance.below(size), step)
    };
    (0..count).map(|_| step()).collect()
}

fn operation(chance: &mut Chance) -> Atomic {
    // Small values, so that a comparison is met now and then.
    let (small, any) = (chance.below(4) as u64, chance.number());
    match chance.below(6) {
        0 => Atomic::Add(any),
        1 => Atomic::Swap(small),
        2 => Atomic::CompareSwap { old: small, new: any % 4 },
        3 => Atomic::And(any),
        4 => Atomic::Or(small),
        _ => Atomic::Xor(any),
    }
}

/// Does a step on the model; gives what the step gives.
fn apply(memory: &mut [u64], part: usize, counters: usize, step: &Step) -> Vec<u64> {
    match step {
        Step::Push { at, data } => memory[part + at..][..data.len()].copy_from_slice(data),
        Step::Pull { at, len } => return memory[part + at..][..*len].to_vec(),
        Step::Word { at, value } => memory[part + at] = *value,
        Step::Change { at, operation } => {
            let word = &mut memory[part + at];
            let before = *word;
            *word = changed(before, *operation);
            return vec![before];
        }
        Step::Count { counter, value } => {
            let word = &mut memory[counters + counter];
            *word = word.wrapping_add(*value);
        }
    }
    vec![]
}

pub fn run(job: &Job, seed: u64) -> Outcome {
    let (me, size) = (job.rank(), job.size());
    let words = STRIDE * size + COUNTERS;
    let counters = STRIDE * size;
    let symmetric = job.symmetric(words)?;
    let below = job.area::<u64>(5, 8)?;
    let (area, vector) = (job.area(1, words)?, job.register(2, vec![0; words])?);
    let above = job.area::<u64>(6, 8)?;
    below.write(0, &[CANARY; 8]);
    above.write(0, &[CANARY; 8]);
    job.barrier()?;
    let open = |rank| Ok([job.open_area(rank, 1)?, job.open_area(rank, 2)?]);
    let remote = (0..size).map(open).collect::<hikyaku::Result<_>>()?;
    let ways = Ways { symmetric, area, vector, remote };
    let mut memory = vec![vec![vec![0; words]; size]; KINDS];
    let rounds = 1 + Chance::new(seed, 2).below(3);
    for round in 0..rounds {
        for rank in 0..size {
            let part = (rank + round) % size * STRIDE;
            for (kind, peer, step) in steps(seed, round, rank, size) {
                let expected = apply(&mut memory[kind][peer], part, counters, &step);
                if rank == me {
                    let got = perform(job, &ways, (kind, peer), part, counters, &step)?;
                    promise!(got == expected, "memory: a step at rank {peer} gave {got:x?} instead of {expected:x?}");
                }
            }
        }
        job.sync()?;
        job.barrier()?;
        for (kind, by_rank) in memory.iter().enumerate() {
            promise!(ways.own(kind) == by_rank[me], "memory: what was written is not what is there (kind {kind})");
        }
        job.barrier()?;
        notified(job, &mut Chance::new(seed, 300 + round as u64))?;
        started::run(job, Chance::new(seed, 400 + round as u64).number())?;
        copied::run(job, Chance::new(seed, 500 + round as u64).number())?;
    }
    let canaries = [below.to_vec(), above.to_vec()].concat();
    promise!(canaries == [CANARY; 16], "memory: something was written outside an area");
    let Ways { symmetric, .. } = ways;
    Ok(job.free(symmetric)?)
}

fn perform(
    job: &Job,
    ways: &Ways,
    (kind, peer): (usize, usize),
    part: usize,
    counters: usize,
    step: &Step,
) -> Outcome<Vec<u64>> {
    let place = |at: &usize| ways.at(kind, peer, part + at);
    match step {
        Step::Push { at, data } => job.push(place(at), data)?,
        Step::Pull { at, len } => {
            let mut got = vec![0; *len];
            job.pull(place(at), &mut got)?;
            return Ok(got);
        }
        Step::Word { at, value } => job.word(place(at), *value)?,
        Step::Change { at, operation } => return Ok(vec![job.atomic(place(at), *operation)?]),
        Step::Count { counter, value } => {
            job.fetch_add(ways.at(kind, peer, counters + counter), *value)?;
        }
    }
    Ok(vec![])
}

/// Every rank pushes to the one some ranks above, now and then more than a packet carries: whoever sees the word sees
/// the data, and the sender's own word comes after the data, too.
fn notified(job: &Job, chance: &mut Chance) -> Outcome {
    let (me, size) = (job.rank(), job.size());
    let len = chance.pick(&[1, 7, 100, 1000, 9000]);
    let shift = 1 + chance.below(size - 1);
    let (data, flag) = (job.symmetric::<u64>(len)?, job.symmetric::<u64>(2)?);
    let (to, from) = ((me + shift) % size, (me + size - shift) % size);
    let content = |rank: usize| -> Vec<u64> { (0..len as u64).map(|i| (rank as u64 + 1) << 32 | i).collect() };
    match chance.below(3) {
        0 => job.push_notify(data.at(to, 0), &content(me), flag.at(to, 0), 1)?,
        1 => {
            job.push(data.at(to, 0), &content(me))?;
            job.word(flag.at(to, 0), 1)?;
        }
        _ => {
            job.push_status(data.at(to, 0), &content(me), flag.here(1), 1)?;
            job.wait(flag.here(1), Until::Equal(1))?;
            let last = job.pull_one(data.at(to, len - 1))?;
            promise!(last == content(me)[len - 1], "memory: a status came before its data");
            job.fetch_add(flag.at(to, 0), 1)?;
        }
    }
    job.wait(flag.here(0), Until::Equal(1))?;
    promise!(data.to_vec() == content(from), "memory: a word came before its data");
    job.free(data)?;
    Ok(job.free(flag)?)
}

/// What an atomic operation makes of a word: the model that memory is compared with.
pub fn changed(before: u64, operation: Atomic) -> u64 {
    match operation {
        Atomic::Add(value) => before.wrapping_add(value),
        Atomic::Swap(value) => value,
        Atomic::CompareSwap { old, new } => [before, new][(before == old) as usize],
        Atomic::And(value) => before & value,
        Atomic::Or(value) => before | value,
        Atomic::Xor(value) => before ^ value,
        _ => unreachable!("no model of {operation:?}"),
    }
}
