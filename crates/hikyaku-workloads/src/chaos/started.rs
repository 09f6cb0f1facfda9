//! Pushes and pulls that go on beside the program, several at once, waited for in every way.

use super::trouble::{Outcome, promise};
use crate::chance::Chance;
use hikyaku::{Error, Job, Transfer, TransferScope};
use std::time::Duration;

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

/// Each rank pulls from some and pushes to some, all at once.
pub fn run(job: &Job, seed: u64) -> Outcome {
    let (me, size, mut common) = (job.rank(), job.size(), Chance::new(seed, 1));
    let (len, stamp) = (common.pick(&[1, 40, 2500]), common.number());
    let (table, inbox) = (job.symmetric::<u64>(len)?, job.symmetric::<u64>(size * len)?);
    table.write(0, &words(stamp, me, 0, len));
    job.barrier()?;
    let mut own = Chance::new(seed, 5000 + me as u64);
    let mut pull = || {
        let (rank, start) = (own.below(size), own.below(len));
        (rank, start, vec![0; 1 + own.below(len - start)])
    };
    let mut pulls: Vec<_> = (0..4).map(|_| pull()).collect();
    let data = words(!stamp, me, 0, len);
    job.scope(|scope| {
        let mut started = Vec::new();
        for (rank, start, into) in &mut pulls {
            started.push(Some(scope.start_pull(table.at(*rank, *start), into)?));
        }
        for to in (0..size).filter(|to| pushes(seed, me, *to)) {
            started.push(Some(scope.start_push(inbox.at(to, me * len), &data)?));
        }
        end(scope, started, &mut own)
    })?;
    for (rank, start, got) in pulls {
        let expected = words(stamp, rank, start, got.len());
        promise!(got == expected, "memory: a pull of rank {rank} has ended without its data");
    }
    job.barrier()?;
    for from in 0..size {
        let mut got = vec![0; len];
        inbox.read(from * len, &mut got);
        let expected = if pushes(seed, from, me) { words(!stamp, from, 0, len) } else { vec![0; len] };
        promise!(got == expected, "memory: a push of rank {from} has ended without its data");
    }
    job.free(table)?;
    Ok(job.free(inbox)?)
}

/// Waits for each in a way of its own, or lets the scope do that.
fn end(scope: &TransferScope<'_, '_>, mut started: Vec<Option<Transfer>>, chance: &mut Chance) -> hikyaku::Result<()> {
    for at in 0..started.len() {
        let way = chance.below(5);
        if way == 3 {
            if let Some((_, ended)) = scope.wait_any(&mut started)? {
                ended?;
            }
            continue;
        }
        let Some(mut transfer) = started[at].take() else { continue };
        match way {
            0 => scope.wait(transfer)?,
            1 => {
                while let Err(under_way) = scope.test(transfer)? {
                    transfer = under_way;
                }
            }
            2 => {
                while let Err(under_way) = scope.wait_for(transfer, Duration::from_micros(3))? {
                    transfer = under_way;
                }
            }
            _ => drop(transfer),
        }
    }
    while started.iter().any(Option::is_some) {
        match scope.wait_any_for(&mut started, Duration::from_micros(3)) {
            Ok(Some((_, ended))) => ended?,
            Ok(None) | Err(Error::Timeout { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
