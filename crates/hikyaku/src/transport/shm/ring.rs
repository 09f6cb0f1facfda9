//! Active messages in mapped memory: one ring of cache lines per (sending port, receiving rank).
//!
//! A message is one line: a head word, an address, six arguments. The head holds the lap of the ring, so the
//! receiver polls the very line the message arrives on: one line handed over per message, as for a flag.
//!
//! ```text
//!   sender                                        receiver
//!   room left?  (own count, refreshed from        head of the next line shows this lap?
//!     `returned` when it runs out)                copy words out, copy payload out
//!   payload bytes into the payload ring           run the handler
//!   words 1..8 of the line                        every quarter of the ring: returned = consumed
//!   head word, released
//! ```
//! One producer and one consumer: a sender that dies leaves at most an unpublished line, which nobody sees, and
//! nobody else uses its ring. All positions are kept privately by each side; a peer's bytes never become an index.

#[cfg(not(loom))]
use crate::memory::span::Span;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::line::Line;
use crate::sync::shared;

/// Messages a ring holds.
pub const LINE_COUNT: usize = if cfg!(loom) { 2 } else { 256 };
/// Payload bytes a ring holds.
pub const PAYLOAD_RING_BYTES: usize = if cfg!(loom) { 32 } else { 32 * 1024 };
/// Payload bytes one message carries at most: fits even when a quarter of the ring is not returned yet.
pub const PAYLOAD_MAX: usize = PAYLOAD_RING_BYTES / 4;
/// Arguments of a message.
pub const ARGUMENT_COUNT: usize = 6;

const WORD_BYTES: usize = 8;
const LAP_MASK: u64 = 0xffff;

shared! {
    /// The shared part.
    #[derive(Debug)]
    pub struct Ring {
        /// What the receiver has consumed. Written by the receiver, read by a sender that has run out of room.
        returned: Line<Returned>,
        /// Written by the sender, read by the receiver.
        lines: [Line<[AtomicU64; 8]>; LINE_COUNT],
        /// Written by the sender, read by the receiver.
        payload: [PayloadWord; PAYLOAD_RING_BYTES / WORD_BYTES],
    }
}

/// Payload is copied as plain bytes, so the model checker gets plain memory, whose every use it wants ordered.
#[cfg(not(loom))]
type PayloadWord = AtomicU64;
#[cfg(loom)]
type PayloadWord = crate::sync::plain::Plain<u64>;

shared! {
    #[derive(Debug)]
    struct Returned {
        lines: AtomicU64,
        payload: AtomicU64,
    }
}

impl Ring {
    /// For models and unit tests; in a job it is zeroed mapped memory.
    pub fn new() -> Ring {
        Ring {
            returned: Line(Returned { lines: AtomicU64::new(0), payload: AtomicU64::new(0) }),
            lines: core::array::from_fn(|_| Line(core::array::from_fn(|_| AtomicU64::new(0)))),
            payload: core::array::from_fn(|_| PayloadWord::new(0)),
        }
    }
}

impl Default for Ring {
    fn default() -> Ring {
        Ring::new()
    }
}

/// What a message says, payload aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Which handler runs.
    pub handler: u16,
    /// Meaning of the message to the library (0: a user's).
    pub kind: u8,
    /// Bytes of payload.
    pub payload_bytes: u16,
    /// An address, or whatever the handler takes it for.
    pub address: u64,
    /// Arguments.
    pub arguments: [u64; ARGUMENT_COUNT],
}

impl Packet {
    #[inline(always)]
    fn head(&self, lap: u64) -> u64 {
        lap | (self.handler as u64) << 16 | (self.payload_bytes as u64) << 32 | (self.kind as u64) << 48
    }
}

/// The lap a position belongs to, never 0: fresh memory is no message.
#[inline(always)]
fn lap(position: u64) -> u64 {
    (position / LINE_COUNT as u64) % LAP_MASK + 1
}

/// The sending end.
#[derive(Debug, Default)]
pub struct Producer {
    sent: u64,
    payload_sent: u64,
    returned: u64,
    payload_returned: u64,
}

impl Producer {
    /// Sends, or returns false when there is no room now.
    #[inline]
    pub fn try_send(&mut self, ring: &Ring, packet: &Packet, payload: &[u8]) -> bool {
        debug_assert!(payload.len() == packet.payload_bytes as usize && payload.len() <= PAYLOAD_MAX);
        if !self.has_room(ring, payload.len()) {
            return false;
        }
        if !payload.is_empty() {
            store_payload(&ring.payload, self.payload_sent, payload);
            self.payload_sent += padded(payload.len());
        }
        let line = &ring.lines[(self.sent % LINE_COUNT as u64) as usize];
        line[1].store(packet.address, Ordering::Relaxed);
        for (word, argument) in line[2..].iter().zip(packet.arguments) {
            word.store(argument, Ordering::Relaxed);
        }
        line[0].store(packet.head(lap(self.sent)), Ordering::Release);
        self.sent += 1;
        true
    }

    /// Messages put into the ring so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    #[inline(always)]
    fn has_room(&mut self, ring: &Ring, payload_bytes: usize) -> bool {
        let fits = |this: &Producer| {
            this.sent.wrapping_sub(this.returned) < LINE_COUNT as u64
                && this.payload_sent.wrapping_sub(this.payload_returned)
                    <= PAYLOAD_RING_BYTES as u64 - padded(payload_bytes)
        };
        if fits(self) {
            return true;
        }
        // The receiver's counts are a peer's bytes: a wrong one only makes this sender overwrite or wait for
        // what that receiver reads.
        self.returned = ring.returned.lines.load(Ordering::Acquire);
        self.payload_returned = ring.returned.payload.load(Ordering::Acquire);
        fits(self)
    }
}

/// The receiving end.
#[derive(Debug, Default)]
pub struct Consumer {
    consumed: u64,
    payload_consumed: u64,
    returned: u64,
    payload_returned: u64,
}

/// Whether the message at `position` has arrived: one look, without being the receiver.
#[inline(always)]
pub fn arrived(ring: &Ring, position: u64) -> bool {
    let head = ring.lines[(position % LINE_COUNT as u64) as usize][0].load(Ordering::Relaxed);
    head & LAP_MASK == lap(position)
}

/// How many messages the receiver says to have taken out: exact when it was asked just now, or has left.
pub fn returned(ring: &Ring) -> u64 {
    ring.returned.lines.load(Ordering::Acquire)
}

/// The sender wrote a head no sender writes.
#[derive(Debug, PartialEq, Eq)]
pub struct Corrupt;

impl Consumer {
    /// Messages taken out of the ring so far.
    #[inline(always)]
    pub fn consumed(&self) -> u64 {
        self.consumed
    }

    /// The next message, if it has arrived; it stays in the ring until [`Consumer::advance`].
    #[inline]
    pub fn peek(&self, ring: &Ring) -> Result<Option<Packet>, Corrupt> {
        let line = &ring.lines[(self.consumed % LINE_COUNT as u64) as usize];
        let head = line[0].load(Ordering::Acquire);
        if head & LAP_MASK != lap(self.consumed) {
            return Ok(None);
        }
        let mut arguments = [0; ARGUMENT_COUNT];
        for (argument, word) in arguments.iter_mut().zip(&line[2..]) {
            *argument = word.load(Ordering::Relaxed);
        }
        let packet = Packet {
            handler: (head >> 16) as u16,
            payload_bytes: (head >> 32) as u16,
            kind: (head >> 48) as u8,
            address: line[1].load(Ordering::Relaxed),
            arguments,
        };
        if packet.payload_bytes as usize > PAYLOAD_MAX { Err(Corrupt) } else { Ok(Some(packet)) }
    }

    /// Copies the payload of the message just peeked at.
    pub fn payload(&self, ring: &Ring, into: &mut [u8]) {
        load_payload(&ring.payload, self.payload_consumed, into);
    }

    /// Takes the message just peeked at out of the ring; true if room was returned to the sender just now.
    #[inline]
    pub fn advance(&mut self, ring: &Ring, packet: &Packet) -> bool {
        self.consumed += 1;
        self.payload_consumed += padded(packet.payload_bytes as usize);
        let due = self.consumed - self.returned >= (LINE_COUNT / 4).max(1) as u64
            || self.payload_consumed - self.payload_returned >= PAYLOAD_RING_BYTES as u64 / 4;
        if due {
            self.give_back(ring);
        }
        due
    }

    /// Tells the sender of everything that was taken out.
    #[inline]
    pub fn give_back(&mut self, ring: &Ring) {
        self.returned = self.consumed;
        self.payload_returned = self.payload_consumed;
        ring.returned.payload.store(self.payload_consumed, Ordering::Release);
        ring.returned.lines.store(self.consumed, Ordering::Release);
    }

    /// The messages that lie in the ring; they stay there.
    pub fn unread(&self, ring: &Ring) -> Vec<Packet> {
        let mut ahead = Consumer { consumed: self.consumed, ..Consumer::default() };
        let next = || {
            let packet = ahead.peek(ring).ok().flatten();
            ahead.consumed += 1;
            packet
        };
        std::iter::from_fn(next).take(LINE_COUNT).collect()
    }
}

/// Payloads start on a word.
#[inline(always)]
fn padded(bytes: usize) -> u64 {
    bytes.next_multiple_of(WORD_BYTES) as u64
}

/// Where a payload at `position` lies, as two pieces: (word index, bytes before the end of the ring).
fn pieces(position: u64, bytes: usize) -> (usize, usize) {
    let start = (position % PAYLOAD_RING_BYTES as u64) as usize;
    (start / WORD_BYTES, bytes.min(PAYLOAD_RING_BYTES - start))
}

fn store_payload(ring: &[PayloadWord], position: u64, payload: &[u8]) {
    let (word, first) = pieces(position, payload.len());
    store_words(&ring[word..], &payload[..first]);
    store_words(ring, &payload[first..]);
}

fn load_payload(ring: &[PayloadWord], position: u64, into: &mut [u8]) {
    let (word, first) = pieces(position, into.len());
    let (head, tail) = into.split_at_mut(first);
    load_words(&ring[word..], head);
    load_words(ring, tail);
}

#[cfg(not(loom))]
fn store_words(words: &[PayloadWord], bytes: &[u8]) {
    Span::from(words).copy_in(bytes);
}

#[cfg(not(loom))]
fn load_words(words: &[PayloadWord], bytes: &mut [u8]) {
    Span::from(words).copy_out(bytes);
}

#[cfg(loom)]
fn store_words(words: &[PayloadWord], bytes: &[u8]) {
    for (word, chunk) in words.iter().zip(bytes.chunks(WORD_BYTES)) {
        let mut buffer = [0; WORD_BYTES];
        buffer[..chunk.len()].copy_from_slice(chunk);
        word.set(u64::from_le_bytes(buffer));
    }
}

#[cfg(loom)]
fn load_words(words: &[PayloadWord], bytes: &mut [u8]) {
    for (word, chunk) in words.iter().zip(bytes.chunks_mut(WORD_BYTES)) {
        let buffer = word.get().to_le_bytes();
        chunk.copy_from_slice(&buffer[..chunk.len()]);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    fn packet(number: u64, bytes: usize) -> (Packet, Vec<u8>) {
        let payload: Vec<u8> = (0..bytes).map(|i| (i as u64 * 31 + number) as u8).collect();
        let arguments = core::array::from_fn(|i| number * 10 + i as u64);
        (Packet { handler: number as u16, kind: 3, payload_bytes: bytes as u16, address: !number, arguments }, payload)
    }

    proptest! {
        /// Against a queue: what goes in comes out, whole and in order, however sends and receipts alternate.
        #[test]
        fn a_ring_is_a_bounded_queue(steps in proptest::collection::vec((any::<bool>(), 0usize..=PAYLOAD_MAX), 1..2000)) {
            let ring = Box::new(Ring::new());
            let (mut producer, mut consumer) = (Producer::default(), Consumer::default());
            let mut model = VecDeque::new();
            let mut number = 0;
            for (send, bytes) in steps {
                if send {
                    let bytes = if bytes % 3 == 0 { bytes } else { bytes % 64 };
                    let (packet, payload) = packet(number, bytes);
                    if producer.try_send(&ring, &packet, &payload) {
                        model.push_back((packet, payload));
                        number += 1;
                    } else {
                        prop_assert!(!model.is_empty(), "an empty ring takes any message");
                    }
                } else {
                    let got = consumer.peek(&ring).unwrap();
                    prop_assert_eq!(got, model.front().map(|m| m.0));
                    if let Some(packet) = got {
                        let mut payload = vec![0; packet.payload_bytes as usize];
                        consumer.payload(&ring, &mut payload);
                        prop_assert_eq!(&payload, &model.pop_front().unwrap().1);
                        consumer.advance(&ring, &packet);
                    }
                }
            }
        }

        /// A receiver never trusts a sender's bytes: any head gives a message in bounds, nothing, or `Corrupt`.
        #[test]
        fn garbage_is_contained(head in any::<u64>()) {
            let ring = Box::new(Ring::new());
            ring.lines[0][0].store(head, Ordering::Relaxed);
            let mut consumer = Consumer::default();
            if let Ok(Some(packet)) = consumer.peek(&ring) {
                consumer.payload(&ring, &mut vec![0; packet.payload_bytes as usize]);
                consumer.advance(&ring, &packet);
            }
        }
    }

    /// Whatever a peer writes over the whole ring, also over what the receiver writes.
    #[test]
    fn fuzz_ring() {
        let sample = |count: u64, bytes: usize| {
            let (ring, mut producer) = (Box::new(Ring::new()), Producer::default());
            for number in 0..count {
                let (packet, payload) = packet(number, bytes);
                assert!(producer.try_send(&ring, &packet, &payload));
            }
            let words = ring.lines[..count as usize].iter().flat_map(|line| line.iter());
            let mut sample = 0u128.to_le_bytes().to_vec();
            sample.extend(words.flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()));
            sample
        };
        let ring = Box::new(Ring::new());
        crate::fuzz::run("ring", &[sample(1, 0), sample(4, 100), sample(9, PAYLOAD_MAX / 3)], |input| {
            let mut input = crate::fuzz::Reader(input);
            ring.returned.lines.store(input.word(), Ordering::Relaxed);
            ring.returned.payload.store(input.word(), Ordering::Relaxed);
            let words = ring.lines.iter().flat_map(|line| line.iter());
            words.for_each(|word| word.store(input.word(), Ordering::Relaxed));
            let (mut producer, mut consumer) = (Producer::default(), Consumer::default());
            for _ in 0..2 * LINE_COUNT {
                arrived(&ring, consumer.consumed());
                let Ok(Some(packet)) = consumer.peek(&ring) else { break };
                consumer.payload(&ring, &mut vec![0; packet.payload_bytes as usize]);
                consumer.advance(&ring, &packet);
                let _ = producer.try_send(&ring, &packet, &vec![0; packet.payload_bytes as usize]);
            }
            let (packet, payload) = super::tests::packet(3, PAYLOAD_MAX);
            for _ in 0..LINE_COUNT + 5 {
                let _ = producer.try_send(&ring, &packet, &payload);
            }
        });
    }

    #[test]
    fn laps_wrap_without_a_gap() {
        assert_eq!(lap(0), 1);
        let last = LINE_COUNT as u64 * LAP_MASK - 1;
        assert_eq!(lap(last), LAP_MASK);
        assert_eq!(lap(last + 1), 1);
    }
}
