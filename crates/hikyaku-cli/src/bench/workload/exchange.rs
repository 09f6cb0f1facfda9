//! Message exchange between two ranks, beside the other engines; a queue of three.

use super::turns::ping_pong;
use super::{Effort, Round};
use crate::bench::plan::Kind;
use hikyaku::passing::{Engine, MessagePassing};
use hikyaku::{Job, Queue, Result};
use std::cell::RefCell;
use std::time::Duration;

/// The sizes whose latency is measured, those whose bandwidth is, and those at which engines are compared.
pub const SHORT: [usize; 4] = [8, 64, 1 << 10, 4 << 10];
pub const LONG: [usize; 4] = [16 << 10, 64 << 10, 1 << 20, 4 << 20];
pub const COMPARED: [usize; 4] = [8, 1 << 10, 4 << 10, 64 << 10];
/// Items of a queue.
pub const ITEM: usize = size_of::<Load>();

type Load = [u64; 2];

/// Messages that are sent before one is received.
const WINDOW: u64 = 32;
/// Items that a queue has room for, and that go together.
const ROOM: usize = 4096;
const BATCH: usize = 64;

pub struct Exchanged<'a> {
    job: &'a Job,
    effort: Effort,
    engines: [(Kind, MessagePassing<'a>); 4],
    /// Private memory to send from and to receive into.
    buffers: RefCell<[Vec<u64>; 2]>,
}

impl<'a> Exchanged<'a> {
    pub fn new(job: &'a Job, effort: Effort) -> Result<Exchanged<'a>> {
        let words = LONG[LONG.len() - 1] / 8;
        let buffers = RefCell::new([vec![1; words], vec![0; words]]);
        let engines = [
            (Kind::PassedBySlots, job.message_passing(Engine::Slots(4))?),
            (Kind::PassedMatched, job.message_passing(Engine::Matched)?),
            (Kind::PassedByExchange, job.message_passing(Engine::Exchange)?),
            (Kind::PassedByPackets, job.message_passing(Engine::Packets)?),
        ];
        Ok(Exchanged { job, effort, engines, buffers })
    }

    /// One repetition of everything.
    pub fn measure(&self, round: &mut Round<'_>) -> Result<()> {
        let exchange = &self.engines[2].1;
        for bytes in SHORT {
            round.note(Kind::ExchangeSend, bytes, self.latency(exchange, bytes)?);
        }
        round.note(Kind::ExchangeSendCall, 8, self.calls(exchange, 0)?);
        round.note(Kind::ExchangeReceiveCall, 8, self.calls(exchange, 1)?);
        for bytes in LONG {
            let trips = (self.effort.rounds_for(bytes) / 2).clamp(1, 200) as u64;
            let time = self.ping_pong(exchange, bytes, trips)?;
            round.note(Kind::ExchangeBandwidth, bytes, (2 * trips as usize * bytes) as f64 / time.as_secs_f64() / 1e9);
        }
        for bytes in COMPARED {
            for (kind, engine) in &self.engines {
                round.note(*kind, bytes, self.latency(engine, bytes)?);
            }
        }
        Ok(())
    }

    /// One way, ns.
    fn latency(&self, engine: &MessagePassing<'_>, bytes: usize) -> Result<f64> {
        let trips = if bytes <= 64 { self.effort.round_trips } else { self.effort.long_round_trips() };
        Ok(self.ping_pong(engine, bytes, trips)?.as_nanos() as f64 / (2 * trips) as f64)
    }

    /// The time of so many round trips.
    fn ping_pong(&self, engine: &MessagePassing<'_>, bytes: usize, round_trips: u64) -> Result<Duration> {
        let peer = 1 - self.job.rank();
        let send = |data: &[u64]| engine.send(data, peer, 0);
        let receive = |into: &mut [u64]| engine.recv(into, peer, 0).map(drop);
        ping_pong(self.job, &mut self.buffers.borrow_mut(), bytes, round_trips, send, receive)
    }

    /// Rank `from` sends some messages, which are received when they are there. What one call of rank 0 takes, ns.
    fn calls(&self, engine: &MessagePassing<'_>, from: usize) -> Result<f64> {
        const WINDOWS: u64 = 40;
        let (job, peer) = (self.job, 1 - self.job.rank());
        let mut calling = Duration::ZERO;
        for window in 0..WINDOWS {
            job.barrier()?;
            let begin = job.now();
            if job.rank() == from {
                (0..WINDOW).try_for_each(|number| engine.send(&[window << 16 | number], peer, number))?;
                calling += job.now() - begin;
            }
            job.barrier()?;
            if job.rank() != from {
                let (begin, mut got) = (job.now(), [0u64]);
                for number in 0..WINDOW {
                    engine.recv(&mut got, peer, number)?;
                    assert_eq!(got[0], window << 16 | number, "a message was damaged");
                }
                calling += job.now() - begin;
            }
        }
        job.barrier()?;
        Ok(calling.as_nanos() as f64 / (WINDOWS * WINDOW) as f64)
    }
}

/// A queue of rank 0, into which all others push.
pub struct Queued<'a> {
    job: &'a Job,
    items: u64,
    queue: Queue<'a, Load>,
}

impl<'a> Queued<'a> {
    pub fn new(job: &'a Job, effort: Effort) -> Result<Queued<'a>> {
        Ok(Queued { job, items: effort.ring_entries * 2, queue: job.queue(0, ROOM)? })
    }

    /// One repetition of everything.
    pub fn measure(&mut self, round: &mut Round<'_>, physical: bool) -> Result<()> {
        if physical {
            let rate = if self.job.rank() == 0 { channel(self.items) } else { 0.0 };
            self.job.barrier()?;
            round.note(Kind::LimitChannel, ITEM, rate);
        }
        let one = self.rate(1)?;
        round.note(Kind::QueueRate, ITEM, one);
        let many = self.rate(BATCH)?;
        round.note(Kind::QueueBatchRate, ITEM, many);
        Ok(())
    }

    /// Million items a second, so many at a time.
    fn rate(&mut self, batch: usize) -> Result<f64> {
        let (job, items) = (self.job, self.items);
        job.barrier()?;
        let begin = job.now();
        if job.rank() == 0 {
            let mut next = vec![0; job.size()];
            let mut left = items * (job.size() as u64 - 1);
            while left > 0 {
                if batch == 1 {
                    let item = self.queue.pop()?;
                    check(item.get(), item.rank(), &mut next);
                    left -= 1;
                    continue;
                }
                let popped = self.queue.pop_many(batch)?;
                popped.iter().for_each(|item| check(item, popped.rank(), &mut next));
                left -= popped.len() as u64;
            }
        } else if batch == 1 {
            (0..items).try_for_each(|number| self.queue.push(load(job.rank(), number)))?;
        } else {
            for first in (0..items).step_by(batch) {
                let mut many = [[0; 2]; BATCH];
                let count = (items - first).min(batch as u64) as usize;
                (0..count).for_each(|at| many[at] = load(job.rank(), first + at as u64));
                self.queue.push_many(&many[..count])?;
            }
        }
        let time = job.now() - begin;
        job.barrier()?;
        Ok((items * (job.size() as u64 - 1)) as f64 / time.as_secs_f64() / 1e6)
    }
}

fn load(rank: usize, number: u64) -> Load {
    [rank as u64, number]
}

fn check(item: Load, rank: usize, next: &mut [u64]) {
    assert_eq!(item, load(rank, next[rank]), "an item was damaged, lost or doubled");
    next[rank] += 1;
}

/// Two threads of this process send to it by a bounded channel of the standard library: million items a second.
fn channel(items: u64) -> f64 {
    let (sender, receiver) = std::sync::mpsc::sync_channel::<Load>(ROOM);
    std::thread::scope(|scope| {
        for rank in 1..=2 {
            let sender = sender.clone();
            scope.spawn(move || (0..items).for_each(|number| sender.send(load(rank, number)).expect("it is received")));
        }
        drop(sender);
        let begin = std::time::Instant::now();
        let mut next = [0; 3];
        for item in &receiver {
            check(item, item[0] as usize, &mut next);
        }
        (2 * items) as f64 / begin.elapsed().as_secs_f64() / 1e6
    })
}
