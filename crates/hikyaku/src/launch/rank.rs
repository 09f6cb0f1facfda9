//! Starting one process as a rank.

use super::door::Door;
use super::task::{Seats, Task};
use super::{Ending, child, exits, terminal};
use crate::error::{Error, Result};
use crate::job::topology;
use crate::job::wire::{
    DOOR_VARIABLE, HOST_VARIABLE, HOSTS_VARIABLE, LOCAL_RANK_VARIABLE, LOCAL_SIZE_VARIABLE, RANK_VARIABLE,
    SIZE_VARIABLE, SOCKET_VARIABLE,
};
use crate::transport::shm::layout::State;
use rustix::io::Errno;
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
    /// The process that has joined, if it is another one and has not ended.
    pub program: Option<Program>,
    /// Where it introduces itself; gone once nothing more is expected there.
    pub socket: Option<OwnedFd>,
    /// It has said hello, and waits for its welcome.
    pub waits: bool,
    /// Whether it was given the job's memory.
    pub welcomed: bool,
    /// How it ended, once it has.
    pub ending: Option<Ending>,
    /// What it is for the others, once they were told of its end.
    pub told: Option<State>,
    /// Which of the programs that its wrapper runs one after the other it is at.
    pub round: usize,
    /// Sockets of earlier programs. Processes that those have forked, and that still hold the other side, would end if one were closed.
    earlier: Vec<OwnedFd>,
}

/// A program that has joined as the rank, and that the process which was started has run: a wrapper.
#[derive(Debug)]
pub(super) struct Program {
    /// Readable when it has ended.
    pub process: OwnedFd,
    number: Option<u32>,
}

impl Program {
    /// How it has ended, if that is known.
    pub fn ending(&self) -> Option<Ending> {
        exits::how(&self.process, self.number)
    }
}

/// The launcher's ends of what a rank prints.
pub(super) struct Pipes {
    pub output: OwnedFd,
    pub errors: OwnedFd,
}

impl Rank {
    /// Starts a process as one of the ranks of this host, on `cores` if they are given, which finds the rest as it was `before`.
    pub fn start(
        task: &Task,
        seats: &Seats,
        local: usize,
        input: Stdio,
        cores: Option<&[usize]>,
        door: Option<&Door>,
        before: child::Before,
    ) -> Result<(Rank, Pipes)> {
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(|e| Error::system("socketpair", e))?;
        let (output, output_end) = if task.tty { terminal::open()? } else { pipe()? };
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
        match door {
            Some(door) => command.env(DOOR_VARIABLE, door.address(local)),
            None => command.env_remove(DOOR_VARIABLE),
        };
        match &seats.host {
            Some(host) => command.env(HOST_VARIABLE, host).env(HOSTS_VARIABLE, seats.hosts.to_string()),
            // A job inside a rank of another one has hosts of its own.
            None => command.env_remove(HOST_VARIABLE).env_remove(HOSTS_VARIABLE),
        };
        let cores = cores.map(topology::set_of);
        let child = child::start_rank(command, &theirs, cores, before).map_err(|error| task.cannot_start(&error))?;
        let pid = Pid::from_child(&child);
        let process = rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(|e| Error::system("pidfd_open", e));
        let rank = match process {
            Ok(process) => Rank {
                child,
                process,
                program: None,
                socket: Some(ours),
                waits: false,
                welcomed: false,
                ending: None,
                told: None,
                round: 0,
                earlier: Vec::new(),
            },
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

    /// A process has said hello for this rank: its number as it sees itself, and a descriptor of it if it could open one.
    pub fn joined_by(&mut self, number: u64, process: Option<OwnedFd>) {
        let Some(process) = process else { return };
        let seen = exits::number(&process);
        let is_child = seen.map_or(number == u64::from(self.id()), |seen| seen == self.id());
        self.program = (!is_child).then_some(Program { process, number: seen });
    }

    /// Its program has come by another way than the socket that it was given.
    pub fn comes_by(&mut self, socket: OwnedFd) {
        self.earlier.extend(self.socket.replace(socket));
    }

    /// Whether nothing of it runs that is known.
    pub fn is_over(&self) -> bool {
        self.ending.is_some() && self.program.is_none()
    }

    /// Sends a signal to what has not ended: the process that was started, and the one that has joined.
    pub fn signal(&self, signal: i32) {
        let Some(signal) = Signal::from_named_raw(signal) else { return };
        let started = self.ending.is_none().then_some(&self.process);
        for process in started.into_iter().chain(self.program.as_ref().map(|program| &program.process)) {
            let sent = rustix::process::pidfd_send_signal(process, signal);
            // Some containers forbid it. The number of a process that nobody has waited for is no other's.
            if sent.is_err_and(|error| error != Errno::SRCH)
                && let Some(number) = exits::number(process).and_then(|number| Pid::from_raw(number as i32))
            {
                let _ = rustix::process::kill_process(number, signal);
            }
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
