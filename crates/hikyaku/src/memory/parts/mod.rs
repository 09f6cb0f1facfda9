//! Copying some of many units, and finding which have changed.
//!
//! Blocks that lie at a distance from each other are copied by [`copy_blocks`]. Units that bits mark are copied from place to the same
//! place ([`copy_marked`]), or packed for the wire and unpacked at its other end. As in [`super::copy`], peers may use the bytes
//! meanwhile, so all of it is made of copies that are no accesses to the compiler.
//!
//! | file | concept |
//! |---|---|
//! | `marks` | bits, one per unit, and the runs of those that are set |
//! | `blocks` | x86-64 with 32 vector registers: blocks of 17 to 64 bytes, each in two moves |
//! | `lanes` | x86-64 with masked vectors: 8 to 64 units at a time, by the bits themselves |

#[cfg(all(target_arch = "x86_64", not(any(hikyaku_atomic_copy, loom))))]
mod blocks;
#[cfg(all(target_arch = "x86_64", not(any(hikyaku_atomic_copy, loom))))]
mod lanes;
pub mod marks;

use super::copy;
use marks::Marks;

/// Copies `count` blocks of `block` bytes. On each side one begins `distance` bytes after the one before.
///
/// # Safety
/// All blocks of `src` can be read, those of `dst` written, and none of one is in the other. Either side may be accessed by others
/// meanwhile.
#[inline]
pub unsafe fn copy_blocks(
    (dst, dst_distance): (*mut u8, usize),
    (src, src_distance): (*const u8, usize),
    block: usize,
    count: usize,
) {
    #[cfg(all(target_arch = "x86_64", not(any(hikyaku_atomic_copy, loom))))]
    if dst_distance != src_distance {
        // SAFETY: the caller's promise.
        let done = unsafe { blocks::copy_short((dst, dst_distance), (src, src_distance), block, count) };
        if done {
            return;
        }
    }
    // SAFETY: the caller's promise.
    unsafe { copy_any_blocks((dst, dst_distance), (src, src_distance), block, count) };
}

/// [`copy_blocks`] of any kind.
///
/// # Safety
/// As there.
unsafe fn copy_any_blocks(
    (dst, dst_distance): (*mut u8, usize),
    (src, src_distance): (*const u8, usize),
    block: usize,
    count: usize,
) {
    if block == 0 {
        return;
    }
    if block == dst_distance && block == src_distance {
        // SAFETY: the caller's promise; they are one block.
        return unsafe { copy::copy(dst, src, block * count) };
    }
    #[cfg(all(target_arch = "x86_64", not(any(hikyaku_atomic_copy, loom))))]
    if dst_distance == src_distance {
        // SAFETY: the caller's promise.
        let done = unsafe {
            copy_close_blocks(dst, src, dst_distance, block, count)
                || blocks::copy_short((dst, dst_distance), (src, src_distance), block, count)
        };
        if done {
            return;
        }
    }
    // SAFETY: the caller's promise, for each block.
    let each = |number: usize, bytes: usize| unsafe {
        copy::copy(dst.wrapping_add(number * dst_distance), src.wrapping_add(number * src_distance), bytes);
    };
    // With a length that the compiler knows, a copy is two moves.
    match block {
        8 => (0..count).for_each(|number| each(number, 8)),
        4 => (0..count).for_each(|number| each(number, 4)),
        16 => (0..count).for_each(|number| each(number, 16)),
        _ => (0..count).for_each(|number| each(number, block)),
    }
}

/// [`copy_blocks`] of words that lie close to each other, as marked ones: a vector holds several. False if they are not such, or this
/// processor has no masks, and then nothing was done.
///
/// # Safety
/// As there.
#[cfg(all(target_arch = "x86_64", not(any(hikyaku_atomic_copy, loom))))]
unsafe fn copy_close_blocks(dst: *mut u8, src: *const u8, distance: usize, block: usize, count: usize) -> bool {
    const UNIT: usize = 8;
    /// With fewer words of a vector it is no faster than one by one.
    const DISTANCE_MAX: usize = 4 * UNIT;
    const WORDS: usize = 60;
    let is_close = block.is_multiple_of(UNIT) && distance.is_multiple_of(UNIT) && distance <= DISTANCE_MAX;
    if !is_close || count < WORDS {
        return false;
    }
    let (period, set) = (distance / UNIT, block / UNIT);
    // A whole number of periods of 2, 3 and 4 words.
    let mut words = [0u64; WORDS];
    (0..64 * WORDS).filter(|unit| unit % period < set).for_each(|unit| words[unit / 64] |= 1 << (unit % 64));
    // The last block ends before its distance does.
    let units = (count - 1) * period + set;
    for first in (0..units).step_by(64 * WORDS) {
        let marks = Marks::new(&words, (units - first).min(64 * WORDS));
        let at = first * UNIT;
        // SAFETY: the caller's promise: marked units are those of blocks.
        if !unsafe { lanes::copy_marked(dst.wrapping_add(at), src.wrapping_add(at), UNIT, marks) } {
            return false;
        }
    }
    true
}

/// Copies the marked units to the same places.
///
/// # Safety
/// As many units of `unit` bytes as there are marks can be read at `src` and written at `dst`; they do not overlap. Either side may be
/// accessed by others meanwhile.
pub unsafe fn copy_marked(dst: *mut u8, src: *const u8, unit: usize, marks: Marks<'_>) {
    #[cfg(all(target_arch = "x86_64", not(any(hikyaku_atomic_copy, loom))))]
    // SAFETY: the caller's promise.
    if unsafe { lanes::copy_marked(dst, src, unit, marks) } {
        return;
    }
    marks.runs(|first, count| {
        let at = first * unit;
        // SAFETY: the caller's promise; units that are marked are among them.
        unsafe { copy::copy(dst.wrapping_add(at), src.wrapping_add(at), count * unit) };
    });
}

/// Copies the marked units one behind the other.
///
/// # Safety
/// As many units of `unit` bytes as there are marks can be read at `src`, and as many as are marked can be written at `dst`; they do not
/// overlap. Either side may be accessed by others meanwhile.
pub unsafe fn pack_marked(dst: *mut u8, src: *const u8, unit: usize, marks: Marks<'_>) {
    #[cfg(all(target_arch = "x86_64", not(any(hikyaku_atomic_copy, loom))))]
    // SAFETY: the caller's promise.
    if unsafe { lanes::pack_marked(dst, src, unit, marks) } {
        return;
    }
    let mut packed = 0;
    marks.runs(|first, count| {
        // SAFETY: the caller's promise; units that are marked are among them.
        unsafe { copy::copy(dst.wrapping_add(packed), src.wrapping_add(first * unit), count * unit) };
        packed += count * unit;
    });
}

/// Copies units that are one behind the other to the marked places.
///
/// # Safety
/// As many units of `unit` bytes as are marked can be read at `src`, and as many as there are marks can be written at `dst`; they do not
/// overlap. Either side may be accessed by others meanwhile.
pub unsafe fn unpack_marked(dst: *mut u8, src: *const u8, unit: usize, marks: Marks<'_>) {
    #[cfg(all(target_arch = "x86_64", not(any(hikyaku_atomic_copy, loom))))]
    // SAFETY: the caller's promise.
    if unsafe { lanes::unpack_marked(dst, src, unit, marks) } {
        return;
    }
    let mut packed = 0;
    marks.runs(|first, count| {
        // SAFETY: the caller's promise; units that are marked are among them.
        unsafe { copy::copy(dst.wrapping_add(first * unit), src.wrapping_add(packed), count * unit) };
        packed += count * unit;
    });
}

/// [`unpack_marked`] by marks that are in memory as bytes, wherever they begin.
///
/// # Safety
/// As there; the marks, 8 bytes for 64 units, can be read.
pub unsafe fn unpack_by(marks: *const u8, dst: *mut u8, mut src: *const u8, unit: usize, units: usize) {
    each_marks(marks, units, |first, marks| {
        // SAFETY: the caller's promise, for each part.
        unsafe { unpack_marked(dst.wrapping_add(first * unit), src, unit, marks) };
        src = src.wrapping_add(marks.count() * unit);
    });
}

/// [`pack_marked`] by marks that are in memory as bytes, wherever they begin; gives how many bytes were written.
///
/// # Safety
/// As there; the marks, 8 bytes for 64 units, can be read.
pub unsafe fn pack_by(marks: *const u8, dst: *mut u8, src: *const u8, unit: usize, units: usize) -> usize {
    let mut done = 0;
    each_marks(marks, units, |first, marks| {
        // SAFETY: the caller's promise, for each part.
        unsafe { pack_marked(dst.wrapping_add(done), src.wrapping_add(first * unit), unit, marks) };
        done += marks.count() * unit;
    });
    done
}

/// Calls `each` with some marks at a time, and the first unit they are of. `marks` can be read, as the callers promise.
fn each_marks(marks: *const u8, units: usize, mut each: impl FnMut(usize, Marks<'_>)) {
    const WORDS: usize = 64;
    let mut words = [0u64; WORDS];
    for first in (0..units).step_by(64 * WORDS) {
        let part = (units - first).min(64 * WORDS);
        let bytes = part.div_ceil(64) * 8;
        // SAFETY: the words have room for it, and the marks can be read.
        unsafe { copy::copy(words.as_mut_ptr().cast(), marks.wrapping_add(first / 8), bytes) };
        each(first, Marks::new(&words, part));
    }
}

/// Marks the units that differ; how many do. `words` has a bit for each.
///
/// # Panics
/// If the two are not as long, or no whole number of units, or there are too few bits.
pub fn mark_changed(words: &mut [u64], now: &[u8], before: &[u8], unit: usize) -> usize {
    assert!(unit > 0 && now.len() == before.len() && now.len().is_multiple_of(unit));
    assert!(now.len() / unit <= 64 * words.len());
    words.fill(0);
    #[cfg(all(target_arch = "x86_64", not(any(hikyaku_atomic_copy, loom))))]
    let done = lanes::mark_differing(words, now, before, unit);
    #[cfg(not(all(target_arch = "x86_64", not(any(hikyaku_atomic_copy, loom)))))]
    let done = 0;
    let pairs = now.chunks(64 * unit).zip(before.chunks(64 * unit));
    for (word, (now, before)) in words.iter_mut().zip(pairs).skip(done) {
        // Mostly they are equal, which is found out at the speed of memory.
        if now != before {
            *word = match unit {
                1 => differing::<1>(now, before),
                2 => differing::<2>(now, before),
                4 => differing::<4>(now, before),
                8 => differing::<8>(now, before),
                _ => differing_units(now.chunks_exact(unit), before.chunks_exact(unit)),
            };
        }
    }
    words.iter().map(|word| word.count_ones() as usize).sum()
}

/// With a length that the compiler knows, units are compared as numbers.
fn differing<const UNIT: usize>(now: &[u8], before: &[u8]) -> u64 {
    let (now, before) = (now.as_chunks::<UNIT>().0, before.as_chunks::<UNIT>().0);
    now.iter().zip(before).rev().fold(0, |bits, (now, before)| bits << 1 | u64::from(now != before))
}

fn differing_units<'a>(
    now: impl DoubleEndedIterator<Item = &'a [u8]> + ExactSizeIterator,
    before: impl DoubleEndedIterator<Item = &'a [u8]> + ExactSizeIterator,
) -> u64 {
    now.zip(before).rev().fold(0, |bits, (now, before)| bits << 1 | u64::from(now != before))
}

#[cfg(test)]
mod tests;
