//! The parts of the benchmark.

use serde::{Deserialize, Serialize};

/// A part of the benchmark that can be run alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Pushes, pulls, words, atomic operations, active messages
    Remote,
    /// Parts of a range: every second word, marked words, changed words
    Partial,
    /// Locks
    Locks,
    /// Send and receive
    Messages,
    /// Messages that the receiver matches by keys
    Matching,
    /// Barrier, broadcast, reductions
    Collectives,
    /// Barrier, broadcast and reduce over the number of ranks, by trees too; only if it is asked for
    Scaling,
    /// Start and end of a job
    Start,
    /// The BLACS, beside those of MPI
    Blacs,
    /// Factorizations of ScaLAPACK on them; takes a minute or more, so only if it is asked for
    Scalapack,
    /// Between two hosts, beside bare sockets and Open MPI over TCP; only if it is asked for
    Hosts,
    /// Between two hosts by libfabric, beside its own ping-pong and Open MPI over TCP; only if it is asked for
    Fabric,
}

impl Part {
    pub const ALL: [Part; 12] = [
        Part::Remote,
        Part::Partial,
        Part::Locks,
        Part::Messages,
        Part::Matching,
        Part::Collectives,
        Part::Scaling,
        Part::Start,
        Part::Blacs,
        Part::Scalapack,
        Part::Hosts,
        Part::Fabric,
    ];

    /// Whether it is measured without being asked for.
    pub fn is_usual(self) -> bool {
        !matches!(self, Part::Scaling | Part::Scalapack | Part::Hosts | Part::Fabric)
    }

    /// Whether the ranks of a job of ours measure it, by the library alone.
    pub fn is_native(self) -> bool {
        let of_pairs = matches!(self, Part::Remote | Part::Partial | Part::Locks | Part::Messages | Part::Matching);
        of_pairs || matches!(self, Part::Collectives | Part::Scaling)
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Part::Remote => "remote",
            Part::Partial => "partial",
            Part::Locks => "locks",
            Part::Messages => "messages",
            Part::Matching => "matching",
            Part::Collectives => "collectives",
            Part::Scaling => "scaling",
            Part::Start => "start",
            Part::Blacs => "blacs",
            Part::Scalapack => "scalapack",
            Part::Hosts => "hosts",
            Part::Fabric => "fabric",
        }
    }

    pub fn heading(self) -> &'static str {
        match self {
            Part::Remote => "remote operations",
            Part::Partial => "partial transfers",
            Part::Locks => "locks",
            Part::Messages => "messages",
            Part::Matching => "messages by key",
            Part::Collectives => "collectives",
            Part::Scaling => "collectives over the ranks",
            Part::Start => "jobs",
            Part::Blacs => "BLACS",
            Part::Scalapack => "ScaLAPACK",
            Part::Hosts => "between two hosts",
            Part::Fabric => "between two hosts, by libfabric",
        }
    }
}
