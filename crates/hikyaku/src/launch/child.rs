//! What a process does between its fork and the program that it becomes: system calls alone, on values that were copied before.

use rustix::io::FdFlags;
use rustix::process::Pid;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// The command gets a session of its own, and the signals of `mask` blocked.
pub(super) fn in_own_session(command: &mut Command, mask: Option<libc::sigset_t>) {
    // SAFETY: only system calls are made, on values captured by copy.
    unsafe {
        command.pre_exec(move || {
            block(mask);
            // Signals of the terminal are for the launcher, which passes them on; and nobody can be asked for a password.
            rustix::process::setsid().map(drop).map_err(Into::into)
        });
    }
}

/// Starts the command as a rank: it keeps `socket`, ends with this process, sits on `core`, and has the signals of `mask` blocked.
pub(super) fn start_rank(
    mut command: Command,
    socket: &OwnedFd,
    core: Option<usize>,
    mask: Option<libc::sigset_t>,
) -> std::io::Result<Child> {
    let (parent, socket) = (rustix::process::getpid(), socket.as_raw_fd());
    // SAFETY: only system calls are made, on values captured by copy.
    unsafe {
        command.pre_exec(move || become_rank(parent, socket, core, mask));
    }
    command.spawn()
}

fn become_rank(parent: Pid, socket: i32, core: Option<usize>, mask: Option<libc::sigset_t>) -> std::io::Result<()> {
    block(mask);
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    if rustix::process::getppid() != Some(parent) {
        // The launcher died before the line above.
        return Err(std::io::Error::from_raw_os_error(libc::ESRCH));
    }
    // SAFETY: open in the child, since it is in the parent until this child was started.
    let socket = unsafe { BorrowedFd::borrow_raw(socket) };
    rustix::io::fcntl_setfd(socket, FdFlags::empty())?;
    if let Some(core) = core {
        crate::job::topology::bind(core)?;
    }
    Ok(())
}

fn block(mask: Option<libc::sigset_t>) {
    if let Some(mask) = mask {
        // SAFETY: sets this thread's mask to one that was read before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut()) };
    }
}
