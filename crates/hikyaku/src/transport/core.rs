//! What a transport must do: carry packets between ranks, once each and in order. Everything else has its reference version on
//! this, in the network interface.
//!
//! ```text
//!   interface --- post(to, packet, body) ---> Transport ---- wire ----> Transport --- Sink::message ---> interface
//!   interface <-- Sink::completed(token) ---- Transport <--- wire ----- Transport
//!                                             Transport --- Sink::lost(rank, why) --> interface
//! ```
//! [`loopback`](super::loopback) is the smallest one, to copy from; [`udp`](super::udp) is a real one. A network that reaches memory
//! of other hosts by itself may offer that besides: [`remote_memory`](super::remote_memory).
//!
//! Rules that hold for every transport:
//! * Packets of one pair arrive once each and in the order of their posts. There is no order among pairs.
//! * Everything that arrives is handed to the sink and forgotten: a transport has no queue of unhandled packets. So it never says
//!   [`Posted::Busy`] for ever because of an interface that is slow.
//! * [`Transport::poll`] holds no lock while it calls the sink, so the sink may post. A poll inside the sink, or in a second
//!   thread meanwhile, does nothing.
//! * A token that was [`Posted::Posted`] comes back exactly once, by [`Sink::completed`], also when its peer was lost: after
//!   [`Sink::lost`] then, and it means only that the transport has let go of the body.
//! * [`Sink::lost`] comes once for a rank, after everything that arrived from it. Posts to that rank fail from then on.

use super::remote_memory::{RemoteFailure, RemoteMemory};
use super::shm::ring::Packet;
use crate::error::{Error, Result};
use std::os::fd::BorrowedFd;
use std::time::Instant;

/// How one rank reaches all far ranks.
pub trait Transport: Send + Sync {
    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// Sends a packet with its body. Without a token the body is copied before this returns; with one it may be read until
    /// [`Sink::completed`] names that token.
    ///
    /// # Errors
    /// When there is no such rank, when it is lost, or when the body is longer than [`Capabilities::payload_max`].
    ///
    /// # Safety
    /// The body can be read during the call, and if this says [`Posted::Posted`], until its token is completed. Others may
    /// write to it meanwhile: then it is undefined which bytes arrive, and nothing else.
    unsafe fn post(&self, to: usize, packet: &Packet, body: Body, token: Option<Token>) -> Result<Posted>;

    /// [`Transport::post`] of bytes that are copied before this returns.
    ///
    /// # Errors
    /// As there.
    fn post_copy(&self, to: usize, packet: &Packet, body: &[u8]) -> Result<Posted> {
        // SAFETY: a live slice; without a token it is not read afterwards.
        unsafe { self.post(to, packet, Body::of(body), None) }
    }

    /// Copies a body that was posted with this token, so that its owner has it back at once; false if there is none, or no more.
    /// Whoever gives up asks until this is false. A token is not completed for a body that was copied so. Transports that lend
    /// ([`Capabilities::lent_min`]) must have it.
    fn recall(&self, _to: usize, _token: Token) -> bool {
        false
    }

    /// Hands out what has arrived and what is completed, and runs the transport's own timers. True if the sink was called.
    fn poll(&self, sink: &mut dyn Sink) -> bool;

    /// A cheap look whether [`Transport::poll`] may find something. It may be wrong, but only in saying yes.
    fn has_arrived(&self) -> bool;

    /// Something to sleep on: readable when [`Transport::poll`] has something from the outside. `None` where only timers and posts
    /// of the same process make something happen.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// Before one sleeps on [`Transport::descriptor`]: whether one may, and for how long.
    fn arm(&self) -> Armed;

    /// To be slept on besides: readable when something that was posted after [`Transport::arm`] is due earlier than that said. `None`
    /// where posts make nothing due. [`SleepTimer`](super::sleep_timer::SleepTimer) is such a timer.
    fn timer(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Somebody waits for this rank: from now on its silence is noticed, also where nothing was ever posted to it.
    fn watch(&self, _rank: usize) {}

    /// Tells all peers that this rank leaves. Nothing should be under way.
    fn leave(&self) {}

    /// How many frames were refused: not of this job, forged, damaged or repeated.
    fn refused(&self) -> u64 {
        0
    }

    /// Whether everything posted was delivered to the peer's transport, or its peer is lost. A rank says that it has left only
    /// then.
    fn drained(&self) -> bool {
        self.drained_but(&|_| false)
    }

    /// The same where some ranks are known to have ended: they take nothing any more.
    fn drained_but(&self, has_ended: &dyn Fn(usize) -> bool) -> bool;

    /// How memory of far ranks is reached without their programs, if the network can. Otherwise packets do it.
    fn remote_memory(&self) -> Option<&dyn RemoteMemory> {
        None
    }
}

/// Takes what a transport hands out.
pub trait Sink {
    /// A packet has arrived. The payload is private memory of the transport, valid during the call.
    fn message(&mut self, from: usize, packet: &Packet, payload: &[u8]);

    /// The body that was posted with this token is free; or what was put or got with it is there.
    fn completed(&mut self, token: Token);

    /// Nothing comes from this rank any more, and nothing goes there.
    fn lost(&mut self, rank: usize, why: Loss);

    /// The word that was changed with this token held this before. As the following ones, only from a transport with
    /// [`RemoteMemory`].
    fn fetched(&mut self, _token: Token, _before: u64) {}

    /// What was put, got or changed with this token is not done.
    fn failed(&mut self, _token: Token, _why: RemoteFailure) {}

    /// A put or a change of this rank's memory that came with an event is done.
    fn landed(&mut self, _from: usize) {}
}

/// Names bodies that were posted; its meaning is the caller's. Several may share one: it is completed once for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token(pub u64);

/// What became of a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    /// It is on its way and the body is free. Its token, if any, is not used.
    Done,
    /// It is on its way; the body is free when its token is completed.
    Posted,
    /// There is no room now, and nothing was done. Try again after a poll.
    Busy,
}

/// Why a rank is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// It said that it leaves, and everything it sent before has arrived.
    Left,
    /// It is known to be dead.
    Dead,
    /// It may be alive, but cannot be reached: what was tried.
    Unreachable(String),
}

impl Loss {
    /// The error of a call that needs the rank.
    pub fn error(&self, rank: usize) -> Error {
        match self {
            Loss::Left => Error::PeerLeft { rank },
            Loss::Dead => Error::PeerDead { rank },
            Loss::Unreachable(tried) => Error::Unreachable { rank, tried: tried.clone() },
        }
    }
}

/// What a transport can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Bytes of the longest body.
    pub payload_max: usize,
    /// From so many bytes on a body with a token is not copied.
    pub lent_min: usize,
}

impl Capabilities {
    /// For bodies of up to `payload_max` bytes, all of which are copied.
    pub const fn new(payload_max: usize) -> Capabilities {
        Capabilities { payload_max, lent_min: usize::MAX }
    }
}

/// Whether one may sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Armed {
    /// There is something to do: poll first.
    Ready,
    /// Until the descriptor is readable, or this time, when the transport wants to be polled for its own sake.
    Until(Option<Instant>),
}

/// The bytes that go with a packet: two parts, one after the other. They may be memory that others write to, so they are known by
/// address and not by reference.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    pub(super) parts: [(*const u8, usize); 2],
}

impl Body {
    /// No bytes.
    pub const EMPTY: Body = Body { parts: [(std::ptr::NonNull::dangling().as_ptr(), 0); 2] };

    /// So many bytes from an address on.
    pub const fn new(start: *const u8, bytes: usize) -> Body {
        Body { parts: [(start, bytes), Body::EMPTY.parts[1]] }
    }

    /// And then so many others.
    pub const fn then(self, start: *const u8, bytes: usize) -> Body {
        Body { parts: [self.parts[0], (start, bytes)] }
    }

    /// Bytes that the program does not write to meanwhile.
    pub const fn of(bytes: &[u8]) -> Body {
        Body::new(bytes.as_ptr(), bytes.len())
    }

    /// How many bytes.
    pub const fn len(&self) -> usize {
        self.parts[0].1 + self.parts[1].1
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// So many bytes from `offset` on, which it has.
    pub(super) fn part(&self, offset: usize, bytes: usize) -> [(*const u8, usize); 2] {
        debug_assert!(offset + bytes <= self.len());
        let [(one, one_bytes), (other, _)] = self.parts;
        let first = one_bytes.saturating_sub(offset).min(bytes);
        let behind = offset.saturating_sub(one_bytes);
        [(one.wrapping_add(offset.min(one_bytes)), first), (other.wrapping_add(behind), bytes - first)]
    }

    /// Copies the bytes from `offset` on into private memory, as many as fit there.
    ///
    /// # Safety
    /// The body can be read, and has so many bytes behind the offset.
    #[inline]
    pub unsafe fn copy(&self, offset: usize, into: &mut [u8]) {
        debug_assert!(offset + into.len() <= self.len());
        let (start, bytes) = self.parts[0];
        let first = bytes.saturating_sub(offset).min(into.len());
        let (head, tail) = into.split_at_mut(first);
        if first > 0 {
            // SAFETY: `first` bytes lie behind `offset` in the first part; the target is private.
            unsafe { crate::memory::copy::copy(head.as_mut_ptr(), start.wrapping_add(offset), first) };
        }
        if !tail.is_empty() {
            let from = self.parts[1].0.wrapping_add((offset + first) - bytes);
            // SAFETY: the caller says that the body has these bytes, and those of the first part are done.
            unsafe { crate::memory::copy::copy(tail.as_mut_ptr(), from, tail.len()) };
        }
    }
}
