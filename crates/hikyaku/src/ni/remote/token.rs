//! Whom an answer is for. A token travels with an operation and comes back with its answer; what comes back is a peer's word and
//! is checked.
//!
//! ```text
//!   63 counted   62 answered only if refused   61 a pull   60..8 number   7..0 port
//! ```
//! The token of a call has none of the three bits, that of a question for a key the first and the third; 0 is no token.

use super::direct::Direct;
use super::pull::PullDesk;
use crate::ni::Ni;
use crate::ni::account::{Account, StatusWord};
use crate::ni::call::CallSlot;
use crate::transport::packet::kind;
use crate::transport::shm::ring::Packet;

/// In place of the token of an operation that nobody answers.
pub(super) const QUIET: u64 = 0;

const COUNTED: u64 = 1 << 63;
const LAZY: u64 = 1 << 62;
const PULLED: u64 = 1 << 61;
/// Of the question by which key a rank's symmetric memory is reached.
pub(super) const KEY: u64 = COUNTED | PULLED;
const NUMBER_MAX: u64 = (1 << 53) - 1;

/// Of a counted operation; `lazy` if its end is asked for later.
pub(super) fn counted(port: usize, number: u64, lazy: bool) -> u64 {
    COUNTED | if lazy { LAZY } else { 0 } | (number & NUMBER_MAX) << 8 | port as u64
}

/// Of the requests of a pull.
pub(super) fn pulled(port: usize, number: u64) -> u64 {
    PULLED | (number & NUMBER_MAX) << 8 | port as u64
}

/// Whether the initiator wants to hear when it is done.
pub(crate) fn is_answered(token: u64) -> bool {
    token != QUIET && token & LAZY == 0
}

/// Whether its answer tells of all counted operations before it.
pub(super) fn is_counted(token: u64) -> bool {
    token & KEY == COUNTED
}

/// Whether the end of it is asked for later.
pub(super) fn is_lazy(token: u64) -> bool {
    token & LAZY != 0
}

/// The token of a lazy operation, for an answer that nobody has asked for.
pub(crate) fn as_answered(token: u64) -> u64 {
    token & !LAZY
}

/// Whether the initiator wants to hear of a refusal.
pub(super) fn is_refused(token: u64) -> bool {
    token != QUIET
}

/// Whom an answer is for.
enum Addressee<'a> {
    Call(&'a CallSlot),
    Counted(&'a Account, u64),
    Pull(&'a PullDesk),
    Key(&'a Direct),
}

fn addressee(ni: &Ni, token: u64) -> Option<Addressee<'_>> {
    let (port, number) = ((token & 0xff) as usize, token >> 8 & NUMBER_MAX);
    match token & (COUNTED | PULLED) {
        0 => ni.calls.get(port).map(Addressee::Call),
        KEY => ni.direct.as_ref().map(Addressee::Key),
        PULLED => ni.pulls.get(port).map(Addressee::Pull),
        _ => ni.accounts.get(port).map(|account| Addressee::Counted(account, number)),
    }
}

/// An answer has come.
pub(crate) fn take_answer(ni: &Ni, source: usize, packet: &Packet, payload: &[u8]) {
    match addressee(ni, packet.address) {
        Some(Addressee::Call(slot)) => slot.answer(packet.address, &packet.arguments, payload),
        Some(Addressee::Pull(desk)) => desk.take(packet.address, source, packet.arguments[0], payload),
        Some(Addressee::Counted(account, number)) => account.finish(source, number, |status| write_status(ni, status)),
        Some(Addressee::Key(direct)) => {
            let [base, key, bytes, ..] = packet.arguments;
            direct.learn(source, [base, key, bytes]);
        }
        None => {}
    }
}

/// Writes a status word, which an account has kept.
pub(super) fn write_status(ni: &Ni, (word, value): StatusWord) {
    // The caller of `push_status` named it, and it was not freed since.
    ni.set_status(word, value);
}

/// An operation or a message was refused.
pub(crate) fn take_refusal(ni: &Ni, source: usize, packet: &Packet) {
    let [reason, original, ..] = packet.arguments;
    if original != kind::CALL as u64 && original != kind::ROUTED as u64 {
        // A plain message has no token: every port learns of it when it asks.
        ni.accounts.iter().for_each(|account| account.refuse(source, reason));
        return;
    }
    match addressee(ni, packet.address) {
        Some(Addressee::Call(slot)) => slot.refuse(packet.address, reason),
        Some(Addressee::Pull(desk)) => desk.refuse(packet.address, source, reason),
        Some(Addressee::Counted(account, number)) => {
            account.refuse(source, reason);
            account.drop_status(source, number);
        }
        Some(Addressee::Key(direct)) => direct.learn(source, [0; 3]),
        None => {}
    }
}
