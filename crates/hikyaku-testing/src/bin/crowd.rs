//! One rank of a job with far more ranks than cores, as `tests/crowd.rs` says: what it costs to start, to meet, and to have
//! slots that are not used.
//!
//! `crowd ROLE [ROUNDS [REPETITIONS]]`; rank 0 prints the figures.

use hikyaku::collective::{Max, Sum};
use hikyaku::{Group, Job, Result};
use std::time::Instant;

const SLOTS: usize = 1024;
const BLOCK_BYTES: usize = 1024;

fn main() {
    hikyaku_testing::watchdog::watch_process();
    let arguments: Vec<String> = std::env::args().collect();
    let number = |index: usize| arguments.get(index).map_or(1, |text| text.parse().unwrap());
    let job = Job::start().unwrap();
    match arguments[1].as_str() {
        "start" => job.messages(SLOTS).and_then(|_| job.barrier()),
        "memory" => memory(&job),
        "barrier" => measure(&job, "barrier", number(2), number(3), |world| world.barrier()),
        "allreduce" => {
            measure(&job, "allreduce", number(2), number(3), |world| world.allreduce(&mut [job.rank() as u64], Sum))
        }
        "alltoall" => {
            let mut blocks = vec![job.rank() as u8; job.size() * BLOCK_BYTES];
            let mut into = blocks.clone();
            measure(&job, "alltoall", number(2), number(3), |world| {
                blocks.fill(world.rank() as u8);
                world.alltoall(&blocks, &mut into)?;
                assert!(into.chunks(BLOCK_BYTES).enumerate().all(|(rank, block)| block[1] == rank as u8));
                Ok(())
            })
        }
        "lock" => take_turns(&job, number(2) as u64),
        other => panic!("no such role: {other}"),
    }
    .unwrap();
}

/// All want a lock all the time. Its turns are counted by whoever is inside, so the count is the number of the turn: none was given out of
/// the order in which they were asked for. Prints how many waits there were in which more turns passed than there are other ranks.
fn take_turns(job: &Job, turns: u64) -> Result<()> {
    let (mutex, words) = (job.mutex(0)?, job.symmetric::<u64>(2)?);
    let (count, late) = (words.at(0, 0), words.at(0, 1));
    job.barrier()?;
    for _ in 0..turns {
        let before = job.pull_one(count)?;
        let guard = mutex.lock()?;
        let turn = job.pull_one(count)?;
        assert_eq!(guard.turn(), turn, "a turn out of order");
        job.push(count, &[turn + 1])?;
        guard.unlock()?;
        // Also if this rank has lost its core before it came to ask for the lock.
        if turn - before >= job.size() as u64 {
            job.fetch_add(late, 1)?;
        }
    }
    job.barrier()?;
    if job.rank() == 0 {
        println!("late {} of {}", job.pull_one(late)?, job.pull_one(count)?);
    }
    job.barrier()
}

/// Talks with a few ranks in a few slots, and gives the private memory of the rank that has most of it.
fn memory(job: &Job) -> Result<()> {
    let (messages, world) = (job.messages(SLOTS)?, job.new_world()?);
    let (rank, size) = (job.rank(), job.size());
    for distance in 1..=4.min(size - 1) {
        let (next, before) = ((rank + distance) % size, (rank + size - distance) % size);
        for slot in [0, 1, 100 * distance, SLOTS - distance] {
            for bytes in [8, 2000] {
                let mut got = vec![0; bytes];
                messages.send(&vec![rank as u8; bytes], next, slot)?;
                messages.recv(&mut got, before, slot)?;
                assert!(got.iter().all(|byte| *byte == before as u8));
            }
        }
    }
    world.barrier()?;
    let mut most = [private_bytes()];
    world.allreduce(&mut most, Max)?;
    if rank == 0 {
        println!("memory {} KB private", most[0] / 1024);
    }
    job.barrier()
}

/// What this process has for itself, as the kernel counts it.
fn private_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let fields = text.lines().filter(|line| line.starts_with("Private_"));
    let kilobytes = fields.map(|line| line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap());
    kilobytes.sum::<u64>() * 1024
}

/// The time of one round, in each of some repetitions.
fn measure(
    job: &Job,
    name: &str,
    rounds: usize,
    repetitions: usize,
    mut round: impl FnMut(&Group<'_>) -> Result<()>,
) -> Result<()> {
    let world = job.new_world()?;
    for _ in 0..repetitions {
        world.barrier()?;
        let begin = Instant::now();
        for _ in 0..rounds {
            round(&world)?;
        }
        if job.rank() == 0 {
            println!("{name} {:.1} us", begin.elapsed().as_secs_f64() * 1e6 / rounds as f64);
        }
    }
    job.barrier()
}
