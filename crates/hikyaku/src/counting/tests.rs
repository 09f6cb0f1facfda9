//! Counted barriers in virtual time: ranks are killed between any two steps, networks lose frames.

use super::CountingBarrier;
use crate::ni::arrival::COUNT;
use crate::ni::{Symmetric, Target};
use crate::planted::{Bug, catches, with_bug};
use crate::sim::{Crash, Faults, Machine, Sim};
use crate::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

const ROUNDS: u64 = 5;

fn words<'b>(barrier: &'b CountingBarrier<'_>) -> &'b Symmetric<u64> {
    &barrier.raw.words
}

/// A run in which ranks may die: every wait ends, nobody passes before all have arrived, and fails only because of one that is gone.
fn run(seed: u64) -> Result<()> {
    let (size, hosts) = (2 + seed as usize % 5, 1 + seed as usize % 3);
    let (manager, mortal) = (seed as usize / 7 % size, seed as usize / 11 % size);
    let at = Duration::from_nanos(seed * 7919 % 40_000);
    let dies = !seed.is_multiple_of(3);
    let crashes = if dies { vec![Crash { rank: mortal, at }] } else { Vec::new() };
    let wire = if seed.is_multiple_of(4) { Faults::of_wire(0.05) } else { Faults::default() };
    let sim = Sim::new(Machine::plain(), size, seed).hosts(|rank| rank % hosts);
    let sim = sim.faults(Faults { crashes, ..wire }).time_limit(Duration::from_secs(20));
    let ran = sim.run_mortal(|job| -> Result<u64> {
        let table = job.symmetric::<u64>(size)?;
        let barrier = job.counting_barrier(manager)?;
        for round in 1..=ROUNDS {
            for rank in 0..size {
                job.push(table.at(rank, job.rank()), &[round])?;
            }
            barrier.post()?;
            for _ in 0..(seed + round) % 3 {
                job.progress();
            }
            barrier.wait()?;
            let seen = table.to_vec();
            assert!(seen.iter().all(|value| *value >= round), "seed {seed}, round {round}: {seen:?}");
        }
        Ok(ROUNDS)
    })?;
    for (rank, result) in ran.results.into_iter().enumerate() {
        match result {
            Some(Err(error)) => {
                let is_of_mortal = error.rank() == Some(mortal) && dies;
                // Whoever failed because of it has left.
                let followed = dies && matches!(error, Error::PeerLeft { .. });
                assert!(is_of_mortal || followed, "seed {seed}, rank {rank}: {error}");
            }
            Some(Ok(_)) => {}
            None => assert!(dies && rank == mortal, "seed {seed}: rank {rank} is gone"),
        }
    }
    Ok(())
}

#[test]
fn nobody_waits_in_vain_whoever_dies() {
    (0..300).for_each(|seed| run(seed).unwrap_or_else(|error| panic!("seed {seed}: {error}")));
}

/// Nobody waits for an answer when it arrives, and from the last arrival on a barrier takes two ways between hosts and no third.
fn the_interface_releases_all() {
    let machine = Machine::plain();
    let way = Duration::from_secs_f64(machine.link.latency / 1e6);
    // Each of them is not on the manager's host.
    let late = [1, 5, 5];
    for hosts in [2, 6] {
        let sim = Sim::new(machine.clone(), 6, 1).hosts(|rank| rank % hosts);
        let ran = sim.run(|job| -> Result<Vec<(Instant, Instant)>> {
            let barrier = job.counting_barrier(0)?;
            let mut times = Vec::new();
            for last in late {
                job.barrier()?;
                let begin = job.now() + way * 100;
                while job.rank() == last && job.now() < begin {
                    job.progress();
                }
                let begin = job.now();
                barrier.post()?;
                let posted = job.now() - begin;
                assert!(posted < way, "{posted:?} for an arrival, one way {way:?}");
                barrier.wait()?;
                times.push((begin, job.now()));
            }
            barrier.free().map(|()| times)
        });
        let times: Vec<_> = ran.unwrap().results.into_iter().map(Result::unwrap).collect();
        for (round, last) in late.into_iter().enumerate() {
            let took = times.iter().map(|times| times[round].1).max().unwrap() - times[last][round].0;
            // Each way takes some two thirds longer, with what hosts and interfaces spend.
            assert!(took < way * 4, "{took:?} from the last arrival on, one way {way:?}");
        }
    }
}

#[test]
fn arrivals_are_counted_and_all_released_by_the_interface() {
    catches(the_interface_releases_all, &[Bug::ReleasesKept]);
}

/// Whoever has arrived may free the barrier, and nobody writes to its memory any more.
fn freed_memory_is_left_alone() {
    for seed in 0..60 {
        let (size, hosts) = (3 + seed as usize % 4, 2 + seed as usize % 5);
        let sim = Sim::new(Machine::plain(), size, seed).hosts(|rank| rank % hosts);
        let ran = sim.faults(Faults::of_wire(0.1)).run(|job| -> Result<()> {
            for round in 0..5 {
                let barrier = job.counting_barrier(round % size)?;
                barrier.post()?;
                barrier.free()?;
                let words = job.symmetric::<u64>(2 + size)?;
                for _ in 0..3 {
                    job.barrier()?;
                    assert_eq!(words.to_vec(), vec![0; 2 + size], "seed {seed}, round {round}");
                }
                job.free(words)?;
            }
            Ok(())
        });
        ran.unwrap().results.into_iter().for_each(Result::unwrap);
    }
}

#[test]
fn a_barrier_is_freed_when_nobody_writes_to_it_any_more() {
    catches(freed_memory_is_left_alone, &[Bug::ReleasesUnawaited]);
}

/// A rank that leaves after it has arrived was there, though it has not waited until that was counted.
#[test]
fn whoever_has_arrived_may_leave() {
    for seed in 0..100 {
        let (size, hosts) = (2 + seed as usize % 5, 1 + seed as usize % 3);
        let sim = Sim::new(Machine::plain(), size, seed).hosts(|rank| rank % hosts);
        let ran = sim.faults(Faults::of_wire(0.1)).run(|job| -> Result<()> {
            // The manager stays as long as it is needed.
            let (manager, gone) = (seed as usize % size, job.symmetric::<u64>(1)?);
            let barrier = job.counting_barrier(manager)?;
            barrier.post()?;
            if job.rank() != manager && !(job.rank() as u64 + seed).is_multiple_of(3) {
                return Ok(());
            }
            barrier.wait()?;
            job.fetch_add(gone.at(manager, 0), 1)?;
            let stay = (0..size).filter(|rank| *rank == manager || (*rank as u64 + seed).is_multiple_of(3)).count();
            while job.rank() == manager && job.pull_one(gone.here(0))? < stay as u64 {
                job.progress();
            }
            Ok(())
        });
        for (rank, result) in ran.unwrap().results.into_iter().enumerate() {
            result.unwrap_or_else(|error| panic!("seed {seed}, rank {rank}: {error}"));
        }
    }
}

/// Nothing that a rank says of the words of a barrier is believed.
#[test]
fn arrivals_at_no_barrier_are_refused() {
    let ran = Sim::new(Machine::plain(), 3, 1).run(|job| -> Result<()> {
        let (ni, barrier) = (&job.ni, job.counting_barrier(0)?);
        let heap = ni.memory.layout.heap_bytes();
        let nowhere = [
            Target::in_heap(0, heap - 8),
            Target::in_heap(0, usize::MAX - 7),
            Target::in_heap(0, 4),
            Target::in_area(0, 0, 7, None, 0),
            Target::in_window(0, 7, 0),
            Target::pointed(0, 0),
            Target::hearing(0, 0, 0),
        ];
        for at in nowhere {
            assert!(ni.roll(&at).is_none(), "{at:?}");
            if job.rank() > 0 {
                job.initiator.arrive(at, 1)?;
            }
        }
        barrier.post()?;
        barrier.wait()?;
        // Twice is once.
        barrier.post()?;
        if job.rank() > 0 {
            job.arrive(words(&barrier), 0, 2)?;
            job.arrive(words(&barrier), 0, 1)?;
        }
        barrier.wait()?;
        job.barrier()?;
        assert_eq!(job.pull_one(words(&barrier).at(0, COUNT))?, 6);
        barrier.free()
    });
    ran.unwrap().results.into_iter().for_each(Result::unwrap);
}

#[test]
fn planted_bugs_are_caught() {
    let caught =
        with_bug(Bug::ArrivalsMiscounted, || (0..50).any(|seed| catch_unwind(AssertUnwindSafe(|| run(seed))).is_err()));
    assert!(caught);
}
