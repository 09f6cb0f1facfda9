//! Remote operations where there is no pointer: private memory of another process, any memory of a far rank.
//!
//! Push and pull go by one system call ([`crate::transport::shm::cross`]) where the kernel allows it. Words and
//! atomics, and everything where it does not, are messages to the owner's network interface, which performs the
//! operation and answers. That needs the owner to make progress.

use super::account::{Account, StatusWord};
use super::area::Opened;
use super::call::CallSlot;
use super::engine::{Outbox, answer, refuse};
use super::message::Calling;
use super::operation::Atomic;
use super::port::Port;
use super::wait::{By, Progress};
use super::{NI_PORT, Ni, UNREACHED};
use crate::error::{Error, Refusal, Result};
use crate::memory::copy;
use crate::planted::{Bug, planted};
use crate::sync::barrier::STEP_COUNT;
use crate::sync::bell::ANY;
use crate::transport::hardware::Multicast;
use crate::transport::packet::{PREPARED, kind, verb};
use crate::transport::shm::cross;
use crate::transport::shm::layout::{AreaKind, Hearing, Local};
use crate::transport::shm::ring::{PAYLOAD_MAX, Packet};
use crate::transport::{Parcel, TAIL_BYTES_MAX};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Marks the token of a push or word, whose answer is only counted.
const COUNTED: u64 = 1 << 63;
/// In place of the token of an operation that nobody answers.
const UNANSWERED: u64 = 0;

/// How long the end of a process may take to be told.
const NEWS_PATIENCE: Duration = Duration::from_secs(1);

/// Bytes that only their owner's network interface reaches, as it finds them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub rank: usize,
    /// An area of the rank, or [`HEAP`], [`MEETING`] or [`WINDOW`].
    area: u32,
    key: u64,
    pub offset: u64,
}

/// In place of an area: the words on which ranks meet in a collective call of the job. Its key is the number of the job.
const MEETING: u32 = u32::MAX;

/// In place of an area: a window of the rank. Its key is the window's name.
const WINDOW: u32 = u32::MAX - 1;

/// In place of an area: the heap of the rank. Its key is the number of the job.
const HEAP: u32 = u32::MAX - 2;

impl Target {
    pub fn in_window(rank: usize, name: u64, offset: usize) -> Target {
        Target { rank, area: WINDOW, key: name, offset: offset as u64 }
    }

    /// At an offset of the rank's heap.
    pub fn in_heap(ni: &Ni, rank: usize, offset: usize) -> Target {
        Target { rank, area: HEAP, key: ni.job, offset: offset as u64 }
    }

    /// What the rank hears in a step of a collective call of the job.
    pub fn hearing(ni: &Ni, rank: usize, turn: usize, step: usize) -> Target {
        let offset = (turn * STEP_COUNT + step) * size_of::<Hearing>();
        Target { rank, area: MEETING, key: ni.job, offset: offset as u64 }
    }

    fn of(area: &Opened, offset: usize) -> Target {
        Target { rank: area.rank, area: area.id, key: area.key, offset: offset as u64 }
    }

    fn plus(self, bytes: usize) -> Target {
        Target { offset: self.offset + bytes as u64, ..self }
    }
}

impl Port {
    /// Pushes to an area; `status` is written when the bytes are there.
    ///
    /// # Safety
    /// So many bytes can be read at `data`; peers may change them meanwhile.
    pub(crate) unsafe fn push_area(
        &self,
        area: &Opened,
        offset: usize,
        data: *const u8,
        bytes: usize,
        status: Option<StatusWord>,
    ) -> Result<()> {
        let ni = &*self.ni;
        let inside = self.guard_at(area.rank).enter(ni.fences);
        area.check(ni)?;
        if let Some(target) = area.pointer(ni, offset) {
            // SAFETY: in bounds by the resolution, live by the key checked inside the guard; the caller's promise.
            unsafe { copy::copy_away(target, data, bytes) };
        } else if let Some(process) = ni.crossing(area.rank) {
            // SAFETY: the caller's promise.
            let written = unsafe { cross::write(process, area.start + offset as u64, data, bytes) };
            if let Err(error) = written {
                // Whoever revokes an area must not wait for the news too.
                drop(inside);
                return Err(ni.why_unreached(area.rank, error));
            }
        } else {
            drop(inside);
            // SAFETY: the caller's promise.
            let data = unsafe { copy::private(data, bytes) };
            return self.push_routed(Target::of(area, offset), &data, status);
        }
        drop(inside);
        if let Some((word, value)) = status {
            self.set_status(word, value);
        }
        Ok(())
    }

    /// # Safety
    /// So many bytes can be written at `into`; peers may change them meanwhile.
    pub(crate) unsafe fn pull_area(&self, area: &Opened, offset: usize, into: *mut u8, bytes: usize) -> Result<()> {
        let ni = &*self.ni;
        let inside = self.guard_at(area.rank).enter(ni.fences);
        area.check(ni)?;
        if let Some(source) = area.pointer(ni, offset) {
            // SAFETY: in bounds by the resolution, live by the key checked inside the guard.
            unsafe { copy::copy(into, source, bytes) };
            return Ok(());
        }
        if let Some(process) = ni.crossing(area.rank) {
            // SAFETY: the caller's promise.
            let read = unsafe { cross::read(process, area.start + offset as u64, into, bytes) };
            drop(inside);
            return read.map_err(|error| ni.why_unreached(area.rank, error));
        }
        drop(inside);
        // SAFETY: the caller's promise.
        unsafe { self.pull_routed(Target::of(area, offset), into, bytes) }.map_err(|error| area.why(error))
    }

    pub(crate) fn word_area(&self, area: &Opened, offset: usize, value: u64) -> Result<()> {
        let ni = &*self.ni;
        if self.has_routed() && ni.is_near(area.rank) {
            self.settle(area.rank)?;
        }
        {
            let _inside = self.guard_at(area.rank).enter(ni.fences);
            area.check(ni)?;
            if let Some(target) = area.pointer(ni, offset) {
                // SAFETY: in bounds, live, aligned (areas of `u64` are opened only where they are).
                unsafe { AtomicU64::from_ptr(target.cast()) }.store(value, Ordering::Release);
                ni.notify(area.rank, ni.watch_of(target));
                return Ok(());
            }
        }
        self.word_routed(Target::of(area, offset), value)
    }

    pub(crate) fn atomic_area(&self, area: &Opened, offset: usize, operation: Atomic) -> Result<u64> {
        let ni = &*self.ni;
        {
            let _inside = self.guard_at(area.rank).enter(ni.fences);
            area.check(ni)?;
            if let Some(target) = area.pointer(ni, offset) {
                // SAFETY: in bounds, live, aligned.
                let before = operation.perform(unsafe { AtomicU64::from_ptr(target.cast()) });
                ni.notify(area.rank, ni.watch_of(target));
                return Ok(before);
            }
        }
        self.atomic_routed(Target::of(area, offset), operation).map_err(|error| area.why(error))
    }

    /// Whether this port has routed operations that may be under way.
    #[inline(always)]
    pub(crate) fn has_routed(&self) -> bool {
        self.routed.get()
    }

    /// Waits until everything this port has routed to `rank` is done there.
    pub(crate) fn settle(&self, rank: usize) -> Result<()> {
        let account = &self.ni.accounts[self.index];
        if !account.is_settled(rank) && !planted(Bug::CountUnread) {
            let settled = || account.is_settled(rank).then_some(());
            let waited = self.wait_until(By::Rank(rank), None, ANY, Progress::Always, settled);
            if let Err(error) = waited {
                if error.is_peer_fault() {
                    account.write_off(rank);
                }
                return Err(error);
            }
        }
        self.routed.set(!account.unsettled().is_empty());
        Ok(())
    }

    /// Waits until everything this port has routed is done at all ranks; one that has ended does not keep the others from being
    /// waited for.
    pub(crate) fn settle_all(&self) -> Result<()> {
        let account = &self.ni.accounts[self.index];
        account.unsettled().into_iter().map(|rank| self.settle(rank)).fold(Ok(()), Result::and)
    }

    pub(crate) fn push_routed(&self, to: Target, data: &[u8], status: Option<StatusWord>) -> Result<()> {
        debug_assert!(to.area != HEAP || !self.ni.is_near(to.rank), "a mapped heap is written in place");
        let max = self.ni.payload_max(to.rank);
        let last = data.len().div_ceil(max).max(1) - 1;
        let mut pieces = data.chunks(max);
        for number in 0..=last {
            let piece = pieces.next().unwrap_or(&[]);
            self.post(to.plus(number * max), verb::PUSH, [0; 2], piece, status.filter(|_| number == last))?;
        }
        Ok(())
    }

    /// # Safety
    /// As for [`Port::pull_area`].
    pub(crate) unsafe fn pull_routed(&self, from: Target, into: *mut u8, bytes: usize) -> Result<()> {
        if let Some(source) = self.ni.near_target(&from, bytes as u64) {
            // SAFETY: memory of a rank of this host, which stays mapped; the caller's promise.
            unsafe { copy::copy(into, source, bytes) };
            return Ok(());
        }
        if self.ni.is_near(from.rank) {
            self.settle(from.rank)?;
        }
        let max = self.ni.payload_max(from.rank);
        for at in (0..bytes).step_by(max) {
            let part = max.min(bytes - at);
            let answered = self.ask(from.plus(at), verb::PULL, [part as u64, 0])?;
            let answer = answered.slot.payload();
            if answer.len() != part {
                return Err(Error::PeerMisbehaved { rank: from.rank, what: "an answer of the wrong size" });
            }
            // SAFETY: a part of what the caller has promised.
            unsafe { copy::copy(into.add(if planted(Bug::PullMisplaced) { 0 } else { at }), answer.as_ptr(), part) };
        }
        Ok(())
    }

    /// Operations on far memory arrive in order, so a word follows all pushes.
    pub(crate) fn word_routed(&self, to: Target, value: u64) -> Result<()> {
        self.post(to, verb::WORD, [value, 0], &[], None)
    }

    pub(crate) fn atomic_routed(&self, at: Target, operation: Atomic) -> Result<u64> {
        let (verb, operands) = match operation {
            Atomic::Add(value) => (verb::ADD, [value, 0]),
            Atomic::Swap(value) => (verb::SWAP, [value, 0]),
            Atomic::CompareSwap { old, new } => (verb::COMPARE_SWAP, [old, new]),
            Atomic::And(value) => (verb::AND, [value, 0]),
            Atomic::Or(value) => (verb::OR, [value, 0]),
            Atomic::Xor(value) => (verb::XOR, [value, 0]),
        };
        Ok(self.ask(at, verb, operands)?.slot.words()[0])
    }

    /// Writes `data`, then `tail` (words) at `then`, an offset in the rank's heap, of which the first word is written last:
    /// whoever sees it sees everything. Nobody answers: for protocols whose other side answers in its own way.
    pub(crate) fn push_then(&self, to: Target, data: &[u8], then: usize, tail: &[u64]) -> Result<()> {
        if let Some(done) = self.ni.push_then_near(to, data, then as u64, tail) {
            return done;
        }
        let max = self.ni.payload_max(to.rank);
        let last = data.len().div_ceil(max).max(1) - 1;
        let (first, rest) = data.split_at(last * max);
        for (number, piece) in first.chunks(max).enumerate() {
            self.submit(to.rank, &quiet_push(to.plus(number * max), piece), piece)?;
        }
        let (packet, payload) = quiet_push_then(to.plus(first.len()), rest, then, tail);
        self.submit(to.rank, &packet, &payload)
    }

    /// Writes a word that nobody answers for.
    pub(crate) fn word_quietly(&self, to: Target, value: u64) -> Result<()> {
        if let Some(done) = self.ni.word_near(to, value) {
            return done;
        }
        self.submit(to.rank, &quiet_word(to, value), &[])
    }

    /// What a far rank knows of its area `id`: key, kind, start, bytes.
    pub(crate) fn ask_area(&self, rank: usize, id: u32) -> Result<[u64; 4]> {
        let target = Target { rank, area: id, key: 0, offset: 0 };
        let [key, kind, start, bytes, ..] = self.ask(target, verb::OPEN, [0; 2])?.slot.words();
        Ok([key, kind, start, bytes])
    }

    /// Sends an operation whose answer is only counted.
    fn post(
        &self,
        to: Target,
        verb: u16,
        operands: [u64; 2],
        payload: &[u8],
        status: Option<StatusWord>,
    ) -> Result<()> {
        let account = &self.ni.accounts[self.index];
        let number = account.start(to.rank, self.size(), status);
        self.routed.set(true);
        let token = COUNTED | number << 8 | self.index as u64;
        let sent = self.submit(to.rank, &packet(to, verb, token, operands, payload), payload);
        if sent.is_err() {
            account.finish(to.rank, number, drop);
        }
        sent
    }

    /// Sends an operation and waits for its answer.
    fn ask(&self, at: Target, verb: u16, operands: [u64; 2]) -> Result<Answered<'_>> {
        super::message::refuse_in_handler()?;
        let calling = self.begin_call(at.rank)?;
        let slot = &self.ni.calls[self.index];
        let token = slot.open(self.index);
        self.submit(at.rank, &packet(at, verb, token, operands, &[]), &[])?;
        self.await_answer(at.rank, token)?;
        Ok(Answered { slot, _calling: calling })
    }

    fn set_status(&self, word: *mut u8, value: u64) {
        // SAFETY: a word of this rank's own area, which the caller of the push holds; accessed atomically.
        unsafe { AtomicU64::from_ptr(word.cast()) }.store(value, Ordering::Release);
        self.ni.notify(self.ni.rank, self.ni.watch_of(word));
    }
}

/// An answer that has come. No other call of the port begins before it was read.
struct Answered<'p> {
    slot: &'p CallSlot,
    _calling: Calling<'p>,
}

fn packet(at: Target, verb: u16, token: u64, operands: [u64; 2], payload: &[u8]) -> Packet {
    let arguments = [at.area as u64, at.key, at.offset, operands[0], operands[1], 0];
    // The number of bytes matters to rings only, which carry few.
    Packet { handler: verb, kind: kind::ROUTED, payload_bytes: payload.len() as u16, address: token, arguments }
}

fn quiet_push(to: Target, data: &[u8]) -> Packet {
    packet(to, verb::PUSH, UNANSWERED, [0; 2], data)
}

fn quiet_word(to: Target, value: u64) -> Packet {
    packet(to, verb::WORD, UNANSWERED, [value, 0], &[])
}

/// The packet, and its payload with the tail.
fn quiet_push_then(to: Target, data: &[u8], then: usize, tail: &[u64]) -> (Packet, Vec<u8>) {
    debug_assert!(size_of_val(tail) <= TAIL_BYTES_MAX);
    let payload = [data, bytemuck::cast_slice(tail)].concat();
    (packet(to, verb::PUSH_THEN, UNANSWERED, [then as u64, tail.len() as u64], &payload), payload)
}

/// The owner's side: performs a routed operation on its memory and answers.
pub(crate) fn serve(ni: &Ni, outbox: &mut Outbox, source: usize, packet: &Packet, payload: &[u8]) {
    let _inside = ni.own_areas.guard(NI_PORT).enter(ni.fences);
    match perform(ni, source, packet, payload) {
        _ if packet.address == UNANSWERED => {}
        // There is room for it: that was asked before.
        Ok((words, reply)) => drop(answer(ni, outbox, source, packet.address, words, &reply)),
        Err(reason) => refuse(ni, outbox, source, packet, reason),
    }
}

type Answer = ([u64; 6], Vec<u8>);

fn perform(ni: &Ni, source: usize, packet: &Packet, payload: &[u8]) -> std::result::Result<Answer, Refusal> {
    let [id, key, offset, a, b, _] = packet.arguments;
    let max = ni.payload_max(source);
    // Held while the window is written.
    let windows = (id == WINDOW as u64).then(|| ni.windows.table());
    let find = |bytes: u64| match &windows {
        Some(windows) => windows.find(source, key, offset, bytes),
        None => find(ni, id, key, offset, bytes),
    };
    let find = |bytes: u64| find(bytes).filter(|_| bytes <= max as u64);
    let mut reply = Vec::new();
    let mut words = [0; 6];
    match packet.handler {
        verb::PUSH => {
            let target = find(payload.len() as u64).ok_or_else(|| unreachable_reason(ni, id, key))?;
            // SAFETY: this rank's own memory, which holds as many bytes there. It is alive: an area's entry was found
            // inside the interface's guard, for which a revocation by another thread of this rank waits.
            unsafe { copy::copy(target, payload.as_ptr(), payload.len()) };
        }
        verb::PULL => {
            let target = find(a).ok_or_else(|| unreachable_reason(ni, id, key))?;
            reply.resize(a as usize, 0);
            // SAFETY: as above.
            unsafe { copy::copy(reply.as_mut_ptr(), target, reply.len()) };
        }
        verb::PUSH_THEN => {
            let tail_bytes = b.saturating_mul(8).min(payload.len() as u64) as usize;
            let (data, tail) = payload.split_at(payload.len() - tail_bytes);
            let space = if id == MEETING as u64 { MEETING } else { HEAP };
            let then = ni.bytes_of(ni.rank, space, a, tail.len() as u64);
            let then = then.filter(|then| (*then as usize).is_multiple_of(8));
            let (target, then) = find(data.len() as u64).zip(then).ok_or(Refusal::OutOfBounds)?;
            // SAFETY: as above; the first word is aligned.
            unsafe { write_then(target, data, then, tail) };
            ni.notify(ni.rank, ANY);
        }
        verb::OPEN => {
            let area = ni.look_up(ni.rank, id.min(u32::MAX as u64) as u32).map_err(|_| Refusal::UnknownArea)?;
            // Of an address nobody else needs more than how it is aligned, and no operation asks for more than this.
            let start = if area.kind == AreaKind::Private { area.start % 16 } else { area.start };
            words = [area.key, area.kind as u64, start, area.bytes as u64, 0, 0];
        }
        verb::WORD..=verb::XOR => {
            let target = find(8).ok_or_else(|| unreachable_reason(ni, id, key))?;
            if !(target as usize).is_multiple_of(8) {
                return Err(Refusal::OutOfBounds);
            }
            // SAFETY: as above; aligned, and accessed atomically.
            let word = unsafe { AtomicU64::from_ptr(target.cast()) };
            let operation = match packet.handler {
                verb::WORD => {
                    word.store(a, Ordering::Release);
                    None
                }
                verb::ADD => Some(Atomic::Add(a)),
                verb::SWAP => Some(Atomic::Swap(a)),
                verb::COMPARE_SWAP if planted(Bug::ComparisonSkipped) => Some(Atomic::Swap(b)),
                verb::COMPARE_SWAP => Some(Atomic::CompareSwap { old: a, new: b }),
                verb::AND => Some(Atomic::And(a)),
                verb::OR => Some(Atomic::Or(a)),
                _ => Some(Atomic::Xor(a)),
            };
            words[0] = operation.map_or(0, |operation| operation.perform(word));
            if let Some(operation) = operation.filter(|_| planted(Bug::AtomicTwice)) {
                operation.perform(word);
            }
            ni.notify(ni.rank, ni.watch_of(target));
        }
        _ => return Err(Refusal::OutOfBounds),
    }
    Ok((words, reply))
}

/// The address of bytes of this rank that a peer named; none of it is believed.
fn find(ni: &Ni, id: u64, key: u64, offset: u64, bytes: u64) -> Option<*mut u8> {
    if id == HEAP as u64 || id == MEETING as u64 {
        return ni.bytes_of(ni.rank, id as u32, offset, bytes).filter(|_| key == ni.job);
    }
    let area = ni.look_up(ni.rank, id.min(u32::MAX as u64) as u32).ok();
    let area = area.filter(|area| area.key == key || planted(Bug::KeyUnread))?;
    let inside = offset.checked_add(bytes).is_some_and(|end| end <= area.bytes as u64);
    if inside { area.pointer(ni, offset as usize) } else { None }
}

/// Writes `data`, then the words of `tail`, of which the first is stored last.
///
/// # Safety
/// Both places hold as many bytes, and the second is a multiple of 8; others may use them meanwhile, the first word atomically.
unsafe fn write_then(target: *mut u8, data: &[u8], then: *mut u8, tail: &[u8]) {
    let (first, rest) = tail.split_at(tail.len().min(8));
    // SAFETY: the caller's promise.
    unsafe {
        copy::copy(target, data.as_ptr(), data.len());
        if !planted(Bug::TailLost) {
            copy::copy(then.add(first.len()), rest.as_ptr(), rest.len());
        }
        if let Ok(first) = first.try_into() {
            AtomicU64::from_ptr(then.cast()).store(u64::from_ne_bytes(first), Ordering::Release);
        }
    }
}

/// Operations of which nobody is told, on memory that is mapped here; `None` for a rank whose memory is not.
impl Ni {
    /// Bytes of a rank that is near, in its heap or where it is met.
    fn bytes_of(&self, rank: usize, space: u32, offset: u64, bytes: u64) -> Option<*mut u8> {
        if space == HEAP {
            return self.near_bytes(rank, offset, bytes);
        }
        let hearings = &self.near_block(rank)?.hearings;
        let end = offset.checked_add(bytes)?;
        let start = hearings.as_ptr() as *mut u8;
        // Made of atomics, so it may be written though it is shared.
        (end <= size_of_val(hearings) as u64).then(|| start.wrapping_add(offset as usize))
    }

    fn near_target(&self, to: &Target, bytes: u64) -> Option<*mut u8> {
        let is_heap = to.area == HEAP || to.area == MEETING;
        if !is_heap || !self.is_near(to.rank) {
            return None;
        }
        Some(self.bytes_of(to.rank, to.area, to.offset, bytes).expect("the library's own places"))
    }

    fn push_then_near(&self, to: Target, data: &[u8], then: u64, tail: &[u64]) -> Option<Result<()>> {
        let target = self.near_target(&to, data.len() as u64)?;
        let space = if to.area == MEETING { MEETING } else { HEAP };
        let then = self.bytes_of(to.rank, space, then, size_of_val(tail) as u64).expect("the library's own places");
        assert!((then as usize).is_multiple_of(8));
        // SAFETY: found for as many bytes, in memory of this host, which stays mapped.
        unsafe { write_then(target, data, then, bytemuck::cast_slice(tail)) };
        self.notify(to.rank, ANY);
        Some(Ok(()))
    }

    fn word_near(&self, to: Target, value: u64) -> Option<Result<()>> {
        let word = self.near_target(&to, 8)?;
        assert!((word as usize).is_multiple_of(8));
        // SAFETY: found for 8 bytes, aligned, in memory of this host, which stays mapped; accessed atomically.
        unsafe { AtomicU64::from_ptr(word.cast()) }.store(value, Ordering::Release);
        if !planted(Bug::NearUnnotified) {
            self.notify(to.rank, ANY);
        }
        Some(Ok(()))
    }
}

/// Why bytes were not found.
fn unreachable_reason(ni: &Ni, id: u64, key: u64) -> Refusal {
    match find(ni, id, key, 0, 0) {
        None if id != HEAP as u64 && id != MEETING as u64 => Refusal::UnknownArea,
        _ => Refusal::OutOfBounds,
    }
}

/// The initiator's side: an answer has come.
pub(crate) fn take_answer(ni: &Ni, source: usize, packet: &Packet, payload: &[u8]) {
    match Token::of(ni, packet.address) {
        Some(Token::Call(slot)) => slot.answer(packet.address, &packet.arguments, payload),
        Some(Token::Counted(account, number)) => account.finish(source, number, |(word, value)| {
            // SAFETY: a word of own job memory that the caller of `push_status` named, and that was not freed since.
            unsafe { AtomicU64::from_ptr(word.cast()) }.store(value, Ordering::Release);
            ni.notify(ni.rank, ni.watch_of(word));
        }),
        None => {}
    }
}

/// The initiator's side: an operation or a message was refused.
pub(crate) fn take_refusal(ni: &Ni, source: usize, packet: &Packet) {
    let [reason, original, ..] = packet.arguments;
    if original != kind::CALL as u64 && original != kind::ROUTED as u64 {
        // A plain message has no token: every port learns of it when it asks.
        ni.accounts.iter().for_each(|account| account.refuse(source, reason));
        return;
    }
    match Token::of(ni, packet.address) {
        Some(Token::Call(slot)) => slot.refuse(packet.address, reason),
        Some(Token::Counted(account, number)) => {
            account.refuse(source, reason);
            account.finish(source, number, drop);
        }
        None => {}
    }
}

/// Whom an answer is for; the port in it comes from a peer and is checked.
enum Token<'a> {
    Call(&'a CallSlot),
    Counted(&'a Account, u64),
}

impl Token<'_> {
    fn of(ni: &Ni, token: u64) -> Option<Token<'_>> {
        let port = (token & 0xff) as usize;
        match token & COUNTED {
            0 => ni.calls.get(port).map(Token::Call),
            _ => ni.accounts.get(port).map(|account| Token::Counted(account, (token & !COUNTED) >> 8)),
        }
    }
}

/// Operations on a far rank that nobody answers, sent now or not at all: for protocols that have a wait of their own.
impl Ni {
    /// [`Port::push_then`]; false while there is no room. `prepared`: its description is an old one.
    pub(crate) fn try_push_then(
        &self,
        to: Target,
        data: &[u8],
        then: usize,
        tail: &[u64],
        prepared: bool,
    ) -> Result<bool> {
        if let Some(done) = self.push_then_near(to, data, then as u64, tail) {
            return done.map(|()| true);
        }
        let (mut packet, payload) = quiet_push_then(to, data, then, tail);
        packet.arguments[5] = if prepared { PREPARED } else { 0 };
        self.try_far(to.rank, &packet, &payload)
    }

    /// A push with words behind it to all other ranks at once, at offsets from the beginning of their heaps: what is to be sent.
    pub(crate) fn multicast_then(&self, to: usize, data: &[u8], then: usize, tail: &[u64]) -> Parcel {
        // The packet names no rank.
        let to = Target { rank: self.rank, area: HEAP, key: self.job, offset: to as u64 };
        let (packet, payload) = quiet_push_then(to, data, then, tail);
        Parcel { source: self.rank, packet, payload: payload.into() }
    }

    /// Sends it; false while there is no room.
    pub(crate) fn try_multicast(&self, network: &dyn Multicast, parcel: &Parcel) -> Result<bool> {
        self.check_rank(self.rank)?;
        network.multicast(parcel)
    }

    /// A push; false while there is no room.
    pub(crate) fn try_push(&self, to: Target, data: &[u8]) -> Result<bool> {
        self.try_far(to.rank, &quiet_push(to, data), data)
    }

    /// [`Port::word_quietly`]; false while there is no room.
    pub(crate) fn try_word(&self, to: Target, value: u64) -> Result<bool> {
        if let Some(done) = self.word_near(to, value) {
            return done.map(|()| true);
        }
        self.try_far(to.rank, &quiet_word(to, value), &[])
    }

    fn try_far(&self, rank: usize, packet: &Packet, payload: &[u8]) -> Result<bool> {
        self.check_rank(rank)?;
        self.post(rank, packet, payload)
    }
}

impl Ni {
    /// The process of a near rank, 0 if it has none.
    pub(crate) fn process_of(&self, rank: usize) -> i32 {
        match self.processes[self.local_of(rank).0 as usize].load(Ordering::Relaxed) {
            0 => self.told_process(self.local_of(rank)),
            noted => noted,
        }
    }

    fn told_process(&self, local: Local) -> i32 {
        i32::try_from(self.memory.block(local).life.process.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Notes which process each rank of this host is, now that all have said so: who changes its mind later is not listened to.
    pub(crate) fn note_processes(&self) {
        for (local, noted) in self.memory.layout.locals().zip(&self.processes) {
            noted.store(self.told_process(local), Ordering::Relaxed);
        }
    }

    /// Payload bytes of one packet to or from `rank`.
    pub(crate) fn payload_max(&self, rank: usize) -> usize {
        match &self.far {
            Some(far) if !self.is_near(rank) => far.capabilities().payload_max - TAIL_BYTES_MAX,
            _ => PAYLOAD_MAX,
        }
    }

    /// Whether private memory of `rank` can be reached by a system call; asked once per peer.
    pub(crate) fn crosses_to(&self, rank: usize) -> bool {
        self.crossing(rank).is_some()
    }

    /// The process in which private memory of `rank` is reached by a system call, if it is.
    pub(crate) fn crossing(&self, rank: usize) -> Option<i32> {
        if !self.is_near(rank) {
            return None;
        }
        match self.cross[self.local_of(rank).0 as usize].load(Ordering::Relaxed) {
            0 => self.find_crossing(rank),
            UNREACHED => None,
            process => Some(process),
        }
    }

    /// What a peer says of its process is believed once, and not if it says to be this one: what is written there would be
    /// written here. Of others it could say so as well, and write there itself.
    #[cold]
    fn find_crossing(&self, rank: usize) -> Option<i32> {
        let local = self.local_of(rank);
        let life = &self.memory.block(local).life;
        let (process, address) = (self.process_of(rank), life.probe_address.load(Ordering::Relaxed));
        let value = life.probe_value.load(Ordering::Relaxed);
        let forbidden = std::env::var_os("HIKYAKU_CROSS").is_some_and(|v| v == "off");
        let is_other = process > 0 && process as u32 != std::process::id();
        let works = is_other && !forbidden && cross::probe(process, address, value).is_ok();
        // Another thread may have been first.
        let found = if works { process } else { UNREACHED };
        let kept = self.cross[local.0 as usize].compare_exchange(0, found, Ordering::Relaxed, Ordering::Relaxed);
        Some(kept.err().unwrap_or(found)).filter(|process| *process != UNREACHED)
    }

    /// Why the private memory of `rank` could not be reached. If its process is gone: how the rank has ended. The kernel may
    /// know of that before whoever watches the ranks has told, who shall be the first to say so.
    #[cold]
    pub(crate) fn why_unreached(&self, rank: usize, error: Error) -> Error {
        if !cross::is_gone(&error) {
            return error;
        }
        let deadline = Instant::now() + NEWS_PATIENCE;
        while Instant::now() < deadline {
            if let Err(ended) = self.check_departed(By::Rank(rank)) {
                return ended;
            }
            self.relax();
        }
        Error::PeerDead { rank }
    }
}
