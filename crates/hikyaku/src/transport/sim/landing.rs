//! What arrives at a simulated network interface that reaches memory by itself: it writes and reads without the rank.

use super::course::Course;
use super::endpoint::Endpoint;
use super::nic::{DONE, LOST, REFUSED, Region, WITH_EVENT, WITH_WORD};
use super::world::World;
use crate::error::Result;
use crate::memory::copy;
use crate::transport::Parcel;
use crate::transport::core::Token;
use crate::transport::packet::{kind, verb};
use crate::transport::remote_memory::{Change, Get, Put, Registration, RemoteLimits, RemoteMemory, Start};
use crate::transport::shm::ring::Packet;
use std::sync::atomic::{AtomicU64, Ordering};

impl World {
    /// A piece of an operation has arrived, or the answer to one.
    pub(super) fn land(&self, to: usize, parcel: &Parcel) {
        let mut course = self.course();
        course.lose(parcel.source);
        if parcel.packet.kind == kind::NIC_DONE {
            course.take_done(&self.wire, parcel);
            return;
        }
        let (answer, payload) = course.perform(to, parcel);
        let has_event = answer[0] == DONE && parcel.packet.arguments[5] & WITH_EVENT != 0;
        let packet =
            Packet { kind: kind::NIC_DONE, address: parcel.packet.address, arguments: answer, ..Packet::default() };
        let now = course.now;
        course.carry(&self.wire, parcel.source, now, Parcel { source: to, packet, payload: payload.into() });
        course.wake(to, false);
        drop(course);
        if let Some(ni) = self.interface(to).filter(|_| has_event) {
            self.act(to, || ni.landed());
        }
        self.heed_bells(to);
    }

    /// An operation has ended: its rank hears of it.
    pub(super) fn finish(&self, number: u64) {
        let Some((from, to, token, end)) = self.course().nics().take_ended(number) else { return };
        if let Some(ni) = self.interface(from) {
            self.act(from, || ni.complete(token, end));
        }
        let mut course = self.course();
        course.wake(from, false);
        course.plan_retry_if_alone(from);
        course.begin_waiting(from, to);
        course.lose(from);
        drop(course);
        self.heed_bells(from);
    }
}

impl Course {
    /// Does what a piece asks for on memory of a rank; what is answered.
    fn perform(&mut self, rank: usize, parcel: &Parcel) -> ([u64; 6], Vec<u8>) {
        let Packet { handler, arguments: [key, offset, a, b, word, flags], .. } = parcel.packet;
        let is_gone = self.ranks[rank].dead || self.ranks[rank].has_departed;
        let refused = ([if is_gone { LOST } else { REFUSED }, 0, 0, 0, 0, 0], Vec::new());
        let nics = self.nics();
        let find = |key, offset, bytes: usize| nics.find(rank, key, offset, bytes as u64);
        let find_word = |key, offset| find(key, offset, 8).filter(|word| (*word as usize).is_multiple_of(8));
        match handler {
            verb::PUSH => {
                let then = (flags & WITH_WORD != 0).then(|| find_word(a, b));
                let (Some(target), false) = (find(key, offset, parcel.payload.len()), then == Some(None)) else {
                    return refused;
                };
                // SAFETY: inside registered memory, which stays until it is deregistered.
                unsafe { copy::copy(target, parcel.payload.as_ptr(), parcel.payload.len()) };
                if let Some(then) = then.flatten() {
                    // SAFETY: inside registered memory, at a multiple of 8; others access it atomically.
                    unsafe { AtomicU64::from_ptr(then.cast()) }.store(word, Ordering::Release);
                }
                ([DONE, 0, 0, 0, 0, 0], Vec::new())
            }
            verb::PULL => {
                let mut bytes = vec![0; a as usize];
                let Some(source) = find(key, offset, bytes.len()) else { return refused };
                // SAFETY: inside registered memory, which stays until it is deregistered.
                unsafe { copy::copy(bytes.as_mut_ptr(), source, bytes.len()) };
                ([DONE, 0, b, 0, 0, 0], bytes)
            }
            verb => {
                let (Some(operation), Some(target)) = (verb::atomic(verb, [a, b]), find_word(key, offset)) else {
                    return refused;
                };
                // SAFETY: inside registered memory, at a multiple of 8; others access it atomically.
                let before = operation.perform(unsafe { AtomicU64::from_ptr(target.cast()) });
                ([DONE, before, 0, 0, 0, 0], Vec::new())
            }
        }
    }
}

impl RemoteMemory for Endpoint {
    fn limits(&self) -> RemoteLimits {
        self.world.course().nics().order.limits()
    }

    unsafe fn register(&self, start: *mut u8, bytes: usize) -> Result<Registration> {
        let region = Region { rank: self.rank, start, bytes: bytes as u64 };
        Ok(self.world.course().nics().register(region))
    }

    fn deregister(&self, registration: &Registration) {
        self.world.course().nics().deregister(registration.handle);
    }

    unsafe fn put(&self, to: usize, put: &Put, token: Token) -> Result<Start> {
        Ok(self.world.course().start_put(&self.world.wire, self.rank, to, put, token))
    }

    unsafe fn get(&self, from: usize, get: &Get, token: Token) -> Result<Start> {
        Ok(self.world.course().start_get(&self.world.wire, self.rank, from, get, token))
    }

    fn change(&self, at: usize, change: &Change, token: Token) -> Result<Start> {
        Ok(self.world.course().start_change(&self.world.wire, self.rank, at, change, token))
    }

    fn reclaim(&self, token: Token) {
        self.world.course().nics().reclaim(self.rank, token);
    }
}
