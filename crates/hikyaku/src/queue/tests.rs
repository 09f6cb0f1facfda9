//! Queues in virtual time: ranks are killed between any two steps, networks lose frames.

use crate::job::trial::{Trial, check, may_end};
use crate::planted::{Bug, catches};
use crate::sim::{Faults, Machine, Sim};
use crate::transport::sim::chance::Chance;
use crate::{Error, Job, Queue, Result};
use std::time::Duration;

/// Who, the how manyth, and what follows from both.
type Load = [u64; 5];

fn load(rank: usize, number: u64) -> Load {
    let mix = ((rank as u64 + 1) * 0x9e37_79b9) ^ (number * 0x85eb_ca6b);
    [rank as u64, number, mix, !mix, mix.rotate_left(17)]
}

fn produce(job: &Job, queue: &Queue<'_, Load>, items: u64, chance: &mut Chance) -> Result<()> {
    let mut next = 0;
    while next < items {
        let many: Vec<Load> = (next..items.min(next + chance.below(30))).map(|n| load(job.rank(), n)).collect();
        match chance.below(5) {
            0 => next += queue.try_push(load(job.rank(), next))? as u64,
            1 => match queue.push_for(load(job.rank(), next), Duration::from_micros(chance.below(20))) {
                Ok(()) => next += 1,
                Err(Error::Timeout { .. }) => {}
                Err(error) => return Err(error),
            },
            2 => next += queue.try_push_many(&many)? as u64,
            3 => {
                queue.push_many(&many)?;
                next += many.len() as u64;
            }
            _ => {
                queue.push(load(job.rank(), next))?;
                next += 1;
            }
        }
        for _ in 0..chance.below(4) * chance.below(30) {
            job.progress();
        }
    }
    Ok(())
}

/// Pops until it has all items of those who live; how many of each rank.
fn consume(job: &Job, queue: &mut Queue<'_, Load>, items: u64, chance: &mut Chance) -> Result<Vec<u64>> {
    let mut next = vec![0; job.size()];
    next[job.rank()] = items;
    let mut check = |rank: usize, got: Load| {
        assert_eq!(got, load(rank, next[rank]), "of rank {rank}");
        next[rank] += 1;
        next.iter().all(|next| *next == items)
    };
    loop {
        let many = 1 + chance.below(20) as usize;
        let is_over = match chance.below(4) {
            0 => match queue.pop_for(Duration::from_micros(1 + chance.below(30))) {
                Err(Error::Timeout { .. }) => false,
                item => item.map(|item| check(item.rank(), item.get()))?,
            },
            1 => match queue.try_pop()? {
                Some(item) => check(item.rank(), item.get()),
                None => false,
            },
            2 => {
                let popped = queue.pop_many(many);
                match popped {
                    Err(error) if error.is_end_of_peer() => break,
                    popped => {
                        let popped = popped?;
                        let over = popped.iter().fold(false, |_, item| check(popped.rank(), item));
                        if chance.below(3) == 0 {
                            std::mem::forget(popped);
                        }
                        over
                    }
                }
            }
            _ => match queue.pop() {
                Err(error) if error.is_end_of_peer() => break,
                item => item.map(|item| check(item.rank(), item.get()))?,
            },
        };
        if is_over {
            break;
        }
        for _ in 0..chance.below(3) * chance.below(20) {
            job.progress();
        }
    }
    Ok(next)
}

/// A run in which ranks may die: what comes of each rank is what it has pushed, in order, from the first item on, and all of it unless it
/// has died.
fn run(seed: u64) -> Result<()> {
    let mut chance = Chance::new(seed);
    let size = if chance.below(3) == 0 { 9 + chance.below(6) } else { 2 + chance.below(5) } as usize;
    let items = 10 + chance.below(80);
    let (owner, capacity) = (chance.below(size as u64) as usize, 1 + chance.below(40) as usize);
    let Trial { sim, hosts, mortal } = Trial::new(seed, size, Duration::from_micros(100), &mut chance);
    let ran = sim.time_limit(Duration::from_secs(20)).run_mortal(|job| -> Result<Vec<u64>> {
        let mut queue = job.queue::<Load>(owner, capacity)?;
        let mut chance = Chance::new(seed << 8 | job.rank() as u64);
        match job.rank() == owner {
            true => consume(job, &mut queue, items, &mut chance),
            false => produce(job, &queue, items, &mut chance).map(|()| Vec::new()),
        }
    })?;
    for (rank, result) in ran.results.into_iter().enumerate() {
        assert!(may_end(mortal, rank, &result), "rank {rank}: {result:?}");
        if let Some(Ok(got)) = result
            && rank == owner
        {
            let is_whole = |(rank, count): (usize, u64)| {
                count == items || mortal.is_some_and(|mortal| rank == mortal || hosts > 1)
            };
            assert!(got.iter().copied().enumerate().all(is_whole), "{got:?} of {items}");
        }
    }
    Ok(())
}

#[test]
fn items_come_once_and_in_order_whoever_dies() {
    check(0..250, run);
}

/// After changes to queues: `cargo test --release -p hikyaku queue:: -- --ignored`.
#[test]
#[ignore = "minutes"]
fn items_come_once_and_in_order_in_many_runs() {
    check(0..10_000, run);
}

#[test]
fn planted_bugs_are_caught() {
    catches(|| check(0..20, run), &[Bug::StampBeforeItem, Bug::RoomToldEarly]);
    catches(|| (0..3).for_each(trickle), &[Bug::DoorbellUnrung]);
}

/// Many ranks of one host push now and then: the consumer leaves their lanes alone, and hears of each item all the same.
fn trickle(seed: u64) {
    let (size, items) = (12, 20);
    let sim = Sim::new(Machine::plain(), size, seed).hosts(|_| 0).time_limit(Duration::from_secs(1));
    let ran = sim.run(|job| -> Result<()> {
        let mut queue = job.queue::<u64>(0, 4)?;
        let mut chance = Chance::new(seed << 8 | job.rank() as u64);
        if job.rank() > 0 {
            for number in 0..items {
                (0..chance.below(400)).for_each(|_| _ = job.progress());
                queue.push(number)?;
            }
            return job.barrier();
        }
        let mut next = vec![0; size];
        for _ in 0..items * (size as u64 - 1) {
            // Now and then it looks without waiting, for so long that lanes are left alone.
            let looks = chance.below(2) * 100;
            for look in 0..=looks {
                let item = if look < looks { queue.try_pop()? } else { Some(queue.pop()?) };
                if let Some(item) = item {
                    assert_eq!(item.get(), next[item.rank()]);
                    next[item.rank()] += 1;
                    break;
                }
            }
        }
        job.barrier()
    });
    ran.unwrap().results.into_iter().for_each(|result| result.unwrap());
}

#[test]
fn idle_producers_are_heard() {
    (10..22).for_each(trickle);
}

/// More than a rank believes it could have written is not taken for room.
#[test]
fn an_owner_that_tells_nonsense_is_found_out() {
    let told = |value: u64| {
        let results = crate::local(1, |job| {
            let queue = super::RawQueue::new(job, 0, 3, 8)?;
            while queue.try_push(job, &[0; 8])? {}
            job.word(queue.told_word(), value)?;
            queue.try_push(job, &[0; 8])
        });
        results.unwrap().remove(0)
    };
    assert!(matches!(told(2), Ok(true)));
    for nonsense in [10, u64::MAX, 1 << 63, u64::MAX - 1] {
        assert!(matches!(told(nonsense), Err(Error::PeerMisbehaved { rank: 0, .. })), "{nonsense}");
    }
}

/// What told producers of their room is there before the memory is used for something else.
#[test]
fn nothing_comes_after_the_end_of_a_queue() {
    for seed in 0..100 {
        let faults = Faults { reordering: 0.3, ..Faults::of_wire(0.2) };
        let sim = Sim::new(Machine::plain(), 4, seed).hosts(|rank| rank).faults(faults);
        let ran = sim.run(|job| -> Result<()> {
            for _ in 0..2 {
                let mut queue = job.queue::<u64>(0, 3)?;
                if job.rank() == 0 {
                    for _ in 0..9 {
                        queue.pop()?;
                    }
                } else {
                    (0..3).try_for_each(|item| queue.push(item))?;
                }
                queue.free()?;
                let table = job.symmetric::<u64>(512)?;
                job.barrier()?;
                table.write(0, &[0; 512]);
                (0..3).try_for_each(|_| job.barrier())?;
                assert_eq!(table.to_vec(), [0; 512], "seed {seed}");
                job.free(table)?;
            }
            Ok(())
        });
        ran.unwrap().results.into_iter().for_each(|result| result.unwrap());
    }
}
