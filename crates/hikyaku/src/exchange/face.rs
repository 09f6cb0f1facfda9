//! What the program sees of message exchange.

use super::buffers::{Buffers, Layout};
use super::frame::SLOTS;
use super::incoming::{Found, Incoming, Where};
use super::outgoing::Outgoing;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::matching::{Keys, Matched, Source};
use crate::memory::segment::PAGE_BYTES;
use crate::message::Messages;
use crate::ni::{Awaited, By, Hold, Wait, refuse_in_handler};
use crate::queue::lane::Memory;
use bytemuck::Pod;
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::time::{Duration, Instant};

/// Messages through a buffer that each rank has at every other one, received by sender and tag. Made by [`Job::exchange`].
///
/// A message goes at once if there is room in the buffer, whether or not it is expected; otherwise its send waits for room. One that is
/// longer than a quarter of the buffer ([`Buffers`]) goes from the sender's memory to the receiver's when its receive is there, and its send
/// returns then. Messages of one sender that a receive takes come in the order in which they were sent.
///
/// ```
/// hikyaku::local(2, |job| {
///     let exchange = job.exchange()?;
///     if job.rank() == 0 {
///         exchange.send(&[1u64, 2, 3], 1, 7)?;
///         exchange.send(&[1.5], 1, 8)?;
///     } else {
///         let mut number = [0.0];
///         exchange.recv(&mut number, 0, 8)?; // what came before it is set aside
///         let mut numbers = [0u64; 3];
///         assert_eq!(exchange.recv(&mut numbers, 0, 7)?.len, 3);
///         assert_eq!((number, numbers), ([1.5], [1, 2, 3]));
///     }
///     exchange.free()
/// })
/// .unwrap();
/// ```
pub struct Exchange<'j> {
    job: &'j Job,
    memory: Memory,
    layout: Layout,
    /// What long messages move by.
    long: Messages<'j>,
    outgoing: Vec<RefCell<Option<Box<Outgoing>>>>,
    incoming: Vec<RefCell<Option<Box<Incoming>>>>,
    /// Whose turn it is where any rank's message will do.
    turn: Cell<usize>,
}

impl std::fmt::Debug for Exchange<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").field("rank", &self.job.rank()).finish_non_exhaustive()
    }
}

impl Job {
    /// Prepares message exchange, with buffers for as many ranks as there are. All ranks call it together.
    ///
    /// # Errors
    /// If there is not enough memory on some rank: then on all.
    #[track_caller]
    pub fn exchange(&self) -> Result<Exchange<'_>> {
        self.exchange_with(Buffers::of(self.size()))
    }

    /// [`Job::exchange`] with buffers of this size. All ranks say the same.
    ///
    /// # Errors
    /// If ranks differ in what they say, or there is not enough memory on some: then on all.
    #[track_caller]
    pub fn exchange_with(&self, buffers: Buffers) -> Result<Exchange<'_>> {
        self.enter(&"exchange");
        refuse_in_handler()?;
        self.agree_on_buffers(buffers.messages, buffers.bytes)?;
        let layout = Layout::new(buffers);
        let lanes = layout.and_then(|layout| layout.bytes().checked_mul(self.size()));
        let lanes = lanes.and_then(|bytes| bytes.checked_next_multiple_of(PAGE_BYTES));
        let slots = Messages::bytes_for(SLOTS, self.size())?;
        // One allocation, so that it succeeds or fails as a whole. What cannot be counted is too much, for all ranks.
        let bytes = lanes.and_then(|lanes| lanes.checked_add(slots));
        let memory = self.symmetric_for_exchange(bytes.unwrap_or(usize::MAX));
        let (Some(layout), Some(lanes)) = (layout, lanes) else { return Err(buffers.impossible()) };
        let memory = memory?;
        let long = Messages::of_all(self, SLOTS, memory.start + lanes);
        let size = self.size();
        Ok(Exchange {
            job: self,
            memory: Memory::new(memory),
            layout,
            long,
            outgoing: (0..size).map(|_| RefCell::default()).collect(),
            incoming: (0..size).map(|_| RefCell::default()).collect(),
            turn: Cell::new(0),
        })
    }
}

impl Exchange<'_> {
    /// Frees its memory. All ranks call it together, and with it give up messages that nobody has received.
    ///
    /// # Errors
    /// If a rank has ended: then nothing is freed before the job ends.
    #[track_caller]
    pub fn free(self) -> Result<()> {
        self.job.enter(&"free");
        refuse_in_handler()?;
        let job = self.job;
        job.barrier()?;
        // On an error others may still read it.
        let stopped = ManuallyDrop::new(self.long.stop());
        self.long.await_arrived()?;
        // Afterwards nobody touches anything of others any more, and nothing is under way.
        job.barrier()?;
        self.long.give_stopped(ManuallyDrop::into_inner(stopped));
        let memory = self.memory.bytes;
        drop(self.long);
        job.free(memory)
    }

    /// The longest message, in bytes, that goes through the buffer. The send of a longer one waits for its receive.
    pub fn buffered_max(&self) -> usize {
        self.layout.middle_max()
    }

    /// Sends a message to `rank` under `tag`. It returns when the message is in the buffer there, or, if it is longer than
    /// [`Exchange::buffered_max`], was received.
    ///
    /// # Errors
    /// When the receiver has ended.
    #[inline]
    #[track_caller]
    pub fn send<T: Pod>(&self, data: &[T], rank: usize, tag: u64) -> Result<()> {
        self.job.enter(&"send");
        self.send_bytes(bytemuck::cast_slice(data), rank, tag)
    }

    #[inline(always)]
    fn send_bytes(&self, data: &[u8], rank: usize, tag: u64) -> Result<()> {
        self.job.initiator.check_peer(rank)?;
        self.job.ni.look();
        // A handler that runs meanwhile, and sends too, is refused.
        let mut place = self.outgoing[rank].try_borrow_mut().map_err(|_| Error::InHandler)?;
        let outgoing = place.get_or_insert_with(|| Box::new(Outgoing::new(self.layout, self.job.rank(), rank)));
        if data.len() <= self.layout.middle_max() && outgoing.try_send(self.job, &self.memory, data, tag)? {
            return Ok(());
        }
        drop(place);
        self.send_slowly(data, rank, tag)
    }

    #[inline(never)]
    fn send_slowly(&self, data: &[u8], rank: usize, tag: u64) -> Result<()> {
        refuse_in_handler()?;
        let is_long = data.len() > self.layout.middle_max();
        // Before it is announced: then it must come.
        let ready = if is_long { Some(self.long.ready(data, rank)?) } else { None };
        let slot = self.await_room(rank, |outgoing| {
            let slot = outgoing.next_slot();
            let is_done = match is_long {
                true => outgoing.try_offer(self.job, &self.memory, data.len(), tag),
                false => outgoing.try_send(self.job, &self.memory, data, tag),
            };
            is_done.map(|is_done| is_done.then_some(slot))
        })?;
        let Some(ready) = ready else { return Ok(()) };
        // A panic of a handler waits: the message is announced, and the next one in its slot would be taken for it.
        let _hold = Hold::enter();
        match self.long.send_ready(&ready, rank, slot) {
            // The receiver knows; to send was right.
            Err(Error::Truncated { .. }) => Ok(()),
            sent => sent,
        }
    }

    /// Tries to send until there is room.
    fn await_room(&self, rank: usize, attempt: impl Fn(&Outgoing) -> Result<Option<usize>>) -> Result<usize> {
        let place = &self.outgoing[rank];
        let attempt = || attempt(place.borrow().as_ref()?).transpose();
        if let Some(done) = attempt() {
            return done;
        }
        // Whatever comes wakes it, not only room.
        self.job.wait_until(Wait::on_rank(rank).of(Awaited::Nothing), || {
            // Whoever waits for this rank's room may be waited for by others, and by `rank` itself.
            self.drain();
            attempt()
        })?
    }

    /// Sets aside what has come for this rank.
    fn drain(&self) {
        for source in 0..self.incoming.len() {
            // What is wrong with a sender is told to those who receive from it.
            let _ = self.with(source, |incoming| incoming.drain(self.job, &self.memory));
        }
    }

    /// Receives the first message of a rank, or of any ([`Source::Any`]), under a tag, or any of several ([`Keys`]). Waits for one if there
    /// is none yet.
    ///
    /// If the message is longer than the buffer, the call fails with [`Error::Overlong`], and the message is lost; [`Exchange::probe`] tells
    /// how long it is.
    ///
    /// # Errors
    /// When the sender has ended and has sent no such message.
    #[inline]
    #[track_caller]
    pub fn recv<T: Pod>(&self, into: &mut [T], from: impl Into<Source>, tags: impl Into<Keys>) -> Result<Matched> {
        self.job.enter(&"recv");
        self.receive(bytemuck::cast_slice_mut(into), size_of::<T>(), from.into(), tags.into(), None)
    }

    /// [`Exchange::recv`] that waits for at most `timeout`, and then fails with [`Error::Timeout`]. A message that comes later waits for
    /// another receive.
    #[track_caller]
    pub fn recv_for<T: Pod>(
        &self,
        into: &mut [T],
        from: impl Into<Source>,
        tags: impl Into<Keys>,
        timeout: Duration,
    ) -> Result<Matched> {
        self.job.enter(&"recv_for");
        self.receive(bytemuck::cast_slice_mut(into), size_of::<T>(), from.into(), tags.into(), Some(timeout))
    }

    /// Waits for a message, and tells of it: who has sent it, its tag and its bytes. It stays, and the next receive that takes it gets
    /// it.
    ///
    /// # Errors
    /// As [`Exchange::recv`].
    #[track_caller]
    pub fn probe(&self, from: impl Into<Source>, tags: impl Into<Keys>) -> Result<Matched> {
        self.job.enter(&"probe");
        let (rank, Found { tag: key, bytes: len, .. }) = self.find(from.into(), tags.into(), None)?;
        Ok(Matched { rank, key, len })
    }

    /// What [`Exchange::probe`] tells, if there is such a message now.
    ///
    /// # Errors
    /// When the sender does not exist, or has sent nonsense.
    pub fn try_probe(&self, from: impl Into<Source>, tags: impl Into<Keys>) -> Result<Option<Matched>> {
        let from = from.into();
        self.begin(from)?;
        let found = self.look(from, tags.into())?;
        Ok(found.map(|(rank, Found { tag: key, bytes: len, .. })| Matched { rank, key, len }))
    }

    #[inline(always)]
    fn begin(&self, from: Source) -> Result<()> {
        self.job.ni.check_rank(if let Source::Rank(rank) = from { rank } else { self.job.rank() })?;
        self.job.initiator.tick();
        self.job.ni.look();
        Ok(())
    }

    #[inline(always)]
    fn receive(
        &self,
        into: &mut [u8],
        element: usize,
        from: Source,
        tags: Keys,
        timeout: Option<Duration>,
    ) -> Result<Matched> {
        let deadline = timeout.and_then(|timeout| self.job.ni.now().checked_add(timeout));
        let (rank, found) = self.find(from, tags, timeout)?;
        if let Where::Offered(slot) = found.place {
            self.receive_long(into, rank, found, slot, deadline, timeout)?;
        } else {
            self.with(rank, |incoming| incoming.take(self.job, &self.memory, found, into))?;
        }
        let Found { tag: key, bytes, .. } = found;
        if bytes > into.len() {
            return Err(Error::Overlong { from: rank, key, bytes, room: into.len() });
        }
        let element = element.max(1);
        match bytes % element {
            0 => Ok(Matched { rank, key, len: bytes / element }),
            _ => Err(Error::Uneven { from: rank, key, bytes, element }),
        }
    }

    /// A message that comes through a slot. It stays announced until it has come.
    #[inline(never)]
    fn receive_long(
        &self,
        into: &mut [u8],
        rank: usize,
        found: Found,
        slot: usize,
        deadline: Option<Instant>,
        timeout: Option<Duration>,
    ) -> Result<()> {
        refuse_in_handler()?;
        let until = (deadline, timeout);
        // Another tag's may come first: one that needed no receive, or one whose receive was given up.
        while let Some((number, bytes)) = self.with(rank, |incoming| incoming.kept.earlier_in(found.number, slot))? {
            self.with(rank, |incoming| incoming.check_fetched(bytes))??;
            let mut data = vec![0; bytes].into_boxed_slice();
            self.fetch(&mut data, rank, (number, bytes), slot, until)?;
            self.with(rank, |incoming| incoming.kept.fetch(number, data))?;
        }
        self.fetch(into, rank, (found.number, found.bytes), slot, until)?;
        self.with(rank, |incoming| drop(incoming.kept.remove(found.number)))
    }

    /// Receives the next message of a slot, which was announced under a number and with so many bytes. If it does not fit it is gone.
    fn fetch(
        &self,
        into: &mut [u8],
        rank: usize,
        (number, bytes): (u64, usize),
        slot: usize,
        until: (Option<Instant>, Option<Duration>),
    ) -> Result<()> {
        match self.receive_in(into, rank, slot, until) {
            Ok(came) | Err(Error::Truncated { bytes: came, .. }) if came == bytes => Ok(()),
            Ok(_) | Err(Error::Truncated { .. }) => Err(self.with(rank, |incoming| incoming.spoil(OTHER_LENGTH))?),
            // It may still come.
            Err(error @ (Error::Timeout { .. } | Error::InHandler | Error::InFunction)) => Err(error),
            Err(error) => {
                self.with(rank, |incoming| drop(incoming.kept.remove(number)))?;
                Err(error)
            }
        }
    }

    /// The next message of a slot: its bytes.
    fn receive_in(
        &self,
        into: &mut [u8],
        rank: usize,
        slot: usize,
        (deadline, timeout): (Option<Instant>, Option<Duration>),
    ) -> Result<usize> {
        let Some(deadline) = deadline else { return self.long.recv(into, rank, slot) };
        let left = deadline.saturating_duration_since(self.job.ni.now());
        self.long.recv_for(into, rank, slot, left).map_err(|error| match error {
            Error::Timeout { .. } => Error::Timeout { after: timeout.unwrap_or_default() },
            other => other,
        })
    }

    /// The first message that will do; waits for one.
    #[inline(always)]
    fn find(&self, from: Source, tags: Keys, timeout: Option<Duration>) -> Result<(usize, Found)> {
        self.begin(from)?;
        match self.look(from, tags)? {
            Some(found) => Ok(found),
            None => self.find_slowly(from, tags, timeout),
        }
    }

    #[inline(never)]
    fn find_slowly(&self, from: Source, tags: Keys, timeout: Option<Duration>) -> Result<(usize, Found)> {
        let by = if let Source::Rank(rank) = from { By::Rank(rank) } else { By::Anyone };
        let wait = Wait::on(by).at_most(timeout).of(Awaited::Key(tags.exact()));
        self.job.wait_until(wait, || self.look(from, tags).transpose())?
    }

    /// The first message that will do, if it is there.
    #[inline(always)]
    fn look(&self, from: Source, tags: Keys) -> Result<Option<(usize, Found)>> {
        if let Source::Rank(rank) = from {
            let found = self.with(rank, |incoming| incoming.find(self.job, &self.memory, tags))??;
            return Ok(found.map(|found| (rank, found)));
        }
        let size = self.incoming.len();
        for rank in (0..size).map(|step| (self.turn.get() + step) % size) {
            if let Some(found) = self.with(rank, |incoming| incoming.find(self.job, &self.memory, tags))?? {
                self.turn.set((rank + 1) % size);
                return Ok(Some((rank, found)));
            }
        }
        Ok(None)
    }

    /// What this rank keeps of another that sends to it.
    #[inline(always)]
    fn with<R>(&self, source: usize, work: impl FnOnce(&mut Incoming) -> R) -> Result<R> {
        // A handler that runs inside a call of this rank finds it at work only if it calls from there.
        let mut place = self.incoming[source].try_borrow_mut().map_err(|_| Error::InHandler)?;
        let incoming = place.get_or_insert_with(|| Box::new(Incoming::new(self.layout, self.job.rank(), source)));
        Ok(work(incoming))
    }
}

/// What no sender of ours does.
#[cfg(test)]
impl Exchange<'_> {
    /// Announces a long message that does not come; false if there is no room for that.
    pub(super) fn only_announce(&self, bytes: usize, rank: usize, tag: u64) -> Result<bool> {
        let mut place = self.outgoing[rank].borrow_mut();
        let outgoing = place.get_or_insert_with(|| Box::new(Outgoing::new(self.layout, self.job.rank(), rank)));
        outgoing.try_offer(self.job, &self.memory, bytes, tag)
    }
}

/// What is wrong with a sender.
const OTHER_LENGTH: &str = "a message of another length than was announced";
