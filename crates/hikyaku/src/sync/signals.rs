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

/// Runs `child` in a fork and gives its verdict; 1 if it panics.
#[cfg(test)]
pub fn in_fork(child: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child looks at what it has of its parent, and ends.
    unsafe {
        match libc::fork() {
            0 => {
                libc::alarm(100);
                libc::_exit(std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).unwrap_or(1))
            }
            process => {
                let mut status = 0;
                assert_eq!(libc::waitpid(process, &mut status, 0), process);
                status
            }
        }
    }
}
