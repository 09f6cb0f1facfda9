//! Sends that go on by themselves: those in the spare buffer, those of buffers that were handed over, and those whose program
//! has taken its buffer back.

use super::op::SendOp;
use super::pool::OwnNode;
use foldhash::fast::RandomState;
use std::collections::{HashMap, VecDeque};

/// Sends that go on by themselves.
#[derive(Default)]
pub(in crate::message) struct Spool {
    pub room: usize,
    /// By (member, entry), in the order of their calls; none is empty.
    pub lanes: HashMap<(usize, usize), VecDeque<Spooled>, RandomState>,
    pub tally: Tally,
}

/// What becomes of the sends of all lanes.
#[derive(Default)]
pub(in crate::message) struct Tally {
    /// Bytes that they take of the room.
    pub used: usize,
    /// How many there are.
    pub waiting: usize,
    /// How many have left.
    pub moved: usize,
    /// The last node of each chain that was taken: the receiver may still look there for the next.
    pub tails: HashMap<(usize, usize), OwnNode, RandomState>,
}

/// A send that goes on by itself.
pub(in crate::message) struct Spooled {
    pub carried: Carried,
    /// What it takes of the room: a buffer that was handed over, or that belongs to a send that was given up, takes none.
    pub takes: usize,
    /// It was promised to arrive. One that was given up goes on only as long as there are messages.
    pub promised: bool,
}

/// How it goes on.
pub(in crate::message) enum Carried {
    /// With the help of this rank's later calls: an operation and what it sends from.
    Helped { op: SendOp, _data: Box<[u8]> },
    /// The receiver finds it.
    Found(OwnNode),
}
