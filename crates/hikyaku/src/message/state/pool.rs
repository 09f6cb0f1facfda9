//! Short nodes that were given back, to be used again: taking memory from the heap and giving it back are system calls,
//! which cost more than a short message, and for which the ranks of a host queue up.

use crate::memory::segment::PAGE_BYTES;
use crate::ni::Kept;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Bytes of the longest node that is kept.
pub(in crate::message) const NODE_MAX: usize = 64 << 10;
/// Bytes of the longest whose pages stay though nothing is in it.
pub(in crate::message) const EMPTY_MAX: usize = 16 << 10;
/// Bytes that are taken from the heap for short nodes at once: a quarter of what was taken before, within these limits.
const TAKEN_MIN: usize = 16 << 10;
const TAKEN_MAX: usize = 256 << 10;
/// Bytes of the shortest.
const NODE_MIN: usize = 128;

/// Places of nodes by their sizes.
#[derive(Debug, Default)]
pub(in crate::message) struct Pool {
    places: HashMap<usize, Vec<usize>, RandomState>,
    /// Bytes that were taken from the heap and not given back to it, kept or in use.
    taken: usize,
}

/// What a node of so many bytes takes: few different sizes, so that one fits the next message too.
pub(in crate::message) fn rounded(bytes: usize) -> usize {
    if bytes <= NODE_MAX { bytes.next_power_of_two().max(NODE_MIN) } else { bytes }
}

impl Pool {
    /// A place for a node of `bytes`, which were rounded.
    pub fn take(&mut self, bytes: usize, kept: &Kept) -> Option<usize> {
        let place = self.places.get_mut(&bytes)?.pop()?;
        kept.subtract(bytes);
        Some(place)
    }

    /// Keeps a place; false if there are enough of them: then it goes back to the heap.
    pub fn keep(&mut self, place: usize, bytes: usize, kept: &Kept) -> bool {
        let fits = bytes <= NODE_MAX && kept.add(bytes);
        match fits {
            true => self.places.entry(bytes).or_default().push(place),
            false => self.taken = self.taken.saturating_sub(bytes),
        }
        fits
    }

    /// How many nodes of `bytes` to take from the heap at once: more, the more there are. Of those that are not kept, one: each goes back to
    /// the heap by itself.
    pub fn count_at_once(&self, bytes: usize) -> usize {
        if bytes > NODE_MAX {
            return 1;
        }
        // Whole pages, as the heap rounds: what it adds would never come back.
        let taken = (self.taken / 4).clamp(TAKEN_MIN, TAKEN_MAX) / PAGE_BYTES * PAGE_BYTES;
        (taken / bytes).max(1)
    }

    /// So much was taken from the heap.
    pub fn took(&mut self, bytes: usize) {
        self.taken += bytes;
    }

    /// Bytes that the heap lacks.
    #[cfg(test)]
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// All places, as (place, bytes).
    pub fn drain(&mut self, kept: &Kept) -> impl Iterator<Item = (usize, usize)> + use<> {
        let places = std::mem::take(self).places;
        kept.subtract(places.iter().map(|(bytes, places)| bytes * places.len()).sum());
        places.into_iter().flat_map(|(bytes, places)| places.into_iter().map(move |place| (place, bytes)))
    }
}

/// A node of this rank.
#[derive(Clone, Copy, Debug)]
pub(in crate::message) struct OwnNode {
    pub start: usize,
    pub bytes: usize,
    pub number: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_used_again_by_what_takes_as_much() {
        let (mut pool, kept) = (Pool::default(), Kept::new(1 << 30));
        assert_eq!(rounded(5000), rounded(8000));
        assert!(pool.keep(640, rounded(5000), &kept));
        assert_eq!(pool.take(rounded(100), &kept), None);
        assert_eq!(pool.take(rounded(8000), &kept), Some(640));
        assert_eq!(pool.take(rounded(8000), &kept), None);
    }

    #[test]
    fn long_ones_and_too_many_are_not_kept() {
        let (mut pool, kept) = (Pool::default(), Kept::new(1 << 30));
        assert_eq!(rounded(NODE_MAX + 1), NODE_MAX + 1);
        assert!(!pool.keep(0, NODE_MAX + 1, &kept));
        let count = (0..1000).filter(|place| pool.keep(*place, NODE_MAX, &kept)).count();
        assert_eq!(count, Kept::MAX / NODE_MAX);
        let mut other = Pool::default();
        assert!(!other.keep(0, NODE_MAX, &kept), "the limit is the rank's");
        assert_eq!(pool.drain(&kept).count(), count);
        assert!(other.keep(0, NODE_MAX, &kept));
        assert!(!Pool::default().keep(0, NODE_MAX, &Kept::new(NODE_MAX)), "a small heap is for other things, too");
    }

    #[test]
    fn more_nodes_are_taken_at_once_the_more_there_are() {
        let mut pool = Pool::default();
        assert_eq!(pool.count_at_once(4096), TAKEN_MIN / 4096);
        pool.took(400 << 10);
        assert_eq!(pool.count_at_once(4096), 25);
        pool.took(1000);
        for bytes in [NODE_MIN, 2048, 8192, NODE_MAX] {
            assert_eq!(pool.count_at_once(bytes) * bytes % PAGE_BYTES, 0, "{bytes} bytes each");
        }
        pool.took(100 << 20);
        assert_eq!((pool.count_at_once(4096), pool.count_at_once(1 << 20)), (TAKEN_MAX / 4096, 1));
        assert_eq!(pool.count_at_once(NODE_MAX), TAKEN_MAX / NODE_MAX);
        assert_eq!(pool.count_at_once(NODE_MAX + 100), 1, "the heap takes back what it gave, not parts of it");
        assert!(!pool.keep(0, 101 << 20, &Kept::new(1 << 30)));
        assert_eq!(pool.count_at_once(4096), TAKEN_MIN / 4096, "what is given back counts no longer");
    }
}
