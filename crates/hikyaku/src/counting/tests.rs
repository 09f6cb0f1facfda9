//! Counted barriers in virtual time: ranks are killed between any two steps, networks lose frames.

use crate::planted::{Bug, with_bug};
use crate::sim::{Crash, Faults, Machine, Sim};
use crate::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

const ROUNDS: u64 = 5;

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

#[test]
fn planted_bugs_are_caught() {
    let caught =
        with_bug(Bug::ArrivalsMiscounted, || (0..50).any(|seed| catch_unwind(AssertUnwindSafe(|| run(seed))).is_err()));
    assert!(caught);
}
