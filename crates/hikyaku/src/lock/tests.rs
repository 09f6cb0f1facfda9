//! Locks in virtual time: ranks are killed between any two steps, networks lose frames, ranks lose each other.

use super::queue::{Desk, Holder};
use crate::job::trial::check;
use crate::planted::{Bug, with_bug};
use crate::sim::{Crash, Faults, Machine, Partition, Sim};
use crate::transport::sim::chance::Chance;
use crate::{By, Error, Job, Mutex, Result, Symmetric, Until};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Words at rank 0: who is inside, how many were; then one for each rank that is done.
const INSIDE: usize = 0;
const COUNT: usize = 1;
const DONE: usize = 2;
/// These have what the others need, so they live, and stay to the end: rank 0 the words, rank 1 the lock.
const PILLARS: usize = 2;

/// Goes inside `turns` times, in all ways; gives how often it was there. Inside it leaves its name, and finds no other's but of one
/// that died there.
fn work(job: &Job, mutex: &Mutex<'_>, words: &Symmetric<u64>, turns: u64, chance: &mut Chance) -> Result<u64> {
    let mut been = 0;
    for _ in 0..turns {
        let guard = match chance.below(4) {
            0 => match mutex.lock_for(Duration::from_micros(chance.below(30))) {
                Err(Error::Timeout { .. }) => continue,
                other => other?,
            },
            1 => match mutex.try_lock()? {
                None => continue,
                Some(guard) => guard,
            },
            _ => mutex.lock()?,
        };
        let me = job.rank() as u64 + 1;
        let other = job.swap(words.at(0, INSIDE), me)?;
        if !job.is_present(0)? {
            // It could not make the lock with the others. Whoever fails because of that leaves its name behind.
            return Err(Error::PeerLeft { rank: 0 });
        }
        assert!(other == 0 || guard.owner_died(), "{me} and {other} are inside");
        assert!(other == 0 || !job.is_present(other as usize - 1)?, "{me} and {other}, who lives, are inside");
        let count = job.pull_one(words.at(0, COUNT))?;
        for _ in 0..chance.below(3) {
            job.progress();
        }
        assert_eq!(job.swap(words.at(0, INSIDE), 0)?, me, "somebody came in");
        // The last thing, which is there when the next one reads it.
        job.push(words.at(0, COUNT), &[count + 1])?;
        been += 1;
        if chance.below(2) == 0 { guard.unlock()? } else { drop(guard) }
    }
    Ok(been)
}

/// A run in which ranks may die; fails if a promise is broken.
fn run(seed: u64) -> Result<()> {
    let mut chance = Chance::new(seed);
    let size = 3 + chance.below(4) as usize;
    let hosts = 1 + chance.below(3) as usize;
    let crash = |chance: &mut Chance| Crash {
        rank: PILLARS + chance.below((size - PILLARS) as u64) as usize,
        at: Duration::from_nanos(chance.below(60_000)),
    };
    let crashes: Vec<Crash> = (0..chance.below(3)).map(|_| crash(&mut chance)).collect();
    let wire = if hosts > 1 && chance.below(3) == 0 { Faults::of_wire(0.05) } else { Faults::default() };
    let nobody_dies = crashes.is_empty();
    let sim = Sim::new(Machine::plain(), size, seed).hosts(|rank| rank % hosts);
    let sim = sim.faults(Faults { crashes, ..wire }).time_limit(Duration::from_secs(20));
    let ran = sim.run_mortal(|job| -> Result<u64> {
        let words = job.symmetric::<u64>(DONE + size)?;
        let mutex = job.mutex(1)?;
        let mut chance = Chance::new(seed << 8 | job.rank() as u64);
        let been = work(job, &mutex, &words, 6, &mut chance)?;
        for pillar in 0..PILLARS {
            job.word(words.at(pillar, DONE + job.rank()), 1)?;
        }
        job.sync()?;
        while job.rank() < PILLARS {
            let is_over = |rank: usize| Ok::<_, Error>(words.get(DONE + rank) == 1 || !job.is_present(rank)?);
            if (0..size).map(is_over).collect::<Result<Vec<_>>>()?.into_iter().all(|over| over) {
                break;
            }
            let _ = job.wait_for(
                By::Rank(job.rank()),
                words.here(INSIDE),
                Until::Equal(u64::MAX),
                Some(Duration::from_micros(50)),
            );
        }
        if job.rank() == 0 && nobody_dies {
            return Ok(been << 32 | job.pull_one(words.at(0, COUNT))?);
        }
        Ok(been)
    })?;
    // Whoever was killed before the lock was made took it from the others.
    let early = |error: &Error| matches!(error, Error::PeerDead { rank } if *rank >= PILLARS);
    let mut sum = 0;
    let mut count = 0;
    for (rank, result) in ran.results.into_iter().enumerate() {
        match result {
            None => {}
            Some(Ok(been)) if rank == 0 && nobody_dies => {
                sum += been >> 32;
                count = been as u32 as u64;
            }
            Some(Ok(been)) => sum += been,
            Some(Err(error)) if !nobody_dies && early(&error) => {}
            // Whoever could not make the lock has left.
            Some(Err(Error::PeerLeft { .. })) if !nobody_dies => {}
            Some(Err(error)) => return Err(error),
        }
    }
    assert!(!nobody_dies || sum == count, "{sum} were inside, and counted {count}");
    Ok(())
}

#[test]
fn one_rank_at_a_time_whatever_happens() {
    check(0..300, run);
    // A rank that saw its turn by itself had left when it was told of it.
    check(5276..5277, run);
}

/// After changes to locks: `cargo test --release -p hikyaku lock:: -- --ignored`.
#[test]
#[ignore = "minutes"]
fn one_rank_at_a_time_whatever_happens_in_many_runs() {
    check(0..30_000, run);
}

#[test]
fn planted_bugs_are_caught() {
    for bug in [Bug::LockedPushesUnsettled, Bug::TicketNotPassed, Bug::TakersUnread, Bug::OwnersDeathUntold] {
        let fails = |seed: &u64| catch_unwind(|| run(*seed)).map_or(true, |ran| ran.is_err());
        let caught = with_bug(bug, || (0..3000).find(fails));
        assert!(caught.is_some(), "{bug:?} was not noticed");
    }
    let cut = catch_unwind(AssertUnwindSafe(|| with_bug(Bug::UnreachablePassed, nobody_passes_over_the_unreachable)));
    assert!(cut.is_err(), "UnreachablePassed was not noticed");
}

/// The owner is cut off with the lock. It may still be inside, so the others get an error, and nobody the lock.
#[test]
fn nobody_passes_over_the_unreachable() {
    let cut = Partition { ranks: vec![2], both_ways: true, start: Duration::from_millis(1), end: Duration::MAX };
    let sim = Sim::new(Machine::plain(), 4, 1).faults(Faults { partitions: vec![cut], ..Faults::default() });
    let ran = sim.time_limit(Duration::from_secs(100)).run(|job| -> Result<()> {
        let words = job.symmetric::<u64>(2)?;
        let mutex = job.mutex(0)?;
        let guard = if job.rank() == 2 { Some(mutex.lock()?) } else { None };
        job.barrier()?;
        let never = |time| job.wait_for(By::Rank(job.rank()), words.here(0), Until::Equal(1), Some(time));
        if job.rank() == 2 {
            never(Duration::from_secs(60)).unwrap_err();
            drop(guard);
            return Ok(());
        }
        never(Duration::from_millis(2)).unwrap_err();
        let refused = mutex.lock().map(drop);
        assert!(matches!(refused, Err(Error::Unreachable { rank: 2, .. })), "{refused:?}");
        never(Duration::from_secs(60)).unwrap_err();
        Ok(())
    });
    ran.unwrap().results.into_iter().for_each(|result| result.unwrap());
}

/// The owner loses the manager, which is on another host; its neighbour waits for the lock, and reaches both.
#[test]
fn an_owner_that_loses_the_manager_is_passed_over_when_it_gives_up() {
    let cut = Partition { ranks: vec![1], both_ways: true, start: Duration::from_millis(1), end: Duration::MAX };
    let sim = Sim::new(Machine::plain(), 3, 1).hosts(|rank| [0, 1, 1][rank]);
    let sim = sim.faults(Faults { partitions: vec![cut], ..Faults::default() }).time_limit(Duration::from_secs(100));
    let ran = sim.run(|job| -> Result<()> {
        let words = job.symmetric::<u64>(2)?;
        let mutex = job.mutex(0)?;
        let guard = if job.rank() == 1 { Some(mutex.lock()?) } else { None };
        job.barrier()?;
        let never = |time| job.wait_for(By::Rank(job.rank()), words.here(0), Until::Equal(1), Some(time));
        never(Duration::from_millis(2)).unwrap_err();
        if let Some(guard) = guard {
            let released = guard.unlock();
            assert!(matches!(released, Err(Error::Unreachable { rank: 0, .. })), "{released:?}");
            never(Duration::from_secs(10)).unwrap_err();
        } else if job.rank() == 2 {
            assert!(mutex.lock()?.owner_died());
        } else {
            never(Duration::from_secs(20)).unwrap_err();
        }
        Ok(())
    });
    ran.unwrap().results.into_iter().for_each(|result| result.unwrap());
}

#[test]
fn whoever_waits_hears_that_the_manager_is_gone() {
    for hosts in 1..=3 {
        let crashes = vec![Crash { rank: 0, at: Duration::from_millis(1) }];
        let sim = Sim::new(Machine::plain(), 4, 1).hosts(|rank| rank % hosts);
        let sim = sim.faults(Faults { crashes, ..Faults::default() }).time_limit(Duration::from_secs(100));
        let ran = sim.run_mortal(|job| -> Result<()> {
            let words = job.symmetric::<u64>(1)?;
            let mutex = job.mutex(0)?;
            let guard = if job.rank() == 1 { Some(mutex.lock()?) } else { None };
            job.barrier()?;
            let _ = job.wait_for(
                By::Rank(job.rank()),
                words.here(0),
                Until::Equal(1),
                Some(Duration::from_millis(10 + job.rank() as u64)),
            );
            let ended = match guard {
                Some(guard) => guard.unlock(),
                None => mutex.lock().map(drop),
            };
            assert!(matches!(ended, Err(Error::PeerDead { rank: 0 })), "{ended:?}");
            let again = mutex.lock().map(drop);
            assert!(matches!(again, Err(Error::PeerDead { rank: 0 })), "{again:?}");
            Ok(())
        });
        ran.unwrap().results.into_iter().flatten().for_each(|result| result.unwrap());
    }
}

/// However an owner ends: it dies, leaves with the lock, or panics and goes on.
#[test]
fn the_next_owner_is_told_of_a_death_and_only_that_one() {
    for hosts in 1..=3 {
        for end in 0..3 {
            let crashes = vec![Crash { rank: 2, at: Duration::from_millis(1) }];
            let faults = if end == 0 { Faults { crashes, ..Faults::default() } } else { Faults::default() };
            let sim = Sim::new(Machine::plain(), 4, 1).hosts(|rank| rank % hosts);
            let ran = sim.faults(faults).time_limit(Duration::from_secs(100)).run_mortal(|job| -> Result<bool> {
                let mutex = job.mutex(0)?;
                let words = job.symmetric::<u64>(1)?;
                let guard = if job.rank() == 2 { Some(mutex.lock()?) } else { None };
                job.barrier()?;
                let died = match guard {
                    Some(guard) if end == 0 => {
                        let _guard = guard;
                        job.wait_from(By::Rank(2), words.here(0), Until::Equal(1)).map(|_| false)?
                    }
                    Some(guard) if end == 1 => {
                        std::mem::forget(guard);
                        return Ok(false);
                    }
                    Some(guard) => {
                        let panicked = catch_unwind(AssertUnwindSafe(move || {
                            let _guard = guard;
                            std::panic::resume_unwind(Box::new("on purpose"));
                        }));
                        assert!(panicked.is_err());
                        false
                    }
                    None => mutex.lock()?.owner_died(),
                };
                job.word(words.at(0, 0), 0)?;
                // The manager stays until the others have been inside.
                let begin = job.now();
                while job.rank() == 0 && job.now() - begin < Duration::from_secs(5) {
                    let _ = job.wait_for(By::Rank(0), words.here(0), Until::Equal(1), Some(Duration::from_millis(100)));
                }
                Ok(died)
            });
            let told = ran.unwrap().results.into_iter().flatten().filter(|result| *result.as_ref().unwrap()).count();
            // Ranks of one thread may take the panic of another, which is under way, for their own.
            assert!(told == 1 || end == 2 && told > 0, "{told} were told, hosts {hosts}, end {end}");
        }
    }
}

/// Rank 1 gives up and comes back before the lock is released: it is before rank 2, which came between.
#[test]
fn whoever_comes_back_in_time_has_its_old_place() {
    for hosts in 1..=3 {
        let sim = Sim::new(Machine::plain(), 3, 1).hosts(|rank| rank % hosts).time_limit(Duration::from_secs(100));
        let run = sim.run(|job| -> Result<u64> {
            let mutex = job.mutex(0)?;
            let words = job.symmetric::<u64>(2)?;
            let pause = |millis| {
                let time = Duration::from_millis(millis);
                job.wait_for(By::Rank(job.rank()), words.here(1), Until::Equal(1), Some(time)).unwrap_err()
            };
            let mut guard = if job.rank() == 0 { Some(mutex.lock()?) } else { None };
            job.barrier()?;
            let place = match job.rank() {
                0 => {
                    pause(50);
                    drop(guard.take());
                    0
                }
                1 => {
                    let late = mutex.lock_for(Duration::from_millis(5)).map(drop);
                    assert!(matches!(late, Err(Error::Timeout { .. })), "{late:?}");
                    assert!(mutex.try_lock()?.is_none());
                    pause(20);
                    let _guard = mutex.lock()?;
                    job.fetch_add(words.at(0, 0), 1)?
                }
                _ => {
                    pause(10);
                    let _guard = mutex.lock()?;
                    job.fetch_add(words.at(0, 0), 1)?
                }
            };
            drop(guard);
            job.barrier()?;
            mutex.free()?;
            Ok(place)
        });
        let places: Vec<u64> = run.unwrap().results.into_iter().map(|place| place.unwrap()).collect();
        assert_eq!(places, [0, 0, 1], "{hosts} hosts");
    }
}

/// 16 ranks that all want the lock all the time: whoever has a ticket waits for no more turns than there are other ranks.
#[test]
fn nobody_waits_for_more_turns_than_there_are_ranks() {
    const RANKS: u64 = 16;
    for hosts in [1, 4, 16] {
        let sim = Sim::new(Machine::plain(), RANKS as usize, 1).hosts(|rank| rank % hosts);
        let run = sim.time_limit(Duration::from_secs(100)).run(|job| -> Result<u64> {
            let mutex = job.mutex(0)?;
            let count = job.symmetric::<u64>(1)?;
            let mut worst = 0;
            let mut last = None;
            for _ in 0..10 {
                let _guard = mutex.lock()?;
                let now = job.fetch_add(count.at(0, 0), 1)?;
                worst = worst.max(last.map_or(0, |last| now - last - 1));
                last = Some(now);
            }
            job.barrier()?;
            mutex.free()?;
            Ok(worst)
        });
        let worst = run.unwrap().results.into_iter().map(|worst| worst.unwrap()).max().unwrap();
        // From one turn of a rank to its next: the others once each, and again those that came back while its request was on its way.
        assert!(worst <= RANKS - 1 + if hosts == 1 { 2 } else { 4 }, "{worst} turns, {hosts} hosts");
    }
}

#[test]
fn ranks_that_name_different_managers_are_told() {
    let run = Sim::new(Machine::plain(), 2, 1).run(|job| {
        let error = job.mutex(job.rank()).map(drop).unwrap_err();
        assert!(error.to_string().contains("mutex(manager 1)"), "{error}");
        let error = job.mutex(7).map(drop).unwrap_err();
        assert!(matches!(error, Error::NoSuchRank { rank: 7, size: 2 }), "{error}");
    });
    run.unwrap();
}

/// What a rank sent before it died comes late, and writes over the name of a later ticket: of one that is inside, and of one that waits.
#[test]
fn a_late_name_of_a_dead_rank_harms_nobody() {
    for is_inside in [true, false] {
        let run = Sim::new(Machine::plain(), 2, 1).time_limit(Duration::from_secs(100)).run(|job| -> Result<()> {
            let mutex = job.mutex(0)?;
            let words = job.symmetric::<u64>(1)?;
            let pause = |millis| {
                let time = Duration::from_millis(millis);
                job.wait_for(By::Rank(job.rank()), words.here(0), Until::Equal(1), Some(time)).unwrap_err()
            };
            // So that slots are used again.
            if job.rank() == 0 {
                (0..20).try_for_each(|_| mutex.lock()?.unlock())?;
            }
            job.barrier()?;
            let first = if is_inside { 1 } else { 0 };
            let guard = if job.rank() == first { Some(mutex.lock()?) } else { None };
            job.barrier()?;
            // Of the ticket 20, or 21 which waits, the slot says something of one long before.
            let write_over = |ticket: u64| Desk::of(&mutex.raw, job).name(ticket - 16, Holder::GaveUp(1));
            match (is_inside, job.rank()) {
                (true, 0) => {
                    write_over(20)?;
                    let late = mutex.lock_for(Duration::from_secs(2)).map(drop);
                    assert!(matches!(late, Err(Error::Timeout { .. })), "{late:?}");
                }
                (false, 0) => {
                    pause(10);
                    write_over(21)?;
                    drop(guard);
                    pause(1000);
                    assert_eq!(words.get(0), 7, "it has waited in vain");
                }
                (false, _) => {
                    let guard = mutex.lock()?;
                    assert!(!guard.owner_died());
                    job.word(words.at(0, 0), 7)?;
                }
                _ => drop(pause(3000)),
            }
            job.barrier()
        });
        run.unwrap().results.into_iter().for_each(|result| result.unwrap());
    }
}
