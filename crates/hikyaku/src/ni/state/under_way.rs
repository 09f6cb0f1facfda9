//! What the network itself has under way for a rank: tables that [`super::direct`] keeps behind its lock.

use crate::error::Refusal;
use crate::transport::core::Token;
use crate::transport::remote_memory::{End, Registration, RemoteKey};
use std::collections::BTreeMap;
use std::ops::Range;

/// What is under way, and with whom.
#[derive(Default)]
pub(in crate::ni) struct Desk {
    /// Those that were talked to.
    pub peers: BTreeMap<usize, Peer>,
    pub operations: Vec<Slot>,
    free: Vec<usize>,
    /// Own areas that far ranks have opened, by their keys.
    pub areas: BTreeMap<u64, Registration>,
}

/// A far rank that was talked to.
#[derive(Default)]
pub(in crate::ni) struct Peer {
    pub key: Key,
    /// Puts under way, of all ports: which bytes they write.
    pub puts: Vec<(Token, Spans)>,
    /// Per port: counted operations that are not done.
    pub owed: Vec<u64>,
}

/// How the symmetric memory of a rank is reached.
#[derive(Clone, Copy, Default)]
pub(in crate::ni) enum Key {
    #[default]
    Unknown,
    Asked,
    Known(RemoteKey),
    /// The network does not reach its memory.
    Nowhere,
}

/// A place for an operation.
#[derive(Default)]
pub(in crate::ni) struct Slot {
    /// Operations it has had: no token is used twice.
    serial: u64,
    pub doing: Option<Doing>,
}

/// An operation under way.
#[derive(Clone, Copy)]
pub(in crate::ni) struct Doing {
    pub rank: usize,
    pub port: usize,
    pub is_put: bool,
    /// What it means if the network refuses it.
    pub refusal: Refusal,
    pub hearer: Hearer,
}

/// Which bytes of a rank's symmetric memory an operation writes: those of a put, and its word.
pub(in crate::ni) type Spans = [Range<u64>; 2];

/// Who hears of the end.
#[derive(Clone, Copy)]
pub(in crate::ni) enum Hearer {
    /// Whoever settles.
    Account,
    /// Somebody who waits: what became of it, when it has ended.
    Waiter(Option<End>),
    Nobody,
}

/// Bits of a token that say which slot.
const INDEX_BITS: u32 = 24;

impl Desk {
    pub fn peer(&mut self, rank: usize) -> &mut Peer {
        self.peers.entry(rank).or_default()
    }

    pub fn open(&mut self, doing: Doing) -> Token {
        let index = self.free.pop().unwrap_or(self.operations.len());
        if index == self.operations.len() {
            self.operations.push(Slot::default());
        }
        let slot = &mut self.operations[index];
        slot.serial += 1;
        slot.doing = Some(doing);
        Token(slot.serial << INDEX_BITS | index as u64)
    }

    fn slot(&mut self, token: Token) -> Option<(usize, &mut Slot)> {
        let index = (token.0 & ((1 << INDEX_BITS) - 1)) as usize;
        self.operations.get_mut(index).filter(|slot| slot.serial == token.0 >> INDEX_BITS).map(|slot| (index, slot))
    }

    pub fn doing(&mut self, token: Token) -> Option<&mut Doing> {
        self.slot(token).and_then(|(_, slot)| slot.doing.as_mut())
    }

    pub fn close(&mut self, token: Token) -> Option<Doing> {
        let (index, slot) = self.slot(token)?;
        let doing = slot.doing.take()?;
        self.free.push(index);
        Some(doing)
    }
}

impl Peer {
    pub fn owed_by(&mut self, port: usize) -> &mut u64 {
        if self.owed.len() <= port {
            self.owed.resize(port + 1, 0);
        }
        &mut self.owed[port]
    }
}
