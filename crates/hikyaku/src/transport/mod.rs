//! How network interfaces reach each other.
//!
//! Rests on: [`crate::sync`] and [`crate::memory`].
//! Leaves out: what is done with the reach (that is [`crate::ni`]).
//!
//! [`shm`] is mapped memory: the ranks of a host map one segment, so a remote reference is a pointer and needs no transport call
//! at all. Ranks of other hosts are *far*: a [`Transport`] carries packets to their network interfaces, which do what the packets
//! ask for. [`sim`] is one in virtual time. [`reliable`] makes links out of wires that lose frames. [`hardware`] is what some
//! networks do for all ranks at once. [`environment`] is what a simulation replaces besides: time, chance, and who runs when.

pub(crate) mod environment;
pub(crate) mod hardware;
pub(crate) mod hosts;
pub(crate) mod packet;
pub(crate) mod reliable;
pub mod shm;
pub mod sim;

use crate::error::Result;
use hardware::{Multicast, NetworkBarrier};
use packet::kind;
use shm::ring::Packet;
use std::sync::Arc;

/// How one rank reaches far ranks. Packets between two ranks arrive once each, in order.
///
/// Everything else (push, pull, word, atomic operations, flush) has its reference version on this: a packet to the
/// owner's network interface, which answers.
pub(crate) trait Transport: Send + Sync {
    /// Sends a packet with its payload, which is copied.
    fn post(&self, to: usize, packet: &Packet, payload: &[u8]) -> Result<Posted>;

    /// Gives what has arrived to `sink`, and does what time asks for; whether there was anything.
    fn poll(&self, sink: &mut dyn Sink) -> bool;

    /// Whether [`Transport::poll`] may have something for the sink: a look that costs little.
    fn has_arrived(&self) -> bool;

    /// Payload bytes of one packet of the library at most, beside up to [`TAIL_BYTES_MAX`] that follow them.
    fn payload_max(&self) -> usize;

    /// How the network reaches all ranks at once, if it does.
    fn multicast(&self) -> Option<&dyn Multicast> {
        None
    }

    /// How the network finds out that all ranks have come, if it does.
    fn network_barrier(&self) -> Option<&dyn NetworkBarrier> {
        None
    }
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Posted {
    /// It is on its way, and its payload is free.
    Done,
    /// There is no room now.
    Busy,
}

/// Where a transport puts what has arrived.
pub(crate) trait Sink {
    /// A packet has come. It is taken, whatever becomes of it.
    fn packet(&mut self, from: usize, packet: &Packet, payload: &[u8]);

    /// A rank cannot be reached any more, after what `tried` says.
    fn lost(&mut self, rank: usize, tried: &str);
}

/// A network interface, as a transport sees it that makes one act without its program.
pub(crate) trait Interface: Send + Sync {
    /// Does what a packet asks for, or puts it off; whether anything waits that was put off.
    fn take(&self, from: usize, packet: &Packet, payload: &[u8]) -> bool;

    /// A rank cannot be reached any more.
    fn lose(&self, rank: usize, tried: &str);

    /// Does what waits; whether anything still does.
    fn progress(&self) -> bool;
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

impl Packet {
    /// Whether a handler of the program runs for it.
    pub fn is_message(&self) -> bool {
        self.kind <= kind::CALL
    }
}
