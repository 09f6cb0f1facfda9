//! Moving bytes that a peer may be reading or writing at the same moment.
//!
//! To the compiler such a copy is a data race unless every access is atomic, and atomic accesses are never
//! vectorised. So the copies are made in assembly, which the compiler treats like a device on the bus: it may
//! not assume anything about the bytes, and nothing it assumed can break. A racing reader may see a mixture of old
//! and new bytes, never undefined behaviour; where a copy begins and ends at multiples of 8 bytes, each word of 8 arrives whole.
//!
//! For ThreadSanitizer (`--cfg hikyaku_atomic_copy`), the model checker, and processors without assembly here, the same copies
//! are loops of relaxed atomics.
//!
//! | file | copies of |
//! |---|---|
//! | `x86_64` | x86-64 |
//! | `aarch64` | 64-bit ARM |
//! | `atomic` | everything else |

#[cfg(all(target_arch = "aarch64", not(any(hikyaku_atomic_copy, loom))))]
mod aarch64;
#[cfg(any(test, hikyaku_atomic_copy, loom, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[cfg_attr(
    all(any(target_arch = "x86_64", target_arch = "aarch64"), not(any(hikyaku_atomic_copy, loom))),
    allow(dead_code)
)]
mod atomic;
#[cfg(all(target_arch = "x86_64", not(any(hikyaku_atomic_copy, loom))))]
mod x86_64;

#[cfg(all(target_arch = "aarch64", not(any(hikyaku_atomic_copy, loom))))]
use aarch64 as chosen;
#[cfg(any(hikyaku_atomic_copy, loom, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
use atomic as chosen;
#[cfg(all(target_arch = "x86_64", not(any(hikyaku_atomic_copy, loom))))]
use x86_64 as chosen;

pub use chosen::{copy, copy_away, copy_uncached, expect_read, expect_write, ways};

/// Copies `len` bytes, a part of something that the caches do not hold, or do.
///
/// # Safety
/// As for [`copy`].
#[inline(always)]
pub unsafe fn copy_part(uncached: bool, dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { if uncached { copy_uncached(dst, src, len) } else { copy(dst, src, len) } }
}

/// Copies bytes that peers may be writing to private memory.
///
/// # Safety
/// As many as `into` has can be read.
pub unsafe fn copy_out(src: *const u8, into: &mut [u8]) {
    // SAFETY: the caller's promise; the target is a live slice.
    unsafe { copy(into.as_mut_ptr(), src, into.len()) };
}

/// Copies private bytes as the others do: a few of them without the call that a slice makes.
///
/// # Panics
/// If there are more of one.
#[inline(always)]
pub fn copy_private(into: &mut [u8], from: &[u8]) {
    assert_eq!(into.len(), from.len());
    // SAFETY: live slices of as many bytes.
    unsafe { copy(into.as_mut_ptr(), from.as_ptr(), from.len()) };
}

#[cfg(test)]
mod tests {
    type Copier = unsafe fn(*mut u8, *const u8, usize);

    /// Another byte wherever a copy might take it from by mistake.
    fn bytes(len: u32) -> Vec<u8> {
        (0..len).map(|i| (i * 7 + i / 256 + (i >> 16) * 13) as u8).collect()
    }

    fn check(shortest: usize, copy: Copier) {
        let source = bytes((1 << 20) + 200);
        let lines =
            [511, 512, 1000, 1023, 1024, 1025, 2047, 2048, 2049, 2111, 2112, 2113, 3071, 3072, 3073, 4096, 4159];
        let blocks = [8192, 16_320, 16_321, 16_383, 16_384, 16_385, 32_767, 32_768, 32_831];
        let streams = [65_535, 65_536, 65_537, 65_599, 70_001, 81_919, 81_983, (1 << 20) - 1, 1 << 20, (1 << 20) + 1];
        for len in (shortest..300).chain(lines).chain(blocks).chain(streams) {
            for (from, to) in [(0, 0), (1, 0), (0, 3), (5, 5), (13, 2), (63, 1), (1, 63), (8, 56), (0, 32)] {
                let mut target = vec![0xEEu8; len + 192];
                // SAFETY: both vectors are longer than the range copied.
                unsafe { copy(target.as_mut_ptr().add(to), source.as_ptr().add(from), len) };
                assert!(target[..to].iter().all(|b| *b == 0xEE), "before, len {len}");
                assert!(target[to..to + len] == source[from..from + len], "len {len} from {from} to {to}");
                assert!(target[to + len..].iter().all(|b| *b == 0xEE), "after, len {len}");
            }
        }
    }

    #[test]
    fn very_long_copies_are_exact_too() {
        let source = bytes((33 << 20) + 77);
        let mut target = vec![0u8; source.len() + 64];
        for copy in [super::copy as Copier, super::copy_uncached, super::copy_away] {
            target.fill(0);
            // SAFETY: both vectors are longer than the range copied.
            unsafe { copy(target.as_mut_ptr().add(5), source.as_ptr().add(3), source.len() - 3) };
            assert!(target[5..source.len() + 2] == source[3..]);
            assert!(target[..5].iter().chain(&target[source.len() + 2..]).all(|byte| *byte == 0));
        }
    }

    #[test]
    fn every_length_and_alignment_is_copied_exactly() {
        check(0, super::copy);
        check(0, super::copy_away);
        check(0, super::copy_uncached);
        check(0, super::atomic::copy);
    }

    /// What is used where there are no registers for whole lines.
    #[test]
    #[cfg(all(target_arch = "x86_64", not(any(hikyaku_atomic_copy, loom))))]
    fn so_are_those_of_other_processors() {
        check(17, super::x86_64::vectors);
        check(0, super::x86_64::block);
    }
}
