//! The BLACS of this process, which the calls of a program share.
//!
//! One thread makes all calls, so nothing is locked.

use crate::abort;
use crate::blacs::Blacs;
use crate::error::{Outcome, Trouble};
use crate::takeover;
use hikyaku::Job;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

static BLACS: AtomicPtr<Blacs<'static>> = AtomicPtr::new(null_mut());
/// The thread whose it is; 0 before the first call.
static THREAD: AtomicUsize = AtomicUsize::new(0);

/// The BLACS of this process, which takes part in its job from now on if it did not yet.
#[inline(always)]
pub fn blacs() -> &'static Blacs<'static> {
    if THREAD.load(Ordering::Relaxed) != thread() {
        join();
    }
    // SAFETY: made by this thread, and never taken away.
    unsafe { &*BLACS.load(Ordering::Relaxed) }
}

/// The BLACS of this process, if this thread has them already.
#[inline(always)]
pub fn known() -> Option<&'static Blacs<'static>> {
    let blacs = BLACS.load(Ordering::Relaxed);
    // SAFETY: made by this thread, and never taken away.
    (THREAD.load(Ordering::Relaxed) == thread() && !blacs.is_null()).then(|| unsafe { &*blacs })
}

/// Whether any thread has called them.
pub fn was_called() -> bool {
    THREAD.load(Ordering::Relaxed) != 0
}

#[cold]
fn join() {
    if THREAD.compare_exchange(0, thread(), Ordering::AcqRel, Ordering::Acquire).is_err() {
        abort::fail(&Trouble::Thread, None, "BLACS");
    }
    takeover::take_over();
    let joined = || -> Outcome<Blacs<'static>> {
        hikyaku_ofi::install();
        let blacs = Blacs::new(Box::leak(Box::new(Job::start()?)))?;
        hikyaku::at_exit(settle_at_exit)?;
        Ok(blacs)
    };
    match joined() {
        Ok(blacs) => BLACS.store(Box::into_raw(Box::new(blacs)), Ordering::Release),
        Err(trouble) => abort::fail(&trouble, None, "BLACS_PINFO"),
    }
}

/// A program may end without a word. What it has sent is received all the same, if it ends well.
extern "C" fn settle_at_exit(status: c_int, _: *mut c_void) {
    if let (0, Some(blacs)) = (status, known()) {
        // An error has nobody left to tell.
        let _ = blacs.end();
    }
}

/// A number that no other thread has.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn thread() -> usize {
    let pointer;
    // SAFETY: reads the thread pointer, which the ABI puts there.
    unsafe { std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(pure, readonly, nostack, preserves_flags)) };
    pointer
}

/// A number that no other thread has.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn thread() -> usize {
    thread_local! {
        static HERE: u8 = const { 0 };
    }
    HERE.with(|here| std::ptr::from_ref(here) as usize)
}
