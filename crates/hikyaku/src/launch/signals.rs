//! The launcher's own signals: for a program that is nothing but a launcher.

use crate::error::{Error, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Signals that are passed on to the ranks.
const FORWARDED: [libc::c_int; 6] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2];

/// The signals of this process, as a descriptor.
pub(super) struct Signals {
    pub descriptor: OwnedFd,
    /// What was blocked before, which is what ranks shall find.
    before: libc::sigset_t,
}

/// A signal that came.
pub(super) struct Received {
    pub signal: i32,
    /// It came from the terminal, which has sent it to the ranks too: they are in the same process group.
    pub from_terminal: bool,
}

impl Signals {
    /// Takes the signals over, and those of `also`, but not those that this process was told to ignore, as by `nohup`: ranks ignore
    /// them too. They stay blocked: the process ends with its job.
    pub fn take(also: &[libc::c_int]) -> Result<Signals> {
        // SAFETY: libc calls on a local signal set; signalfd gives a fresh descriptor.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            for signal in FORWARDED.iter().chain(also).filter(|signal| !is_ignored(**signal)) {
                libc::sigaddset(&mut set, *signal);
            }
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut before);
            let descriptor = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if descriptor < 0 {
                let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
                return Err(Error::System { call: "signalfd", errno });
            }
            // Orphans of ranks become children of the launcher, which ends them at the end of the job (`orphans`).
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
            Ok(Signals { descriptor: OwnedFd::from_raw_fd(descriptor), before })
        }
    }

    /// The signals that were blocked before.
    pub fn mask_before(&self) -> libc::sigset_t {
        self.before
    }

    /// The next signal, if one has come.
    pub fn next(&self) -> Option<Received> {
        // SAFETY: reads one plain struct of integers into a local of that size.
        unsafe {
            let mut info: libc::signalfd_siginfo = std::mem::zeroed();
            let size = size_of::<libc::signalfd_siginfo>();
            let read = libc::read(self.descriptor.as_raw_fd(), (&raw mut info).cast(), size);
            (read == size as isize)
                .then_some(Received { signal: info.ssi_signo as i32, from_terminal: info.ssi_code == libc::SI_KERNEL })
        }
    }
}

/// Whether this process was started to ignore a signal.
fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: asks for the action of a signal, into a local that is plain data.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Whether a signal asks a program to end.
pub(super) fn ends(signal: i32) -> bool {
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT].contains(&signal)
}

/// Stops this process until somebody has it continue.
pub(super) fn rest() {
    // SAFETY: a signal to this process, whose action no handler can change.
    unsafe { libc::kill(libc::getpid(), libc::SIGSTOP) };
}
