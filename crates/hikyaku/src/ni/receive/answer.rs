//! What has become of this rank's own operations and calls: answers, refusals, ends. What a peer says is checked.

use super::outbox::{BY_TARGET, Outbox};
use super::relay;
use crate::ni::base::{Base, NI_PORT};
use crate::ni::state::account::Account;
use crate::ni::state::call::CallSlot;
use crate::ni::state::direct::Direct;
use crate::ni::state::transfer::TransferDesk;
use crate::ni::wire::token::{self, Asked};
use crate::sync::bell::ANY;
use crate::transport::core::Token;
use crate::transport::packet::kind;
use crate::transport::remote_memory::End;
use crate::transport::shm::ring::Packet;

/// Whom an answer is for.
enum Addressee<'a> {
    Call(&'a CallSlot),
    Counted(&'a Account, u64),
    Transfer(&'a TransferDesk, usize),
    /// Whoever has asked this rank to send something on.
    Relay,
    Key(&'a Direct),
}

fn addressee(ni: &Base, token: u64) -> Option<Addressee<'_>> {
    match token::asked(token) {
        Asked::Call { port } => ni.calls.get(port).map(Addressee::Call),
        Asked::Key => ni.direct.as_ref().map(Addressee::Key),
        Asked::Transfer { port: NI_PORT } => Some(Addressee::Relay),
        Asked::Transfer { port } => ni.transfers.get(port).map(|desk| Addressee::Transfer(desk, port)),
        Asked::Counted { port, number } => ni.accounts.get(port).map(|account| Addressee::Counted(account, number)),
    }
}

/// An answer has come.
pub(super) fn take_answer(ni: &Base, outbox: &mut Outbox, source: usize, packet: &Packet, payload: &[u8]) {
    match addressee(ni, packet.address) {
        Some(Addressee::Call(slot)) => slot.answer(packet.address, &packet.arguments, payload),
        Some(Addressee::Transfer(desk, port)) => {
            desk.take(packet.address, source, packet.arguments[0], payload);
            // What cannot be posted now is tried again by whoever waits for it, who hears of errors too.
            if !ni.is_near(source) {
                let _ = ni.drive_transfer(port, packet.address);
            }
        }
        Some(Addressee::Relay) => relay::take_end(ni, outbox, source, packet.address, None),
        Some(Addressee::Counted(account, number)) => {
            account.finish(source, number, |(word, value)| ni.set_status(word, value))
        }
        Some(Addressee::Key(direct)) => {
            let [base, key, bytes, ..] = packet.arguments;
            direct.learn(source, [base, key, bytes]);
        }
        None => {}
    }
}

/// An operation or a message was refused.
pub(super) fn take_refusal(ni: &Base, outbox: &mut Outbox, source: usize, packet: &Packet) {
    let [reason, original, by_target, ..] = packet.arguments;
    if original != kind::CALL as u64 && original != kind::ROUTED as u64 {
        // A plain message has no token: every port learns of it when it asks.
        ni.accounts.iter().for_each(|account| account.refuse(source, reason));
        return;
    }
    match addressee(ni, packet.address) {
        Some(Addressee::Call(slot)) => slot.refuse(packet.address, reason),
        Some(Addressee::Transfer(desk, port)) => {
            // Before the copy counts as ended, so that whoever waits for that hears of it.
            if let Some(rank) = desk.to_blame(packet.address, source, by_target == BY_TARGET) {
                ni.accounts[port].refuse(rank, reason);
            }
            desk.refuse(packet.address, source, reason);
        }
        Some(Addressee::Relay) => relay::take_end(ni, outbox, source, packet.address, Some(reason)),
        Some(Addressee::Counted(account, number)) => {
            account.refuse(source, reason);
            account.drop_status(source, number);
        }
        Some(Addressee::Key(direct)) => direct.learn(source, [0; 3]),
        None => {}
    }
}

impl Base {
    /// An operation of the network itself has ended.
    pub(crate) fn complete(&self, token: Token, end: End) {
        if let Some(direct) = &self.direct {
            direct.complete(&self.accounts, token, end, |(word, value)| self.set_status(word, value));
            self.notify(self.rank, ANY);
        }
    }
}
