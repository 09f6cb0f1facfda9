//! Values by their labels, in the order in which they came.

use super::chains::{Chain, Chains};
use super::keys::{Label, Shape};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// The values of a shape: a chain for each label.
#[derive(Debug)]
pub(super) struct Index {
    pub shape: Shape,
    /// Which of the chains of a value it is.
    of: usize,
    chains: HashMap<Label, Chain, RandomState>,
    /// Values in it.
    count: usize,
}

/// Chains that may be empty: most labels are used again soon.
const EMPTY_CHAINS_MAX: usize = 64;

impl Index {
    pub fn new(shape: Shape, of: usize) -> Index {
        Index { shape, of, chains: HashMap::default(), count: 0 }
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    pub fn add<T, const N: usize>(&mut self, values: &mut Chains<T, N>, label: Label, number: u32) {
        if self.chains.len() > 2 * self.count + EMPTY_CHAINS_MAX {
            self.chains.retain(|_, chain| chain.first().is_some());
            // What is gone through next time is not what there once was.
            self.chains.shrink_to(2 * self.count + 2 * EMPTY_CHAINS_MAX);
        }
        let chain = self.chains.entry(label).or_insert(Chain::EMPTY);
        values.link(chain, self.of, number);
        self.count += 1;
    }

    #[inline]
    pub fn remove<T, const N: usize>(&mut self, values: &mut Chains<T, N>, label: Label, number: u32) {
        if let Some(chain) = self.chains.get_mut(&label) {
            values.unlink(chain, self.of, number);
            self.count -= 1;
        }
    }

    /// The first of a label.
    #[inline]
    pub fn first(&self, label: Label) -> Option<u32> {
        if self.is_empty() { None } else { self.chains.get(&label)?.first() }
    }
}
