//! Blocks of at most a cache line with the masked vectors of x86-64 (AVX-512): each is one load and one store, whatever its length.
//!
//! The upper registers, so that code which knows of lower ones alone is not slowed down afterwards.

use core::arch::asm;

/// Shorter ones are two moves without masks.
const BLOCK_MIN: usize = 17;
const BLOCK_MAX: usize = 64;

/// See [`super::copy_blocks`]; false if they are no such blocks or this processor cannot, and then nothing was done.
///
/// # Safety
/// As there.
#[inline(always)]
pub unsafe fn copy_short(dst: (*mut u8, usize), src: (*const u8, usize), block: usize, count: usize) -> bool {
    let can = (BLOCK_MIN..=BLOCK_MAX).contains(&block) && count > 0 && is_x86_feature_detected!("avx512bw");
    if can {
        // SAFETY: the caller's promise; the processor has what is needed.
        unsafe {
            match block.is_multiple_of(8) {
                true => copy_words(dst, src, block, count),
                false => copy_bytes(dst, src, block, count),
            }
        }
    }
    can
}

/// A kernel that moves blocks with masks of so many bytes for each bit, by that instruction: words arrive whole if they are moved as such.
macro_rules! kernel {
    ($name:ident, $unit:literal, $move:literal) => {
        /// # Safety
        /// As for [`copy_short`]; at least one block of 1 to 64 bytes, as a whole number of units.
        #[target_feature(enable = "avx512f,avx512bw")]
        unsafe fn $name(
            (dst, dst_distance): (*mut u8, usize),
            (src, src_distance): (*const u8, usize),
            block: usize,
            count: usize,
        ) {
            // SAFETY: the mask has a bit for each unit of a block, and no more are touched.
            unsafe {
                asm!(
                    "kmovq k1, {mask}",
                    "2:",
                    concat!($move, " zmm16{{k1}}{{z}}, [{s}]"),
                    concat!($move, " [{d}]{{k1}}, zmm16"),
                    "add {s}, {from}",
                    "add {d}, {to}",
                    "dec {n}",
                    "jnz 2b",
                    mask = in(reg) u64::MAX >> (64 - block / $unit), n = inout(reg) count => _,
                    s = inout(reg) src => _, d = inout(reg) dst => _,
                    from = in(reg) src_distance, to = in(reg) dst_distance,
                    out("k1") _, out("zmm16") _, options(nostack),
                );
            }
        }
    };
}

kernel!(copy_words, 8, "vmovdqu64");
kernel!(copy_bytes, 1, "vmovdqu8");
