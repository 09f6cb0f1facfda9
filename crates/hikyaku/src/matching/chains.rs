//! Values in chains: each in several at once, found by number, taken out of the middle without a walk.

/// Values, and where each is in its `N` chains.
#[derive(Debug)]
pub(super) struct Chains<T, const N: usize> {
    nodes: Vec<Node<T, N>>,
    /// The first of those that are empty, which are linked by `next` of their first link.
    empty: u32,
    count: usize,
}

#[derive(Debug)]
struct Node<T, const N: usize> {
    links: [Link; N],
    order: u64,
    value: Option<T>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    next: u32,
}

/// No node.
const NONE: u32 = u32::MAX;

/// A chain of nodes in their order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    first: u32,
    last: u32,
}

impl Chain {
    pub const EMPTY: Chain = Chain { first: NONE, last: NONE };

    #[inline(always)]
    pub fn first(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }

    #[inline(always)]
    pub fn last(&self) -> Option<u32> {
        (self.last != NONE).then_some(self.last)
    }
}

impl<T, const N: usize> Default for Chains<T, N> {
    fn default() -> Self {
        Chains { nodes: Vec::new(), empty: NONE, count: 0 }
    }
}

impl<T, const N: usize> Chains<T, N> {
    /// How many values there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Keeps a value, in no chain yet; its number.
    #[inline]
    pub fn add(&mut self, order: u64, value: T) -> u32 {
        self.count += 1;
        let links = [Link { before: NONE, next: NONE }; N];
        let node = Node { links, order, value: Some(value) };
        match self.nodes.get_mut(self.empty as usize) {
            Some(empty) => {
                let number = self.empty;
                self.empty = empty.links[0].next;
                *empty = node;
                number
            }
            None => {
                self.nodes.push(node);
                // Memory ends before this number does.
                (self.nodes.len() - 1) as u32
            }
        }
    }

    /// Takes a value out, which is in no chain any more.
    #[inline]
    pub fn remove(&mut self, number: u32) -> Option<T> {
        let node = self.nodes.get_mut(number as usize)?;
        let value = node.value.take()?;
        node.links[0].next = self.empty;
        self.empty = number;
        self.count -= 1;
        Some(value)
    }

    #[inline(always)]
    pub fn get(&self, number: u32) -> Option<&T> {
        self.nodes.get(number as usize)?.value.as_ref()
    }

    #[inline(always)]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.nodes.get_mut(number as usize)?.value.as_mut()
    }

    /// The order of a value.
    #[inline(always)]
    pub fn order(&self, number: u32) -> u64 {
        self.nodes[number as usize].order
    }

    /// Puts a node into a chain, which is chain `of` of its values, behind all that come before it.
    #[inline]
    pub fn link(&mut self, chain: &mut Chain, of: usize, number: u32) {
        let order = self.order(number);
        let (mut before, mut next) = (chain.last, NONE);
        // Only what comes back is not the last.
        while before != NONE && self.order(before) > order {
            (before, next) = (self.nodes[before as usize].links[of].before, before);
        }
        self.nodes[number as usize].links[of] = Link { before, next };
        self.join(chain, of, before, number);
        self.join(chain, of, number, next);
    }

    /// Takes a node out of a chain.
    #[inline]
    pub fn unlink(&mut self, chain: &mut Chain, of: usize, number: u32) {
        let Link { before, next } = self.nodes[number as usize].links[of];
        self.join(chain, of, before, next);
    }

    /// One follows the other; `NONE` is before the first, and behind the last.
    #[inline(always)]
    fn join(&mut self, chain: &mut Chain, of: usize, before: u32, next: u32) {
        match self.nodes.get_mut(before as usize) {
            Some(node) => node.links[of].next = next,
            None => chain.first = next,
        }
        match self.nodes.get_mut(next as usize) {
            Some(node) => node.links[of].before = before,
            None => chain.last = before,
        }
    }

    /// The nodes of a chain.
    pub fn walk(&self, chain: &Chain, of: usize) -> impl Iterator<Item = (u32, &T)> {
        let mut next = chain.first;
        std::iter::from_fn(move || {
            let node = self.nodes.get(next as usize)?;
            let number = next;
            next = node.links[of].next;
            Some((number, node.value.as_ref()?))
        })
    }
}
