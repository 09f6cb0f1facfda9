//! Message exchange in virtual time: ranks are killed between any two steps, networks lose frames.

use super::{Buffers, Exchange};
use crate::job::trial::{Trial, check, may_end};
use crate::matching::{Keys, Matched};
use crate::planted::{Bug, catches, with_bug};
use crate::sim::{Machine, Sim};
use crate::transport::sim::chance::Chance;
use crate::{Error, Job, Result};
use std::time::Duration;

pub(crate) const BUFFERS: Buffers = Buffers { messages: 6, bytes: 1024 };
const MIDDLE: usize = 256;
const TAGS: u64 = 3;

/// Messages by rank and tag, however they travel.
pub(crate) trait Courier {
    fn send(&self, data: &[u8], rank: usize, tag: u64) -> Result<()>;
    fn recv(&self, into: &mut [u8], from: usize, tags: Keys) -> Result<Matched>;
    fn recv_for(&self, into: &mut [u8], from: usize, tags: Keys, timeout: Duration) -> Result<Matched>;
    fn probe(&self, from: usize, tags: Keys) -> Result<Matched>;
}

impl Courier for Exchange<'_> {
    fn send(&self, data: &[u8], rank: usize, tag: u64) -> Result<()> {
        Exchange::send(self, data, rank, tag)
    }

    fn recv(&self, into: &mut [u8], from: usize, tags: Keys) -> Result<Matched> {
        Exchange::recv(self, into, from, tags)
    }

    fn recv_for(&self, into: &mut [u8], from: usize, tags: Keys, timeout: Duration) -> Result<Matched> {
        Exchange::recv_for(self, into, from, tags, timeout)
    }

    fn probe(&self, from: usize, tags: Keys) -> Result<Matched> {
        Exchange::probe(self, from, tags)
    }
}

/// Makes one.
pub(crate) type Opens = for<'j> fn(&'j Job) -> Result<Box<dyn Courier + 'j>>;

/// One of the messages from one rank to another, as both know it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Letter {
    tag: u64,
    bytes: usize,
    salt: u64,
}

impl Letter {
    fn data(self) -> Vec<u8> {
        (0..self.bytes as u64).map(|at| (at * 31 + self.salt * 7 + at / 256) as u8).collect()
    }

    fn is_long(self) -> bool {
        self.bytes > MIDDLE
    }
}

fn letters(seed: u64, from: usize, to: usize) -> Vec<Letter> {
    let mut chance = Chance::new(seed << 16 | (from as u64) << 8 | to as u64);
    let count = 5 + chance.below(40);
    let letter = |salt| {
        let bytes = match chance.below(10) {
            0..=4 => chance.below(41),
            5..=8 => chance.below(MIDDLE as u64 + 1),
            _ => chance.below(20_000),
        };
        Letter { tag: chance.below(TAGS), bytes: bytes as usize, salt }
    };
    (0..count).map(letter).collect()
}

/// Sends all letters to the receivers, in any order of those; a receiver that has ended gets no more.
fn send_all(job: &Job, exchange: &dyn Courier, seed: u64, receivers: usize, chance: &mut Chance) -> Result<()> {
    let mut left: Vec<_> = (0..receivers).map(|to| (to, letters(seed, job.rank(), to).into_iter())).collect();
    while !left.is_empty() {
        let at = chance.below(left.len() as u64) as usize;
        let (to, letters) = &mut left[at];
        let sent = letters.next().map(|letter| exchange.send(&letter.data(), *to, letter.tag));
        match sent {
            Some(Ok(())) => {}
            Some(Err(error)) if error.rank() != Some(*to) => return Err(error),
            Some(Err(_)) | None => drop(left.swap_remove(at)),
        }
        (0..chance.below(3) * chance.below(10)).for_each(|_| _ = job.progress());
    }
    Ok(())
}

/// Receives all letters, by tag or as they come; how many senders have ended before.
fn receive_all(job: &Job, exchange: &dyn Courier, seed: u64, receivers: usize, chance: &mut Chance) -> Result<usize> {
    let mut left: Vec<_> = (receivers..job.size()).map(|from| (from, letters(seed, from, job.rank()))).collect();
    let mut ended = 0;
    while !left.is_empty() {
        let at = chance.below(left.len() as u64) as usize;
        let (from, letters) = &mut left[at];
        if letters.is_empty() {
            left.swap_remove(at);
            continue;
        }
        // A later one, unless its sender first waits until another was received.
        let reach = letters.iter().position(|letter| letter.is_long()).map_or(letters.len(), |long| long + 1);
        let far = 1 + chance.below(12);
        let wanted = letters[chance.below(far.min(reach as u64)) as usize];
        let is_any = chance.below(4) == 0;
        let number = if is_any { 0 } else { letters.iter().position(|it| it.tag == wanted.tag).unwrap() };
        let (letter, tags) = (letters[number], if is_any { Keys::ANY } else { Keys::from(wanted.tag) });
        let mut into = vec![0; letter.bytes + chance.below(2) as usize * 10];
        // With several receivers a sender may wait for another one, which waits for another sender: nobody waits without end then.
        let received = match if receivers > 1 { 0 } else { chance.below(3) } {
            0 => exchange.recv_for(&mut into, *from, tags, Duration::from_micros(chance.below(20))),
            1 => exchange.probe(*from, tags).and_then(|there| {
                assert_eq!((there.key, there.len), (letter.tag, letter.bytes));
                exchange.recv(&mut into, *from, tags)
            }),
            _ => exchange.recv(&mut into, *from, tags),
        };
        match received {
            Ok(matched) => {
                assert_eq!((matched.rank, matched.key, matched.len), (*from, letter.tag, letter.bytes));
                assert!(into[..letter.bytes] == letter.data(), "of {from}: {letter:?}");
                letters.remove(number);
            }
            Err(Error::Timeout { .. }) => {}
            Err(error) if error.rank() == Some(*from) && error.is_end_of_peer() => {
                ended += 1;
                left.swap_remove(at);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(ended)
}

fn run(seed: u64) -> Result<()> {
    run_by(seed, |job| {
        let exchange = job.exchange_with(BUFFERS)?;
        assert_eq!(exchange.buffered_max(), MIDDLE);
        Ok(Box::new(exchange))
    })
}

/// A run in which ranks may die: every letter comes once, whole and in its order, from all who live.
pub(crate) fn run_by(seed: u64, open: Opens) -> Result<()> {
    let mut chance = Chance::new(seed);
    let size = 2 + chance.below(5) as usize;
    let receivers = 1 + chance.below(size as u64 - 1) as usize;
    let Trial { sim, mortal, .. } = Trial::new(seed, size, Duration::from_micros(200), &mut chance);
    let ran = sim.time_limit(Duration::from_millis(300)).run_mortal(|job| -> Result<usize> {
        let exchange = open(job)?;
        let mut chance = Chance::new(seed << 8 | job.rank() as u64);
        match job.rank() < receivers {
            true => receive_all(job, &*exchange, seed, receivers, &mut chance),
            false => send_all(job, &*exchange, seed, receivers, &mut chance).map(|()| 0),
        }
    })?;
    for (rank, result) in ran.results.into_iter().enumerate() {
        assert!(may_end(mortal, rank, &result), "rank {rank}: {result:?}");
        if let Some(Ok(ended)) = result {
            assert!(ended == 0 || mortal.is_some(), "rank {rank} misses {ended} others");
        }
    }
    Ok(())
}

#[test]
fn messages_come_once_and_in_order_whoever_dies() {
    check(0..250, run);
}

/// After changes to message exchange: `cargo test --release -p hikyaku exchange:: -- --ignored`.
#[test]
#[ignore = "minutes"]
fn messages_come_once_and_in_order_in_many_runs() {
    check(0..10_000, run);
}

#[test]
fn planted_bugs_are_caught() {
    catches(|| check(0..20, run), &[Bug::RingOverrun, Bug::SetAsideLost, Bug::RoomToldEarly]);
    let is_caught = with_bug(Bug::KeptUnbounded, || std::panic::catch_unwind(flood).is_err());
    assert!(is_caught);
}

/// A sender of what nobody wants is stopped in time, and what comes behind it is found all the same.
fn flood() {
    let ran = Sim::new(Machine::plain(), 2, 1).hosts(|_| 0).time_limit(Duration::from_secs(20)).run(|job| {
        let exchange = job.exchange()?;
        let word = job.symmetric::<u64>(1)?;
        let block = vec![7u8; 4000];
        if job.rank() == 0 {
            for number in 0..2000u64 {
                exchange.send(&block, 1, 1)?;
                job.word(word.at(1, 0), number + 1)?;
            }
            return Ok(());
        }
        // Nothing of the kind comes, so everything else is set aside.
        let none = exchange.recv_for(&mut [0u8], 0, 2, Duration::from_millis(20));
        assert!(matches!(none, Err(Error::Timeout { .. })));
        let sent = word.get(0);
        assert!((200..300).contains(&sent), "{sent} of 4 KB are set aside");
        let mut into = vec![0u8; 4000];
        for _ in 0..2000 {
            exchange.recv(&mut into, 0, 1)?;
            assert!(into == block);
        }
        Result::Ok(())
    });
    ran.unwrap().results.into_iter().for_each(|result| result.unwrap());
}

#[test]
fn what_nobody_wants_takes_no_more_than_a_megabyte() {
    flood();
}

/// All send before anybody receives.
#[test]
fn ranks_that_send_first_do_not_wait_for_each_other() {
    for hosts in [1, 2] {
        let ran = Sim::new(Machine::plain(), 3, 5).hosts(|rank| rank % hosts).time_limit(Duration::from_secs(20)).run(
            |job| {
                let exchange = job.exchange_with(BUFFERS)?;
                let peers = || (0..3).filter(|rank| *rank != job.rank());
                for number in 0..100u64 {
                    peers().try_for_each(|peer| exchange.send(&[number; 30], peer, number % 2))?;
                }
                for number in (0..100u64).step_by(2).chain((0..100).skip(1).step_by(2)) {
                    for peer in peers() {
                        let mut into = [0; 30];
                        exchange.recv(&mut into, peer, number % 2)?;
                        assert_eq!(into, [number; 30]);
                    }
                }
                exchange.free()
            },
        );
        ran.unwrap().results.into_iter().for_each(|result| result.unwrap());
    }
}

#[test]
fn ranks_that_differ_in_their_buffers_are_told() {
    let results = crate::local(2, |job| {
        let bytes = if job.rank() == 0 { 256 } else { 512 };
        job.exchange_with(Buffers { messages: 3, bytes }).map(drop)
    });
    assert!(results.unwrap().into_iter().all(|result| matches!(result, Err(Error::Mismatch { .. }))));
}

/// What a sender that rank 0 is does to one that receives, rank 1, in one of both kinds of memory.
fn attack(attacker: fn(&Job, &Exchange<'_>) -> Result<()>, victim: fn(&Exchange<'_>)) {
    for hosts in [1, 2] {
        let ran = Sim::new(Machine::plain(), 2, 1).hosts(|rank| rank % hosts).time_limit(Duration::from_secs(20)).run(
            |job| {
                let exchange = job.exchange_with(BUFFERS)?;
                match job.rank() {
                    0 => attacker(job, &exchange)?,
                    _ => victim(&exchange),
                }
                job.barrier()
            },
        );
        ran.unwrap().results.into_iter().for_each(|result| result.unwrap());
    }
}

fn misbehaves(result: Result<crate::matching::Matched>) -> bool {
    matches!(result, Err(Error::PeerMisbehaved { rank: 0, .. }))
}

/// A sender announces long messages without end, and sends none: it is found out, and no memory is taken for them.
#[test]
fn announcements_without_end_are_no_messages() {
    let announces = |job: &Job, exchange: &Exchange<'_>| {
        for _ in 0..1000 {
            if !exchange.only_announce(1 << 40, 1, 1)? {
                job.progress();
            }
        }
        Ok(())
    };
    attack(announces, |exchange| {
        let mut into = [0u8; 1000];
        assert!(misbehaves(exchange.recv(&mut into, 0, 2)));
        assert!(misbehaves(exchange.recv(&mut into, 0, 1)));
    });
}

/// A sender announces more than there is memory for, and what is wanted comes behind it through the same slot.
#[test]
fn what_is_announced_takes_no_memory() {
    let announces = |_: &Job, exchange: &Exchange<'_>| {
        exchange.only_announce(1 << 40, 1, 1)?;
        (2..5).try_for_each(|tag| exchange.send(&[tag as u8; 1000], 1, tag))?;
        exchange.send(&[5u8; 1000], 1, 5)
    };
    attack(announces, |exchange| {
        let mut into = [0u8; 1000];
        let behind = exchange.recv(&mut into, 0, 5);
        assert!(matches!(behind, Err(Error::NoMemory { needed, .. }) if needed == 1 << 40), "{behind:?}");
        for tag in 2..5 {
            exchange.recv(&mut into, 0, tag).unwrap();
            assert_eq!(into, [tag as u8; 1000]);
        }
        // What comes in its place is another one.
        assert!(misbehaves(exchange.recv(&mut into, 0, 1)));
        assert!(misbehaves(exchange.recv(&mut into, 0, 5)));
    });
}

/// A message is as long as was announced, or its sender is not heard any more.
#[test]
fn messages_of_another_length_than_was_announced_are_none() {
    fn announces<const BYTES: usize>(_: &Job, exchange: &Exchange<'_>) -> Result<()> {
        exchange.only_announce(BYTES, 1, 1)?;
        (2..6).try_for_each(|tag| exchange.send(&[tag as u8; 1000], 1, tag))
    }
    for attacker in [announces::<500>, announces::<5000>] {
        attack(attacker, |exchange| {
            let mut into = [0u8; 10_000];
            assert!(misbehaves(exchange.recv(&mut into, 0, 5)));
            assert!(misbehaves(exchange.recv(&mut into, 0, 2)));
        });
    }
}
