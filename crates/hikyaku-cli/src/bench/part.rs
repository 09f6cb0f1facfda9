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
    /// Pushes through pointers and chains of commands, and by each path
    Indirect,
    /// Locks
    Locks,
    /// Tasks
    Tasks,
    /// Send and receive
    Messages,
    /// Messages that the receiver matches by keys
    Matching,
    /// Message exchange, engines of message passing, queues
    Exchange,
    /// Barrier, broadcast, reductions
    Collectives,
    /// Barrier, broadcast and reduce over the number of ranks, by trees too; only if it is asked for
    Scaling,
    /// Several threads of each rank, beside MPI_THREAD_MULTIPLE; takes minutes, so only if it is asked for
    Threads,
    /// A Cholesky factorisation by tiles, on tasks, with barriers, and beside MPI with threads; only if it is asked for
    Cholesky,
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
    pub const ALL: [Part; 17] = [
        Part::Remote,
        Part::Partial,
        Part::Indirect,
        Part::Locks,
        Part::Tasks,
        Part::Messages,
        Part::Matching,
        Part::Exchange,
        Part::Collectives,
        Part::Scaling,
        Part::Threads,
        Part::Cholesky,
        Part::Start,
        Part::Blacs,
        Part::Scalapack,
        Part::Hosts,
        Part::Fabric,
    ];

    /// Whether it is measured without being asked for.
    pub fn is_usual(self) -> bool {
        let takes_long = matches!(self, Part::Scaling | Part::Threads | Part::Cholesky | Part::Scalapack);
        !takes_long && !matches!(self, Part::Hosts | Part::Fabric)
    }

    /// Whether the ranks of a job of ours measure it, by the library alone.
    pub fn is_native(self) -> bool {
        let of_pairs = matches!(self, Part::Remote | Part::Partial | Part::Indirect | Part::Locks | Part::Messages);
        let of_more = matches!(self, Part::Matching | Part::Exchange | Part::Collectives | Part::Scaling);
        of_pairs || of_more || self == Part::Tasks
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Part::Remote => "remote",
            Part::Partial => "partial",
            Part::Indirect => "indirect",
            Part::Locks => "locks",
            Part::Tasks => "tasks",
            Part::Messages => "messages",
            Part::Matching => "matching",
            Part::Exchange => "exchange",
            Part::Collectives => "collectives",
            Part::Scaling => "scaling",
            Part::Threads => "threads",
            Part::Cholesky => "cholesky",
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
            Part::Indirect => "pointers, chains and paths",
            Part::Locks => "locks",
            Part::Tasks => "tasks",
            Part::Messages => "messages",
            Part::Matching => "messages by key",
            Part::Exchange => "message exchange and queues",
            Part::Collectives => "collectives",
            Part::Scaling => "collectives over the ranks",
            Part::Threads => "threads of two ranks",
            Part::Cholesky => "Cholesky factorisation by tiles",
            Part::Start => "jobs",
            Part::Blacs => "BLACS",
            Part::Scalapack => "ScaLAPACK",
            Part::Hosts => "between two hosts",
            Part::Fabric => "between two hosts, by libfabric",
        }
    }
}
