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

    /// A place, if it is one of the first, or one of its block was written: found without a call.
    #[inline(always)]
    pub fn get(&self, place: usize) -> Option<&T> {
        match place.checked_sub(BLOCK) {
            None => Some(&self.first[place]),
            Some(behind) => self.blocks.get(behind / BLOCK)?.as_ref().map(|block| &block[behind % BLOCK]),
        }
    }

    /// Such a place, to change it.
    #[inline(always)]
    pub fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        match place.checked_sub(BLOCK) {
            None => Some(&mut self.first[place]),
            Some(behind) => self.blocks.get_mut(behind / BLOCK)?.as_mut().map(|block| &mut block[behind % BLOCK]),
        }
    }

    /// The first place from `place` on that may hold something else than its default value.
    pub fn next_used(&self, place: usize) -> Option<usize> {
        let is_used = |block: &usize| *block == 0 || matches!(self.blocks.get(block - 1), Some(Some(_)));
        let block = (place / BLOCK..=self.blocks.len()).find(is_used)?;
        Some(place.max(block * BLOCK)).filter(|place| *place < self.len)
    }

    /// What is in a place of whose block none was written.
    #[cold]
    fn unwritten(&self, place: usize) -> &T {
        assert!(place < self.len, "place {place} of {}", self.len);
        self.unused.get_or_init(Box::default)
    }

    /// Makes the block of a place.
    #[cold]
    fn make(&mut self, place: usize) {
        assert!(place < self.len, "place {place} of {}", self.len);
        if self.blocks.is_empty() {
            self.blocks = repeat_with(|| None).take(self.len.div_ceil(BLOCK) - 1).collect();
        }
        self.blocks[place / BLOCK - 1] = Some(Box::new(std::array::from_fn(|_| T::default())));
    }
}

impl<T: Default> Index<usize> for Table<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, place: usize) -> &T {
        debug_assert!(place < self.len);
        self.get(place).unwrap_or_else(|| self.unwritten(place))
    }
}

impl<T: Default> IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, place: usize) -> &mut T {
        debug_assert!(place < self.len);
        if self.get(place).is_none() {
            self.make(place);
        }
        self.get_mut(place).expect("a place that was made")
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
                table[place] = value;
                vector[place] = value;
                prop_assert_eq!(table.get_mut(place), Some(&mut vector[place]));
            }
            for place in 0..len {
                prop_assert_eq!(table[place], vector[place]);
                prop_assert!(vector[place] == 0 || used(&table).contains(&place));
                prop_assert_eq!(table.get(place).is_some(), used(&table).contains(&place));
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
