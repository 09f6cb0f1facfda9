//! Marked units of 1, 4 and 8 bytes with the masked vectors of x86-64 (AVX-512): bits that mark units are the masks of moves. A
//! move touches marked units alone, wherever it ends, and each of them whole.
//!
//! The upper registers, so that code which knows of lower ones alone is not slowed down afterwards.

use super::Marks;
use core::arch::asm;
use core::arch::x86_64::{
    __m512i, _mm512_cmpneq_epi8_mask, _mm512_cmpneq_epi32_mask, _mm512_cmpneq_epi64_mask, _mm512_loadu_si512,
};

/// See [`super::copy_marked`]; false if this processor cannot, and then nothing was done.
///
/// # Safety
/// As there.
#[inline]
pub unsafe fn copy_marked(dst: *mut u8, src: *const u8, unit: usize, marks: Marks<'_>) -> bool {
    // SAFETY: the caller's promise; the processor has what is needed.
    unsafe {
        match unit {
            8 if is_x86_feature_detected!("avx512f") => copy_words(dst, src, marks),
            4 if is_x86_feature_detected!("avx512f") => copy_halves(dst, src, marks),
            1 if is_x86_feature_detected!("avx512bw") => copy_bytes(dst, src, marks),
            _ => return false,
        }
    }
    true
}

/// See [`super::pack_marked`]; false if this processor cannot, and then nothing was done.
///
/// # Safety
/// As there.
#[inline]
pub unsafe fn pack_marked(dst: *mut u8, src: *const u8, unit: usize, marks: Marks<'_>) -> bool {
    // SAFETY: the caller's promise; the processor has what is needed.
    unsafe {
        match unit {
            8 if is_x86_feature_detected!("avx512f") => pack_words(dst, src, marks),
            4 if is_x86_feature_detected!("avx512f") => pack_halves(dst, src, marks),
            _ => return false,
        }
    }
    true
}

/// See [`super::unpack_marked`]; false if this processor cannot, and then nothing was done.
///
/// # Safety
/// As there.
#[inline]
pub unsafe fn unpack_marked(dst: *mut u8, src: *const u8, unit: usize, marks: Marks<'_>) -> bool {
    // SAFETY: the caller's promise; the processor has what is needed.
    unsafe {
        match unit {
            8 if is_x86_feature_detected!("avx512f") => unpack_words(dst, src, marks),
            4 if is_x86_feature_detected!("avx512f") => unpack_halves(dst, src, marks),
            _ => return false,
        }
    }
    true
}

/// Calls `each` with the bits of `LANES` units at a time, and how many bytes are before them, unless none is marked.
#[inline(always)]
fn each_mask<const LANES: usize>(unit: usize, marks: Marks<'_>, mut each: impl FnMut(u32, usize)) {
    for index in 0..marks.words() {
        let mut word = marks.word(index);
        let mut at = 64 * index * unit;
        while word != 0 {
            let mask = (word & !(u64::MAX << LANES)) as u32;
            if mask != 0 {
                each(mask, at);
            }
            word >>= LANES;
            at += LANES * unit;
        }
    }
}

/// As many low bits as `mask` has set ones.
#[inline(always)]
fn packed(mask: u32) -> u32 {
    (1 << mask.count_ones()) - 1
}

#[target_feature(enable = "avx512f")]
unsafe fn copy_words(dst: *mut u8, src: *const u8, marks: Marks<'_>) {
    each_mask::<16>(8, marks, |mask, at| {
        // SAFETY: marked units alone are moved, which the caller vouches for.
        unsafe {
            asm!(
                "kmovw k1, {low:e}",
                "kmovw k2, {high:e}",
                "vmovdqu64 zmm16{{k1}}{{z}}, [{s}]",
                "vmovdqu64 zmm17{{k2}}{{z}}, [{s} + 64]",
                "vmovdqu64 [{d}]{{k1}}, zmm16",
                "vmovdqu64 [{d} + 64]{{k2}}, zmm17",
                low = in(reg) mask & 0xff, high = in(reg) mask >> 8,
                s = in(reg) src.wrapping_add(at), d = in(reg) dst.wrapping_add(at),
                out("k1") _, out("k2") _, out("zmm16") _, out("zmm17") _, options(nostack, preserves_flags),
            );
        }
    });
}

#[target_feature(enable = "avx512f")]
unsafe fn copy_halves(dst: *mut u8, src: *const u8, marks: Marks<'_>) {
    each_mask::<16>(4, marks, |mask, at| {
        // SAFETY: marked units alone are moved, which the caller vouches for.
        unsafe {
            asm!(
                "kmovw k1, {mask:e}",
                "vmovdqu32 zmm16{{k1}}{{z}}, [{s}]",
                "vmovdqu32 [{d}]{{k1}}, zmm16",
                mask = in(reg) mask, s = in(reg) src.wrapping_add(at), d = in(reg) dst.wrapping_add(at),
                out("k1") _, out("zmm16") _, options(nostack, preserves_flags),
            );
        }
    });
}

#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn copy_bytes(dst: *mut u8, src: *const u8, marks: Marks<'_>) {
    for index in 0..marks.words() {
        let (mask, at) = (marks.word(index), 64 * index);
        if mask == 0 {
            continue;
        }
        // SAFETY: marked units alone are moved, which the caller vouches for.
        unsafe {
            asm!(
                "kmovq k1, {mask}",
                "vmovdqu8 zmm16{{k1}}{{z}}, [{s}]",
                "vmovdqu8 [{d}]{{k1}}, zmm16",
                mask = in(reg) mask, s = in(reg) src.wrapping_add(at), d = in(reg) dst.wrapping_add(at),
                out("k1") _, out("zmm16") _, options(nostack, preserves_flags),
            );
        }
    }
}

/// Packing and unpacking units of so many bytes, so many in a vector, by these instructions.
macro_rules! packing {
    ($pack:ident, $unpack:ident, $unit:literal, $lanes:literal, $move:literal, $compress:literal, $expand:literal) => {
        #[target_feature(enable = "avx512f")]
        unsafe fn $pack(dst: *mut u8, src: *const u8, marks: Marks<'_>) {
            let mut done = 0;
            each_mask::<$lanes>($unit, marks, |mask, at| {
                // SAFETY: marked units alone are read, and as many written, which the caller vouches for.
                unsafe {
                    asm!(
                        "kmovw k1, {mask:e}",
                        "kmovw k2, {packed:e}",
                        concat!($move, " zmm16{{k1}}{{z}}, [{s}]"),
                        concat!($compress, " zmm16{{k1}}{{z}}, zmm16"),
                        concat!($move, " [{d}]{{k2}}, zmm16"),
                        mask = in(reg) mask, packed = in(reg) packed(mask),
                        s = in(reg) src.wrapping_add(at), d = in(reg) dst.wrapping_add(done),
                        out("k1") _, out("k2") _, out("zmm16") _, options(nostack, preserves_flags),
                    );
                }
                done += $unit * mask.count_ones() as usize;
            });
        }

        #[target_feature(enable = "avx512f")]
        unsafe fn $unpack(dst: *mut u8, src: *const u8, marks: Marks<'_>) {
            let mut done = 0;
            each_mask::<$lanes>($unit, marks, |mask, at| {
                // SAFETY: as many units as are marked are read, and those written, which the caller vouches for.
                unsafe {
                    asm!(
                        "kmovw k1, {mask:e}",
                        "kmovw k2, {packed:e}",
                        concat!($move, " zmm16{{k2}}{{z}}, [{s}]"),
                        concat!($expand, " zmm16{{k1}}{{z}}, zmm16"),
                        concat!($move, " [{d}]{{k1}}, zmm16"),
                        mask = in(reg) mask, packed = in(reg) packed(mask),
                        s = in(reg) src.wrapping_add(done), d = in(reg) dst.wrapping_add(at),
                        out("k1") _, out("k2") _, out("zmm16") _, options(nostack, preserves_flags),
                    );
                }
                done += $unit * mask.count_ones() as usize;
            });
        }
    };
}

packing!(pack_words, unpack_words, 8, 8, "vmovdqu64", "vpcompressq", "vpexpandq");
packing!(pack_halves, unpack_halves, 4, 16, "vmovdqu32", "vpcompressd", "vpexpandd");

/// Bits of the units that differ, for as many units as make whole words of bits; how many words those are. None if this processor
/// cannot, or has no lanes of that size.
#[inline]
pub fn mark_differing(words: &mut [u64], now: &[u8], before: &[u8], unit: usize) -> usize {
    let whole = (now.len() / (64 * unit)).min(words.len());
    let (words, now, before) = (&mut words[..whole], &now[..whole * 64 * unit], &before[..whole * 64 * unit]);
    // SAFETY: the processor has what is needed.
    unsafe {
        match unit {
            8 if is_x86_feature_detected!("avx512f") => differing_words(words, now, before),
            4 if is_x86_feature_detected!("avx512f") => differing_halves(words, now, before),
            1 if is_x86_feature_detected!("avx512bw") => differing_bytes(words, now, before),
            _ => return 0,
        }
    }
    whole
}

/// Vector number `at` of some bytes, which has that many.
#[target_feature(enable = "avx512f")]
fn lanes_of(bytes: &[u8], at: usize) -> __m512i {
    let bytes: &[u8; 64] = bytes[64 * at..][..64].try_into().expect("as many");
    // SAFETY: 64 bytes of a live slice.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
fn differing_words(words: &mut [u64], now: &[u8], before: &[u8]) {
    for (word, (now, before)) in words.iter_mut().zip(now.chunks_exact(512).zip(before.chunks_exact(512))) {
        *word = (0..8).fold(0, |bits, at| {
            bits | u64::from(_mm512_cmpneq_epi64_mask(lanes_of(now, at), lanes_of(before, at))) << (8 * at)
        });
    }
}

#[target_feature(enable = "avx512f")]
fn differing_halves(words: &mut [u64], now: &[u8], before: &[u8]) {
    for (word, (now, before)) in words.iter_mut().zip(now.chunks_exact(256).zip(before.chunks_exact(256))) {
        *word = (0..4).fold(0, |bits, at| {
            bits | u64::from(_mm512_cmpneq_epi32_mask(lanes_of(now, at), lanes_of(before, at))) << (16 * at)
        });
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn differing_bytes(words: &mut [u64], now: &[u8], before: &[u8]) {
    for (word, (now, before)) in words.iter_mut().zip(now.chunks_exact(64).zip(before.chunks_exact(64))) {
        *word = _mm512_cmpneq_epi8_mask(lanes_of(now, 0), lanes_of(before, 0));
    }
}
