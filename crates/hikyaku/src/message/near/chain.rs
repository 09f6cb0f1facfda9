//! Messages behind one that was not taken yet: sent and received by the nodes of a chain (see `node`), which lie in the
//! sender's own part of job memory.

use super::pair::NearPair;
use crate::error::{Error, Result};
use crate::memory::copy;
use crate::message::state::core::Core;
use crate::message::state::op::ReceiveOp;
use crate::message::state::pool::{self, OwnNode};
use crate::message::wire::node::{Node, Reached};

impl<'c> NearPair<'c> {
    /// Adds a message to the chain of a slot; `None` without memory for it, or if it must go by the head.
    pub fn append(self, entry: usize, data: &[u8]) -> Option<OwnNode> {
        let mut peer = self.link.state.borrow_mut();
        if peer.slots[entry].send.chain.is_full() {
            return None;
        }
        let bytes = pool::rounded(size_of::<Node>() + data.len());
        let place = self.core.pool.borrow_mut().take(bytes, &self.core.ni.kept_nodes);
        let start = place.or_else(|| self.core.new_node(bytes))?;
        if entry < self.core.slots {
            self.theirs().high().raise(&mut peer.high, entry);
        }
        let send = &mut peer.slots[entry].send;
        send.sent += 1;
        let number = send.sent;
        self.core.own_node(start).describe(number, data.len());
        // SAFETY: the part was taken for the node and at least as many bytes behind it.
        unsafe { copy::copy(self.core.ni.own_bytes(start + size_of::<Node>(), data.len()), data.as_ptr(), data.len()) };
        send.chain.append(start as u64, self.theirs().link(entry), |last| self.core.own_node(last as usize));
        drop(peer);
        self.notify();
        Some(OwnNode { start, bytes, number })
    }

    /// Whether the message of an own node was taken.
    pub fn is_taken(self, entry: usize, node: &OwnNode) -> bool {
        let mut peer = self.link.state.borrow_mut();
        peer.is_free(self.mine(), entry) || peer.slots[entry].send.taken >= node.number
    }

    /// Where the node of message `number` of the member is, if the chain of the slot has come that far; anywhere, if the
    /// member misbehaves.
    pub fn find_node(self, entry: usize, number: u64) -> Option<u64> {
        let first = self.mine().link(entry);
        let reached = &self.link.state.borrow().slots[entry].receive.chain;
        reached.find(number, first, |start| self.peer_node(start, size_of::<Node>() as u64))
    }

    /// The node the member told of, if it lies in the heap that is its own, with all of its `bytes` bytes.
    fn peer_node(self, start: u64, bytes: u64) -> Option<&'c Node> {
        if !start.is_multiple_of(align_of::<Node>() as u64) {
            return None;
        }
        let node = self.core.ni.find_own_part(self.link.rank, start, bytes)?;
        // SAFETY: inside the segment and aligned, as checked; made of atomics.
        Some(unsafe { &*(node as *const Node) })
    }

    /// How many bytes follow the node the member told of, if all of them lie in its heap.
    pub fn peer_bytes(self, start: u64) -> Option<usize> {
        let header = size_of::<Node>() as u64;
        let bytes = self.peer_node(start, header)?.bytes();
        self.peer_node(start, header.checked_add(bytes)?).map(|_| bytes as usize)
    }

    /// Receives the message of a node.
    pub fn take_node(self, op: &mut ReceiveOp, start: u64) -> Result<usize> {
        let rank = self.link.rank;
        let misbehaved = Error::PeerMisbehaved { rank, what: "a message outside its memory" };
        let bytes = self.peer_bytes(start).ok_or(misbehaved)?;
        let fits = bytes <= op.buffer.bytes;
        if fits {
            let from =
                self.core.ni.find_own_part(rank, start + size_of::<Node>() as u64, bytes as u64).expect("checked");
            // SAFETY: inside the segment, and inside the buffer.
            unsafe { op.buffer.fill(0, from, bytes) };
        }
        let receive = &mut self.link.state.borrow_mut().slots[op.entry].receive;
        receive.taken = op.number();
        receive.chain = Reached::at(start);
        self.theirs().post(op.entry).publish(op.number(), false);
        self.notify();
        if fits { Ok(bytes) } else { Err(self.core.truncated(op, bytes)) }
    }
}

/// Nodes of this rank.
impl Core {
    /// The message of an own node was taken, but its receiver may still look there for the next one: gives back the memory
    /// of the bytes, if they are many.
    pub fn empty_node(&self, node: &OwnNode) {
        let header = size_of::<Node>();
        if node.bytes > pool::EMPTY_MAX {
            let bytes = node.bytes - header;
            self.ni.memory.segment.release(self.ni.own_span(node.start + header, bytes), bytes);
        }
    }

    /// Memory for a node of `bytes`, which were rounded; and for more like it, which are kept: a call to the system costs more than
    /// a short message.
    fn new_node(&self, bytes: usize) -> Option<usize> {
        let wanted = self.pool.borrow().count_at_once(bytes);
        let several = self.ni.take_heap(wanted * bytes).map(|start| (start, wanted));
        let (start, count) = several.or_else(|_| self.ni.take_heap(bytes).map(|start| (start, 1))).ok()?;
        self.pool.borrow_mut().took(count * bytes);
        for number in 1..count {
            self.give_node(OwnNode { start: start + number * bytes, bytes, number: 0 });
        }
        Some(start)
    }

    /// Gives an own node back, which the receiver does not look at any more.
    pub fn give_node(&self, node: OwnNode) {
        if !self.pool.borrow_mut().keep(node.start, node.bytes, &self.ni.kept_nodes) {
            self.ni.give_heap(node.start, node.bytes);
        }
    }

    pub fn own_node(&self, start: usize) -> &Node {
        // SAFETY: a part of the own heap, taken for a node; made of atomics.
        unsafe { &*(self.ni.own_bytes(start, size_of::<Node>()) as *const Node) }
    }

    /// Gives back all nodes, also the last ones of chains: no receiver looks at them any more.
    pub fn give_nodes(&self) {
        self.spool.borrow_mut().tally.tails.drain().for_each(|(_, node)| self.give_node(node));
        self.pool.borrow_mut().drain(&self.ni.kept_nodes).for_each(|(start, bytes)| self.ni.give_heap(start, bytes));
    }
}

#[cfg(test)]
mod tests;
