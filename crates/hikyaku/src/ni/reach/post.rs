//! Sending packets now, or not at all: through the ring to a near rank, through the transport to a far one.

use crate::error::{Error, Result};
use crate::ni::base::Base;
use crate::ni::state::credit::Credit;
use crate::ni::state::lane::Lane;
use crate::ni::state::loan::Loans;
use crate::ni::wire::operation::{Data, Operation};
use crate::ni::wire::tail::Room;
use crate::ni::wire::target::Target;
use crate::ni::wire::token;
use crate::sync::bell::ANY;
use crate::transport::TAIL_BYTES_MAX;
use crate::transport::core::{Body, Posted, Token};
use crate::transport::shm::layout::Local;
use crate::transport::shm::ring::{PAYLOAD_MAX, Packet, Producer};
use std::sync::atomic::Ordering;

impl Lane {
    /// Puts a message into the ring to `rank`, which exists; false when the ring is full.
    #[inline]
    pub fn try_send(&mut self, ni: &Base, rank: usize, packet: &Packet, payload: &[u8]) -> Result<bool> {
        let (local, source) = (ni.local_of(rank), ni.memory.source(ni.local, self.port));
        let producer = match self.to.get_mut(local.0 as usize) {
            Some(Some(producer)) => producer,
            _ if !ni.is_near(rank) => return Ok(!ni.holds_back(rank) && ni.post(rank, packet, payload)?),
            _ => self.attach(ni, local)?,
        };
        debug_assert!(payload.len() <= PAYLOAD_MAX);
        let sent = producer.try_send(ni.memory.ring(local, source), packet, payload);
        if sent {
            ni.notify(rank, ANY);
        }
        Ok(sent)
    }

    /// Sends an operation to its rank, which exists, to be answered to `token`; false while there is no room.
    pub fn try_operation(&mut self, ni: &Base, operation: &Operation<'_>, token: u64) -> Result<bool> {
        let rank = operation.at.rank;
        if !ni.is_near(rank) {
            return Ok(!ni.holds_back(rank) && ni.post_operation(operation, token)?);
        }
        let mut room = Room::new();
        let (packet, body) = operation.encode(token, &mut room);
        if body.is_empty() {
            return self.try_send(ni, rank, &packet, &[]);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.resize(body.len(), 0);
        // SAFETY: the operation's bytes can be read.
        unsafe { body.copy(0, &mut scratch) };
        let sent = self.try_send(ni, rank, &packet, &scratch);
        self.scratch = scratch;
        sent
    }

    /// First message to a rank: takes memory for the ring and tells the receiver to look at it.
    #[cold]
    fn attach(&mut self, ni: &Base, to: Local) -> Result<&mut Producer> {
        let source = ni.memory.source(ni.local, self.port);
        let ring = ni.memory.ring(to, source);
        let offset = ring as *const _ as usize - ni.memory.segment.base() as usize;
        ni.memory.commit(offset, size_of_val(ring))?;
        ni.memory.attached(to, source / 64).fetch_or(1 << (source % 64), Ordering::SeqCst);
        Ok(self.enter(to, ni.memory.layout.count))
    }
}

impl Base {
    /// Tells the service thread that a thread of the program sees to the transport.
    pub(crate) fn note_poll(&self) {
        // Lost counts do no harm: that it changes is what matters.
        self.polls.store(self.polls.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

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

    /// Gives an operation on memory of a far rank to the transport, to be answered to `token`; false while there is no room.
    pub(crate) fn post_operation(&self, operation: &Operation<'_>, token: u64) -> Result<bool> {
        let mut room = Room::new();
        let (packet, body) = operation.encode(token, &mut room);
        // SAFETY: the operation's bytes can be read; without a token they are copied.
        unsafe { self.post_body(operation.at.rank, &packet, body) }
    }

    /// A push of what fits a packet, whose bytes the transport may read until this loan is over; false while there is no room.
    ///
    /// # Safety
    /// They stay as they are until then, or until the loan is closed.
    pub(crate) unsafe fn try_push_lent(&self, to: Target, data: &[u8], loan: Token) -> Result<bool> {
        self.check_rank(to.rank)?;
        let Some(far) = self.far.as_ref().filter(|_| !self.is_near(to.rank)) else { return self.try_push(to, data) };
        if self.holds_back(to.rank) {
            return Ok(false);
        }
        // It needs no room, which would not stay.
        let (packet, body) = Operation::push(to, data).encode(token::QUIET, &mut Room::new());
        // Who lends waits until the bytes are back, so it looks at the transport soon: the service thread need not.
        self.note_poll();
        self.loans.begin(loan);
        // SAFETY: the caller's promise.
        let posted = unsafe { far.post(to.rank, &packet, body, Some(loan)) };
        if !matches!(posted, Ok(Posted::Posted)) {
            self.loans.end(loan);
        }
        Ok(posted? != Posted::Busy)
    }

    /// Whether bodies of the longest packets to `rank` are worth a loan.
    pub(crate) fn lends_to(&self, rank: usize) -> bool {
        !self.is_near(rank)
            && self.far.as_ref().is_some_and(|far| far.capabilities().lent_min <= self.payload_max(rank))
    }

    /// The transport has let go of a body; false if it is none of a loan.
    pub(crate) fn end_loan(&self, token: Token) -> bool {
        if Loans::is_loan(token) && self.loans.end(token) {
            self.notify(self.rank, ANY);
        }
        Loans::is_loan(token)
    }

    /// Gives a packet for a far rank to the transport, with bytes that others may be writing; false while there is no room.
    ///
    /// # Safety
    /// They can be read.
    unsafe fn post_body(&self, rank: usize, packet: &Packet, body: Body) -> Result<bool> {
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

    /// Whether packets to a rank must wait, because they would pass what was put there before.
    #[inline]
    pub(crate) fn holds_back(&self, rank: usize) -> bool {
        self.direct.as_ref().is_some_and(|direct| direct.holds_back(rank))
    }

    /// Payload bytes of one packet to or from `rank`.
    pub(crate) fn payload_max(&self, rank: usize) -> usize {
        match &self.far {
            Some(far) if !self.is_near(rank) => far.capabilities().payload_max - TAIL_BYTES_MAX,
            _ => PAYLOAD_MAX - TAIL_BYTES_MAX,
        }
    }
}
