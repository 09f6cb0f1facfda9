//! The words of a chain: messages behind one that was not taken yet, which the receiver follows without the sender's help.
//!
//! ```text
//!   at the receiver           in the sender's heap
//!   Head  message 4           +-> node: message 5, next --+   +-> node: message 6, next: none yet
//!   Next  -------------------/                            `--/
//! ```
//! A receiver that has taken a node stays there and looks at its `next`. Once all were taken, the next message may go by the
//! head again, which the receiver looks at first; before it is published the link is cleared, so nobody enters an old chain.
//! A node is given back when a later message was taken: then the receiver has moved on.

use super::slot::NUMBER_COUNT;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::shared;

shared! {
    /// Where a node is, as an offset in job memory; 0: nowhere. Written by the sender, to begin a chain or to go on with it.
    #[derive(Debug)]
    pub struct Next(AtomicU64);
}

shared! {
    /// What a message in a chain begins with; its bytes follow.
    #[derive(Debug)]
    #[repr(align(64))]
    pub struct Node {
        next: Next,
        number: AtomicU64,
        bytes: AtomicU64,
    }
}

/// Messages that go by a chain in a row at most: a head tells its number only modulo [`NUMBER_COUNT`], and the one that lies
/// there must not be taken for one that is still to come.
const ROW_MAX: u64 = NUMBER_COUNT / 2;

/// How far the sender has come: the last node, while messages go by the chain.
#[derive(Clone, Debug, Default)]
pub struct End {
    last: u64,
    /// Messages in a row.
    row: u64,
}

/// How far the receiver has come: the node of the last message, if it came by the chain.
#[derive(Clone, Debug, Default)]
pub struct Reached(u64);

impl Next {
    fn lead(&self, node: u64) {
        self.0.store(node, Ordering::Release);
    }

    fn follow(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// For models; in a job it is zeroed mapped memory.
    pub fn new() -> Next {
        Next(AtomicU64::new(0))
    }
}

impl Default for Next {
    fn default() -> Next {
        Next::new()
    }
}

impl Node {
    /// Writes what the receiver will find, before it is led here.
    pub fn describe(&self, number: u64, bytes: usize) {
        self.next.0.store(0, Ordering::Relaxed);
        self.number.store(number, Ordering::Relaxed);
        self.bytes.store(bytes as u64, Ordering::Relaxed);
    }

    /// How many bytes follow. A peer's number.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// For models; in a job it is mapped memory.
    pub fn new() -> Node {
        Node { next: Next::new(), number: AtomicU64::new(0), bytes: AtomicU64::new(0) }
    }
}

impl Default for Node {
    fn default() -> Node {
        Node::new()
    }
}

impl End {
    /// Whether messages go by the chain.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.last != 0
    }

    /// Whether the next message must go by the head.
    pub fn is_full(&self) -> bool {
        self.row >= ROW_MAX
    }

    /// As if as many messages as may had gone by it.
    #[cfg(test)]
    pub fn fill(&mut self) {
        self.row = ROW_MAX;
    }

    /// Adds the node at `start`, which was described, to the chain that begins at `first`; `node` finds the last one.
    pub fn append<'n>(&mut self, start: u64, first: &Next, node: impl FnOnce(u64) -> &'n Node) {
        match self.last {
            0 => first.lead(start),
            last => node(last).next.lead(start),
        }
        self.last = start;
        self.row += 1;
    }

    /// The next message goes by the head: nobody shall enter the chain any more, whose messages were all taken.
    #[inline(always)]
    pub fn leave(&mut self, first: &Next) {
        if self.is_open() {
            first.lead(0);
            *self = End::default();
        }
    }
}

impl Reached {
    /// The last message was the one of the node at `start`.
    pub fn at(start: u64) -> Reached {
        Reached(start)
    }

    /// Whether the last message came by the chain.
    #[inline(always)]
    pub fn is_inside(&self) -> bool {
        self.0 != 0
    }

    /// Where the node of message `number` is, if the chain that begins at `first` has come that far. `node` finds a node
    /// only where the sender may have one; where it does not, whoever goes there will see.
    pub fn find<'n>(&self, number: u64, first: &Next, node: impl Fn(u64) -> Option<&'n Node>) -> Option<u64> {
        let start = match self.0 {
            0 => first.follow(),
            at => node(at)?.next.follow(),
        };
        let is_it = |node: &Node| node.number.load(Ordering::Relaxed) == number;
        (start != 0 && node(start).is_none_or(is_it)).then_some(start)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Nodes at 1, 2, 3, ... of which a receiver finds those that are there.
    fn finder<'n>(nodes: &'n [Node]) -> impl Fn(u64) -> Option<&'n Node> {
        move |start| nodes.get((start as usize).checked_sub(1)?)
    }

    #[test]
    fn a_chain_that_bites_its_tail_leads_nobody_in_circles() {
        let (first, nodes, mut end) = (Next::new(), [Node::new(), Node::new()], End::default());
        nodes[0].describe(1, 0);
        nodes[1].describe(2, 0);
        for start in [1, 2, 1] {
            end.append(start, &first, |at| &nodes[at as usize - 1]);
        }
        let find = finder(&nodes);
        assert_eq!(Reached::default().find(1, &first, &find), Some(1));
        assert_eq!(Reached::at(1).find(2, &first, &find), Some(2));
        // One look, and what it finds is not the next message.
        assert_eq!(Reached::at(2).find(3, &first, &find), None);
    }

    #[test]
    fn a_link_that_leads_to_no_node_is_not_taken_for_the_end() {
        let (first, nodes, mut end) = (Next::new(), [Node::new()], End::default());
        assert_eq!(Reached::default().find(1, &first, finder(&nodes)), None);
        end.append(9, &first, |_| unreachable!("the first one"));
        assert_eq!(Reached::default().find(1, &first, finder(&nodes)), Some(9));
        end.leave(&first);
        assert_eq!(Reached::default().find(1, &first, finder(&nodes)), None);
    }

    #[test]
    fn a_row_ends_before_numbers_come_round() {
        let (first, node, mut end) = (Next::new(), Node::new(), End::default());
        end.fill();
        assert!(end.is_full() && end.row < NUMBER_COUNT);
        end.append(1, &first, |_| &node);
        end.leave(&first);
        assert!(!end.is_full() && !end.is_open());
    }
}
