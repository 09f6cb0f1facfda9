//! Copies between ranks, in virtual time: in many layouts of hosts, and while ranks die or lose each other at every moment.

use hikyaku::sim::{Crash, Faults, Machine, NicOrder, Partition, Sim};
use hikyaku::{By, Error, Job, Result, Until};
use hikyaku_testing::netns::Network;
use hikyaku_testing::runner::{self, Kind};
use hikyaku_testing::{Case, Suite, suite};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const LEN: usize = 300_000;

fn cases() -> Vec<&'static Case> {
    let cases: Vec<_> = suite(Suite::Conformance).filter(|case| case.name.starts_with("copies::")).collect();
    assert!(cases.len() >= 10);
    cases
}

/// Where the ranks are, whether frames are lost, and how much may be under way.
fn sim(ranks: usize, seed: u64, hosts: usize) -> Sim {
    let faults = if seed.is_multiple_of(2) { Faults::default() } else { Faults::of_wire(0.05) };
    let buffers = [None, Some(1), Some(3)][seed as usize / 2 % 3];
    let host_of =
        move |rank: usize| if seed % 4 < 2 { rank % hosts.min(ranks) } else { rank * hosts.min(ranks) / ranks };
    Sim::new(Machine::plain(), ranks, seed).hosts(host_of).faults(Faults { buffers, ..faults })
}

#[test]
fn copies_in_every_layout() {
    for hosts in 2..=4 {
        for seed in [hosts as u64, hosts as u64 + 3] {
            let kind = |ranks, _| sim(ranks, seed, hosts);
            runner::check(&format!("on {hosts} hosts with seed {seed}"), &Kind::Simulated(&kind), cases(), &[]);
        }
    }
}

#[test]
fn copies_where_the_network_reaches_memory() {
    for order in [NicOrder::InOrder, NicOrder::AnyOrder, NicOrder::TransfersOnly] {
        let kind = |ranks, _| sim(ranks, 5, 3).remote_memory(order);
        runner::check(&format!("{order:?}"), &Kind::Simulated(&kind), cases(), &[]);
    }
}

#[test]
fn copies_over_three_hosts() {
    let Some(network) = Network::new(3) else { return };
    let launcher = |ranks: usize, _| {
        let host_of: Vec<_> = (0..ranks).map(|rank| rank % 3).collect();
        network.launcher(env!("CARGO_BIN_EXE_conformance"), env!("CARGO_BIN_EXE_afar"), &host_of)
    };
    runner::check("over 3 hosts", &Kind::Processes(&launcher), cases(), &[]);
}

/// Rank 0 copies from rank 1 to rank 2, again and again, until one of them is gone: it hears of it, whoever it is. Rank 2 sees no word
/// before its data.
fn copy_until_trouble(job: &Job) -> Result<()> {
    let (table, flag) = (job.symmetric::<u64>(LEN / 8).unwrap(), job.symmetric::<u64>(1).unwrap());
    let stop = job.symmetric::<u64>(1).unwrap();
    table.write(0, &[7; LEN / 8]);
    job.barrier()?;
    match job.rank() {
        0 => {
            for round in 1.. {
                let (from, to) = (table.at(1, 0), table.at(2, 0));
                job.push(from, &[round])?;
                job.push(table.at(1, LEN / 8 - 1), &[round])?;
                job.copy_notify(from, to, LEN / 8, flag.at(2, 0), round)?;
                if round % 3 == 0 {
                    job.sync()?
                } else {
                    job.flush(2)?
                }
                assert_eq!(job.pull_one(table.at(2, LEN / 8 - 1))?, round);
            }
            Ok(())
        }
        2 => loop {
            let seen = flag.get(0);
            let now = job.wait_from(By::Rank(0), flag.here(0), Until::NotEqual(seen))?;
            assert!(table.get(0) >= now && table.get(LEN / 8 - 1) >= now, "the word {now} came first");
        },
        _ => job.wait_from(By::Rank(0), stop.here(0), Until::Equal(1)).map(drop),
    }
}

/// The result of rank 0, and when the run was over.
fn trouble(hosts: fn(usize) -> usize, faults: Faults, seed: u64) -> (Option<Result<()>>, Duration) {
    let sim = Sim::new(Machine::plain(), 4, seed).hosts(hosts).faults(faults).time_limit(60 * SECOND);
    let mut run = sim.run_mortal(copy_until_trouble).unwrap();
    (run.results.swap_remove(0), run.elapsed)
}

#[test]
fn copies_end_when_a_rank_dies() {
    let layouts: [fn(usize) -> usize; 4] = [|rank| rank, |rank| rank.min(1), |rank| rank % 2, |rank| rank / 2];
    for (layout, hosts) in layouts.into_iter().enumerate() {
        for moment in 0..12 {
            // Memory of near ranks stays where it is.
            let victim = if hosts(1) == hosts(0) {
                2
            } else if hosts(2) == hosts(0) {
                1
            } else {
                1 + moment as usize % 2
            };
            let at = Duration::from_micros(300 + 131 * moment);
            let wire = if moment % 3 == 0 { Faults::of_wire(0.02) } else { Faults::default() };
            let (result, _) = trouble(hosts, Faults { crashes: vec![Crash { rank: victim, at }], ..wire }, moment);
            let result = result.expect("rank 0 lives");
            assert!(
                matches!(result, Err(Error::PeerDead { rank }) if rank == victim),
                "layout {layout}, moment {moment}, rank {victim}: {result:?}"
            );
        }
    }
}

#[test]
fn copies_end_when_a_rank_is_cut_off() {
    for moment in 0..20 {
        let victim = 1 + moment as usize % 2;
        let (start, both_ways) = (Duration::from_micros(300 + 37 * moment), moment % 4 < 2);
        let cut = Partition { ranks: vec![victim], both_ways, start, end: Duration::MAX };
        let (result, elapsed) = trouble(|rank| rank, Faults { partitions: vec![cut], ..Faults::default() }, moment);
        let result = result.expect("rank 0 lives");
        // The one that was cut off may give up first.
        let named = matches!(result, Err(Error::Unreachable { rank, .. } | Error::PeerLeft { rank }) if rank > 0);
        assert!(named, "moment {moment}, rank {victim}: {result:?}");
        assert!(elapsed < 60 * SECOND, "moment {moment}: {elapsed:?}");
    }
}

/// The initiator dies in the middle: nobody else notices anything, and what was under way is forgotten.
#[test]
fn copies_of_a_rank_that_died_harm_nobody() {
    for moment in 0..10 {
        let at = Duration::from_micros(300 + 137 * moment);
        let faults = Faults { crashes: vec![Crash { rank: 0, at }], ..Faults::default() };
        let sim = Sim::new(Machine::plain(), 4, moment).faults(faults).time_limit(100 * SECOND);
        let run = sim.run_mortal(|job| {
            let (table, other) = (job.symmetric::<u8>(LEN).unwrap(), job.symmetric::<u8>(LEN).unwrap());
            let flag = job.symmetric::<u64>(1).unwrap();
            table.write(0, &vec![job.rank() as u8; LEN]);
            job.barrier().unwrap();
            match job.rank() {
                0 => loop {
                    job.copy(table.at(1, 0), table.at(2, 0), LEN).unwrap();
                },
                3 => {
                    for round in 1..6 {
                        job.copy_notify(table.at(1, 0), other.at(2, 0), LEN, flag.at(2, 0), round)?;
                        job.flush(2)?;
                        assert_eq!(job.pull_one(other.at(2, LEN - 1))?, 1);
                    }
                    job.word(flag.at(1, 0), 1)?;
                    job.word(flag.at(2, 0), 100)
                }
                rank => job.wait_from(By::Rank(3), flag.here(0), Until::Equal([0, 1, 100][rank])).map(drop),
            }
        });
        let results = run.unwrap().results;
        assert!(results[1..].iter().all(|result| matches!(result, Some(Ok(())))), "moment {moment}: {results:?}");
    }
}
