//! Regions in virtual time: ranks join, leave, write and are killed between any two steps; networks lose frames.

use crate::planted::{Bug, with_bug};
use crate::sim::{Crash, Faults, Machine, NicOrder, Sim};
use crate::{By, Job, Result, Until};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Elements of each writer.
const ELEMENTS: usize = 40;
const ROUNDS: u64 = 6;

/// One that is certain for this seed and number.
fn chance(seed: u64, number: u64) -> u64 {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 29;
    x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 32)
}

/// What a rank sees of the region in the end, and what it has written of it.
struct Seen {
    all: Vec<u64>,
    own: Vec<u64>,
}

/// Ranks come and go, and each changes elements of its own. In the end all that are left read the same.
fn work(job: &Job, seed: u64, home: usize) -> Result<Seen> {
    let (me, size) = (job.rank(), job.size());
    let region = job.region::<u64>(home, size * ELEMENTS)?;
    let done = job.symmetric::<u64>(size)?;
    let mut own = vec![0; ELEMENTS];
    let mut shared = None;
    for round in 1..=ROUNDS {
        let draw = |number| chance(seed, number * 1000 + round * 100 + me as u64);
        if draw(1) % 3 == 0 {
            drop(shared.take());
        }
        for _ in 0..draw(2) % 4 {
            job.progress();
        }
        let sharing = match shared.take() {
            Some(sharing) => sharing,
            None => region.subscribe()?,
        };
        let mut mine = vec![0; region.len()];
        let mut twin = sharing.read_twin(&mut mine)?;
        // What this rank has written, it sees, however often it has come and gone.
        let seen = &mine[me * ELEMENTS..][..ELEMENTS];
        assert_eq!(seen, own, "seed {seed}, round {round}, rank {me}");
        for index in (0..ELEMENTS).filter(|index| draw(10 + *index as u64) % 3 == 0) {
            own[index] = round * 1000 + index as u64;
        }
        mine[me * ELEMENTS..][..ELEMENTS].copy_from_slice(&own);
        match draw(3) % 2 {
            0 => drop(sharing.write_diff(&mine, &mut twin)?),
            _ => sharing.write(me * ELEMENTS, &own)?,
        }
        sharing.refresh(&mut mine, &mut twin)?;
        shared = Some(sharing);
    }
    let shared = shared.expect("there were rounds");
    // No barrier, which would fail: who is gone keeps nobody here.
    let meet = |stage: u64| {
        for rank in 0..size {
            let _ = job.word(done.at(rank, me), stage);
        }
        for rank in (0..size).filter(|rank| *rank != me) {
            match job.wait_from(By::Rank(rank), done.here(rank), Until::AtLeast(stage)) {
                Err(error) if !error.is_end_of_peer() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    };
    meet(1)?;
    let all = shared.to_vec()?;
    // The home is there as long as somebody may need it.
    meet(2)?;
    Ok(Seen { all, own })
}

fn sim(seed: u64, faults: Faults) -> (Sim, usize) {
    let (size, hosts) = (2 + seed as usize % 5, 1 + seed as usize % 3);
    let sim = Sim::new(Machine::plain(), size, seed).hosts(move |rank| rank % hosts);
    let sim = match chance(seed, 3) % 5 {
        0 => sim.remote_memory(NicOrder::AnyOrder),
        1 => sim.remote_memory(NicOrder::InOrder),
        _ => sim,
    };
    (sim.faults(faults).time_limit(Duration::from_secs(20)), size)
}

fn lossy(seed: u64) -> Faults {
    if seed.is_multiple_of(4) { Faults::of_wire(0.05) } else { Faults::default() }
}

/// Nobody dies: everyone sees what everyone has written.
fn run(seed: u64) {
    let (sim, size) = sim(seed, lossy(seed));
    let home = seed as usize / 7 % size;
    let ran = sim.run(|job| work(job, seed, home)).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let seen: Result<Vec<Seen>> = ran.results.into_iter().collect();
    let seen = seen.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let written: Vec<u64> = seen.iter().flat_map(|seen| seen.own.clone()).collect();
    for (rank, seen) in seen.iter().enumerate() {
        assert_eq!(seen.all, written, "seed {seed}: rank {rank} of {size}, home {home}");
    }
}

/// A rank dies. If it was the home, everyone is told. Otherwise the others go on, and have the same in the end.
fn run_with_a_death(seed: u64) {
    let at = Duration::from_nanos(chance(seed, 1) % 400_000);
    let mortal = seed as usize / 11 % (2 + seed as usize % 5);
    let crashes = vec![Crash { rank: mortal, at }];
    let (sim, size) = sim(seed, Faults { crashes, ..lossy(seed) });
    let home = seed as usize / 7 % size;
    let ran = sim.run_mortal(|job| work(job, seed, home)).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let mut left = Vec::new();
    for (rank, result) in ran.results.into_iter().enumerate() {
        match result {
            None => assert_eq!(rank, mortal, "seed {seed}"),
            Some(Ok(seen)) => left.push((rank, seen)),
            // Whoever failed because of it has left, so it may be another's end.
            Some(Err(error)) => assert!(error.is_end_of_peer(), "seed {seed}, rank {rank}: {error}"),
        }
    }
    if mortal == home {
        return;
    }
    for (rank, seen) in &left {
        let (first, other) = &left[0];
        assert_eq!(seen.all, other.all, "seed {seed}: ranks {rank} and {first}, of {size}, home {home}, {mortal} dies");
        assert_eq!(seen.all[rank * ELEMENTS..][..ELEMENTS], seen.own, "seed {seed}: rank {rank}");
    }
}

#[test]
fn all_have_what_all_have_written() {
    (0..300).for_each(run);
}

#[test]
fn those_who_are_left_agree() {
    (0..1000).for_each(run_with_a_death);
}

#[test]
fn planted_bugs_are_caught() {
    let catches = |bug, run: fn(u64)| {
        let caught = with_bug(bug, || (0..1000).any(|seed| catch_unwind(AssertUnwindSafe(|| run(seed))).is_err()));
        assert!(caught, "{bug:?} was not noticed");
    };
    catches(Bug::JoinedBlindly, run);
    catches(Bug::DirectoryKept, run);
    catches(Bug::HalfUpdateKept, run_with_a_death);
    catches(Bug::UpdateUnannounced, run_with_a_death);
}
