//! Receiving active messages: handlers run one at a time, whichever thread of the rank finds the messages.

use super::credit::Debts;
use super::failure::Panic;
use super::intake::Kept;
use super::message::{Arguments, HANDLER_COUNT, InHandler, check_content};
use super::outbox::{Outbox, SPILL_MAX, answer, refuse};
use super::port::Lane;
use super::remote::{Data, serve, token};
use super::{NI_PORT, Ni};
use crate::error::{Refusal, Result};
use crate::sync::bell::ANY;
use crate::transport::packet::kind;
use crate::transport::shm::layout::Layout;
use crate::transport::shm::ring::{Consumer, LINE_COUNT, PAYLOAD_MAX, Packet};
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
    ni: &'a Ni,
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

    /// Sends a further message, without waiting: [`crate::Error::Busy`] if that rank is far behind. The handler then drops
    /// what it wanted to say, or asks to be run again by [`Context::retry_later`].
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
            Some(token) => answer(self.ni, self.outbox, self.source, token, arguments, Data::EMPTY),
            None => Ok(()),
        }
    }

    /// Asks to be run again with the same message later. Messages of the same sender wait behind it.
    pub fn retry_later(&mut self) {
        self.retry = true;
    }
}

/// The receiving side of one rank.
pub(crate) struct Engine {
    /// Rings in use.
    sources: Vec<Source>,
    source_count: usize,
    ports: usize,
    handlers: Vec<Option<Handler>>,
    outbox: Outbox,
    scratch: Box<[u8]>,
    /// Messages of far ranks that must wait, in the order they came.
    put_off: Vec<Kept>,
    /// What far ranks are to be told of their messages.
    debts: Debts,
}

struct Source {
    /// rank * ports + port.
    index: usize,
    rank: usize,
    /// Its number at the lookout.
    number: usize,
    consumer: Consumer,
    /// The sender wrote nonsense; its ring is no longer read.
    corrupt: bool,
}

/// What came of a message. It is used up unless it is kept for later.
pub(crate) enum Done {
    Now,
    Later,
    /// Its handler panicked with this.
    Panicked(Panic),
}

/// Messages of one source handled before the next source gets its turn.
const BATCH: usize = 64;
/// Passes after which everything that lay in a ring has been handled.
pub(crate) const PASSES_MAX: usize = LINE_COUNT / BATCH + 1;

impl Engine {
    pub fn new(layout: &Layout) -> Engine {
        Engine {
            sources: Vec::new(),
            source_count: layout.count * layout.ports,
            ports: layout.ports,
            handlers: (0..HANDLER_COUNT).map(|_| None).collect(),
            outbox: Outbox::new(Some(Lane::fresh(NI_PORT))),
            scratch: vec![0; PAYLOAD_MAX].into_boxed_slice(),
            put_off: Vec::new(),
            debts: Debts::default(),
        }
    }

    /// Registers a handler; gives it back if its id is taken or beyond the table. What it owns must not be dropped while the
    /// engine is locked: it is the program's, and may call the library.
    pub fn register(&mut self, id: u16, handler: Handler) -> std::result::Result<(), Handler> {
        match self.handlers.get_mut(id as usize) {
            Some(free @ None) => *free = Some(handler),
            _ => return Err(handler),
        }
        Ok(())
    }

    /// Removes a handler, to be dropped when the engine is free again.
    pub fn unregister(&mut self, id: u16) -> Option<Handler> {
        self.handlers.get_mut(id as usize)?.take()
    }

    /// Handles what has arrived, up to the first handler that panics; whether there was anything to do, and that panic.
    #[inline]
    pub fn run(&mut self, ni: &Ni) -> (bool, Option<Panic>) {
        let mut worked = self.outbox.is_waiting() && self.outbox.flush(ni);
        if ni.far.is_some() {
            let (handled, panic) = self.run_far(ni);
            worked |= handled;
            if panic.is_some() {
                return (worked, panic);
            }
        }
        self.find_sources(ni);
        let Engine { sources, handlers, outbox, scratch, .. } = self;
        for source in sources.iter_mut().filter(|s| !s.corrupt) {
            let (handled, panic) = source.run(ni, handlers, outbox, scratch);
            worked |= handled;
            if panic.is_some() {
                return (worked, panic);
            }
        }
        (worked, None)
    }

    /// Tells everybody what is done, before this rank leaves.
    pub fn answer_unasked(&mut self, ni: &Ni) {
        self.outbox.answer_unasked(ni);
    }

    /// Runs the handler of a message of a far rank, or puts it off; the panic of the handler, if there is one.
    pub fn take(&mut self, ni: &Ni, message: Kept) -> Option<Panic> {
        let must_wait = self.put_off.iter().any(|earlier| message.waits_behind(earlier));
        match if must_wait { Done::Later } else { self.perform(ni, &message) } {
            Done::Now => None,
            Done::Panicked(panic) => Some(panic),
            Done::Later => {
                self.put_off.push(message);
                ni.lookout.note_put_off(self.put_off.len());
                None
            }
        }
    }

    /// Runs the handlers of what far ranks have sent, and of what was put off, up to the first that panics; whether there was
    /// anything, which counts as work: nobody may sleep on it.
    fn run_far(&mut self, ni: &Ni) -> (bool, Option<Panic>) {
        let (waiting, mut panicked) = (std::mem::take(&mut self.put_off), None);
        let messages = waiting.into_iter().chain(ni.intake.take_messages());
        let mut worked = false;
        for message in messages {
            worked = true;
            match panicked {
                None => panicked = self.take(ni, message),
                Some(_) => self.put_off.push(message),
            }
        }
        ni.lookout.note_put_off(self.put_off.len());
        if self.debts.are_due() {
            self.debts.pay(|rank, handled| {
                let credit = Packet { kind: kind::CREDIT, address: handled, ..Packet::default() };
                // One that cannot be reached needs none.
                ni.post(rank, &credit, &[]).unwrap_or(true)
            });
        }
        (worked, panicked)
    }

    fn perform(&mut self, ni: &Ni, message: &Kept) -> Done {
        let Kept { source, packet, payload } = message;
        let done = dispatch(ni, *source, packet, payload, &mut self.handlers, &mut self.outbox);
        if !matches!(done, Done::Later) {
            self.debts.add(*source);
        }
        done
    }

    #[inline]
    fn find_sources(&mut self, ni: &Ni) {
        for word in 0..ni.memory.attached_words() {
            let attached = ni.memory.attached(ni.local, word).load(Ordering::Acquire);
            if !ni.lookout.knows(word, attached) {
                self.add_sources(ni, word, attached);
            }
        }
    }

    #[cold]
    fn add_sources(&mut self, ni: &Ni, word: usize, attached: u64) {
        let mut fresh = ni.lookout.note_attached(word, attached);
        while fresh != 0 {
            let index = word * 64 + fresh.trailing_zeros() as usize;
            fresh &= fresh - 1;
            // Bits past the last source are nonsense from a peer.
            if index < self.source_count {
                let number = ni.lookout.note_ring(index);
                let rank = ni.routes.near()[index / self.ports];
                self.sources.push(Source { index, rank, number, consumer: Consumer::default(), corrupt: false });
            }
        }
        // A thread that looked meanwhile may have seen the bit noted and the ring not.
        ni.notify(ni.rank, ANY);
    }
}

impl Source {
    fn run(
        &mut self,
        ni: &Ni,
        handlers: &mut [Option<Handler>],
        outbox: &mut Outbox,
        scratch: &mut [u8],
    ) -> (bool, Option<Panic>) {
        let ring = ni.memory.ring(ni.local, self.index);
        let mut worked = false;
        for _ in 0..BATCH {
            let packet = match self.consumer.peek(ring) {
                Ok(Some(packet)) => packet,
                Ok(None) => break,
                Err(_) => {
                    self.corrupt = true;
                    ni.lookout.close(self.number);
                    ni.misbehaved.store(self.rank as u64 + 1, Ordering::Relaxed);
                    break;
                }
            };
            let payload = &mut scratch[..packet.payload_bytes as usize];
            if !payload.is_empty() {
                self.consumer.payload(ring, payload);
            }
            // A message kept for later counts as work: nobody may sleep on it.
            worked = true;
            let done = dispatch(ni, self.rank, &packet, payload, handlers, outbox);
            if matches!(done, Done::Later) {
                break;
            }
            if self.consumer.advance(ring, &packet) {
                ni.notify(self.rank, ANY);
            }
            ni.lookout.note_consumed(self.number, self.consumer.consumed());
            if let Done::Panicked(panic) = done {
                return (worked, Some(panic));
            }
        }
        (worked, None)
    }
}

/// Runs what a packet asks for.
#[inline]
pub(crate) fn dispatch(
    ni: &Ni,
    source: usize,
    packet: &Packet,
    payload: &[u8],
    handlers: &mut [Option<Handler>],
    outbox: &mut Outbox,
) -> Done {
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
            token::take_answer(ni, source, packet, payload);
            Done::Now
        }
        kind::REFUSED => {
            token::take_refusal(ni, source, packet);
            Done::Now
        }
        kind::CREDIT => {
            if let Some(credit) = ni.credits.get(source) {
                credit.give_up_to(packet.address);
            }
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

#[cfg(all(test, not(loom)))]
mod tests;
