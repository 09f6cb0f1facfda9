//! Telling valgrind that memory was written by another process, which it does not see.
//!
//! valgrind's memcheck follows what a process writes to its own memory, and what system calls write there. If another process writes to
//! private memory (`process_vm_writev`), it takes what comes for undefined. Programs tell it better by sequences of instructions that
//! change nothing on a processor, and that valgrind knows (`valgrind.h`).

use std::sync::atomic::{AtomicU8, Ordering};

/// What was answered, which decides whether anything is told at all. Whoever finds that nobody has asked does.
static ANSWER: AtomicU8 = AtomicU8::new(UNASKED);
const UNASKED: u8 = 0;
const NO: u8 = 1;
const YES: u8 = 2;

/// Requests, as valgrind numbers them; the second is memcheck's, and other tools ignore it.
const RUNNING_ON_VALGRIND: u64 = 0x1001;
const MAKE_MEM_DEFINED: u64 = ((b'M' as u64) << 24 | (b'C' as u64) << 16) + 2;

/// Whether anybody wants to know.
#[inline]
pub fn is_running() -> bool {
    match ANSWER.load(Ordering::Relaxed) {
        UNASKED => ask(),
        answer => answer == YES,
    }
}

#[cold]
fn ask() -> bool {
    let is_running = request([RUNNING_ON_VALGRIND, 0, 0]) != 0;
    ANSWER.store(if is_running { YES } else { NO }, Ordering::Relaxed);
    is_running
}

/// Another process has written, or may write from now on, so many bytes at `start`. Nothing happens to them.
#[inline]
pub fn written_by_another(start: *const u8, bytes: usize) {
    if is_running() {
        request([MAKE_MEM_DEFINED, start as u64, bytes as u64]);
    }
}

/// What valgrind answers; 0 without it.
#[cfg(target_arch = "x86_64")]
fn request([number, first, second]: [u64; 3]) -> u64 {
    let words = [number, first, second, 0, 0, 0];
    let mut answer = 0;
    // SAFETY: the rotations add up to whole turns, and the exchange is with itself, so no register is changed. valgrind reads the
    // words and writes the answer.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") &raw const words, inout("rdx") answer,
        );
    }
    answer
}

/// What valgrind answers; 0 without it.
#[cfg(target_arch = "aarch64")]
fn request([number, first, second]: [u64; 3]) -> u64 {
    let words = [number, first, second, 0, 0, 0];
    let mut answer = 0;
    // SAFETY: the rotations add up to whole turns, and a register or'ed with itself stays as it is. valgrind reads the words and writes
    // the answer.
    unsafe {
        std::arch::asm!(
            "ror x12, x12, #3", "ror x12, x12, #13", "ror x12, x12, #51", "ror x12, x12, #61", "orr x10, x10, x10",
            in("x4") &raw const words, inout("x3") answer,
        );
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_valgrind_nothing_happens() {
        let data = [1, 2, 3];
        written_by_another(data.as_ptr(), data.len());
        assert_eq!(data, [1, 2, 3]);
    }
}
