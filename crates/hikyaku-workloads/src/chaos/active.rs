//! Active messages and calls: each handler runs exactly once per message, in the order of the sender.

use super::trouble::{Outcome, promise};
use crate::chance::Chance;
use hikyaku::{By, Error, Job};
use std::sync::{Arc, Mutex};

const NOTE: u16 = 1;
const ASK: u16 = 2;
/// Passed on by its handler to the next rank until its first word is zero.
const RELAY: u16 = 3;
const HANDLERS: [u16; 3] = [NOTE, ASK, RELAY];

/// What handlers of a rank have seen.
#[derive(Default)]
struct Seen {
    /// Per source, the number of the next message.
    next: Vec<u64>,
    /// What was wrong first.
    wrong: Option<String>,
    asked: u64,
}

#[derive(Clone, Copy)]
enum Act {
    Note(usize),
    Ask,
    Relay(usize),
}

/// What a rank does: (peer, act).
fn acts(seed: u64, rank: usize, size: usize) -> Vec<(usize, Act)> {
    let mut chance = Chance::new(seed, 2000 + rank as u64);
    let count = chance.below(30);
    let mut act = || match chance.below(4) {
        0 => Act::Ask,
        1 => Act::Relay(chance.below(5)),
        _ => Act::Note(chance.pick(&[0, 1, 8, 40, 200])),
    };
    let acts: Vec<Act> = (0..count).map(|_| act()).collect();
    acts.into_iter().map(|act| (chance.below(size), act)).collect()
}

fn content(source: usize, number: u64, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (source as u64 * 31 + number * 7 + i as u64) as u8).collect()
}

pub fn run(job: &Job, seed: u64) -> Outcome {
    let (me, size) = (job.rank(), job.size());
    let seen = Arc::new(Mutex::new(Seen { next: vec![0; size], ..Seen::default() }));
    // Runs are counted for as long as the job lives.
    let before = HANDLERS.map(|handler| job.handled(handler));
    register(job, &seen)?;
    // Some ranks have an interface that runs handlers by itself.
    let alone = Chance::new(seed, 3000 + me as u64).once_in(3).then(|| job.start_ni_thread()).transpose()?;
    job.barrier()?;
    let mut numbers = vec![0u64; size];
    for (peer, act) in acts(seed, me, size) {
        match act {
            Act::Note(bytes) => {
                let number = numbers[peer];
                let payload = content(me, number, bytes);
                match job.try_send(peer, NOTE, number, [bytes as u64; 6], &payload) {
                    Err(Error::Busy { .. }) => job.send(peer, NOTE, number, [bytes as u64; 6], &payload)?,
                    other => other?,
                }
                numbers[peer] += 1;
            }
            Act::Ask => {
                let word = (me * 1000 + peer) as u64;
                let got = job.call(peer, ASK, [word; 6], &[7; 20])?;
                promise!(got == [word + 1; 6], "active: a call was answered with {got:?}");
            }
            Act::Relay(hops) => job.send(peer, RELAY, 0, [hops as u64, 0, 0, 0, 0, 0], &[])?,
        }
    }
    let [notes, asks, relays] = expected(seed, me, size);
    let counts = [before[0] + notes, before[1] + asks, before[2] + relays];
    for (handler, count) in HANDLERS.into_iter().zip(counts) {
        job.wait_handled(By::Anyone, handler, count)?;
    }
    job.sync()?;
    job.barrier()?;
    job.progress();
    let seen = seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    promise!(seen.wrong.is_none(), "active: {}", seen.wrong.as_deref().unwrap_or_default());
    promise!(seen.asked == asks, "active: {} calls were handled instead of {asks}", seen.asked);
    let counted = HANDLERS.map(|handler| job.handled(handler));
    promise!(counted == counts, "active: handlers ran {counted:?} times instead of {counts:?}");
    drop(alone);
    HANDLERS.into_iter().try_for_each(|handler| job.unregister_handler(handler))?;
    Ok(())
}

fn register(job: &Job, seen: &Arc<Mutex<Seen>>) -> Outcome {
    let (noted, asked) = (seen.clone(), seen.clone());
    job.register_handler(NOTE, move |_, message| {
        let mut seen = noted.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let expected = seen.next[message.source];
        let whole = message.payload == content(message.source, expected, message.arguments[5] as usize);
        if (message.address != expected || !whole) && seen.wrong.is_none() {
            let (source, number) = (message.source, message.address);
            seen.wrong = Some(format!("message {number} of rank {source} came instead of {expected}, or was damaged"));
        }
        seen.next[message.source] = message.address + 1;
    })?;
    job.register_handler(ASK, move |context, message| {
        asked.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).asked += 1;
        let _ = context.reply(message.arguments.map(|word| word + 1));
    })?;
    let size = job.size();
    job.register_handler(RELAY, move |context, message| {
        let hops = message.arguments[0];
        let next = (context.rank() + 1) % size;
        if hops > 0 && context.send(next, RELAY, 0, [hops - 1, 0, 0, 0, 0, 0], &[]).is_err() {
            context.retry_later();
        }
    })?;
    Ok(())
}

/// How often each handler of a rank runs in all.
fn expected(seed: u64, me: usize, size: usize) -> [u64; 3] {
    let mut counts = [0; 3];
    for rank in 0..size {
        for (peer, act) in acts(seed, rank, size) {
            match act {
                Act::Note(_) => counts[0] += (peer == me) as u64,
                Act::Ask => counts[1] += (peer == me) as u64,
                Act::Relay(hops) => counts[2] += (0..=hops).filter(|hop| (peer + hop) % size == me).count() as u64,
            }
        }
    }
    counts
}
