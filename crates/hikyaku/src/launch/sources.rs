//! What a loop waits for: descriptors, and what each of them means.

use crate::error::{Error, Result};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::Timespec;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// What has something to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A signal of this process.
    Signal,
    /// The process of a rank of this host has ended.
    Process(usize),
    /// The program that a rank of this host runs by a wrapper has ended.
    Program(usize),
    /// A rank of this host speaks on its socket.
    Socket(usize),
    /// A process comes by the door.
    Door,
    /// One that has come says which rank it is.
    Caller(usize),
    /// A rank of this host prints: to standard error, if true.
    Output(usize, bool),
    /// Rank 0 of this host takes input.
    ToRank,
    /// The launcher speaks to this agent.
    FromLauncher,
    /// The launcher takes what this agent says.
    ToLauncher,
    /// An agent speaks.
    FromAgent(usize),
    /// An agent takes what it is told.
    ToAgent(usize),
    /// The command that runs an agent complains.
    Complaint(usize),
    /// Standard input of the launcher.
    Input,
    /// Output of far ranks was shown.
    Shown,
}

/// The descriptors of a wait.
#[derive(Default)]
pub(super) struct Sources<'a> {
    what: Vec<Source>,
    polled: Vec<PollFd<'a>>,
}

impl<'a> Sources<'a> {
    pub fn new() -> Sources<'a> {
        Sources::default()
    }

    /// Also waits until something can be read.
    pub fn reads(&mut self, what: Source, descriptor: &'a impl AsFd) {
        self.add(what, descriptor.as_fd(), PollFlags::IN);
    }

    /// Also waits until something can be written.
    pub fn writes(&mut self, what: Source, descriptor: &'a impl AsFd) {
        self.add(what, descriptor.as_fd(), PollFlags::OUT);
    }

    fn add(&mut self, what: Source, descriptor: BorrowedFd<'a>, flags: PollFlags) {
        self.what.push(what);
        self.polled.push(PollFd::from_borrowed_fd(descriptor, flags));
    }

    /// Waits until some are ready or the time is over; gives those that are.
    pub fn wait(mut self, time: Option<Duration>) -> Result<Vec<Source>> {
        let time = time.map(|time| Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos() as _ });
        match rustix::event::poll(&mut self.polled, time.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(Error::system("poll", error)),
        }
        let ready = self.what.iter().zip(&self.polled).filter(|(_, polled)| !polled.revents().is_empty());
        Ok(ready.map(|(what, _)| *what).collect())
    }
}
