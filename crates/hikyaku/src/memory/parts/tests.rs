//! All kernels beside the plainest loops.

use super::marks::Marks;
use super::*;
use proptest::prelude::*;

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
