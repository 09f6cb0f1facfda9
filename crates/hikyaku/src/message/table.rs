//! A table with a place per slot, of which most are never used.
//!
//! The first places are there from the beginning, so that whoever uses low numbers pays for an index. The others come in
//! blocks, each when one of its places is first written.

use std::iter::repeat_with;
use std::ops::{Index, IndexMut};

/// Places that are there from the beginning, and places of a block.
const BLOCK: usize = 16;

/// So many places, each of which holds its default value until it is written.
#[derive(Debug)]
pub(super) struct Table<T> {
    first: Box<[T]>,
    /// Empty until one of them is needed.
    blocks: Box<[Option<Box<[T; BLOCK]>>]>,
    /// What is read where nothing was written.
    unused: T,
    len: usize,
}

impl<T: Default> Table<T> {
    pub fn new(len: usize) -> Table<T> {
        let first = repeat_with(T::default).take(len.min(BLOCK)).collect();
        Table { first, blocks: Box::default(), unused: T::default(), len }
    }

    /// A place, to change it, if there is such a one.
    #[inline(always)]
    pub fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        if place < self.first.len() { Some(&mut self.first[place]) } else { self.behind_mut(place) }
    }

    /// The first place from `place` on that may hold something else than its default value.
    pub fn next_used(&self, place: usize) -> Option<usize> {
        let is_used = |block: &usize| *block == 0 || matches!(self.blocks.get(block - 1), Some(Some(_)));
        let block = (place / BLOCK..self.blocks.len() + 1).find(is_used)?;
        Some(place.max(block * BLOCK)).filter(|place| *place < self.len)
    }

    #[inline(never)]
    fn behind_mut(&mut self, place: usize) -> Option<&mut T> {
        if place >= self.len {
            return None;
        }
        if self.blocks.is_empty() {
            self.blocks = repeat_with(|| None).take(self.len.div_ceil(BLOCK) - 1).collect();
        }
        let block =
            self.blocks[place / BLOCK - 1].get_or_insert_with(|| Box::new(std::array::from_fn(|_| T::default())));
        Some(&mut block[place % BLOCK])
    }
}

impl<T> Table<T> {
    #[inline(never)]
    fn behind(&self, place: usize) -> &T {
        assert!(place < self.len, "place {place} of {}", self.len);
        match self.blocks.get(place / BLOCK - 1) {
            Some(Some(block)) => &block[place % BLOCK],
            _ => &self.unused,
        }
    }
}

impl<T> Index<usize> for Table<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, place: usize) -> &T {
        if place < self.first.len() { &self.first[place] } else { self.behind(place) }
    }
}

impl<T: Default> IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, place: usize) -> &mut T {
        self.get_mut(place).expect("a place of the table")
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
                prop_assert_eq!(table.get_mut(place).is_some(), place < len);
                if place < len {
                    table[place] = value;
                    vector[place] = value;
                }
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
    #[should_panic(expected = "place 5 of 5")]
    fn a_place_that_is_not_there_is_not_read() {
        let _ = Table::<u8>::new(5)[5];
    }
}
