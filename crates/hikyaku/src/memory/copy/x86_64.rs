//! Copies in the assembly of x86-64: from two moves to whole lines that are fetched ahead, the processor's block copy, and stores past the
//! caches.

use crate::memory::cache;
use core::arch::asm;

/// From here on whole lines at a time are worth asking whether the processor has registers for them.
const LINES_MIN: usize = 128;
/// From here on lines of the target are fetched ahead of the stores.
const AHEAD_MIN: usize = 2 * AHEAD;
/// By so many bytes.
const AHEAD: usize = 1024;
/// From here on the processor's own block copy is faster than a loop of 16 bytes: its start costs about 30 cycles.
const BLOCK_COPY_MIN: usize = 2048;
/// From here on it is faster than a loop of whole lines: both sides do not fit the core's own cache, and it need not read what it writes.
const BLOCK_COPY_MIN_LINES: usize = 384 << 10;
/// From here on the loop is faster again, if it fetches lines of both sides ahead: the last cache of some machines is so slow that the processor
/// by itself fetches too few at a time. There it moves 6 to 7 GB/s at 16 MB, where block copies move 5; on others both move as much. What no
/// cache holds goes past them in any case: 64 MB and more then move at 9 to 10 GB/s instead of 6, whether one core copies or two.
const FAR_AHEAD_MIN: usize = 2 << 20;
/// By so many bytes.
const FAR_AHEAD: usize = 2048;

/// Less than this has too few whole blocks of pages to be written past the caches.
const STREAM_MIN: usize = 64 << 10;
/// From here on it is worth asking whether the caches hold it.
const LONG_MIN: usize = 1 << 20;

/// Bytes from which on a way to copy is used, and the way, on this processor.
pub fn ways() -> Vec<(usize, &'static str)> {
    let (moves, vectors) = ((1, "two moves"), (17, "16 bytes at a time"));
    let lines = [(LINES_MIN, "a cache line at a time"), (AHEAD_MIN, "the same; the target's lines are fetched ahead")];
    let blocks = |min| (min, "the processor's block copy (rep movsb)");
    let past = (cache::transfer_max() + 1, "stores past the caches, four pages in turn: no cache would hold them");
    match is_x86_feature_detected!("avx512f") {
        true => {
            let far = (FAR_AHEAD_MIN, "a cache line at a time; lines of both sides are fetched ahead");
            [moves, vectors].into_iter().chain(lines).chain([blocks(BLOCK_COPY_MIN_LINES), far, past]).collect()
        }
        false => vec![moves, vectors, blocks(BLOCK_COPY_MIN), past],
    }
}

/// Fetches lines that will be written by a copy of some kilobytes, and that another core has read since they
/// were last written: the stores of the copy need not wait for them then.
#[inline(always)]
pub fn expect_write(start: *mut u8, len: usize) {
    for line in (0..len).step_by(64) {
        // SAFETY: a hint, harmless whatever the address.
        unsafe { asm!("prefetchw [{}]", in(reg) start.wrapping_add(line), options(nostack, preserves_flags)) };
    }
}

/// Fetches lines that will be read soon.
#[inline(always)]
pub fn expect_read(start: *const u8, len: usize) {
    for line in (0..len).step_by(64) {
        // SAFETY: a hint, harmless whatever the address.
        unsafe { asm!("prefetcht0 [{}]", in(reg) start.wrapping_add(line), options(nostack, preserves_flags)) };
    }
}

/// Copies `len` bytes.
///
/// # Safety
/// `src` is readable and `dst` writable for `len` bytes, and they do not overlap. Either side may be
/// accessed by others meanwhile.
#[inline(always)]
pub unsafe fn copy(dst: *mut u8, src: *const u8, len: usize) {
    // What is copied, and the copy.
    // SAFETY: the caller's promise.
    unsafe { copy_unless(|| cache::is_too_small_for(len.saturating_mul(2)), dst, src, len) }
}

/// Copies `len` bytes to where this core does not use them.
///
/// # Safety
/// As for [`copy`].
#[inline(always)]
pub unsafe fn copy_away(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { copy_unless(|| len > cache::transfer_max(), dst, src, len) }
}

/// Copies `len` bytes through the caches unless, asked about a long copy, it is too much for them.
#[inline(always)]
unsafe fn copy_unless(is_too_much: impl FnOnce() -> bool, dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: the caller's promise, passed on; each branch touches `len` bytes only.
    unsafe {
        match len {
            8 => word(dst, src),
            0 => {}
            1..=16 => small(dst, src, len),
            17..LINES_MIN => vectors(dst, src, len),
            _ if is_x86_feature_detected!("avx512f") => match len {
                0..AHEAD_MIN => lines(dst, src, len),
                AHEAD_MIN..BLOCK_COPY_MIN_LINES => lines_ahead(dst, src, len),
                BLOCK_COPY_MIN_LINES..FAR_AHEAD_MIN => block(dst, src, len),
                FAR_AHEAD_MIN.. if is_too_much() => stream(dst, src, len),
                FAR_AHEAD_MIN.. => lines_far_ahead(dst, src, len),
            },
            LINES_MIN..BLOCK_COPY_MIN => vectors(dst, src, len),
            BLOCK_COPY_MIN..LONG_MIN => block(dst, src, len),
            _ if is_too_much() => stream(dst, src, len),
            _ => block(dst, src, len),
        }
    }
}

/// Copies `len` bytes, a part of something that the caches do not hold.
///
/// # Safety
/// As for [`copy`].
pub unsafe fn copy_uncached(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match len {
            ..STREAM_MIN => copy(dst, src, len),
            // The target would push everything else out of the caches, and its lines need not be read.
            _ => stream(dst, src, len),
        }
    }
}

#[inline(always)]
unsafe fn word(dst: *mut u8, src: *const u8) {
    // SAFETY: 8 bytes on each side by the caller's promise.
    unsafe {
        asm!("mov {t}, [{s}]", "mov [{d}], {t}", t = out(reg) _, s = in(reg) src, d = in(reg) dst,
             options(nostack, preserves_flags));
    }
}

/// 1 to 16 bytes by two moves that may overlap.
#[inline]
unsafe fn small(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: both moves of each branch lie within `len` bytes.
    unsafe {
        if len >= 8 {
            asm!("mov {a}, [{s}]", "mov {b}, [{s} + {n} - 8]", "mov [{d}], {a}", "mov [{d} + {n} - 8], {b}",
                 a = out(reg) _, b = out(reg) _, s = in(reg) src, d = in(reg) dst, n = in(reg) len,
                 options(nostack, preserves_flags));
        } else if len >= 4 {
            asm!("mov {a:e}, [{s}]", "mov {b:e}, [{s} + {n} - 4]", "mov [{d}], {a:e}",
                 "mov [{d} + {n} - 4], {b:e}",
                 a = out(reg) _, b = out(reg) _, s = in(reg) src, d = in(reg) dst, n = in(reg) len,
                 options(nostack, preserves_flags));
        } else {
            for at in 0..len {
                asm!("mov {t}, [{s}]", "mov [{d}], {t}", t = out(reg_byte) _, s = in(reg) src.add(at),
                     d = in(reg) dst.add(at), options(nostack, preserves_flags));
            }
        }
    }
}

/// 17 bytes and more, 16 at a time; the last 16 may overlap what was moved before.
#[inline]
pub(super) unsafe fn vectors(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: the loop stops before `len - 16`, the last move ends at `len`.
    unsafe {
        asm!(
            "movups {last}, [{s} + {n} - 16]",
            "sub {n}, 64",
            "jb 3f",
            "2:",
            "movups {a}, [{s} + {i}]",
            "movups {b}, [{s} + {i} + 16]",
            "movups {c}, [{s} + {i} + 32]",
            "movups {e}, [{s} + {i} + 48]",
            "movups [{d} + {i}], {a}",
            "movups [{d} + {i} + 16], {b}",
            "movups [{d} + {i} + 32], {c}",
            "movups [{d} + {i} + 48], {e}",
            "add {i}, 64",
            "cmp {i}, {n}",
            "jbe 2b",
            "3:",
            "add {n}, 48",
            "cmp {i}, {n}",
            "jge 5f",
            "4:",
            "movups {a}, [{s} + {i}]",
            "movups [{d} + {i}], {a}",
            "add {i}, 16",
            "cmp {i}, {n}",
            "jl 4b",
            "5:",
            "movups [{d} + {n}], {last}",
            a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, e = out(xmm_reg) _,
            last = out(xmm_reg) _, i = inout(reg) 0usize => _, n = inout(reg) len => _,
            s = in(reg) src, d = in(reg) dst, options(nostack),
        );
    }
}

/// 64 bytes and more, a line at a time; the last may overlap what was moved before. A line that lies in another core's
/// cache is fetched by one load instead of four, so more of them are under way: 1 KB arrives a quarter sooner.
///
/// The upper registers, so that code which knows of lower ones alone is not slowed down afterwards.
#[target_feature(enable = "avx512f")]
unsafe fn lines(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: the loop stops before `len - 64`, the last move ends at `len`.
    unsafe {
        asm!(
            "2:",
            "vmovups zmm16, [{s} + {i}]",
            "vmovups [{d} + {i}], zmm16",
            "add {i}, 64",
            "cmp {i}, {n}",
            "jbe 2b",
            "sub {i}, 64",
            "cmp {i}, {n}",
            "je 3f",
            "vmovups zmm16, [{s} + {n}]",
            "vmovups [{d} + {n}], zmm16",
            "3:",
            out("zmm16") _, i = inout(reg) 0usize => _, n = in(reg) len - 64,
            s = in(reg) src, d = in(reg) dst, options(nostack),
        );
    }
}

/// Defines a copy that fetches lines of the target `$ahead` bytes ahead of the stores, and does `$besides` for each line.
macro_rules! lines_ahead {
    ($(#[$doc:meta])* $name:ident, $ahead:ident $(, $besides:literal)?) => {
        $(#[$doc])*
        #[target_feature(enable = "avx512f")]
        unsafe fn $name(dst: *mut u8, src: *const u8, len: usize) {
            let done = (len - $ahead) & !63;
            expect_write(dst, $ahead);
            // SAFETY: `len` is at least twice `$ahead`, so `done` is more than nothing, and `$ahead` or more is left for the lines behind it.
            // A prefetch touches nothing.
            unsafe {
                asm!(
                    "2:",
                    "prefetchw [{d} + {i} + {ahead}]",
                    $($besides,)?
                    "vmovups zmm16, [{s} + {i}]",
                    "vmovups [{d} + {i}], zmm16",
                    "add {i}, 64",
                    "cmp {i}, {n}",
                    "jb 2b",
                    out("zmm16") _, i = inout(reg) 0usize => _, n = in(reg) done, ahead = const $ahead,
                    s = in(reg) src, d = in(reg) dst, options(nostack),
                );
                lines(dst.add(done), src.add(done), len - done);
            }
        }
    };
}

lines_ahead! {
    /// Moves more than a few lines, where those of the target may lie in another core's cache, which has read them since they were
    /// last written: the stores alone would ask for them too late and too few at a time. A third less time then, for 4 KB
    /// some 350 ns; 10 ns more where they are in the own cache.
    lines_ahead, AHEAD
}

lines_ahead! {
    /// The same for what this core's own cache does not hold: lines of the source are fetched ahead, too.
    lines_far_ahead, FAR_AHEAD, "prefetcht0 [{s} + {i} + {ahead}]"
}

/// Lines of the target are written whole and past the caches, from four pages in turn, which keeps more of the
/// memory's banks busy; what is left over at both ends as usual.
#[inline(never)]
unsafe fn stream(dst: *mut u8, src: *const u8, len: usize) {
    const PAGE: usize = 4096;
    const PAGES: usize = 4;
    let head = dst.align_offset(64);
    let blocks = (len - head) / (PAGES * PAGE);
    let rest = head + blocks * PAGES * PAGE;
    let tail = rest + (len - rest) / 128 * 128;
    // SAFETY: head, blocks, rest and tail are disjoint parts of the range.
    unsafe {
        block(dst, src, head);
        for start in (head..rest).step_by(PAGES * PAGE) {
            for line in (0..PAGE).step_by(128) {
                for page in 0..PAGES {
                    let at = start + page * PAGE + line;
                    two_lines_past_caches(dst.add(at), src.add(at));
                }
            }
        }
        for at in (rest..tail).step_by(128) {
            two_lines_past_caches(dst.add(at), src.add(at));
        }
        // Orders the streaming stores before whatever the caller stores next.
        asm!("sfence", options(nostack, preserves_flags));
        block(dst.add(tail), src.add(tail), len - tail);
    }
}

/// 128 bytes to a target that starts a line.
#[inline(always)]
unsafe fn two_lines_past_caches(dst: *mut u8, src: *const u8) {
    // SAFETY: 128 bytes on each side by the caller's promise; a prefetch touches nothing.
    unsafe {
        asm!(
            "prefetcht0 [{s} + 256]",
            "prefetcht0 [{s} + 320]",
            "movups {a}, [{s}]",
            "movups {b}, [{s} + 16]",
            "movups {c}, [{s} + 32]",
            "movups {e}, [{s} + 48]",
            "movups {f}, [{s} + 64]",
            "movups {g}, [{s} + 80]",
            "movups {h}, [{s} + 96]",
            "movups {i}, [{s} + 112]",
            "movntps [{d}], {a}",
            "movntps [{d} + 16], {b}",
            "movntps [{d} + 32], {c}",
            "movntps [{d} + 48], {e}",
            "movntps [{d} + 64], {f}",
            "movntps [{d} + 80], {g}",
            "movntps [{d} + 96], {h}",
            "movntps [{d} + 112], {i}",
            a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, e = out(xmm_reg) _,
            f = out(xmm_reg) _, g = out(xmm_reg) _, h = out(xmm_reg) _, i = out(xmm_reg) _,
            s = in(reg) src, d = in(reg) dst, options(nostack, preserves_flags),
        );
    }
}

#[inline]
pub(super) unsafe fn block(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: the caller's promise; the direction flag is clear by the calling convention.
    unsafe {
        asm!("rep movsb", inout("rcx") len => _, inout("rsi") src => _, inout("rdi") dst => _,
             options(nostack, preserves_flags));
    }
}
