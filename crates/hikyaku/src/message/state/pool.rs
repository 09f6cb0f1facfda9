//! Short nodes that were given back, to be used again: taking memory from the heap and giving it back are system calls,
//! which cost more than a short message.

use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Bytes of the longest node that is kept.
pub(in crate::message) const NODE_MAX: usize = 16 << 10;
/// Bytes of all that are kept, at most.
const KEPT_MAX: usize = 256 << 10;
/// Bytes that are taken from the heap for short nodes at once.
pub(in crate::message) const TAKEN_BYTES: usize = 16 << 10;
/// Bytes of the shortest.
const NODE_MIN: usize = 128;

/// Places of nodes by their sizes.
#[derive(Debug, Default)]
pub(in crate::message) struct Pool {
    places: HashMap<usize, Vec<usize>, RandomState>,
    kept: usize,
}

/// What a node of so many bytes takes: few different sizes, so that one fits the next message too.
pub(in crate::message) fn rounded(bytes: usize) -> usize {
    if bytes <= NODE_MAX { bytes.next_power_of_two().max(NODE_MIN) } else { bytes }
}

impl Pool {
    /// A place for a node of `bytes`, which were rounded.
    pub fn take(&mut self, bytes: usize) -> Option<usize> {
        let place = self.places.get_mut(&bytes)?.pop()?;
        self.kept -= bytes;
        Some(place)
    }

    /// Keeps a place; false if there are enough of them.
    pub fn keep(&mut self, place: usize, bytes: usize) -> bool {
        let fits = bytes <= NODE_MAX && self.kept + bytes <= KEPT_MAX;
        if fits {
            self.kept += bytes;
            self.places.entry(bytes).or_default().push(place);
        }
        fits
    }

    /// All places, as (place, bytes).
    pub fn drain(&mut self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let places = std::mem::take(self).places.into_iter();
        places.flat_map(|(bytes, places)| places.into_iter().map(move |place| (place, bytes)))
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
        let mut pool = Pool::default();
        assert_eq!(rounded(5000), rounded(8000));
        assert!(pool.keep(640, rounded(5000)));
        assert_eq!(pool.take(rounded(100)), None);
        assert_eq!(pool.take(rounded(8000)), Some(640));
        assert_eq!(pool.take(rounded(8000)), None);
    }

    #[test]
    fn long_ones_and_too_many_are_not_kept() {
        let mut pool = Pool::default();
        assert_eq!(rounded(NODE_MAX + 1), NODE_MAX + 1);
        assert!(!pool.keep(0, NODE_MAX + 1));
        let kept = (0..1000).filter(|place| pool.keep(*place, NODE_MAX)).count();
        assert_eq!(kept, KEPT_MAX / NODE_MAX);
        assert_eq!(pool.drain().count(), kept);
        assert!(pool.keep(0, NODE_MAX));
    }
}
