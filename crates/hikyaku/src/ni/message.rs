//! Active messages: sending them, and calling a handler for its reply.

use super::engine::{Context, Message};
use super::port::Port;
use super::wait::{By, Wait};
use crate::error::{Error, Refusal, Result};
use crate::transport::packet::kind;
use crate::transport::shm::ring::Packet;
pub use crate::transport::shm::ring::{ARGUMENT_COUNT, PAYLOAD_MAX};
use std::cell::Cell;

/// Handler ids a rank has.
pub const HANDLER_COUNT: u16 = 256;

/// The words of an active message.
pub type Arguments = [u64; ARGUMENT_COUNT];

impl Port {
    /// Registers a handler under `id` (0 to 255) on this rank. Register on all ranks, then [`crate::Job::barrier`], before
    /// anyone sends to it.
    ///
    /// A handler runs whenever a message arrives and this rank is inside a call of the library (or any time, with
    /// [`Port::start_ni_thread`]); handlers of a rank run one at a time. It may send messages and must not wait.
    ///
    /// # Panics
    /// A handler that panics has used its message up. The panic goes on through the call that ran the handler. Where that
    /// cannot be left by a panic (a destructor while the thread unwinds, a wait that must come to its end) or is none (the
    /// interface's thread), the next call of the rank that may raises it. A rank that goes on refuses the calls that such
    /// handlers have not answered ([`crate::Refusal::HandlerPanicked`]).
    pub fn register_handler(
        &self,
        id: u16,
        handler: impl FnMut(&mut Context<'_>, &Message<'_>) + Send + 'static,
    ) -> Result<()> {
        refuse_in_handler()?;
        self.ni.check_rank(self.ni.rank)?;
        let registered = self.ni.engine().register(id, Box::new(handler));
        // The engine is free again: what a refused handler owns is dropped now.
        registered.map_err(|_| Error::HandlerTaken { id, max: HANDLER_COUNT })
    }

    /// Removes a handler; messages for it are refused from now on.
    pub fn unregister_handler(&self, id: u16) -> Result<()> {
        refuse_in_handler()?;
        let removed = self.ni.engine().unregister(id);
        // The engine is free again: what the handler owns is dropped now.
        removed.map(drop).ok_or(Error::UnknownHandler { id })
    }

    /// Sends an active message: handler `handler` of `rank` runs with an address, six words and a payload of up to
    /// [`PAYLOAD_MAX`] bytes. Waits while the rank does not keep up.
    #[inline]
    pub fn send(&self, rank: usize, handler: u16, address: u64, arguments: Arguments, payload: &[u8]) -> Result<()> {
        let packet = Packet { handler, kind: kind::USER, payload_bytes: payload.len() as u16, address, arguments };
        self.submit(rank, &packet, payload)
    }

    /// Sends an active message, but gives [`Error::Busy`] at once when the rank does not keep up.
    pub fn try_send(
        &self,
        rank: usize,
        handler: u16,
        address: u64,
        arguments: Arguments,
        payload: &[u8],
    ) -> Result<()> {
        let packet = Packet { handler, kind: kind::USER, payload_bytes: payload.len() as u16, address, arguments };
        self.check_message(rank, &packet, payload)?;
        if self.lane.borrow_mut().try_send(&self.ni, rank, &packet, payload)? {
            return Ok(());
        }
        // Ranks that only try must still serve each other.
        self.ni.progress();
        Err(Error::Busy { rank })
    }

    /// Runs handler `handler` of `rank` and waits for what it replies with [`super::engine::Context::reply`] (six
    /// zeros if it does not).
    pub fn call(&self, rank: usize, handler: u16, arguments: Arguments, payload: &[u8]) -> Result<Arguments> {
        refuse_in_handler()?;
        let _calling = self.begin_call(rank)?;
        let slot = &self.ni.calls[self.index];
        let token = slot.open(self.index);
        let packet =
            Packet { handler, kind: kind::CALL, payload_bytes: payload.len() as u16, address: token, arguments };
        self.submit(rank, &packet, payload)?;
        self.await_answer(rank, token)?;
        Ok(slot.words())
    }

    /// Waits until no other call of this port is under way: what goes on in the background has some of its own.
    pub(super) fn begin_call(&self, rank: usize) -> Result<Calling<'_>> {
        if self.calls.get() {
            self.wait_until(Wait::on_rank(rank).always(), || (!self.calls.get()).then_some(()))?;
        }
        self.calls.set(true);
        Ok(Calling(&self.calls))
    }

    /// Waits for the answer to `token` from `rank`.
    pub(crate) fn await_answer(&self, rank: usize, token: u64) -> Result<()> {
        let slot = &self.ni.calls[self.index];
        match self.wait_until(Wait::on_rank(rank).always(), || slot.outcome(token))? {
            0 => Ok(()),
            code => Err(Error::Refused { rank, reason: Refusal::from_u64(code) }),
        }
    }

    /// Sends a packet, waiting for room.
    #[inline]
    pub(crate) fn submit(&self, rank: usize, packet: &Packet, payload: &[u8]) -> Result<()> {
        self.check_message(rank, packet, payload)?;
        if self.lane.borrow_mut().try_send(&self.ni, rank, packet, payload)? {
            self.tick();
            return Ok(());
        }
        self.submit_when_room(rank, packet, payload)
    }

    #[cold]
    fn submit_when_room(&self, rank: usize, packet: &Packet, payload: &[u8]) -> Result<()> {
        refuse_in_handler()?;
        let try_again = || {
            let sent = self.lane.borrow_mut().try_send(&self.ni, rank, packet, payload);
            match sent {
                Ok(true) => Some(Ok(())),
                Ok(false) => None,
                Err(error) => Some(Err(error)),
            }
        };
        self.wait_until(Wait::on_rank(rank).always(), try_again)?
    }

    #[inline(always)]
    fn check_message(&self, rank: usize, packet: &Packet, payload: &[u8]) -> Result<()> {
        self.ni.check_rank(rank)?;
        check_content(packet.handler, payload)?;
        self.check_peer(rank)
    }

    /// Fails for a rank that does not exist, and for one that has ended.
    #[inline(always)]
    pub(super) fn check_peer(&self, rank: usize) -> Result<()> {
        self.ni.check_rank(rank)?;
        if self.ni.departures() != 0 {
            self.ni.failure.raise();
            self.ni.check_departed(By::Rank(rank))?;
        }
        Ok(())
    }
}

/// A port's call is under way until this is dropped.
pub(super) struct Calling<'p>(&'p Cell<bool>);

impl Drop for Calling<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

/// Fails for what no message can carry.
#[inline(always)]
pub(super) fn check_content(handler: u16, payload: &[u8]) -> Result<()> {
    if payload.len() > PAYLOAD_MAX {
        return Err(Error::PayloadTooLong { bytes: payload.len(), max: PAYLOAD_MAX });
    }
    if handler >= HANDLER_COUNT {
        return Err(Error::HandlerTaken { id: handler, max: HANDLER_COUNT });
    }
    Ok(())
}

thread_local! {
    /// How many handlers run on this thread, one inside the other, and how often [`FUNCTION`] functions that combine.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// What a function counts in `INSIDE`.
const FUNCTION: u32 = 1 << 16;

/// Fails inside a handler or a function that combines, where nothing may wait: both run in the middle of another call.
#[inline]
pub(crate) fn refuse_in_handler() -> Result<()> {
    if INSIDE.get() == 0 { Ok(()) } else { Err(why_refused()) }
}

#[cold]
fn why_refused() -> Error {
    if INSIDE.get() < FUNCTION { Error::InHandler } else { Error::InFunction }
}

/// Marks this thread as running a handler until dropped. One may run inside another: that of another job, which a handler
/// moves on.
pub(crate) struct InHandler;

impl InHandler {
    pub fn enter() -> InHandler {
        INSIDE.set(INSIDE.get() + 1);
        InHandler
    }
}

impl Drop for InHandler {
    fn drop(&mut self) {
        INSIDE.set(INSIDE.get() - 1);
    }
}

/// Marks this thread as running a function of the program, in the middle of a call that needs it, until dropped.
pub(crate) struct InFunction;

impl InFunction {
    #[inline(always)]
    pub fn enter() -> InFunction {
        INSIDE.set(INSIDE.get() + FUNCTION);
        InFunction
    }
}

impl Drop for InFunction {
    #[inline(always)]
    fn drop(&mut self) {
        INSIDE.set(INSIDE.get() - FUNCTION);
    }
}
