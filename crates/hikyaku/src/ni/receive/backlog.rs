//! Messages of far ranks that wait for whoever runs handlers. Their memory is used again: in the steady state none is taken.
//!
//! ```text
//!   whoever receives                     whoever runs handlers
//!   add: copied into spare memory
//!                                        take: all that have come, and the memory of those before is spare again
//! ```

use crate::planted::{Bug, planted};
use crate::sync::brief::lock;
use crate::transport::shm::ring::Packet;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A packet of a far rank that is kept.
#[derive(Debug)]
pub(crate) struct Kept {
    pub source: usize,
    pub packet: Packet,
    pub payload: Vec<u8>,
}

impl Kept {
    /// Whether it is not taken before an earlier one: a message after everything its sender did before, but what concerns
    /// memory alone not after a message, whose handler may wait for just that.
    pub fn waits_behind(&self, earlier: &Kept) -> bool {
        earlier.source == self.source && (self.packet.is_message() || !earlier.packet.is_message())
    }
}

/// Memory of messages that were handled.
#[derive(Debug, Default)]
pub(super) struct Spare(Vec<Vec<u8>>);

/// So much is kept at most.
const SPARE_MAX: usize = 64;
const SPARE_BYTES_MAX: usize = 4 << 10;

impl Spare {
    pub fn give(&mut self, payload: Vec<u8>) {
        if (1..=SPARE_BYTES_MAX).contains(&payload.capacity()) && self.0.len() < SPARE_MAX {
            self.0.push(payload);
        }
    }

    /// A copy of some bytes. That of none takes no memory.
    fn copy(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut copy = if bytes.is_empty() { Vec::new() } else { self.0.pop().unwrap_or_default() };
        copy.clear();
        copy.extend_from_slice(bytes);
        copy
    }
}

/// Messages that have come, in order.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    waiting: Mutex<Waiting>,
    /// How many these are. Every look of the rank reads it.
    count: AtomicUsize,
}

#[derive(Debug, Default)]
struct Waiting {
    messages: VecDeque<Kept>,
    spare: Spare,
}

impl Backlog {
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// A message has come.
    pub fn add(&self, source: usize, packet: &Packet, payload: &[u8]) {
        let mut waiting = lock(&self.waiting);
        let message = Kept { source, packet: *packet, payload: waiting.spare.copy(payload) };
        let at = if planted(Bug::MessagesDisordered) { 0 } else { waiting.messages.len() };
        waiting.messages.insert(at, message);
        self.count.store(waiting.messages.len(), Ordering::Relaxed);
    }

    /// Puts all messages into `batch`, which is empty, and takes spare memory.
    pub fn take(&self, batch: &mut VecDeque<Kept>, spare: &mut Spare) {
        debug_assert!(batch.is_empty());
        if self.is_empty() {
            return;
        }
        let mut waiting = lock(&self.waiting);
        self.count.store(0, Ordering::Relaxed);
        std::mem::swap(&mut waiting.messages, batch);
        spare.0.drain(..).for_each(|payload| waiting.spare.give(payload));
    }

    pub fn for_each(&self, mut see: impl FnMut(&Kept)) {
        lock(&self.waiting).messages.iter().for_each(&mut see);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again() {
        let (backlog, mut batch, mut spare) = (Backlog::default(), VecDeque::new(), Spare::default());
        let mut places = Vec::new();
        for round in 0..10u8 {
            for message in 0..8 {
                backlog.add(1, &Packet::default(), &[round, message]);
            }
            backlog.add(1, &Packet::default(), &[]);
            backlog.take(&mut batch, &mut spare);
            assert_eq!(batch.iter().map(|kept| kept.payload.len()).sum::<usize>(), 16, "in order: {batch:?}");
            assert!(batch.iter().take(8).enumerate().all(|(at, kept)| kept.payload == [round, at as u8]));
            let mut here: Vec<_> = batch.iter().take(8).map(|kept| kept.payload.as_ptr().addr()).collect();
            here.sort_unstable();
            // What one round gives back the next take brings, so two rounds' memory is in use.
            places.push(here);
            batch.drain(..).for_each(|kept| spare.give(kept.payload));
        }
        assert_eq!(places[2..4], places[4..6]);
        assert_eq!(places[4..6], places[8..10]);
    }

    #[test]
    fn long_messages_and_many_leave_nothing() {
        let mut spare = Spare::default();
        spare.give(vec![0; SPARE_BYTES_MAX + 1]);
        spare.give(Vec::new());
        assert!(spare.0.is_empty());
        (0..2 * SPARE_MAX).for_each(|_| spare.give(vec![0; 8]));
        assert_eq!(spare.0.len(), SPARE_MAX);
    }
}
