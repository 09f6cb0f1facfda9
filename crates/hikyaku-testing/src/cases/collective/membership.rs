//! Groups: who is in them, how they are made out of others, and how they end.

use hikyaku::Job;
use hikyaku::collective::{Max, Sum};

pub fn world(job: &Job) {
    let world = job.new_world().unwrap();
    assert_eq!((world.rank(), world.size()), (job.rank(), job.size()));
    assert!((0..job.size()).all(|rank| world.world_rank(rank) == Some(rank)));
    assert_eq!(world.world_rank(job.size()), None);
    world.free().unwrap();
}

/// It is made by the first call; after that nobody else is needed for it, it is always the same one, and it takes no more memory.
pub fn the_world_is_made_once(job: &Job) {
    let first = job.world().unwrap();
    assert_eq!((first.rank(), first.size()), (job.rank(), job.size()));
    for turn in 0..=job.size() {
        // Some ask for it more often than others.
        for _ in 0..job.rank() * 1000 {
            assert!(std::ptr::eq(job.world().unwrap(), first));
        }
        let mut sum = [job.rank() as u64];
        match turn % 2 {
            0 => first.allreduce(&mut sum, Sum).unwrap(),
            _ => job.world().unwrap().allreduce(&mut sum, Sum).unwrap(),
        }
        assert_eq!(sum, [(0..job.size() as u64).sum()]);
    }
    // Others are beside it, and outlive nothing of it.
    let (other, half) = (job.new_world().unwrap(), first.split(Some(job.rank() as u64 % 2), 0).unwrap().unwrap());
    first
        .scope(|scope| {
            let mut most = [job.rank() as u64];
            let call = scope.ibarrier()?;
            other.allreduce(&mut most, Max)?;
            half.barrier()?;
            assert_eq!(most, [job.size() as u64 - 1]);
            scope.wait(call)
        })
        .unwrap();
    other.free().unwrap();
    half.free().unwrap();
    job.world().unwrap().barrier().unwrap();
}

pub fn barrier(job: &Job) {
    let seen = job.symmetric::<u64>(job.size()).unwrap();
    let world = job.new_world().unwrap();
    for turn in 1..200 {
        for peer in 0..job.size() {
            job.push(seen.at(peer, job.rank()), &[turn]).unwrap();
        }
        world.barrier().unwrap();
        assert!(seen.to_vec().iter().all(|theirs| *theirs >= turn), "turn {turn}");
    }
}

pub fn by_choice(job: &Job) {
    for modulus in 1..4 {
        let joins = |rank: usize| rank.is_multiple_of(modulus);
        let group = job.group(joins(job.rank())).unwrap();
        assert_eq!(group.is_some(), joins(job.rank()));
        let Some(group) = group else { continue };
        assert_eq!((group.rank(), group.size()), (job.rank() / modulus, job.size().div_ceil(modulus)));
        let mut ranks = vec![0; group.size()];
        group.allgather(&[job.rank()], &mut ranks).unwrap();
        assert!(ranks.iter().enumerate().all(|(member, rank)| *rank == member * modulus));
        assert!((0..group.size()).all(|member| group.world_rank(member) == Some(member * modulus)));
        group.free().unwrap();
    }
    // Nobody at all.
    assert!(job.group(false).unwrap().is_none());
}

pub fn split(job: &Job) {
    let world = job.new_world().unwrap();
    let color = job.rank() as u64 % 3;
    // Those of color 2 join none; the others in the reverse order.
    let part = world.split((color != 2).then_some(color), -(job.rank() as i64)).unwrap();
    assert_eq!(part.is_some(), color != 2);
    if let Some(part) = &part {
        let members: Vec<usize> = (0..job.size()).rev().filter(|rank| *rank as u64 % 3 == color).collect();
        assert_eq!(part.size(), members.len());
        assert_eq!(part.world_rank(part.rank()), Some(job.rank()));
        let mut ranks = vec![0; part.size()];
        part.allgather(&[job.rank()], &mut ranks).unwrap();
        assert_eq!(ranks, members);
        // Again, inside: each one alone, and the first half.
        let alone = part.split(Some(part.rank() as u64), 0).unwrap().unwrap();
        assert_eq!((alone.rank(), alone.size()), (0, 1));
        alone.barrier().unwrap();
        let first = part.split((part.rank() * 2 < part.size()).then_some(5), 0).unwrap();
        if let Some(first) = first {
            let mut sum = [1u32; 100];
            first.allreduce(&mut sum, Sum).unwrap();
            assert_eq!(sum, [part.size().div_ceil(2) as u32; 100]);
            first.free().unwrap();
        }
        alone.free().unwrap();
    }
    // The group it was split from goes on, at the same time.
    let mut sum = [1u64];
    world.allreduce(&mut sum, Sum).unwrap();
    assert_eq!(sum, [job.size() as u64]);
    if let Some(part) = part {
        part.free().unwrap();
    }
    world.free().unwrap();
}

pub fn freed_and_made_again(job: &Job) {
    let world = job.new_world().unwrap();
    for turn in 0..50u64 {
        let group = world.split(Some((job.rank() as u64 + turn) % 2), 0).unwrap().unwrap();
        let mut data = vec![turn; 300];
        group.allreduce(&mut data, Max).unwrap();
        group.broadcast(&mut data, group.size() - 1).unwrap();
        assert!(data.iter().all(|word| *word == turn));
        group.free().unwrap();
    }
}
