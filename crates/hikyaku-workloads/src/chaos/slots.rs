//! Messages in slots, of all sizes and modes: each arrives once, whole, in the order of its slot.
//!
//! A phase is one pattern; all ranks draw the same phases from the seed.

use super::trouble::{Outcome, Trouble, promise};
use crate::chance::Chance;
use hikyaku::message::{EAGER_MAX, Messages, Mode};
use hikyaku::{Error, Job};
use std::time::Duration;

const SLOTS: usize = 3;
/// In a slot, in a bounce buffer, and straight into the receive.
const SIZES: [usize; 8] = [0, 1, 8, 100, 3000, EAGER_MAX, EAGER_MAX + 1, 40_000];

pub fn run(job: &Job, seed: u64) -> Outcome {
    let mut chance = Chance::new(seed, 5);
    let world = job.new_world()?;
    let messages = world.messages(SLOTS)?;
    messages.set_spare(1 << 20)?;
    let modes = [Mode::Standard, Mode::Synchronous, Mode::Spool(Duration::ZERO), Mode::Spool(Duration::from_micros(5))];
    for phase in 0..1 + chance.below(4) {
        // Ranks may differ in it.
        messages.set_mode(Chance::new(seed, (phase * 64 + job.rank()) as u64 + 4000).pick(&modes));
        let mut chance = Chance::new(chance.number(), phase as u64);
        match chance.below(6) {
            0 => crowd(job, &messages, &mut chance)?,
            1 => any_slot(job, &messages, &mut chance)?,
            2 => truncated(&messages, &mut chance)?,
            3 => given_up(&messages, &mut chance)?,
            4 => prepared(&messages, &mut chance)?,
            _ => all_at_once(&messages, &mut chance)?,
        }
    }
    world.free_messages(messages)?;
    Ok(world.free()?)
}

/// A message. Everything about it decides its content, so that a receiver notices whichever other one it gets.
#[derive(Clone, Copy)]
struct Letter {
    /// Drawn for each phase.
    stamp: u64,
    from: usize,
    to: usize,
    slot: usize,
    /// Among those of this slot.
    number: usize,
    bytes: usize,
}

impl Letter {
    fn content(&self) -> Vec<u8> {
        let [from, to, slot, number] = [self.from, self.to, self.slot, self.number].map(|part| part as u64);
        let mut chance = Chance::new(self.stamp, from << 48 | to << 32 | slot << 16 | number);
        let words: Vec<u64> = (0..self.bytes.div_ceil(8)).map(|_| chance.number()).collect();
        hikyaku::bytemuck::cast_slice(&words)[..self.bytes].to_vec()
    }

    fn check(&self, got: &[u8]) -> Outcome {
        let Letter { from, slot, number, bytes, .. } = *self;
        promise!(got.len() == bytes, "slots: {} bytes from rank {from} came instead of {bytes}", got.len());
        let same = got == self.content();
        promise!(same, "slots: message {number} of rank {from} in slot {slot}, {bytes} bytes, is damaged");
        Ok(())
    }
}

/// Ranks this one sends to and receives from, if all look `shift` ranks ahead.
fn neighbours(messages: &Messages<'_>, shift: usize) -> (usize, usize) {
    let (me, size) = (messages.rank(), messages.size());
    ((me + shift) % size, (me + size - shift) % size)
}

/// Some messages of random pairs, all under way at the same time, twice.
fn all_at_once(messages: &Messages<'_>, chance: &mut Chance) -> Outcome {
    let (me, size) = (messages.rank(), messages.size());
    let stamp = chance.number();
    for number in 0..2 {
        // One of each slot of a pair at a time.
        let mut all: Vec<Letter> = Vec::new();
        for _ in 0..1 + chance.below(2 * size) {
            let [from, to, slot] = [chance.below(size), chance.below(size), chance.below(SLOTS)];
            let bytes = chance.pick(&SIZES);
            if from != to && !all.iter().any(|known| [known.from, known.to, known.slot] == [from, to, slot]) {
                all.push(Letter { stamp, from, to, slot, number, bytes });
            }
        }
        let sends: Vec<_> = all.iter().filter(|letter| letter.from == me).collect();
        let data: Vec<_> = sends.iter().map(|letter| letter.content()).collect();
        let receives: Vec<_> = all.iter().filter(|letter| letter.to == me).collect();
        let mut rooms: Vec<_> = receives.iter().map(|letter| vec![0xeeu8; letter.bytes + 5]).collect();
        let receive_first = chance.once_in(2);
        let mut unused: Vec<&mut [u8]> = rooms.iter_mut().map(Vec::as_mut_slice).collect();
        let lengths = messages.scope(|scope| {
            let mut start = || {
                let both = receives.iter().zip(unused.drain(..));
                both.map(|(letter, room)| scope.irecv(room, letter.from, letter.slot))
                    .collect::<hikyaku::Result<Vec<_>>>()
            };
            let early = if receive_first { start()? } else { Vec::new() };
            let sent: Vec<_> = sends
                .iter()
                .zip(&data)
                .map(|(letter, data)| scope.isend(data, letter.to, letter.slot))
                .collect::<hikyaku::Result<_>>()?;
            let late = start()?;
            let received = early.into_iter().chain(late).map(|handle| scope.wait_receive(handle));
            let received = received.collect::<hikyaku::Result<Vec<_>>>()?;
            sent.into_iter().try_for_each(|handle| scope.wait_send(handle))?;
            Ok(received)
        })?;
        for ((letter, room), len) in receives.iter().zip(&rooms).zip(lengths) {
            letter.check(&room[..len])?;
            promise!(room[len..].iter().all(|byte| *byte == 0xee), "slots: written behind a message");
        }
    }
    Ok(())
}

/// All send to one, which takes what comes from whomever.
fn crowd(job: &Job, messages: &Messages<'_>, chance: &mut Chance) -> Outcome {
    let (me, size) = (messages.rank(), messages.size());
    let (target, slot, count) = (chance.below(size), chance.below(SLOTS), 1 + chance.below(3));
    let sizes: Vec<usize> = (0..count).map(|_| chance.pick(&SIZES)).collect();
    let stamp = chance.number();
    let letter = |from, number| Letter { stamp, from, to: target, slot, number, bytes: sizes[number] };
    if me != target {
        (0..count).try_for_each(|number| messages.send_any(&letter(me, number).content(), target, slot))?;
        return Ok(job.barrier()?);
    }
    let mut numbers = vec![0; size];
    let mut room = vec![0; 40_000];
    for _ in 0..count * (size - 1) {
        let received = messages.recv_any(&mut room, slot)?;
        let number = numbers[received.rank];
        promise!(received.rank != me && number < count, "slots: a message of rank {} too many", received.rank);
        letter(received.rank, number).check(&room[..received.len])?;
        numbers[received.rank] += 1;
    }
    // What comes next must not be taken for one of these.
    Ok(job.barrier()?)
}

/// From the rank before, whatever the slot; within a slot in order.
fn any_slot(job: &Job, messages: &Messages<'_>, chance: &mut Chance) -> Outcome {
    let (to, from) = neighbours(messages, 1 + chance.below(messages.size() - 1));
    // Short ones: everybody sends before anybody receives, and a synchronous send would wait for ever.
    messages.set_mode(Mode::Standard);
    let (first, stamp, me) = (chance.below(SLOTS), chance.number(), messages.rank());
    let letter = |from, to, slot| Letter { stamp, from, to, slot, number: 0, bytes: 10 + slot };
    let slots: Vec<usize> = (0..SLOTS).map(|index| (first + index) % SLOTS).collect();
    for slot in &slots {
        messages.send(&letter(me, to, *slot).content(), to, *slot)?;
    }
    let mut seen = [false; SLOTS];
    for _ in 0..SLOTS {
        let mut room = [0; 100];
        let received = messages.recv_any_slot(&mut room, from)?;
        promise!(!std::mem::replace(&mut seen[received.slot], true), "slots: slot {} twice", received.slot);
        letter(from, me, received.slot).check(&room[..received.len])?;
    }
    // What comes next must not be taken for one of these.
    Ok(job.barrier()?)
}

/// A receive that is too small: both sides are told, and the slot goes on.
fn truncated(messages: &Messages<'_>, chance: &mut Chance) -> Outcome {
    let (me, size) = (messages.rank(), messages.size());
    let (from, slot, bytes) = (chance.below(size), chance.below(SLOTS), EAGER_MAX + 1 + chance.below(20_000));
    let (to, stamp) = ((from + 1 + chance.below(size - 1)) % size, chance.number());
    let letter = |number| Letter { stamp, from, to, slot, number, bytes };
    messages.set_mode(Mode::Standard);
    let told = |result: hikyaku::Result<()>| match result {
        Err(Error::Truncated { .. }) => Ok(()),
        Ok(()) => Err(Trouble::Broken(format!("slots: rank {me} was not told that a message was too long"))),
        Err(other) => Err(other.into()),
    };
    if me == from {
        told(messages.send(&letter(0).content(), to, slot))?;
        messages.send(&letter(1).content(), to, slot)?;
    } else if me == to {
        let mut small = vec![0xeeu8; chance.below(EAGER_MAX)];
        told(messages.recv(&mut small, from, slot).map(drop))?;
        promise!(small.iter().all(|byte| *byte == 0xee), "slots: a message that does not fit was written");
        let mut room = vec![0; bytes];
        let len = messages.recv(&mut room, from, slot)?;
        letter(1).check(&room[..len])?;
    }
    Ok(())
}

/// A receive is given up while its message may be under way: it has got it, or the next one gets it.
fn given_up(messages: &Messages<'_>, chance: &mut Chance) -> Outcome {
    let (me, size) = (messages.rank(), messages.size());
    let (from, slot, bytes) = (chance.below(size), chance.below(SLOTS), chance.pick(&SIZES));
    let (to, patience, stamp) = ((from + 1 + chance.below(size - 1)) % size, chance.below(8), chance.number());
    let letter = |number| Letter { stamp, from, to, slot, number, bytes: bytes + number };
    messages.set_mode(Mode::Standard);
    if me == from {
        messages.send(&letter(0).content(), to, slot)?;
        messages.send(&letter(1).content(), to, slot)?;
    } else if me == to {
        let mut receive = messages.prepare_recv(vec![0u8; bytes], from, slot)?;
        receive.start()?;
        for _ in 0..patience {
            messages.port().progress();
        }
        drop(receive);
        let mut room = vec![0; bytes + 1];
        let len = messages.recv(&mut room, from, slot)?;
        let number = (len > bytes) as usize;
        letter(number).check(&room[..len])?;
        if number == 0 {
            let len = messages.recv(&mut room, from, slot)?;
            letter(1).check(&room[..len])?;
        }
    }
    Ok(())
}

/// Transfers that were set up once.
fn prepared(messages: &Messages<'_>, chance: &mut Chance) -> Outcome {
    let (to, from) = neighbours(messages, 1 + chance.below(messages.size() - 1));
    let (slot, bytes, me) = (chance.below(SLOTS), chance.pick(&SIZES), messages.rank());
    let stamp = chance.number();
    let letter = |from, to, number| Letter { stamp, from, to, slot, number, bytes };
    let mut send = messages.prepare_send(vec![0u8; bytes], to, slot)?;
    let mut receive = messages.prepare_recv(vec![0u8; bytes], from, slot)?;
    for turn in 0..1 + chance.below(3) {
        receive.start()?;
        send.data_mut()?.copy_from_slice(&letter(me, to, turn).content());
        send.start()?;
        letter(from, me, turn).check(receive.wait()?)?;
        send.wait()?;
    }
    Ok(())
}
