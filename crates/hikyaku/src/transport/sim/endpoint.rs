//! One rank's view of the simulated network, and its surroundings.

use super::course::queue;
use super::fiber;
use super::world::World;
use crate::error::{Error, Result};
use crate::transport::Parcel;
use crate::transport::core::{Armed, Body, Capabilities, Posted, Sink, Token, Transport};
use crate::transport::environment::Environment;
use crate::transport::hardware::{Hardware, Multicast, NetworkBarrier};
use crate::transport::remote_memory::RemoteMemory;
use crate::transport::shm::layout::State;
use crate::transport::shm::ring::Packet;
use std::os::fd::BorrowedFd;
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
        fiber::can_stop(self.world.owner(self.rank)) && !(self.is_beside)()
    }
}

impl Transport for Endpoint {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new(self.world.course().payload_max())
    }

    unsafe fn post(&self, to: usize, packet: &Packet, body: Body, _: Option<Token>) -> Result<Posted> {
        let mut payload = vec![0; body.len()];
        // SAFETY: the caller's promise.
        unsafe { body.copy(0, &mut payload) };
        let parcel = Parcel { source: self.rank, packet: *packet, payload: payload.into() };
        let sent = self.world.course().send(&self.world.wire, self.rank, to, parcel);
        Ok(if sent { Posted::Done } else { Posted::Busy })
    }

    fn poll(&self, sink: &mut dyn Sink) -> bool {
        let mut worked = false;
        // One at a time: a handler may send, which is the world's to know of.
        while let Some(parcel) = self.take_arrived() {
            worked = true;
            sink.message(parcel.source, &parcel.packet, &parcel.payload);
        }
        worked
    }

    fn has_arrived(&self) -> bool {
        !self.world.course().ranks[self.rank].inbox.is_empty()
    }

    /// Nobody sleeps but in virtual time.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn arm(&self) -> Armed {
        Armed::Until(None)
    }

    /// A rank that ends does so when everything has arrived that it has sent: see [`Environment::depart`].
    fn drained_but(&self, _: &dyn Fn(usize) -> bool) -> bool {
        true
    }

    fn remote_memory(&self) -> Option<&dyn RemoteMemory> {
        self.world.course().nics.is_some().then_some(self as _)
    }
}

impl Hardware for Endpoint {
    fn multicast(&self) -> Option<&dyn Multicast> {
        self.world.wire.broadcast(self.world.size()).map(|_| self as _)
    }

    fn barrier(&self) -> Option<&dyn NetworkBarrier> {
        self.world.wire.barrier(self.world.size()).map(|_| self as _)
    }
}

impl Endpoint {
    fn take_arrived(&self) -> Option<Parcel> {
        let mut course = self.world.course();
        let parcel = course.ranks[self.rank].inbox.pop_front()?;
        course.consumed(queue(parcel.source, self.rank, &parcel.packet));
        Some(parcel)
    }
}

impl Environment for Endpoint {
    fn now(&self) -> Instant {
        let course = self.world.course();
        self.world.instant(course.now + course.ranks[self.rank].debt)
    }

    fn random(&self) -> u64 {
        self.world.course().chance.next().max(1)
    }

    fn run(&self) -> u64 {
        self.world.run
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

    fn depart(&self, state: State, arrivals: u64) {
        self.world.course().depart(self.rank, state, arrivals);
    }

    fn is_over(&self) -> bool {
        self.world.course().ranks[self.rank].dead
    }
}
