//! What the program sees of matched messages.

use super::arrival::Envelope;
use super::buffer::{Data, Room};
use super::keys::{Keys, Pattern, Source};
use super::lane::LANE_BYTES;
use super::mover::{Mover, Shared};
use super::tables::Tables;
use super::under_way::{WithdrawsReceive, WithdrawsSend, by};
use super::wire::SLOTS;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::message::Messages;
use crate::ni::{Port, Symmetric, background, refuse_in_handler, stand_by};
use bytemuck::Pod;
use std::mem::ManuallyDrop;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Messages that the receiver matches: a send has a key, and a receive takes the first message of a rank, or of any, whose key it names,
/// or any key. It is what MPI does with tags.
///
/// Where sender and receiver know of each other, slots ([`crate::Job::messages`]) are faster: nothing is looked up.
///
/// ```
/// use hikyaku::matching::{Keys, Source};
///
/// hikyaku::local(3, |job| {
///     let matching = job.matching()?;
///     if job.rank() > 0 {
///         matching.send(&[job.rank() as u64; 4], 0, 7)?;
///         matching.send(&[1.5], 0, 100 + job.rank() as u64)?;
///     } else {
///         let mut numbers = [0u64; 4];
///         for _ in 1..job.size() {
///             let matched = matching.recv(&mut numbers, Source::Any, 7)?;
///             assert_eq!(numbers, [matched.rank as u64; 4]);
///         }
///         let mut number = [0.0];
///         assert_eq!(matching.recv(&mut number, 2, Keys::ANY)?.key, 102);
///         assert_eq!(matching.recv(&mut number, 1, 101)?.len, 1);
///     }
///     job.barrier()
/// })
/// .unwrap();
/// ```
///
/// A message of at most [`crate::PAYLOAD_MAX`] bytes is copied, so that its send returns at once, unless the receiver is a megabyte
/// behind. A longer one is copied from buffer to buffer when its receive is there, and its send returns then.
pub struct Matching<'j> {
    job: &'j Job,
    /// What long messages move by.
    carriers: Messages<'j>,
    pub(super) mover: Rc<Mover>,
    /// Where that lies, on every rank, until it is freed.
    memory: Option<Symmetric<u8>>,
}

impl std::fmt::Debug for Matching<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Matching").field("rank", &self.port().rank()).finish_non_exhaustive()
    }
}

/// A message that was received, or that is there to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matched {
    /// The sender.
    pub rank: usize,
    /// Its key.
    pub key: u64,
    /// Elements; of [`Matching::probe`], bytes.
    pub len: usize,
}

impl Matched {
    /// In line: where the size of elements is known, nothing is divided.
    #[inline(always)]
    pub(super) fn of(envelope: Envelope, element: usize) -> Result<Matched> {
        let Envelope { source, key, bytes } = envelope;
        let element = element.max(1);
        match bytes % element {
            0 => Ok(Matched { rank: source, key, len: bytes / element }),
            _ => Err(Error::Uneven { from: source, key, bytes, element }),
        }
    }
}

impl Job {
    /// Prepares messages that are matched by keys. All ranks call it together. A job has room for 64 of them at a time;
    /// [`Matching::free`] gives the room back.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let matching = job.matching()?;
    /// let peer = 1 - job.rank();
    /// matching.send(&[job.rank()], peer, 3)?;
    /// let mut got = [9];
    /// matching.recv(&mut got, peer, 3)?;
    /// assert_eq!(got, [peer]);
    /// matching.free()?; // by all ranks, as they were made
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// # Errors
    /// If there is no port (`HIKYAKU_PORTS`) or not enough memory on some rank: then on all.
    #[track_caller]
    pub fn matching(&self) -> Result<Matching<'_>> {
        self.enter(&"matching");
        refuse_in_handler()?;
        // Operations have numbers that those of no other matched messages of this process have.
        static MADE: AtomicU64 = AtomicU64::new(0);
        let first = MADE.fetch_add(1, Ordering::Relaxed) << 40;
        let shared = Shared::new(Tables::new(self.size(), first));
        let hears = shared.clone();
        // A rank that has no room for it takes part all the same: the others must not wait for it.
        let made = self.open().and_then(|port| {
            let handler = port.register_library(move |_, message| hears.hear(message))?;
            Ok((port, handler))
        });
        let agreed = self.agree_on_matching(made.as_ref().ok().map(|(_, handler)| handler.number()));
        let (port, handler) = made?;
        // Whoever comes out of this may send at once: all have registered their handlers.
        let slots = Messages::bytes_for(SLOTS, self.size())?;
        let memory = agreed.and_then(|()| self.symmetric_for_channel(slots + LANE_BYTES * self.size()));
        let memory = memory.inspect_err(|_| port.unregister_library(handler))?;
        let carriers = Messages::of_all(self, SLOTS, memory.start);
        stand_by(&port);
        let mover = Rc::new(Mover::new(port, handler, shared, carriers.carrier(), memory.start + slots, first));
        background::register(&self.ni.workplaces, &mover);
        Ok(Matching { job: self, carriers, mover, memory: Some(memory) })
    }
}

impl<'j> Matching<'j> {
    /// The port that these messages wait with.
    pub fn port(&self) -> &'j Port {
        self.carriers.port()
    }

    /// Frees their memory. All ranks call it together, and with it give up messages that nobody has received.
    ///
    /// # Errors
    /// If a rank has ended: then nothing is freed before the job ends.
    #[track_caller]
    pub fn free(mut self) -> Result<()> {
        self.port().enter(&"free");
        refuse_in_handler()?;
        let job = self.job;
        // Others may still receive what goes on by itself, until all have come here.
        job.barrier()?;
        self.mover.shared.tables().close();
        self.mover.halt();
        // On an error others may still read it.
        let stopped = ManuallyDrop::new(self.carriers.stop());
        self.carriers.await_arrived()?;
        self.mover.port.initiator.await_handled(&|_| true)?;
        // Afterwards nobody touches anything of others any more, and nothing is under way.
        job.barrier()?;
        self.carriers.give_stopped(ManuallyDrop::into_inner(stopped));
        let (handler, memory) = (self.mover.handler, self.memory.take());
        drop(self);
        memory.map_or(Ok(()), |memory| job.free(memory))?;
        job.unregister_library(handler);
        Ok(())
    }

    /// Sends a message to `rank` under `key`. A message of at most [`crate::PAYLOAD_MAX`] bytes is copied, and the send mostly returns at
    /// once; otherwise it returns when the message was received.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let matching = job.matching()?;
    /// if job.rank() == 0 {
    ///     for key in 0..3 {
    ///         matching.send(&[key as f64], 1, key)?;
    ///     }
    /// } else {
    ///     for key in (0..3).rev() {
    ///         let mut number = [0.0];
    ///         matching.recv(&mut number, 0, key)?; // the last one first
    ///         assert_eq!(number, [key as f64]);
    ///     }
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[inline]
    #[track_caller]
    pub fn send<T: Pod>(&self, data: &[T], rank: usize, key: u64) -> Result<()> {
        self.port().enter(&"send");
        let data: &[u8] = bytemuck::cast_slice(data);
        // SAFETY: borrowed for the time of this call, which withdraws it.
        let data = unsafe { Data::lent(data.as_ptr(), data.len()) };
        self.send_data(data, rank, key)
    }

    #[inline]
    #[track_caller]
    pub(super) fn send_data(&self, data: Data, rank: usize, key: u64) -> Result<()> {
        let Some(id) = self.start_send(data, rank, key)? else { return Ok(()) };
        let withdraws = WithdrawsSend(&self.mover, id);
        let ended = self.wait_send(id, rank, None);
        std::mem::forget(withdraws);
        ended.map(drop)
    }

    /// Receives the first message of a rank, or of any ([`Source::Any`]), under a key, or any of several ([`Keys`]). Waits for one if there
    /// is none yet.
    ///
    /// If the message is longer than the buffer, the call fails with [`Error::Overlong`], and the message is lost;
    /// [`Matching::probe`] tells how long it is.
    ///
    /// ```
    /// use hikyaku::matching::Keys;
    ///
    /// # hikyaku::local(2, |job| {
    /// let matching = job.matching()?;
    /// if job.rank() == 0 {
    ///     matching.send(&[1u8, 2, 3], 1, 0x2001)?;
    /// } else {
    ///     let mut room = [0u8; 10];
    ///     let matched = matching.recv(&mut room, 0, Keys::with_ignored(0x2000, 0xfff))?;
    ///     assert_eq!((matched.key, matched.len), (0x2001, 3));
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[inline]
    #[track_caller]
    pub fn recv<T: Pod>(&self, into: &mut [T], from: impl Into<Source>, keys: impl Into<Keys>) -> Result<Matched> {
        self.port().enter(&"recv");
        self.recv_within(into, Pattern::new(from, keys), None)
    }

    /// [`Matching::recv`] that waits for at most `timeout`, and then fails with [`Error::Timeout`]. A message that comes later waits for
    /// another receive.
    #[track_caller]
    pub fn recv_for<T: Pod>(
        &self,
        into: &mut [T],
        from: impl Into<Source>,
        keys: impl Into<Keys>,
        timeout: Duration,
    ) -> Result<Matched> {
        self.port().enter(&"recv_for");
        self.recv_within(into, Pattern::new(from, keys), Some(timeout))
    }

    #[inline]
    fn recv_within<T: Pod>(&self, into: &mut [T], pattern: Pattern, patience: Option<Duration>) -> Result<Matched> {
        let into: &mut [u8] = bytemuck::cast_slice_mut(into);
        // SAFETY: borrowed for the time of this call, which withdraws it.
        let room = unsafe { Room::new(into.as_mut_ptr(), into.len()) };
        Matched::of(self.receive(room, pattern, patience)?, size_of::<T>())
    }

    /// Receives a message into memory that is borrowed for the time of the call.
    #[inline]
    #[track_caller]
    pub(super) fn receive(&self, room: Room, pattern: Pattern, patience: Option<Duration>) -> Result<Envelope> {
        let (id, has_ended) = self.start_receive(room, pattern)?;
        let withdraws = WithdrawsReceive(&self.mover, id);
        let ended = match has_ended {
            true => self.wait_receive(id, pattern, patience)?,
            false => self.await_receive(id, pattern, patience)?,
        };
        let envelope = match ended {
            Some(envelope) => envelope,
            // It may have come at the last moment.
            None => match self.withdraw_receive(id) {
                Some(ended) => ended?,
                None => return Err(Error::Timeout { after: patience.unwrap_or_default() }),
            },
        };
        std::mem::forget(withdraws);
        Ok(envelope)
    }

    /// Waits for a message, and tells of it: who has sent it, its key and its bytes. It stays, and the next receive that takes it gets
    /// it.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let matching = job.matching()?;
    /// if job.rank() == 0 {
    ///     matching.send(&[7u64; 5], 1, 3)?;
    /// } else {
    ///     let there = matching.probe(0, 3)?;
    ///     let mut numbers = vec![0u64; there.len / 8]; // room for exactly what comes
    ///     matching.recv(&mut numbers, there.rank, there.key)?;
    ///     assert_eq!(numbers, [7; 5]);
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[track_caller]
    pub fn probe(&self, from: impl Into<Source>, keys: impl Into<Keys>) -> Result<Matched> {
        self.port().enter(&"probe");
        self.probe_within(Pattern::new(from, keys), None)
    }

    /// [`Matching::probe`] that waits for at most `timeout`, and then fails with [`Error::Timeout`].
    #[track_caller]
    pub fn probe_for(&self, from: impl Into<Source>, keys: impl Into<Keys>, timeout: Duration) -> Result<Matched> {
        self.port().enter(&"probe_for");
        self.probe_within(Pattern::new(from, keys), Some(timeout))
    }

    fn probe_within(&self, pattern: Pattern, patience: Option<Duration>) -> Result<Matched> {
        self.check(pattern)?;
        let look = || self.mover.shared.tables().probe(pattern);
        let found = match look() {
            Some(found) => found,
            None => self.port().wait_until(self.wait_for(pattern, patience), self.mover.when_news(look))?,
        };
        Matched::of(found, 1)
    }

    /// [`Matching::probe`] without waiting: `None` if there is no such message now.
    pub fn try_probe(&self, from: impl Into<Source>, keys: impl Into<Keys>) -> Result<Option<Matched>> {
        let pattern = Pattern::new(from, keys);
        self.check(pattern)?;
        self.port().progress();
        self.mover.step();
        let look = || self.mover.shared.tables().probe(pattern);
        // What was sent before the end counts.
        let found = match look() {
            None => {
                let departed = self.port().ni().check_departed(by(pattern));
                if departed.is_err() {
                    self.port().ni().empty_rings();
                    self.mover.step();
                }
                look().map_or(departed.map(|()| None), |found| Ok(Some(found)))?
            }
            found => found,
        };
        found.map(|found| Matched::of(found, 1)).transpose()
    }
}

impl Drop for Matching<'_> {
    fn drop(&mut self) {
        self.mover.shared.tables().close();
    }
}
