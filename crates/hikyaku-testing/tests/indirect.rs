//! Pushes and pulls through pointers and chains in virtual time, while ranks are killed at any moment and networks lose frames.

use hikyaku::sim::{Crash, Faults, Machine, NicOrder, Sim};
use hikyaku::{By, Commands, Error, Job, Pointer, Register, Result, Stride, Until};
use hikyaku_testing::chance::Chance;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bytes of the owner's area for each of the others.
const PART: usize = 9000;
/// Blocks of a chain and the gaps between them.
fn blocks() -> Stride {
    Stride::new(30, 50, PART / 50)
}
const ROUNDS: u64 = 40;

/// What may be written of a part: all of it, or what a chain has.
fn is_target(rank: usize, at: usize) -> bool {
    rank.is_multiple_of(2) || at % 50 < 30
}

/// Rank 0 owns pointers that lead to a part for each of the others: to its bytes, or to a chain that scatters and gathers them. The
/// others write there, and read back what they have written.
fn work(job: &Job, seed: u64, rounds: &AtomicU64) -> Result<()> {
    let (me, size) = (job.rank(), job.size());
    let private = seed.is_multiple_of(3);
    let done = job.symmetric::<u64>(size)?;
    let bytes = size * PART;
    let area = if private { job.register::<u8>(1, vec![0; bytes])? } else { job.area::<u8>(1, bytes)? };
    let mut chains = Vec::new();
    for rank in 1..size {
        let part = area.at(rank * PART);
        let pointer = if rank.is_multiple_of(2) {
            Pointer::to(part)?
        } else {
            let commands = Commands::new().write_blocks(part, blocks())?.read_blocks(part, blocks())?;
            chains.push(job.chain(10 + rank as u32, &commands)?);
            chains[chains.len() - 1].pointer()
        };
        job.set_register(rank, pointer)?;
    }
    job.barrier()?;
    if me > 0 {
        let through = Register { rank: 0, number: me };
        let len = if me.is_multiple_of(2) { PART } else { PART / 50 * 30 };
        for round in 1..=ROUNDS {
            let sent: Vec<u8> = (0..len).map(|at| (at as u64 + round + seed) as u8).collect();
            job.push_indirect(through, &sent)?;
            job.flush(0)?;
            let mut back = vec![0; len];
            job.pull_indirect(through, &mut back)?;
            assert!(back == sent, "seed {seed}, rank {me}, round {round}");
            rounds.fetch_add(1, Ordering::Relaxed);
        }
        job.word(done.at(0, me), 1)?;
        return job.flush(0);
    }
    for rank in 1..size {
        match job.wait_from(By::Rank(rank), done.here(rank), Until::Equal(1)) {
            Err(error) if !error.is_end_of_peer() => return Err(error),
            _ => {}
        }
    }
    // Also what a dead rank has written half is where it may be.
    let content = area.to_vec();
    for (at, byte) in content.iter().enumerate() {
        let (rank, at) = (at / PART, at % PART);
        assert!(*byte == 0 || rank > 0 && is_target(rank, at), "seed {seed}: byte {at} of the part of {rank}");
    }
    Ok(())
}

/// Whether the rank died after some rounds, and before all were over.
fn run(seed: u64) -> bool {
    let mut chance = Chance::new(seed, 12);
    let (size, hosts) = (2 + chance.below(4), 1 + chance.below(3));
    let mortal = chance.below(size);
    let crashes = vec![Crash { rank: mortal, at: Duration::from_nanos(chance.below(600_000) as u64) }];
    let faults = if seed.is_multiple_of(4) { Faults::of_wire(0.05) } else { Faults::default() };
    let sim = Sim::new(Machine::plain(), size, seed).hosts(move |rank| rank % hosts);
    let sim = match chance.below(5) {
        0 => sim.remote_memory(NicOrder::AnyOrder),
        1 => sim.remote_memory(NicOrder::InOrder),
        _ => sim,
    };
    let sim = sim.faults(Faults { crashes, ..faults }).time_limit(Duration::from_secs(20));
    let rounds = AtomicU64::new(0);
    let ran = sim.run_mortal(|job| work(job, seed, &rounds)).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let rounds = rounds.into_inner();
    let is_amid = ran.results[mortal].is_none() && (1..ROUNDS * (size as u64 - 1)).contains(&rounds);
    for (rank, result) in ran.results.into_iter().enumerate() {
        match result {
            None => assert_eq!(rank, mortal, "seed {seed}"),
            Some(Ok(())) => {}
            // Whoever failed because of it has left, so it may be another's end.
            Some(Err(error)) => {
                assert!(error.is_end_of_peer(), "seed {seed}, rank {rank}: {error}");
                let names = |rank| matches!(error, Error::PeerDead { rank: dead } if dead == rank);
                assert!(names(mortal) || matches!(error, Error::PeerLeft { .. }), "seed {seed}, rank {rank}: {error}");
            }
        }
    }
    is_amid
}

#[test]
fn pointers_and_chains_while_ranks_die() {
    let amid = (0..1000).filter(|seed| run(*seed)).count();
    assert!(amid > 300, "only {amid} deaths came amid the work");
}
