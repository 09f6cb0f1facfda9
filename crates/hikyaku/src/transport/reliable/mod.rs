//! Reliable links: messages exactly once and in order over a wire that loses, repeats, reorders and damages them.
//!
//! Rests on: nothing (but `planted`, in tests). No socket, clock, thread or randomness: the caller brings the frames and the time, so the same
//! code runs over datagrams and in the simulator.
//! Leaves out: routing (the caller knows which [`Link`] a frame is for) and cutting up long messages (callers number the pieces).
//!
//! The scheme is that of the RHiNET interface: every message to a peer has a serial number, and its copy is held until the
//! peer acknowledges it. What is missing is sent again when the peer asks for it, or after a timeout.
//!
//! ```text
//!   sender                                             receiver
//!   data 1 ------------------------------------------> taken
//!   data 2 --------------------- x
//!   data 3 ------------------------------------------> kept; 2 is missing
//!          <------------------------------------------ request 2, acknowledged up to 1
//!   data 2 ------------------------------------------> 2 and 3 taken
//!          x ----------------------------------------- acknowledged up to 3
//!   timeout
//!   data 2 ------------------------------------------> a duplicate: dropped
//!   data 3, answer! ---------------------------------> a duplicate: dropped, answered
//!          <------------------------------------------ acknowledged up to 3
//!   copies of 2 and 3 given up
//! ```
//! * A number is acknowledged when the caller has **taken** the message. So one window bounds the memory of both ends, and
//!   a receiver never has to drop what it was sent because its caller is slow.
//! * A message that is missing is asked for once, when a later one shows the gap. If that is of no avail, the sender's
//!   timeout sends the oldest message again, which the peer waits for, and the newest, which shows the peer every gap and
//!   tells it to answer at once: with requests, or with an acknowledgement. So one timeout finds out all that is missing,
//!   and no frame causes more than it asks for.
//! * Acknowledgements ride on every frame. Alone they travel when a quarter of the window has been taken, after a delay, or
//!   at once to a sender that wants an answer: an earlier one was lost, perhaps.
//! * What an acknowledgement makes free is let go of when the caller says so (`Link::settle`): it may have something to say first, for
//!   which the peer waits. It counts as acknowledged from the beginning.
//! * Timeouts double until something is acknowledged. A peer that is silent for too many of them, or for too long, is taken for
//!   unreachable and the link is broken for good. One that answers but does not take is only slow. Where nothing is under way a
//!   peer that was not heard for a while is asked for a sign of life, if the settings say so.
//! * Timeout and window are those of the settings, or [fitted](Fit) to the path (`path`): then requests of the peer, which make a
//!   fast retransmission, also tell that the path is too full.
//!
//! | file | what it is |
//! |---|---|
//! | `link` | both directions of one pair: what callers use |
//! | `sender`, `receiver` | one direction each |
//! | `path` | how long it takes and how much it carries |
//! | `frame` | what is on the wire where the caller does not write frames itself; `checksum` guards it |
//! | `serial` | numbers that wrap around |

mod checksum;
mod frame;
mod link;
mod path;
mod receiver;
mod sender;
pub(super) mod serial;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wire;

pub use frame::Body;
pub use link::{Counters, Link, Refusal};
pub use receiver::Arrival;

/// Picoseconds since a moment of the caller's choice; it never runs backwards.
pub type Time = u64;

/// What both ends of a link agree on.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Messages that may be under way in one direction, and that either end holds at most for it.
    pub window: usize,
    /// Bytes of the longest message.
    pub message_bytes_max: usize,
    /// How long a sender waits for an acknowledgement before it sends again. More than a round trip and the delay below.
    pub timeout_ps: Time,
    /// What the timeout grows to.
    pub timeout_max_ps: Time,
    /// How often a sender sends again, without a frame from the peer in between, before the link is broken.
    pub attempts_max: u32,
    /// How long an acknowledgement waits for a frame to ride on.
    pub acknowledge_delay_ps: Time,
    /// How many messages are taken at most before an acknowledgement waits no longer.
    pub acknowledge_every: usize,
    /// How long a peer that was asked may be silent before the link is broken.
    pub silence_max_ps: Time,
    /// How long after it was last heard a peer is asked for a sign of life.
    pub keep_alive_ps: Time,
    /// How timeout and window follow what the path does; they are fixed without.
    pub fit: Option<Fit>,
}

/// What the timeout and the congestion window may be.
#[derive(Clone, Copy, Debug)]
pub struct Fit {
    /// The shortest timeout: a peer that is off its core for a moment has lost nothing.
    pub timeout_min_ps: Time,
    /// Bytes of a usual frame.
    pub frame_bytes: u64,
    /// Bytes that may be under way at first.
    pub window_bytes_first: u64,
    /// And at most.
    pub window_bytes_max: u64,
}

impl Settings {
    /// The longest window: a small part of all serial numbers, so that old ones are known as such.
    pub const WINDOW_MAX: usize = 1 << 16;

    /// For a wire that takes this long there and back.
    pub const fn for_round_trip(round_trip_ps: Time) -> Settings {
        Settings {
            window: 64,
            message_bytes_max: 64 * 1024,
            timeout_ps: round_trip_ps.saturating_mul(4),
            timeout_max_ps: round_trip_ps.saturating_mul(64),
            attempts_max: 32,
            acknowledge_delay_ps: round_trip_ps / 2,
            acknowledge_every: 16,
            silence_max_ps: Time::MAX,
            keep_alive_ps: Time::MAX,
            fit: None,
        }
    }
}
