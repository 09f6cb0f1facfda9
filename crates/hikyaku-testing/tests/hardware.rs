//! Broadcasts and barriers that a simulated network does by itself.

use hikyaku::sim::{Crash, Faults, Hardware, Machine, Sim};
use hikyaku::{Error, Group, Job, Result};
use hikyaku_testing::watchdog;
use std::time::Duration;

type Call = fn(&Group<'_>) -> Result<()>;

/// A machine of round numbers with the network of the SR8000, whose buffers are made so small that they are used in turn.
fn machine(buffer_bytes: usize) -> Machine {
    let sr8000 = Machine::named("sr8000").unwrap();
    let mut machine = Machine { hardware: sr8000.hardware, link: sr8000.link, ..Machine::plain() };
    machine.hardware.broadcast.as_mut().unwrap().buffer_bytes = buffer_bytes;
    machine
}

fn without(machine: &Machine) -> Machine {
    Machine { hardware: Hardware::default(), ..machine.clone() }
}

/// Virtual time of one call on each of `ranks` ranks, the slowest of them.
fn time(machine: &Machine, ranks: usize, call: impl Fn(&Group<'_>) -> Result<()>) -> Duration {
    const ROUNDS: u32 = 10;
    let run = Sim::new(machine.clone(), ranks, 1).run(|job| {
        let world = job.new_world()?;
        world.barrier()?;
        let begin = job.now();
        (0..ROUNDS).try_for_each(|_| call(&world))?;
        let time = job.now() - begin;
        world.free()?;
        Ok(time / ROUNDS)
    });
    let times = run.unwrap().results.into_iter().collect::<Result<Vec<_>>>().unwrap();
    times.into_iter().max().unwrap()
}

/// The SR8000 of 8 x 2 hosts has them for 2 to 8 hosts and for 16.
#[test]
fn the_network_serves_rectangles_only() {
    let machine = Machine::named("sr8000").unwrap();
    let calls: [(&str, Call); 2] =
        [("barrier", |world| world.barrier()), ("broadcast", |world| world.broadcast(&mut [7u8; 100], 0))];
    for (name, call) in calls {
        for ranks in [2, 3, 8, 16] {
            let (by_network, by_messages) = (time(&machine, ranks, call), time(&without(&machine), ranks, call));
            assert!(by_network < by_messages, "{name} of {ranks}: {by_network:?} instead of {by_messages:?}");
        }
        for ranks in [9, 15, 17] {
            assert_eq!(time(&machine, ranks, call), time(&without(&machine), ranks, call), "{name} of {ranks}");
        }
    }
    assert!(time(&machine, 16, |world| world.barrier()) < Duration::from_micros(6));
}

/// Broadcasts of all lengths around the size of a buffer, by each root in turn, and barriers between them.
fn calls(group: &Group<'_>) -> Result<()> {
    for (round, len) in [0, 1, 7, 8, 9, 15, 16, 17, 100, 1000].into_iter().enumerate() {
        for root in 0..group.size() {
            let content: Vec<u64> = (0..len).map(|index| (round << 32 | root << 16 | index) as u64).collect();
            let mut data = if group.rank() == root { content.clone() } else { vec![0; len] };
            group.broadcast(&mut data, root)?;
            assert_eq!(data, content, "{len} words of member {root}");
        }
        group.barrier()?;
    }
    Ok(())
}

/// The world, all ranks the other way round, and halves, which the network does not serve.
fn groups(job: &Job) -> Result<()> {
    let world = job.new_world()?;
    calls(&world)?;
    let turned = world.split(Some(0), -(job.rank() as i64))?.expect("this rank joins");
    let half = world.split(Some(job.rank() as u64 % 2), 0)?.expect("this rank joins");
    for group in [&turned, &half, &world] {
        calls(group)?;
    }
    half.free()?;
    turned.free()?;
    // What comes later uses the same memory, and nothing of what was there.
    let again = world.split(Some(0), 0)?.expect("this rank joins");
    calls(&again)?;
    again.free()?;
    world.free()
}

#[test]
fn every_member_gets_what_the_root_has() {
    for (ranks, buffer_bytes) in [(2, 64), (5, 64), (8, 100), (16, 64), (8, 0)] {
        let run = watchdog::watched("groups", || Sim::new(machine(buffer_bytes), ranks, 1).run(groups).unwrap());
        run.results.into_iter().collect::<Result<Vec<()>>>().unwrap();
    }
}

#[test]
fn nothing_is_lost_on_a_wire_that_loses() {
    for seed in 1..=5 {
        let faults = Faults { corruption: 0.1, ..Faults::of_wire(0.2) };
        let run = || Sim::new(machine(64), 5, seed).faults(faults.clone()).run(groups).unwrap();
        let (first, second) = watchdog::watched("groups", || (run(), run()));
        assert!(first.links.resent > 100, "{:?}", first.links);
        assert_eq!((first.hash, first.events), (second.hash, second.events), "seed {seed}");
        first.results.into_iter().collect::<Result<Vec<()>>>().unwrap();
    }
}

/// Whenever a rank dies, the others get to know, from whatever call they are in.
#[test]
fn a_death_ends_every_wait() {
    let (mut failed, mut passed) = (0, 0);
    for moment in 0..40 {
        let crash = Crash { rank: moment % 4, at: Duration::from_micros(25 * moment as u64) };
        let faults = Faults { crashes: vec![crash], ..Faults::default() };
        let sim = Sim::new(machine(64), 4, 1).faults(faults).time_limit(Duration::from_secs(5));
        let program = |job: &Job| match job.new_world() {
            Ok(world) => calls(&world),
            // There is no group yet.
            Err(error) if error.is_peer_fault() => Ok(()),
            Err(other) => Err(other),
        };
        let run = watchdog::watched("a death", || sim.run_mortal(program));
        for (rank, result) in run.unwrap().results.into_iter().enumerate() {
            match result {
                None => assert_eq!(rank, crash.rank),
                Some(Ok(())) => passed += 1,
                Some(Err(Error::PeerDead { rank })) if rank == crash.rank => failed += 1,
                Some(Err(other)) => panic!("{crash:?}: rank {rank}: {other}"),
            }
        }
    }
    assert!(failed > 50, "{failed} failed, {passed} passed");
}

/// Members that ask for different things are told, though the network's barrier compares nothing.
#[test]
fn calls_that_do_not_fit_together_fail_everywhere() {
    let odd_ones: [Call; 4] = [
        |group| group.barrier(),
        |group| group.broadcast(&mut [0u64; 3], 0),
        |group| group.broadcast(&mut [0u64; 4], 1),
        |group| group.allreduce(&mut [0u64; 4], hikyaku::collective::Sum),
    ];
    let others: [Call; 2] = [|group| group.barrier(), |group| group.broadcast(&mut [0u64; 4], 0)];
    for (kind, other) in others.into_iter().enumerate() {
        for (odd_kind, odd) in odd_ones.into_iter().enumerate().filter(|(odd_kind, _)| (*odd_kind, kind) != (0, 0)) {
            for odd_rank in 0..3 {
                let run = Sim::new(machine(64), 3, 1).run(|job| {
                    let world = job.new_world()?;
                    let call = if job.rank() == odd_rank { odd } else { other };
                    // One whose own part was complete before learns of it in its next call.
                    let called = call(&world).and_then(|()| world.barrier()).and_then(|()| world.free());
                    assert!(matches!(called, Err(Error::Mismatch { .. })), "{kind} {odd_kind} {odd_rank}: {called:?}");
                    job.barrier()
                });
                run.unwrap().results.into_iter().collect::<Result<Vec<()>>>().unwrap();
            }
        }
    }
}

/// A long broadcast by a tree goes straight from buffer to buffer, and reaches what the tree can: a root of 8 ranks sends
/// everything three times.
#[test]
fn a_long_tree_is_as_fast_as_its_links() {
    const BYTES: usize = 8 << 20;
    let machine = Machine::plain();
    let time = time(&machine, 8, |world| {
        let mut data = if world.rank() == 3 { vec![7u8; BYTES] } else { vec![0; BYTES] };
        world.broadcast(&mut data, 3)?;
        assert!(data.iter().all(|byte| *byte == 7));
        Ok(())
    });
    let (rate, packet) = (BYTES as f64 / time.as_secs_f64() / 1e6, machine.ni.packet as f64);
    let link = packet / (machine.ni.send + machine.ni.gap + packet / machine.link.bandwidth);
    assert!(rate > 0.95 * link / 3.0, "{rate:.0} MB/s over links of {link:.0}");
}

/// A program that has spent time since it last looked comes later than it calls.
#[test]
fn nobody_passes_the_barrier_before_the_last_one_comes() {
    const SENDS: usize = 10;
    let run = Sim::new(Machine::named("sr8000").unwrap(), 4, 1).run(|job| {
        let (messages, world) = (job.messages(SENDS)?, job.new_world()?);
        world.barrier()?;
        if job.rank() == 0 {
            (0..SENDS).try_for_each(|slot| messages.send(&[7u64], 1, slot))?;
        }
        world.barrier()?;
        let passed = job.now();
        if job.rank() == 1 {
            (0..SENDS).try_for_each(|slot| messages.recv(&mut [0u64], 0, slot).map(drop))?;
        }
        job.barrier()?;
        Ok(passed)
    });
    let passed = run.unwrap().results.into_iter().collect::<Result<Vec<_>>>().unwrap();
    let (first, last) = (passed.iter().min().unwrap(), passed.iter().max().unwrap());
    assert!(*last - *first < Duration::from_micros(5), "{:?} apart", *last - *first);
}
