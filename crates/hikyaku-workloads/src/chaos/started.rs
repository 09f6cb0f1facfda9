//! Pushes and pulls that go on beside the program, several at once, waited for in every way or given up.

use super::trouble::{Outcome, promise};
use crate::chance::Chance;
use hikyaku::{Error, Job, Place, RemoteArea, Symmetric, Transfer, TransferScope};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

/// The id of everybody's area.
const AREA: u32 = 7;

/// What a rank has in its table, or pushes: its word of that index.
fn word(stamp: u64, rank: usize, index: usize) -> u64 {
    stamp.wrapping_add((rank as u64 + 1) * 1_000_003 + index as u64)
}

fn words(stamp: u64, rank: usize, start: usize, len: usize) -> Vec<u64> {
    (start..start + len).map(|index| word(stamp, rank, index)).collect()
}

/// Whether a rank pushes to another.
fn pushes(seed: u64, from: usize, to: usize) -> bool {
    Chance::new(seed, (from * 64 + to) as u64).once_in(2)
}

/// The same words of each rank in symmetric memory and in an area.
struct Tables {
    symmetric: Symmetric<u64>,
    areas: Vec<RemoteArea<u64>>,
}

impl Tables {
    fn at(&self, pull: &Pull) -> Place<'_, u64> {
        match pull.is_of_area {
            true => self.areas[pull.rank].at(pull.start),
            false => self.symmetric.at(pull.rank, pull.start),
        }
    }
}

struct Pull {
    rank: usize,
    start: usize,
    is_of_area: bool,
    room: Vec<u64>,
}

impl Pull {
    fn new(chance: &mut Chance, size: usize, len: usize) -> Pull {
        let (rank, start, is_of_area) = (chance.below(size), chance.below(len), chance.once_in(2));
        Pull { rank, start, is_of_area, room: vec![0; 1 + chance.below(len - start)] }
    }
}

/// Each rank pulls from some and pushes to some, all at once.
pub fn run(job: &Job, seed: u64) -> Outcome {
    let (me, size, mut common) = (job.rank(), job.size(), Chance::new(seed, 1));
    // The longest take several packets.
    let (len, stamp) = (common.pick(&[1, 40, 2500, 12_000]), common.number());
    let (symmetric, inbox) = (job.symmetric::<u64>(len)?, job.symmetric::<u64>(size * len)?);
    let area = job.area::<u64>(AREA, len)?;
    symmetric.write(0, &words(stamp, me, 0, len));
    area.write(0, &words(stamp, me, 0, len));
    job.barrier()?;
    let areas = (0..size).map(|rank| job.open_area(rank, AREA)).collect::<hikyaku::Result<_>>()?;
    let (tables, mut own) = (Tables { symmetric, areas }, Chance::new(seed, 5000 + me as u64));
    if own.once_in(3) {
        given_up(job, &tables, &mut own, len)?;
    }
    let mut pulls: Vec<_> = (0..4).map(|_| Pull::new(&mut own, size, len)).collect();
    let data = words(!stamp, me, 0, len);
    job.scope(|scope| {
        let mut started = Vec::new();
        for pull in &mut pulls {
            let from = tables.at(pull);
            started.push(Some(scope.start_pull(from, &mut pull.room)?));
        }
        for to in (0..size).filter(|to| pushes(seed, me, *to)) {
            started.push(Some(scope.start_push(inbox.at(to, me * len), &data)?));
        }
        end(scope, started, &mut own)
    })?;
    for Pull { rank, start, room, .. } in pulls {
        let expected = words(stamp, rank, start, room.len());
        promise!(room == expected, "memory: a pull of rank {rank} has ended without its data");
    }
    job.barrier()?;
    for from in 0..size {
        let mut got = vec![0; len];
        inbox.read(from * len, &mut got);
        let expected = if pushes(seed, from, me) { words(!stamp, from, 0, len) } else { vec![0; len] };
        promise!(got == expected, "memory: a push of rank {from} has ended without its data");
    }
    drop(area);
    job.free(tables.symmetric)?;
    Ok(job.free(inbox)?)
}

/// Waits for each in a way of its own, for whichever ends first, or lets the scope do that.
fn end(scope: &TransferScope<'_, '_>, mut started: Vec<Option<Transfer>>, chance: &mut Chance) -> hikyaku::Result<()> {
    for at in 0..started.len() {
        let way = chance.below(6);
        if way == 0 {
            match scope.wait_any(&mut started)? {
                Some((_, ended)) => ended?,
                None => return Ok(()),
            }
            continue;
        }
        let Some(mut transfer) = started[at].take() else { continue };
        match way {
            1 => scope.wait(transfer)?,
            2 => {
                while let Err(under_way) = scope.test(transfer)? {
                    transfer = under_way;
                }
            }
            3 => {
                while let Err(under_way) = scope.wait_for(transfer, Duration::from_micros(3))? {
                    transfer = under_way;
                }
            }
            4 => started[at] = Some(transfer),
            _ => drop(transfer),
        }
    }
    loop {
        match scope.wait_any_for(&mut started, Duration::from_micros(3)) {
            Ok(Some((_, ended))) => ended?,
            Err(Error::Timeout { .. }) => {}
            Ok(None) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// A panic leaves a scope with pulls under way: nobody writes to their buffers afterwards.
fn given_up(job: &Job, tables: &Tables, chance: &mut Chance, len: usize) -> Outcome {
    const OWN: u64 = 0x6976_656e_5f75_7021;
    let mut pulls: Vec<_> = (0..2).map(|_| Pull::new(chance, job.size(), len)).collect();
    let left = catch_unwind(AssertUnwindSafe(|| {
        job.scope(|scope| -> hikyaku::Result<()> {
            for pull in &mut pulls {
                let from = tables.at(pull);
                let _ = scope.start_pull(from, &mut pull.room)?;
            }
            // Without a report of a panic.
            resume_unwind(Box::new("given up"))
        })
    }));
    if let Ok(error) = left {
        return Ok(error?);
    }
    pulls.iter_mut().for_each(|pull| pull.room.fill(OWN));
    for pull in &pulls {
        // What comes late has come by now.
        job.pull_one(tables.at(pull))?;
        promise!(pull.room.iter().all(|word| *word == OWN), "memory: a pull that was given up has written its buffer");
    }
    Ok(())
}
