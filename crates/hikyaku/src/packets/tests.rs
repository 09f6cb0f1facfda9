//! Messages in packets in virtual time: ranks are killed between any two steps, networks lose frames.

use super::{Buffers, Packets};
use crate::error::{Error, Result};
use crate::exchange::tests::{BUFFERS, Courier, run_by};
use crate::job::trial::check;
use crate::matching::{Keys, Matched, Source};
use crate::planted::{Bug, catches};
use crate::sim::{Machine, Sim};
use std::time::Duration;

impl Courier for Packets<'_> {
    fn send(&self, data: &[u8], rank: usize, tag: u64) -> Result<()> {
        Packets::send(self, data, rank, tag)
    }

    fn recv(&self, into: &mut [u8], from: usize, tags: Keys) -> Result<Matched> {
        Packets::recv(self, into, from, tags)
    }

    fn recv_for(&self, into: &mut [u8], from: usize, tags: Keys, timeout: Duration) -> Result<Matched> {
        Packets::recv_for(self, into, from, tags, timeout)
    }

    fn probe(&self, from: usize, tags: Keys) -> Result<Matched> {
        Packets::probe(self, from, tags)
    }
}

fn run(seed: u64) -> Result<()> {
    run_by(seed, |job| Ok(Box::new(job.packets_with(BUFFERS)?)))
}

#[test]
fn messages_come_once_and_in_order_whoever_dies() {
    check(0..250, run);
}

/// After changes to messages in packets: `cargo test --release -p hikyaku packets:: -- --ignored`.
#[test]
#[ignore = "minutes"]
fn messages_come_once_and_in_order_in_many_runs() {
    check(0..10_000, run);
}

/// A receiver that computes refuses what it has no room for, and it comes when there is a receive or room for it: near and far.
fn refuse(hosts: usize) {
    const COUNT: u64 = 200;
    let sim = Sim::new(Machine::plain(), 2, 7).hosts(move |rank| rank % hosts).time_limit(Duration::from_millis(300));
    let ran = sim.run_mortal(|job| -> Result<()> {
        let packets = job.packets_with(Buffers { messages: 4, bytes: 1000 })?;
        if job.rank() == 0 {
            for number in 0..COUNT {
                packets.send(&[number; 20], 1, number % 2)?;
            }
            packets.send(&[1u8; 2_000_000], 1, 9)?;
            job.barrier()?;
            let traffic = packets.traffic();
            assert!(traffic.resent > 0 && traffic.sent >= COUNT + traffic.resent, "{traffic:?}");
        } else {
            // It only looks at what comes.
            for _ in 0..200 {
                job.progress();
                let cost = packets.cost(0);
                assert!(cost <= 1000, "{cost} bytes are kept");
            }
            // Once: its sender waits until it is asked again.
            assert_eq!(packets.traffic().refused, 1);
            assert_eq!(packets.probe(0, Keys::ANY)?.len, 160);
            let mut into = [0u64; 20];
            for number in 0..COUNT / 2 {
                packets.recv(&mut into, 0, 0)?;
                assert_eq!(into, [2 * number; 20]);
            }
            for number in 0..COUNT / 2 {
                packets.recv(&mut into, 0, 1)?;
                assert_eq!(into, [2 * number + 1; 20]);
            }
            // More than there is ever room for: its receive makes it come.
            assert_eq!(packets.probe(0, 9)?.len, 2_000_000);
            let short = packets.recv_for(&mut [0u8; 5], 0, 10, Duration::from_micros(50));
            assert!(matches!(short, Err(Error::Timeout { .. })), "{short:?}");
            let mut long = vec![0u8; 2_000_000];
            // Given up in its middle it is not kept: there is no room for it.
            for patience in 1.. {
                let early = packets.recv_for(&mut long, 0, 9, Duration::from_nanos(300 << patience));
                assert!(packets.cost(0) <= 1000);
                if early.is_ok() {
                    assert!(patience > 2);
                    break;
                }
                assert!(matches!(early, Err(Error::Timeout { .. })), "{early:?}");
                long.fill(0);
            }
            assert!(long == [1; 2_000_000]);
            job.barrier()?;
        }
        packets.free()
    });
    ran.unwrap().results.into_iter().for_each(|result| result.unwrap().unwrap());
}

#[test]
fn a_full_receiver_refuses_and_nothing_is_lost() {
    refuse(1);
    refuse(2);
}

#[test]
fn planted_bugs_are_caught() {
    catches(
        || {
            check(0..20, run);
            refuse(1);
            refuse(2);
        },
        &[Bug::PacketBehindRefused, Bug::RefusedTaken, Bug::RefusedForgotten, Bug::RefusalIgnored, Bug::RefusesNothing],
    );
}

/// What a rank sends to itself is refused and comes again, though nobody else wakes it.
#[test]
fn a_rank_refuses_itself() {
    let sim = Sim::new(Machine::plain(), 1, 1).time_limit(Duration::from_millis(300));
    let ran = sim.run_mortal(|job| -> Result<()> {
        let packets = job.packets_with(Buffers { messages: 1, bytes: 1 })?;
        for number in 0..10u8 {
            packets.send(&[number; 5000], 0, 0)?;
            let mut into = [0; 5000];
            packets.recv(&mut into, if number % 2 == 0 { Source::Any } else { Source::Rank(0) }, 0)?;
            assert!(into == [number; 5000]);
        }
        packets.free()
    });
    ran.unwrap().results.into_iter().for_each(|result| result.unwrap().unwrap());
}

/// A sender leaves in the middle of a message, or has one refused: neither is waited for, or told of, any more.
#[test]
fn a_sender_leaves_in_the_middle() {
    for bytes in [50_000_000, 2000] {
        let sim = Sim::new(Machine::plain(), 3, 5).hosts(|rank| rank % 2).time_limit(Duration::from_millis(300));
        let ran = sim.run_mortal(move |job| -> Result<()> {
            let packets = job.packets_with(Buffers { messages: 2, bytes: 300 })?;
            match job.rank() {
                0 => {
                    let mut into = vec![0u8; bytes];
                    if bytes == 2000 {
                        // Without a receive it is refused.
                        (0..50).for_each(|_| _ = job.progress());
                        let there = packets.probe(Source::Any, 5)?;
                        assert!([(1, 2000), (2, 10)].contains(&(there.rank, there.len)));
                        while packets.try_probe(1, 5)?.is_some() {}
                    }
                    let matched = packets.recv(&mut into, Source::Any, 5)?;
                    assert_eq!((matched.rank, matched.len), (2, 10));
                    assert_eq!(packets.try_probe(Source::Any, Keys::ANY)?, None);
                    assert_eq!(packets.cost(1), 0);
                    packets.send(&[1u8], 2, 1)?;
                }
                1 => {
                    packets.send(&vec![1u8; bytes], 0, 5)?;
                    // It goes no further.
                    std::mem::forget(packets);
                }
                _ => {
                    let late = packets.recv_for(&mut [0u8], 0, 1, Duration::from_millis(1));
                    assert!(matches!(late, Err(Error::Timeout { .. })));
                    packets.send(&[2u8; 10], 0, 5)?;
                    packets.recv(&mut [0u8], 0, 1)?;
                }
            }
            Ok(())
        });
        ran.unwrap().results.into_iter().for_each(|result| result.unwrap().unwrap());
    }
}

/// Messages that nobody receives keep nobody from ending, and those that were sent before an end arrive.
#[test]
fn ends_leave_nothing_behind() {
    for hosts in 1..=2 {
        let sim =
            Sim::new(Machine::plain(), 3, 3).hosts(move |rank| rank % hosts).time_limit(Duration::from_millis(300));
        let ran = sim.run_mortal(|job| -> Result<()> {
            let packets = job.packets_with(Buffers { messages: 2, bytes: 300 })?;
            match job.rank() {
                0 => (0..50u64).try_for_each(|number| packets.send(&[number; 10], 1, 0))?,
                1 => {
                    let mut into = [0u64; 10];
                    (0..10u64).try_for_each(|number| {
                        packets.recv(&mut into, 0, 0)?;
                        assert_eq!(into, [number; 10]);
                        Ok(())
                    })?;
                }
                // To itself, too.
                _ => {
                    packets.send(&[5u8; 5000], 2, 1)?;
                    let mut into = [0u8; 5000];
                    packets.recv(&mut into, 2, 1)?;
                    assert!(into == [5; 5000]);
                    packets.send(&[5u8; 5000], 2, 1)?;
                }
            }
            Ok(())
        });
        ran.unwrap().results.into_iter().for_each(|result| result.unwrap().unwrap());
    }
}
