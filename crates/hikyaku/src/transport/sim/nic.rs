//! Simulated network interfaces that reach memory by themselves: what is registered there, what they have under way.
//!
//! An operation is cut into pieces, each a packet that the interface of the target performs when it arrives, without the rank, and
//! answers. So it costs what a packet costs, and passes links that repair what a wire loses.
//!
//! ```text
//!   rank: put          network interface               network interface of the target
//!   Work, its pieces   [t] reads the source, sends -->  writes, answers
//!                      all answered: [t] completed <--
//! ```
//! With [`NicOrder::AnyOrder`] pieces leave, and read their source, at a time left to chance, and so pass each other and packets; a
//! fence waits until everything before it is done, and a put's word until all bytes are there.
//!
//! A rank that dies takes its registered memory along at that moment, one that leaves when the others hear of it. What is under way
//! to a rank that is gone or cut off is lost; what a dead rank has under way itself ends without a word.

use super::agenda::What;
use super::course::{Course, Time};
use super::wire::{Stages, Wire};
use crate::transport::Parcel;
use crate::transport::core::Token;
use crate::transport::packet::{kind, verb};
use crate::transport::remote_memory::{
    Change, End, Get, Put, Registration, RemoteFailure, RemoteKey, RemoteLimits, RemotePlace, Start,
};
use crate::transport::shm::ring::Packet;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// In which order simulated network interfaces write memory of other hosts, and what they can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NicOrder {
    /// Everything of a pair of ranks in the order of starting, packets too.
    InOrder,
    /// In any order, left to chance, as far as fences and words allow.
    AnyOrder,
    /// In any order, and nothing but transfers of some length in memory that is never taken back, as where a processor does it for
    /// the network. Some are given up, left to chance.
    TransfersOnly,
    /// The same in areas alone, as where an adapter reaches memory by its pages; these can be taken back.
    AreasOnly,
}

impl NicOrder {
    /// What such an interface promises.
    pub(super) fn limits(self) -> RemoteLimits {
        let in_order = self == NicOrder::InOrder;
        let all = RemoteLimits::new(INJECT_MAX);
        match self {
            NicOrder::InOrder | NicOrder::AnyOrder => {
                RemoteLimits { in_order, packets_follow: in_order, atomics_are_shared: true, ..all }
            }
            NicOrder::TransfersOnly => {
                RemoteLimits { transfer_min: TRANSFER_MIN, carries_words: false, revokes: false, ..all }
            }
            NicOrder::AreasOnly => RemoteLimits { transfer_min: TRANSFER_MIN, carries_words: false, pins: true, ..all },
        }
    }
}

/// Bytes of the shortest transfer, where there are only such.
const TRANSFER_MIN: usize = INJECT_MAX + 1;
/// Of so many transfers one is given up, there.
const WITHDRAWN_ONCE_IN: u64 = 4;

/// Puts of up to so many bytes are read when they are started.
pub(super) const INJECT_MAX: usize = 256;
/// Bytes of a piece, where pieces pass each other.
const PIECE_BYTES: usize = 4096;

/// All of them.
pub(super) struct Nics {
    pub order: NicOrder,
    /// By how much operations pass each other at most.
    disorder: Time,
    /// By their keys.
    regions: BTreeMap<u64, Region>,
    registered: u64,
    /// Where they pass packets, they have stages of their own.
    pub stages: Vec<Stages>,
    /// By their numbers, in the order of starting.
    works: BTreeMap<u64, Work>,
    started: u64,
    /// The same by (initiator, target).
    pairs: HashMap<(usize, usize), VecDeque<u64>>,
}

/// Registered memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    pub rank: usize,
    pub start: *mut u8,
    pub bytes: u64,
}

/// An operation under way.
#[derive(Debug)]
struct Work {
    from: usize,
    to: usize,
    token: Token,
    what: Doing,
    fence: bool,
    /// What was read when it was started.
    injected: Option<Box<[u8]>>,
    /// Pieces with bytes; what has none is one piece.
    pieces: u64,
    answered: u64,
    has_begun: bool,
    /// The bytes at the initiator are not lent any more.
    reclaimed: bool,
    end: Option<End>,
}

#[derive(Debug)]
enum Doing {
    Put(Put),
    Get(Get),
    Change(Change),
}

// SAFETY: the addresses are followed only while their owner has promised that they can be: registered memory until it is
// deregistered, lent bytes until the operation has ended or they are reclaimed.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Send for Work {}

/// The last piece of a put whose word must come after all others.
const WORD_ALONE: u64 = u64::MAX;

impl Nics {
    /// For so many ranks.
    pub fn new(order: NicOrder, disorder: Time, size: usize) -> Nics {
        Nics {
            order,
            disorder,
            stages: vec![Stages::default(); if order == NicOrder::InOrder { 0 } else { size }],
            regions: BTreeMap::new(),
            registered: 0,
            works: BTreeMap::new(),
            started: 0,
            pairs: HashMap::new(),
        }
    }

    pub fn register(&mut self, region: Region) -> Registration {
        self.registered += 1;
        // Not the numbers that offsets and ranks have.
        let key = self.registered << 32 | 0x5eed;
        self.regions.insert(key, region);
        Registration { handle: key, key: RemoteKey { base: 0, key, bytes: region.bytes } }
    }

    pub fn deregister(&mut self, handle: u64) {
        self.regions.remove(&handle);
    }

    /// The memory of a rank is not reached any more.
    pub fn forget_regions(&mut self, rank: usize) {
        self.regions.retain(|_, region| region.rank != rank);
    }

    /// Some bytes of a rank that a peer named.
    pub fn find(&self, rank: usize, key: u64, offset: u64, bytes: u64) -> Option<*mut u8> {
        let region = self.regions.get(&key).filter(|region| region.rank == rank)?;
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= region.bytes);
        inside.then(|| region.start.wrapping_add(offset as usize))
    }

    /// The bytes lent to an operation are not used any more.
    pub fn reclaim(&mut self, from: usize, token: Token) {
        if let Some(work) = self.works.values_mut().find(|work| work.from == from && work.token == token) {
            work.reclaimed = true;
        }
    }

    /// Whose operation it is and how it has ended, if it has; it is none any more.
    pub fn take_ended(&mut self, number: u64) -> Option<(usize, usize, Token, End)> {
        let end = self.works.get(&number)?.end?;
        let work = self.works.remove(&number)?;
        self.pair(work.from, work.to).retain(|other| *other != number);
        Some((work.from, work.to, work.token, end))
    }

    fn pair(&mut self, from: usize, to: usize) -> &mut VecDeque<u64> {
        self.pairs.entry((from, to)).or_default()
    }
}

impl Course {
    pub(super) fn nics(&mut self) -> &mut Nics {
        self.nics.as_mut().expect("asked for where there are some")
    }

    pub(super) fn start_put(&mut self, wire: &Wire, from: usize, to: usize, put: &Put, token: Token) -> Start {
        self.start(wire, from, to, Doing::Put(*put), put.bytes, put.fence, token)
    }

    pub(super) fn start_get(&mut self, wire: &Wire, from: usize, to: usize, get: &Get, token: Token) -> Start {
        self.start(wire, from, to, Doing::Get(*get), get.bytes, get.fence, token)
    }

    pub(super) fn start_change(&mut self, wire: &Wire, from: usize, to: usize, change: &Change, token: Token) -> Start {
        self.start(wire, from, to, Doing::Change(*change), 8, change.fence, token)
    }

    #[expect(clippy::too_many_arguments, reason = "what an operation consists of")]
    fn start(
        &mut self,
        wire: &Wire,
        from: usize,
        to: usize,
        what: Doing,
        bytes: usize,
        fence: bool,
        token: Token,
    ) -> Start {
        if self.ranks[from].dead {
            // Its program runs for a moment more, and hears nothing.
            return Start::Started;
        }
        let (pieces, crowd_max) = (bytes.div_ceil(self.piece_bytes()).max(1) as u64, self.crowd_max);
        let nics = self.nics();
        if nics.pair(from, to).len() >= crowd_max {
            return Start::Busy;
        }
        nics.started += 1;
        let number = nics.started;
        let head = what.packet(number, 0);
        let injected = match &what {
            // SAFETY: whoever starts a put promises that its bytes can be read now.
            Doing::Put(put) if put.bytes <= INJECT_MAX => Some(unsafe { read(put.from, put.bytes) }),
            _ => None,
        };
        let work = Work {
            from,
            to,
            token,
            what,
            fence,
            injected,
            pieces,
            answered: 0,
            has_begun: false,
            reclaimed: false,
            end: None,
        };
        nics.works.insert(number, work);
        nics.pair(from, to).push_back(number);
        self.ranks[from].under_way += 1;
        let start = self.spend(wire, from, &head);
        if self.nics().order == NicOrder::InOrder {
            self.nics().works.get_mut(&number).expect("just begun").has_begun = true;
            (0..pieces).for_each(|piece| self.send_piece(wire, number, piece, start));
        } else {
            self.begin_if_free(number, start);
        }
        Start::Started
    }

    fn piece_bytes(&mut self) -> usize {
        let most = self.payload_max() - crate::transport::TAIL_BYTES_MAX;
        if self.nics().order == NicOrder::InOrder { most } else { most.min(PIECE_BYTES) }
    }

    /// Begins an operation, unless it waits for those before it.
    fn begin_if_free(&mut self, number: u64, start: Time) {
        let nics = self.nics();
        let Some(work) = nics.works.get(&number).filter(|work| !work.has_begun) else { return };
        let (from, to, pieces) = (work.from, work.to, work.pieces);
        if work.fence && nics.pair(from, to).front() != Some(&number) {
            return;
        }
        nics.works.get_mut(&number).expect("seen").has_begun = true;
        let (disorder, order) = (nics.disorder, nics.order);
        let gives_up = matches!(order, NicOrder::TransfersOnly | NicOrder::AreasOnly);
        if gives_up && self.chance.next().is_multiple_of(WITHDRAWN_ONCE_IN) {
            return self.finish(number, Err(RemoteFailure::Withdrawn));
        }
        for piece in 0..pieces {
            let later = self.chance.next() % disorder.max(1);
            self.plan(start + later, What::Piece { number, piece });
        }
    }

    /// Begins what has waited for operations of the same pair: the first that is left, since only fences wait.
    pub(super) fn begin_waiting(&mut self, from: usize, to: usize) {
        if let Some(first) = self.nics().pair(from, to).front().copied() {
            self.begin_if_free(first, self.now);
        }
    }

    /// Sends a piece of an operation: reads its bytes now.
    pub(super) fn send_piece(&mut self, wire: &Wire, number: u64, piece: u64, start: Time) {
        let (size, order) = (self.piece_bytes(), self.nics().order);
        let Some(work) = self.nics().works.get(&number).filter(|work| work.end.is_none()) else { return };
        let (from, to) = (work.from, work.to);
        if work.reclaimed || self.ranks[to].forgotten || self.has_lost(from, to) {
            return self.finish(number, Err(RemoteFailure::Lost));
        }
        let work = &self.nics().works[&number];
        let at = if piece == WORD_ALONE { 0 } else { piece * size as u64 };
        let mut packet = work.what.packet(number, at);
        let mut payload: Box<[u8]> = Box::default();
        match &work.what {
            Doing::Put(put) => {
                let bytes = if piece == WORD_ALONE { 0 } else { size.min(put.bytes - at as usize) };
                payload = match &work.injected {
                    Some(injected) => injected.clone(),
                    // SAFETY: lent by whoever started it, and not reclaimed; inside its bytes.
                    None => unsafe { read(put.from.add(at as usize), bytes) },
                };
                let is_last = piece == WORD_ALONE || piece + 1 == work.pieces;
                let with_word = is_last && (order == NicOrder::InOrder || work.pieces == 1 || piece == WORD_ALONE);
                packet.arguments[5] = if with_word { put.flags() } else { 0 };
            }
            Doing::Get(get) => packet.arguments[2] = size.min(get.bytes - at as usize) as u64,
            Doing::Change(_) => {}
        }
        self.carry(wire, to, start, Parcel { source: from, packet, payload: payload.into() });
    }

    /// An answer has come: one piece of an operation is done, or is not.
    pub(super) fn take_done(&mut self, wire: &Wire, parcel: &Parcel) {
        let number = parcel.packet.address;
        let [code, before, position, ..] = parcel.packet.arguments;
        let (now, order) = (self.now, self.nics().order);
        let Some(work) = self.nics().works.get_mut(&number).filter(|work| work.end.is_none()) else { return };
        work.answered += 1;
        let needs_word = matches!(&work.what, Doing::Put(put) if put.then.is_some() || put.event)
            && order != NicOrder::InOrder
            && work.pieces > 1;
        if code != DONE {
            let why = if code == LOST { RemoteFailure::Lost } else { RemoteFailure::Refused };
            return self.finish(number, Err(why));
        }
        if let Doing::Get(get) = &work.what
            && !work.reclaimed
        {
            // SAFETY: lent by whoever started it, and not reclaimed; as many as were asked for.
            unsafe {
                let into = get.into.add(position as usize);
                crate::memory::copy::copy(into, parcel.payload.as_ptr(), parcel.payload.len());
            }
        }
        if work.answered == work.pieces && needs_word {
            self.send_piece(wire, number, WORD_ALONE, now);
        } else if work.answered >= work.pieces {
            self.finish(number, Ok(before));
        }
    }

    /// An operation has ended, which its rank hears of next.
    fn finish(&mut self, number: u64, end: End) {
        if let Some(work) = self.nics().works.get_mut(&number).filter(|work| work.end.is_none()) {
            work.end = Some(end);
            self.plan(self.now, What::Finished { number });
        }
    }

    /// What a rank has under way to another is lost.
    pub(super) fn lose_works(&mut self, concerns: impl Fn(usize, usize) -> bool) {
        let Some(nics) = &self.nics else { return };
        let lost: Vec<u64> =
            nics.works.iter().filter(|(_, work)| concerns(work.from, work.to)).map(|(number, _)| *number).collect();
        lost.into_iter().for_each(|number| self.finish(number, Err(RemoteFailure::Lost)));
    }

    /// A rank is dead: nothing reaches its memory, and what it has under way does not go on.
    pub(super) fn bury(&mut self, rank: usize) {
        if let Some(nics) = &mut self.nics {
            nics.forget_regions(rank);
            nics.works.retain(|_, work| work.from != rank);
            nics.pairs.retain(|(from, _), _| *from != rank);
        }
    }
}

/// # Safety
/// So many bytes can be read there; others may write to them.
unsafe fn read(from: *const u8, bytes: usize) -> Box<[u8]> {
    let mut copy = vec![0; bytes].into_boxed_slice();
    // SAFETY: the caller's promise.
    unsafe { crate::memory::copy::copy(copy.as_mut_ptr(), from, bytes) };
    copy
}

/// How a piece was answered.
pub(super) const DONE: u64 = 0;
pub(super) const REFUSED: u64 = 1;
pub(super) const LOST: u64 = 2;

/// What a put's last piece carries besides bytes.
pub(super) const WITH_WORD: u64 = 1;
pub(super) const WITH_EVENT: u64 = 2;

trait Flags {
    fn flags(&self) -> u64;
}

impl Flags for Put {
    fn flags(&self) -> u64 {
        (if self.then.is_some() { WITH_WORD } else { 0 }) | if self.event { WITH_EVENT } else { 0 }
    }
}

impl Doing {
    /// A packet between interfaces: of the piece whose bytes begin at `at`.
    fn packet(&self, number: u64, at: u64) -> Packet {
        let place = |place: RemotePlace| [place.key.key, place.offset];
        let (handler, arguments) = match self {
            Doing::Put(put) => {
                let [key, offset] = place(put.to);
                let ([then_key, then], word) = put.then.map_or(([0; 2], 0), |(then, word)| (place(then), word));
                (verb::PUSH, [key, offset + at, then_key, then, word, 0])
            }
            Doing::Get(get) => {
                let [key, offset] = place(get.from);
                (verb::PULL, [key, offset + at, 0, at, 0, 0])
            }
            Doing::Change(change) => {
                let [key, offset] = place(change.at);
                let (verb, [a, b]) = verb::of_atomic(change.operation);
                (verb, [key, offset, a, b, 0, if change.event { WITH_EVENT } else { 0 }])
            }
        };
        Packet { handler, kind: kind::NIC, payload_bytes: 0, address: number, arguments }
    }
}
