//! What went from where to where, for those who want to see it.

use std::time::Duration;

/// A packet that went from one rank to another, or to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The rank that sent it.
    pub from: usize,
    /// The rank it arrived at.
    pub to: usize,
    /// What it asks for: `push`, `prepared push`, `pull`, `word`, `atomic`, `message` or `answer`; between network interfaces that
    /// reach memory by themselves `put`, `get`, `change` or `done`; on a wire with faults
    /// `frame`, of which several may carry one packet, and one that is lost is not told.
    pub what: &'static str,
    /// Bytes on the wire.
    pub bytes: usize,
    /// Virtual time at which the interface of the sender had it.
    pub left: Duration,
    /// Virtual time at which it had changed the memory of the target, or its handler had run there.
    pub arrived: Duration,
}
