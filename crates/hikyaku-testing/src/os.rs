//! What tests need of the system for which there is no safe interface.

use crate::watchdog::LIMITS;
use bytemuck::Pod;
use hikyaku::message::{Columns, Messages};
use hikyaku::{Area, Port, Result};
use std::cell::RefCell;
use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::AtomicU64;
use std::thread::LocalKey;
use std::time::Duration;

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

/// A copy of the descriptor whose number a variable of the environment tells.
pub fn inherited(variable: &str) -> OwnedFd {
    let number: i32 = std::env::var(variable).unwrap().parse().unwrap();
    // SAFETY: only asks for a copy; a wrong number is answered by an error.
    rustix::io::dup(unsafe { BorrowedFd::borrow_raw(number) }).unwrap()
}

/// Lets peers reach memory that is never used otherwise.
pub fn register_for_good<T: Pod>(port: &Port, id: u32, memory: &'static mut [T]) -> Result<Area<T>> {
    // SAFETY: it stays for ever, and whoever gave it has no other way to it.
    unsafe { port.register_raw(id, memory.as_mut_ptr(), memory.len()) }
}

/// Runs `work` while peers can reach `memory`, which nobody looks at meanwhile.
pub fn while_registered<T: Pod, R>(
    port: &Port,
    id: u32,
    memory: &mut [T],
    work: impl FnOnce(&Area<T>) -> R,
) -> Result<R> {
    // SAFETY: borrowed until the area was dropped, after which nobody reaches it.
    let area = unsafe { port.register_raw(id, memory.as_mut_ptr(), memory.len())? };
    Ok(work(&area))
}

/// Sends columns of memory: `bytes` bytes, `column` of them in each, which begin `pitch` bytes apart.
pub fn send_columns(
    messages: &Messages<'_>,
    memory: &mut [u8],
    columns: [usize; 3],
    rank: usize,
    patience: Duration,
) -> Result<bool> {
    let columns = columns_of(memory, columns);
    // SAFETY: inside memory that is borrowed meanwhile, or refused.
    unsafe { messages.send_columns(columns, rank, 0, patience) }
}

/// Receives into columns of memory.
pub fn recv_columns(messages: &Messages<'_>, memory: &mut [u8], columns: [usize; 3], rank: usize) -> Result<usize> {
    let columns = columns_of(memory, columns);
    // SAFETY: inside memory that is borrowed meanwhile and apart, or refused.
    unsafe { messages.recv_columns(columns, rank, 0) }
}

/// Columns that lie in memory and apart, or such as the library refuses: empty ones, and those farther apart than any memory is long.
fn columns_of(memory: &mut [u8], [bytes, column, pitch]: [usize; 3]) -> Columns {
    let is_refused = column == 0 || pitch > u32::MAX as usize;
    assert!(is_refused || column <= pitch && bytes.div_ceil(column) * pitch <= memory.len(), "columns in memory");
    Columns { start: memory.as_mut_ptr(), bytes, column, pitch }
}

/// A file that is mapped whole, and stays so.
#[derive(Debug)]
pub struct Mapped {
    base: *mut u8,
    bytes: usize,
}

// SAFETY: the memory stays mapped, and is reached by atomics alone.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Maps a file of so many bytes.
    pub fn new(file: &File, bytes: usize) -> Mapped {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_NORESERVE);
        // SAFETY: a fresh mapping of the whole file.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, file.as_raw_fd(), 0) };
        assert_ne!(base, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        Mapped { base: base.cast(), bytes }
    }

    /// The word at an offset, which is a multiple of 8.
    pub fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.bytes);
        // SAFETY: inside the mapping and aligned; accessed atomically.
        unsafe { AtomicU64::from_ptr(self.base.add(offset).cast()) }
    }
}

/// Installs a filter of system calls. With a flag that asks for one, gives the number of a new descriptor, else 0.
pub fn install_filter(program: &mut [libc::sock_filter], flags: libc::c_ulong) -> libc::c_long {
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: installs a filter that lives during the call; the kernel copies it.
    let result = unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &filter)
    };
    assert!(result >= 0, "seccomp: {}", std::io::Error::last_os_error());
    result
}

/// Installs a filter that asks, through this descriptor.
pub fn install_asking_filter(program: &mut [libc::sock_filter]) -> OwnedFd {
    let listener = install_filter(program, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
    // SAFETY: a descriptor that the kernel has just opened for us.
    unsafe { OwnedFd::from_raw_fd(listener as i32) }
}

/// What the kernel asks because of a filter; nothing if whoever made the call is gone.
pub fn question(asked: &OwnedFd) -> Option<libc::seccomp_notif> {
    // SAFETY: plain numbers, of which zeros are valid, filled in by the kernel.
    unsafe {
        let mut question: libc::seccomp_notif = std::mem::zeroed();
        (libc::ioctl(asked.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &mut question) == 0).then_some(question)
    }
}

/// Tells the kernel what to do with the call it has asked about.
pub fn answer(asked: &OwnedFd, answer: &libc::seccomp_notif_resp) {
    // SAFETY: plain numbers, read by the kernel during the call. Whoever asked may be gone by now, which is no matter.
    unsafe { libc::ioctl(asked.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, answer) };
}

/// Things borrowed, by their names, that code deeper in the stack finds, though nobody hands them over: what a program with a global
/// variable has. A thread may run several simulated ranks in turn, so each has its own.
pub struct Found<T>(RefCell<Vec<(usize, *const T)>>);

impl<T> Found<T> {
    /// Nothing is found.
    pub const fn nothing() -> Found<T> {
        Found(RefCell::new(Vec::new()))
    }
}

/// Runs `work`; meanwhile [`found`] finds `thing` in this thread, by a name that nothing else there has.
pub fn while_found<T, R>(place: &'static LocalKey<Found<T>>, name: usize, thing: &T, work: impl FnOnce() -> R) -> R {
    struct Forget<T: 'static>(&'static LocalKey<Found<T>>, usize);
    impl<T> Drop for Forget<T> {
        fn drop(&mut self) {
            self.0.with(|found| found.0.borrow_mut().retain(|(name, _)| *name != self.1));
        }
    }
    place.with(|found| {
        assert!(found.0.borrow().iter().all(|(taken, _)| *taken != name), "{name} is taken");
        found.0.borrow_mut().push((name, thing));
    });
    let _forget = Forget(place, name);
    work()
}

/// Looks at what is found by a name.
pub fn found<T, R>(place: &'static LocalKey<Found<T>>, name: usize, look: impl FnOnce(&T) -> R) -> R {
    let thing = place.with(|found| found.0.borrow().iter().find(|(of, _)| *of == name).map(|(_, thing)| *thing));
    // SAFETY: borrowed by a call of `while_found` in this thread, which is not over: it takes the pointer away.
    look(unsafe { &*thing.expect("nothing is found") })
}
