//! One way to pass messages over several engines, so that a program changes its engine by one argument.
//!
//! Rests on: [`crate::message`], [`crate::matching`], [`crate::exchange`], [`crate::packets`]. Leaves out: what only some of them can do.
//!
//! All engines agree on this much: a send names a rank and a tag, a receive too, messages between two ranks under one tag come in the order in
//! which they were sent, and a send may return before its message is received, but need not.

use crate::error::{Error, Result};
use crate::exchange::{Buffers, Exchange};
use crate::job::Job;
use crate::matching::Matching;
use crate::message::Messages;
use crate::packets::Packets;
use bytemuck::Pod;
use std::time::Duration;

/// How messages are passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Engine {
    /// Through a slot for each tag between every two ranks ([`crate::message`]): tags are numbers below this one. Nothing is looked up, so
    /// this is the fastest; a rank has one message under way in a slot, and a second one waits for it.
    Slots(usize),
    /// By active messages whose handler looks for the receive ([`crate::matching`]): any tag, and messages are taken while the receiver
    /// does something else in the library.
    Matched,
    /// Through a buffer at each receiver ([`crate::exchange`]): any tag, and no handler runs. The receiver looks for messages when it
    /// receives.
    Exchange,
    /// By packets that a full receiver refuses ([`crate::packets`]), as in the paper: any tag. To be compared with the others.
    Packets,
}

/// Messages by rank and tag, by one of several engines. Made by [`Job::message_passing`].
///
/// ```
/// use hikyaku::passing::Engine;
///
/// for engine in [Engine::Slots(8), Engine::Matched, Engine::Exchange, Engine::Packets] {
///     hikyaku::local(2, |job| {
///         let messages = job.message_passing(engine)?;
///         let peer = 1 - job.rank();
///         messages.send(&[job.rank() as u64; 3], peer, 7)?;
///         let mut got = [9; 3];
///         assert_eq!(messages.recv(&mut got, peer, 7)?, 3);
///         assert_eq!(got, [peer as u64; 3]);
///         job.barrier()
///     })
///     .unwrap();
/// }
/// ```
#[derive(Debug)]
pub struct MessagePassing<'j> {
    job: &'j Job,
    by: By<'j>,
}

#[derive(Debug)]
enum By<'j> {
    Slots(Messages<'j>),
    Matched(Box<Matching<'j>>),
    Exchange(Box<Exchange<'j>>),
    Packets(Packets<'j>),
}

impl Job {
    /// Prepares messages by rank and tag, by this engine. All ranks call it together, with the same argument.
    ///
    /// # Errors
    /// If there is not enough memory on some rank: then on all.
    #[track_caller]
    pub fn message_passing(&self, engine: Engine) -> Result<MessagePassing<'_>> {
        let by = match engine {
            Engine::Slots(slots) => By::Slots(self.messages(slots)?),
            Engine::Matched => By::Matched(Box::new(self.matching()?)),
            Engine::Exchange => By::Exchange(Box::new(self.exchange_with(Buffers::of(self.size()))?)),
            Engine::Packets => By::Packets(self.packets()?),
        };
        Ok(MessagePassing { job: self, by })
    }
}

impl MessagePassing<'_> {
    /// Ends it. All ranks call it together, and with it give up messages that nobody has received. The memory of slots stays until the
    /// job ends; all other memory is freed.
    ///
    /// # Errors
    /// If a rank has ended: then nothing is freed before the job ends.
    #[track_caller]
    pub fn free(self) -> Result<()> {
        match self.by {
            By::Slots(_) => self.job.barrier(),
            By::Matched(matching) => matching.free(),
            By::Exchange(exchange) => exchange.free(),
            By::Packets(packets) => packets.free(),
        }
    }

    /// Sends a message to `rank` under `tag`. Short ones are mostly copied, so that it returns at once; for a long one it waits until it
    /// was received.
    ///
    /// # Errors
    /// When the receiver has ended; with slots, when there is no such slot.
    #[inline]
    #[track_caller]
    pub fn send<T: Pod>(&self, data: &[T], rank: usize, tag: u64) -> Result<()> {
        match &self.by {
            By::Slots(messages) => messages.send(data, rank, slot_of(messages, tag)?),
            By::Matched(matching) => matching.send(data, rank, tag),
            By::Exchange(exchange) => exchange.send(data, rank, tag),
            By::Packets(packets) => packets.send(data, rank, tag),
        }
    }

    /// Receives the next message of `rank` under `tag`; how many elements it has. Waits for it.
    ///
    /// # Errors
    /// When the sender has ended and has sent no such message; when the message is longer than `into` or of parts of elements; with slots, when
    /// there is no such slot.
    #[inline]
    #[track_caller]
    pub fn recv<T: Pod>(&self, into: &mut [T], rank: usize, tag: u64) -> Result<usize> {
        match &self.by {
            By::Slots(messages) => messages.recv(into, rank, slot_of(messages, tag)?),
            By::Matched(matching) => matching.recv(into, rank, tag).map(|matched| matched.len),
            By::Exchange(exchange) => exchange.recv(into, rank, tag).map(|matched| matched.len),
            By::Packets(packets) => packets.recv(into, rank, tag).map(|matched| matched.len),
        }
    }

    /// [`MessagePassing::recv`] that waits for at most `timeout`, and then fails with [`Error::Timeout`]. A message that comes later waits
    /// for another receive.
    #[track_caller]
    pub fn recv_for<T: Pod>(&self, into: &mut [T], rank: usize, tag: u64, timeout: Duration) -> Result<usize> {
        match &self.by {
            By::Slots(messages) => messages.recv_for(into, rank, slot_of(messages, tag)?, timeout),
            By::Matched(matching) => matching.recv_for(into, rank, tag, timeout).map(|matched| matched.len),
            By::Exchange(exchange) => exchange.recv_for(into, rank, tag, timeout).map(|matched| matched.len),
            By::Packets(packets) => packets.recv_for(into, rank, tag, timeout).map(|matched| matched.len),
        }
    }

    /// Waits for the next message of `rank` under `tag`, and gives its length in bytes. It stays.
    ///
    /// # Errors
    /// As [`MessagePassing::recv`].
    #[track_caller]
    pub fn probe(&self, rank: usize, tag: u64) -> Result<usize> {
        match &self.by {
            By::Slots(messages) => messages.probe(rank, slot_of(messages, tag)?),
            By::Matched(matching) => matching.probe(rank, tag).map(|matched| matched.len),
            By::Exchange(exchange) => exchange.probe(rank, tag).map(|matched| matched.len),
            By::Packets(packets) => packets.probe(rank, tag).map(|matched| matched.len),
        }
    }
}

#[inline(always)]
fn slot_of(messages: &Messages<'_>, tag: u64) -> Result<usize> {
    match usize::try_from(tag) {
        Ok(slot) if slot < messages.slots() => Ok(slot),
        _ => Err(no_slot(messages, tag)),
    }
}

#[cold]
fn no_slot(messages: &Messages<'_>, tag: u64) -> Error {
    Error::NoSuchSlot { slot: usize::try_from(tag).unwrap_or(usize::MAX), slots: messages.slots() }
}
