//! What a group needs for broadcasts by the network: words and buffers in each member's part.

use crate::collective::part::HALF_BYTES;
use crate::memory::segment::PAGE_BYTES;
use crate::ni::Port;
use crate::sync::shared;
use crate::transport::TAIL_BYTES_MAX;
use crate::transport::hardware::Multicast;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where the words and buffers lie in each member's part, and how far the broadcasts have come.
pub(super) struct Cast {
    start: usize,
    buffers: usize,
    pub buffer_bytes: usize,
    /// Pieces of all broadcasts so far.
    pub pieces: Cell<u64>,
}

shared! {
    /// Words that one other writes, of which the first is stored last: a number, then head and argument of the call.
    pub(super) struct CastWords([AtomicU64; TOLD]);
}

const TOLD: usize = 3;
const TOLD_BYTES: usize = 32;

impl CastWords {
    /// The number, and what the other asks for.
    pub fn look(&self) -> (u64, [u64; 2]) {
        let number = self.0[0].load(Ordering::Acquire);
        (number, [self.0[1].load(Ordering::Relaxed), self.0[2].load(Ordering::Relaxed)])
    }
}

/// Bytes of a buffer: what the network says, or those of every broadcast in two buffers; of no more than a packet.
fn buffer_bytes(port: &Port, network: &dyn Multicast) -> usize {
    let packet = port.ni().far.as_ref().map_or(0, |far| far.capabilities().payload_max - TAIL_BYTES_MAX);
    network.buffer_bytes().unwrap_or(HALF_BYTES).min(packet)
}

/// What each of `members` members takes for it: what the two buffers were told, what each other has told this one, buffers.
pub(super) fn part_bytes(port: &Port, members: usize) -> usize {
    match network(port) {
        Some(network) if members == port.size() => {
            words_bytes(members) + (2 * buffer_bytes(port, network)).next_multiple_of(PAGE_BYTES)
        }
        _ => 0,
    }
}

fn words_bytes(members: usize) -> usize {
    ((2 + members) * TOLD_BYTES).next_multiple_of(PAGE_BYTES)
}

/// The network, if it has a multicast.
pub(super) fn network(port: &Port) -> Option<&dyn Multicast> {
    port.ni().hardware.as_ref()?.multicast()
}

impl Cast {
    /// At an offset of the parts, for a group of all ranks.
    pub fn new(port: &Port, start: usize) -> Option<Cast> {
        let buffer_bytes = buffer_bytes(port, network(port)?);
        Some(Cast { start, buffers: start + words_bytes(port.size()), buffer_bytes, pieces: Cell::new(0) })
    }

    /// What was told with a buffer.
    pub fn flag(&self, buffer: usize) -> usize {
        self.start + buffer * TOLD_BYTES
    }

    /// What a member has told.
    pub fn answer(&self, member: usize) -> usize {
        self.flag(2 + member)
    }

    pub fn buffer(&self, buffer: usize) -> usize {
        self.buffers + buffer * self.buffer_bytes
    }
}
