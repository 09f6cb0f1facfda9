//! Jobs of far more ranks than cores: what a rank takes for itself does not grow with slots and ranks it has nothing to do with.
//! The program `crowd` does the work and checks itself. And simulated jobs of many hosts:
//!
//! `cargo test --release -p hikyaku-testing --test crowd -- --ignored --nocapture` runs 4,096 simulated ranks; do that after
//! changes to the simulator, to start and end of ranks, or to what is kept per rank.

use hikyaku::collective::Sum;
use hikyaku::launch::{Ending, Launcher};
use hikyaku::sim::{Machine, Sim};
use hikyaku::{Job, Result, Until};
use hikyaku_testing::watchdog::watched;
use std::time::{Duration, Instant};

/// What rank 0 prints.
fn run(arguments: &[&str], ranks: usize) -> String {
    let what = format!("{arguments:?}, {ranks} ranks");
    let launcher = Launcher::new(env!("CARGO_BIN_EXE_crowd")).args(arguments).ranks(ranks);
    let outcome = watched(&what, || launcher.capture(true).run().unwrap());
    for (rank, (ending, output)) in outcome.endings.iter().zip(&outcome.output).enumerate() {
        let errors = String::from_utf8_lossy(&output.errors);
        assert_eq!(*ending, Ending::Exited(0), "{what}, rank {rank}: {errors}");
    }
    let output = String::from_utf8_lossy(&outcome.output[0].output).into_owned();
    print!("{what}: {output}");
    output
}

/// With 1,024 slots, after it has talked with four ranks in a few of them.
#[test]
fn a_rank_of_many_takes_little_memory_for_itself() {
    let told = run(&["memory"], 96);
    let kilobytes: u64 = told.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kilobytes <= 4096, "{told}");
}

#[test]
fn blocks_of_many_ranks_reach_each_other() {
    run(&["alltoall", "2", "2"], 40);
}

/// Processes on real cores, far fewer than there are ranks. One that loses its core between its look at the count and its place in the line
/// sees more turns pass than it waits for; that is rare, where a lock that is not fair would make most wait for long.
#[test]
fn nobody_waits_for_a_lock_for_more_turns_than_there_are_ranks() {
    let told = run(&["lock", "400"], 16);
    let numbers: Vec<u64> = told.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [late, all] = numbers[..] else { panic!("{told}") };
    assert_eq!(all, 16 * 400);
    assert!(late * 200 <= all, "{told}");
}

/// One rank's part: barriers, short reductions, and a ring of messages and words.
fn meet(job: &Job) -> Result<()> {
    let (rank, size) = (job.rank(), job.size());
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
    let (world, messages, word) = (job.new_world()?, job.messages(4)?, job.symmetric::<u64>(1)?);
    for round in 1..=3u64 {
        job.barrier()?;
        world.barrier()?;
        let mut sum = [rank as u64];
        world.allreduce(&mut sum, Sum)?;
        assert_eq!(sum[0], (size * (size - 1) / 2) as u64);
        let mut got = [0u64; 2];
        messages.send(&[rank as u64, round], next, 1)?;
        messages.recv(&mut got, before, 1)?;
        assert_eq!(got, [before as u64, round]);
        job.word(word.at(next, 0), round)?;
        job.wait(word.here(0), Until::AtLeast(round))?;
    }
    job.barrier()
}

/// Hosts of 16 ranks each, all in one thread: gives the time it computed, and the memory of a rank, its stack and all.
fn simulate(ranks: usize) -> (Duration, u64) {
    let (begin, computed, before) = (Instant::now(), computed(), peak_bytes());
    let sim = Sim::new(Machine::plain(), ranks, 1).hosts(|rank| rank / 16);
    let run = sim.run(meet).unwrap();
    assert!(run.results.into_iter().all(|result| result.is_ok()));
    let (took, bytes) = (self::computed() - computed, (peak_bytes() - before) / ranks as u64);
    let (all, events, elapsed) = (begin.elapsed(), run.events, run.elapsed);
    println!(
        "{ranks} ranks: computed {took:?} in {all:?} for {events} events, {elapsed:?} of virtual time, {bytes} bytes per rank"
    );
    (took, bytes)
}

/// How long this thread has had a core: others may be busy, too.
fn computed() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The most memory this process ever had.
fn peak_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let kilobytes = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
    kilobytes.map_or(0, |kilobytes: u64| kilobytes * 1024)
}

#[test]
fn simulated_ranks_of_many_hosts_take_little_memory() {
    let (_, bytes) = watched("16 hosts", || simulate(256));
    assert!(bytes < 512 << 10, "{bytes}");
}

#[test]
#[ignore = "takes a minute"]
fn four_thousand_simulated_ranks_on_256_hosts() {
    let (took, bytes) = simulate(4096);
    assert!(took < Duration::from_secs(60) && bytes < 1 << 20, "{took:?}, {bytes} bytes per rank");
}
