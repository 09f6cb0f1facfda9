//! Loops of collective calls in which the one that dies takes part. Every result is compared with what it must be.

use super::Endless;
use hikyaku::collective::Sum;
use hikyaku::{Group, Result};

/// Elements of a short and of a long call.
const SHORT: usize = 4;
const LONG: usize = 50_000;

pub const LOOPS: &[(&str, Endless)] = &[
    ("barrier", |_, ready| for_ever(|_| ready.world.barrier())),
    ("job barrier", |job, _| for_ever(|_| job.barrier())),
    ("broadcast", |_, ready| for_ever(|round| broadcast(&ready.world, round, SHORT))),
    ("long broadcast", |_, ready| for_ever(|round| broadcast(&ready.world, round, LONG))),
    ("reduce", |_, ready| for_ever(|round| reduce(&ready.world, round, SHORT))),
    ("long reduce", |_, ready| for_ever(|round| reduce(&ready.world, round, LONG))),
    ("allreduce", |_, ready| for_ever(|round| allreduce(&ready.world, round, SHORT))),
    ("long allreduce", |_, ready| for_ever(|round| allreduce(&ready.world, round, LONG))),
    ("scan", |_, ready| for_ever(|round| scan(&ready.world, round, 1000))),
    ("gather", |_, ready| for_ever(|round| gather(&ready.world, round, 1000))),
    ("allgather", |_, ready| for_ever(|round| allgather(&ready.world, round, SHORT))),
    ("long allgather", |_, ready| for_ever(|round| allgather(&ready.world, round, LONG))),
    ("scatter", |_, ready| for_ever(|round| scatter(&ready.world, round, 1000))),
    ("alltoall", |_, ready| for_ever(|round| alltoall(&ready.world, round, SHORT))),
    ("long alltoall", |_, ready| for_ever(|round| alltoall(&ready.world, round, LONG))),
    ("alltoallv", |_, ready| for_ever(|round| alltoallv(&ready.world, round))),
    ("reduce_scatter", |_, ready| for_ever(|round| reduce_scatter(&ready.world, round))),
    ("non-blocking barrier", |_, ready| for_ever(|_| ready.world.scope(|scope| scope.wait(scope.ibarrier()?)))),
    ("non-blocking calls", |_, ready| for_ever(|round| under_way(&ready.world, round, SHORT))),
    ("long non-blocking calls", |_, ready| for_ever(|round| under_way(&ready.world, round, LONG))),
    ("symmetric memory", |job, _| for_ever(|_| job.free(job.symmetric::<u64>(1000)?))),
    ("groups", |_, ready| for_ever(|_| ready.world.split(Some(0), 0)?.expect("this rank joins").free())),
];

fn for_ever(mut call: impl FnMut(usize) -> Result<()>) -> Result<()> {
    (0..).try_for_each(&mut call)
}

fn value(rank: usize, round: usize) -> u64 {
    (rank as u64 + 1) * 1000 + round as u64
}

fn sum(ranks: usize, round: usize) -> u64 {
    (0..ranks).map(|rank| value(rank, round)).sum()
}

fn check(got: &[u64], expected: u64, round: usize) {
    assert!(got.iter().all(|word| *word == expected), "round {round}: {} instead of {expected}", got[0]);
}

fn check_blocks(got: &[u64], len: usize, round: usize) {
    got.chunks(len).enumerate().for_each(|(rank, block)| check(block, value(rank, round), round));
}

fn broadcast(world: &Group<'_>, round: usize, len: usize) -> Result<()> {
    let root = round % world.size();
    let mut data = vec![if world.rank() == root { value(root, round) } else { 0 }; len];
    world.broadcast(&mut data, root)?;
    check(&data, value(root, round), round);
    Ok(())
}

fn reduce(world: &Group<'_>, round: usize, len: usize) -> Result<()> {
    let root = round % world.size();
    let mut data = vec![value(world.rank(), round); len];
    world.reduce(&mut data, Sum, root)?;
    if world.rank() == root {
        check(&data, sum(world.size(), round), round);
    }
    Ok(())
}

fn allreduce(world: &Group<'_>, round: usize, len: usize) -> Result<()> {
    let mut data = vec![value(world.rank(), round); len];
    world.allreduce(&mut data, Sum)?;
    check(&data, sum(world.size(), round), round);
    Ok(())
}

fn scan(world: &Group<'_>, round: usize, len: usize) -> Result<()> {
    let mut data = vec![value(world.rank(), round); len];
    world.scan(&mut data, Sum)?;
    check(&data, sum(world.rank() + 1, round), round);
    Ok(())
}

fn gather(world: &Group<'_>, round: usize, len: usize) -> Result<()> {
    let root = round % world.size();
    let mut all = vec![0; if world.rank() == root { len * world.size() } else { 0 }];
    world.gather(&vec![value(world.rank(), round); len], &mut all, root)?;
    check_blocks(&all, len, round);
    Ok(())
}

fn allgather(world: &Group<'_>, round: usize, len: usize) -> Result<()> {
    let mut all = vec![0; len * world.size()];
    world.allgather(&vec![value(world.rank(), round); len], &mut all)?;
    check_blocks(&all, len, round);
    Ok(())
}

fn scatter(world: &Group<'_>, round: usize, len: usize) -> Result<()> {
    let root = round % world.size();
    let all: Vec<u64> = match world.rank() == root {
        true => (0..world.size()).flat_map(|rank| vec![value(rank, round); len]).collect(),
        false => Vec::new(),
    };
    let mut mine = vec![0; len];
    world.scatter(&all, &mut mine, root)?;
    check(&mine, value(world.rank(), round), round);
    Ok(())
}

fn alltoall(world: &Group<'_>, round: usize, len: usize) -> Result<()> {
    let blocks = vec![value(world.rank(), round); len * world.size()];
    let mut got = vec![0; blocks.len()];
    world.alltoall(&blocks, &mut got)?;
    check_blocks(&got, len, round);
    Ok(())
}

/// Of one element from some, and of many from others.
fn alltoallv(world: &Group<'_>, round: usize) -> Result<()> {
    let len = |from: usize| if (from + round).is_multiple_of(2) { SHORT } else { LONG };
    let (rank, size) = (world.rank(), world.size());
    let taken: Vec<usize> = (0..size).map(len).collect();
    let blocks = vec![value(rank, round); len(rank) * size];
    let mut got = vec![0; taken.iter().sum()];
    world.alltoallv(&blocks, &vec![len(rank); size], &mut got, &taken)?;
    let mut rest = &got[..];
    for (from, count) in taken.into_iter().enumerate() {
        let (block, behind) = rest.split_at(count);
        check(block, value(from, round), round);
        rest = behind;
    }
    Ok(())
}

fn reduce_scatter(world: &Group<'_>, round: usize) -> Result<()> {
    let len = if round.is_multiple_of(2) { SHORT } else { LONG };
    let mut mine = vec![0; len];
    world.reduce_scatter_block(&vec![value(world.rank(), round); len * world.size()], &mut mine, Sum)?;
    check(&mine, sum(world.size(), round), round);
    Ok(())
}

/// Several at the same time, some of which nobody waits for.
fn under_way(world: &Group<'_>, round: usize, len: usize) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let root = round % size;
    let mut total = vec![value(rank, round); len];
    let mut copy = vec![if rank == root { value(root, round) } else { 0 }; len];
    let blocks = vec![value(rank, round); len * size];
    let (mut got, mut place) = (vec![0; len * size], vec![value(rank, round); len]);
    world.scope(|scope| {
        let total = scope.iallreduce(&mut total, Sum)?;
        let _ = scope.ibroadcast(&mut copy, root)?;
        let exchange = scope.ialltoall(&blocks, &mut got)?;
        let _ = scope.iscan(&mut place, Sum)?;
        scope.wait(exchange)?;
        scope.wait(total)
    })?;
    check(&total, sum(size, round), round);
    check(&copy, value(root, round), round);
    check_blocks(&got, len, round);
    check(&place, sum(rank + 1, round), round);
    Ok(())
}
