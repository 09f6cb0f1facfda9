//! How network interfaces reach each other.
//!
//! Rests on: [`crate::sync`] and [`crate::memory`].
//! Leaves out: what is done with the reach (that is [`crate::ni`]).
//!
//! [`shm`] is mapped memory: the ranks of a host map one segment, so a remote reference is a pointer and needs no transport call
//! at all. Ranks of other hosts are *far*: a transport carries packets to their network interfaces, which do what the packets ask
//! for.
//!
//! | file | concept |
//! |---|---|
//! | `shm/` | mapped memory, and rings of messages in it |
//! | `hosts` | which rank is on which host |
//! | `core` | what a transport must do |
//! | `remote_memory` | what a transport may do besides: memory of far ranks without their programs |
//! | `sleep_timer` | ending a sleep earlier than was known when it began |
//! | `network` | how ranks come to a transport: endpoints that are opened, named and connected |
//! | `endpoints` | which network a job uses |
//! | `packet` | what packets ask for, and how they are written for the wire |
//! | `loopback` | the smallest transport, to copy from |
//! | `udp/` | the transport over datagrams |
//! | `sim/` | the transport through virtual time |
//! | `reliable/` | links out of wires that lose frames |
//! | `hardware` | what some networks do for all ranks at once |
//! | `environment` | what a simulation replaces besides: time, chance, and who runs when |

pub mod core;
pub(crate) mod endpoints;
pub(crate) mod environment;
pub(crate) mod hardware;
pub(crate) mod hosts;
pub mod loopback;
pub mod network;
pub(crate) mod packet;
pub(crate) mod reliable;
pub mod remote_memory;
pub mod shm;
pub mod sim;
pub(crate) mod sleep_timer;
pub mod udp;

use self::core::Token;
use packet::kind;
use remote_memory::End;
use shm::ring::Packet;
use std::sync::Arc;

/// A network interface, as a transport sees it that makes one act without its program.
pub(crate) trait Interface: Send + Sync {
    /// Does what a packet asks for, or puts it off; whether anything waits that was put off.
    fn take(&self, from: usize, packet: &Packet, payload: &[u8]) -> bool;

    /// A rank cannot be reached any more.
    fn lose(&self, rank: usize, tried: &str);

    /// Does what waits; whether anything still does.
    fn progress(&self) -> bool;

    /// Sends what found no room before.
    fn go_on(&self);

    /// An operation on remote memory has ended: with the word from before, if one was changed.
    fn complete(&self, token: Token, end: End);

    /// The network has changed this rank's memory by itself.
    fn landed(&self);
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
    /// Whether it waits for those who run handlers.
    pub fn is_message(&self) -> bool {
        self.is_for_program() || self.kind == kind::ASK
    }

    /// Whether a handler of the program runs for it.
    pub fn is_for_program(&self) -> bool {
        self.kind <= kind::CALL
    }
}
