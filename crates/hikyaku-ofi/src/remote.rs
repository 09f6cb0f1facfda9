//! What the interface asks of remote memory, by libfabric.
//!
//! Transfers of some length alone: a provider that works by the processor needs a message for each, as a packet does, and one more for
//! the answer. So words, and whatever is short, are packets.

use crate::endpoint::Endpoint;
use crate::reach::Way;
use hikyaku::spi::{Change, Get, Put, Registration, RemoteLimits, RemoteMemory, Start, Token};
use hikyaku::{Error, Result};
use std::time::{Duration, Instant};

/// Bytes of the shortest transfer.
pub const TRANSFER_MIN: usize = 16 << 10;
/// How long one waits for the end of a transfer whose bytes are wanted back.
const PATIENCE: Duration = Duration::from_millis(100);

impl RemoteMemory for Endpoint {
    fn limits(&self) -> RemoteLimits {
        let state = self.state();
        let offer = state.port.offer();
        let mut limits = RemoteLimits::new(0);
        (limits.transfer_min, limits.carries_words) = (TRANSFER_MIN, false);
        (limits.revokes, limits.pins) = (offer.revokes(), offer.pins());
        limits
    }

    unsafe fn register(&self, start: *mut u8, bytes: usize) -> Result<Registration> {
        // SAFETY: the caller's promise.
        unsafe { self.state().register(start, bytes) }
    }

    fn deregister(&self, registration: &Registration) {
        self.state().deregister(registration.handle);
    }

    unsafe fn put(&self, to: usize, put: &Put, token: Token) -> Result<Start> {
        if put.then.is_some() || put.event {
            return Err(unsupported("a word along with a put"));
        }
        // SAFETY: the caller's promise.
        unsafe { self.state().transfer(to, (Way::Put(put.from), put.bytes), &put.to, put.fence, token) }
    }

    unsafe fn get(&self, from: usize, get: &Get, token: Token) -> Result<Start> {
        // SAFETY: the caller's promise.
        unsafe { self.state().transfer(from, (Way::Get(get.into), get.bytes), &get.from, get.fence, token) }
    }

    fn change(&self, _: usize, _: &Change, _: Token) -> Result<Start> {
        Err(unsupported("changing a word"))
    }

    fn reclaim(&self, token: Token) {
        let end = Instant::now() + PATIENCE;
        loop {
            let mut state = self.state();
            state.look();
            if !state.is_under_way(token) || Instant::now() >= end && state.give_up(token) {
                return;
            }
            drop(state);
            std::thread::yield_now();
        }
    }
}

/// What the limits say that it is not for.
fn unsupported(what: &str) -> Error {
    Error::Invalid(format!("libfabric is not used for {what}: packets do it"))
}
