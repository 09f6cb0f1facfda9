//! What a remote operation does, and its form in a packet.

use super::tail::{Room, Tail};
use super::target::Target;
use crate::memory::atomic::Change;
use crate::transport::core::Body;
use crate::transport::packet::{PATIENT, PREPARED, kind, verb};
use crate::transport::shm::ring::Packet;
use std::marker::PhantomData;

/// A remote operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation<'a> {
    pub at: Target,
    pub act: Act<'a>,
    pub manner: Manner,
}

/// What whoever carries an operation may know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    Plain,
    /// Its description is an old one, which some machines send quicker.
    Prepared,
    /// Nobody is expected to wait for it: it may travel with the next packet.
    Patient,
}

/// What is done at a target.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act<'a> {
    /// Writes bytes.
    Push(Data<'a>),
    /// Writes bytes, then words at an offset beside ([`Target::beside`]), of which the first is written last: whoever sees it sees
    /// everything.
    PushThen { data: Data<'a>, then: u64, tail: Tail<'a> },
    /// Writes bytes, then adds to a word at an offset beside ([`Target::beside`]): whoever sees the sum sees the bytes.
    PushAdd { data: Data<'a>, then: u64, amount: u64 },
    /// Writes a word.
    Word(u64),
    /// Changes a number and answers its value from before.
    Change(Change),
    /// Answers so many bytes. The initiator knows by `position` which.
    Pull { bytes: u64, position: u64 },
    /// Writes bytes in blocks of equal length, each `distance` after the one before.
    PushBlocks { data: Data<'a>, block: u64, distance: u64 },
    /// Writes units to marked places: the marks are first in the data, as many words of 8 bytes as they need.
    PushMarked { data: Data<'a>, unit: u64, units: u64 },
    /// Answers blocks of equal length, one behind the other. The initiator knows by `position` which.
    PullBlocks { block: u32, count: u32, distance: u64, position: u64 },
    /// Answers the marked ones of some units, one behind the other. The marks are words of 8 bytes.
    PullMarked { marks: Data<'a>, unit: u32, units: u32, position: u64 },
    /// Sends so many bytes on to another rank, as a part of a copy that begins so far behind its first byte, and answers when they are
    /// there. Where to is an [`Onward`](super::onward::Onward); its word follows the last part.
    Copy { bytes: u64, position: u64, is_last: bool, onward: Data<'a> },
    /// Writes bytes to where the pointer leads that is the target, so many bytes behind the first.
    PushThrough { data: Data<'a>, skip: u64 },
    /// Answers so many bytes of where the pointer leads that is the target, so many behind the first. The initiator knows by those which.
    PullThrough { bytes: u64, skip: u64 },
    /// Counts that the sender has come to a barrier for the so-manyth time. The target is where the barrier's words begin
    /// ([`crate::ni::reach::arrival`]). When all have come, whoever counts tells them.
    Arrive { number: u64 },
    /// Pins so many bytes of an area: it is not taken away until the same rank has said [`Act::Unpin`] as often, or has ended.
    Pin { bytes: u64 },
    /// Ends one such pin in the area.
    Unpin,
    /// Answers what an area is: key, kind (and whether the network reaches it, [`REACHED`]), start, bytes, and by which base and
    /// key it does. Of the heap: base, key, bytes.
    Open,
    /// Nothing. Its answer says that everything before it is done.
    Settle,
}

/// Beside the kind of an area: the network reaches it by itself.
pub(in crate::ni) const REACHED: u64 = 1 << 63;

/// Bytes to be written somewhere. Others may change them meanwhile: then it is undefined which bytes arrive, and nothing else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Data<'a> {
    start: *const u8,
    bytes: usize,
    borrowed: PhantomData<&'a [u8]>,
}

impl<'a> From<&'a [u8]> for Data<'a> {
    fn from(bytes: &'a [u8]) -> Data<'a> {
        Data { start: bytes.as_ptr(), bytes: bytes.len(), borrowed: PhantomData }
    }
}

impl<'a> Data<'a> {
    pub const EMPTY: Data<'static> =
        Data { start: std::ptr::NonNull::dangling().as_ptr(), bytes: 0, borrowed: PhantomData };

    /// So many bytes from an address on.
    ///
    /// # Safety
    /// They can be read as long as this is used.
    pub unsafe fn shared(start: *const u8, bytes: usize) -> Data<'a> {
        Data { start, bytes, borrowed: PhantomData }
    }

    pub fn start(&self) -> *const u8 {
        self.start
    }

    pub fn len(&self) -> usize {
        self.bytes
    }

    /// A part of it, as far as it reaches.
    pub fn part(&self, from: usize, bytes: usize) -> Data<'a> {
        let from = from.min(self.bytes);
        Data { start: self.start.wrapping_add(from), bytes: bytes.min(self.bytes - from), borrowed: PhantomData }
    }

    /// A private copy.
    pub fn to_private(self) -> Box<[u8]> {
        let mut copy = vec![0; self.bytes].into_boxed_slice();
        // SAFETY: it can be read, and the copy is as long.
        unsafe { self.body(&[]).copy(0, &mut copy) };
        copy
    }

    /// For a transport, with words behind it.
    pub fn body(&self, tail: &[u8]) -> Body {
        Body::new(self.start, self.bytes).then(tail.as_ptr(), tail.len())
    }
}

impl<'a> Operation<'a> {
    pub fn push(at: Target, data: &'a [u8]) -> Operation<'a> {
        Operation { at, act: Act::Push(data.into()), manner: Manner::Plain }
    }

    pub fn word(at: Target, value: u64) -> Operation<'a> {
        Operation { at, act: Act::Word(value), manner: Manner::Plain }
    }

    /// A push, then words at an offset beside.
    pub fn push_then(at: Target, data: &'a [u8], then: usize, tail: &'a [u64]) -> Operation<'a> {
        let tail = Tail::Words(tail);
        Operation { at, act: Act::PushThen { data: data.into(), then: then as u64, tail }, manner: Manner::Plain }
    }

    pub fn in_manner(self, manner: Manner) -> Operation<'a> {
        Operation { manner, ..self }
    }

    /// Its packet and what goes with that, to be answered to `token`. Words behind a push are read from the room.
    pub fn encode(&self, token: u64, room: &mut Room) -> (Packet, Body) {
        let [space, key, offset] = self.at.encode();
        let (verb, [a, b, c], data, tail) = self.act.encode(room);
        let manner = match self.manner {
            Manner::Plain => c,
            Manner::Prepared => PREPARED,
            Manner::Patient => PATIENT,
        };
        let body = data.body(tail);
        let arguments = [space, key, offset, a, b, manner];
        // The number of bytes matters to rings only, which carry few.
        let payload_bytes = body.len() as u16;
        (Packet { handler: verb, kind: kind::ROUTED, payload_bytes, address: token, arguments }, body)
    }

    /// Its packet and a private copy of what goes with that, to be answered to `token`.
    pub fn to_private(self, token: u64) -> (Packet, Box<[u8]>) {
        let mut room = Room::new();
        let (packet, body) = self.encode(token, &mut room);
        let mut payload = vec![0; body.len()].into_boxed_slice();
        // SAFETY: the operation's bytes can be read, and there is room for all.
        unsafe { body.copy(0, &mut payload) };
        (packet, payload)
    }

    /// What a peer asks of `rank`, which is this one; `None` for what is no operation.
    pub fn decode(rank: usize, packet: &Packet, payload: &'a [u8]) -> Option<Operation<'a>> {
        let [space, key, offset, a, b, c] = packet.arguments;
        let at = Target::decode(rank, [space, key, offset])?;
        Some(Operation { at, act: Act::decode(packet.handler, [a, b, c], payload)?, manner: Manner::Plain })
    }
}

impl<'a> Act<'a> {
    /// The third operand is for acts that are never but in the plain manner, whose place it takes.
    fn encode<'r>(&self, room: &'r mut Room) -> (u16, [u64; 3], Data<'a>, &'r [u8])
    where
        'a: 'r,
    {
        let with_data = |verb, [a, b, c]: [u64; 3], data| (verb, [a, b, c], data, &[] as &[u8]);
        let plain = |verb, [a, b]: [u64; 2]| with_data(verb, [a, b, 0], Data::EMPTY);
        match *self {
            Act::Push(data) => with_data(verb::PUSH, [0; 3], data),
            Act::PushThen { data, then, tail } => {
                let (form, tail) = tail.pack(room);
                (verb::PUSH_THEN, [then, form, 0], data, tail)
            }
            Act::PushAdd { data, then, amount } => with_data(verb::PUSH_ADD, [then, amount, 0], data),
            Act::PushBlocks { data, block, distance } => with_data(verb::PUSH_BLOCKS, [block, distance, 0], data),
            Act::PushMarked { data, unit, units } => with_data(verb::PUSH_MARKED, [unit, units, 0], data),
            Act::PullBlocks { block, count, distance, position } => {
                with_data(verb::PULL_BLOCKS, [position, two(block, count), distance], Data::EMPTY)
            }
            Act::PullMarked { marks, unit, units, position } => {
                with_data(verb::PULL_MARKED, [position, two(unit, units), 0], marks)
            }
            Act::Word(value) => plain(verb::WORD, [value, 0]),
            Act::Change(change) => {
                let (verb, operands) = verb::of_change(change);
                plain(verb, operands)
            }
            Act::Pull { bytes, position } => plain(verb::PULL, [bytes, position]),
            Act::Copy { bytes, position, is_last, onward } => {
                with_data(verb::COPY, [bytes, position, u64::from(is_last)], onward)
            }
            Act::PushThrough { data, skip } => with_data(verb::PUSH_THROUGH, [skip, 0, 0], data),
            Act::PullThrough { bytes, skip } => plain(verb::PULL_THROUGH, [bytes, skip]),
            Act::Arrive { number } => plain(verb::ARRIVE, [number, 0]),
            Act::Pin { bytes } => plain(verb::PIN, [bytes, 0]),
            Act::Unpin => plain(verb::UNPIN, [0; 2]),
            Act::Open => plain(verb::OPEN, [0; 2]),
            Act::Settle => plain(verb::SETTLE, [0; 2]),
        }
    }

    fn decode(verb: u16, [a, b, c]: [u64; 3], payload: &'a [u8]) -> Option<Act<'a>> {
        let act = match verb {
            verb::PUSH => Act::Push(payload.into()),
            verb::PUSH_THEN => {
                let (data, tail) = Tail::split(b, payload)?;
                Act::PushThen { data: data.into(), then: a, tail }
            }
            verb::PUSH_ADD => Act::PushAdd { data: payload.into(), then: a, amount: b },
            verb::WORD => Act::Word(a),
            verb::PULL => Act::Pull { bytes: a, position: b },
            verb::PUSH_BLOCKS => Act::PushBlocks { data: payload.into(), block: a, distance: b },
            verb::PUSH_MARKED => Act::PushMarked { data: payload.into(), unit: a, units: b },
            verb::PULL_BLOCKS => Act::PullBlocks { block: b as u32, count: (b >> 32) as u32, distance: c, position: a },
            verb::PULL_MARKED => {
                Act::PullMarked { marks: payload.into(), unit: b as u32, units: (b >> 32) as u32, position: a }
            }
            verb::COPY => Act::Copy { bytes: a, position: b, is_last: c != 0, onward: payload.into() },
            verb::PUSH_THROUGH => Act::PushThrough { data: payload.into(), skip: a },
            verb::PULL_THROUGH => Act::PullThrough { bytes: a, skip: b },
            verb::ARRIVE => Act::Arrive { number: a },
            verb::PIN => Act::Pin { bytes: a },
            verb::UNPIN => Act::Unpin,
            verb::OPEN => Act::Open,
            verb::SETTLE => Act::Settle,
            verb => Act::Change(verb::change(verb, [a, b])?),
        };
        act.is_consistent(payload).then_some(act)
    }

    /// Whether what a peer says of parts can be: their number and length fit the payload, and can be counted.
    fn is_consistent(&self, payload: &[u8]) -> bool {
        let bytes = payload.len() as u64;
        match *self {
            Act::PushBlocks { block, distance, .. } => {
                block > 0 && bytes.is_multiple_of(block) && blocks_span(block, bytes / block, distance).is_some()
            }
            Act::PullBlocks { block, count, distance, .. } => {
                blocks_span(block.into(), count.into(), distance).is_some()
            }
            Act::PushMarked { unit, units, .. } => marked_bytes(payload, unit, units)
                .is_some_and(|(marks, marked)| units.checked_mul(unit).is_some() && marks + marked == bytes),
            Act::PullMarked { unit, units, .. } => {
                marked_bytes(payload, unit.into(), units.into()).is_some_and(|(marks, _)| marks == bytes)
            }
            _ => true,
        }
    }

    /// How many bytes travel: with it, or with its answer.
    pub fn carried(&self) -> u64 {
        match *self {
            Act::PullBlocks { block, count, .. } => u64::from(block) * u64::from(count),
            Act::PushBlocks { data, .. } | Act::PushMarked { data, .. } | Act::PushThrough { data, .. } => {
                data.len() as u64
            }
            Act::PullThrough { bytes, .. } => bytes,
            Act::Pin { .. } => 0,
            // It travels between others, who look at that.
            Act::Copy { onward, .. } => onward.len() as u64,
            // At most, and then the marks are few.
            Act::PullMarked { unit, units, .. } => u64::from(unit) * u64::from(units),
            _ => self.span(),
        }
    }

    /// What it needs besides: so many bytes at an offset beside the target.
    pub fn beside(&self) -> Option<(u64, u64)> {
        match self {
            Act::PushThen { then, tail, .. } => Some((*then, tail.bytes())),
            Act::PushAdd { then, .. } => Some((*then, 8)),
            _ => None,
        }
    }

    /// The bytes that it writes, if it is a push.
    pub fn data(&self) -> Option<Data<'a>> {
        match self {
            Act::Push(data) | Act::PushThen { data, .. } | Act::PushAdd { data, .. } => Some(*data),
            _ => None,
        }
    }

    /// Such a push of other bytes.
    pub fn with_data(self, data: Data<'a>) -> Act<'a> {
        match self {
            Act::PushThen { then, tail, .. } => Act::PushThen { data, then, tail },
            Act::PushAdd { then, amount, .. } => Act::PushAdd { data, then, amount },
            _ => Act::Push(data),
        }
    }

    /// How many bytes of the target it needs.
    pub fn span(&self) -> u64 {
        match self {
            Act::Push(data) | Act::PushThen { data, .. } | Act::PushAdd { data, .. } => data.len() as u64,
            Act::Change(Change::Half(_)) => 4,
            Act::Word(_) | Act::Change(_) | Act::PushThrough { .. } | Act::PullThrough { .. } => 8,
            // At least: how many ranks there are, its target knows.
            Act::Arrive { .. } => 8,
            Act::Pull { bytes, .. } => *bytes,
            Act::PushBlocks { data, block, distance } => {
                blocks_span(*block, data.len() as u64 / (*block).max(1), *distance).unwrap_or(u64::MAX)
            }
            Act::PullBlocks { block, count, distance, .. } => {
                blocks_span((*block).into(), (*count).into(), *distance).unwrap_or(u64::MAX)
            }
            Act::PushMarked { unit, units, .. } => unit.saturating_mul(*units),
            Act::PullMarked { unit, units, .. } => u64::from(*unit) * u64::from(*units),
            Act::Copy { bytes, .. } | Act::Pin { bytes } => *bytes,
            Act::Open | Act::Settle | Act::Unpin => 0,
        }
    }
}

/// Two numbers in one operand.
fn two(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// From the first byte of the first block to the last of the last; `None` if that cannot be counted.
fn blocks_span(block: u64, count: u64, distance: u64) -> Option<u64> {
    match count {
        0 => Some(0),
        count => (count - 1).checked_mul(distance)?.checked_add(block),
    }
}

/// How many bytes the marks of so many units have, which begin the payload, and how many the marked units; `None` if there are not as
/// many marks.
fn marked_bytes(payload: &[u8], unit: u64, units: u64) -> Option<(u64, u64)> {
    let marks = units.div_ceil(64).checked_mul(8)?;
    let words = payload.get(..usize::try_from(marks).ok()?)?.as_chunks::<8>().0;
    let last = units % 64;
    let count = words.iter().enumerate().map(|(index, word)| {
        let word = u64::from_le_bytes(*word);
        let is_cut = last > 0 && index + 1 == words.len();
        u64::from((if is_cut { word & !(u64::MAX << last) } else { word }).count_ones())
    });
    Some((marks, count.sum::<u64>().checked_mul(unit)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::atomic::Atomic;
    use proptest::prelude::*;

    fn show(operation: &Operation<'_>) -> String {
        let bytes = |data: &Data<'_>| {
            let mut bytes = vec![0; data.len()];
            // SAFETY: made of slices that are alive.
            unsafe { data.body(&[]).copy(0, &mut bytes) };
            bytes
        };
        let act = match &operation.act {
            Act::Push(data) => format!("push {:?}", bytes(data)),
            Act::PushThen { data, then, tail } => {
                format!("push {:?} then {:?} at {then}", bytes(data), tail.words().collect::<Vec<_>>())
            }
            Act::PushAdd { data, then, amount } => format!("push {:?} then add {amount} at {then}", bytes(data)),
            Act::PushBlocks { data, block, distance } => format!("push {:?} by {block} of {distance}", bytes(data)),
            Act::PushMarked { data, unit, units } => format!("push {:?} of {units} by {unit}", bytes(data)),
            Act::PushThrough { data, skip } => format!("push {:?} through, after {skip}", bytes(data)),
            Act::PullMarked { marks, unit, units, position } => {
                format!("pull {:?} of {units} by {unit} at {position}", bytes(marks))
            }
            Act::Copy { bytes: count, position, is_last, onward } => {
                format!("copy {count} at {position} to {:?}, {is_last}", bytes(onward))
            }
            other => format!("{other:?}"),
        };
        format!("{act} at {:?}", operation.at)
    }

    /// Some networks take messages of up to 64 bytes without further ado, of which a transport wants some.
    #[test]
    fn a_word_and_its_flag_are_a_short_packet() {
        let (at, mut room) = (Target::in_heap(1 << 20, 1 << 31), Room::new());
        let operation = Operation::push_then(at, &[7; 8], 1 << 31, &[1]);
        let (packet, body) = operation.encode(super::super::token::counted(255, 1 << 20, true), &mut room);
        assert!(crate::transport::packet::encode(&packet, body.len() as u32).len() + body.len() <= 31);
    }

    /// As a rank sends it that has just taken a message itself: what tells of that goes along.
    #[test]
    fn a_short_message_of_a_slot_is_a_short_packet() {
        let (slot, mut room) = (10 << 20, Room::new());
        let bytes = |operation: &Operation<'_>, room: &mut Room| {
            let (packet, body) = operation.encode(0, room);
            crate::transport::packet::encode(&packet, body.len() as u32).len() + body.len()
        };
        let number = (1 << 16) - 1;
        let notice = [number, 8 << 8 | 0x10, number];
        let message = Operation::push_then(Target::in_heap(1, slot + 192), &[7; 8], slot, &notice);
        let taken = Operation::word(Target::in_heap(1, slot + 128), number << 1).in_manner(Manner::Patient);
        assert_eq!((bytes(&message, &mut room), bytes(&taken, &mut room)), (29, 13));
    }

    proptest! {
        #[test]
        fn operations_survive_a_packet(
            words in any::<[u64; 2]>(), which in 0usize..24, data in proptest::collection::vec(any::<u8>(), 0..100),
            tail in proptest::collection::vec(any::<u64>(), 0..=8), (id, key, offset) in any::<(u32, u64, u64)>(),
        ) {
            let [a, b] = words;
            // All are marked.
            let units = data.len() as u64 % 64;
            let marked: Vec<u8> = u64::MAX.to_le_bytes().into_iter().cycle().take(8 * units.div_ceil(64) as usize)
                .chain(data[..units as usize].iter().copied()).collect();
            let marks = &marked[..8 * units.div_ceil(64) as usize];
            let (data, tail): (Data<'_>, Tail<'_>) = (data[..].into(), Tail::Words(&tail));
            let acts = [
                Act::Push(data), Act::PushThen { data, then: a, tail }, Act::Word(a), Act::Change(Change::Word(Atomic::Add(a))),
                Act::Change(Change::Word(Atomic::Swap(a))), Act::Change(Change::Half(Atomic::CompareSwap { old: a, new: b })),
                Act::Change(Change::Word(Atomic::And(a))), Act::Change(Change::Half(Atomic::Or(a))),
                Act::Change(Change::Word(Atomic::Xor(a))), Act::Change(Change::AddFloat(a)),
                Act::Pull { bytes: a, position: b }, Act::Open, Act::Settle,
                Act::PushAdd { data, then: a, amount: b },
                Act::PushBlocks { data, block: data.len().max(1) as u64, distance: a },
                Act::PushMarked { data: marked[..].into(), unit: 1, units },
                Act::PullBlocks { block: a as u32, count: (b % 1000) as u32, distance: b % (1 << 40), position: a },
                Act::PullMarked { marks: marks.into(), unit: a as u32, units: units as u32, position: b },
                Act::Copy { bytes: a, position: b, is_last: a % 2 == 0, onward: data },
                Act::PushThrough { data, skip: a }, Act::PullThrough { bytes: a, skip: b }, Act::Arrive { number: a },
                Act::Pin { bytes: a }, Act::Unpin,
            ];
            let at = Target::decode(3, [id as u64 % (1 << 29), key, offset]).unwrap();
            let operation = Operation { at, act: acts[which], manner: Manner::Plain };
            let mut room = Room::new();
            let (packet, body) = operation.encode(77, &mut room);
            let mut payload = vec![0; body.len()];
            // SAFETY: made of slices that are alive.
            unsafe { body.copy(0, &mut payload) };
            prop_assert_eq!(packet.address, 77);
            let decoded = Operation::decode(3, &packet, &payload).unwrap();
            prop_assert_eq!(show(&decoded), show(&operation));
        }

        #[test]
        fn whatever_a_peer_sends_is_read_or_refused(
            handler in any::<u16>(), payload in proptest::collection::vec(any::<u8>(), 0..100),
            arguments in proptest::array::uniform6(prop_oneof![any::<u64>(), 0u64..100, Just(1 << 32 | 1), Just(u64::MAX)]),
        ) {
            let handler = (handler % 24) | (handler & verb::HALF);
            let packet = Packet { handler, kind: kind::ROUTED, arguments, ..Packet::default() };
            if let Some(operation) = Operation::decode(0, &packet, &payload) {
                let act = operation.act;
                let is_pull = matches!(
                    act,
                    Act::Pull { .. } | Act::PullBlocks { .. } | Act::PullMarked { .. } | Act::PullThrough { .. }
                );
                prop_assert!(is_pull || act.carried() <= payload.len().max(8) as u64, "{:?}", act);
                // What it writes begins and ends where it says.
                match act {
                    Act::PushBlocks { data, block, distance } => {
                        let last = (data.len() as u64 / block).saturating_sub(1) * distance;
                        prop_assert!(data.len() == 0 || act.span() == last + block);
                    }
                    Act::PushMarked { data, unit, units } => {
                        prop_assert!(act.span() == unit * units && data.len() as u64 >= units.div_ceil(64) * 8);
                    }
                    _ => {}
                }
            }
        }
    }
}
