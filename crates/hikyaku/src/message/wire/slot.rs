//! Slots: the exclusive places where a send and a receive of one pair of ranks meet.
//!
//! For every (sender, receiver, slot) there are a few words on either side. Each is written by one side and read by
//! the other in its own memory:
//!
//! ```text
//!   at the receiver, written by the sender          at the sender, written by the receiver
//!   Head  number of the message, what it is,        Post  how many messages were taken, and whether a
//!         up to 8 bytes of it                             long receive waits for the next one
//!   Line  up to 64 bytes of it, or where it is      Want  where that receive wants its bytes
//!   Deal  chunks of a long message that were
//!         claimed and copied, by both sides (`deal`)
//! ```
//! Messages of a slot are numbered; both sides count, so nothing is searched and nothing queued. A head carries the number
//! of messages taken in the other direction, so in an exchange back and forth the sender need not look at its post, and
//! the receiver's stores there stay in its own cache: one line is handed over per message.

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::line::Line;
use crate::sync::shared;

pub use super::deal::Deal;

shared! {
    /// What a sender tells of its next message.
    #[derive(Debug)]
    pub struct Head {
        word: AtomicU64,
        value: AtomicU64,
    }
}

/// Where the bytes of a message are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadKind {
    /// In the head itself: up to 8 bytes.
    Value,
    /// In the line of the slot: up to 64 bytes.
    Line,
    /// In a bounce buffer, which the value names; see [`Marks`].
    Bounce,
    /// Where the line says: a long message, copied by both sides once the receive is there.
    Offer,
}

/// What a head says: two words, so that it stays in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadInfo {
    word: u64,
    pub value: u64,
}

const NUMBER_BITS: u32 = 24;
const ACK_BITS: u32 = 20;
/// Counts of messages taken are told modulo this.
pub const ACK_MODULUS: u64 = 1 << ACK_BITS;
/// Numbers of messages are told modulo this.
pub const NUMBER_COUNT: u64 = 1 << NUMBER_BITS;
const NUMBER_MASK: u64 = NUMBER_COUNT - 1;
const BYTES_SHIFT: u32 = 48;

impl HeadInfo {
    /// That there is a message of `bytes` bytes, if it is no offer, and that the sender has taken so many from the receiver in this slot.
    #[inline(always)]
    pub fn new(kind: HeadKind, bytes: usize, taken: u64, value: u64) -> HeadInfo {
        let acknowledged = (taken % ACK_MODULUS) << NUMBER_BITS;
        let word = acknowledged | (kind as u64) << (NUMBER_BITS + ACK_BITS) | (bytes as u64) << BYTES_SHIFT;
        HeadInfo { word, value }
    }

    #[inline(always)]
    pub fn kind(self) -> HeadKind {
        match self.word >> (NUMBER_BITS + ACK_BITS) & 0xf {
            0 => HeadKind::Value,
            1 => HeadKind::Line,
            2 => HeadKind::Bounce,
            _ => HeadKind::Offer,
        }
    }

    /// Bytes, for all but offers.
    #[inline(always)]
    pub fn bytes(self) -> usize {
        (self.word >> BYTES_SHIFT) as usize
    }

    /// Messages the sender has taken from us in this slot, modulo [`ACK_MODULUS`].
    #[inline(always)]
    pub fn taken(self) -> u64 {
        self.word >> NUMBER_BITS & (ACK_MODULUS - 1)
    }
}

impl Head {
    /// Publishes message `number`; what lies elsewhere was written before.
    #[inline(always)]
    pub fn publish(&self, number: u64, told: HeadInfo) {
        self.value.store(told.value, Ordering::Relaxed);
        self.word.store(told.word & !NUMBER_MASK | number & NUMBER_MASK, Ordering::Release);
    }

    /// Message `number`, if it has come.
    #[inline(always)]
    pub fn look(&self, number: u64) -> Option<HeadInfo> {
        let word = self.word.load(Ordering::Acquire);
        if word & NUMBER_MASK != number & NUMBER_MASK {
            return None;
        }
        Some(HeadInfo { word, value: self.value.load(Ordering::Relaxed) })
    }

    /// For models; in a job it is zeroed mapped memory.
    pub fn new() -> Head {
        Head { word: AtomicU64::new(0), value: AtomicU64::new(0) }
    }
}

impl Default for Head {
    fn default() -> Head {
        Head::new()
    }
}

shared! {
    /// What a receiver tells of its next receive.
    #[derive(Debug)]
    pub struct Post(AtomicU64);
}

impl Post {
    /// Tells that `taken` messages were taken, and whether a long receive waits for the next one.
    #[inline(always)]
    pub fn publish(&self, taken: u64, waiting: bool) {
        self.0.store(taken << 1 | waiting as u64, Ordering::Release);
    }

    /// (messages taken, whether a long receive waits)
    #[inline(always)]
    pub fn look(&self) -> (u64, bool) {
        let word = self.0.load(Ordering::Acquire);
        (word >> 1, word & 1 == 1)
    }

    /// For models; in a job it is zeroed mapped memory.
    pub fn new() -> Post {
        Post(AtomicU64::new(0))
    }
}

impl Default for Post {
    fn default() -> Post {
        Post::new()
    }
}

shared! {
    /// Where bytes are, as told to the other side: an offer or a want.
    #[derive(Debug)]
    pub struct Spot {
        /// Offset in the job's memory, or address in the teller's private memory.
        pub start: AtomicU64,
        pub bytes: AtomicU64,
        /// 1: in job memory.
        pub mapped: AtomicU64,
        /// How it lies there.
        pub shape: AtomicU64,
    }
}

/// Bytes of a bounce buffer that are written and read at a time.
pub const PIECE_BYTES: usize = 1024;
/// Pieces of a bounce buffer.
pub const PIECE_COUNT: usize = if cfg!(loom) { 2 } else { 8 };

shared! {
    /// Which pieces of a buffer have come: the receiver reads one while the sender writes the next. What announces them is
    /// published with the first piece, so there is no mark for it.
    #[derive(Debug)]
    pub struct Marks([Line<AtomicU64>; PIECE_COUNT - 1]);
}

impl Marks {
    /// A piece other than the first was written, in the `turn`th use of the buffer.
    #[inline(always)]
    pub fn set(&self, piece: usize, turn: u64) {
        self.0[piece - 1].store(turn, Ordering::Release);
    }

    /// Whether a piece other than the first is there.
    #[inline(always)]
    pub fn has(&self, piece: usize, turn: u64) -> bool {
        self.0[piece - 1].load(Ordering::Acquire) == turn
    }

    /// For models; in a job it is zeroed mapped memory.
    pub fn new() -> Marks {
        Marks(std::array::from_fn(|_| Line(AtomicU64::new(0))))
    }
}

impl Default for Marks {
    fn default() -> Marks {
        Marks::new()
    }
}

/// A bounce buffer, as a head names it: (which, the how-manieth use of it).
#[inline(always)]
pub fn bounce_value(bounce: usize, turn: u64) -> u64 {
    turn << 8 | bounce as u64
}

/// The inverse of [`bounce_value`]; which, as a peer told it, may be any number.
#[inline(always)]
pub fn bounce_of(value: u64) -> (usize, u64) {
    ((value & 0xff) as usize, value >> 8)
}

/// A line of payload, or an offer.
pub type Payload = Line<[AtomicU64; 8]>;
