//! Blocks of 17 to 64 bytes on x86-64 (AVX-512): each is two moves, which may overlap.
//!
//! One masked move is no faster. If its unused part lies on a page that is missing, it takes a hundred times as long, and words that are read
//! meanwhile may be torn.
//!
//! The upper registers, so that code which knows of lower ones alone is not slowed down afterwards.

use core::arch::asm;

/// See [`super::copy_blocks`]; false if they are no such blocks or this processor cannot, and then nothing was done.
///
/// # Safety
/// As there.
#[inline(always)]
pub unsafe fn copy_short(dst: (*mut u8, usize), src: (*const u8, usize), block: usize, count: usize) -> bool {
    if !(17..=64).contains(&block) || count == 0 || !is_x86_feature_detected!("avx512vl") {
        return false;
    }
    // SAFETY: the caller's promise; the processor has what is needed, and a block is more than one move and at most two.
    unsafe {
        match block {
            ..=32 => copy_by_16(dst, src, block, count),
            _ => copy_by_32(dst, src, block, count),
        }
    }
    true
}

/// A kernel that moves the first so many bytes of each block by one register, and the last by another.
macro_rules! kernel {
    ($name:ident, $bytes:literal, $first:tt, $last:tt) => {
        /// # Safety
        /// As for [`copy_short`]; at least one block, of at least as many bytes as a move has, and at most twice as many.
        #[target_feature(enable = "avx512f,avx512vl")]
        unsafe fn $name(
            (dst, dst_distance): (*mut u8, usize),
            (src, src_distance): (*const u8, usize),
            block: usize,
            count: usize,
        ) {
            // SAFETY: both moves lie within a block, and there are as many blocks.
            unsafe {
                asm!(
                    "2:",
                    concat!("vmovdqu64 ", $first, ", [{s}]"),
                    concat!("vmovdqu64 ", $last, ", [{s} + {last}]"),
                    concat!("vmovdqu64 [{d}], ", $first),
                    concat!("vmovdqu64 [{d} + {last}], ", $last),
                    "add {s}, {from}",
                    "add {d}, {to}",
                    "dec {n}",
                    "jnz 2b",
                    last = in(reg) block - $bytes, n = inout(reg) count => _,
                    s = inout(reg) src => _, d = inout(reg) dst => _,
                    from = in(reg) src_distance, to = in(reg) dst_distance,
                    out($first) _, out($last) _, options(nostack),
                );
            }
        }
    };
}

kernel!(copy_by_16, 16, "xmm16", "xmm17");
kernel!(copy_by_32, 32, "ymm16", "ymm17");
