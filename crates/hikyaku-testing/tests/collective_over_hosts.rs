//! Groups over simulated hosts of several ranks: every version, in layouts where it matters, with members that die at any moment,
//! and how much goes between the hosts.

use hikyaku::collective::{Choices, Group, Sum, Version};
use hikyaku::sim::{Crash, Faults, Machine, Passage, Run, Sim};
use hikyaku::{Error, Job, Result};
use hikyaku_testing::{Suite, suite, watchdog};
use std::time::Duration;

/// Ends the whole test, and says where it was, if it hangs or takes more than so many seconds of processor time.
fn within<R>(seconds: u64, what: &str, body: impl FnOnce() -> R) -> R {
    let limits = watchdog::Limits { busy: Duration::from_secs(seconds), ..watchdog::LIMITS };
    watchdog::watched_with(limits, what, body)
}

/// The host of each rank. The first one alone, or on the host of the last; neighbours on one host, and not; hosts of different
/// sizes; a host with more members than its leader tells by itself.
const LAYOUTS: [&[usize]; 5] =
    [&[1, 0, 0, 0], &[0, 0, 1, 1, 1], &[2, 0, 1, 0, 2, 1], &[0, 1, 1, 0, 1], &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]];

fn sim(hosts: &'static [usize], seed: u64) -> Sim {
    Sim::new(Machine::plain(), hosts.len(), seed).hosts(|rank| hosts[rank])
}

/// Those cases that have versions over hosts, and those that find out what does not fit together.
#[test]
fn by_every_version() {
    let cases = ["group_broadcast", "group_allreduce", "group_functions_in_order", "group_mixture", "group_barrier"];
    let is_chosen = |name: &str| cases.contains(&name) || name.starts_with("group_op") || name.ends_with("mismatch");
    for (version, hosts) in Version::FAR.into_iter().flat_map(|version| [1, 3].map(|of| (version, LAYOUTS[of]))) {
        for case in suite(Suite::Collectives).filter(|case| is_chosen(case.name)) {
            let what = format!("{} by {} on {hosts:?}", case.name, version.name());
            within(120, &what, || sim(hosts, 7).choices(Choices::all(version)).run(|job| case.run(job)).unwrap());
        }
    }
}

/// A leader alone on its host and not the last in order, and one that leads many.
#[test]
fn in_other_layouts() {
    let is_long = |name: &str| ["group_reduce", "group_functions_in_order", "group_exchange"].contains(&name);
    for (seed, hosts) in [(1, LAYOUTS[0]), (2, LAYOUTS[4])] {
        for case in suite(Suite::Collectives).filter(|case| hosts.len() < 6 || !is_long(case.name)) {
            let what = format!("{} on {hosts:?}", case.name);
            within(120, &what, || sim(hosts, seed).run(|job| case.run(job)).unwrap());
        }
    }
}

/// One call after the other, short and long, until one fails.
fn call_until_it_fails(job: &Job, turns: usize) -> Result<()> {
    let world = job.new_world()?;
    for turn in 0..turns {
        let root = turn % job.size();
        let mut long = vec![job.rank() as u64; 12_000];
        world.allreduce(&mut [1u64], Sum)?;
        world.allreduce(&mut long, Sum)?;
        world.broadcast(&mut long, root)?;
        world.scope(|scope| scope.wait(scope.iallreduce(&mut long[..3000], Sum)?))?;
        world.reduce(&mut long, |total: &mut [u64], input: &[u64]| total[0] += input[0], root)?;
        world.allgather(&[turn], &mut vec![0; job.size()])?;
        world.barrier()?;
    }
    Ok(())
}

/// Leaders and others, in the middle of whatever they do: all others are told who it was.
#[test]
fn a_member_that_dies_at_any_moment_is_named_to_all() {
    for hosts in LAYOUTS {
        let until = |turns: usize| sim(hosts, 1).run(|job| call_until_it_fails(job, turns).unwrap()).unwrap().elapsed;
        let (start, end) = (until(0), until(2));
        for seed in 0..12u64 {
            let victim = seed as usize % hosts.len();
            let at = start + (end - start).mul_f64((seed * 7919 % 1000) as f64 / 1000.0);
            let faults = Faults { crashes: vec![Crash { rank: victim, at }], ..Faults::default() };
            let what = format!("{hosts:?}, rank {victim} dies at {at:?}");
            let run = within(120, &what, || {
                sim(hosts, seed).faults(faults).run_mortal(|job| call_until_it_fails(job, usize::MAX)).unwrap()
            });
            for (rank, result) in run.results.iter().enumerate().filter(|(rank, _)| *rank != victim) {
                let told = matches!(result, Some(Err(Error::PeerDead { rank })) if *rank == victim);
                assert!(told, "{what}: rank {rank} got {result:?}");
            }
        }
    }
}

/// What goes over the wire in a call: beyond what goes in as many calls without it.
fn passages_of(sim: &Sim, call: fn(&Group<'_>)) -> Vec<Passage> {
    let run = |calls: usize| -> Run<()> {
        let sim = sim.clone().trace(true);
        sim.run(|job| {
            let world = job.new_world().unwrap();
            (0..calls).for_each(|_| call(&world));
            job.barrier().unwrap();
            // Nothing more in this call than the end of the job.
            std::mem::forget(world);
        })
        .unwrap()
    };
    // The first call also tells that a slot is used.
    let (one, two) = (run(1).passages, run(2).passages);
    let pushes = |all: &[Passage]| all.iter().filter(|passage| passage.what.ends_with("push")).count();
    assert!(pushes(&two) > pushes(&one));
    let mut rest = two;
    for passage in &one {
        let same = |other: &Passage| (other.from, other.to, other.what) == (passage.from, passage.to, passage.what);
        if let Some(place) = rest.iter().position(same) {
            rest.remove(place);
        }
    }
    rest
}

fn pushes(passages: &[Passage]) -> impl Iterator<Item = &Passage> {
    passages.iter().filter(|passage| passage.what.ends_with("push"))
}

#[test]
fn a_far_allreduce_of_8_kb_takes_few_pushes() {
    let sim = Sim::new(Machine::plain(), 8, 1);
    let passages = passages_of(&sim, |world| world.allreduce(&mut [1.0f64; 1024], Sum).unwrap());
    for rank in 0..8 {
        let sent = || pushes(&passages).filter(move |passage| passage.from == rank);
        let (count, bytes) = (sent().count(), sent().map(|passage| passage.bytes).sum::<usize>());
        assert!(count <= 14, "rank {rank}: {count} pushes");
        // An eighth of the data to each other, and of the result; and what is told with it.
        assert!(bytes <= 14 * (1024 + 128), "rank {rank}: {bytes} bytes");
    }
}

/// Two leaders tell each other what their hosts have, once.
#[test]
fn only_leaders_talk_between_hosts() {
    static HOSTS: [usize; 8] = [0, 1, 0, 1, 1, 0, 1, 0];
    let passages = passages_of(&sim(&HOSTS, 1), |world| world.allreduce(&mut [1.0f64], Sum).unwrap());
    assert!(passages.iter().all(|passage| passage.from <= 1 && passage.to <= 1), "{passages:?}");
    assert_eq!(pushes(&passages).count(), 2, "{passages:?}");
    let passages = passages_of(&sim(&HOSTS, 1), |world| world.barrier().unwrap());
    assert_eq!(pushes(&passages).count(), 2, "{passages:?}");
    let passages = passages_of(&sim(&HOSTS, 1), |world| world.broadcast(&mut [1.0f64], 4).unwrap());
    let ways: Vec<_> = pushes(&passages).map(|passage| (passage.from, passage.to)).collect();
    assert_eq!(ways, [(4, 0)]);
}

/// Each host sends what it must, and no more: half of the data to combine, and half of the result.
#[test]
fn a_long_allreduce_crosses_between_two_hosts_once() {
    const BYTES: usize = 1 << 20;
    static HOSTS: [usize; 8] = [0, 0, 0, 0, 1, 1, 1, 1];
    let passages = passages_of(&sim(&HOSTS, 1), |world| world.allreduce(&mut vec![1u64; BYTES / 8], Sum).unwrap());
    for host in 0..2 {
        let sent: usize =
            passages.iter().filter(|passage| HOSTS[passage.from] == host).map(|passage| passage.bytes).sum();
        assert!((BYTES..BYTES + BYTES / 50).contains(&sent), "host {host} sent {sent} bytes");
    }
}

/// Prints virtual times of one call: `cargo test -p hikyaku --test collective -- --ignored --nocapture figures`.
#[test]
#[ignore = "figures, not a test"]
fn figures() {
    for (hosts, ranks, mixed) in [(4, 8, false), (4, 8, true), (8, 1, false)] {
        let host = |rank: usize| if mixed { rank % hosts } else { rank / ranks };
        for bytes in [8, 8 << 10, 1 << 20] {
            let mut line = format!("allreduce of {bytes} bytes, {hosts} hosts of {ranks}, in turn {mixed}:");
            for version in Version::FAR {
                let choices = Choices::all(version);
                let sim = Sim::new(Machine::plain(), hosts * ranks, 1).hosts(host).choices(choices);
                let time = |calls: usize| {
                    let run = sim.run(|job| {
                        let world = job.new_world().unwrap();
                        let mut data = vec![0.0f64; bytes / 8];
                        (0..calls).for_each(|_| world.allreduce(&mut data, Sum).unwrap());
                    });
                    run.unwrap().elapsed
                };
                line += &format!("  {} {:.2?}", version.name(), (time(3) - time(1)) / 2);
            }
            println!("{line}");
        }
    }
}
