//! Active messages: sending them, and calling a handler for its reply.

use super::port::Port;
use crate::error::{Error, Result};
use crate::ni::receive::dispatch::{Context, Message};
use crate::ni::state::inside::refuse_in_handler;
use crate::ni::wire::message::{Arguments, HANDLER_COUNT};
use crate::transport::packet::kind;
use crate::transport::shm::ring::Packet;

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
        self.initiator.ni.check_rank(self.initiator.ni.rank)?;
        let registered = self.initiator.ni.engine().register(id, Box::new(handler));
        // The engine is free again: what a refused handler owns is dropped now.
        registered.map_err(|_| Error::HandlerTaken { id, max: HANDLER_COUNT })
    }

    /// Removes a handler; messages for it are refused from now on.
    pub fn unregister_handler(&self, id: u16) -> Result<()> {
        refuse_in_handler()?;
        let removed = self.initiator.ni.engine().unregister(id);
        // The engine is free again: what the handler owns is dropped now.
        removed.map(drop).ok_or(Error::UnknownHandler { id })
    }

    /// Sends an active message: handler `handler` of `rank` runs with an address, six words and a payload of up to
    /// [`crate::PAYLOAD_MAX`] bytes. Waits while the rank does not keep up. That the handler has run is known after [`Port::sync`] or
    /// a barrier; a rank that leaves with messages unhandled says so on standard error.
    #[inline]
    pub fn send(&self, rank: usize, handler: u16, address: u64, arguments: Arguments, payload: &[u8]) -> Result<()> {
        let packet = Packet { handler, kind: kind::USER, payload_bytes: payload.len() as u16, address, arguments };
        self.initiator.note_messaged(true);
        self.initiator.submit(rank, &packet, payload)
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
        self.initiator.note_messaged(true);
        self.initiator.try_submit(rank, &packet, payload)
    }

    /// Runs handler `handler` of `rank` and waits for what it replies with [`Context::reply`] (six
    /// zeros if it does not).
    pub fn call(&self, rank: usize, handler: u16, arguments: Arguments, payload: &[u8]) -> Result<Arguments> {
        refuse_in_handler()?;
        let by = &self.initiator;
        let _calling = by.begin_call(rank)?;
        let slot = &by.ni.calls[by.index];
        let token = slot.open(by.index);
        let packet =
            Packet { handler, kind: kind::CALL, payload_bytes: payload.len() as u16, address: token, arguments };
        by.submit(rank, &packet, payload)?;
        by.await_answer(rank, token)?;
        Ok(slot.words())
    }
}
