//! What the thread that calls works with: four words per thread, found as fast as the machine allows.
//!
//! In a shared library `thread_local!` is a call of `__tls_get_addr` at each access, about 2 ns, which is a quarter of
//! a whole `hk_push`. Four words fit the part of thread-local memory that has a fixed distance from the thread pointer
//! (the "initial exec" model), where they are found by one load and one addition. Rust has no stable way to ask for
//! it, so on x86-64 with glibc they are defined and found in assembly. Everywhere else `thread_local!` does.

use crate::fmpl::Fmpl;
use core_hikyaku::Port;
use std::cell::Cell;
use std::ptr::null;

/// What every operation looks at first. Zeroed in a new thread. Nothing here needs dropping, so it can be read at any
/// time, even while the thread ends.
#[repr(C)]
pub struct Current {
    /// The job `port` belongs to; 0 if there is none.
    pub epoch: Cell<u64>,
    pub port: Cell<*const Port>,
    /// FMPL, in a thread that called `fmpl_init` or `fmpl_thread_init`, while it may make calls.
    pub fmpl: Cell<*const Fmpl>,
    /// The call that the program has made last.
    pub call: Cell<Option<&'static &'static str>>,
}

impl Current {
    pub fn set(&self, epoch: u64, port: *const Port) {
        self.port.set(port);
        self.epoch.set(epoch);
    }

    /// Forgets the port, if it is of that job.
    pub fn forget(&self, epoch: u64) {
        if self.epoch.get() == epoch {
            self.set(0, null());
        }
    }
}

/// The call that this thread has made last.
pub fn call() -> Option<&'static str> {
    with(|current| current.call.get().copied())
}

pub use place::with;

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
mod place {
    use super::Current;
    use std::arch::{asm, global_asm};

    const _: () = assert!(size_of::<Current>() == 32 && align_of::<Current>() <= 16);

    global_asm!(
        ".pushsection .tbss.hikyaku_current, \"awT\", @nobits",
        ".p2align 4",
        ".globl hikyaku_current",
        ".hidden hikyaku_current",
        ".type hikyaku_current, @object",
        ".size hikyaku_current, 32",
        "hikyaku_current: .zero 32",
        ".popsection",
    );

    /// Looks at the words of this thread.
    #[inline(always)]
    pub fn with<R>(look: impl FnOnce(&Current) -> R) -> R {
        let current: *const Current;
        // SAFETY: computes an address: the thread pointer and the distance that the linker has entered.
        unsafe {
            asm!("mov {at}, qword ptr [rip + hikyaku_current@GOTTPOFF]", "add {at}, fs:0", at = out(reg) current,
                 options(pure, nomem, nostack));
        }
        // SAFETY: 32 zeroed bytes, aligned, of this thread alone, which stays during the call.
        look(unsafe { &*current })
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
mod place {
    use super::{Cell, Current, null};

    thread_local! {
        static CURRENT: Current = const {
            Current { epoch: Cell::new(0), port: Cell::new(null()), fmpl: Cell::new(null()), call: Cell::new(None) }
        };
    }

    /// Looks at the words of this thread.
    #[inline(always)]
    pub fn with<R>(look: impl FnOnce(&Current) -> R) -> R {
        CURRENT.with(look)
    }
}
