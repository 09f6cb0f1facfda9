//! All kernels beside the plainest loops.

use super::marks::Marks;
use super::*;
use proptest::prelude::*;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use rustix::param::page_size;
use std::sync::atomic::{AtomicU64, Ordering};

/// Another byte wherever a copy might take it from by mistake.
fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + i / 256 + 1) as u8).collect()
}

fn is_marked(words: &[u64], unit: usize) -> bool {
    words[unit / 64] >> (unit % 64) & 1 == 1
}

/// What is there is not touched where nothing is marked.
const UNTOUCHED: u8 = 0xEE;

fn check(unit: usize, words: &[u64], units: usize, from: usize, to: usize) {
    let marks = Marks::new(words, units);
    let marked: Vec<usize> = (0..units).filter(|unit| is_marked(words, *unit)).collect();
    assert_eq!(marks.count(), marked.len());
    let mut found = Vec::new();
    marks.runs(|first, count| {
        assert!(count > 0);
        assert!(found.last().is_none_or(|last| last + 1 < first), "runs that touch are one");
        found.extend(first..first + count);
    });
    assert_eq!(found, marked);

    let source = bytes(from + units * unit);
    let mut copied = vec![UNTOUCHED; to + units * unit + 64];
    // SAFETY: both are as long as the units.
    unsafe { copy_marked(copied.as_mut_ptr().add(to), source.as_ptr().add(from), unit, marks) };
    let mut expected = vec![UNTOUCHED; copied.len()];
    for at in &marked {
        let at = at * unit;
        expected[to + at..to + at + unit].copy_from_slice(&source[from + at..from + at + unit]);
    }
    assert!(copied == expected, "copied, unit {unit}");

    let mut packed = vec![UNTOUCHED; marked.len() * unit + 64];
    // SAFETY: as above.
    unsafe { pack_marked(packed.as_mut_ptr(), source.as_ptr().add(from), unit, marks) };
    let parts = marked.iter().flat_map(|at| &source[from + at * unit..from + (at + 1) * unit]);
    assert!(packed.iter().take(marked.len() * unit).eq(parts), "packed, unit {unit}");
    assert!(packed[marked.len() * unit..].iter().all(|byte| *byte == UNTOUCHED));

    // Ends where its units end: nothing beyond is read.
    packed.truncate(marked.len() * unit);
    let packed = packed.into_boxed_slice();
    let mut unpacked = vec![UNTOUCHED; copied.len()];
    // SAFETY: as above.
    unsafe { unpack_marked(unpacked.as_mut_ptr().add(to), packed.as_ptr(), unit, marks) };
    assert!(unpacked == expected, "unpacked, unit {unit}");
}

proptest! {
    #[test]
    fn marked_units_are_moved_and_nothing_else(
        unit in prop_oneof![Just(1usize), Just(2), Just(3), Just(4), Just(8), Just(16), Just(24)],
        words in proptest::collection::vec(prop_oneof![Just(0), Just(u64::MAX), any::<u64>(), Just(1 << 63), Just(1)], 1..6),
        left in 0usize..64, from in 0usize..9, to in 0usize..9,
    ) {
        check(unit, &words, 64 * words.len() - left, from, to);
    }

    #[test]
    fn changed_units_are_found(
        unit in prop_oneof![Just(1usize), Just(2), Just(4), Just(8), Just(12)], units in 1usize..300,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), 1u8..), 0..20),
    ) {
        let before = bytes(units * unit);
        let mut now = before.clone();
        for (at, by) in changes {
            now[at.index(units * unit)] ^= by;
        }
        let mut words = vec![u64::MAX; units.div_ceil(64) + 1];
        let changed = mark_changed(&mut words, &now, &before, unit);
        let expected: Vec<bool> = now.chunks(unit).zip(before.chunks(unit)).map(|(now, before)| now != before).collect();
        prop_assert!((0..units).map(|unit| is_marked(&words, unit)).eq(expected.iter().copied()));
        prop_assert_eq!(changed, expected.iter().filter(|is| **is).count());
        prop_assert!((units..64 * words.len()).all(|unit| !is_marked(&words, unit)));
    }

    #[test]
    fn blocks_are_moved_and_nothing_else(
        block in prop_oneof![Just(4usize), Just(8), Just(16), Just(64), 1usize..70], (a, b) in (0usize..30, 0usize..30), count in 0usize..20,
    ) {
        let (there, here) = (block + a, block + b);
        let source = bytes(count * here + 1);
        let mut target = vec![UNTOUCHED; count * there + 1];
        let mut expected = target.clone();
        for number in 0..count {
            expected[number * there..number * there + block].copy_from_slice(&source[number * here..number * here + block]);
        }
        // SAFETY: both are as long.
        unsafe { copy_blocks((target.as_mut_ptr(), there), (source.as_ptr(), here), block, count) };
        prop_assert!(target == expected);
    }
}

#[test]
fn parts_of_marks_are_marks() {
    let words = [1, 2, 4, u64::MAX];
    let marks = Marks::new(&words, 250);
    assert_eq!((marks.count(), marks.part(64, 128).count(), marks.part(192, 58).count()), (61, 2, 58));
    assert_eq!(marks.part(64, 128).units(), 128);
}

/// The end of a page that can be used, after which comes one that cannot.
struct Edge(*mut u8);

impl Edge {
    fn new() -> Edge {
        let (page, protection, flags) = (page_size(), ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: new memory, of which nobody knows yet.
        unsafe {
            let start = mmap_anonymous(std::ptr::null_mut(), 2 * page, protection, flags).unwrap();
            let end = start.byte_add(page);
            mprotect(end, page, MprotectFlags::empty()).unwrap();
            Edge(end.cast())
        }
    }

    /// The last bytes that can be used.
    fn last(&self, bytes: usize) -> *mut u8 {
        assert!(bytes <= page_size());
        self.0.wrapping_sub(bytes)
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and used by nobody any more.
        unsafe { munmap(self.last(page_size()).cast(), 2 * page_size()).unwrap() };
    }
}

/// Nothing behind the last block is touched.
#[test]
fn blocks_end_where_memory_ends() {
    let (from, to) = (Edge::new(), Edge::new());
    for (block, gap, count) in (0..=130).flat_map(|block| [(block, 0, 2), (block, 1, 1), (block, 8, 2), (block, 40, 3)])
    {
        let distance = block + gap;
        let (packed, spread) = (count * block, (count - 1) * distance + block);
        let source = bytes(packed);
        let mut found = vec![UNTOUCHED; packed];
        // SAFETY: so many bytes before an edge can be used, and the vectors are as long.
        unsafe {
            from.last(packed).copy_from(source.as_ptr(), packed);
            copy_blocks((to.last(spread), distance), (from.last(packed), block), block, count);
            from.last(packed).write_bytes(UNTOUCHED, packed);
            copy_blocks((from.last(packed), block), (to.last(spread), distance), block, count);
            found.as_mut_ptr().copy_from(from.last(packed), packed);
        }
        assert!(found == source, "{count} blocks of {block} at {distance}");
    }
}

/// Whoever reads a word while it is written sees what it was or what it becomes, also where memory ends.
#[test]
fn words_of_blocks_arrive_whole() {
    const LOOKS: usize = 1_000_000;
    let edge = Edge::new();
    for (block, behind) in [(20, 4), (24, 0), (36, 4), (44, 12), (64, 0)] {
        let start = edge.last(block + behind);
        // SAFETY: the first word of the block, at a multiple of 8; the test is about whether it is written whole.
        let word = unsafe { AtomicU64::from_ptr(start.cast()) };
        word.store(0, Ordering::Relaxed);
        std::thread::scope(|threads| {
            let mut seen = std::iter::repeat_with(|| word.load(Ordering::Relaxed)).take(LOOKS);
            let reader = threads.spawn(move || seen.find(|seen| *seen != 0 && *seen != u64::MAX));
            let mut byte = 0;
            while !reader.is_finished() {
                byte = !byte;
                // SAFETY: the block can be written, and what is copied is no shorter.
                unsafe { copy_blocks((start, block + 8), ([byte; 64].as_ptr(), block), block, 1) };
            }
            assert_eq!(reader.join().unwrap(), None, "a block of {block}");
        });
    }
}
