//! Messages behind one that was not taken yet: sent and received by the nodes of a chain (see `node`), which lie in the
//! sender's own part of job memory.

use crate::error::{Error, Result};
use crate::memory::copy;
use crate::message::Core;
use crate::message::operation::receive::ReceiveOp;
use crate::message::state::link::NearLink;
use crate::message::state::pool;
use crate::message::wire::node::{Node, Reached};

/// A node of this rank.
#[derive(Clone, Copy, Debug)]
pub(in crate::message) struct Own {
    start: usize,
    bytes: usize,
    number: u64,
}

impl Core {
    /// Adds a message to the chain of a near member's slot; `None` without memory for it, or if it must go by the head.
    pub(in crate::message) fn append(&self, link: &NearLink, entry: usize, data: &[u8]) -> Option<Own> {
        let mut peer = link.state.borrow_mut();
        if peer.slots[entry].send.chain.is_full() {
            return None;
        }
        let bytes = pool::rounded(size_of::<Node>() + data.len());
        let kept = self.pool.borrow_mut().take(bytes);
        let start = kept.or_else(|| self.ni.take_heap(bytes).ok())?;
        if entry < self.slots {
            self.theirs(link).high().raise(&mut peer.high, entry);
        }
        let send = &mut peer.slots[entry].send;
        send.sent += 1;
        let number = send.sent;
        self.own_node(start).describe(number, data.len());
        // SAFETY: the part was taken for the node and at least as many bytes behind it.
        unsafe { copy::copy(self.ni.own_bytes(start + size_of::<Node>(), data.len()), data.as_ptr(), data.len()) };
        send.chain.append(start as u64, self.theirs(link).link(entry), |last| self.own_node(last as usize));
        drop(peer);
        self.notify(link);
        Some(Own { start, bytes, number })
    }

    /// Whether the message of an own node was taken.
    pub(in crate::message) fn is_taken(&self, link: &NearLink, entry: usize, node: &Own) -> bool {
        let mut peer = link.state.borrow_mut();
        peer.is_free(self.mine(link), entry) || peer.slots[entry].send.taken >= node.number
    }

    /// The message of an own node was taken, but its receiver may still look there for the next one: gives back the memory
    /// of the bytes, if they are many.
    pub(in crate::message) fn empty_node(&self, node: &Own) {
        let header = size_of::<Node>();
        if node.bytes > pool::NODE_MAX {
            let bytes = node.bytes - header;
            self.ni.memory.segment.release(self.ni.own_span(node.start + header, bytes), bytes);
        }
    }

    /// Gives an own node back, which the receiver does not look at any more.
    pub(in crate::message) fn give_node(&self, node: Own) {
        if !self.pool.borrow_mut().keep(node.start, node.bytes) {
            self.ni.give_heap(node.start, node.bytes);
        }
    }

    fn own_node(&self, start: usize) -> &Node {
        // SAFETY: a part of the own heap, taken for a node; made of atomics.
        unsafe { &*(self.ni.own_bytes(start, size_of::<Node>()) as *const Node) }
    }

    /// Where the node of message `number` of a near member is, if the chain of the slot has come that far; anywhere, if the
    /// member misbehaves.
    pub(in crate::message) fn find_node(&self, link: &NearLink, entry: usize, number: u64) -> Option<u64> {
        let (first, rank) = (self.mine(link).link(entry), link.rank);
        let reached = &link.state.borrow().slots[entry].receive.chain;
        reached.find(number, first, |start| self.peer_node(rank, start, size_of::<Node>() as u64))
    }

    /// The node a rank told of, if it lies in the heap that is its own, with all of its `bytes` bytes.
    fn peer_node(&self, rank: usize, start: u64, bytes: u64) -> Option<&Node> {
        if !start.is_multiple_of(align_of::<Node>() as u64) {
            return None;
        }
        let node = self.ni.find_own_part(rank, start, bytes)?;
        // SAFETY: inside the segment and aligned, as checked; made of atomics.
        Some(unsafe { &*(node as *const Node) })
    }

    /// How many bytes follow the node a rank told of, if all of them lie in its heap.
    fn peer_bytes(&self, rank: usize, start: u64) -> Option<usize> {
        let header = size_of::<Node>() as u64;
        let bytes = self.peer_node(rank, start, header)?.bytes();
        self.peer_node(rank, start, header.checked_add(bytes)?).map(|_| bytes as usize)
    }

    /// Receives the message of a node.
    pub(in crate::message) fn take_node(&self, link: &NearLink, op: &mut ReceiveOp, start: u64) -> Result<usize> {
        let rank = link.rank;
        let misbehaved = Error::PeerMisbehaved { rank, what: "a message outside its memory" };
        let bytes = self.peer_bytes(rank, start).ok_or(misbehaved)?;
        let fits = bytes <= op.buffer.bytes;
        if fits {
            let from = self.ni.find_own_part(rank, start + size_of::<Node>() as u64, bytes as u64).expect("checked");
            // SAFETY: inside the segment, and inside the buffer.
            unsafe { op.buffer.fill(0, from, bytes) };
        }
        let receive = &mut link.state.borrow_mut().slots[op.entry].receive;
        receive.taken = op.number();
        receive.chain = Reached::at(start);
        self.theirs(link).post(op.entry).publish(op.number(), false);
        self.notify(link);
        if fits { Ok(bytes) } else { Err(self.truncated(op, bytes)) }
    }
}

#[cfg(test)]
mod tests;
