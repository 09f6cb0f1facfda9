//! Handing out parts of a segment. The same calls give the same places, so ranks that call alike hold
//! symmetric memory without telling each other anything.

use super::segment::PAGE_BYTES;
use std::collections::BTreeMap;

/// The smallest unit: a cache line, so that two parts never share one.
pub const LINE_BYTES: usize = 64;

/// First fit over an ordered list of free ranges, which merges neighbours.
#[derive(Debug)]
pub struct Heap {
    /// start -> bytes of every free range.
    free: BTreeMap<usize, usize>,
}

impl Heap {
    /// A heap over `[start, start + bytes)`; `start` is a multiple of a page.
    pub fn new(start: usize, bytes: usize) -> Heap {
        debug_assert!(start.is_multiple_of(PAGE_BYTES));
        Heap { free: BTreeMap::from([(start, bytes)]) }
    }

    /// What a request for `bytes` really takes: whole lines, and whole pages for what is large, so that a large
    /// part can be given back to the system.
    pub fn rounded(bytes: usize) -> Option<usize> {
        let unit = if bytes >= PAGE_BYTES { PAGE_BYTES } else { LINE_BYTES };
        bytes.max(1).checked_next_multiple_of(unit)
    }

    /// The start of a free part of `bytes` (rounded up), if there is one.
    pub fn take(&mut self, bytes: usize) -> Option<usize> {
        let bytes = Heap::rounded(bytes)?;
        let align = if bytes >= PAGE_BYTES { PAGE_BYTES } else { LINE_BYTES };
        let (range, size, start) = self.free.iter().find_map(|(range, size)| {
            let start = range.next_multiple_of(align);
            (start - range + bytes <= *size).then_some((*range, *size, start))
        })?;
        self.free.remove(&range);
        if start > range {
            self.free.insert(range, start - range);
        }
        let end = start + bytes;
        if range + size > end {
            self.free.insert(end, range + size - end);
        }
        Some(start)
    }

    /// Gives back what [`Heap::take`] gave for `bytes`.
    pub fn give(&mut self, start: usize, bytes: usize) {
        let mut start = start;
        let mut bytes = Heap::rounded(bytes).expect("taken with the same size");
        debug_assert!(bytes < PAGE_BYTES || start.is_multiple_of(PAGE_BYTES), "a part of what was taken");
        if let Some((&before, &size)) = self.free.range(..start).next_back() {
            debug_assert!(before + size <= start, "given back twice");
            if before + size == start {
                self.free.remove(&before);
                start = before;
                bytes += size;
            }
        }
        if let Some(size) = self.free.remove(&(start + bytes)) {
            bytes += size;
        }
        self.free.insert(start, bytes);
    }

    /// The largest part that could be taken now.
    pub fn largest_free(&self) -> usize {
        self.free.values().copied().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a plain model: parts never overlap, stay inside, are aligned, and everything comes back.
        #[test]
        fn parts_are_disjoint_and_all_come_back(steps in proptest::collection::vec((0usize..20_000, any::<bool>(), any::<usize>()), 1..80)) {
            let (start, size) = (PAGE_BYTES, 64 * PAGE_BYTES);
            let mut heap = Heap::new(start, size);
            let mut live: Vec<(usize, usize)> = Vec::new();
            for (bytes, give, pick) in steps {
                if give && !live.is_empty() {
                    let (at, bytes) = live.swap_remove(pick % live.len());
                    heap.give(at, bytes);
                } else if let Some(at) = heap.take(bytes) {
                    let end = at + Heap::rounded(bytes).unwrap();
                    prop_assert!(at >= start && end <= start + size && at % LINE_BYTES == 0);
                    for (other, len) in &live {
                        let other_end = other + Heap::rounded(*len).unwrap();
                        prop_assert!(end <= *other || at >= other_end, "overlap");
                    }
                    live.push((at, bytes));
                }
            }
            for (at, bytes) in live {
                heap.give(at, bytes);
            }
            prop_assert_eq!(heap.largest_free(), size);
        }
    }
}
