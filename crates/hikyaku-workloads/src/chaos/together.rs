//! Collective calls on the world and on parts of it; barriers never pass early.

use super::trouble::{Outcome, Trouble, promise};
use crate::chance::Chance;
use hikyaku::collective::{Max, Sum};
use hikyaku::{Error, Group, Job};

pub fn run(job: &Job, seed: u64) -> Outcome {
    let mut chance = Chance::new(seed, 6);
    let counter = job.symmetric::<u64>(1)?;
    let world = job.new_world()?;
    let mut passes = 0;
    for _ in 0..1 + chance.below(5) {
        if chance.once_in(3) {
            passes += 1;
            barrier(job, &world, &counter, passes, chance.once_in(2))?;
        } else {
            call(&world, &mut chance)?;
        }
    }
    if chance.once_in(2) {
        let colors = 1 + chance.below(3);
        let part = world.split(Some((job.rank() % colors) as u64), -(job.rank() as i64))?;
        if let Some(part) = part {
            // Parts are not alike, so each draws its own.
            let mut chance = Chance::new(seed, 5000 + (job.rank() % colors) as u64);
            (0..1 + chance.below(3)).try_for_each(|_| call(&part, &mut chance))?;
            part.free()?;
        }
    }
    world.free()?;
    Ok(job.free(counter)?)
}

/// Everyone adds to a counter before the barrier, and finds it complete afterwards.
fn barrier(job: &Job, world: &Group<'_>, counter: &hikyaku::Symmetric<u64>, pass: u64, of_job: bool) -> Outcome {
    let pass_through = || if of_job { job.barrier() } else { world.barrier() };
    job.fetch_add(counter.at(0, 0), 1)?;
    pass_through()?;
    let count = job.pull_one(counter.at(0, 0))?;
    promise!(count == pass * job.size() as u64, "together: a barrier passed early ({count} arrivals in pass {pass})");
    Ok(pass_through()?)
}

/// What a member gives. Each call has a stamp of its own, so that what a call before has left behind does not pass for it.
fn value(stamp: u64, member: usize, index: usize) -> u64 {
    stamp.wrapping_add((member as u64 + 1) * 1_000_003 + index as u64)
}

/// An operation that is associative but not commutative: (a, b) means x -> a x + b.
fn compose(total: &mut [[u64; 2]], input: &[[u64; 2]]) {
    for (total, input) in total.iter_mut().zip(input) {
        *total = [total[0].wrapping_mul(input[0]), total[1].wrapping_mul(input[0]).wrapping_add(input[1])];
    }
}

fn maps(stamp: u64, member: usize, len: usize) -> Vec<[u64; 2]> {
    (0..len).map(|index| [stamp.wrapping_add(2 * member as u64) | 1, value(stamp, member, index)]).collect()
}

fn composed(stamp: u64, members: usize, len: usize) -> Vec<[u64; 2]> {
    let mut total = maps(stamp, 0, len);
    (1..members).for_each(|member| compose(&mut total, &maps(stamp, member, len)));
    total
}

/// One call of any kind, and what must come out of it.
fn call(group: &Group<'_>, chance: &mut Chance) -> Outcome {
    let (me, size) = (group.rank(), group.size());
    let (root, mut len, stamp) = (chance.below(size), chance.pick(&[0, 1, 2, 30, 500, 1500]), chance.number());
    let kind = chance.below(16);
    if kind == 0 && chance.once_in(4) {
        // So long that it goes straight from buffer to buffer.
        len = 20_000;
    }
    let value = |member: usize, index: usize| value(stamp, member, index);
    let block = |member: usize| -> Vec<u64> { (0..len).map(|index| value(member, index)).collect() };
    let blocks = || -> Vec<u64> { (0..size).flat_map(block).collect() };
    let sum = |index: usize| (0..size).fold(0, |sum: u64, member| sum.wrapping_add(value(member, index)));
    let sums = || -> Vec<u64> { (0..len).map(sum).collect() };
    let (got, expected) = match kind {
        0 => {
            let mut data = if me == root { block(root) } else { vec![0; len] };
            group.broadcast(&mut data, root)?;
            (data, block(root))
        }
        1 => {
            let mut data = block(me);
            group.reduce(&mut data, Sum, root)?;
            if me == root { (data, sums()) } else { (vec![], vec![]) }
        }
        2 => {
            let mut data = block(me);
            group.allreduce(&mut data, Sum)?;
            (data, sums())
        }
        3 => {
            let mut data = maps(stamp, me, len);
            group.scan(&mut data, compose)?;
            (data.concat(), composed(stamp, me + 1, len).concat())
        }
        4 => {
            let mut data = maps(stamp, me, len);
            group.allreduce(&mut data, compose)?;
            (data.concat(), composed(stamp, size, len).concat())
        }
        5 => {
            let mut all = vec![0; if me == root { len * size } else { 0 }];
            group.gather(&block(me), &mut all, root)?;
            if me == root { (all, blocks()) } else { (vec![], vec![]) }
        }
        6 => {
            let mut all = vec![0; len * size];
            group.allgather(&block(me), &mut all)?;
            (all, blocks())
        }
        7 => {
            let (all, mut mine) = (if me == root { blocks() } else { vec![] }, vec![0; len]);
            group.scatter(&all, &mut mine, root)?;
            (mine, block(me))
        }
        8 => {
            let sent: Vec<u64> = (0..size).flat_map(|to| vec![value(me, to); len]).collect();
            let mut got = vec![0; len * size];
            group.alltoall(&sent, &mut got)?;
            (got, (0..size).flat_map(|from| vec![value(from, me); len]).collect())
        }
        9 => {
            let mut data = maps(stamp, me, len);
            group.exscan(&mut data, compose)?;
            let before = if me == 0 { maps(stamp, 0, len) } else { composed(stamp, me, len) };
            (data.concat(), before.concat())
        }
        10..15 => uneven(group, kind, root, len, stamp)?,
        _ => {
            let (mut total, mut data) = (block(me), if me == root { block(root) } else { vec![0; len] });
            group.scope(|scope| {
                let sum = scope.iallreduce(&mut total, Sum)?;
                let copy = scope.ibroadcast(&mut data, root)?;
                scope.wait(copy)?;
                scope.wait(sum)
            })?;
            ([total, data].concat(), [sums(), block(root)].concat())
        }
    };
    promise!(got == expected, "together: call {kind} of {len} elements gave the wrong result");
    Ok(())
}

/// A call on blocks of different lengths, of at most `len` elements each: what came out of it, and what must.
fn uneven(group: &Group<'_>, kind: usize, root: usize, len: usize, stamp: u64) -> Outcome<(Vec<u64>, Vec<u64>)> {
    let (me, size) = (group.rank(), group.size());
    // Of one member for another.
    let count = |from: usize, to: usize| value(stamp, from, 7 * to) as usize % (len + 1);
    let block = |from: usize, to: usize| -> Vec<u64> {
        (0..count(from, to)).map(|index| value(stamp, from, 10_000 * to + index)).collect()
    };
    let counts: Vec<usize> = (0..size).map(|from| count(from, 0)).collect();
    let all = || -> Vec<u64> { (0..size).flat_map(|from| block(from, 0)).collect() };
    Ok(match kind {
        10 => {
            let mut got = vec![0; if me == root { counts.iter().sum() } else { 0 }];
            group.gatherv(&block(me, 0), &mut got, &counts, root)?;
            if me == root { (got, all()) } else { (vec![], vec![]) }
        }
        11 => {
            let mut got = vec![0; counts.iter().sum()];
            group.allgatherv(&block(me, 0), &mut got, &counts)?;
            (got, all())
        }
        12 => {
            let (given, mut mine) = (if me == root { all() } else { vec![] }, vec![0; counts[me]]);
            group.scatterv(&given, &counts, &mut mine, root)?;
            (mine, block(me, 0))
        }
        13 => {
            let (gives, takes): (Vec<_>, Vec<_>) = (0..size).map(|other| (count(me, other), count(other, me))).unzip();
            let given: Vec<u64> = (0..size).flat_map(|to| block(me, to)).collect();
            let mut got = vec![0; takes.iter().sum()];
            group.alltoallv(&given, &gives, &mut got, &takes)?;
            (got, (0..size).flat_map(|from| block(from, me)).collect())
        }
        _ => {
            let (total, start) = (counts.iter().sum(), counts[..me].iter().sum::<usize>());
            let given: Vec<u64> = (0..total).map(|index| value(stamp, me, index)).collect();
            let mut mine = vec![0; counts[me]];
            group.reduce_scatter(&given, &mut mine, &counts, Sum)?;
            let sum = |index| (0..size).fold(0, |sum: u64, member| sum.wrapping_add(value(stamp, member, index)));
            (mine, (start..start + counts[me]).map(sum).collect())
        }
    })
}

/// One member asks for something else: all are told, nobody waits for ever. The memory of such a group does not come back.
pub fn disagreement(job: &Job, seed: u64) -> Outcome {
    let mut chance = Chance::new(seed, 8);
    let (odd, kind) = (chance.below(job.size()), chance.below(4));
    let group = job.new_world()?;
    let is_odd = job.rank() == odd;
    let mut data = vec![1u64; 4];
    let called = match kind {
        0 if is_odd => group.barrier(),
        3 if is_odd => group.allreduce(&mut data, Max),
        1 => group.allreduce(&mut data[..if is_odd { 3 } else { 4 }], Sum),
        2 => group
            .allgather(&[1u64; 4][..if is_odd { 2 } else { 4 }], &mut vec![0; if is_odd { 2 } else { 4 } * job.size()]),
        _ => group.allreduce(&mut data, Sum),
    };
    // A member whose own part was complete before may learn of it in its next call.
    let called = called.and_then(|()| group.barrier());
    match called {
        Err(Error::Mismatch { .. }) => {}
        Ok(()) => return Err(Trouble::Broken("together: calls that do not fit together succeeded".into())),
        Err(other) => return Err(other.into()),
    }
    Ok(job.barrier()?)
}
