//! Virtual time itself: the same seed is the same run, what cannot be is reported, and thousands of ranks fit.

use hikyaku::sim::{Faults, Machine, Run, Sim};
use hikyaku::{Atomic, By, Error, Job, Until};
use hikyaku_testing::watchdog;

const HANDLER: u16 = 1;

/// A bit of everything; gives what depends on who came first.
fn mixture(job: &Job) -> hikyaku::Result<Vec<u64>> {
    let (rank, size) = (job.rank(), job.size());
    let table = job.symmetric::<u64>(size)?;
    let turns = job.symmetric::<u64>(1)?;
    job.register_handler(HANDLER, |context, message| {
        let _ = context.reply(message.arguments.map(|word| word + 1));
    })?;
    let area = job.register(1, vec![0u64; size])?;
    job.barrier()?;
    let mut seen = Vec::new();
    for round in 1..=5 {
        let peer = (rank + round) % size;
        job.push_notify(table.at(peer, rank), &[round as u64], table.at(peer, rank), round as u64)?;
        seen.push(job.atomic(turns.at(0, 0), Atomic::Add(1))?);
        seen.extend(job.call(peer, HANDLER, [seen[seen.len() - 1]; 6], &[0; 30])?);
        job.send(0, HANDLER, 0, [round as u64; 6], &[])?;
        let remote = job.open_area::<u64>(peer, 1)?;
        job.push(remote.at(rank), &[round as u64])?;
        job.barrier()?;
    }
    seen.extend(area.into_vec());
    seen.extend(table.to_vec());
    Ok(seen)
}

#[test]
fn the_same_seed_is_the_same_run() {
    let run = |seed| watchdog::watched("mixture", || Sim::new(Machine::plain(), 7, seed).run(mixture).unwrap());
    let summary = |run: Run<hikyaku::Result<Vec<u64>>>| {
        let results: Vec<_> = run.results.into_iter().map(Result::unwrap).collect();
        (run.hash, run.events, run.elapsed, results)
    };
    let hashes: Vec<u64> = (1..=5)
        .map(|seed| {
            let first = summary(run(seed));
            assert!(first.1 > 1000, "{} events", first.1);
            assert_eq!(first, summary(run(seed)), "seed {seed}");
            first.0
        })
        .collect();
    assert!(hashes.iter().any(|hash| *hash != hashes[0]), "seeds make no difference");
}

/// The checksum tells runs apart that differ in one word.
#[test]
fn another_program_is_another_run() {
    let run = |value: u64| {
        let program = |job: &Job| {
            let word = job.symmetric::<u64>(1).unwrap();
            job.word(word.at(1, 0), value).unwrap();
            job.barrier().unwrap();
        };
        Sim::new(Machine::plain(), 2, 1).run(program).unwrap().hash
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_thread_of_a_simulated_rank_is_told_that_it_cannot_wait() {
    let run = Sim::new(Machine::plain(), 2, 1).run(|job| {
        let word = job.symmetric::<u64>(1).unwrap();
        job.register_handler(HANDLER, |_, _| {}).unwrap();
        let (port, peer, own) = (job.open().unwrap(), 1 - job.rank(), &word);
        let waits = std::thread::scope(|scope| {
            let thread = scope.spawn(move || {
                [
                    port.wait(own.here(0), Until::Equal(1)).map(drop),
                    port.wait_handled(By::Rank(peer), HANDLER, 1),
                    port.pull_one(own.at(peer, 0)).map(drop),
                    port.call(peer, HANDLER, [0; 6], &[]).map(drop),
                ]
            });
            thread.join().unwrap()
        });
        // The program itself goes on.
        job.barrier().unwrap();
        waits
    });
    for wait in run.unwrap().results.into_iter().flatten() {
        assert!(matches!(&wait, Err(Error::Invalid(text)) if text.contains("one thread")), "{wait:?}");
    }
}

#[test]
fn ranks_that_wait_for_each_other_are_named() {
    let run = Sim::new(Machine::plain(), 3, 1).run(|job| {
        let word = job.symmetric::<u64>(1).unwrap();
        job.barrier().unwrap();
        if job.rank() != 1 {
            let _ = job.wait_from(By::Rank(2 - job.rank()), word.here(0), Until::Equal(1));
        }
    });
    assert!(matches!(&run, Err(Error::Invalid(text)) if text.contains("ranks 0, 2 wait for ever")), "{run:?}");
}

#[test]
fn a_panic_reaches_the_peers_and_the_caller() {
    let heard = std::cell::Cell::new(0);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        Sim::new(Machine::plain(), 3, 1).run(|job| {
            if job.rank() == 1 {
                panic!("on purpose");
            }
            assert!(matches!(job.barrier(), Err(Error::PeerDead { rank: 1 })));
            heard.set(heard.get() + 1);
        })
    }));
    assert_eq!(outcome.unwrap_err().downcast_ref::<&str>(), Some(&"on purpose"));
    assert_eq!(heard.get(), 2);
}

/// Time passes in looks, so a program that only looks comes to an end.
#[test]
fn the_clock_is_virtual() {
    use std::time::{Duration, Instant};
    let real = Instant::now();
    let run = Sim::new(Machine::plain(), 2, 1).run(|job| {
        let begin = job.now();
        let end = begin + Duration::from_micros(50);
        while job.now() < end {}
        let word = job.symmetric::<u64>(1).unwrap();
        let day = Duration::from_secs(86_400);
        let waited = job.wait_for(By::Anyone, word.here(0), Until::Equal(1), Some(day));
        assert!(matches!(waited, Err(Error::Timeout { after }) if after == day), "{waited:?}");
        job.now() - begin
    });
    let run = run.unwrap();
    assert!(run.results.iter().all(|passed| passed.as_secs() >= 86_400), "{:?}", run.results);
    assert!(run.elapsed.as_secs() >= 86_400 && real.elapsed().as_secs() < 3600);
}

/// Over a wire that loses frames packets are short: messages around several of them arrive whole.
#[test]
fn messages_as_long_as_some_packets() {
    const PACKET: usize = 32 * 1024;
    let run = Sim::new(Machine::plain(), 2, 1).faults(Faults::of_wire(0.05)).run(|job| {
        let messages = job.messages(1)?;
        for bytes in (2 * PACKET - 30..=2 * PACKET + 1).chain([PACKET]) {
            let content: Vec<u8> = (0..bytes).map(|index| (index / 7 + bytes) as u8).collect();
            let mut into = vec![0; bytes];
            match job.rank() {
                0 => messages.send(&content, 1, 0)?,
                _ => drop(messages.recv(&mut into, 0, 0)?),
            }
            assert!(job.rank() == 0 || into == content, "{bytes} bytes");
        }
        job.barrier()
    });
    run.unwrap().results.into_iter().collect::<hikyaku::Result<Vec<()>>>().unwrap();
}

/// The processor of an interface runs one handler at a time.
#[test]
fn handlers_of_an_interface_queue_up() {
    let mut machine = Machine::plain();
    (machine.ni.clock, machine.ni.handler) = (100.0, 5.0);
    let run = Sim::new(machine, 4, 1).trace(true).run(|job| {
        job.register_handler(HANDLER, |_, _| {})?;
        let interface = job.start_ni_thread()?;
        job.barrier()?;
        if job.rank() > 0 {
            job.send(0, HANDLER, 0, [0; 6], &[])?;
        } else {
            job.wait_handled(By::Anyone, HANDLER, 3)?;
        }
        job.barrier()?;
        drop(interface);
        hikyaku::Result::Ok(())
    });
    let messages = run.unwrap().passages.into_iter().filter(|passage| passage.what == "message");
    let mut handled: Vec<_> = messages.map(|message| message.arrived.as_nanos()).collect();
    handled.sort_unstable();
    // Behind each goes the question whether it was handled.
    handled.dedup();
    // They were sent at the same time.
    assert_eq!([handled[1] - handled[0], handled[2] - handled[1]], [5000, 5000], "{handled:?}");
}

/// Whoever waits for the word has the data. That all has arrived is asked once, by the barrier.
#[test]
fn a_push_with_a_notification_is_one_packet() {
    let packets = |pushes: u64| {
        let run = Sim::new(Machine::plain(), 2, 1).trace(true).run(|job| {
            let (data, flag) = (job.symmetric::<u64>(4)?, job.symmetric::<u64>(1)?);
            for number in 1..=pushes {
                if job.rank() == 0 {
                    job.push_notify(data.at(1, 0), &[number; 4], flag.at(1, 0), number)?;
                }
            }
            if job.rank() == 1 {
                job.wait_from(By::Rank(0), flag.here(0), Until::Equal(pushes))?;
                assert_eq!(data.to_vec(), [pushes; 4]);
            }
            job.barrier()
        });
        let passages = run.unwrap().passages;
        ["push", "word", "answer"].map(|what| passages.iter().filter(|passage| passage.what == what).count())
    };
    let (none, ten) = (packets(0), packets(10));
    assert_eq!([0, 1, 2].map(|kind| ten[kind] - none[kind]), [10, 1, 1], "{none:?} {ten:?}");
}

/// On a long way, sixteen pieces take little longer than one.
#[test]
fn long_pulls_have_several_requests_under_way() {
    let mut machine = Machine::plain();
    machine.link.latency = 1000.0;
    // Only a wire that may fail carries pieces.
    let faults = Faults { loss: 1e-9, ..Faults::default() };
    let run = Sim::new(machine, 2, 1).faults(faults).run(|job| {
        const PIECE: usize = 32 << 10;
        let data = job.symmetric::<u8>(16 * PIECE)?;
        let mut took = [0.0; 2];
        if job.rank() == 1 {
            data.write(0, &(0..16 * PIECE).map(|index| (index % 251) as u8).collect::<Vec<_>>());
        }
        job.barrier()?;
        if job.rank() == 0 {
            for (took, bytes) in took.iter_mut().zip([PIECE, 16 * PIECE]) {
                let (begin, mut into) = (job.now(), vec![0; bytes]);
                job.pull(data.at(1, 0), &mut into)?;
                *took = (job.now() - begin).as_secs_f64();
                assert!(into.iter().enumerate().all(|(index, byte)| *byte == (index % 251) as u8));
            }
        }
        job.barrier()?;
        hikyaku::Result::Ok(took)
    });
    let [one, sixteen] = run.unwrap().results.swap_remove(0).unwrap();
    assert!(one > 0.002 && sixteen < 3.0 * one, "{one} s for one, {sixteen} s for sixteen");
}

/// On a long way, eight transfers that were started take little longer than one that is waited for; eight of those take eight times as
/// long.
#[test]
fn transfers_are_under_way_at_once() {
    const BYTES: usize = 1000;
    let mut machine = Machine::plain();
    machine.link.latency = 1000.0;
    let run = Sim::new(machine, 2, 1).run(|job| {
        let data = job.symmetric::<u8>(8 * BYTES)?;
        data.write(0, &[job.rank() as u8 + 1; 8 * BYTES]);
        let mut took = [0.0; 4];
        job.barrier()?;
        if job.rank() == 0 {
            let (mut waited, mut started) = (vec![0; 8 * BYTES], vec![0; 8 * BYTES]);
            let mut clock = job.now();
            let mut lap = || (job.now() - std::mem::replace(&mut clock, job.now())).as_secs_f64();
            for (part, into) in waited.chunks_mut(BYTES).enumerate() {
                job.pull(data.at(1, part * BYTES), into)?;
            }
            took[0] = lap();
            job.scope(|scope| {
                let mut pulls = Vec::new();
                for (part, into) in started.chunks_mut(BYTES).enumerate() {
                    pulls.push(scope.start_pull(data.at(1, part * BYTES), into)?);
                }
                pulls.into_iter().try_for_each(|pull| scope.wait(pull))
            })?;
            took[1] = lap();
            assert!(waited == started && waited == [2; 8 * BYTES]);
            for (part, from) in waited.chunks(BYTES).enumerate() {
                job.push(data.at(1, part * BYTES), from)?;
                job.flush(1)?;
            }
            took[2] = lap();
            job.scope(|scope| {
                let mut parts = started.chunks(BYTES).enumerate();
                parts.try_for_each(|(part, from)| scope.start_push(data.at(1, part * BYTES), from).map(drop))
            })?;
            took[3] = lap();
        }
        job.barrier()?;
        hikyaku::Result::Ok(took)
    });
    let [pulls, started_pulls, pushes, started_pushes] = run.unwrap().results.swap_remove(0).unwrap();
    println!("8 pulls: {pulls} s, started {started_pulls} s; 8 pushes: {pushes} s, started {started_pushes} s");
    assert!(pulls > 0.016 && started_pulls < pulls / 6.0, "{pulls} s one by one, {started_pulls} s at once");
    assert!(pushes > 0.016 && started_pushes < pushes / 6.0, "{pushes} s one by one, {started_pushes} s at once");
}

/// Without optimization an eighth of them, for the sake of time.
const MANY: usize = if cfg!(debug_assertions) { 512 } else { 4096 };

/// Runs a program on thousands of ranks, in a minute and 8 GB.
fn check_many(name: &str, heap_bytes: u64, program: impl Fn(&Job) -> hikyaku::Result<()>) {
    let clock = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let begin = clock().tv_sec;
    let run = watchdog::watched(name, || Sim::new(Machine::plain(), MANY, 1).heap_bytes(heap_bytes).run(program));
    let run = run.unwrap();
    run.results.into_iter().collect::<hikyaku::Result<Vec<()>>>().unwrap();
    let (seconds, kilobytes) = (clock().tv_sec - begin, peak_kilobytes());
    println!("{name}, {MANY} ranks, {} events: {seconds} s, {} MB", run.events, kilobytes / 1024);
    assert!(kilobytes < 8 << 20, "{kilobytes} KB of memory");
    // Of processor time, whatever else the machine does.
    assert!(seconds < 60, "{seconds} s");
}

#[test]
fn thousands_of_ranks() {
    check_many("neighbours", 1 << 20, |job| {
        let (rank, size) = (job.rank(), job.size());
        let table = job.symmetric::<u64>(2)?;
        for round in 1..=10 {
            job.push(table.at((rank + 1) % size, 0), &[(rank * round) as u64])?;
            job.push(table.at((rank + size - 1) % size, 1), &[(rank * round) as u64])?;
            job.barrier()?;
            let below = (rank + size - 1) % size * round;
            let above = (rank + 1) % size * round;
            assert_eq!(table.to_vec(), [below as u64, above as u64]);
            job.barrier()?;
        }
        Ok(())
    });
}

/// The group of all of them, each time with another root.
#[test]
fn thousands_of_members() {
    check_many("members", 1 << 29, |job| {
        let world = job.new_world()?;
        let content = |round: usize| -> Vec<u64> { (0..1024).map(|index| (round << 32 | index) as u64).collect() };
        for round in 0..5 {
            let root = round * 1000 % world.size();
            let mut data = if world.rank() == root { content(round) } else { vec![0; 1024] };
            world.barrier()?;
            world.broadcast(&mut data, root)?;
            assert_eq!(data, content(round));
        }
        world.free()
    });
}

/// The most memory this process ever had.
fn peak_kilobytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the kernel tells");
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}
