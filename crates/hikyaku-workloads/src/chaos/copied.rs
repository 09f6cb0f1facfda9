//! Copies between ranks, each started by any: from any kind of memory to any, with a word and without.
//!
//! A rank starts some copies in a round, each to a part of its target that only it writes. Every rank works out what all do.

use super::trouble::{Outcome, promise};
use crate::chance::Chance;
use hikyaku::{Job, Until};

/// So many copies of a rank, each to a part of its own.
const COPIES: usize = 3;
/// Symmetric, an area, a vector.
const KINDS: usize = 3;

struct Copy {
    from: (usize, usize),
    to: (usize, usize),
    start: usize,
    len: usize,
    notifies: bool,
}

fn copies(seed: u64, rank: usize, size: usize, words: usize) -> Vec<Copy> {
    let mut chance = Chance::new(seed, 7000 + rank as u64);
    let mut copy = || {
        let start = chance.below(words);
        Copy {
            from: (chance.below(size), chance.below(KINDS)),
            to: (chance.below(size), chance.below(KINDS)),
            start,
            len: chance.below(words - start + 1),
            notifies: chance.below(2) == 0,
        }
    };
    (0..COPIES).map(|_| copy()).collect()
}

fn content(rank: usize, kind: usize, at: usize) -> u64 {
    ((rank * KINDS + kind + 1) << 40 | at) as u64
}

pub fn run(job: &Job, seed: u64) -> Outcome {
    let (me, size) = (job.rank(), job.size());
    let words = Chance::new(seed, 1).pick(&[3, 50, 2000, 9000]);
    let parts = size * COPIES;
    let from = |kind: usize| (0..words).map(|at| content(me, kind, at)).collect::<Vec<_>>();
    let symmetric = (job.symmetric::<u64>(words)?, job.symmetric::<u64>(parts * words)?);
    symmetric.0.write(0, &from(0));
    let areas = (job.area::<u64>(11, words)?, job.area::<u64>(12, parts * words)?);
    areas.0.write(0, &from(1));
    let vectors = (job.register(13, from(2))?, job.register(14, vec![0u64; parts * words])?);
    let flags = job.symmetric::<u64>(parts)?;
    job.barrier()?;
    let open = |rank| {
        let open = |id| job.open_area::<u64>(rank, id);
        hikyaku::Result::Ok([(open(11)?, open(12)?), (open(13)?, open(14)?)])
    };
    let opened = (0..size).map(open).collect::<hikyaku::Result<Vec<_>>>()?;
    for (number, copy) in copies(seed, me, size, words).iter().enumerate() {
        let part = me * COPIES + number;
        let (source, target) = (copy.from, copy.to);
        let from = match source.1 {
            0 => symmetric.0.at(source.0, copy.start),
            kind => opened[source.0][kind - 1].0.at(copy.start),
        };
        let to = match target.1 {
            0 => symmetric.1.at(target.0, part * words),
            kind => opened[target.0][kind - 1].1.at(part * words),
        };
        match copy.notifies {
            true => job.copy_notify(from, to, copy.len, flags.at(target.0, part), 1)?,
            false => job.copy(from, to, copy.len)?,
        }
        if seed.is_multiple_of(3) && copy.len > 0 {
            job.flush(target.0)?;
            let last = job.pull_one(match target.1 {
                0 => symmetric.1.at(target.0, part * words + copy.len - 1),
                kind => opened[target.0][kind - 1].1.at(part * words + copy.len - 1),
            })?;
            let expected = content(source.0, source.1, copy.start + copy.len - 1);
            promise!(last == expected, "memory: a copy was not there after a flush");
        }
    }
    let check = |part: usize, copy: &Copy| -> bool {
        let mut there = vec![0; words];
        match copy.to.1 {
            0 => symmetric.1.read(part * words, &mut there),
            1 => areas.1.read(part * words, &mut there),
            _ => vectors.1.read(part * words, &mut there),
        }
        let expected = |at| if at < copy.len { content(copy.from.0, copy.from.1, copy.start + at) } else { 0 };
        there.iter().enumerate().all(|(at, word)| *word == expected(at))
    };
    let mine = |is_notified: bool| {
        let all = (0..size)
            .flat_map(|rank| copies(seed, rank, size, words).into_iter().enumerate().map(move |copy| (rank, copy)));
        all.filter(move |(_, (_, copy))| copy.to.0 == me && copy.notifies == is_notified)
            .map(|(rank, (number, copy))| (rank * COPIES + number, copy))
    };
    for (part, copy) in mine(true) {
        job.wait(flags.here(part), Until::Equal(1))?;
        promise!(check(part, &copy), "memory: a word came before the copy it is for");
    }
    job.barrier()?;
    for (part, copy) in mine(false).chain(mine(true)) {
        promise!(check(part, &copy), "memory: a copy is not what was to be copied");
        promise!(copy.notifies || flags.get(part) == 0, "memory: a word that nobody wrote");
    }
    job.barrier()?;
    job.free(symmetric.0)?;
    job.free(symmetric.1)?;
    Ok(job.free(flags)?)
}
