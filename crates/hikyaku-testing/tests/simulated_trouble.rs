//! What must hold in virtual time when things go wrong in ways that chance rarely finds.

use hikyaku::sim::{Crash, Faults, Machine, Partition, Sim};
use hikyaku::{By, Error, Job, Result, Symmetric, Until};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const HANDLER: u16 = 1;
const SECOND: Duration = Duration::from_secs(1);

/// The program does nothing for a while; nobody writes the word.
fn rest(job: &Job, word: &Symmetric<u64>, time: Duration) {
    let waited = job.wait_for(By::Rank(job.rank()), word.here(0), Until::Equal(1), Some(time));
    assert!(matches!(waited, Err(Error::Timeout { .. })), "{waited:?}");
}

/// A packet of the longest kind carries words behind its payload.
#[test]
fn messages_as_long_as_packets_arrive_over_a_wire_with_faults() {
    let sim = Sim::new(Machine::plain(), 2, 1).faults(Faults::of_wire(0.01)).time_limit(100 * SECOND);
    let run = sim.run(|job| {
        let messages = job.messages(1)?;
        let lengths = (1..=2).flat_map(|packets| (0..=4).map(move |less| packets * 32 * 1024 - 8 * less));
        for bytes in lengths {
            let text: Vec<u8> = (0..bytes).map(|at| (at * 7 + bytes) as u8).collect();
            if job.rank() == 0 {
                job.barrier()?;
                messages.send(&text, 1, 0)?;
            } else {
                let mut got = vec![0u8; bytes];
                messages.scope(|scope| {
                    let receive = scope.irecv(&mut got, 0, 0)?;
                    job.barrier()?;
                    scope.wait_receive(receive).map(drop)
                })?;
                assert!(got == text, "{bytes} bytes");
            }
        }
        job.barrier()
    });
    run.unwrap().results.into_iter().collect::<Result<Vec<()>>>().unwrap();
}

/// A collective in the background asks the others what they are about after a while; the program has calls of its own.
#[test]
fn calls_of_the_program_and_of_a_collective_in_the_background_do_not_mix() {
    let run = Sim::new(Machine::plain(), 2, 1).time_limit(100 * SECOND).run(|job| {
        let table = job.symmetric::<u64>(1)?;
        table.set(0, 7 + job.rank() as u64);
        let world = job.new_world()?;
        job.barrier()?;
        if job.rank() == 1 {
            rest(job, &table, SECOND);
            world.barrier()?;
        } else {
            let end = job.now() + Duration::from_millis(900);
            world.scope(|scope| {
                let barrier = scope.ibarrier()?;
                while job.now() < end {
                    assert_eq!(job.pull_one(table.at(1, 0))?, 8);
                }
                scope.wait(barrier)
            })?;
        }
        job.barrier()
    });
    run.unwrap().results.into_iter().collect::<Result<Vec<()>>>().unwrap();
}

/// A handler may wait for something that its program does only after an answer from the same rank.
#[test]
fn answers_do_not_wait_behind_a_message_that_was_put_off() {
    let run = Sim::new(Machine::plain(), 2, 1).time_limit(10 * SECOND).run(|job| {
        let (table, handled) = (job.symmetric::<u64>(1)?, Arc::new(job.symmetric::<u64>(1)?));
        let allowed = Arc::new(AtomicBool::new(false));
        let (allow, done) = (allowed.clone(), handled.clone());
        job.register_handler(HANDLER, move |context, _| match allow.load(Ordering::SeqCst) {
            true => done.set(0, 1),
            false => context.retry_later(),
        })?;
        let ni = job.start_ni_thread()?;
        job.barrier()?;
        job.send(1 - job.rank(), HANDLER, 0, [0; 6], &[])?;
        rest(job, &table, Duration::from_millis(1));
        job.pull_one(table.at(1 - job.rank(), 0))?;
        allowed.store(true, Ordering::SeqCst);
        job.wait(handled.here(0), Until::Equal(1))?;
        drop(ni);
        job.barrier()
    });
    run.unwrap().results.into_iter().collect::<Result<Vec<()>>>().unwrap();
}

/// What one rank does to another happens in order, also where handlers take time.
#[test]
fn a_word_does_not_overtake_a_message() {
    for machine in Machine::shipped() {
        let run = Sim::new(machine, 2, 1).run(|job| {
            let word = job.symmetric::<u64>(1)?;
            let handled = Arc::new(AtomicBool::new(false));
            let done = handled.clone();
            job.register_handler(HANDLER, move |_, _| done.store(true, Ordering::SeqCst))?;
            let ni = job.start_ni_thread()?;
            job.barrier()?;
            if job.rank() == 0 {
                job.send(1, HANDLER, 0, [0; 6], &[])?;
                job.word(word.at(1, 0), 1)?;
            } else {
                job.wait(word.here(0), Until::Equal(1))?;
                assert!(handled.load(Ordering::SeqCst), "the word was faster");
            }
            drop(ni);
            job.barrier()
        });
        run.unwrap().results.into_iter().collect::<Result<Vec<()>>>().unwrap();
    }
}

/// What was lost on its way to a rank that has ended since does not keep its sender from leaving.
#[test]
fn a_rank_leaves_though_its_last_words_reach_nobody() {
    let cut = Partition { ranks: vec![1], both_ways: true, start: Duration::from_millis(1), end: Duration::MAX };
    let faults = Faults { partitions: vec![cut], ..Faults::default() };
    let run = Sim::new(Machine::plain(), 3, 1).faults(faults).time_limit(1000 * SECOND).run_mortal(|job| {
        let word = job.symmetric::<u64>(1).unwrap();
        job.barrier().unwrap();
        match job.rank() {
            0 => {
                rest(job, &word, Duration::from_millis(2));
                let _ = job.word(word.at(1, 0), 7);
            }
            1 => {}
            _ => {
                let waited = job.wait_from(By::Rank(0), word.here(0), Until::Equal(1));
                assert!(matches!(waited, Err(Error::PeerLeft { rank: 0 })), "{waited:?}");
            }
        }
    });
    assert!(run.unwrap().results[2].is_some());
}

/// What somebody has started towards a rank that is lost is no matter of a group without that rank; but it is told.
#[test]
fn a_groups_barrier_does_not_report_a_rank_that_is_no_member() {
    let sim = Sim::new(Machine::plain(), 4, 1)
        .hosts(|rank| [0, 0, 1, 2][rank])
        .faults(cut_from(vec![3]))
        .time_limit(100 * SECOND);
    let run = sim.run_mortal(|job| {
        let word = job.symmetric::<u64>(2).unwrap();
        job.register_handler(0, |_, _| ()).unwrap();
        let group = job.group(job.rank() < 3).unwrap();
        job.barrier().unwrap();
        let Some(group) = group else {
            let waited = job.wait_from(By::Rank(0), word.here(0), Until::Equal(1));
            return assert!(waited.is_err(), "{waited:?}");
        };
        rest(job, &word, Duration::from_millis(2));
        if job.rank() == 0 {
            job.push(word.at(3, 1), &[7]).unwrap();
            job.send(3, 0, 0, [0; 6], &[]).unwrap();
        }
        group.barrier().unwrap();
        let told = job.sync();
        match job.rank() {
            0 => assert!(matches!(told, Err(Error::Unreachable { rank: 3, .. })), "{told:?}"),
            _ => told.unwrap(),
        }
        job.sync().unwrap();
        group.barrier().unwrap();
    });
    assert!(run.unwrap().results[..3].iter().all(Option::is_some));
}

/// Nothing from some ranks to the others arrives any more, from 1 ms on.
fn cut_from(ranks: Vec<usize>) -> Faults {
    let cut = Partition { ranks, both_ways: false, start: Duration::from_millis(1), end: Duration::MAX };
    Faults { partitions: vec![cut], ..Faults::default() }
}

/// A rank that has lost another gives up the barrier in which it finds out, and leaves: those who reach both must not take it
/// for one that has come.
#[test]
fn nobody_waits_in_a_barrier_for_a_rank_that_has_given_it_up() {
    for (size, lost) in (3..8).flat_map(|size| (0..size).map(move |lost| (size, lost))) {
        let sim = Sim::new(Machine::plain(), size, 1).faults(cut_from(vec![lost])).time_limit(100 * SECOND);
        let run = sim.run(|job| {
            let word = job.symmetric::<u64>(1).unwrap();
            rest(job, &word, Duration::from_millis(2));
            job.barrier()
        });
        // The lost rank itself hears everybody.
        for (rank, result) in run.unwrap().results.into_iter().enumerate().filter(|(rank, _)| *rank != lost) {
            let error = result.expect_err("a barrier without all ranks");
            assert!(error.is_end_of_peer(), "rank {rank} of {size}, {lost} lost: {error}");
        }
    }
}

/// What a rank sent that has left counts as sent, but not if it was lost before.
#[test]
fn who_waits_for_anybody_hears_of_one_that_was_lost_and_left() {
    let run = Sim::new(Machine::plain(), 3, 1).faults(cut_from(vec![1])).time_limit(100 * SECOND).run(|job| {
        job.register_handler(HANDLER, |_, _| {})?;
        let word = job.symmetric::<u64>(1)?;
        job.barrier()?;
        rest(job, &word, Duration::from_millis(2));
        if job.rank() == 1 {
            job.send(0, HANDLER, 0, [0; 6], &[])?;
            // It finds out, and leaves.
            return job.pull_one(word.at(0, 0)).map(drop);
        }
        job.wait_handled(By::Anyone, HANDLER, 1)
    });
    let results = run.unwrap().results;
    // Whichever it hears of first: that rank 1 has left because of a loss, or that it does not reach it itself.
    let is_told = matches!(results[0], Err(Error::Unreachable { rank: 1, .. } | Error::PeerLeft { rank: 1 }));
    assert!(is_told, "{results:?}");
    assert!(matches!(results[1], Err(Error::Unreachable { rank: 0, .. })), "{results:?}");
}

/// A receive from anybody tells of a member that was lost, once, and goes on with the others.
#[test]
fn a_receive_from_anybody_tells_of_a_lost_member_once() {
    let run = Sim::new(Machine::plain(), 3, 1).faults(cut_from(vec![1])).time_limit(100 * SECOND).run(|job| {
        let messages = job.messages(1)?;
        let word = job.symmetric::<u64>(1)?;
        job.barrier()?;
        rest(job, &word, Duration::from_millis(2));
        let mut got = [0u64];
        match job.rank() {
            0 => {
                let told = messages.recv_any(&mut got, 0);
                assert!(matches!(told, Err(Error::Unreachable { rank: 1, .. })), "{told:?}");
                job.word(word.at(2, 0), 1)?;
                messages.recv_any(&mut got, 0)?;
                assert_eq!(got, [7]);
            }
            1 => drop(messages.send_any(&[5u64; 100], 0, 0)),
            _ => {
                job.wait_from(By::Rank(0), word.here(0), Until::Equal(1))?;
                messages.send_any(&[7u64], 0, 0)?;
            }
        }
        Ok(())
    });
    run.unwrap().results.into_iter().collect::<Result<Vec<()>>>().unwrap();
}

#[test]
fn faults_of_ranks_that_do_not_exist_are_refused() {
    let faults = Faults { crashes: vec![Crash { rank: 9, at: SECOND }], ..Faults::default() };
    let run = Sim::new(Machine::plain(), 4, 1).faults(faults).run(|_| ());
    assert!(matches!(run, Err(Error::NoSuchRank { rank: 9, size: 4 })), "{run:?}");
}

/// Whoever asks for something else: nobody believes that all was well.
#[test]
fn a_barrier_that_meets_something_else_fails_everywhere() {
    for odd in 0..4 {
        let run = Sim::new(Machine::plain(), 4, 1).run(|job| {
            let got = if job.rank() == odd { job.symmetric::<u64>(1).map(drop) } else { job.barrier() };
            assert!(matches!(got, Err(Error::Mismatch { .. })), "rank {}, {odd} is odd: {got:?}", job.rank());
        });
        run.unwrap();
    }
}

#[test]
fn a_killed_rank_runs_no_handler_any_more() {
    let (attempts, killed) = (Arc::new(AtomicU64::new(0)), Duration::from_millis(1));
    let faults = Faults { crashes: vec![Crash { rank: 0, at: killed }], ..Faults::default() };
    let run = Sim::new(Machine::plain(), 2, 1).faults(faults).time_limit(10 * SECOND).run_mortal(|job| {
        let begin = job.now();
        let word = job.symmetric::<u64>(1).unwrap();
        let tries = attempts.clone();
        job.register_handler(HANDLER, move |context, _| {
            tries.fetch_add(1, Ordering::Relaxed);
            context.retry_later();
        })
        .unwrap();
        let _ni = job.start_ni_thread().unwrap();
        job.barrier().unwrap();
        if job.rank() == 1 {
            job.send(0, HANDLER, 0, [0; 6], &[]).unwrap();
            while job.now() - begin < killed {}
            let then = attempts.load(Ordering::Relaxed);
            assert!(then > 0, "it did run");
            while job.now() - begin < 3 * killed {}
            assert_eq!(attempts.load(Ordering::Relaxed), then);
        } else {
            rest(job, &word, SECOND);
        }
    });
    assert!(run.unwrap().results[1].is_some());
}

#[test]
fn a_run_ends_with_its_last_rank() {
    let faults = Faults { crashes: vec![Crash { rank: 0, at: 3600 * SECOND }], ..Faults::default() };
    let run = Sim::new(Machine::plain(), 2, 1).faults(faults).run(|job| job.barrier().unwrap()).unwrap();
    assert!(run.elapsed < SECOND, "{:?}", run.elapsed);
    let faults = Faults { crashes: vec![Crash { rank: 0, at: Duration::from_millis(1) }], ..Faults::default() };
    let run = Sim::new(Machine::plain(), 2, 1).faults(faults).run_mortal(|job| {
        let word = job.symmetric::<u64>(1).unwrap();
        if job.rank() == 0 {
            rest(job, &word, 3600 * SECOND);
        }
    });
    let run = run.unwrap();
    assert!(run.elapsed < SECOND, "{:?}", run.elapsed);
}

#[test]
fn a_panic_is_not_lost_because_others_wait_for_ever() {
    let stuck = Cell::new(0);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        Sim::new(Machine::plain(), 3, 1).run(|job| {
            let word = job.symmetric::<u64>(1).unwrap();
            if job.rank() == 1 {
                panic!("on purpose");
            }
            stuck.set(stuck.get() + 1);
            let _ = job.wait_from(By::Rank(2 - job.rank()), word.here(0), Until::Equal(1));
        })
    }));
    assert_eq!(outcome.unwrap_err().downcast_ref::<&str>(), Some(&"on purpose"));
    assert_eq!(stuck.get(), 2);
}

/// Whoever dies, at any moment of asking for pins and releasing them, keeps no area for ever.
#[test]
fn pins_end_when_their_rank_is_killed() {
    for (per_host, micros) in
        [1, 3].into_iter().flat_map(|per_host| (0..12).map(move |step| (per_host, 200 + 37 * step)))
    {
        let killed = Duration::from_micros(micros);
        let faults = Faults { crashes: vec![Crash { rank: 2, at: killed }], ..Faults::default() };
        let run = Sim::new(Machine::plain(), 3, per_host).faults(faults).time_limit(100 * SECOND).run_mortal(|job| {
            let word = job.symmetric::<u64>(1).unwrap();
            let areas = (job.area::<u64>(1, 100).unwrap(), job.register(2, vec![5u64; 100]).unwrap());
            job.barrier().unwrap();
            if job.rank() == 2 {
                loop {
                    for (rank, id) in [(0, 1), (0, 2), (1, 2), (1, 1)] {
                        let area = job.open_area::<u64>(rank, id).unwrap();
                        let pins = [job.pin(area.at(0), 100).unwrap(), job.pin(area.at(9), 1).unwrap()];
                        job.push(pins[0].at(0), &[5; 100]).unwrap();
                    }
                }
            }
            let ended = job.wait_from(By::Rank(2), word.here(0), Until::Equal(1));
            assert!(matches!(ended, Err(Error::PeerDead { rank: 2 } | Error::Unreachable { .. })), "{ended:?}");
            let begin = job.now();
            job.wait_unpinned(&areas.0, None).unwrap();
            assert!(job.now() - begin < Duration::from_millis(1), "{:?}", job.now() - begin);
            let start = areas.1.as_ptr().cast_const();
            let vector = areas.1.into_vec();
            assert_eq!((vector.as_ptr(), vector[99]), (start, 5), "the vector itself");
            drop(areas.0);
            drop(job.area::<u64>(1, 1).unwrap());
        });
        let results = run.unwrap().results;
        assert!(results[0].is_some() && results[1].is_some() && results[2].is_none(), "{results:?}");
    }
}

/// Who waits for the release is told of the death; and a rank that cannot be reached any more has no pins either.
#[test]
fn a_release_that_cannot_come_is_not_waited_for() {
    for per_host in [1, 2] {
        let faults = Faults { crashes: vec![Crash { rank: 1, at: SECOND }], ..Faults::default() };
        let run = Sim::new(Machine::plain(), 2, per_host).faults(faults).time_limit(100 * SECOND).run_mortal(|job| {
            let (word, begin) = (job.symmetric::<u64>(1).unwrap(), job.now());
            let area = (job.rank() == 0).then(|| job.register(1, vec![5u64; 100]).unwrap());
            job.barrier().unwrap();
            if job.rank() == 1 {
                std::mem::forget(job.pin(job.open_area::<u64>(0, 1).unwrap().at(0), 100).unwrap());
            }
            job.barrier().unwrap();
            if let Some(area) = area {
                job.wait_unpinned(&area, None).unwrap();
                let waited = job.now() - begin;
                assert!(waited > SECOND / 2 && waited < 60 * SECOND, "the pin ended with its rank: {waited:?}");
                println!("{per_host} a host: {waited:?}");
            } else {
                rest(job, &word, 3600 * SECOND);
            }
        });
        assert!(run.unwrap().results[0].is_some());
    }
}
