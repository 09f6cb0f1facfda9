//! Messages by slots on threads and in virtual time: the cases, the end of a rank, and random programs against a plain model.

mod random;

use hikyaku::message::{Messages, Mode, SpoolReport};
use hikyaku::sim::{Faults, Machine, Sim};
use hikyaku::{By, Config, Error, Event, Job, Result, Symmetric, Until};
use hikyaku_testing::runner::{self, Kind};
use hikyaku_testing::{Suite, suite, watchdog};
use hikyaku_testing::{pattern, programs};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

fn run(ranks: usize, body: impl Fn(&Job) -> Result<()> + Sync) {
    let test = std::thread::current();
    let results = watchdog::watched(test.name().unwrap_or("a test"), || hikyaku::local(ranks, body).unwrap());
    for result in results {
        result.unwrap();
    }
}

#[test]
fn all_cases() {
    runner::check("as threads", &Kind::Threads(Config::default()), suite(Suite::Messages), &[]);
}

/// Long messages that the caches of most machines do not hold.
#[test]
fn messages_that_no_cache_holds() {
    const NUMBERS: usize = (64 << 17) + 5;
    run(2, |job| {
        let messages = job.messages(1)?;
        let number = |at: usize, from: usize| (at * 3 + from) as u64;
        let (me, peer) = (job.rank(), 1 - job.rank());
        let mine: Vec<u64> = (0..NUMBERS).map(|at| number(at, me)).collect();
        let mut theirs = vec![0; NUMBERS + 2];
        for turn in 0..2 {
            if turn == me {
                messages.send(&mine, peer, 0)?;
            } else {
                assert_eq!(messages.recv(&mut theirs[1..NUMBERS + 1], peer, 0)?, NUMBERS);
            }
        }
        assert!(theirs[1..=NUMBERS].iter().enumerate().all(|(at, data)| *data == number(at, peer)));
        assert_eq!((theirs[0], theirs[NUMBERS + 1]), (0, 0));
        Ok(())
    });
}

/// Has handler 1 panic the first time, of which it tells; gives a word by which the ranks take turns.
fn prepare_panic(job: &Job, has_panicked: &Arc<AtomicBool>) -> Result<Symmetric<u64>> {
    let (turn, has_panicked) = (job.symmetric(1)?, has_panicked.clone());
    job.register_handler(1, move |_, _| {
        if !has_panicked.swap(true, Ordering::AcqRel) {
            // Without a report, which would take its time.
            std::panic::resume_unwind(Box::new("the first time"));
        }
    })?;
    job.barrier()?;
    Ok(turn)
}

/// A handler that panics in a wait ends the operation that was waited for: nobody uses its buffer any more, and its slot is free.
#[test]
fn a_panic_in_a_wait_gives_up_what_it_waited_for() {
    type Wait = fn(&Messages<'_>, &mut [u8]) -> Result<()>;
    const SHORT: usize = 100;
    const LONG: usize = 100_000;
    let waits: [(&str, usize, Wait); 6] = [
        ("scope, short", SHORT, |messages, into| {
            messages.scope(|scope| scope.wait_receive(scope.irecv(into, 0, 0)?).map(drop))
        }),
        ("scope, long", LONG, |messages, into| {
            messages.scope(|scope| scope.wait_receive(scope.irecv(into, 0, 0)?).map(drop))
        }),
        ("end of a scope, short", SHORT, |messages, into| messages.scope(|scope| scope.irecv(into, 0, 0)).map(drop)),
        ("end of a scope, long", LONG, |messages, into| messages.scope(|scope| scope.irecv(into, 0, 0)).map(drop)),
        ("receive, short", SHORT, |messages, into| messages.recv(into, 0, 0).map(drop)),
        ("receive, long", LONG, |messages, into| messages.recv(into, 0, 0).map(drop)),
    ];
    for (name, bytes, wait) in waits {
        println!("{name}");
        let has_panicked = Arc::default();
        run(2, |job| {
            let (messages, waiting) = (job.messages(1)?, prepare_panic(job, &has_panicked)?);
            if job.rank() == 0 {
                job.wait(waiting.here(0), Until::Equal(1))?;
                job.send(1, 1, 0, [0; 6], &[])?;
                job.wait(waiting.here(0), Until::Equal(2))?;
                messages.send(&pattern(3, bytes), 1, 0)?;
            } else {
                let mut lost = vec![7u8; bytes];
                let into = &mut lost;
                let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    job.word(waiting.at(0, 0), 1).unwrap();
                    wait(&messages, into)
                }));
                assert!(panicked.is_err(), "{panicked:?}");
                assert!(messages.is_idle());
                job.word(waiting.at(0, 0), 2)?;
                // Long enough for a send that finds a receive to copy all.
                std::thread::sleep(Duration::from_millis(20));
                assert!(lost.iter().all(|byte| *byte == 7));
                let mut got = vec![0u8; bytes];
                assert_eq!(messages.recv(&mut got, 0, 0)?, bytes);
                assert!(got == pattern(3, bytes));
                assert!(lost.iter().all(|byte| *byte == 7));
            }
            job.barrier()
        });
    }
}

/// A handler that panics in a wait ends a send only when its receiver has the message: its buffer stays until then.
#[test]
fn a_panic_in_a_wait_gives_a_send_up_when_nobody_reads_it() {
    let has_panicked = Arc::default();
    run(2, |job| {
        let (messages, waiting) = (job.messages(1)?, prepare_panic(job, &has_panicked)?);
        if job.rank() == 0 {
            job.wait(waiting.here(0), Until::Equal(1))?;
            job.send(1, 1, 0, [0; 6], &[])?;
            while !has_panicked.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            // Long enough for the sender to change its data, if it does not wait.
            std::thread::sleep(Duration::from_millis(20));
            let mut got = vec![0u8; 100_000];
            messages.recv(&mut got, 1, 0)?;
            assert!(got == pattern(3, 100_000));
        } else {
            let mut data = pattern(3, 100_000);
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                job.word(waiting.at(0, 0), 1).unwrap();
                messages.send(&data, 0, 0)
            }));
            assert!(panicked.is_err(), "{panicked:?}");
            std::hint::black_box(&mut data).fill(0);
            std::hint::black_box(&data);
        }
        job.barrier()
    });
}

/// Machines on which things happen in different orders.
const MACHINES: [&str; 3] = ["plain", "sr8000", "ndr"];

/// Seeds from here on are for hosts of several ranks.
const MIXED: u64 = 100;

/// On a good wire, and with an odd seed on one that loses, doubles and reorders frames.
fn sim(machine: &str, ranks: usize, seed: u64) -> Sim {
    let model = if machine == "plain" { Machine::plain() } else { Machine::named(machine).unwrap() };
    let sim = Sim::new(model, ranks, seed);
    // Each rank on a host of its own, or those of two or three hosts in turn.
    let hosts = (2 + seed as usize % 2).min(ranks);
    let sim = if seed >= MIXED { sim.hosts(|rank| rank % hosts) } else { sim };
    if seed % 2 == 1 { sim.faults(Faults::of_wire(0.1)) } else { sim }
}

fn simulate(machine: &str, ranks: usize, seed: u64, body: impl Fn(&Job) -> Result<()>) {
    let run = sim(machine, ranks, seed).run(body).unwrap_or_else(|error| panic!("{machine}, {seed}: {error}"));
    run.results.into_iter().for_each(|result| result.unwrap_or_else(|error| panic!("{machine}, {seed}: {error}")));
}

fn all_cases_simulated(machine: &str, seed: u64) {
    let kind = Kind::Simulated(&|ranks, _| sim(machine, ranks, seed));
    runner::check(&format!("on {machine} with seed {seed}"), &kind, suite(Suite::Messages), &[]);
}

#[test]
fn all_cases_between_far_ranks() {
    for (machine, seed) in MACHINES.into_iter().zip(0..) {
        all_cases_simulated(machine, seed);
    }
}

#[test]
fn all_cases_between_near_and_far_ranks() {
    for (machine, seed) in MACHINES.into_iter().zip(MIXED..) {
        all_cases_simulated(machine, seed);
    }
}

#[test]
fn all_cases_over_a_wire_with_faults() {
    for seed in [1, 3] {
        all_cases_simulated("plain", seed);
    }
}

#[test]
fn a_death_ends_sends_and_receives() {
    let ended = std::panic::catch_unwind(|| {
        let _ = hikyaku::local(3, one_dies);
    });
    let message = ended.unwrap_err();
    assert_eq!(message.downcast_ref::<&str>(), Some(&"this rank dies"));
}

#[test]
fn a_far_death_ends_sends_and_receives() {
    // What a dying rank has sent last may be lost on a bad wire, so this is a good one.
    for machine in MACHINES {
        let ended = std::panic::catch_unwind(|| {
            simulate(machine, 3, 0, |job| {
                one_dies(job);
                Ok(())
            })
        });
        let message = ended.unwrap_err();
        assert_eq!(message.downcast_ref::<&str>(), Some(&"this rank dies"));
    }
}

fn one_dies(job: &Job) {
    let messages = job.messages(1).unwrap();
    job.barrier().unwrap();
    match job.rank() {
        2 => panic!("this rank dies"),
        0 => {
            let got = messages.recv(&mut [0u8], 2, 0);
            assert!(matches!(got, Err(Error::PeerDead { rank: 2 })), "{got:?}");
        }
        _ => {
            let sent = messages.send(&vec![0u8; 100_000], 2, 0);
            assert!(matches!(sent, Err(Error::PeerDead { rank: 2 })), "{sent:?}");
        }
    }
    // The others go on.
    let peer = 1 - job.rank();
    if job.rank() == 0 { messages.send(&[1u8], peer, 0) } else { messages.recv(&mut [0u8], peer, 0).map(drop) }
        .unwrap();
}

/// Runs random programs; some of their receives must have had a choice.
fn check_programs(ranks: usize, run: impl Fn(u64, &(dyn Fn(&Job) -> Result<()> + Sync))) {
    let config = ProptestConfig { cases: 40, source_file: Some(file!()), ..ProptestConfig::default() };
    let choices = AtomicUsize::new(0);
    let checked = TestRunner::new(config).run(&(random::program(ranks), any::<u64>()), |(steps, seed)| {
        run(seed, &|job| {
            choices.fetch_add(programs::follow(job, &steps)?, Ordering::Relaxed);
            Ok(())
        });
        Ok(())
    });
    checked.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(choices.into_inner() > 0, "no receive ever had a choice");
}

#[test]
fn random_programs_of_two() {
    check_programs(2, |_, body| run(2, body));
}

#[test]
fn random_programs_of_four() {
    check_programs(4, |_, body| run(4, body));
}

/// Random programs between far ranks, where everything happens in the same order every time.
#[test]
fn random_programs_between_far_ranks() {
    check_programs(4, |seed, body| simulate(MACHINES[seed as usize % MACHINES.len()], 4, seed, body));
}

/// A send waits for its receive for exactly as long as it was told, and is spooled only then.
#[test]
fn the_time_of_a_spooled_send_is_exact() {
    const TIME: Duration = Duration::from_millis(20);
    // The time a send is given, when its receive comes, when the send returns, whether it was spooled.
    let turns = [
        (TIME, Some(TIME / 2), TIME / 2, false),
        (TIME, None, TIME, true),
        (Duration::ZERO, Some(TIME / 2), Duration::ZERO, true),
        (Duration::ZERO, None, Duration::ZERO, true),
    ];
    simulate("plain", 2, 0, |job| {
        let (messages, never) = (job.messages(1)?, job.symmetric::<u64>(1)?);
        messages.set_spare(1_000_000)?;
        for (time, receive, returns, spooled) in turns {
            let mut got = vec![0; 100_000];
            job.barrier()?;
            if job.rank() == 0 {
                messages.set_mode(Mode::Spool(time));
                let begin = job.now();
                messages.send(&pattern(1, 100_000), 1, 0)?;
                let elapsed = job.now() - begin;
                assert!(elapsed >= returns && elapsed < returns + TIME / 10, "{time:?}, {receive:?}: {elapsed:?}");
                let SpoolReport { moved, remaining } = messages.check_spool()?;
                assert_eq!(moved + remaining, spooled as usize, "{time:?}, {receive:?}");
            }
            if let (1, Some(moment)) = (job.rank(), receive) {
                let slept = job.wait_any(By::Anyone, &[Event::Word(never.here(0), Until::Equal(1))], Some(moment));
                assert!(matches!(slept, Err(Error::Timeout { .. })), "{slept:?}");
                messages.recv(&mut got, 0, 0)?;
            }
            job.barrier()?;
            if let (1, None) = (job.rank(), receive) {
                messages.recv(&mut got, 0, 0)?;
            }
            messages.settle();
            messages.check_spool()?;
            assert!(job.rank() == 0 || got == pattern(1, 100_000));
        }
        job.barrier()
    });
}

/// A sender that has buffered its messages computes, or waits in another library: the receiver finds them by itself.
#[test]
fn buffered_messages_are_received_while_their_sender_is_away() {
    const SIZES: [usize; 5] = [0, 8, 100, 20_000, 300_000];
    let rounds = 4;
    let received = AtomicUsize::new(0);
    run(2, |job| {
        let messages = job.messages(2)?;
        messages.set_spare(usize::MAX)?;
        messages.set_mode(Mode::Spool(Duration::ZERO));
        for round in 0..rounds {
            for number in 0..100 {
                let bytes = SIZES[(number + round) % SIZES.len()];
                if job.rank() == 0 {
                    messages.send(&pattern(number, bytes), 1, number % 2)?;
                } else {
                    let mut got = vec![0; bytes];
                    assert_eq!(messages.recv(&mut got, 0, number % 2)?, bytes);
                    assert!(got == pattern(number, bytes), "message {number} of round {round}");
                }
            }
            match job.rank() {
                1 => received.store(round + 1, Ordering::Release),
                _ => {
                    while received.load(Ordering::Acquire) <= round {
                        std::thread::yield_now();
                    }
                }
            }
        }
        messages.settle();
        assert_eq!(messages.check_spool()?.remaining, 0);
        job.barrier()
    });
}
