//! What packets between network interfaces ask for, as far as those who carry them have to know.

use super::shm::ring::Packet;

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
    /// An operation on memory that only its owner reaches; see `route`.
    pub const ROUTED: u8 = 4;
}

/// What a routed message asks for: its handler field.
pub(crate) mod verb {
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
}

/// The last argument of a push that was described before.
pub(crate) const PREPARED: u64 = 1;

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
}

impl Class {
    pub fn of(packet: &Packet) -> Class {
        match (packet.kind, packet.handler) {
            (kind::ANSWER | kind::REFUSED, _) => Class::Answer,
            (kind::ROUTED, verb::PUSH_THEN) if packet.arguments[5] == PREPARED => Class::Prepared,
            (kind::ROUTED, verb::PUSH | verb::PUSH_THEN) => Class::Push,
            (kind::ROUTED, verb::PULL | verb::OPEN) => Class::Pull,
            (kind::ROUTED, verb::WORD) => Class::Word,
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
        }
    }
}
