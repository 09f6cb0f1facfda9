//! The smallest version of remote memory, to copy from: endpoints of one process, which copy by themselves.
//!
//! Rests on: a table of what is registered, of all endpoints. Leaves out: everything that makes a network hard, so that operations are
//! done when they are started, and in order.
//!
//! What a version must have is marked by letter:
//!
//! a. `register` and `deregister`: an operation finds memory by its key while it holds the table, so that nobody is at it any more
//!    when it was taken out.
//! b. `put`, `get` and `change`: check rank, key and bounds, and tell what came of it by the token, later and never from inside the
//!    call; the owner of the memory does nothing.
//! c. Events for the target, and ends for the initiator, wait where `poll` finds them, and ring the bell that both sleep on.
//! d. `reclaim`: here nothing is under way when a call returns.

use super::Endpoint;
use crate::error::{Error, Result};
use crate::memory::copy;
use crate::sync::brief::lock;
use crate::transport::core::{Armed, Body, Capabilities, Posted, Sink, Token, Transport};
use crate::transport::remote_memory::{
    Change, End, Get, Put, Registration, RemoteFailure, RemoteKey, RemoteLimits, RemoteMemory, RemotePlace, Start,
};
use crate::transport::shm::ring::Packet;
use std::collections::{HashMap, VecDeque};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// News that wait for one rank at most: then whoever makes them is busy.
const NEWS_MAX: usize = 1024;

/// One rank's end that reaches memory of the others.
pub struct MemoryEndpoint {
    packets: Endpoint,
    shared: Arc<Shared>,
}

/// What all endpoints know.
struct Shared {
    table: Mutex<Table>,
    /// What each rank has to be told.
    news: Vec<Mutex<VecDeque<News>>>,
}

#[derive(Default)]
struct Table {
    regions: HashMap<u64, Region>,
    registered: u64,
}

struct Region {
    rank: usize,
    start: *mut u8,
    bytes: u64,
}

// SAFETY: the address is followed only under the lock of the table, while the memory is registered.
unsafe impl Send for Region {}

enum News {
    Ended { token: Token, end: End, changed: bool },
    Landed { from: usize },
}

/// Endpoints for so many ranks.
///
/// # Errors
/// When the kernel gives no descriptors.
pub fn memory_endpoints(count: usize) -> Result<Vec<MemoryEndpoint>> {
    let news = (0..count).map(|_| Mutex::default()).collect();
    let shared = Arc::new(Shared { table: Mutex::default(), news });
    let endpoints = super::endpoints(count)?.into_iter();
    Ok(endpoints.map(|packets| MemoryEndpoint { packets, shared: shared.clone() }).collect())
}

impl Shared {
    /// Nobody panics with these locks.
    fn table(&self) -> MutexGuard<'_, Table> {
        lock(&self.table)
    }

    fn news(&self, rank: usize) -> MutexGuard<'_, VecDeque<News>> {
        lock(&self.news[rank])
    }
}

impl Table {
    /// Bytes of a rank that a peer named; none of it is believed.
    fn find(&self, rank: usize, place: RemotePlace, bytes: usize) -> std::result::Result<*mut u8, RemoteFailure> {
        let region = self.regions.get(&place.key.key).filter(|region| region.rank == rank);
        let region = region.ok_or(RemoteFailure::Refused)?;
        match place.offset.checked_add(bytes as u64) {
            Some(end) if end <= region.bytes => Ok(region.start.wrapping_add(place.offset as usize)),
            _ => Err(RemoteFailure::Refused),
        }
    }

    /// A word of a rank.
    fn find_word(&self, rank: usize, place: RemotePlace) -> std::result::Result<*mut u64, RemoteFailure> {
        let word = self.find(rank, place, 8)?;
        if (word as usize).is_multiple_of(8) { Ok(word.cast()) } else { Err(RemoteFailure::Refused) }
    }
}

impl MemoryEndpoint {
    /// (c)
    fn tell(&self, rank: usize, news: News) {
        self.shared.news(rank).push_back(news);
        self.packets.mailboxes[rank].ring();
    }

    /// (b) Does an operation on memory of a rank, under the lock of the table.
    fn perform(
        &self,
        rank: usize,
        token: Token,
        (event, changed): (bool, bool),
        operation: impl FnOnce(&Table) -> End,
    ) -> Result<Start> {
        let size = self.packets.mailboxes.len();
        if rank >= size {
            return Err(Error::NoSuchRank { rank, size });
        }
        if self.shared.news(self.packets.rank).len() >= NEWS_MAX || self.shared.news(rank).len() >= NEWS_MAX {
            return Ok(Start::Busy);
        }
        let gone = self.packets.mailboxes[rank].is_over.load(Ordering::Relaxed);
        let end = if gone { Err(RemoteFailure::Lost) } else { operation(&self.shared.table()) };
        if event && end.is_ok() {
            self.tell(rank, News::Landed { from: self.packets.rank });
        }
        self.tell(self.packets.rank, News::Ended { token, end, changed });
        Ok(Start::Started)
    }
}

impl RemoteMemory for MemoryEndpoint {
    fn limits(&self) -> RemoteLimits {
        let all = RemoteLimits::new(usize::MAX);
        RemoteLimits { in_order: true, packets_follow: true, atomics_are_shared: true, ..all }
    }

    /// (a)
    unsafe fn register(&self, start: *mut u8, bytes: usize) -> Result<Registration> {
        let mut table = self.shared.table();
        table.registered += 1;
        let (key, bytes) = (table.registered, bytes as u64);
        table.regions.insert(key, Region { rank: self.packets.rank, start, bytes });
        Ok(Registration { handle: key, key: RemoteKey { base: 0, key, bytes } })
    }

    fn deregister(&self, registration: &Registration) {
        self.shared.table().regions.remove(&registration.handle);
    }

    unsafe fn put(&self, to: usize, put: &Put, token: Token) -> Result<Start> {
        self.perform(to, token, (put.event, false), |table| {
            let target = table.find(to, put.to, put.bytes)?;
            let word = put.then.map(|(then, value)| Ok((table.find_word(to, then)?, value))).transpose()?;
            // SAFETY: inside memory that is registered as long as the table is held; the source can be read.
            unsafe { copy::copy(target, put.from, put.bytes) };
            if let Some((word, value)) = word {
                // SAFETY: likewise, at a multiple of 8; others access it atomically.
                unsafe { AtomicU64::from_ptr(word) }.store(value, Ordering::Release);
            }
            Ok(0)
        })
    }

    unsafe fn get(&self, from: usize, get: &Get, token: Token) -> Result<Start> {
        self.perform(from, token, (false, false), |table| {
            let source = table.find(from, get.from, get.bytes)?;
            // SAFETY: inside memory that is registered as long as the table is held; the target can be written.
            unsafe { copy::copy(get.into, source, get.bytes) };
            Ok(0)
        })
    }

    fn change(&self, at: usize, change: &Change, token: Token) -> Result<Start> {
        self.perform(at, token, (change.event, true), |table| {
            let word = table.find_word(at, change.at)?;
            // SAFETY: inside memory that is registered as long as the table is held, at a multiple of 8; others access it
            // atomically.
            Ok(change.operation.perform(unsafe { AtomicU64::from_ptr(word) }))
        })
    }

    /// (d)
    fn reclaim(&self, _: Token) {}
}

impl Transport for MemoryEndpoint {
    fn capabilities(&self) -> Capabilities {
        self.packets.capabilities()
    }

    unsafe fn post(&self, to: usize, packet: &Packet, body: Body, token: Option<Token>) -> Result<Posted> {
        // SAFETY: the caller's promise.
        unsafe { self.packets.post(to, packet, body, token) }
    }

    /// What has ended comes before packets, which may tell of it.
    fn poll(&self, sink: &mut dyn Sink) -> bool {
        let mut any = false;
        for _ in 0..NEWS_MAX {
            let Some(news) = ({ self.shared.news(self.packets.rank).pop_front() }) else { break };
            any = true;
            match news {
                News::Ended { token, end: Ok(before), changed: true } => sink.fetched(token, before),
                News::Ended { token, end: Ok(_), .. } => sink.completed(token),
                News::Ended { token, end: Err(why), .. } => sink.failed(token, why),
                News::Landed { from } => sink.landed(from),
            }
        }
        self.packets.poll(sink) || any
    }

    fn has_arrived(&self) -> bool {
        !self.shared.news(self.packets.rank).is_empty() || self.packets.has_arrived()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.packets.descriptor()
    }

    fn arm(&self) -> Armed {
        if self.has_arrived() { Armed::Ready } else { self.packets.arm() }
    }

    fn drained_but(&self, has_ended: &dyn Fn(usize) -> bool) -> bool {
        self.packets.drained_but(has_ended)
    }

    fn remote_memory(&self) -> Option<&dyn RemoteMemory> {
        Some(self)
    }
}

impl Drop for MemoryEndpoint {
    /// Nothing reaches the memory of an endpoint that is gone.
    fn drop(&mut self) {
        self.shared.table().regions.retain(|_, region| region.rank != self.packets.rank);
    }
}

#[cfg(test)]
mod tests;
