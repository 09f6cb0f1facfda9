//! Messages in slots, of all sizes and modes: each arrives once, whole, in the order of its slot.
//!
//! A phase is one pattern; all ranks draw the same phases from the seed.

use super::chance::Chance;
use super::trouble::{Outcome, Trouble, promise};
use hikyaku::message::{EAGER_MAX, Messages, Mode};
use hikyaku::{Error, Job};
use std::time::Duration;

const SLOTS: usize = 3;
/// In a slot, in a bounce buffer, and straight into the receive.
const SIZES: [usize; 8] = [0, 1, 8, 100, 3000, EAGER_MAX, EAGER_MAX + 1, 40_000];

pub fn run(job: &Job, seed: u64) -> Outcome {
    let mut chance = Chance::new(seed, 5);
    let world = job.world()?;
    let messages = world.messages(SLOTS)?;
    messages.set_spare(1 << 20)?;
    let modes = [Mode::Standard, Mode::Synchronous, Mode::Spool(Duration::ZERO), Mode::Spool(Duration::from_micros(5))];
    for phase in 0..1 + chance.below(4) {
        // Ranks may differ in it.
        messages.set_mode(Chance::new(seed, (phase * 64 + job.rank()) as u64 + 4000).pick(&modes));
        let mut chance = Chance::new(chance.next(), phase as u64);
        match chance.below(6) {
            0 => crowd(&messages, &mut chance)?,
            1 => any_slot(&messages, &mut chance)?,
            2 => truncated(&messages, &mut chance)?,
            3 => given_up(&messages, &mut chance)?,
            4 => prepared(&messages, &mut chance)?,
            _ => all_at_once(&messages, &mut chance)?,
        }
    }
    world.free_messages(messages)?;
    Ok(world.free()?)
}

/// What a message contains; a receiver that sees anything else has lost or mixed messages.
fn content(from: usize, number: usize, bytes: usize) -> Vec<u8> {
    let mut chance = Chance::new(from as u64 + 1, (number * 100_000 + bytes) as u64);
    let words: Vec<u64> = (0..bytes.div_ceil(8)).map(|_| chance.next()).collect();
    bytemuck::cast_slice(&words)[..bytes].to_vec()
}

fn check(got: &[u8], from: usize, number: usize, bytes: usize) -> Outcome {
    promise!(got.len() == bytes, "slots: {} bytes from rank {from} came instead of {bytes}", got.len());
    promise!(got == content(from, number, bytes), "slots: message {number} of rank {from}, {bytes} bytes, is damaged");
    Ok(())
}

/// Ranks this one sends to and receives from, if all look `shift` ranks ahead.
fn neighbours(messages: &Messages<'_>, shift: usize) -> (usize, usize) {
    let (me, size) = (messages.job().rank(), messages.size());
    ((me + shift) % size, (me + size - shift) % size)
}

/// Some messages of random pairs, all under way at the same time, twice.
fn all_at_once(messages: &Messages<'_>, chance: &mut Chance) -> Outcome {
    let (me, size) = (messages.job().rank(), messages.size());
    for turn in 0..2 {
        // (from, to, slot, bytes); one of each slot of a pair at a time.
        let mut all: Vec<[usize; 4]> = Vec::new();
        for _ in 0..1 + chance.below(2 * size) {
            let [from, to, slot] = [chance.below(size), chance.below(size), chance.below(SLOTS)];
            let bytes = chance.pick(&SIZES);
            if from != to && !all.iter().any(|known| known[..3] == [from, to, slot]) {
                all.push([from, to, slot, bytes]);
            }
        }
        let sends: Vec<_> = all.iter().filter(|message| message[0] == me).collect();
        let data: Vec<_> = sends.iter().map(|send| content(me, turn * SLOTS + send[2], send[3])).collect();
        let receives: Vec<_> = all.iter().filter(|message| message[1] == me).collect();
        let mut rooms: Vec<_> = receives.iter().map(|receive| vec![0xeeu8; receive[3] + 5]).collect();
        let receive_first = chance.once_in(2);
        let mut unused: Vec<&mut [u8]> = rooms.iter_mut().map(Vec::as_mut_slice).collect();
        let lengths = messages.scope(|scope| {
            let mut start = || {
                let both = receives.iter().zip(unused.drain(..));
                both.map(|(receive, room)| scope.irecv(room, receive[0], receive[2]))
                    .collect::<hikyaku::Result<Vec<_>>>()
            };
            let early = if receive_first { start()? } else { Vec::new() };
            let sent: Vec<_> = sends
                .iter()
                .zip(&data)
                .map(|(send, data)| scope.isend(data, send[1], send[2]))
                .collect::<hikyaku::Result<_>>()?;
            let late = start()?;
            let received = early.into_iter().chain(late).map(|handle| scope.wait_receive(handle));
            let received = received.collect::<hikyaku::Result<Vec<_>>>()?;
            sent.into_iter().try_for_each(|handle| scope.wait_send(handle))?;
            Ok(received)
        })?;
        for ((receive, room), len) in receives.iter().zip(&rooms).zip(lengths) {
            check(&room[..len], receive[0], turn * SLOTS + receive[2], receive[3])?;
            promise!(room[len..].iter().all(|byte| *byte == 0xee), "slots: written behind a message");
        }
    }
    Ok(())
}

/// All send to one, which takes what comes from whomever.
fn crowd(messages: &Messages<'_>, chance: &mut Chance) -> Outcome {
    let (me, size) = (messages.job().rank(), messages.size());
    let (target, slot, count) = (chance.below(size), chance.below(SLOTS), 1 + chance.below(3));
    let sizes: Vec<usize> = (0..count).map(|_| chance.pick(&SIZES)).collect();
    if me != target {
        let send = |(number, bytes): (usize, &usize)| messages.send_any(&content(me, number, *bytes), target, slot);
        sizes.iter().enumerate().try_for_each(send)?;
        return Ok(messages.job().barrier()?);
    }
    let mut numbers = vec![0; size];
    let mut room = vec![0; 40_000];
    for _ in 0..count * (size - 1) {
        let received = messages.recv_any(&mut room, slot)?;
        let number = numbers[received.rank];
        promise!(received.rank != me && number < count, "slots: a message of rank {} too many", received.rank);
        check(&room[..received.len], received.rank, number, sizes[number])?;
        numbers[received.rank] += 1;
    }
    // What comes next must not be taken for one of these.
    Ok(messages.job().barrier()?)
}

/// From the rank before, whatever the slot; within a slot in order.
fn any_slot(messages: &Messages<'_>, chance: &mut Chance) -> Outcome {
    let (to, from) = neighbours(messages, 1 + chance.below(messages.size() - 1));
    // Short ones: everybody sends before anybody receives, and a synchronous send would wait for ever.
    messages.set_mode(Mode::Standard);
    let first = chance.below(SLOTS);
    let slots: Vec<usize> = (0..SLOTS).map(|index| (first + index) % SLOTS).collect();
    for slot in &slots {
        messages.send(&content(messages.job().rank(), *slot, 10 + slot), to, *slot)?;
    }
    let mut seen = [false; SLOTS];
    for _ in 0..SLOTS {
        let mut room = [0; 100];
        let received = messages.recv_any_slot(&mut room, from)?;
        promise!(!std::mem::replace(&mut seen[received.slot], true), "slots: slot {} twice", received.slot);
        check(&room[..received.len], from, received.slot, 10 + received.slot)?;
    }
    // What comes next must not be taken for one of these.
    Ok(messages.job().barrier()?)
}

/// A receive that is too small: both sides are told, and the slot goes on.
fn truncated(messages: &Messages<'_>, chance: &mut Chance) -> Outcome {
    let (me, size) = (messages.job().rank(), messages.size());
    let (from, slot, bytes) = (chance.below(size), chance.below(SLOTS), EAGER_MAX + 1 + chance.below(20_000));
    let to = (from + 1 + chance.below(size - 1)) % size;
    messages.set_mode(Mode::Standard);
    let told = |result: hikyaku::Result<()>| match result {
        Err(Error::Truncated { .. }) => Ok(()),
        Ok(()) => Err(Trouble::Broken(format!("slots: rank {me} was not told that a message was too long"))),
        Err(other) => Err(other.into()),
    };
    if me == from {
        told(messages.send(&content(me, 0, bytes), to, slot))?;
        messages.send(&content(me, 1, bytes), to, slot)?;
    } else if me == to {
        let mut small = vec![0xeeu8; chance.below(EAGER_MAX)];
        told(messages.recv(&mut small, from, slot).map(drop))?;
        promise!(small.iter().all(|byte| *byte == 0xee), "slots: a message that does not fit was written");
        let mut room = vec![0; bytes];
        let len = messages.recv(&mut room, from, slot)?;
        check(&room[..len], from, 1, bytes)?;
    }
    Ok(())
}

/// A receive is given up while its message may be under way: it has got it, or the next one gets it.
fn given_up(messages: &Messages<'_>, chance: &mut Chance) -> Outcome {
    let (me, size) = (messages.job().rank(), messages.size());
    let (from, slot, bytes) = (chance.below(size), chance.below(SLOTS), chance.pick(&SIZES));
    let (to, patience) = ((from + 1 + chance.below(size - 1)) % size, chance.below(8));
    messages.set_mode(Mode::Standard);
    if me == from {
        messages.send(&content(me, 0, bytes), to, slot)?;
        messages.send(&content(me, 1, bytes + 1), to, slot)?;
    } else if me == to {
        let mut receive = messages.prepare_recv(vec![0u8; bytes], from, slot)?;
        receive.start()?;
        for _ in 0..patience {
            messages.job().progress();
        }
        drop(receive);
        let mut room = vec![0; bytes + 1];
        let len = messages.recv(&mut room, from, slot)?;
        let number = (len > bytes) as usize;
        check(&room[..len], from, number, bytes + number)?;
        if number == 0 {
            let len = messages.recv(&mut room, from, slot)?;
            check(&room[..len], from, 1, bytes + 1)?;
        }
    }
    Ok(())
}

/// Transfers that were set up once.
fn prepared(messages: &Messages<'_>, chance: &mut Chance) -> Outcome {
    let (to, from) = neighbours(messages, 1 + chance.below(messages.size() - 1));
    let (slot, bytes, me) = (chance.below(SLOTS), chance.pick(&SIZES), messages.job().rank());
    let mut send = messages.prepare_send(vec![0u8; bytes], to, slot)?;
    let mut receive = messages.prepare_recv(vec![0u8; bytes], from, slot)?;
    for turn in 0..1 + chance.below(3) {
        receive.start()?;
        send.data_mut()?.copy_from_slice(&content(me, turn, bytes));
        send.start()?;
        check(receive.wait()?, from, turn, bytes)?;
        send.wait()?;
    }
    Ok(())
}
