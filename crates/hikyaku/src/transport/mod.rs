//! How network interfaces reach each other.
//!
//! Rests on: [`crate::sync`] and [`crate::memory`].
//! Leaves out: what is done with the reach (that is [`crate::ni`]).
//!
//! [`shm`] is mapped memory: every rank of a host maps one segment, so a remote reference is a pointer and needs
//! no transport call at all. Ranks that are not mapped are *far*: a [`Transport`] carries packets to their network
//! interfaces, which do what the packets ask for. [`sim`] is one in virtual time. [`mod@core`] says what one between hosts must do,
//! [`loopback`] is the smallest, [`udp`] goes over datagrams. [`reliable`] makes links out of wires that lose frames. [`hardware`]
//! is what some networks do for all ranks at once.

pub mod core;
pub(crate) mod hardware;
pub mod loopback;
pub(crate) mod packet;
pub(crate) mod reliable;
pub mod shm;
pub mod sim;
pub mod udp;

use crate::error::Result;
use hardware::{Multicast, NetworkBarrier};
use packet::kind;
use shm::layout::State;
use shm::ring::Packet;
use std::sync::Arc;
use std::time::Instant;

/// How one rank reaches far ranks. Packets between two ranks arrive once each, in order.
///
/// Everything else (push, pull, word, atomic operations, flush) has its reference version on this: a packet to the
/// owner's network interface, which answers.
pub(crate) trait Transport: Send + Sync {
    /// Sends a packet with its payload, which is copied; false while there is no room.
    fn send(&self, to: usize, packet: &Packet, payload: &[u8]) -> Result<bool>;

    /// The next packet that has arrived for this rank's handlers.
    fn receive(&self) -> Option<Parcel>;

    /// Takes packets back that [`Transport::receive`] gave and that must wait, in order.
    fn put_back(&self, parcels: Vec<Parcel>);

    /// A packet that [`Transport::receive`] gave was handled: there is room for another.
    fn consumed(&self, parcel: &Parcel);

    /// Whether [`Transport::receive`] would give something.
    fn has_arrived(&self) -> bool;

    /// How the network reaches all ranks at once, if it does.
    fn multicast(&self) -> Option<&dyn Multicast> {
        None
    }

    /// How the network finds out that all ranks have come, if it does.
    fn network_barrier(&self) -> Option<&dyn NetworkBarrier> {
        None
    }

    /// Payload bytes of one packet of the library at most, beside up to [`TAIL_BYTES_MAX`] that follow them.
    fn payload_max(&self) -> usize;

    /// The time here.
    fn now(&self) -> Instant;

    /// The program has entered a call of the library that communicates.
    fn call(&self) {}

    /// The program has copied so many bytes within its own memory.
    fn copied(&self, _bytes: usize) {}

    /// This rank looks at its memory: what has arrived by now must be there.
    fn look(&self);

    /// Fails where nobody can wait, because time does not go on there.
    fn check_wait(&self) -> Result<()>;

    /// Sleeps until something arrives, a rank ends, or `deadline`; may return early.
    fn sleep(&self, deadline: Option<Instant>);

    /// From now on handlers run when messages arrive, until this was taken back as often as it was asked for; otherwise
    /// only inside calls of the program.
    fn serve_alone(&self, alone: bool);

    /// Whether time is virtual: a rank is then one thread, and sees no time but that of the transport.
    fn is_virtual(&self) -> bool;

    /// This rank has ended. The others learn of it after everything it has sent.
    fn depart(&self, state: State);

    /// Whether this rank is over, though its program may still run for a moment: nothing comes any more.
    fn is_over(&self) -> bool;

    /// A random number that is not 0.
    fn random(&self) -> Result<u64>;
}

/// A network interface, as a transport sees it that makes one act without its program.
pub(crate) trait Interface: Send + Sync {
    /// Does what a packet asks for; false if it must wait.
    fn take(&self, parcel: &Parcel) -> bool;

    /// Does what waits.
    fn progress(&self);
}

/// Bytes of the words that a packet may carry behind its payload.
pub(crate) const TAIL_BYTES_MAX: usize = 64;

/// A packet with what it carries, and from whom.
#[derive(Debug)]
pub(crate) struct Parcel {
    pub source: usize,
    pub packet: Packet,
    /// Shared by those it was sent to at once.
    pub payload: Arc<[u8]>,
}

impl Parcel {
    /// Whether it is not taken before an earlier one: a message after everything its sender did before, but what concerns
    /// memory alone not after a message, whose handler may wait for just that.
    pub fn waits_behind(&self, earlier: &Parcel) -> bool {
        let is_message = |parcel: &Parcel| parcel.packet.kind <= kind::CALL;
        earlier.source == self.source && (is_message(self) || !is_message(earlier))
    }
}
