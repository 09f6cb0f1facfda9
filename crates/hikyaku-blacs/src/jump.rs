//! A jump in the place of a function's first instructions.

use crate::object::Function;
use std::io;
use std::ptr::copy_nonoverlapping;

#[cfg(target_arch = "x86_64")]
const LENGTH: usize = 12;
#[cfg(target_arch = "aarch64")]
const LENGTH: usize = 16;

/// `mov rax, target; jmp rax`: a register that no argument of a function is in.
#[cfg(target_arch = "x86_64")]
fn jump(target: usize) -> [u8; LENGTH] {
    let mut code = [0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0];
    code[2..10].copy_from_slice(&target.to_le_bytes());
    code
}

/// `ldr x16, .+8; br x16`, and the target: a register that is for jumps like this.
#[cfg(target_arch = "aarch64")]
fn jump(target: usize) -> [u8; LENGTH] {
    let mut code = [0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6, 0, 0, 0, 0, 0, 0, 0, 0];
    code[8..].copy_from_slice(&target.to_le_bytes());
    code
}

/// Compilers let functions begin at multiples of it, so that there is room even behind a shorter one.
const ALIGNMENT: usize = 16;

/// Lets every call of `function` be one of the function at `target`. Does nothing if it is so already.
///
/// # Safety
/// Nobody runs `function` now. The one at `target` has its interface and stays loaded as long.
pub unsafe fn lead(function: Function, target: usize) -> io::Result<()> {
    let (code, place) = (jump(target), function.address as *mut u8);
    if function.size < LENGTH && !function.address.is_multiple_of(ALIGNMENT) {
        return Err(io::Error::other(format!("{} is too short", function.name.to_string_lossy())));
    }
    // SAFETY: code can be read, and there is so much of it.
    if unsafe { *place.cast::<[u8; LENGTH]>() } == code {
        return Ok(());
    }
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let start = function.address & !(page - 1);
    let bytes = (function.address + LENGTH).next_multiple_of(page) - start;
    let protect = |how| {
        // SAFETY: pages of code, which stay readable and executable: others may run in them now.
        match unsafe { libc::mprotect(start as *mut _, bytes, how) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    protect(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC)?;
    // SAFETY: bytes of the function, or between it and the next one, that nobody runs and that can be written now.
    unsafe { copy_nonoverlapping(code.as_ptr(), place, LENGTH) };
    forget_old_code(function.address);
    protect(libc::PROT_READ | libc::PROT_EXEC)
}

/// The processor sees by itself that code was written.
#[cfg(target_arch = "x86_64")]
fn forget_old_code(_: usize) {}

/// Instructions are fetched again from what was written.
#[cfg(target_arch = "aarch64")]
fn forget_old_code(function: usize) {
    for place in (function..function + LENGTH).step_by(4) {
        // SAFETY: changes no memory.
        unsafe { std::arch::asm!("dc cvau, {0}", "dsb ish", "ic ivau, {0}", "dsb ish", "isb", in(reg) place) };
    }
}
