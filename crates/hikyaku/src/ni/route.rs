//! Remote operations where there is no pointer: private memory of another process.
//!
//! Push and pull go by one system call ([`crate::transport::shm::cross`]) where the kernel allows it. Words and
//! atomics, and everything where it does not, are messages to the owner's network interface, which performs the
//! operation and answers. That needs the owner to make progress.

use super::account::{Account, StatusWord};
use super::area::Opened;
use super::call::CallSlot;
use super::engine::{Outbox, answer, refuse};
use super::message::kind;
use super::operation::Atomic;
use super::port::Port;
use super::wait::{By, Progress};
use super::{NI_PORT, Ni};
use crate::error::{Error, Refusal, Result};
use crate::memory::copy;
use crate::sync::bell::ANY;
use crate::transport::shm::cross;
use crate::transport::shm::layout::AreaKind;
use crate::transport::shm::ring::{PAYLOAD_MAX, Packet};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a routed message asks for: its handler field.
mod verb {
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
}

/// Marks the token of a push or word, whose answer is only counted.
const COUNTED: u64 = 1 << 63;

impl Port {
    /// Pushes to an area; `status` is written when the bytes are there.
    pub(crate) fn push_area(
        &self,
        area: &Opened,
        offset: usize,
        data: &[u8],
        status: Option<StatusWord>,
    ) -> Result<()> {
        let ni = &*self.ni;
        let inside = self.guard().enter(ni.fences);
        area.check(ni)?;
        if let Some(target) = area.pointer(ni, offset) {
            // SAFETY: in bounds by the resolution, live by the key checked inside the guard.
            unsafe { copy::copy(target, data.as_ptr(), data.len()) };
        } else if ni.crosses_to(area.rank) {
            cross::write(ni.process_of(area.rank), area.start + offset as u64, data)
                .map_err(|e| cross::of_rank(area.rank, e))?;
        } else {
            drop(inside);
            return self.push_routed(area, offset, data, status);
        }
        drop(inside);
        if let Some((word, value)) = status {
            self.set_status(word, value);
        }
        Ok(())
    }

    pub(crate) fn pull_area(&self, area: &Opened, offset: usize, into: &mut [u8]) -> Result<()> {
        let ni = &*self.ni;
        let inside = self.guard().enter(ni.fences);
        area.check(ni)?;
        if let Some(source) = area.pointer(ni, offset) {
            // SAFETY: in bounds by the resolution, live by the key checked inside the guard.
            unsafe { copy::copy(into.as_mut_ptr(), source, into.len()) };
            return Ok(());
        }
        if ni.crosses_to(area.rank) {
            return cross::read(ni.process_of(area.rank), area.start + offset as u64, into)
                .map_err(|e| cross::of_rank(area.rank, e));
        }
        drop(inside);
        self.settle(area.rank)?;
        let mut at = offset;
        for chunk in into.chunks_mut(PAYLOAD_MAX) {
            self.ask(area, verb::PULL, at, [chunk.len() as u64, 0])?;
            let answer = ni.calls[self.index].payload();
            if answer.len() != chunk.len() {
                return Err(Error::PeerMisbehaved { rank: area.rank, what: "an answer of the wrong size" });
            }
            chunk.copy_from_slice(&answer);
            at += chunk.len();
        }
        Ok(())
    }

    pub(crate) fn word_area(&self, area: &Opened, offset: usize, value: u64) -> Result<()> {
        let ni = &*self.ni;
        if self.has_routed() {
            self.settle(area.rank)?;
        }
        {
            let _inside = self.guard().enter(ni.fences);
            area.check(ni)?;
            if let Some(target) = area.pointer(ni, offset) {
                // SAFETY: in bounds, live, aligned (areas of `u64` are opened only where they are).
                unsafe { AtomicU64::from_ptr(target.cast()) }.store(value, Ordering::Release);
                ni.notify(area.rank, ni.watch_of(target));
                return Ok(());
            }
        }
        self.post(area, verb::WORD, offset, value, &[], None)
    }

    pub(crate) fn atomic_area(&self, area: &Opened, offset: usize, operation: Atomic) -> Result<u64> {
        let ni = &*self.ni;
        {
            let _inside = self.guard().enter(ni.fences);
            area.check(ni)?;
            if let Some(target) = area.pointer(ni, offset) {
                // SAFETY: in bounds, live, aligned.
                let before = operation.perform(unsafe { AtomicU64::from_ptr(target.cast()) });
                ni.notify(area.rank, ni.watch_of(target));
                return Ok(before);
            }
        }
        let (verb, operands) = match operation {
            Atomic::Add(value) => (verb::ADD, [value, 0]),
            Atomic::Swap(value) => (verb::SWAP, [value, 0]),
            Atomic::CompareSwap { old, new } => (verb::COMPARE_SWAP, [old, new]),
            Atomic::And(value) => (verb::AND, [value, 0]),
            Atomic::Or(value) => (verb::OR, [value, 0]),
            Atomic::Xor(value) => (verb::XOR, [value, 0]),
        };
        self.ask(area, verb, offset, operands)
    }

    /// Whether this port has routed operations that may be under way.
    #[inline(always)]
    pub(crate) fn has_routed(&self) -> bool {
        self.routed.get()
    }

    /// Waits until everything this port has routed to `rank` is done there.
    pub(crate) fn settle(&self, rank: usize) -> Result<()> {
        let account = &self.ni.accounts[self.index];
        if !account.is_settled(rank) {
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

    /// The same for all ranks; one that has ended does not keep the others from being waited for.
    pub(crate) fn settle_all(&self) -> Result<()> {
        let account = &self.ni.accounts[self.index];
        account.unsettled().into_iter().map(|rank| self.settle(rank)).fold(Ok(()), Result::and)
    }

    fn push_routed(&self, area: &Opened, offset: usize, data: &[u8], status: Option<StatusWord>) -> Result<()> {
        let last = data.len().div_ceil(PAYLOAD_MAX).max(1) - 1;
        let mut at = offset;
        let mut pieces = data.chunks(PAYLOAD_MAX);
        for number in 0..=last {
            let piece = pieces.next().unwrap_or(&[]);
            self.post(area, verb::PUSH, at, 0, piece, status.filter(|_| number == last))?;
            at += piece.len();
        }
        Ok(())
    }

    /// Sends an operation whose answer is only counted.
    fn post(
        &self,
        area: &Opened,
        verb: u16,
        offset: usize,
        value: u64,
        payload: &[u8],
        status: Option<StatusWord>,
    ) -> Result<()> {
        let account = &self.ni.accounts[self.index];
        let number = account.start(area.rank, self.size(), status);
        self.routed.set(true);
        let token = COUNTED | number << 8 | self.index as u64;
        let sent = self.submit(area.rank, &packet(area, verb, offset, token, [value, 0], payload), payload);
        if sent.is_err() {
            account.finish(area.rank, number, drop);
        }
        sent
    }

    /// Sends an operation and waits for its answer: the first word.
    fn ask(&self, area: &Opened, verb: u16, offset: usize, operands: [u64; 2]) -> Result<u64> {
        super::message::refuse_in_handler()?;
        let slot = &self.ni.calls[self.index];
        let token = slot.open(self.index);
        self.submit(area.rank, &packet(area, verb, offset, token, operands, &[]), &[])?;
        self.await_answer(area.rank, token)?;
        Ok(slot.words()[0])
    }

    fn set_status(&self, word: *mut u8, value: u64) {
        // SAFETY: a word of this rank's own area, which the caller of the push holds; accessed atomically.
        unsafe { AtomicU64::from_ptr(word.cast()) }.store(value, Ordering::Release);
        self.ni.notify(self.ni.rank, self.ni.watch_of(word));
    }
}

fn packet(area: &Opened, verb: u16, offset: usize, token: u64, operands: [u64; 2], payload: &[u8]) -> Packet {
    let arguments = [area.id as u64, area.key, offset as u64, operands[0], operands[1], 0];
    Packet { handler: verb, kind: kind::ROUTED, payload_bytes: payload.len() as u16, address: token, arguments }
}

/// The owner's side: performs a routed operation on its memory and answers.
pub(crate) fn serve(ni: &Ni, outbox: &mut Outbox, source: usize, packet: &Packet, payload: &[u8]) {
    let [id, key, offset, a, b, _] = packet.arguments;
    let _inside = ni.mine().guards[NI_PORT].enter(ni.fences);
    let area = match ni.look_up(ni.rank, id.min(u32::MAX as u64) as u32) {
        Ok(area) if area.key == key && area.kind == AreaKind::Private => area,
        _ => {
            refuse(ni, outbox, source, packet, Refusal::UnknownArea);
            return;
        }
    };
    let bytes = match packet.handler {
        verb::PUSH => payload.len() as u64,
        verb::PULL => a,
        _ => 8,
    };
    let inside = offset.checked_add(bytes).is_some_and(|end| end <= area.bytes as u64) && bytes <= PAYLOAD_MAX as u64;
    let target = (area.start + offset) as *mut u8;
    let aligned = packet.handler <= verb::PULL || (target as usize).is_multiple_of(8);
    if !inside || !aligned || packet.handler > verb::XOR {
        refuse(ni, outbox, source, packet, Refusal::OutOfBounds);
        return;
    }
    let mut reply = Vec::new();
    let mut before = 0;
    // SAFETY: here and below: this rank's own area, checked to hold `bytes` at `offset`. It is alive: the entry was
    // found inside the interface's guard, for which a revocation by another thread of this rank waits.
    let word = || unsafe { AtomicU64::from_ptr(target.cast()) };
    match packet.handler {
        // SAFETY: as above.
        verb::PUSH => unsafe { copy::copy(target, payload.as_ptr(), payload.len()) },
        verb::PULL => {
            reply.resize(a as usize, 0);
            // SAFETY: as above.
            unsafe { copy::copy(reply.as_mut_ptr(), target, reply.len()) };
        }
        verb::WORD => word().store(a, Ordering::Release),
        verb::ADD => before = Atomic::Add(a).perform(word()),
        verb::SWAP => before = Atomic::Swap(a).perform(word()),
        verb::COMPARE_SWAP => before = Atomic::CompareSwap { old: a, new: b }.perform(word()),
        verb::AND => before = Atomic::And(a).perform(word()),
        verb::OR => before = Atomic::Or(a).perform(word()),
        _ => before = Atomic::Xor(a).perform(word()),
    }
    if packet.handler >= verb::WORD {
        ni.notify(ni.rank, ni.watch_of(target));
    }
    // There is room for it: that was asked before.
    let _ = answer(ni, outbox, source, packet.address, [before, 0, 0, 0, 0, 0], &reply);
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

impl Ni {
    pub(crate) fn process_of(&self, rank: usize) -> i32 {
        self.memory.block(rank).life.process.load(Ordering::Relaxed) as i32
    }

    /// Whether private memory of `rank` can be reached by a system call; asked once per peer.
    pub(crate) fn crosses_to(&self, rank: usize) -> bool {
        match self.cross[rank].load(Ordering::Relaxed) {
            0 => {
                let life = &self.memory.block(rank).life;
                let address = life.probe_address.load(Ordering::Relaxed);
                let value = life.probe_value.load(Ordering::Relaxed);
                let forbidden = std::env::var_os("HIKYAKU_CROSS").is_some_and(|v| v == "off");
                let works = !forbidden && cross::probe(self.process_of(rank), address, value).is_ok();
                self.cross[rank].store(if works { 1 } else { 2 }, Ordering::Relaxed);
                works
            }
            known => known == 1,
        }
    }
}
