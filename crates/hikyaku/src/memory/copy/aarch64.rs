//! Copies in the assembly of 64-bit ARM.
//!
//! Words are moved by pairs of general registers: of a pair each aligned word arrives whole on every such processor, which of
//! the longer vector registers only the newer ones promise. Stores are aligned; loads are where both sides are aligned alike.

use core::arch::asm;

/// Bytes from which on a way to copy is used, and the way.
pub fn ways() -> Vec<(usize, &'static str)> {
    vec![(1, "8 bytes at a time, aligned to the target"), (64, "64 bytes at a time, by pairs of registers")]
}

/// Fetches lines that will be written.
#[inline(always)]
pub fn expect_write(start: *mut u8, len: usize) {
    for line in (0..len).step_by(64) {
        // SAFETY: a hint, harmless whatever the address.
        unsafe {
            asm!("prfm pstl1keep, [{}]", in(reg) start.wrapping_add(line), options(nostack, preserves_flags));
        }
    }
}

/// Fetches lines that will be read soon.
#[inline(always)]
pub fn expect_read(start: *const u8, len: usize) {
    for line in (0..len).step_by(64) {
        // SAFETY: a hint, harmless whatever the address.
        unsafe {
            asm!("prfm pldl1keep, [{}]", in(reg) start.wrapping_add(line), options(nostack, preserves_flags));
        }
    }
}

/// No other way here.
///
/// # Safety
/// As for [`copy`].
pub unsafe fn copy_uncached(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { copy(dst, src, len) }
}

/// No other way here.
///
/// # Safety
/// As for [`copy`].
#[inline(always)]
pub unsafe fn copy_away(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { copy(dst, src, len) }
}

/// Copies `len` bytes.
///
/// # Safety
/// `src` is readable and `dst` writable for `len` bytes, and they do not overlap. Either side may be
/// accessed by others meanwhile.
#[inline(always)]
pub unsafe fn copy(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: the caller's promise, passed on.
    unsafe { if len == 8 { word(dst, src) } else { parts(dst, src, len) } }
}

#[inline(always)]
unsafe fn word(dst: *mut u8, src: *const u8) {
    // SAFETY: 8 bytes on each side by the caller's promise.
    unsafe {
        asm!("ldr {t}, [{s}]", "str {t}, [{d}]", t = out(reg) _, s = in(reg) src, d = in(reg) dst,
             options(nostack, preserves_flags));
    }
}

/// Bytes up to the first word of the target, words, and the bytes that are left.
unsafe fn parts(dst: *mut u8, src: *const u8, len: usize) {
    let head = dst.align_offset(8).min(len);
    let tail = head + (len - head) / 8 * 8;
    // SAFETY: three parts of the range, one after the other.
    unsafe {
        bytes(dst, src, head);
        words(dst.add(head), src.add(head), tail - head);
        bytes(dst.add(tail), src.add(tail), len - tail);
    }
}

#[inline(always)]
unsafe fn bytes(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: each turn moves the next of `len` bytes.
    unsafe {
        asm!(
            "cbz {n}, 3f",
            "2:",
            "ldrb {t:w}, [{s}], #1",
            "strb {t:w}, [{d}], #1",
            "subs {n}, {n}, #1",
            "b.ne 2b",
            "3:",
            t = out(reg) _, n = inout(reg) len => _, s = inout(reg) src => _, d = inout(reg) dst => _,
            options(nostack),
        );
    }
}

/// `len` is a multiple of 8.
#[inline(always)]
unsafe fn words(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: each turn moves 64 bytes while so many are left, then 8 until none is.
    unsafe {
        asm!(
            "subs {n}, {n}, #64",
            "b.lo 3f",
            "2:",
            "ldp {a}, {b}, [{s}]",
            "ldp {c}, {e}, [{s}, #16]",
            "ldp {f}, {g}, [{s}, #32]",
            "ldp {h}, {i}, [{s}, #48]",
            "stp {a}, {b}, [{d}]",
            "stp {c}, {e}, [{d}, #16]",
            "stp {f}, {g}, [{d}, #32]",
            "stp {h}, {i}, [{d}, #48]",
            "add {s}, {s}, #64",
            "add {d}, {d}, #64",
            "subs {n}, {n}, #64",
            "b.hs 2b",
            "3:",
            "adds {n}, {n}, #64",
            "b.eq 5f",
            "4:",
            "ldr {a}, [{s}], #8",
            "str {a}, [{d}], #8",
            "subs {n}, {n}, #8",
            "b.ne 4b",
            "5:",
            a = out(reg) _, b = out(reg) _, c = out(reg) _, e = out(reg) _,
            f = out(reg) _, g = out(reg) _, h = out(reg) _, i = out(reg) _,
            n = inout(reg) len => _, s = inout(reg) src => _, d = inout(reg) dst => _,
            options(nostack),
        );
    }
}
