//! What tests need of the system for which there is no safe interface.

use crate::watchdog::LIMITS;
use bytemuck::Pod;
use hikyaku::{Area, Port, Result};
use std::cell::Cell;
use std::os::fd::{FromRawFd, OwnedFd};
use std::thread::LocalKey;

/// Kills this process, as a peer or the kernel might.
pub fn kill_self() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    unreachable!("nobody survives SIGKILL")
}

/// Kills a process, which is there.
pub fn kill(process: i32) {
    let process = rustix::process::Pid::from_raw(process).expect("the number of a process");
    rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
}

/// Ends this process at once: nothing is dropped or written out, and no other thread is waited for.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: ends the process; there is nothing after it.
    unsafe { libc::_exit(status) }
}

/// Has the kernel end this process after some seconds.
pub fn alarm(seconds: u32) {
    // SAFETY: a number; the default action of the signal ends the process.
    unsafe { libc::alarm(seconds) };
}

/// Has a function run when the process exits: before those that were registered earlier.
pub fn at_exit(run: extern "C" fn()) {
    // SAFETY: a function without arguments that stays.
    assert_eq!(unsafe { libc::atexit(run) }, 0);
}

/// How many files this process may have open.
pub fn limit_files(count: u64) {
    let limit = rustix::process::Rlimit { current: Some(count), maximum: Some(4096) };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
}

/// Runs `child` in a fork and gives its verdict: 0, or the number of the step that went wrong.
pub fn in_fork(child: impl FnOnce() -> i32) -> i32 {
    /// A child that hangs is found by who watches its parent; this ends one that nobody watches.
    const CHILD_SECONDS: u32 = LIMITS.clock.as_secs() as u32;
    // SAFETY: the child calls only the library and ends by `_exit`; what it holds of other threads' locks, it leaves.
    unsafe {
        match libc::fork() {
            0 => {
                libc::alarm(CHILD_SECONDS);
                let verdict = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).unwrap_or(99);
                libc::_exit(verdict);
            }
            process => {
                assert!(process > 0, "fork");
                let mut status = 0;
                while libc::waitpid(process, &mut status, 0) < 0 {}
                if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 1000 + libc::WTERMSIG(status) }
            }
        }
    }
}

/// What each signal does: the address of its handler, or one of the numbers that stand for none.
pub fn signal_actions() -> Vec<usize> {
    let action = |signal| {
        // SAFETY: only asks.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut action);
            action.sa_sigaction
        }
    };
    (1..=31).map(action).collect()
}

/// From now on a signal comes every 200 microseconds, for which the program has a handler that does nothing. Calls are not restarted.
pub fn storm_of_signals() {
    extern "C" fn nothing(_: libc::c_int) {}
    let every = libc::timeval { tv_sec: 0, tv_usec: 200 };
    let timer = libc::itimerval { it_interval: every, it_value: every };
    // SAFETY: a handler that does nothing, and a timer that calls it.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
        libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut());
        libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut());
    }
}

/// The descriptor whose number a variable of the environment tells, which is then this caller's: once per process.
pub fn inherited(variable: &str) -> OwnedFd {
    let number: i32 = std::env::var(variable).unwrap().parse().unwrap();
    // SAFETY: whoever started this process left it open for the one who asks.
    unsafe { OwnedFd::from_raw_fd(number) }
}

/// Lets peers reach memory that is never used otherwise.
pub fn register_for_good<T: Pod>(port: &Port, id: u32, memory: &'static mut [T]) -> Result<Area<T>> {
    // SAFETY: it stays for ever, and whoever gave it has no other way to it.
    unsafe { port.register_raw(id, memory.as_mut_ptr(), memory.len()) }
}

/// Something borrowed that code deeper in the stack of this thread finds, though nobody hands it over: what a program with a global
/// variable has.
pub struct Found<T>(Cell<*const T>);

impl<T> Found<T> {
    /// Nothing is found.
    pub const fn nothing() -> Found<T> {
        Found(Cell::new(std::ptr::null()))
    }
}

/// Runs `work`; meanwhile [`found`] finds `thing` in this thread.
pub fn while_found<T, R>(place: &'static LocalKey<Found<T>>, thing: &T, work: impl FnOnce() -> R) -> R {
    struct Restore<T: 'static>(&'static LocalKey<Found<T>>, *const T);
    impl<T> Drop for Restore<T> {
        fn drop(&mut self) {
            self.0.with(|found| found.0.set(self.1));
        }
    }
    let _restore = Restore(place, place.with(|found| found.0.replace(thing)));
    work()
}

/// Looks at what is found.
pub fn found<T, R>(place: &'static LocalKey<Found<T>>, look: impl FnOnce(&T) -> R) -> R {
    let thing = place.with(|found| found.0.get());
    assert!(!thing.is_null(), "nothing is found");
    // SAFETY: borrowed by a call of `while_found` in this thread, which is not over: it takes the pointer away.
    look(unsafe { &*thing })
}
