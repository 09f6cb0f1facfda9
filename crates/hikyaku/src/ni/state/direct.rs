//! Operations that the network itself does on memory of a far rank, where it can
//! ([`RemoteMemory`](crate::transport::remote_memory::RemoteMemory)): on symmetric memory and on areas.
//!
//! ```text
//!   initiator                                                  target
//!   first operation: by packet; asks for the key     ---->     its interface answers
//!   push: put          push_notify: put, then its word         nobody does anything
//!   word: put of a word, fenced     pull: get     atomic: change
//!   flush: all that was started has completed
//! ```
//! What keeps the order that packets have by themselves:
//! * a word, a pull and an atomic operation are fenced: they begin when everything before them is done. So is a push to bytes that
//!   another one is still writing, where the network does not keep that order;
//! * an operation here begins when the packets of its port to that rank are done (`ni::remote::onesided`): those wait for
//!   the target's interface, and the network does not;
//! * packets wait until puts to their target are done, unless the network keeps that order ([`Direct::holds_back`]).
//!
//! Symmetric memory is registered when a rank starts, unless the network pins pages ([`RemoteLimits::pins`]); an area when a far rank first
//! opens it. Its key is taken back when it is revoked.
//! Windows go by packets: whoever aims one elsewhere takes along what has come.

use super::account::{Account, StatusWord};
use super::under_way::{Desk, Doing, Hearer, Key, Peer, Spans};
use crate::error::Refusal;
use crate::ni::wire::target::Target;
use crate::planted::{Bug, planted};
use crate::sync::brief::lock;
use crate::transport::core::{Token, Transport};
use crate::transport::remote_memory::{
    End, Registration, RemoteFailure, RemoteKey, RemoteLimits, RemoteMemory, RemotePlace,
};
use crate::transport::shm::layout::JobMemory;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// What a rank has under way by the network itself.
pub(crate) struct Direct {
    transport: Arc<dyn Transport>,
    /// What is registered stays mapped until it is not registered any more.
    _memory: Arc<JobMemory>,
    /// The own symmetric memory; `None` where only areas are reached.
    heap: Option<Registration>,
    pub limits: RemoteLimits,
    process: u32,
    /// Puts to all ranks. Only the thread that has started some must see them here.
    puts: AtomicU64,
    desk: Mutex<Desk>,
}

impl Direct {
    /// Registers the symmetric memory of a rank, if its transport reaches memory; `None` where packets do everything.
    pub fn new(transport: Option<&Arc<dyn Transport>>, memory: &Arc<JobMemory>, heap: *mut u8) -> Option<Direct> {
        let transport = transport?.clone();
        let network = transport.remote_memory()?;
        let limits = network.limits();
        // SAFETY: this half of the rank's heap, which `_memory` keeps mapped until it was deregistered; everybody accesses it by
        // racing copies and atomic words.
        let register = || unsafe { network.register(heap, memory.layout.heap_half_bytes) };
        let heap = if limits.pins { None } else { Some(register().ok()?) };
        let (puts, desk) = (AtomicU64::new(0), Mutex::default());
        let process = std::process::id();
        Some(Direct { _memory: memory.clone(), heap, limits, process, puts, desk, transport })
    }

    pub(in crate::ni) fn network(&self) -> &dyn RemoteMemory {
        self.transport.remote_memory().expect("it had it before")
    }

    /// Nothing panics while it is held.
    fn desk(&self) -> MutexGuard<'_, Desk> {
        lock(&self.desk)
    }

    /// What a peer needs to reach the symmetric memory of this rank.
    pub(in crate::ni) fn own_key(&self) -> [u64; 3] {
        self.heap.map_or([0; 3], |heap| [heap.key.base, heap.key.key, heap.key.bytes])
    }

    /// Where a target is to the network; `None` if it is not in symmetric memory, or if its key is not known yet. It is asked for
    /// by `ask`, which says whether it could: what finds no room is asked again with the next operation.
    pub fn find(&self, at: &Target, bytes: u64, ask: impl FnOnce() -> bool) -> Option<RemotePlace> {
        let is_inside = |key: &RemoteKey| at.offset.checked_add(bytes).is_some_and(|end| end <= key.bytes);
        if at.area().is_some() {
            return at.reach().filter(is_inside).map(|key| RemotePlace { key, offset: at.offset });
        }
        let own = self.heap.filter(|heap| at.is_heap() && is_inside(&heap.key))?.key;
        let mut desk = self.desk();
        let key = &mut desk.peer(at.rank).key;
        match *key {
            Key::Known(_) if planted(Bug::ForeignKey) => Some(RemotePlace { key: own, offset: at.offset }),
            Key::Known(key) => Some(RemotePlace { key, offset: at.offset }),
            Key::Asked | Key::Nowhere => None,
            Key::Unknown => {
                if ask() {
                    *key = Key::Asked;
                }
                None
            }
        }
    }

    /// A peer has told how its symmetric memory is reached. What it says is used to reach that peer, and nobody else.
    pub(in crate::ni) fn learn(&self, rank: usize, [base, key, bytes]: [u64; 3]) {
        let mut desk = self.desk();
        let known = &mut desk.peer(rank).key;
        if let Key::Asked = known {
            let is_alike = self.heap.is_some_and(|own| bytes == own.key.bytes);
            *known = if is_alike { Key::Known(RemoteKey { base, key, bytes }) } else { Key::Nowhere };
        }
    }

    /// Lets far ranks reach an own area, from their first opening on; `None` if the network cannot.
    ///
    /// # Safety
    /// As for [`RemoteMemory::register`], until [`Direct::take_back`].
    pub(in crate::ni) unsafe fn lend(&self, area: u64, start: *mut u8, bytes: usize) -> Option<RemoteKey> {
        if !self.limits.revokes {
            return None;
        }
        let mut desk = self.desk();
        if let Some(registration) = desk.areas.get(&area) {
            return Some(registration.key);
        }
        // SAFETY: the caller's promise.
        let registration = unsafe { self.network().register(start, bytes) }.ok()?;
        desk.areas.insert(area, registration);
        Some(registration.key)
    }

    /// Nobody reaches an own area any more when this returns.
    pub fn take_back(&self, area: u64) {
        let registration = self.desk().areas.remove(&area);
        if let Some(registration) = registration.filter(|_| !planted(Bug::KeyKept)) {
            self.network().deregister(&registration);
        }
    }

    /// An operation begins; for a put, which bytes it writes.
    pub(in crate::ni) fn open(&self, at: (usize, Refusal), port: usize, put: Option<Spans>, hearer: Hearer) -> Token {
        let (rank, refusal) = at;
        let mut desk = self.desk();
        if matches!(hearer, Hearer::Account) {
            *desk.peer(rank).owed_by(port) += 1;
        }
        let is_put = put.is_some();
        let token = desk.open(Doing { rank, port, is_put, refusal, hearer });
        if let Some(spans) = put {
            desk.peer(rank).puts.push((token, spans));
            self.puts.fetch_add(1, Ordering::Relaxed);
        }
        token
    }

    /// Whether bytes are being written by a put that is under way: another one must not pass it.
    pub(in crate::ni) fn is_written(&self, rank: usize, spans: &Spans) -> bool {
        if self.limits.in_order || self.puts.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let meet = |one: &Range<u64>, other: &Range<u64>| one.start < other.end && other.start < one.end;
        let meet = |other: &Spans| spans.iter().any(|one| other.iter().any(|other| meet(one, other)));
        self.desk().peers.get(&rank).is_some_and(|peer| peer.puts.iter().any(|(_, other)| meet(other)))
    }

    /// It was not started.
    pub(in crate::ni) fn cancel(&self, token: Token) {
        let mut desk = self.desk();
        if let Some(doing) = desk.close(token) {
            self.end_put(&mut desk, token, &doing);
            if matches!(doing.hearer, Hearer::Account) {
                *desk.peer(doing.rank).owed_by(doing.port) -= 1;
            }
        }
    }

    /// An operation has ended; also one that is not known any more. Its status word is written by `write`.
    pub fn complete(&self, accounts: &[Account], token: Token, end: End, write: impl FnOnce(StatusWord)) {
        let mut desk = self.desk();
        let Some(doing) = desk.doing(token) else { return };
        let Doing { rank, port, .. } = *doing;
        if let Hearer::Waiter(ended) = &mut doing.hearer {
            if ended.is_none() {
                *ended = Some(end);
                let doing = *doing;
                self.end_put(&mut desk, token, &doing);
            }
            return;
        }
        let Some(doing) = desk.close(token) else { return };
        self.end_put(&mut desk, token, &doing);
        if let Hearer::Nobody = doing.hearer {
            return;
        }
        let account = &accounts[port];
        match end {
            Ok(_) => account.write_status(rank, status_number(token), write),
            Err(why) => {
                account.drop_status(rank, status_number(token));
                match why {
                    // Only what is waited for is withdrawn.
                    RemoteFailure::Refused | RemoteFailure::Withdrawn => account.refuse(rank, doing.refusal as u64),
                    // It stays owed: whoever settles waits for the news, which say how that rank has ended.
                    RemoteFailure::Lost => return,
                }
            }
        }
        *desk.peer(rank).owed_by(port) -= 1;
    }

    /// How an operation has ended that somebody waits for. One that is lost never does: the news of its target end the wait.
    pub(in crate::ni) fn ended(&self, token: Token) -> Option<End> {
        match self.desk().doing(token)?.hearer {
            Hearer::Waiter(Some(Err(RemoteFailure::Lost))) => None,
            Hearer::Waiter(end) => end,
            _ => None,
        }
    }

    /// Nobody waits for it any more; whether it is still under way.
    fn leave(&self, token: Token) -> bool {
        let mut desk = self.desk();
        let Some(doing) = desk.doing(token) else { return false };
        if let Hearer::Waiter(None) = doing.hearer {
            doing.hearer = Hearer::Nobody;
            return true;
        }
        desk.close(token);
        false
    }

    /// Nobody waits for it any more, and nobody is at its bytes when this returns.
    pub(in crate::ni) fn let_go(&self, token: Token) {
        if self.leave(token) && !planted(Bug::LentForgotten) {
            self.network().reclaim(token);
        }
    }

    fn end_put(&self, desk: &mut Desk, token: Token, doing: &Doing) {
        if doing.is_put {
            desk.peer(doing.rank).puts.retain(|(other, _)| *other != token);
            self.puts.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether everything that a port has started towards a rank is done there.
    pub fn is_settled(&self, port: usize, rank: usize) -> bool {
        let desk = self.desk();
        let owed = desk.peers.get(&rank).and_then(|peer| peer.owed.get(port));
        owed.is_none_or(|owed| *owed == 0) || planted(Bug::PutsUncounted)
    }

    /// The ranks towards which a port has something under way.
    pub fn unsettled(&self, port: usize) -> Vec<usize> {
        let desk = self.desk();
        let is_owed = |peer: &Peer| peer.owed.get(port).is_some_and(|owed| *owed > 0);
        desk.peers.iter().filter(|(_, peer)| is_owed(peer)).map(|(rank, _)| *rank).collect()
    }

    /// Gives up what a port has under way to a rank that has ended.
    pub fn write_off(&self, port: usize, rank: usize) {
        let mut desk = self.desk();
        *desk.peer(rank).owed_by(port) = 0;
        for doing in desk.operations.iter_mut().filter_map(|slot| slot.doing.as_mut()) {
            if doing.rank == rank && doing.port == port && matches!(doing.hearer, Hearer::Account) {
                doing.hearer = Hearer::Nobody;
            }
        }
    }

    /// Whether a packet to a rank would pass a put.
    pub fn holds_back(&self, rank: usize) -> bool {
        if self.limits.packets_follow || self.puts.load(Ordering::Relaxed) == 0 || planted(Bug::PacketsPassPuts) {
            return false;
        }
        self.desk().peers.get(&rank).is_some_and(|peer| !peer.puts.is_empty())
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        // A forked child drops a copy of what its parent goes on to use.
        if self.process == std::process::id() {
            self.heap.iter().for_each(|heap| self.network().deregister(heap));
            self.desk().areas.values().for_each(|area| self.network().deregister(area));
        }
    }
}

/// What an account knows the status word of an operation by: no number of a packet.
pub(in crate::ni) fn status_number(token: Token) -> u64 {
    token.0 | 1 << 63
}

/// The bytes of a push that are not copied; nobody is at them when this is dropped.
pub(in crate::ni) struct Lent<'d> {
    pub direct: &'d Direct,
    pub token: Token,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.direct.let_go(self.token);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
