//! Messages in packets in virtual time: ranks are killed between any two steps, networks lose frames.

use super::{Buffers, Packets};
use crate::error::{Error, Result};
use crate::exchange::tests::{BUFFERS, Courier, run_by};
use crate::job::trial::check;
use crate::matching::{Keys, Matched};
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
            packets.send(&[1u8; 100_000], 1, 9)?;
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
            assert_eq!(packets.probe(0, 9)?.len, 100_000);
            let short = packets.recv_for(&mut [0u8; 5], 0, 10, Duration::from_micros(50));
            assert!(matches!(short, Err(Error::Timeout { .. })), "{short:?}");
            let mut long = vec![0u8; 100_000];
            packets.recv(&mut long, 0, 9)?;
            assert!(long == [1; 100_000]);
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
