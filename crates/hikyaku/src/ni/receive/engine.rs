//! Receiving active messages: handlers run one at a time, whichever thread of the rank finds the messages.

use super::backlog::{Kept, Spare};
use super::dispatch::{Done, Handler, dispatch};
use super::intake::Intake;
use super::outbox::Outbox;
use super::unhandled::Unhandled;
use crate::ni::base::{Base, NI_PORT};
use crate::ni::state::credit::Debts;
use crate::ni::state::failure::Panic;
use crate::ni::state::lane::Lane;
use crate::ni::wire::message::{HANDLER_COUNT, LIBRARY_HANDLERS};
use crate::sync::bell::ANY;
use crate::transport::packet::{AWAITED, kind};
use crate::transport::shm::layout::Layout;
use crate::transport::shm::ring::{Consumer, LINE_COUNT, PAYLOAD_MAX, Packet};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

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
    /// Those that are handled now, and memory of those before.
    batch: VecDeque<Kept>,
    spare: Spare,
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
            handlers: (0..HANDLER_COUNT + LIBRARY_HANDLERS).map(|_| None).collect(),
            outbox: Outbox::new(Some(Lane::fresh(NI_PORT))),
            scratch: vec![0; PAYLOAD_MAX].into_boxed_slice(),
            put_off: Vec::new(),
            batch: VecDeque::new(),
            spare: Spare::default(),
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
    pub fn run(&mut self, ni: &Base, intake: &Intake) -> (bool, Option<Panic>) {
        if ni.lookout.has_left() {
            self.outbox.release_left(ni);
        }
        let mut worked = self.outbox.is_waiting() && self.outbox.flush(ni);
        if ni.far.is_some() {
            let (handled, panic) = self.run_far(ni, intake);
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

    /// Tells everybody what is done, before this rank leaves; gives how many messages of which far ranks were handled that these
    /// do not know of.
    pub fn answer_unasked(&mut self, ni: &Base) -> Vec<(usize, u64)> {
        self.outbox.answer_unasked(ni);
        for source in self.sources.iter_mut().filter(|source| !source.corrupt) {
            source.consumer.give_back(ni.memory.ring(ni.local, source.index));
        }
        self.debts.take_untold()
    }

    /// Messages that have come and for which no handler has run.
    pub fn count_unhandled(&mut self, ni: &Base, unhandled: &mut Unhandled) {
        self.find_sources(ni);
        for source in self.sources.iter().filter(|source| !source.corrupt) {
            let unread = source.consumer.unread(ni.memory.ring(ni.local, source.index));
            unread.iter().for_each(|packet| unhandled.add(source.rank, packet));
        }
        self.put_off.iter().for_each(|kept| unhandled.add(kept.source, &kept.packet));
    }

    /// Runs the handler of a message of a far rank, or puts it off; the panic of the handler, if there is one.
    pub fn take(&mut self, ni: &Base, message: Kept) -> Option<Panic> {
        let must_wait = self.put_off.iter().any(|earlier| message.waits_behind(earlier));
        match if must_wait { Done::Later } else { self.perform(ni, &message) } {
            Done::Later => {
                self.put_off.push(message);
                ni.lookout.note_put_off(self.put_off.len());
                None
            }
            done => {
                self.spare.give(message.payload);
                if let Done::Panicked(panic) = done { Some(panic) } else { None }
            }
        }
    }

    /// Runs the handlers of what far ranks have sent, and of what was put off, up to the first that panics; whether there was
    /// anything, which counts as work: nobody may sleep on it.
    fn run_far(&mut self, ni: &Base, intake: &Intake) -> (bool, Option<Panic>) {
        let (waiting, mut panicked) = (std::mem::take(&mut self.put_off), None);
        let mut batch = std::mem::take(&mut self.batch);
        intake.take_messages(&mut batch, &mut self.spare);
        let mut worked = false;
        for message in waiting.into_iter().chain(batch.drain(..)) {
            worked = true;
            match panicked {
                None => panicked = self.take(ni, message),
                Some(_) => self.put_off.push(message),
            }
        }
        self.batch = batch;
        if self.debts.are_due() {
            self.debts.pay(|rank, handled, is_asked| {
                let handler = if is_asked { AWAITED } else { 0 };
                let credit = Packet { kind: kind::CREDIT, handler, address: handled, ..Packet::default() };
                // One that cannot be reached needs none.
                ni.post(rank, &credit, &[]).unwrap_or(true)
            });
        }
        // What found no room is tried again.
        ni.lookout.note_put_off(self.put_off.len() + usize::from(self.debts.are_due()));
        (worked, panicked)
    }

    fn perform(&mut self, ni: &Base, message: &Kept) -> Done {
        let Kept { source, packet, payload } = message;
        let done = dispatch(ni, *source, packet, payload, &mut self.handlers, &mut self.outbox);
        if !matches!(done, Done::Later) {
            self.debts.add(*source);
        }
        if matches!(done, Done::Asked) {
            self.debts.ask(*source);
        }
        done
    }

    #[inline]
    fn find_sources(&mut self, ni: &Base) {
        for word in 0..ni.memory.attached_words() {
            let attached = ni.memory.attached(ni.local, word).load(Ordering::Acquire);
            if !ni.lookout.knows(word, attached) {
                self.add_sources(ni, word, attached);
            }
        }
    }

    #[cold]
    fn add_sources(&mut self, ni: &Base, word: usize, attached: u64) {
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
        ni: &Base,
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
            match done {
                Done::Panicked(panic) => return (worked, Some(panic)),
                Done::Asked => {
                    self.consumer.give_back(ring);
                    ni.notify(self.rank, ANY);
                }
                _ => {}
            }
        }
        (worked, None)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
