//! Datagrams between hosts: the transport where there is no better one. One socket per rank talks to all far ranks.
//!
//! Rests on: `reliable` (links over wires that lose frames), and what carries frames: the kernel's sockets, without a C library, or
//! datagrams of another network (`hikyaku-ofi` has some).
//! Leaves out: who has which address and the job's secret (whoever starts the job knows), and what packets mean.
//!
//! ```text
//!   post ---> line of the peer ---> link ---> frame: head, tag, data ---> batch ---> socket
//!               copied or lent       numbers,    sealed with the key       trains of frames,
//!               pieces               window      of this direction         one call for many
//!
//!   sink <--- joiner <--- link <--- line <--- tag right? number new? <--- inbox <--- socket
//!             whole       in order, of the     (strangers, damage and repetitions end here)
//!             packets     once each peer
//! ```
//! * A link is made when its peer is first posted to or heard. Per rank that is never talked to there are 40 bytes.
//! * Short messages are copied, and share a frame while others are under way. Longer bodies that come with a token are lent: each
//!   frame is made from them when it is sent, also when it is sent again. Where frames are not sealed it is a head and a part of the
//!   body where that is; what is sealed is a copy, because others may write to the body meanwhile.
//! * Acknowledgements, and messages that nobody is expected to wait for (credits, words that say that something
//!   was taken), ride on what the rank says next. They go alone when it looks and nothing has come, or when its service thread
//!   looks. So a hop of a conversation is one call to send and one to receive, and each takes the lock once.
//! * What the peer need not wait for is done after its frame was sent: letting go of what it has acknowledged, measuring round trips,
//!   a look at the clock, timers.
//! * Whoever posts much, one body after the other, takes acknowledgements while it does: what they free is written to again while
//!   it is in the caches.
//! * Each of the first peers has a socket that sends to it alone, which saves the kernel a look at its routes; all send to one.
//! * The longest message makes one train. Where the path takes longer frames (`lo`), a message is one frame.
//! * Frames are as long as the path takes. The kernel says how much that is, and when it has become less; if frames vanish
//!   without a word, shorter ones are tried. Those made before may then be cut into fragments.
//! * A peer that is asked and silent for too long is lost ([`Config::silence`]); in an idle link it is asked now and then.
//! * Of a peer that is settled with, and silent for a fifth of that time, no buffers are kept: its line takes some kilobytes.
//! * One lock guards everything that is sent, another what is received; the sink is called with the second only.
//!
//! | file | what it is |
//! |---|---|
//! | `endpoint` | the transport; `state` is what its lock guards, `clock` tells it the time |
//! | `line` | one peer; `piece` is what its link holds of messages |
//! | `head`, `seal`, `replay` | frames on the wire, their authentication (`clmul` does the sums), each once |
//! | `inbound` | from data in order to packets |
//! | `wire` | what carries frames, by `batch`: to be written for another network |
//! | `network`, `ways`, `socket`, `address` | that of the kernel: jobs on it, its peers, many frames in one call |
//! | `faults` | around either, in tests |

mod address;
mod batch;
#[cfg(target_arch = "x86_64")]
mod clmul;
mod clock;
mod endpoint;
mod faults;
mod head;
mod inbound;
mod line;
mod network;
mod piece;
mod replay;
mod seal;
mod socket;
mod state;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_filling;
#[cfg(test)]
mod tests_line;
#[cfg(test)]
mod tests_netns;
mod ways;
mod wire;

pub use batch::{Batch, Inbox, Staged};
pub use endpoint::Endpoint;
pub use faults::FaultRates;
pub use network::{Bound, Udp};
pub use wire::{Source, Trouble, Wire};

use crate::error::{Error, Result};
use std::net::SocketAddr;
use std::time::Duration;

pub use super::network::SECRET_BYTES;
/// Bytes of the number of an endpoint's life.
const LIFE_BYTES: usize = 8;

/// What an endpoint is made with. All of a job agree on the secret and on the longest payload.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Where a socket listens. Port 0 is any that is free.
    pub bind: SocketAddr,
    /// The job's secret; without one frames are not authenticated, which is only good for measuring.
    pub secret: Option<[u8; SECRET_BYTES]>,
    /// How long a peer may be silent before it is lost.
    pub silence: Duration,
    /// Bytes of the longest body.
    pub payload_max: usize,
    /// From so many bytes on a body with a token is not copied.
    pub lent_min: usize,
    /// Bytes of the longest frame, where the path takes more.
    pub frame_max: usize,
    /// Bytes that may be under way to a peer.
    pub window_max: usize,
    /// Whether the kernel may cut and join trains of frames, where it can.
    pub trains: bool,
    /// Faults on the way out; those that `HIKYAKU_UDP_FAULTS` asks for if `None`.
    pub faults: Option<FaultRates>,
}

impl Config {
    /// With everything as usual, and a secret that follows.
    pub fn unsealed(bind: SocketAddr) -> Config {
        Config { secret: None, ..Config::new(bind, [0; SECRET_BYTES]) }
    }

    /// For a job with this secret, over what carries its frames.
    ///
    /// # Errors
    /// When the environment does not say clearly whether frames are authenticated.
    pub fn of_job(secret: &[u8; SECRET_BYTES]) -> Result<Config> {
        let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
        Ok(Config { secret: is_sealed()?.then_some(*secret), ..Config::unsealed(nowhere) })
    }

    /// With everything as usual.
    pub fn new(bind: SocketAddr, secret: [u8; SECRET_BYTES]) -> Config {
        Config {
            bind,
            secret: Some(secret),
            silence: Duration::from_secs(5),
            payload_max: 56 << 10,
            lent_min: 2 << 10,
            frame_max: 65_000,
            window_max: 1 << 20,
            trains: true,
            faults: None,
        }
    }
}

/// The environment variable by which the ranks of a job do without authentication, all or none of them.
const SEAL_VARIABLE: &str = "HIKYAKU_UDP_SEAL";

/// Whether frames are to be authenticated: they are, unless the environment says that they are not.
///
/// # Errors
/// When it says neither.
pub(crate) fn is_sealed() -> Result<bool> {
    match std::env::var(SEAL_VARIABLE).as_deref() {
        Err(_) | Ok("" | "on") => Ok(true),
        Ok("off") => Ok(false),
        Ok(other) => Err(Error::Invalid(format!("{SEAL_VARIABLE}={other}: it is on or off"))),
    }
}

/// What an endpoint has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Datagrams that are no frames of this protocol, or from no rank of the job.
    pub strangers: u64,
    /// Frames whose tag is wrong: damaged, or made by somebody without the secret.
    pub forged: u64,
    /// Frames that had come before.
    pub replayed: u64,
    /// Frames of another life of their sender, or of one that is lost.
    pub strays: u64,
    /// Frames whose data no correct rank sends.
    pub malformed: u64,
    /// What all links have seen.
    pub links: super::reliable::Counters,
}
