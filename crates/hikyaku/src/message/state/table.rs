//! A table with a place per slot, of which most are never used.
//!
//! The first places are part of the table, so that whoever uses low numbers pays for an index. The others come in blocks, each
//! when one of its places is first written.

use std::cell::OnceCell;
use std::iter::repeat_with;
use std::ops::{Index, IndexMut};

/// Places that are part of the table, and places of a block.
const BLOCK: usize = 32;

/// So many places, each of which holds its default value until it is written.
#[derive(Debug)]
pub(in crate::message) struct Table<T> {
    first: [T; BLOCK],
    /// Empty until one of them is needed.
    blocks: Box<[Option<Box<[T; BLOCK]>>]>,
    /// What is read where nothing was written, once it was.
    unused: OnceCell<Box<T>>,
    len: usize,
}

impl<T: Default> Table<T> {
    pub fn new(len: usize) -> Table<T> {
        let first = std::array::from_fn(|_| T::default());
        Table { first, blocks: Box::default(), unused: OnceCell::new(), len }
    }

    /// A place, to change it, if it is one of the first.
    #[inline(always)]
    pub fn first_mut(&mut self, place: usize) -> Option<&mut T> {
        self.first.get_mut(place)
    }

    /// The first place from `place` on that may hold something else than its default value.
    pub fn next_used(&self, place: usize) -> Option<usize> {
        let is_used = |block: &usize| *block == 0 || matches!(self.blocks.get(block - 1), Some(Some(_)));
        let block = (place / BLOCK..=self.blocks.len()).find(is_used)?;
        Some(place.max(block * BLOCK)).filter(|place| *place < self.len)
    }

    #[inline(never)]
    fn behind(&self, place: usize) -> &T {
        assert!(place < self.len, "place {place} of {}", self.len);
        match self.blocks.get(place / BLOCK - 1) {
            Some(Some(block)) => &block[place % BLOCK],
            _ => self.unused.get_or_init(Box::default),
        }
    }

    #[inline(never)]
    fn behind_mut(&mut self, place: usize) -> &mut T {
        assert!(place < self.len, "place {place} of {}", self.len);
        if self.blocks.is_empty() {
            self.blocks = repeat_with(|| None).take(self.len.div_ceil(BLOCK) - 1).collect();
        }
        let fresh = || Box::new(std::array::from_fn(|_| T::default()));
        &mut self.blocks[place / BLOCK - 1].get_or_insert_with(fresh)[place % BLOCK]
    }
}

impl<T: Default> Index<usize> for Table<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, place: usize) -> &T {
        debug_assert!(place < self.len);
        self.first.get(place).unwrap_or_else(|| self.behind(place))
    }
}

impl<T: Default> IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, place: usize) -> &mut T {
        debug_assert!(place < self.len);
        if place < BLOCK { &mut self.first[place] } else { self.behind_mut(place) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn used<T: Default>(table: &Table<T>) -> Vec<usize> {
        std::iter::successors(table.next_used(0), |place| table.next_used(place + 1)).collect()
    }

    proptest! {
        #[test]
        fn it_holds_what_a_vector_would(
            len in 1..100usize,
            writes in prop::collection::vec((0..100usize, 1..u32::MAX), 0..40),
        ) {
            let (mut table, mut vector) = (Table::new(len), vec![0; len]);
            for (place, value) in writes {
                let place = place % len;
                prop_assert_eq!(table.first_mut(place).is_some(), place < BLOCK);
                table[place] = value;
                vector[place] = value;
            }
            for place in 0..len {
                prop_assert_eq!(table[place], vector[place]);
                prop_assert!(vector[place] == 0 || used(&table).contains(&place));
            }
            prop_assert!(used(&table).into_iter().all(|place| place < len));
        }
    }

    #[test]
    fn what_is_only_read_takes_no_memory() {
        let mut table: Table<u64> = Table::new(1 << 20);
        assert!((0..1 << 20).all(|place| table[place] == 0));
        assert_eq!((table.blocks.len(), used(&table).len()), (0, BLOCK));
        table[BLOCK] = 1;
        table[(1 << 20) - 1] = 1;
        assert_eq!(table.blocks.iter().flatten().count(), 2);
        assert_eq!(used(&table).len(), 3 * BLOCK);
    }

    #[test]
    #[should_panic]
    fn a_place_that_is_not_there_is_not_read() {
        let _ = Table::<u8>::new(50)[50];
    }
}
