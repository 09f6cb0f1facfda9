//! One system call among many fails: the nth of its kind, counted over a thread and all threads and processes that it
//! starts.
//!
//! The kernel stops each call of the kind and asks (`seccomp`, user notification); a thread outside the filter counts
//! and answers. Nothing runs inside the threads that are watched.
//!
//! Not counted, because no library can do anything about them: the calls by which the standard library prepares a new
//! thread (failing to get its signal stack ends the process), and those of programs that a child has turned into.

use crate::seccomp;
use rustix::event::{PollFd, PollFlags, Timespec};
use std::collections::HashSet;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A kind of system call, and how it fails.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Its name.
    pub name: &'static str,
    number: libc::c_long,
    errno: i32,
}

macro_rules! calls {
    ($($(#[$when:meta])? $name:literal $number:ident $errno:ident,)*) => {
        &[$($(#[$when])? Call { name: $name, number: libc::$number, errno: libc::$errno }),*]
    };
}

/// The calls by which a job takes something of the machine, or prepares what it has taken.
pub const CALLS: &[Call] = calls! {
    "accept4" SYS_accept4 EMFILE,
    "clone" SYS_clone EAGAIN,
    "clone3" SYS_clone3 EAGAIN,
    "connect" SYS_connect ENOMEM,
    #[cfg(target_arch = "x86_64")]
    "dup2" SYS_dup2 EMFILE,
    "dup3" SYS_dup3 EMFILE,
    "epoll_create1" SYS_epoll_create1 EMFILE,
    "epoll_ctl" SYS_epoll_ctl ENOMEM,
    "eventfd2" SYS_eventfd2 EMFILE,
    "fallocate" SYS_fallocate ENOSPC,
    "fcntl" SYS_fcntl ENOMEM,
    "fstat" SYS_fstat ENOMEM,
    "ftruncate" SYS_ftruncate ENOMEM,
    "getsockopt" SYS_getsockopt ENOMEM,
    "madvise" SYS_madvise ENOMEM,
    "membarrier" SYS_membarrier ENOMEM,
    "memfd_create" SYS_memfd_create EMFILE,
    "mmap" SYS_mmap ENOMEM,
    "mprotect" SYS_mprotect ENOMEM,
    "mremap" SYS_mremap ENOMEM,
    "munmap" SYS_munmap ENOMEM,
    "openat" SYS_openat EMFILE,
    "pidfd_open" SYS_pidfd_open EMFILE,
    "pipe2" SYS_pipe2 EMFILE,
    "ppoll" SYS_ppoll ENOMEM,
    "prctl" SYS_prctl ENOMEM,
    "process_vm_readv" SYS_process_vm_readv ENOMEM,
    "process_vm_writev" SYS_process_vm_writev ENOMEM,
    "recvmsg" SYS_recvmsg EMFILE,
    "sched_getaffinity" SYS_sched_getaffinity ENOMEM,
    "sched_setaffinity" SYS_sched_setaffinity ENOMEM,
    "sendmmsg" SYS_sendmmsg ENOBUFS,
    "sendmsg" SYS_sendmsg ENOBUFS,
    "sendto" SYS_sendto ENOBUFS,
    "signalfd4" SYS_signalfd4 EMFILE,
    "socket" SYS_socket EMFILE,
    "socketpair" SYS_socketpair EMFILE,
    "timerfd_create" SYS_timerfd_create EMFILE,
};

/// The call of that name.
pub fn call(name: &str) -> Option<&'static Call> {
    CALLS.iter().find(|call| call.name == name)
}

/// What the work gave, and how many calls of the kind it made; fewer than `nth` if none failed.
#[derive(Debug)]
pub struct Counted<R> {
    /// What the work gave.
    pub result: R,
    /// How many calls were counted.
    pub calls: usize,
}

/// Does `work` in a thread of its own, with the `nth` (from 1) of its calls failing. Returns when everything that the
/// work has started is gone too.
pub fn failing<R: Send>(call: &Call, nth: usize, work: impl FnOnce() -> R + Send) -> Counted<R> {
    // No channel: sending may allocate, and once the filter is there every call of the worker must be heard.
    let (listener, over) = (OnceLock::new(), AtomicBool::new(false));
    let mut supervisor = Supervisor::new(call, nth);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
            let asked = seccomp::ask_about(&[call.number, libc::SYS_execve, libc::SYS_sigaltstack]);
            let _ = listener.set((asked, thread));
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            over.store(true, Ordering::Release);
            result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        let (asked, thread) = loop {
            match listener.get() {
                Some(listener) => break listener,
                None => std::thread::yield_now(),
            }
        };
        supervisor.prepared.insert(*thread);
        let calls = supervisor.answer(asked, &over);
        Counted { result: worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), calls }
    })
}

/// How long threads and processes may take to end after the work, however crowded the machine is.
const AFTERMATH: Duration = Duration::from_secs(120);

/// Threads, and processes, that one piece of work may start.
const TASKS_MAX: usize = 1000;

/// Allocates nothing while it answers: a thread that is stopped in `fork` holds the locks of the allocator.
struct Supervisor<'a> {
    call: &'a Call,
    nth: usize,
    count: usize,
    /// Threads of this process that are past the standard library's preparations.
    prepared: HashSet<u32>,
    /// Processes that run another program by now.
    turned: HashSet<u32>,
}

impl Supervisor<'_> {
    fn new(call: &Call, nth: usize) -> Supervisor<'_> {
        let (prepared, turned) = (HashSet::with_capacity(TASKS_MAX), HashSet::with_capacity(TASKS_MAX));
        Supervisor { call, nth, count: 0, prepared, turned }
    }

    /// Answers until nobody is left who could ask; gives the number of calls until the work was over.
    fn answer(mut self, asked: &OwnedFd, over: &AtomicBool) -> usize {
        let mut over_since = None;
        loop {
            let mut polled = [PollFd::new(asked, PollFlags::IN)];
            let moment = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
            let ready = rustix::event::poll(&mut polled, Some(&moment)).unwrap_or(0);
            if polled[0].revents().contains(PollFlags::HUP) {
                return self.count;
            }
            let is_over = over.load(Ordering::Acquire);
            if is_over && over_since.get_or_insert_with(Instant::now).elapsed() > AFTERMATH {
                panic!("{} {}: something still runs after the work", self.call.name, self.nth);
            }
            if ready > 0 {
                self.answer_one(asked, is_over);
            }
        }
    }

    fn answer_one(&mut self, asked: &OwnedFd, is_over: bool) {
        // None if whoever asked was killed.
        if let Some(question) = seccomp::question(asked) {
            let fails = !is_over && self.counts(&question) && self.count == self.nth;
            seccomp::answer(asked, &question, fails.then_some(self.call.errno));
        }
    }

    /// Whether this is a call of the kind that counts, which is then counted.
    fn counts(&mut self, question: &libc::seccomp_notif) -> bool {
        let (thread, data) = (question.pid, &question.data);
        let process = process_of(thread);
        match data.nr as libc::c_long {
            libc::SYS_execve => drop(self.turned.insert(process)),
            // With a first argument it sets the signal stack, which is the last preparation of a new thread.
            libc::SYS_sigaltstack if data.args[0] != 0 => drop(self.prepared.insert(thread)),
            number if number == self.call.number => {
                let starting = process == std::process::id() && !self.prepared.contains(&thread);
                if !starting && !self.turned.contains(&process) {
                    self.count += 1;
                    return true;
                }
            }
            _ => {}
        }
        false
    }
}

/// The process that a thread belongs to.
fn process_of(thread: u32) -> u32 {
    let (mut path, mut status) = ([0; 32], [0; 4096]);
    let mut rest = &mut path[..];
    write!(rest, "/proc/{thread}/status").expect("room for the path");
    let unused = rest.len();
    let path = std::str::from_utf8(&path[..32 - unused]).expect("ASCII");
    let read = std::fs::File::open(path).and_then(|mut file| file.read(&mut status)).unwrap_or(0);
    let status = std::str::from_utf8(&status[..read]).unwrap_or("");
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    line.and_then(|line| line.trim().parse().ok()).unwrap_or(thread)
}
