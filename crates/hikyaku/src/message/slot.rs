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
//!         claimed and copied, by both sides
//! ```
//! Messages of a slot are numbered; both sides count, so nothing is searched and nothing queued. A head carries the number
//! of messages taken in the other direction, so in an exchange back and forth the sender need not look at its post, and
//! the receiver's stores there stay in its own cache: one line is handed over per message.

use crate::sync::Shared;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::line::Line;

/// What a sender tells of its next message.
#[derive(Debug)]
#[repr(C)]
pub struct Head {
    word: AtomicU64,
    value: AtomicU64,
}

// SAFETY: atomics in a fixed layout.
unsafe impl Shared for Head {}

/// Where the bytes of a message are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// In the head itself: up to 8 bytes.
    Value,
    /// In the line of the slot: up to 64 bytes.
    Line,
    /// In a bounce buffer, which the value names; see [`Marks`].
    Bounce,
    /// Where the line says: a long message, copied by both sides once the receive is there.
    Offer,
}

/// A head, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    pub kind: Kind,
    /// Bytes, for all but offers.
    pub bytes: usize,
    /// Messages the sender has taken from us in this slot, modulo [`ACK_MODULUS`].
    pub taken: u64,
    pub value: u64,
}

const NUMBER_BITS: u32 = 24;
const ACK_BITS: u32 = 20;
/// Counts of messages taken are told modulo this.
pub const ACK_MODULUS: u64 = 1 << ACK_BITS;
/// Numbers of messages are told modulo this.
pub const NUMBER_COUNT: u64 = 1 << NUMBER_BITS;
const NUMBER_MASK: u64 = NUMBER_COUNT - 1;

impl Head {
    /// Publishes message `number`; what lies elsewhere was written before.
    #[inline(always)]
    pub fn publish(&self, number: u64, told: Told) {
        self.value.store(told.value, Ordering::Relaxed);
        let word = (number & NUMBER_MASK)
            | (told.taken % ACK_MODULUS) << NUMBER_BITS
            | (told.kind as u64) << (NUMBER_BITS + ACK_BITS)
            | (told.bytes as u64) << 48;
        self.word.store(word, Ordering::Release);
    }

    /// Message `number`, if it has come.
    #[inline(always)]
    pub fn look(&self, number: u64) -> Option<Told> {
        let word = self.word.load(Ordering::Acquire);
        if word & NUMBER_MASK != number & NUMBER_MASK {
            return None;
        }
        let kind = match word >> (NUMBER_BITS + ACK_BITS) & 0xf {
            0 => Kind::Value,
            1 => Kind::Line,
            2 => Kind::Bounce,
            _ => Kind::Offer,
        };
        let value = self.value.load(Ordering::Relaxed);
        Some(Told { kind, bytes: (word >> 48) as usize, taken: word >> NUMBER_BITS & (ACK_MODULUS - 1), value })
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

/// What a receiver tells of its next receive.
#[derive(Debug)]
#[repr(C)]
pub struct Post(AtomicU64);

// SAFETY: an atomic in a fixed layout.
unsafe impl Shared for Post {}

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

/// Where bytes are, as told to the other side: an offer or a want.
#[derive(Debug)]
#[repr(C)]
pub struct Spot {
    /// Offset in the job's memory, or address in the teller's private memory.
    pub start: AtomicU64,
    pub bytes: AtomicU64,
    /// 1: in job memory.
    pub mapped: AtomicU64,
    /// How it lies there.
    pub shape: AtomicU64,
}

// SAFETY: atomics in a fixed layout.
unsafe impl Shared for Spot {}

/// The chunks of a long message: whoever claims one copies it.
#[derive(Debug)]
#[repr(C)]
pub struct Deal {
    /// number << 32 | chunks claimed from the back << 16 | chunks claimed from the front.
    claimed: AtomicU64,
    /// number << 32 | chunks copied.
    copied: AtomicU64,
    /// The last message that was refused because it did not fit.
    refused: AtomicU64,
    /// The last message of which a chunk could not be copied: number << 16 | errno.
    spoiled: AtomicU64,
}

// SAFETY: atomics in a fixed layout.
unsafe impl Shared for Deal {}

/// Chunks of a message at most: either side may claim them all.
pub const CHUNKS_MAX: usize = 0x7fff;
const FRONT: u64 = 1;
const BACK: u64 = 1 << 16;

impl Deal {
    /// The receiver opens the deal for message `number`, before it posts.
    pub fn open(&self, number: u64) {
        self.copied.store(number << 32, Ordering::Relaxed);
        self.claimed.store(number << 32, Ordering::Release);
    }

    /// Claims the next chunk of message `number`, of `count`, from the first on.
    #[inline]
    pub fn claim(&self, number: u64, count: u64) -> Option<u64> {
        self.claim_one(number, count, FRONT).map(|claims| claims % BACK)
    }

    /// The same, from the last on: so each side copies about the same chunks of every message, whose lines stay in its
    /// cache.
    #[inline]
    pub fn claim_back(&self, number: u64, count: u64) -> Option<u64> {
        self.claim_one(number, count, BACK).map(|claims| count - 1 - claims / BACK)
    }

    #[inline(always)]
    fn claim_one(&self, number: u64, count: u64, one: u64) -> Option<u64> {
        let mut seen = self.claimed.load(Ordering::Acquire);
        loop {
            let (of, claims) = (seen >> 32, seen & 0xffff_ffff);
            if of != number & 0xffff_ffff || claims % BACK + claims / BACK >= count {
                return None;
            }
            match self.claimed.compare_exchange_weak(seen, seen + one, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(claims),
                Err(now) => seen = now,
            }
        }
    }

    /// A claimed chunk of message `number` cannot be copied, for which the kernel gave `errno`. It counts as copied all the
    /// same, so that nobody waits for it and both sides still find out when nobody copies any more.
    #[cold]
    pub fn spoil(&self, number: u64, errno: i32) {
        self.spoiled.store(number << 16 | errno as u64 & 0xffff, Ordering::Release);
    }

    /// Why a chunk of message `number`, which is done, could not be copied, if so.
    #[inline]
    pub fn spoiled(&self, number: u64) -> Option<i32> {
        let seen = self.spoiled.load(Ordering::Acquire);
        (seen >> 16 == number & (u64::MAX >> 16)).then_some((seen & 0xffff) as i32)
    }

    /// A claimed chunk was copied, or spoiled.
    #[inline]
    pub fn copied(&self) {
        self.copied.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether all chunks of message `number` were copied. The receiver may have opened the next deal already.
    #[inline]
    pub fn done(&self, number: u64, count: u64) -> bool {
        let seen = self.copied.load(Ordering::Acquire);
        let of = (seen >> 32).wrapping_sub(number) & 0xffff_ffff;
        (of == 0 && seen & 0xffff_ffff >= count) || (of != 0 && of < 1 << 31)
    }

    /// The receiver has no room for message `number`.
    pub fn refuse(&self, number: u64) {
        self.refused.store(number, Ordering::Release);
    }

    /// Whether message `number` was refused.
    pub fn was_refused(&self, number: u64) -> bool {
        self.refused.load(Ordering::Acquire) == number
    }

    /// Takes the deal back, unless a chunk was claimed: nobody will copy then.
    pub fn withdraw(&self, number: u64) -> bool {
        let opened = number << 32;
        let closed = opened | 0xffff_ffff;
        self.claimed.compare_exchange(opened, closed, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// For models; in a job it is zeroed mapped memory.
    pub fn new() -> Deal {
        Deal {
            claimed: AtomicU64::new(0),
            copied: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            spoiled: AtomicU64::new(0),
        }
    }
}

impl Default for Deal {
    fn default() -> Deal {
        Deal::new()
    }
}

/// Bytes of a bounce buffer that are written and read at a time.
pub const PIECE_BYTES: usize = 1024;
/// Pieces of a bounce buffer.
pub const PIECE_COUNT: usize = if cfg!(loom) { 2 } else { 8 };

/// Which pieces of a buffer have come: the receiver reads one while the sender writes the next. What announces them is
/// published with the first piece, so there is no mark for it.
#[derive(Debug)]
#[repr(C)]
pub struct Marks([Line<AtomicU64>; PIECE_COUNT - 1]);

// SAFETY: atomics in a fixed layout.
unsafe impl Shared for Marks {}

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
