//! Threads of the library take no signals: those are the program's.

/// Runs `start` with all signals blocked, which a thread started there inherits: signals are the program's.
pub fn without_signals<R>(start: impl FnOnce() -> R) -> R {
    // SAFETY: plain sets of bits, filled by the calls.
    let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    // SAFETY: fills a local set and changes the mask of this thread, which is restored below.
    unsafe {
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
    }
    let result = start();
    // SAFETY: the mask from before.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) };
    result
}
