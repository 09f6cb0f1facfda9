//! One independent way into the network interface.
//!
//! A port has its own ring to every peer, its own mark for operations in flight and its own place to sleep, so
//! threads that use different ports never wait for each other. It can be moved to a thread, not shared.

use super::credit::Credit;
use super::delay::Stay;
use super::message::refuse_in_handler;
use super::remote::Data;
use super::{Ni, background};
use crate::error::{Error, Result};
use crate::sync::guard::Guard;
use crate::transport::core::{Body, Posted};
use crate::transport::shm::layout::Local;
use crate::transport::shm::ring::{PAYLOAD_MAX, Packet, Producer};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Instant;

/// One independent way into the network interface of a rank. [`crate::Job`] has one; a thread gets its own from
/// [`Port::open`].
pub struct Port {
    pub(crate) ni: Arc<Ni>,
    pub(crate) lane: RefCell<Lane>,
    pub(crate) index: usize,
    /// Routed operations may be under way.
    pub(crate) routed: Cell<bool>,
    /// Remote operations since the last look for messages.
    idle_ops: Cell<u32>,
    /// A call is under way.
    pub(super) calls: Cell<bool>,
    /// What it is in, and for how long.
    pub(super) stay: Stay,
}

impl std::fmt::Debug for Port {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Port").field("rank", &self.ni.rank).field("index", &self.index).finish_non_exhaustive()
    }
}

/// How many remote operations may pass before a port looks for arrived messages.
const IDLE_OPS_MAX: u32 = 32;

impl Port {
    pub(crate) fn on(ni: &Arc<Ni>) -> Result<Port> {
        let index = ni.take_port()?;
        // What was refused before concerns whoever had the port open then.
        let _ = ni.accounts[index].take_refusal();
        Ok(Port {
            ni: ni.clone(),
            lane: RefCell::new(Lane::new(ni, index)),
            index,
            routed: Cell::new(false),
            idle_ops: Cell::new(0),
            calls: Cell::new(false),
            stay: Stay::default(),
        })
    }

    /// Opens another port of this rank, for another thread.
    pub fn open(&self) -> Result<Port> {
        self.ni.check_rank(self.ni.rank)?;
        Port::on(&self.ni)
    }

    /// This rank.
    #[inline]
    pub fn rank(&self) -> usize {
        self.ni.rank
    }

    /// The number of ranks.
    #[inline]
    pub fn size(&self) -> usize {
        self.ni.memory.layout.size
    }

    /// Whether the job has more ranks than cores, so that waiting ranks yield instead of spinning.
    pub fn is_crowded(&self) -> bool {
        self.ni.crowded
    }

    /// Whether the memory of `rank` is mapped here: operations on its symmetric memory and its areas are then done when
    /// the call returns. Otherwise `rank` is far: what a push or a word did is told by [`Port::flush`], and what reads
    /// waits for the answer of its network interface, so a handler cannot. Far memory is gone when its rank leaves.
    pub fn is_mapped(&self, rank: usize) -> Result<bool> {
        self.ni.check_rank(rank)?;
        Ok(self.ni.is_near(rank))
    }

    /// How many frames this rank has refused that came from the network: not of this job, forged, damaged or repeated. A network that
    /// doubles frames makes some.
    pub fn refused_frames(&self) -> u64 {
        self.ni.far.as_ref().map_or(0, |far| far.refused())
    }

    /// How many hosts the ranks of the job are on.
    pub fn host_count(&self) -> usize {
        self.ni.routes.host_count()
    }

    /// The host of `rank`, counted from 0. Ranks of one host have each other's memory mapped.
    pub fn host_of(&self, rank: usize) -> Result<usize> {
        self.ni.check_rank(rank)?;
        Ok(self.ni.routes.to(rank).host as usize)
    }

    /// Whether this rank runs in virtual time ([`crate::sim`]). It then has one thread and no descriptors, and
    /// [`Port::now`] is its clock.
    pub fn is_simulated(&self) -> bool {
        self.ni.environment.is_some()
    }

    /// The time of this rank: that of the machine, or the virtual time of a simulated one.
    ///
    /// ```
    /// # use hikyaku::sim::{Machine, Sim};
    /// use std::time::Duration;
    ///
    /// Sim::new(Machine::plain(), 1, 1).run(|job| {
    ///     let word = job.symmetric::<u64>(1)?;
    ///     let begin = job.now();
    ///     let hour = Duration::from_secs(3600);
    ///     let event = hikyaku::Event::Word(word.here(0), hikyaku::Until::Equal(1));
    ///     assert!(job.wait_any(hikyaku::By::Anyone, &[event], Some(hour)).is_err());
    ///     assert!(job.now() - begin >= hour);
    ///     hikyaku::Result::Ok(())
    /// })?;
    /// # hikyaku::Result::Ok(())
    /// ```
    pub fn now(&self) -> Instant {
        self.ni.look();
        self.ni.now()
    }

    /// Whether rank's private (registered) memory is reached by a system call from here; otherwise it is reached
    /// through its network interface. Ranks that are threads need neither.
    pub fn reaches_private_memory(&self, rank: usize) -> Result<bool> {
        self.ni.check_rank(rank)?;
        Ok(self.ni.is_near(rank) && (self.ni.threads || rank == self.ni.rank || self.ni.crosses_to(rank)))
    }

    /// Whether `rank` is alive and has not left.
    pub fn is_present(&self, rank: usize) -> Result<bool> {
        self.ni.check_rank(rank)?;
        self.ni.look();
        self.ni.failure.raise();
        Ok(!self.ni.state_of(rank).is_over())
    }

    /// Runs the handlers of messages that have arrived, and moves on what this thread has under way; true if there was
    /// anything to do. Waiting calls do so by themselves.
    pub fn progress(&self) -> bool {
        self.ni.look();
        let handled = self.ni.progress() == Some(true);
        self.ni.failure.raise();
        // A handler must not wait, and a forked child has nothing under way.
        let moved =
            refuse_in_handler().is_ok() && self.ni.check_rank(self.ni.rank).is_ok() && background::advance(true);
        handled || moved
    }

    /// Counts a remote operation and now and then looks for messages, so that a rank that only pushes answers too.
    #[inline(always)]
    pub(crate) fn tick(&self) {
        let ops = self.idle_ops.get() + 1;
        self.idle_ops.set(ops);
        if ops >= IDLE_OPS_MAX {
            self.look();
        }
    }

    /// Out of line, so that the operations stay short.
    #[cold]
    #[inline(never)]
    fn look(&self) {
        self.idle_ops.set(0);
        // Simulated ranks that share memory see no end of each other's loops unless time goes on in them.
        if self.ni.environment.is_some() && self.ni.routes.near().len() > 1 {
            self.ni.look();
        }
        self.ni.progress();
        self.ni.failure.raise();
    }

    /// The mark for operations on areas of `rank`: its owner waits for it, and trusts that of its own threads to nobody.
    #[inline]
    pub(crate) fn guard_at(&self, rank: usize) -> &Guard {
        if rank == self.ni.rank { self.ni.own_areas.guard(self.index) } else { &self.ni.mine().guards[self.index] }
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        // The positions in the rings stay with the index: whoever opens the port next goes on from there.
        self.ni.lanes[self.index].lock().unwrap_or_else(|p| p.into_inner()).replace(self.lane.take());
        self.ni.give_port(self.index);
    }
}

/// What one port sends through: rings to ranks of this host, the transport to others.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    port: usize,
    /// Per rank of this host; empty until the first message.
    to: Vec<Option<Box<Producer>>>,
    /// What goes into a ring is private first: others may be writing it.
    scratch: Vec<u8>,
}

impl Lane {
    pub fn new(ni: &Ni, port: usize) -> Lane {
        let kept = ni.lanes[port].lock().unwrap_or_else(|p| p.into_inner()).take();
        kept.unwrap_or_else(|| Lane::fresh(port))
    }

    pub fn fresh(port: usize) -> Lane {
        Lane { port, to: Vec::new(), scratch: Vec::new() }
    }

    /// Puts a message into the ring to `rank`, which exists; false when the ring is full.
    #[inline]
    pub fn try_send(&mut self, ni: &Ni, rank: usize, packet: &Packet, payload: &[u8]) -> Result<bool> {
        let (local, source) = (ni.local_of(rank), ni.memory.source(ni.local, self.port));
        let producer = match self.to.get_mut(local.0 as usize) {
            Some(Some(producer)) => producer,
            _ if !ni.is_near(rank) => return Ok(!ni.holds_back(rank) && ni.post(rank, packet, payload)?),
            _ => self.attach(ni, local)?,
        };
        debug_assert!(payload.len() <= PAYLOAD_MAX);
        let sent = producer.try_send(ni.memory.ring(local, source), packet, payload);
        if sent {
            ni.notify(rank, crate::sync::bell::ANY);
        }
        Ok(sent)
    }
}

impl Lane {
    /// Sends a packet of the library to `rank`, which exists, with bytes that others may be writing; false while there is no room.
    ///
    /// # Safety
    /// They can be read.
    pub unsafe fn try_send_body(&mut self, ni: &Ni, rank: usize, packet: &Packet, body: Body) -> Result<bool> {
        if !ni.is_near(rank) {
            if ni.holds_back(rank) {
                return Ok(false);
            }
            // SAFETY: the caller's promise.
            return unsafe { ni.post_body(rank, packet, body) };
        }
        if body.is_empty() {
            return self.try_send(ni, rank, packet, &[]);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.resize(body.len(), 0);
        // SAFETY: the caller's promise.
        unsafe { body.copy(0, &mut scratch) };
        let sent = self.try_send(ni, rank, packet, &scratch);
        self.scratch = scratch;
        sent
    }
}

impl Ni {
    /// Gives a packet for a far rank to the transport; false while there is no room.
    pub(crate) fn post(&self, rank: usize, packet: &Packet, payload: &[u8]) -> Result<bool> {
        // SAFETY: a live slice.
        unsafe { self.post_body(rank, packet, Body::of(payload)) }
    }

    /// Gives a packet for a far rank to the transport, with data; false while there is no room.
    pub(crate) fn post_data(&self, rank: usize, packet: &Packet, data: Data<'_>) -> Result<bool> {
        // SAFETY: data can be read, and is copied.
        unsafe { self.post_body(rank, packet, data.body(&[])) }
    }

    /// Gives a packet for a far rank to the transport, with bytes that others may be writing; false while there is no room.
    ///
    /// # Safety
    /// They can be read.
    pub(crate) unsafe fn post_body(&self, rank: usize, packet: &Packet, body: Body) -> Result<bool> {
        if packet.is_message() && !self.credits.get(rank).is_some_and(Credit::take) {
            return Ok(false);
        }
        let posted = match &self.far {
            // SAFETY: the caller's promise; without a token it is copied.
            Some(far) => Ok(unsafe { far.post(rank, packet, body, None) }? == Posted::Done),
            // A forked child, where nobody is near.
            None => Err(Error::ForkedChild),
        };
        if packet.is_message() && !matches!(posted, Ok(true)) {
            self.credits[rank].give();
        }
        posted
    }
}

impl Lane {
    /// First message to a rank: takes memory for the ring and tells the receiver to look at it.
    #[cold]
    fn attach(&mut self, ni: &Ni, to: Local) -> Result<&mut Producer> {
        let source = ni.memory.source(ni.local, self.port);
        let ring = ni.memory.ring(to, source);
        let offset = ring as *const _ as usize - ni.memory.segment.base() as usize;
        ni.memory.segment.commit(offset, size_of_val(ring))?;
        ni.memory.attached(to, source / 64).fetch_or(1 << (source % 64), std::sync::atomic::Ordering::SeqCst);
        if self.to.is_empty() {
            self.to.resize_with(ni.memory.layout.count, || None);
        }
        Ok(self.to[to.0 as usize].insert(Box::default()))
    }
}
