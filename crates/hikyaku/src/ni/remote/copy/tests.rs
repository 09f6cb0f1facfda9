//! Ranks of which each is on a host of its own, over a wire with faults: the rules of copies, and that breaking one is noticed.

use crate::planted::{Bug, catches};
use crate::sim::{Faults, Machine, Sim};
use crate::{Error, Job, Refusal, Result, Until};
use std::time::Duration;

const LEN: usize = 200_000;

fn run(seeds: u64, program: fn(&Job) -> Result<()>) {
    for seed in 0..seeds {
        let sim = Sim::new(Machine::plain(), 3, seed).faults(Faults::of_wire(0.1)).time_limit(Duration::from_secs(20));
        sim.run(program).unwrap().results.into_iter().collect::<Result<Vec<()>>>().unwrap();
    }
}

fn a_word_never_passes_the_copy_before_it() {
    run(3, |job| {
        let (table, flag) = (job.symmetric::<u8>(LEN)?, job.symmetric::<u64>(1)?);
        table.write(0, &[job.rank() as u8; LEN]);
        job.barrier()?;
        match job.rank() {
            0 => job.copy_notify(table.at(1, 0), table.at(2, 0), LEN, flag.at(2, 0), 1)?,
            1 => {}
            _ => {
                job.wait(flag.here(0), Until::Equal(1))?;
                assert!(table.to_vec() == [1; LEN], "the word came first");
            }
        }
        job.barrier()
    });
}

fn after_a_flush_a_copy_is_there() {
    run(10, |job| {
        let table = job.symmetric::<u64>(100)?;
        job.barrier()?;
        if job.rank() == 0 {
            for round in 1..50 {
                job.push(table.at(1, 7), &[round])?;
                job.copy(table.at(1, 0), table.at(2, 0), 100)?;
                job.flush(2)?;
                assert_eq!(job.pull_one(table.at(2, 7))?, round);
            }
        }
        job.barrier()
    });
}

fn whoever_started_a_copy_hears_that_it_was_refused() {
    run(1, |job| {
        let table = job.symmetric::<u64>(1000)?;
        let area = job.area::<u64>(1, 1000)?;
        job.barrier()?;
        let opened = job.open_area::<u64>(2, 1)?;
        job.barrier()?;
        drop(area);
        job.barrier()?;
        if job.rank() == 0 {
            job.copy(table.at(1, 0), opened.at(0), 1000)?;
            let flushed = job.flush(2);
            let is_told = matches!(flushed, Err(Error::Refused { rank: 2, reason: Refusal::UnknownArea }));
            assert!(is_told, "{flushed:?}");
        }
        job.barrier()
    });
}

/// More copies than a port may have under way, to a rank that dies: none is forgotten, and the port works on.
#[test]
fn many_copies_end_with_a_rank() {
    let crash = crate::sim::Crash { rank: 2, at: Duration::from_micros(400) };
    let faults = Faults { crashes: vec![crash], ..Faults::default() };
    let run = Sim::new(Machine::plain(), 4, 1).faults(faults).time_limit(Duration::from_secs(20)).run_mortal(|job| {
        let table = job.symmetric::<u8>(LEN)?;
        let stop = job.symmetric::<u64>(1)?;
        job.barrier()?;
        if job.rank() != 0 {
            return job.wait_from(crate::By::Rank(0), stop.here(0), Until::Equal(1)).map(drop);
        }
        let ended = loop {
            if let Err(error) = (0..1000).try_for_each(|_| job.copy(table.at(1, 0), table.at(2, 0), LEN)) {
                break error;
            }
            if let Err(error) = job.sync() {
                break error;
            }
        };
        assert!(matches!(ended, Error::PeerDead { rank: 2 }), "{ended:?}");
        // What was under way may be told once more.
        let _ = job.sync();
        job.copy(table.at(1, 0), table.at(3, 0), LEN)?;
        job.sync()?;
        job.word(stop.at(1, 0), 1)?;
        job.word(stop.at(3, 0), 1)
    });
    let results = run.unwrap().results;
    assert!([0, 1, 3].iter().all(|rank| matches!(results[*rank], Some(Ok(())))), "{results:?}");
}

#[test]
fn planted_bugs_are_caught() {
    catches(a_word_never_passes_the_copy_before_it, &[Bug::CopyWordEarly]);
    catches(after_a_flush_a_copy_is_there, &[Bug::RelayAnsweredEarly]);
    catches(whoever_started_a_copy_hears_that_it_was_refused, &[Bug::RelayRefusalKept]);
}
