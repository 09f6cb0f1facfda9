//! What a packet asks for: a handler of the program, or something that the interface does by itself.

use super::outbox::{Outbox, SPILL_MAX, answer as reply_to, answer_bytes as reply_bytes, refuse};
use super::{answer, relay, serve};
use crate::error::{Refusal, Result};
use crate::ni::base::Base;
use crate::ni::state::failure::Panic;
use crate::ni::state::inside::InHandler;
use crate::ni::wire::message::{Arguments, LibraryHandler, check_content};
use crate::ni::wire::operation::Data;
use crate::ni::wire::token;
use crate::transport::packet::kind;
use crate::transport::shm::ring::Packet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

/// A handler: what runs when an active message arrives.
pub(crate) type Handler = Box<dyn FnMut(&mut Context<'_>, &Message<'_>) + Send>;

/// A message as its handler sees it.
#[derive(Debug)]
pub struct Message<'a> {
    /// The rank that sent it.
    pub source: usize,
    /// The address word.
    pub address: u64,
    /// The six argument words.
    pub arguments: Arguments,
    /// The payload, in private memory.
    pub payload: &'a [u8],
}

/// What a handler may do.
pub struct Context<'a> {
    ni: &'a Base,
    outbox: &'a mut Outbox,
    source: usize,
    /// The token of the call, while it is not answered.
    call: Option<u64>,
    retry: bool,
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("rank", &self.ni.rank).field("source", &self.source).finish_non_exhaustive()
    }
}

impl Context<'_> {
    /// The rank this handler runs on.
    pub fn rank(&self) -> usize {
        self.ni.rank
    }

    /// Sends another message, without waiting. It fails with [`crate::Error::Busy`] if that rank does not keep up; the handler can then
    /// ask to be run again later, by [`Context::retry_later`].
    pub fn send(
        &mut self,
        rank: usize,
        handler: u16,
        address: u64,
        arguments: Arguments,
        payload: &[u8],
    ) -> Result<()> {
        self.ni.check_rank(rank)?;
        check_content(handler, payload)?;
        let packet = Packet { handler, kind: kind::USER, payload_bytes: payload.len() as u16, address, arguments };
        self.outbox.send(self.ni, rank, packet, payload, SPILL_MAX)
    }

    /// Answers [`crate::Port::call`]; does nothing for a message that is not a call, or the second time.
    pub fn reply(&mut self, arguments: Arguments) -> Result<()> {
        match self.call.take() {
            Some(token) => reply_to(self.ni, self.outbox, self.source, token, arguments, Data::EMPTY),
            None => Ok(()),
        }
    }

    /// Answers [`crate::Port::call_with`] by words and at most [`crate::PAYLOAD_MAX`] bytes. [`crate::Port::call`] gets the words
    /// alone. Does nothing for a message that is not a call, or the second time.
    ///
    /// ```
    /// # hikyaku::local(1, |job| {
    /// job.register_handler(1, |context, message| {
    ///     let mut text = message.payload.to_vec();
    ///     text.make_ascii_uppercase();
    ///     let _ = context.reply_with([0; 6], &text);
    /// })?;
    /// let mut reply = [0; 5];
    /// job.call_with(0, 1, [0; 6], b"quiet", &mut reply)?;
    /// assert_eq!(&reply, b"QUIET");
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn reply_with(&mut self, arguments: Arguments, payload: &[u8]) -> Result<()> {
        // A reply that cannot be leaves the call unanswered: the handler may make a shorter one.
        check_content(0, payload)?;
        match self.call.take() {
            Some(token) => reply_bytes(self.ni, self.outbox, self.source, token, arguments, payload),
            None => Ok(()),
        }
    }

    /// Sends a message to a handler of a layer above, without waiting; [`crate::Error::Busy`] if that rank does not keep up.
    pub(crate) fn tell(
        &mut self,
        rank: usize,
        handler: LibraryHandler,
        address: u64,
        arguments: Arguments,
    ) -> Result<()> {
        let packet = Packet { handler: handler.id(), kind: kind::USER, payload_bytes: 0, address, arguments };
        self.outbox.send(self.ni, rank, packet, &[], SPILL_MAX)
    }

    /// Asks to be run again with the same message later. Messages of the same sender wait behind it, and so does that sender in
    /// [`crate::Port::sync`] and in barriers.
    pub fn retry_later(&mut self) {
        self.retry = true;
    }
}

/// What came of a message. It is used up unless it is kept for later.
pub(super) enum Done {
    Now,
    Later,
    /// Its sender is to be told that everything before it was handled.
    Asked,
    /// Its handler panicked with this.
    Panicked(Panic),
}

/// Runs what a packet asks for.
#[inline]
pub(super) fn dispatch(
    ni: &Base,
    source: usize,
    packet: &Packet,
    payload: &[u8],
    handlers: &mut [Option<Handler>],
    outbox: &mut Outbox,
) -> Done {
    if relay::must_wait(ni, outbox, packet, payload) {
        return Done::Later;
    }
    let is_answered = packet.kind == kind::CALL || packet.kind == kind::ROUTED && token::is_answered(packet.address);
    if is_answered && !outbox.takes_answer(source) {
        // Kept as it is: what was done without being answered would be done again.
        return Done::Later;
    }
    match packet.kind {
        kind::USER | kind::CALL => {
            let call = (packet.kind == kind::CALL).then_some(packet.address);
            let Some(Some(handler)) = handlers.get_mut(packet.handler as usize) else {
                refuse(ni, outbox, source, packet, Refusal::UnknownHandler);
                return Done::Now;
            };
            let mut context = Context { ni, outbox, source, call, retry: false };
            let message = Message { source, address: packet.address, arguments: packet.arguments, payload };
            let run = || {
                let _mark = InHandler::enter();
                handler(&mut context, &message);
            };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
                let is_owed = context.call.is_some();
                if is_owed {
                    outbox.owe(ni, source, packet);
                }
                return Done::Panicked(panic);
            }
            if context.retry {
                return Done::Later;
            }
            if context.call.is_some() {
                // There is room for it: that was asked before.
                let _ = context.reply([0; 6]);
            }
            // Only the engine writes, so a load and a store make the increment.
            let handled = &ni.handled[packet.handler as usize];
            handled.store(handled.load(Ordering::Relaxed) + 1, Ordering::Release);
            Done::Now
        }
        kind::ANSWER => {
            answer::take_answer(ni, outbox, source, packet, payload);
            Done::Now
        }
        kind::REFUSED => {
            answer::take_refusal(ni, outbox, source, packet);
            Done::Now
        }
        kind::ASK => Done::Asked,
        kind::CREDIT => {
            if let Some(credit) = ni.credits.get(source) {
                credit.give_up_to(packet.address);
            }
            Done::Now
        }
        kind::NEWS => {
            ni.hear_of_end(source, packet);
            Done::Now
        }
        kind::ROUTED => {
            serve::serve(ni, outbox, source, packet, payload);
            Done::Now
        }
        // A newer peer's message; formats are compared at start, so this is a peer's garbage.
        _ => Done::Now,
    }
}
