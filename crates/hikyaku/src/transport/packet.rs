//! What packets between network interfaces ask for, as far as those who carry them have to know.

use super::shm::ring::{ARGUMENT_COUNT, Packet};

/// Words of a packet: handler, bytes of its payload, address, arguments.
const WORD_COUNT: usize = 3 + ARGUMENT_COUNT;
/// Bits of the head that say how long a word is.
const CODE_BITS: usize = 3;
const HEAD_BYTES: usize = 4;
/// Bytes that are written to: those of the longest packet that anybody could write, and no word is written past them.
const WINDOW_BYTES: usize = HEAD_BYTES + 8 * WORD_COUNT;
/// Bytes of the longest packet on a wire, without its payload.
pub const PACKET_BYTES_MAX: usize = HEAD_BYTES + size_of::<u16>() + size_of::<u32>() + 8 * (1 + ARGUMENT_COUNT);

/// A packet for the wire; it can be read as bytes.
#[derive(Clone, Copy)]
pub struct Encoded {
    bytes: [u8; WINDOW_BYTES],
    length: usize,
}

impl std::ops::Deref for Encoded {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// A packet for the wire, little-endian. Most words are small or zero, so each takes as many bytes as it needs:
///
/// ```text
///   0  head     4   3 bits for each word say how long it is, from the lowest on; then 5 bits: the kind
///   4  words    0 to 6 bytes each, or 8: handler, bytes of the payload, address, arguments
/// ```
/// Before a long payload they take more, so that it begins on a line of the caches if the packet does.
///
/// # Panics
/// Never for kinds that there are.
#[inline]
pub fn encode(packet: &Packet, payload_bytes: u32) -> Encoded {
    debug_assert!(u32::from(packet.kind) < 1 << (32 - CODE_BITS * WORD_COUNT), "kind {}", packet.kind);
    let mut encoded = Encoded { bytes: [0; WINDOW_BYTES], length: HEAD_BYTES };
    let mut head = u32::from(packet.kind) << (CODE_BITS * WORD_COUNT);
    let [a, b, c, d, e, f] = packet.arguments;
    let words = [packet.handler.into(), payload_bytes.into(), packet.address, a, b, c, d, e, f];
    let is_wide = WIDE.contains(&payload_bytes);
    for (index, word) in words.into_iter().enumerate() {
        let code = if is_wide { WIDE_CODES[index] } else { code_of(word) };
        head |= code << (CODE_BITS * index);
        // What lies behind the word is overwritten by the next one, or not used.
        encoded.bytes[encoded.length..][..8].copy_from_slice(&u64::to_le_bytes(word));
        encoded.length += length_of(code);
    }
    encoded.bytes[..HEAD_BYTES].copy_from_slice(&head.to_le_bytes());
    encoded
}

/// Reads what [`encode`] wrote: the packet, how many bytes of payload it has, and what follows; `None` for what is none.
#[inline]
pub fn decode(bytes: &[u8]) -> Option<(Packet, usize, &[u8])> {
    let (head, _) = bytes.split_first_chunk::<HEAD_BYTES>()?;
    let head = u32::from_le_bytes(*head);
    let mut at = HEAD_BYTES;
    let mut words = [0; WORD_COUNT];
    for (index, word) in words.iter_mut().enumerate() {
        let code = head >> (CODE_BITS * index) & CODE_MAX;
        *word = long_at(bytes, at) & MASKS[code as usize];
        at += length_of(code);
    }
    let rest = bytes.get(at..)?;
    let [handler, payload_bytes, address, arguments @ ..] = words;
    let payload_bytes = u32::try_from(payload_bytes).ok()?;
    let packet = Packet {
        handler: u16::try_from(handler).ok()?,
        kind: (head >> (CODE_BITS * WORD_COUNT)) as u8,
        payload_bytes: payload_bytes as u16,
        address,
        arguments,
    };
    Some((packet, payload_bytes as usize, rest))
}

/// Payloads that begin on a line.
const WIDE: std::ops::RangeInclusive<u32> = 1 << 10..=u16::MAX as u32;
/// How long words are before them: 60 bytes in all.
const WIDE_CODES: [u32; WORD_COUNT] = [2, 2, CODE_MAX, CODE_MAX, CODE_MAX, CODE_MAX, CODE_MAX, CODE_MAX, CODE_MAX];

/// Of words that take all bytes.
const CODE_MAX: u32 = (1 << CODE_BITS) - 1;

/// What of 8 bytes is the word, by how the head says how long it is.
const MASKS: [u64; 1 << CODE_BITS] =
    [0, 0xff, 0xffff, 0xff_ffff, 0xffff_ffff, 0xff_ffff_ffff, 0xffff_ffff_ffff, u64::MAX];

/// The 8 bytes from a place on, of which those behind the end are 0.
#[inline(always)]
fn long_at(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(<[u8]>::first_chunk) {
        Some(long) => u64::from_le_bytes(*long),
        None => last_at(bytes, at),
    }
}

/// The same where fewer are left.
#[inline(never)]
fn last_at(bytes: &[u8], at: usize) -> u64 {
    let missing = (at + 8).saturating_sub(bytes.len()).min(8) as u32;
    match bytes.last_chunk() {
        Some(last) => u64::from_le_bytes(*last).checked_shr(8 * missing).unwrap_or(0),
        None => (0..8 - missing as usize).fold(0, |long, byte| long | u64::from(bytes[at + byte]) << (8 * byte)),
    }
}

/// How the head says how long a word is.
#[inline(always)]
pub(crate) fn code_of(word: u64) -> u32 {
    (u64::BITS - word.leading_zeros()).div_ceil(8).min(CODE_MAX)
}

/// Bytes of a word: there are none of 7.
#[inline(always)]
pub(crate) fn length_of(code: u32) -> usize {
    (code + u32::from(code == CODE_MAX)) as usize
}

/// A word of these bytes, of which there are at most 8.
#[inline(always)]
pub(crate) fn word_at(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// What a message means to the library.
pub(crate) mod kind {
    /// Runs a user's handler.
    pub const USER: u8 = 0;
    /// Runs a user's handler, which replies; the address is the token of the call.
    pub const CALL: u8 = 1;
    /// Answers a call or a routed operation; the address is its token, argument 0 the refusal, if any.
    pub const ANSWER: u8 = 2;
    /// Tells that a message had no handler.
    pub const REFUSED: u8 = 3;
    /// An operation on memory that only its owner reaches; see `ni::remote`.
    pub const ROUTED: u8 = 4;
    /// Tells how many messages of a far rank were handled so far: the address. Whether somebody waits for it: the handler, [`AWAITED`](super::AWAITED).
    pub const CREDIT: u8 = 5;
    /// Between simulated network interfaces that reach memory by themselves; no rank sees it.
    pub const NIC: u8 = 6;
    /// Answers it.
    pub const NIC_DONE: u8 = 7;
    /// Asks to be told that the messages before it were handled.
    pub const ASK: u8 = 8;
    /// Tells that a rank of the sender's host has ended: the address is the rank, the arguments are how and after how many barriers.
    pub const NEWS: u8 = 9;
}

/// What a routed message asks for: its handler field.
pub(crate) mod verb {
    use crate::memory::atomic::{Atomic, Change};

    pub const PUSH: u16 = 0;
    pub const PULL: u16 = 1;
    pub const WORD: u16 = 2;
    /// And the following ones, in the order of `Atomic`.
    pub const ADD: u16 = 3;
    pub const SWAP: u16 = 4;
    pub const COMPARE_SWAP: u16 = 5;
    pub const AND: u16 = 6;
    pub const OR: u16 = 7;
    pub const XOR: u16 = 8;
    /// A push, and then some words elsewhere.
    pub const PUSH_THEN: u16 = 9;
    /// Asks for an area by its id.
    pub const OPEN: u16 = 10;
    /// Asks for nothing but an answer, when everything before it is done.
    pub const SETTLE: u16 = 11;
    /// A push, and then an addition to a word elsewhere.
    pub const PUSH_ADD: u16 = 12;
    /// Adds a floating-point number.
    pub const ADD_FLOAT: u16 = 13;
    /// A push of blocks that are a distance from each other.
    pub const PUSH_BLOCKS: u16 = 14;
    /// A push of units to marked places.
    pub const PUSH_MARKED: u16 = 15;
    /// A pull of blocks that are a distance from each other.
    pub const PULL_BLOCKS: u16 = 16;
    /// A pull of marked units.
    pub const PULL_MARKED: u16 = 17;
    /// Asks for bytes to be sent on to another rank.
    pub const COPY: u16 = 18;
    /// A push to where a pointer leads.
    pub const PUSH_THROUGH: u16 = 19;
    /// A pull from where a pointer leads.
    pub const PULL_THROUGH: u16 = 20;
    /// Counts an arrival at a barrier; the last one releases all.
    pub const ARRIVE: u16 = 21;
    /// Pins a part of an area.
    pub const PIN: u16 = 22;
    /// Ends a pin.
    pub const UNPIN: u16 = 23;
    /// Beside the verb of an atomic operation: it is about 4 bytes.
    pub const HALF: u16 = 1 << 8;

    /// A change of a number, and its operands.
    pub fn of_change(change: Change) -> (u16, [u64; 2]) {
        match change {
            Change::Word(operation) => of_atomic(operation),
            Change::Half(operation) => {
                let (verb, operands) = of_atomic(operation);
                (verb | HALF, operands)
            }
            Change::AddFloat(amount) => (ADD_FLOAT, [amount, 0]),
        }
    }

    /// The inverse; `None` for what is none.
    pub fn change(verb: u16, operands: [u64; 2]) -> Option<Change> {
        match verb {
            ADD_FLOAT => Some(Change::AddFloat(operands[0])),
            half if half & HALF != 0 => atomic(half & !HALF, operands).map(Change::Half),
            word => atomic(word, operands).map(Change::Word),
        }
    }

    /// An atomic operation, and its operands.
    pub fn of_atomic(operation: Atomic) -> (u16, [u64; 2]) {
        match operation {
            Atomic::Add(value) => (ADD, [value, 0]),
            Atomic::Swap(value) => (SWAP, [value, 0]),
            Atomic::CompareSwap { old, new } => (COMPARE_SWAP, [old, new]),
            Atomic::And(value) => (AND, [value, 0]),
            Atomic::Or(value) => (OR, [value, 0]),
            Atomic::Xor(value) => (XOR, [value, 0]),
        }
    }

    /// The inverse; `None` for what is none.
    pub fn atomic(verb: u16, [a, b]: [u64; 2]) -> Option<Atomic> {
        Some(match verb {
            ADD => Atomic::Add(a),
            SWAP => Atomic::Swap(a),
            COMPARE_SWAP => Atomic::CompareSwap { old: a, new: b },
            AND => Atomic::And(a),
            OR => Atomic::Or(a),
            XOR => Atomic::Xor(a),
            _ => return None,
        })
    }
}

/// The last argument of a push that was described before.
pub(crate) const PREPARED: u64 = 1;
/// In place of the handler of what tells of messages: its receiver has asked.
pub(crate) const AWAITED: u16 = 1;
/// The last argument of a word that nobody is expected to wait for.
pub(crate) const PATIENT: u64 = 2;

/// Whether a packet may wait a moment for others to travel with: nobody is expected to wait for it, or not before much else has come.
pub fn is_patient(packet: &Packet) -> bool {
    match packet.kind {
        kind::CREDIT => packet.handler != AWAITED,
        kind::ROUTED => packet.handler == verb::WORD && packet.arguments[5] == PATIENT,
        _ => false,
    }
}

/// What kind of work a packet is for whoever carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Push,
    /// A push whose description was made before.
    Prepared,
    Pull,
    Word,
    Atomic,
    Message,
    Answer,
    /// What network interfaces do by themselves: writing, reading, changing memory, and that it is done.
    Put,
    Get,
    Change,
    Done,
}

impl Class {
    pub fn of(packet: &Packet) -> Class {
        match (packet.kind, packet.handler) {
            (kind::ANSWER | kind::REFUSED | kind::CREDIT | kind::NEWS, _) => Class::Answer,
            (kind::NIC, verb::PUSH) => Class::Put,
            (kind::NIC, verb::PULL) => Class::Get,
            (kind::NIC, _) => Class::Change,
            (kind::NIC_DONE, _) => Class::Done,
            (kind::ROUTED, verb::PUSH_THEN) if packet.arguments[5] == PREPARED => Class::Prepared,
            (kind::ROUTED, verb::PUSH | verb::PUSH_THEN | verb::PUSH_ADD) => Class::Push,
            (kind::ROUTED, verb::PUSH_BLOCKS | verb::PUSH_MARKED | verb::PUSH_THROUGH) => Class::Push,
            (kind::ROUTED, verb::PULL | verb::OPEN | verb::COPY | verb::PIN) => Class::Pull,
            (kind::ROUTED, verb::PULL_BLOCKS | verb::PULL_MARKED | verb::PULL_THROUGH) => Class::Pull,
            (kind::ROUTED, verb::WORD | verb::SETTLE | verb::ARRIVE | verb::UNPIN) => Class::Word,
            (kind::ROUTED, _) => Class::Atomic,
            _ => Class::Message,
        }
    }

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Class::Push => "push",
            Class::Prepared => "prepared push",
            Class::Pull => "pull",
            Class::Word => "word",
            Class::Atomic => "atomic",
            Class::Message => "message",
            Class::Answer => "answer",
            Class::Put => "put",
            Class::Get => "get",
            Class::Change => "change",
            Class::Done => "done",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Words of all lengths.
    fn word() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0u32..=64).prop_map(|(word, bits)| word.checked_shr(bits).unwrap_or(0))
    }

    proptest! {
        #[test]
        fn packets_survive_the_wire(
            handler in any::<u16>(), kind in 0u8..32, payload_bytes in word().prop_map(|word| word as u32), address in word(),
            arguments in proptest::array::uniform6(word()), behind in proptest::collection::vec(any::<u8>(), 0..100),
        ) {
            let packet = Packet { handler, kind, payload_bytes: payload_bytes as u16, address, arguments };
            let mut bytes = encode(&packet, payload_bytes).to_vec();
            let length = bytes.len();
            prop_assert!(length <= PACKET_BYTES_MAX);
            bytes.extend(&behind);
            prop_assert_eq!(decode(&bytes), Some((packet, payload_bytes as usize, &behind[..])));
            for cut in 0..length {
                prop_assert_eq!(decode(&bytes[..cut]), None, "only {} bytes of it", cut);
            }
        }

        #[test]
        fn whatever_comes_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            if let Some((packet, payload_bytes, rest)) = decode(&bytes) {
                // And it is the packet that its sender could have written.
                let again = encode(&packet, payload_bytes as u32);
                prop_assert!(again.len() <= bytes.len() - rest.len() || WIDE.contains(&(payload_bytes as u32)));
                prop_assert_eq!(decode(&again), Some((packet, payload_bytes, &[][..])));
            }
        }
    }

    #[test]
    fn words_take_as_many_bytes_as_they_need() {
        let lengths = |word| encode(&Packet { address: word, ..Packet::default() }, 0).len() - HEAD_BYTES;
        let words = [0, 1, 0xff, 0x100, 1 << 23, 1 << 24, 1 << 40, (1 << 48) - 1, 1 << 48, u64::MAX];
        assert_eq!(words.map(lengths), [0, 1, 1, 2, 3, 4, 6, 6, 8, 8]);
        let longest =
            Packet { handler: u16::MAX, kind: 31, payload_bytes: 0, address: u64::MAX, arguments: [u64::MAX; 6] };
        assert_eq!(encode(&longest, u32::MAX).len(), PACKET_BYTES_MAX);
        assert_eq!([1 << 10, 0xffff].map(|bytes| encode(&Packet::default(), bytes).len()), [64; 2], "a line");
        let lies = [0xff; WINDOW_BYTES];
        assert_eq!(decode(&lies), None, "a handler of 8 bytes");
    }
}
