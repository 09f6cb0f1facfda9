//! One rank's view of the simulated network.

use super::fiber;
use super::world::{World, queue};
use crate::error::{Error, Result};
use crate::transport::hardware::{Multicast, NetworkBarrier};
use crate::transport::shm::layout::State;
use crate::transport::shm::ring::Packet;
use crate::transport::{Parcel, Transport};
use std::sync::Arc;
use std::time::Instant;

/// See above.
pub(crate) struct Endpoint {
    pub world: Arc<World>,
    pub rank: usize,
    /// Whether a handler runs, or work beside the program, which stops by itself.
    pub is_beside: fn() -> bool,
}

impl Endpoint {
    /// Whether the program can stop here.
    fn can_stop(&self) -> bool {
        fiber::can_stop() && !(self.is_beside)()
    }
}

impl Transport for Endpoint {
    fn send(&self, to: usize, packet: &Packet, payload: &[u8]) -> Result<bool> {
        let parcel = Parcel { source: self.rank, packet: *packet, payload: payload.into() };
        Ok(self.world.course().send(&self.world.wire, self.rank, to, parcel))
    }

    fn receive(&self) -> Option<Parcel> {
        self.world.course().ranks[self.rank].inbox.pop_front()
    }

    fn put_back(&self, parcels: Vec<Parcel>) {
        let inbox = &mut self.world.course().ranks[self.rank].inbox;
        parcels.into_iter().rev().for_each(|parcel| inbox.push_front(parcel));
    }

    fn consumed(&self, parcel: &Parcel) {
        self.world.course().consumed(queue(parcel.source, self.rank, &parcel.packet));
    }

    fn has_arrived(&self) -> bool {
        !self.world.course().ranks[self.rank].inbox.is_empty()
    }

    fn multicast(&self) -> Option<&dyn Multicast> {
        self.world.wire.broadcast(self.world.size()).map(|_| self as _)
    }

    fn network_barrier(&self) -> Option<&dyn NetworkBarrier> {
        self.world.wire.barrier(self.world.size()).map(|_| self as _)
    }

    fn payload_max(&self) -> usize {
        self.world.course().payload_max()
    }

    fn now(&self) -> Instant {
        let course = self.world.course();
        self.world.instant(course.now + course.ranks[self.rank].debt)
    }

    fn call(&self) {
        self.world.course().ranks[self.rank].debt += self.world.wire.call();
    }

    fn copied(&self, bytes: usize) {
        self.world.course().ranks[self.rank].debt += self.world.wire.copy(bytes);
    }

    fn look(&self) {
        if self.can_stop() {
            self.world.course().look(self.rank, &self.world.wire);
            fiber::stop();
        }
    }

    fn check_wait(&self) -> Result<()> {
        match self.can_stop() {
            true => Ok(()),
            false => Err(Error::Invalid("only its program waits in a simulated rank, which has one thread".into())),
        }
    }

    fn sleep(&self, deadline: Option<Instant>) {
        if self.can_stop() {
            let deadline = deadline.and_then(|deadline| self.world.time(deadline));
            self.world.course().sleep(self.rank, deadline);
            fiber::stop();
        }
    }

    fn serve_alone(&self, alone: bool) {
        self.world.serve_alone(self.rank, alone);
    }

    fn is_virtual(&self) -> bool {
        true
    }

    fn depart(&self, state: State) {
        self.world.course().depart(self.rank, state);
    }

    fn is_over(&self) -> bool {
        self.world.course().ranks[self.rank].dead
    }

    fn random(&self) -> Result<u64> {
        Ok(self.world.course().chance.next().max(1))
    }
}
