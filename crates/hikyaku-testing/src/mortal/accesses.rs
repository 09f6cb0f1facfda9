//! Loops of remote operations with the memory of the one that dies: parts of ranges, multicasts, copies by third ranks, pointers.
//!
//! On one host that memory stays, so these go on after a death. Whoever wants to know looks, or waits for the rank.

use super::services::look;
use super::{Endless, Ready, mortal};
use hikyaku::{Bitmap, By, Commands, Error, Job, Pointer, Register, Result, Stride, Symmetric, Twin, Until};

pub const LOOPS: &[(&str, Endless)] = &[
    ("stride", |job, ready| with_mortal(job, ready, stride)),
    ("bitmap", |job, ready| with_mortal(job, ready, bitmap)),
    ("diff", |job, ready| with_mortal(job, ready, diff)),
    ("copies from it", |job, ready| {
        with_mortal(job, ready, |job, table, round| copy(job, table, mortal(job), 0, round))
    }),
    ("copies to it", |job, ready| with_mortal(job, ready, |job, table, round| copy(job, table, 0, mortal(job), round))),
    ("copies by it", copies_by_it),
    ("multicast", multicast),
    ("pointer", |job, ready| indirect(job, ready, false)),
    ("chain", |job, ready| indirect(job, ready, true)),
];

/// Elements for each rank, at every rank.
const LEN: usize = 20_000;

/// Calls `access` again and again on all ranks but the one that dies, which waits. In turns with it, this rank looks whether that has
/// happened.
fn with_mortal(
    job: &Job,
    ready: &Ready<'_>,
    mut access: impl FnMut(&Job, &Symmetric<u64>, u64) -> Result<()>,
) -> Result<()> {
    let table = job.symmetric::<u64>(LEN * job.size())?;
    if job.rank() == mortal(job) {
        return wait_for_the_end(job, &table);
    }
    (1..).try_for_each(|round| {
        named(job, access(job, &table, round))?;
        look(job, ready)
    })
}

fn wait_for_the_end(job: &Job, table: &Symmetric<u64>) -> Result<()> {
    job.wait(table.here(0), Until::Equal(u64::MAX)).map(drop)
}

/// What another rank's interface refused because of the death says nothing of it: then this rank waits until it knows.
fn named(job: &Job, result: Result<()>) -> Result<()> {
    match result {
        // All barriers of the job need that rank.
        Err(Error::Refused { .. }) => job.barrier(),
        other => other,
    }
}

fn stride(job: &Job, table: &Symmetric<u64>, round: u64) -> Result<()> {
    let (blocks, there) = (Stride::new(3, 7, 2000), table.at(mortal(job), job.rank() * LEN));
    job.push_stride(there, &[round; LEN], blocks)?;
    job.flush(mortal(job))?;
    let mut back = [0; LEN];
    job.pull_stride(there, &mut back, blocks)?;
    assert_eq!((back[0], back[3], back[7]), (round, 0, round));
    Ok(())
}

fn bitmap(job: &Job, table: &Symmetric<u64>, round: u64) -> Result<()> {
    let (mut odd, there) = (Bitmap::new(LEN), table.at(mortal(job), job.rank() * LEN));
    (1..LEN).step_by(2).for_each(|index| odd.set(index));
    job.push_bitmap(there, &[round; LEN], &odd)?;
    job.flush(mortal(job))?;
    let mut back = [0; LEN];
    job.pull_bitmap(there, &mut back, &odd)?;
    assert_eq!((back[0], back[1], back[LEN - 1]), (0, round, round));
    Ok(())
}

fn diff(job: &Job, table: &Symmetric<u64>, round: u64) -> Result<()> {
    let there = table.at(mortal(job), job.rank() * LEN);
    let mut mine = vec![0; LEN];
    let mut twin: Twin<u64> = job.pull_twin(there, &mut mine)?;
    (0..LEN).step_by(100).for_each(|index| mine[index] = round);
    assert_eq!(job.push_diff(there, &mine, &mut twin)?, LEN / 100);
    job.flush(mortal(job))
}

/// Between two ranks, of which this one may be one.
fn copy(job: &Job, table: &Symmetric<u64>, from: usize, to: usize, round: u64) -> Result<()> {
    let own = job.rank() * LEN;
    job.push(table.at(from, own), &[round])?;
    job.push(table.at(from, own + LEN - 1), &[round])?;
    job.copy(table.at(from, own), table.at(to, own), LEN)?;
    job.flush(to)?;
    assert_eq!(job.pull_one(table.at(to, own + LEN - 1))?, round);
    Ok(())
}

/// The one that dies copies from each rank to the next, which waits for it and answers.
fn copies_by_it(job: &Job, _: &Ready<'_>) -> Result<()> {
    let (table, flags) = (job.symmetric::<u64>(LEN)?, job.symmetric::<u64>(job.size())?);
    let (me, last) = (job.rank(), mortal(job));
    for round in 1.. {
        if me == last {
            for rank in 0..last {
                let from = table.at((rank + 1) % last, 0);
                job.push(from, &[round; LEN])?;
                // A copy to itself is none.
                match from.rank() == rank {
                    true => job.word(flags.at(rank, last), round)?,
                    false => job.copy_notify(from, table.at(rank, 0), LEN, flags.at(rank, last), round)?,
                }
                job.wait_from(By::Rank(rank), flags.here(rank), Until::AtLeast(round))?;
            }
        } else {
            job.wait_from(By::Rank(last), flags.here(last), Until::AtLeast(round))?;
            assert!(table.get(0) >= round && table.get(LEN - 1) >= round, "the word came before the data");
            job.word(flags.at(last, me), round)?;
        }
    }
    Ok(())
}

/// Everyone tells all others, and waits for the one that dies, or as that one for all.
fn multicast(job: &Job, _: &Ready<'_>) -> Result<()> {
    let (table, flags) = (job.symmetric::<u64>(LEN * job.size())?, job.symmetric::<u64>(job.size())?);
    let (me, last) = (job.rank(), mortal(job));
    let others: Vec<usize> = (0..job.size()).filter(|rank| *rank != me).collect();
    let to = job.recipients(&others)?;
    for round in 1.. {
        named(job, job.multicast_notify(&to, &table, me * LEN, &[round; LEN], (&flags, me), round))?;
        for rank in if me == last { 0..last } else { last..last + 1 } {
            job.wait_from(By::Rank(rank), flags.here(rank), Until::AtLeast(round))?;
            assert!(table.get((rank + 1) * LEN - 1) >= round, "the word came before the data");
        }
    }
    Ok(())
}

/// Through a register of the one that dies, to plain bytes or to a chain of commands.
fn indirect(job: &Job, ready: &Ready<'_>, is_chain: bool) -> Result<()> {
    let (me, last) = (job.rank(), mortal(job));
    let area = job.area::<u64>(1, LEN)?;
    let commands = Commands::new().write_blocks(area.at(0), Stride::new(2, 5, 1000))?;
    let commands = commands.read_blocks(area.at(0), Stride::new(2, 5, 1000))?;
    let _chain = job.chain(2, &commands)?;
    job.set_register(1, if is_chain { _chain.pointer() } else { Pointer::to(area.at(0))? })?;
    let table = job.symmetric::<u64>(1)?;
    if me == last {
        return wait_for_the_end(job, &table);
    }
    let through = Register { rank: last, number: 1 };
    (1..).try_for_each(|round| {
        let access = || {
            job.push_indirect(through, &[round; 2000])?;
            job.flush(last)?;
            job.pull_indirect(through, &mut [0u64; 2000])
        };
        named(job, access())?;
        look(job, ready)
    })
}
