//! One rank's part in a queue.

use super::doorbell::{Lanes, bytes_of, ring_at, rings};
use super::lane::{Memory, Reader, Shape, Told, Writer};
use crate::error::{Error, Result};
use crate::job::Job;
use crate::memory::span::Span;
use crate::ni::{By, Wait, refuse_in_handler};
use crate::planted::{Bug, planted};
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// A queue without a lifetime or a type, for interfaces to other languages; programs in Rust use [`crate::Queue`].
#[derive(Debug)]
pub struct RawQueue {
    memory: Memory,
    owner: usize,
    shape: Shape,
    capacity: usize,
    writer: Writer,
    /// What this rank was told when it has rung last.
    rung: Cell<Option<Told>>,
    bits: usize,
    /// Of the owner alone.
    lanes: Option<RefCell<Lanes>>,
    /// What the program reads now.
    held: Cell<Option<Popped>>,
}

/// Items that the program reads where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Popped {
    /// Who has pushed them.
    pub rank: usize,
    /// How many they are.
    pub count: usize,
}

/// Where the owner tells this rank how far it has read: a line of its own.
const TOLD: usize = 0;
const BITS: usize = 64;

impl RawQueue {
    /// A queue of `owner` with room for `capacity` items of so many bytes of each rank. All ranks call it together, with the same arguments.
    pub fn new(job: &Job, owner: usize, capacity: usize, item: usize) -> Result<RawQueue> {
        job.agree_on_queue(owner, item)?;
        let shape = Shape::new(capacity, item);
        let lanes = BITS + bytes_of(job.size());
        // What cannot be counted is too much, and all ranks find out together.
        let bytes = shape.and_then(|shape| shape.bytes().checked_mul(job.size())?.checked_add(lanes));
        let is_owner = owner == job.rank();
        let memory = job.symmetric_for_queue(bytes.unwrap_or(usize::MAX), is_owner);
        let (Some(shape), memory) = (shape, memory) else { return Err(impossible(capacity, item)) };
        let memory = Memory::new(memory?);
        let lane = |rank: usize| lanes + rank * shape.bytes();
        let readers = || (0..job.size()).map(|rank| Reader::new(shape, rank, lane(rank), TOLD)).collect();
        Ok(RawQueue {
            writer: Writer::new(shape, owner, lane(job.rank()), TOLD),
            lanes: is_owner.then(|| RefCell::new(Lanes::new(job, readers(), BITS))),
            memory,
            owner,
            shape,
            capacity,
            rung: Cell::new(None),
            bits: BITS,
            held: Cell::new(None),
        })
    }

    /// Frees its memory. All ranks call it together. Items that nobody has popped are gone.
    pub fn free(self, job: &Job) -> Result<()> {
        job.free(self.memory.bytes)
    }

    /// The rank that pops.
    pub fn owner(&self) -> usize {
        self.owner
    }

    /// For how many items of each rank there is room.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Where this rank is told how far its items were read.
    #[cfg(test)]
    pub(super) fn told_word(&self) -> crate::Place<'_, u64> {
        self.memory.word(self.memory.bytes.ni.rank, TOLD)
    }

    /// How far one item of a row lies behind the one before.
    pub fn stride(&self) -> usize {
        self.shape.stride()
    }

    /// How many bytes an item has.
    pub fn item_bytes(&self) -> usize {
        self.shape.item()
    }
}

/// Producers.
impl RawQueue {
    /// Pushes an item; false if there is no room.
    #[inline(always)]
    pub fn try_push(&self, job: &Job, item: &[u8]) -> Result<bool> {
        self.check_items(item.len(), 1)?;
        job.initiator.check_peer(self.owner)?;
        if self.writer.room(job, &self.memory)? == 0 {
            return Ok(false);
        }
        self.writer.write(job, &self.memory, item)?;
        self.ring(job)?;
        Ok(true)
    }

    /// Pushes an item; waits for room, for `timeout` at most.
    #[inline(always)]
    pub fn push(&self, job: &Job, item: &[u8], timeout: Option<Duration>) -> Result<()> {
        match self.try_push(job, item)? {
            true => Ok(()),
            false => self.push_slowly(job, item, timeout),
        }
    }

    #[inline(never)]
    fn push_slowly(&self, job: &Job, item: &[u8], timeout: Option<Duration>) -> Result<()> {
        self.await_room(job, timeout)?;
        self.writer.write(job, &self.memory, item)?;
        self.ring(job)
    }

    /// Pushes as many of some items, one behind the other, as there is room for; how many.
    pub fn try_push_many(&self, job: &Job, items: &[u8]) -> Result<usize> {
        self.check_items(items.len(), items.len() / self.shape.item())?;
        job.initiator.check_peer(self.owner)?;
        job.ni.look();
        let count = self.writer.write_many(job, &self.memory, items)?;
        if count > 0 {
            self.ring(job)?;
        }
        Ok(count)
    }

    /// Pushes items, one behind the other; waits for room, for `timeout` at most. On an error it has pushed the first ones, as many as it
    /// says.
    pub fn push_many(&self, job: &Job, items: &[u8], timeout: Option<Duration>) -> (usize, Result<()>) {
        let (mut done, item) = (0, self.shape.item());
        let deadline = deadline_of(job, timeout);
        loop {
            match self.try_push_many(job, &items[done * item..]) {
                Ok(count) => done += count,
                Err(error) => return (done, Err(error)),
            }
            if done * item == items.len() {
                return (done, Ok(()));
            }
            if let Err(error) = self.await_room(job, deadline.map(|deadline| left(job, deadline))) {
                let after = timeout.unwrap_or_default();
                let error = if let Error::Timeout { .. } = error { Error::Timeout { after } } else { error };
                return (done, Err(error));
            }
        }
    }

    fn check_items(&self, bytes: usize, count: usize) -> Result<()> {
        match bytes == count * self.shape.item() {
            true => Ok(()),
            false => Err(Error::Invalid(format!("{bytes} bytes are not items of {} bytes", self.shape.item()))),
        }
    }

    fn await_room(&self, job: &Job, timeout: Option<Duration>) -> Result<()> {
        let watch = self.writer.watch(job, &self.memory)?;
        let wait = Wait::on(By::Rank(self.owner)).at_most(timeout).watch(watch);
        job.wait_until(wait, || match self.writer.refresh(job, &self.memory) {
            Ok(0) => None,
            room => Some(room),
        })?
        .map(drop)
    }

    /// Tells the owner that there is something, if it does not look by itself.
    #[inline(always)]
    fn ring(&self, job: &Job) -> Result<()> {
        if !rings(job.size()) {
            return Ok(());
        }
        // After the fence in the push: either this rank sees that nobody looks, or the owner has seen the item.
        let told = self.writer.told(job, &self.memory)?;
        if told.is_awake() || self.rung.get() == Some(told) || !job.ni.is_near(self.owner) {
            return Ok(());
        }
        if !planted(Bug::DoorbellUnrung) {
            ring_at(job, &self.memory, self.owner, self.bits, told)?;
        }
        // Not before: what a panic has kept from ringing rings with the next item.
        self.rung.set(Some(told));
        Ok(())
    }
}

/// The consumer.
impl RawQueue {
    /// The next items of one rank, at most `max`, if there are any. They stay where they are until this rank asks for others, or says that
    /// it is done with them ([`RawQueue::release`]).
    #[inline(always)]
    pub fn try_pop(&self, job: &Job, max: usize) -> Result<Option<Popped>> {
        let lanes = self.begin_pop(job)?;
        Ok(self.find(job, lanes, max))
    }

    /// The next items of one rank, at most `max`; waits for one, for `timeout` at most.
    #[inline(always)]
    pub fn pop(&self, job: &Job, max: usize, timeout: Option<Duration>) -> Result<Popped> {
        let lanes = self.begin_pop(job)?;
        match self.find(job, lanes, max) {
            Some(popped) => Ok(popped),
            None => self.pop_slowly(job, lanes, max, timeout),
        }
    }

    /// The program is done with what it has popped last.
    #[inline(always)]
    pub fn release(&self, job: &Job) {
        if let (Some(Popped { rank, count }), Some(lanes)) = (self.held.take(), &self.lanes)
            && !job.ni.is_forked()
        {
            lanes.borrow_mut().reader(rank).advance(job, &self.memory, count as u64);
        }
    }

    /// What the program reads now: one of the items that it has popped last.
    ///
    /// # Panics
    /// If it has popped no such item.
    #[inline(always)]
    pub(super) fn item<'j>(&self, job: &'j Job, index: usize) -> Span<'j> {
        let held = self.held.get().filter(|held| index < held.count);
        let (Some(held), Some(lanes)) = (held, &self.lanes) else { panic!("no item {index} was popped") };
        lanes.borrow_mut().reader(held.rank).item(job, &self.memory, index as u64)
    }

    /// Where one of the items is that were popped last. Its producer may write to it at any moment.
    ///
    /// # Panics
    /// If no such item was popped.
    pub fn address(&self, job: &Job, index: usize) -> *const u8 {
        self.item(job, index).start()
    }

    #[inline(always)]
    fn begin_pop(&self, job: &Job) -> Result<&RefCell<Lanes>> {
        let Some(lanes) = &self.lanes else { return Err(not_owner(self.owner)) };
        job.ni.check_rank(job.rank())?;
        job.initiator.tick();
        job.ni.look();
        self.release(job);
        Ok(lanes)
    }

    #[inline(always)]
    fn find(&self, job: &Job, lanes: &RefCell<Lanes>, max: usize) -> Option<Popped> {
        // A handler that runs inside a wait of this queue finds nothing.
        let mut lanes = lanes.try_borrow_mut().ok()?;
        let rank = lanes.find(job, &self.memory)?;
        let count = if max <= 1 { 1 } else { lanes.reader(rank).count(job, &self.memory, max).max(1) };
        let popped = Popped { rank, count };
        self.held.set(Some(popped));
        Some(popped)
    }

    #[inline(never)]
    fn pop_slowly(&self, job: &Job, lanes: &RefCell<Lanes>, max: usize, timeout: Option<Duration>) -> Result<Popped> {
        refuse_in_handler()?;
        // Whose end matters is decided here: that of one producer does not.
        let wait = Wait::on_rank(job.rank()).at_most(timeout);
        let wait = if job.ni.far.is_some() { wait.always() } else { wait };
        job.wait_until(wait, || {
            let found = || self.find(job, lanes, max);
            // What was pushed before the end counts.
            found().map(Ok).or_else(|| self.check_producers(job).err().map(|error| found().ok_or(error)))
        })?
    }

    /// Fails if nobody is left who could push.
    fn check_producers(&self, job: &Job) -> Result<()> {
        if job.ni.departures() == 0 && job.size() > 1 {
            return Ok(());
        }
        let mut ended = None;
        for rank in (0..job.size()).filter(|rank| *rank != job.rank()) {
            match job.ni.end_of(rank) {
                None => return Ok(()),
                error => ended = error,
            }
        }
        job.ni.empty_rings();
        Err(ended.map_or_else(nobody, |error| job.ni.failing(error)))
    }
}

pub(super) fn deadline_of(job: &Job, timeout: Option<Duration>) -> Option<Instant> {
    timeout.and_then(|timeout| job.ni.now().checked_add(timeout))
}

pub(super) fn left(job: &Job, deadline: Instant) -> Duration {
    deadline.saturating_duration_since(job.ni.now())
}

#[cold]
fn impossible(capacity: usize, item: usize) -> Error {
    Error::Invalid(format!("{capacity} items of {item} bytes make no queue: too many, or none"))
}

#[cold]
fn not_owner(owner: usize) -> Error {
    Error::Invalid(format!("the queue is that of rank {owner}, which alone pops"))
}

#[cold]
fn nobody() -> Error {
    Error::Invalid("the queue is empty, and this rank is alone".into())
}
