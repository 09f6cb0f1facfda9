//! Messages behind one that was not taken yet: a chain of nodes in the sender's own part of job memory, which the receiver
//! follows without the sender's help.
//!
//! ```text
//!   at the receiver           in the sender's heap
//!   Head  message 4           +-> node: message 5, next --+   +-> node: message 6, next: none yet
//!   Link  -------------------/                            `--/
//! ```
//! A receiver that has taken a node stays there and looks at its `next`. Once all were taken, the next message may go by the
//! head again, which the receiver looks at first; before it is published the link is cleared, so nobody enters an old chain.
//! A node is given back when a later message was taken: then the receiver has moved on.

use super::Core;
use super::receive::ReceiveOp;
use super::state::Peer;
use crate::error::{Error, Result};
use crate::memory::copy;
use crate::sync::Shared;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where the first node of a chain is, as an offset in job memory; 0: nowhere. At the receiver, written by the sender.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Link(AtomicU64);

// SAFETY: an atomic in a fixed layout.
unsafe impl Shared for Link {}

/// What a message in a chain begins with. Written by the sender before it is linked, but for `next`.
#[repr(C, align(64))]
struct Node {
    next: Link,
    number: AtomicU64,
    bytes: AtomicU64,
}

/// A node of this rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    start: usize,
    bytes: usize,
    number: u64,
}

impl Link {
    fn set(&self, node: usize) {
        self.0.store(node as u64, Ordering::Release);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

impl Core {
    /// Adds a message to the chain of a near member's slot; `None` without memory for it.
    pub(super) fn append(&self, member: usize, entry: usize, data: &[u8]) -> Option<Own> {
        let bytes = size_of::<Node>() + data.len();
        let start = self.ni.take_heap(bytes).ok()?;
        let mut peer = self.near(member).state.borrow_mut();
        if entry < self.slots {
            self.theirs(member).high().raise(&mut peer.high, entry);
        }
        let send = &mut peer.sends[entry];
        send.sent += 1;
        let node = self.own_node(start);
        node.number.store(send.sent, Ordering::Relaxed);
        node.bytes.store(data.len() as u64, Ordering::Relaxed);
        // SAFETY: the part was taken for the node and as many bytes behind it.
        unsafe { copy::copy(self.ni.memory.segment.base().add(start + size_of::<Node>()), data.as_ptr(), data.len()) };
        match std::mem::replace(&mut send.chain, start) {
            0 => self.theirs(member).link(entry).set(start),
            last => self.own_node(last).next.set(start),
        }
        let number = send.sent;
        drop(peer);
        self.notify(member);
        Some(Own { start, bytes, number })
    }

    /// The next message goes by the head: nobody shall enter the chain any more, whose messages were all taken.
    pub(super) fn leave_chain(&self, member: usize, peer: &mut Peer, entry: usize) {
        if peer.sends[entry].chain != 0 {
            self.theirs(member).link(entry).set(0);
            peer.sends[entry].chain = 0;
        }
    }

    /// Whether the message of an own node was taken.
    pub(super) fn is_taken(&self, member: usize, entry: usize, node: &Own) -> bool {
        let mut peer = self.near(member).state.borrow_mut();
        peer.is_free(self.mine(member), entry) || peer.sends[entry].taken >= node.number
    }

    /// Gives an own node back, which the receiver does not look at any more.
    pub(super) fn give_node(&self, node: Own) {
        self.ni.give_heap(node.start, node.bytes);
    }

    fn own_node(&self, start: usize) -> &Node {
        // SAFETY: a part of the own heap, taken for a node; made of atomics.
        unsafe { &*(self.ni.memory.segment.base().add(start) as *const Node) }
    }

    /// The node of message `number` of a near member, if the chain of the slot has come that far.
    pub(super) fn find_node(&self, member: usize, entry: usize, number: u64) -> Option<u64> {
        let at = self.near(member).state.borrow().receives[entry].chain;
        let link = match at {
            0 => self.mine(member).link(entry).get(),
            at => self.peer_node(at)?.0.next.get(),
        };
        let (node, _) = self.peer_node(link)?;
        (node.number.load(Ordering::Relaxed) == number).then_some(link)
    }

    /// A node that a peer told of, and its bytes, if it lies in job memory.
    fn peer_node(&self, start: u64) -> Option<(&Node, usize)> {
        let total = self.ni.memory.segment.bytes() as u64;
        let header = size_of::<Node>() as u64;
        if start == 0 || !start.is_multiple_of(align_of::<Node>() as u64) || start.checked_add(header)? > total {
            return None;
        }
        // SAFETY: inside the segment and aligned, as checked; made of atomics.
        let node = unsafe { &*(self.ni.memory.segment.base().add(start as usize) as *const Node) };
        let bytes = node.bytes.load(Ordering::Relaxed);
        (bytes <= total - start - header).then_some((node, bytes as usize))
    }

    /// Receives the message of a node.
    pub(super) fn take_node(&self, op: &mut ReceiveOp, start: u64) -> Result<usize> {
        let rank = self.rank_of(op.member);
        let misbehaved = Error::PeerMisbehaved { rank, what: "a message outside its memory" };
        let (_, bytes) = self.peer_node(start).ok_or(misbehaved)?;
        let fits = bytes <= op.buffer.bytes;
        if fits {
            let from = start as usize + size_of::<Node>();
            // SAFETY: inside the segment, as checked, and inside the buffer.
            unsafe { copy::copy(op.buffer.start, self.ni.memory.segment.base().add(from), bytes) };
        }
        let link = self.near(op.member);
        let mut peer = link.state.borrow_mut();
        peer.receives[op.entry].taken = op.number();
        peer.receives[op.entry].chain = start;
        self.theirs(op.member).post(op.entry).publish(op.number(), false);
        drop(peer);
        self.notify(op.member);
        if fits { Ok(bytes) } else { Err(self.truncated(op, bytes)) }
    }
}
