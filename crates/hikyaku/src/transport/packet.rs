//! What packets between network interfaces ask for, as far as those who carry them have to know.

use super::shm::ring::{ARGUMENT_COUNT, Packet};

/// Bytes of a packet on a wire, without its payload.
pub const PACKET_BYTES: usize = 16 + 8 * ARGUMENT_COUNT;

/// A packet for the wire, little-endian:
///
/// ```text
///   0  handler        2 bytes
///   2  kind           1
///   3  flags          1    none yet
///   4  payload bytes  4
///   8  address        8
///  16  arguments      6 x 8
/// ```
pub fn encode(packet: &Packet, payload_bytes: u32) -> [u8; PACKET_BYTES] {
    let mut bytes = [0; PACKET_BYTES];
    bytes[..2].copy_from_slice(&packet.handler.to_le_bytes());
    bytes[2] = packet.kind;
    bytes[4..8].copy_from_slice(&payload_bytes.to_le_bytes());
    bytes[8..16].copy_from_slice(&packet.address.to_le_bytes());
    for (place, argument) in bytes[16..].chunks_exact_mut(8).zip(packet.arguments) {
        place.copy_from_slice(&argument.to_le_bytes());
    }
    bytes
}

/// Reads what [`encode`] wrote: the packet, how many bytes of payload it has, and what follows; `None` for what is none.
pub fn decode(bytes: &[u8]) -> Option<(Packet, usize, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<PACKET_BYTES>()?;
    let word = |at: usize| u64::from_le_bytes(core::array::from_fn(|byte| head[at + byte]));
    let payload_bytes = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
    let packet = Packet {
        handler: u16::from_le_bytes([head[0], head[1]]),
        kind: head[2],
        payload_bytes: payload_bytes as u16,
        address: word(8),
        arguments: core::array::from_fn(|index| word(16 + 8 * index)),
    };
    (head[3] == 0).then_some((packet, payload_bytes as usize, rest))
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

    #[test]
    fn packets_survive_the_wire() {
        let packet =
            Packet { handler: 7, kind: 3, payload_bytes: 5, address: u64::MAX - 1, arguments: [1, 2, 3, 4, 5, 6] };
        let mut bytes = encode(&packet, 5).to_vec();
        bytes.extend([9; 6]);
        assert_eq!(decode(&bytes), Some((packet, 5, &[9; 6][..])));
        assert_eq!(decode(&bytes[..PACKET_BYTES - 1]), None);
        bytes[3] = 1;
        assert_eq!(decode(&bytes), None, "flags that nobody sets");
    }
}
