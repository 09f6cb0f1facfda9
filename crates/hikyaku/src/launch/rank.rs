//! Starting one process as a rank.

use super::task::{Seats, Task};
use super::{Ending, child};
use crate::error::{Error, Result};
use crate::job::wire::{
    HOST_VARIABLE, HOSTS_VARIABLE, LOCAL_RANK_VARIABLE, LOCAL_SIZE_VARIABLE, RANK_VARIABLE, SIZE_VARIABLE,
    SOCKET_VARIABLE,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};

/// A started process and what the launcher holds of it.
#[derive(Debug)]
pub(super) struct Rank {
    child: Child,
    /// Readable when it has ended; never names another process.
    pub process: OwnedFd,
    /// Where it introduces itself; gone once nothing more is expected there.
    pub socket: Option<OwnedFd>,
    /// It has said hello, and waits for its welcome.
    pub waits: bool,
    /// Whether it was given the job's memory.
    pub welcomed: bool,
    /// How it ended, once it has.
    pub ending: Option<Ending>,
}

/// The launcher's ends of what a rank prints.
pub(super) struct Pipes {
    pub output: OwnedFd,
    pub errors: OwnedFd,
}

impl Rank {
    /// Starts a process as one of the ranks of this host, on `core` and with the signals of `mask` blocked, if they are given.
    pub fn start(
        task: &Task,
        seats: &Seats,
        local: usize,
        input: Stdio,
        core: Option<usize>,
        mask: Option<libc::sigset_t>,
    ) -> Result<(Rank, Pipes)> {
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(|e| Error::system("socketpair", e))?;
        let (output, output_end) = pipe()?;
        let (errors, errors_end) = pipe()?;
        let mut command = Command::new(&task.program);
        command
            .args(&task.arguments)
            .envs(task.variables.iter().map(|(name, value)| (name, value)))
            .env(SOCKET_VARIABLE, theirs.as_raw_fd().to_string())
            .env(RANK_VARIABLE, seats.ranks[local].to_string())
            .env(SIZE_VARIABLE, seats.size.to_string())
            .env(LOCAL_RANK_VARIABLE, local.to_string())
            .env(LOCAL_SIZE_VARIABLE, seats.ranks.len().to_string())
            .stdin(input)
            .stdout(output_end)
            .stderr(errors_end);
        match &seats.host {
            Some(host) => command.env(HOST_VARIABLE, host).env(HOSTS_VARIABLE, seats.hosts.to_string()),
            // A job inside a rank of another one has hosts of its own.
            None => command.env_remove(HOST_VARIABLE).env_remove(HOSTS_VARIABLE),
        };
        let child = child::start_rank(command, &theirs, core, mask).map_err(|error| task.cannot_start(&error))?;
        let pid = Pid::from_child(&child);
        let process = rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(|e| Error::system("pidfd_open", e));
        let rank = match process {
            Ok(process) => Rank { child, process, socket: Some(ours), waits: false, welcomed: false, ending: None },
            Err(error) => {
                let mut child = child;
                let _ = child.kill();
                let _ = child.wait();
                return Err(error);
            }
        };
        Ok((rank, Pipes { output, errors }))
    }

    /// The process id; it stays taken until [`Rank::reap`].
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Looks whether the process has ended, without giving its id free: peers may still address it.
    pub fn look(&mut self) -> Option<Ending> {
        if self.ending.is_none() {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            if let Ok(Some(status)) = rustix::process::waitid(WaitId::PidFd(self.process.as_fd()), options) {
                let exited = status.exit_status().map(Ending::Exited);
                self.ending = exited.or_else(|| status.terminating_signal().map(Ending::Killed));
            }
        }
        self.ending
    }

    /// Sends a signal, if the process has not ended.
    pub fn signal(&self, signal: i32) {
        if let (None, Some(signal)) = (self.ending, Signal::from_named_raw(signal)) {
            let _ = rustix::process::pidfd_send_signal(&self.process, signal);
        }
    }

    /// Gives the process id free.
    pub fn reap(&mut self) {
        let _ = self.child.wait();
    }
}

pub(super) fn pipe() -> Result<(OwnedFd, OwnedFd)> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|e| Error::system("pipe", e))
}
