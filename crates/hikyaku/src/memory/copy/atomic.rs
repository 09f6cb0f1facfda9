//! Copies by loops of relaxed atomics, for ThreadSanitizer and the model checker, and for processors that have no assembly here.
//!
//! Words and bytes race here where a copy meets another that is aligned differently. Rust's memory model says nothing about
//! atomics of two sizes on the same bytes; that of LLVM does, byte by byte, and no more is promised. The processors that the
//! library is made for do not depend on it: their copies are assembly.

use core::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

/// Bytes from which on a way to copy is used, and the way.
pub fn ways() -> Vec<(usize, &'static str)> {
    vec![(1, "8 bytes at a time, where both sides are aligned alike")]
}

/// No such hint here.
#[inline(always)]
pub fn expect_write(_: *mut u8, _: usize) {}

/// No such hint here.
#[inline(always)]
pub fn expect_read(_: *const u8, _: usize) {}

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

/// Copies `len` bytes by relaxed atomics, words where both sides are aligned alike.
///
/// # Safety
/// `src` is readable and `dst` writable for `len` bytes, and they do not overlap. Either side may be
/// accessed by others meanwhile.
pub unsafe fn copy(dst: *mut u8, src: *const u8, len: usize) {
    let alike = (dst as usize) % 8 == (src as usize) % 8;
    let mut at = 0;
    while at < len {
        // SAFETY: `at < len`, and a word is moved only where 8 bytes are left and both sides are aligned.
        unsafe {
            if alike && (dst as usize + at).is_multiple_of(8) && len - at >= 8 {
                let word = AtomicU64::from_ptr(src.add(at) as *mut u64).load(Relaxed);
                AtomicU64::from_ptr(dst.add(at) as *mut u64).store(word, Relaxed);
                at += 8;
            } else {
                let byte = AtomicU8::from_ptr(src.add(at) as *mut u8).load(Relaxed);
                AtomicU8::from_ptr(dst.add(at)).store(byte, Relaxed);
                at += 1;
            }
        }
    }
}
