//! The BLACS of this process, which the calls of a program share.
//!
//! One thread makes all calls, so nothing is locked.

use crate::abort;
use crate::blacs::Blacs;
use crate::error::{Outcome, Trouble};
use hikyaku::Job;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

static BLACS: AtomicPtr<Blacs<'static>> = AtomicPtr::new(null_mut());
/// The thread whose it is; 0 before the first call.
static THREAD: AtomicUsize = AtomicUsize::new(0);

/// Runs `call` with the BLACS of this process, which takes part in its job from now on if it did not yet.
#[inline]
pub fn with<R>(call: impl FnOnce(&Blacs<'static>) -> Outcome<R>) -> Outcome<R> {
    if THREAD.load(Ordering::Relaxed) != thread() {
        join()?;
    }
    // SAFETY: made by this thread, and never taken away.
    call(unsafe { &*BLACS.load(Ordering::Relaxed) })
}

/// Rank and number of processes, if this process takes part already.
pub fn known_rank() -> Option<usize> {
    let blacs = BLACS.load(Ordering::Acquire);
    // SAFETY: never taken away once it is there; the rank does not change.
    (!blacs.is_null()).then(|| unsafe { (*blacs).rank() })
}

#[cold]
fn join() -> Outcome<()> {
    if THREAD.compare_exchange(0, thread(), Ordering::AcqRel, Ordering::Acquire).is_err() {
        return Err(Trouble::Thread);
    }
    let job: &'static Job = Box::leak(Box::new(Job::start()?));
    BLACS.store(Box::into_raw(Box::new(Blacs::new(job)?)), Ordering::Release);
    // SAFETY: registers a function that stays.
    unsafe { on_exit(at_exit, null_mut()) };
    Ok(())
}

unsafe extern "C" {
    /// As `atexit`, but the function is told the exit status.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// A program may end without a word. What it has sent is received all the same, if it ends well.
extern "C" fn at_exit(status: c_int, _: *mut c_void) {
    if status == 0 && THREAD.load(Ordering::Relaxed) == thread() {
        let settled = with(|blacs| {
            blacs.settle();
            Ok(())
        });
        if let Err(trouble) = settled {
            abort::print_error(&trouble, None, "exit");
        }
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
