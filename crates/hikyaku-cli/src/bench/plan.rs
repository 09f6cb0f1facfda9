//! What is measured: the names that ranks, table and JSON share.

use serde::{Deserialize, Serialize};

/// One measured thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Limit: a bare flag between two cores, one way.
    LimitFlag,
    /// Limit: memcpy by one core.
    LimitCopy,
    /// Limit: memcpy by two cores at once.
    LimitCopyTwo,
    /// A word that is its own flag, seen by a spinning peer, one way.
    Word,
    /// Data and flag, seen by a spinning peer, one way.
    PushFlag,
    /// Six words to a handler, one way.
    ActiveMessage,
    /// A handler called for its reply, round trip.
    Call,
    /// The own network interface called.
    NullCall,
    /// A read of 8 bytes.
    Pull,
    /// An atomic addition to a peer's word.
    FetchAdd,
    /// Notified pushes into a ring.
    Rate,
    /// Pushes of one size.
    Push,
    /// Pulls of one size.
    PullBandwidth,
    /// Send and receive, standard mode, one way.
    Send,
    /// Send and receive, synchronous mode, one way.
    SendSynchronous,
    /// Messages of 8 bytes, 64 outstanding.
    SendRate,
    /// Messages of one size from private memory.
    SendBandwidth,
    /// The job's barrier; `bytes` is the number of ranks.
    Barrier,
    /// Start and end of a job; `bytes` is the number of ranks.
    Start,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    MillionPerSecond,
    GigabytesPerSecond,
}

impl Unit {
    pub fn name(self) -> &'static str {
        match self {
            Unit::Nanoseconds => "ns",
            Unit::Microseconds => "us",
            Unit::Milliseconds => "ms",
            Unit::MillionPerSecond => "M/s",
            Unit::GigabytesPerSecond => "GB/s",
        }
    }
}

/// The repetitions of one measurement, in the order of the rounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figure {
    pub kind: Kind,
    /// Bytes moved (ranks, for barrier and start).
    pub bytes: usize,
    pub values: Vec<f64>,
}

impl Figure {
    pub fn median(&self) -> f64 {
        median(&self.values)
    }
}

/// The middle value.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
