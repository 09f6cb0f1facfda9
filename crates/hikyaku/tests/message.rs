//! Messages by slots on threads and in virtual time: the cases, the end of a rank, and random programs against a plain model.

#[path = "message/cases.rs"]
mod cases;

use cases::pattern;
use hikyaku::message::{EAGER_MAX, Mode};
use hikyaku::sim::{Faults, Machine, Sim};
use hikyaku::{Error, Job, Result};
use proptest::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn run(ranks: usize, body: impl Fn(&Job) -> Result<()> + Sync) {
    for result in hikyaku::local(ranks, body).unwrap() {
        result.unwrap();
    }
}

#[test]
fn all_cases() {
    for (name, ranks, body) in cases::CASES {
        println!("{name}");
        run(*ranks, body);
    }
}

/// Machines on which things happen in different orders.
const MACHINES: [&str; 3] = ["plain", "sr8000", "ndr"];

/// On a good wire, and with an odd seed on one that loses, doubles and reorders frames.
fn simulate(machine: &str, ranks: usize, seed: u64, body: impl Fn(&Job) -> Result<()>) {
    let model = if machine == "plain" { Machine::plain() } else { Machine::named(machine).unwrap() };
    let sim = Sim::new(model, ranks, seed);
    let sim = if seed % 2 == 1 { sim.faults(Faults::of_wire(0.1)) } else { sim };
    let run = sim.run(body).unwrap_or_else(|error| panic!("{machine}, {seed}: {error}"));
    run.results.into_iter().for_each(|result| result.unwrap_or_else(|error| panic!("{machine}, {seed}: {error}")));
}

#[test]
fn all_cases_between_far_ranks() {
    for (name, ranks, body) in cases::CASES {
        for (machine, seed) in MACHINES.into_iter().zip(0..) {
            println!("{name} on {machine}");
            simulate(machine, *ranks, seed, body);
        }
    }
}

#[test]
fn all_cases_over_a_wire_with_faults() {
    for (name, ranks, body) in cases::CASES {
        for seed in [1, 3] {
            println!("{name}, seed {seed}");
            simulate("plain", *ranks, seed, body);
        }
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

/// One message of a random program.
#[derive(Clone, Debug)]
struct Step {
    from: usize,
    to: usize,
    slot: usize,
    bytes: usize,
    mode: u8,
    any_slot: bool,
    any_rank: bool,
    /// Between the members of a group, in which the ranks are numbered the other way round.
    in_group: bool,
}

fn step(ranks: usize) -> impl Strategy<Value = Step> {
    let size = prop_oneof![4 => 0usize..100, 2 => 100usize..EAGER_MAX + 50, 1 => EAGER_MAX..300_000];
    (0..ranks, 1..ranks, 0usize..4, size, 0u8..4, prop::bool::weighted(0.15), prop::bool::weighted(0.15), any::<bool>())
        .prop_map(move |(from, distance, slot, bytes, mode, any_slot, any_rank, in_group)| {
            let to = (from + distance) % ranks;
            Step { from, to, slot, bytes, mode, any_slot: any_slot && !any_rank, any_rank, in_group }
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// All ranks go through one list of messages; each does its part of each. Whatever the modes and sizes, every receive
    /// gets the bytes of its own send.
    #[test]
    fn random_programs_deliver_what_the_list_says(steps in prop::collection::vec(step(3), 1..60)) {
        run(3, |job| follow(job, &steps));
    }

    /// The same between far ranks, and in the same order every time.
    #[test]
    fn random_programs_between_far_ranks(steps in prop::collection::vec(step(3), 1..60), seed in any::<u64>()) {
        simulate(MACHINES[seed as usize % MACHINES.len()], 3, seed, |job| follow(job, &steps));
    }
}

fn follow(job: &Job, steps: &[Step]) -> Result<()> {
    let group = job.world()?.split(Some(0), -(job.rank() as i64))?.expect("all join");
    let (between_ranks, between_members) = (job.messages(4)?, group.messages(4)?);
    between_ranks.set_spare(10_000_000)?;
    between_members.set_spare(10_000_000)?;
    for (number, step) in steps.iter().enumerate() {
        let messages = if step.in_group { &between_members } else { &between_ranks };
        let name = |rank: usize| if step.in_group { job.size() - 1 - rank } else { rank };
        messages.set_mode(match step.mode {
            0 => Mode::Synchronous,
            1 => Mode::Spool(Duration::ZERO),
            2 => Mode::Spool(Duration::from_micros(50)),
            _ => Mode::Standard,
        });
        let data = pattern(number, step.bytes);
        if job.rank() == step.from {
            match step.any_rank {
                true => messages.send_any(&data, name(step.to), step.slot)?,
                false => messages.send(&data, name(step.to), step.slot)?,
            }
        }
        if job.rank() == step.to {
            let mut got = vec![0; step.bytes];
            let len = match (step.any_rank, step.any_slot) {
                (true, _) => messages.recv_any(&mut got, step.slot)?.len,
                (false, true) => messages.recv_any_slot(&mut got, name(step.from))?.len,
                (false, false) => messages.recv(&mut got, name(step.from), step.slot)?,
            };
            assert_eq!(len, step.bytes, "message {number}");
            assert!(got == data, "message {number}: {step:?}");
        }
        // Receives that do not name what they want must not see a later message.
        if step.any_rank || step.any_slot {
            job.barrier()?;
        }
    }
    while between_ranks.check_spool()?.remaining + between_members.check_spool()?.remaining > 0 {}
    group.free_messages(between_members)?;
    job.barrier()
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
