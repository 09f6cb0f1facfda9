//! Messages that are matched by keys: each arrives once, whole, in the order of its sender and key, whatever its receive leaves open.
//!
//! A phase is one pattern; all ranks draw the same phases from the seed.

use super::trouble::{Outcome, Trouble, promise};
use crate::chance::Chance;
use hikyaku::matching::{Keys, Matched, Matching, Source};
use hikyaku::{Error, Job};
use std::collections::BTreeMap;
use std::time::Duration;

/// In a message, beside it, in a slot.
const SIZES: [usize; 10] = [0, 1, 8, 40, 41, 500, 8192, 8193, 12_000, 40_000];
const KEYS: usize = 4;

/// A message. Everything about it decides its content, so that a receiver notices whichever other one it gets.
#[derive(Clone, Copy)]
struct Letter {
    /// Drawn for each phase.
    stamp: u64,
    from: usize,
    to: usize,
    key: u64,
    /// Among those of its sender, receiver and key.
    number: usize,
    bytes: usize,
}

impl Letter {
    fn content(&self) -> Vec<u8> {
        let [from, to, number] = [self.from, self.to, self.number].map(|part| part as u64);
        let mut chance = Chance::new(self.stamp, from << 48 | to << 32 | self.key << 16 | number);
        let words: Vec<u64> = (0..self.bytes.div_ceil(8)).map(|_| chance.number()).collect();
        hikyaku::bytemuck::cast_slice(&words)[..self.bytes].to_vec()
    }

    fn check(&self, matched: Matched, room: &[u8]) -> Outcome {
        let Letter { from, key, number, bytes, .. } = *self;
        let expected = Matched { rank: from, key, len: bytes };
        promise!(matched == expected, "matching: {matched:?} instead of {expected:?}, number {number}");
        promise!(room[..bytes] == self.content(), "matching: number {number} of {expected:?} is damaged");
        promise!(room[bytes..].iter().all(|byte| *byte == 0xee), "matching: written behind {expected:?}");
        Ok(())
    }
}

/// Some messages of random pairs, in the order in which they are sent.
fn letters(chance: &mut Chance, size: usize, count: usize, to: Option<usize>) -> Vec<Letter> {
    let (stamp, mut numbers) = (chance.number(), BTreeMap::new());
    let mut letter = || {
        let (to, key) = (to.unwrap_or(chance.below(size)), chance.below(KEYS) as u64);
        // Not to itself: whoever fails to receive waits for what it has sent.
        let from = (to + 1 + chance.below(size - 1)) % size;
        let number = numbers.entry((from, to, key)).or_insert(0);
        *number += 1;
        Letter { stamp, from, to, key, number: *number, bytes: chance.pick(&SIZES) }
    };
    (0..count).map(|_| letter()).collect()
}

pub fn run(job: &Job, seed: u64) -> Outcome {
    let mut chance = Chance::new(seed, 15);
    let matching = job.matching()?;
    for _ in 0..1 + chance.below(3) {
        let mut chance = Chance::new(chance.number(), 0);
        match chance.below(4) {
            0 => by_key(job, &matching, &mut chance)?,
            1 => from_anyone(job, &matching, &mut chance)?,
            2 => given_up(job, &matching, &mut chance)?,
            _ => crowd(job, &matching, &mut chance)?,
        }
        // Receives that take anything are not to take what belongs to the next one.
        job.barrier()?;
    }
    Ok(matching.free()?)
}

/// All are under way at the same time. Receives of a key are started in its order, and otherwise in any.
fn by_key(job: &Job, matching: &Matching<'_>, chance: &mut Chance) -> Outcome {
    let count = 1 + chance.below(30);
    let all = letters(chance, job.size(), count, None);
    let sends: Vec<_> = all.iter().filter(|letter| letter.from == job.rank()).collect();
    let data: Vec<_> = sends.iter().map(|letter| letter.content()).collect();
    let mut receives: Vec<_> = all.iter().filter(|letter| letter.to == job.rank()).collect();
    let shift = chance.number();
    receives.sort_by_key(|letter| (letter.key ^ (shift % KEYS as u64), letter.from, letter.number));
    let mut rooms: Vec<_> = receives.iter().map(|letter| vec![0xeeu8; letter.bytes + 3]).collect();
    let early = chance.below(receives.len() + 1);
    let mut unused = receives.iter().zip(rooms.iter_mut().map(Vec::as_mut_slice));
    let got = matching.scope(|scope| {
        let start = |(letter, room): (&&Letter, _)| scope.irecv(room, letter.from, letter.key);
        let mut handles: Vec<_> = unused.by_ref().take(early).map(start).collect::<hikyaku::Result<_>>()?;
        let sent: Vec<_> = sends
            .iter()
            .zip(&data)
            .map(|(letter, data)| scope.isend(data, letter.to, letter.key))
            .collect::<hikyaku::Result<_>>()?;
        handles.extend(unused.map(start).collect::<hikyaku::Result<Vec<_>>>()?);
        let got: Vec<_> =
            handles.into_iter().map(|handle| scope.wait_receive(handle)).collect::<hikyaku::Result<_>>()?;
        sent.into_iter().try_for_each(|handle| scope.wait_send(handle))?;
        Ok(got)
    })?;
    receives.iter().zip(got).zip(&rooms).try_for_each(|((letter, matched), room)| letter.check(matched, room))
}

/// All send to one, which takes what comes, by patterns that leave this or that open.
fn from_anyone(job: &Job, matching: &Matching<'_>, chance: &mut Chance) -> Outcome {
    let (to, count) = (chance.below(job.size()), 1 + chance.below(30));
    let all = letters(chance, job.size(), count, Some(to));
    let data: Vec<_> =
        all.iter().filter(|letter| letter.from == job.rank()).map(|letter| (letter, letter.content())).collect();
    // Of each sender and key, what was not received yet.
    let mut left: BTreeMap<(usize, u64), Vec<&Letter>> = BTreeMap::new();
    all.iter().rev().for_each(|letter| left.entry((letter.from, letter.key)).or_default().push(letter));
    let receive = |left: &mut BTreeMap<_, Vec<&Letter>>, chance: &mut Chance| -> Outcome {
        // One that is there, or will be.
        let open: Vec<(usize, u64)> =
            left.iter().filter(|(_, letters)| !letters.is_empty()).map(|(name, _)| *name).collect();
        let (rank, key) = chance.pick(&open);
        let keys = chance.pick(&[key.into(), Keys::ANY, Keys::with_ignored(key, 1)]);
        let source = chance.pick(&[rank.into(), Source::Any]);
        let mut room = vec![0xee; 40_003];
        if chance.once_in(3) {
            let there = matching.probe(source, keys)?;
            let letters = left.get(&(there.rank, there.key)).and_then(|letters| letters.last());
            let first = letters.map(|letter| letter.bytes);
            promise!(first == Some(there.len), "matching: a probe found {there:?} instead of {first:?} bytes");
        }
        let matched = matching.recv(&mut room, source, keys)?;
        let letter = left.get_mut(&(matched.rank, matched.key)).and_then(Vec::pop);
        let Some(letter) = letter else {
            return Err(Trouble::Broken(format!("matching: nobody has sent {matched:?}")));
        };
        promise!(keys.matches(matched.key), "matching: {matched:?} does not match {keys:?}");
        letter.check(matched, &room)
    };
    let mut outcome = Ok(());
    matching.scope(|scope| {
        for (letter, data) in &data {
            let _ = scope.isend(data, to, letter.key)?;
        }
        if job.rank() == to {
            let received = all.iter().try_for_each(|_| receive(&mut left, chance));
            if let Err(Trouble::Call(error)) = received {
                return Err(error);
            }
            outcome = received;
        }
        Ok(())
    })?;
    outcome
}

/// Receives that are given up, again and again: no message is lost by it, and none comes twice.
fn given_up(job: &Job, matching: &Matching<'_>, chance: &mut Chance) -> Outcome {
    let (me, size) = (job.rank(), job.size());
    let (shift, stamp) = (1 + chance.below(size), chance.number());
    let (to, from) = ((me + shift) % size, (me + size - shift % size) % size);
    let bytes: Vec<_> = (0..1 + chance.below(25)).map(|_| chance.pick(&SIZES)).collect();
    let letter = |from, to, number: usize| Letter { stamp, from, to, key: 7, number, bytes: bytes[number] };
    let data: Vec<_> = (0..bytes.len()).map(|number| letter(me, to, number).content()).collect();
    let mut outcome = Ok(());
    matching.scope(|scope| {
        for data in &data {
            let _ = scope.isend(data, to, 7)?;
        }
        for (number, len) in bytes.iter().enumerate() {
            let mut room = vec![0xee; len + 3];
            let matched = loop {
                match matching.recv_for(&mut room, from, 7, Duration::from_nanos(200 * chance.below(20) as u64)) {
                    // What it may have written is no matter.
                    Err(Error::Timeout { .. }) => room.fill(0xee),
                    other => break other?,
                }
            };
            outcome = outcome.clone().and(letter(from, me, number).check(matched, &room));
        }
        Ok(())
    })?;
    outcome
}

/// Long messages, more than there are slots for, of which the last is wanted first; or many short ones.
fn crowd(job: &Job, matching: &Matching<'_>, chance: &mut Chance) -> Outcome {
    let (me, size) = (job.rank(), job.size());
    let (shift, stamp) = (1 + chance.below(size - 1), chance.number());
    let (to, from) = ((me + shift) % size, (me + size - shift) % size);
    let (count, bytes) = chance.pick(&[(40, 9000), (200, 8), (160, 8000)]);
    let letter = |from, to, key| Letter { stamp, from, to, key, number: 0, bytes };
    let data: Vec<_> = (0..count).map(|key| letter(me, to, key).content()).collect();
    let mut outcome = Ok(());
    matching.scope(|scope| {
        for (key, data) in (0..).zip(&data) {
            let _ = scope.isend(data, to, key)?;
        }
        let mut room = vec![0xee; bytes + 3];
        for key in (0..count).rev() {
            room.fill(0xee);
            let matched = matching.recv(&mut room, from, key)?;
            outcome = outcome.clone().and(letter(from, me, key).check(matched, &room));
        }
        Ok(())
    })?;
    outcome
}
