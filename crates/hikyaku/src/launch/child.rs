//! What a process does between its fork and the program that it becomes: system calls alone, on values that were copied before.

use rustix::io::FdFlags;
use rustix::process::{Pid, Resource, Rlimit};
use rustix::thread::CpuSet;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// The command has no terminal, and gets the signals of `mask` blocked. Signals of the terminal are for the launcher, which passes them
/// on; and nobody can be asked for a password.
///
/// With a terminal, that takes a session of its own. Without one, a process group is enough, and better: the scheduler treats sessions as
/// groups, and some kernels (Linux 6.18) let one group starve another for seconds.
pub(super) fn without_terminal(command: &mut Command, mask: Option<libc::sigset_t>) {
    let has_terminal = std::fs::File::open("/dev/tty").is_ok();
    // SAFETY: only system calls are made, on values captured by copy.
    unsafe {
        command.pre_exec(move || {
            block(mask);
            match has_terminal {
                true => rustix::process::setsid().map(drop),
                false => rustix::process::setpgid(None, None),
            }
            .map_err(Into::into)
        });
    }
}

/// What ranks find as it was before the launcher changed it for itself.
#[derive(Clone, Copy)]
pub(super) struct Before {
    /// The signals that are blocked.
    pub mask: Option<libc::sigset_t>,
    /// How many descriptors a process may have.
    pub descriptors: Option<Rlimit>,
}

/// Starts the command as a rank: it keeps `socket`, ends with this process, runs on `cores`, and finds everything else as it was before.
pub(super) fn start_rank(
    mut command: Command,
    socket: &OwnedFd,
    cores: Option<CpuSet>,
    before: Before,
) -> std::io::Result<Child> {
    let (parent, socket) = (rustix::process::getpid(), socket.as_raw_fd());
    // SAFETY: only system calls are made, on values captured by copy.
    unsafe {
        command.pre_exec(move || become_rank(parent, socket, cores.as_ref(), before));
    }
    command.spawn()
}

fn become_rank(parent: Pid, socket: i32, cores: Option<&CpuSet>, before: Before) -> std::io::Result<()> {
    block(before.mask);
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    if rustix::process::getppid() != Some(parent) {
        // The launcher died before the line above.
        return Err(std::io::Error::from_raw_os_error(libc::ESRCH));
    }
    // SAFETY: open in the child, since it is in the parent until this child was started.
    let socket = unsafe { BorrowedFd::borrow_raw(socket) };
    rustix::io::fcntl_setfd(socket, FdFlags::empty())?;
    if let Some(cores) = cores {
        // Where that is forbidden, as in some containers, the rank is not bound.
        let _ = crate::job::topology::bind(cores);
    }
    if let Some(limit) = before.descriptors {
        // Those above the limit that are open stay open until the program begins.
        rustix::process::setrlimit(Resource::Nofile, limit)?;
    }
    Ok(())
}

fn block(mask: Option<libc::sigset_t>) {
    if let Some(mask) = mask {
        // SAFETY: sets this thread's mask to one that was read before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The process group and the session of a process.
    fn groups(stat: &str) -> [i32; 2] {
        let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        [fields[2], fields[3]].map(|field| field.parse().unwrap())
    }

    #[test]
    fn a_session_is_left_where_it_has_a_terminal_and_a_process_group_always() {
        let mut command = Command::new("cat");
        without_terminal(command.arg("/proc/self/stat"), None);
        let [group, session] = groups(&String::from_utf8(command.output().unwrap().stdout).unwrap());
        let [own_group, own_session] = groups(&std::fs::read_to_string("/proc/self/stat").unwrap());
        assert_ne!(group, own_group);
        assert_eq!(session != own_session, std::fs::File::open("/dev/tty").is_ok());
    }
}
