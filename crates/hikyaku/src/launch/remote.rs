//! One host of a job, as the launcher sees it: the command that runs its agent, and the way there and back.

use super::command::AgentCommand;
use super::frame::{Inbox, Outbox, Read, set_nonblocking};
use super::relay::WINDOW_BYTES;
use super::sources::{Source, Sources};
use super::words::{Hi, TO_LAUNCHER_BYTES_MAX, ToAgent, ToLauncher};
use crate::error::{Error, Result};
use crate::job::neighborhood::wipe;
use crate::job::standstill::View;
use rustix::process::{Pid, Signal};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus};
use std::time::{Duration, Instant};

/// How long a command whose agent is gone has to say why.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Complaints longer than this lose their beginning.
const COMPLAINT_BYTES_MAX: usize = 4 * 1024;

/// A host and its agent.
pub(super) struct Remote {
    pub name: String,
    /// Its ranks.
    pub ranks: Vec<usize>,
    /// Their processes, once they run.
    pub processes: Vec<u32>,
    /// Names the machine that it is a part of; empty if unknown.
    pub machine: Box<[u8]>,
    pub stage: Stage,
    /// Ticks since it was heard.
    pub silent_ticks: u32,
    /// What its ranks wait for, as it said at a time.
    pub views: Vec<(Instant, View)>,
    command: AgentCommand,
    child: Child,
    to: Option<ChildStdin>,
    from: Option<ChildStdout>,
    complaints: Option<ChildStderr>,
    complaint: Vec<u8>,
    out: Outbox,
    into: Inbox,
    /// Output that has come and was not shown yet.
    unshown: usize,
}

/// How far an agent has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its command was started.
    Called,
    /// It was told what to do.
    Ordered,
    /// It has told how large half a heap can be there.
    Ready(u64),
    /// It was told to start its ranks.
    Going,
    /// Its ranks run.
    Started,
    /// All of them have ended.
    Finished,
    /// It is gone, and its ranks with it.
    Lost,
}

impl Remote {
    /// Starts the command.
    pub fn call(name: &str, ranks: Vec<usize>, command: AgentCommand, mask: Option<libc::sigset_t>) -> Result<Remote> {
        let mut child = command.start(mask)?;
        let (to, from, complaints) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let remote = Remote {
            name: name.to_owned(),
            ranks,
            processes: Vec::new(),
            machine: Box::default(),
            stage: Stage::Called,
            silent_ticks: 0,
            views: Vec::new(),
            command,
            child,
            to,
            from,
            complaints,
            complaint: Vec::new(),
            out: Outbox::default(),
            into: Inbox::new(TO_LAUNCHER_BYTES_MAX),
            unshown: 0,
        };
        remote.to.as_ref().map_or(Ok(()), set_nonblocking)?;
        remote.from.as_ref().map_or(Ok(()), set_nonblocking)?;
        remote.complaints.as_ref().map_or(Ok(()), set_nonblocking)?;
        Ok(remote)
    }

    /// Whether more can be expected of it.
    pub fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Finished | Stage::Lost)
    }

    pub fn watch<'a>(&'a self, index: usize, sources: &mut Sources<'a>) {
        if self.is_over() {
            return;
        }
        if let Some(from) = &self.from {
            sources.reads(Source::FromAgent(index), from);
        }
        if let Some(complaints) = &self.complaints {
            sources.reads(Source::Complaint(index), complaints);
        }
        if let Some(to) = self.to.as_ref().filter(|_| !self.out.is_empty()) {
            sources.writes(Source::ToAgent(index), to);
        }
    }

    /// Tells it something, when it listens.
    pub fn say(&mut self, message: &ToAgent) {
        let mut message = message.encode();
        self.say_encoded(&message);
        // It may hold the secret of the job.
        wipe(&mut message);
    }

    /// Tells it something that was encoded for several.
    pub fn say_encoded(&mut self, message: &[u8]) {
        if !self.is_over() {
            self.out.push(message);
        }
    }

    /// Tells it that the launcher lives, unless it has more to read than that.
    pub fn say_alive(&mut self) {
        if self.out.is_empty() {
            self.say(&ToAgent::Alive);
        }
    }

    /// Sends what it takes of what it was told.
    pub fn write(&mut self) {
        // One that listens no more has also stopped to speak, which is noticed.
        if self.to.as_ref().is_some_and(|to| !self.out.write(to)) {
            self.to = None;
        }
    }

    /// What it has said; `Err` with the reason if it says nothing more.
    pub fn hear(&mut self) -> std::result::Result<Vec<ToLauncher>, String> {
        self.silent_ticks = 0;
        let Some(from) = &self.from else { return Ok(Vec::new()) };
        let read = self.into.read(from).map_err(|error| error.to_string())?;
        let mut heard = Vec::new();
        loop {
            match self.into.next(ToLauncher::decode) {
                Ok(Some(message)) => heard.push(message),
                Ok(None) => break,
                Err(_) if self.stage == Stage::Called => return Err(self.not_an_agent()),
                Err(_) => return Err("its agent says things that make no sense".into()),
            }
        }
        if read == Read::Closed {
            // What it has said before counts first.
            self.from = None;
        }
        Ok(heard)
    }

    /// Whether it can say more.
    pub fn speaks(&self) -> bool {
        self.from.is_some()
    }

    /// Output of so many bytes has come; false if it may not have.
    pub fn note_output(&mut self, bytes: usize) -> bool {
        self.unshown += bytes;
        self.unshown <= WINDOW_BYTES
    }

    /// Output was shown.
    pub fn note_shown(&mut self, bytes: usize) {
        self.unshown = self.unshown.saturating_sub(bytes);
        self.say(&ToAgent::Shown(bytes));
    }

    /// Keeps what the command complains about.
    pub fn hear_complaint(&mut self) {
        let Some(complaints) = &self.complaints else { return };
        let mut buffer = [0; 4096];
        match rustix::io::read(complaints, &mut buffer) {
            Ok(0) => self.complaints = None,
            Ok(count) => {
                self.complaint.extend_from_slice(&buffer[..count]);
                let excess = self.complaint.len().saturating_sub(COMPLAINT_BYTES_MAX);
                self.complaint.drain(..excess);
            }
            Err(_) => {}
        }
    }

    /// Ends the command, and says why there is no agent any more.
    pub fn explain_end(&mut self) -> String {
        let deadline = Instant::now() + LAST_WORDS;
        self.to = None;
        let status = loop {
            while self.complaints.is_some() && self.complains() {}
            match self.child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
                _ => break None,
            }
        };
        while self.complaints.is_some() && self.complains() {}
        self.end();
        let complaint = self.complaint();
        let command = self.command.as_text();
        match (&self.stage, status) {
            (Stage::Called, Some(status)) => {
                format!("no agent answers: `{command}` {}{complaint}{}", describe(status), advice(status))
            }
            (Stage::Called, None) => format!("no agent answers: `{command}` has closed its output{complaint}"),
            (_, Some(status)) => format!("its agent {}{complaint}", describe(status)),
            (_, None) => format!("its agent has closed its output{complaint}"),
        }
    }

    /// Takes some of what the command complains about; false when there is no more now.
    fn complains(&mut self) -> bool {
        let before = self.complaint.len();
        self.hear_complaint();
        self.complaint.len() != before && self.complaint.len() < COMPLAINT_BYTES_MAX
    }

    fn complaint(&self) -> String {
        let text = String::from_utf8_lossy(&self.complaint);
        let clean: String = text.chars().filter(|c| !c.is_control() || *c == '\n').collect();
        match clean.trim() {
            "" => String::new(),
            said => format!("; it said: {said}"),
        }
    }

    /// What the command is that has not answered.
    pub fn command(&self) -> String {
        format!("`{}`{}", self.command.as_text(), self.complaint())
    }

    fn not_an_agent(&self) -> String {
        format!(
            "`{}` says {:?}, which no agent does; if that is of the host's login scripts (.bashrc and the like), they must \
             print nothing for shells that are not interactive",
            self.command.as_text(),
            self.into.as_text(),
        )
    }

    /// Whether the agent was built of the same sources, as far as it matters.
    pub fn check(&self, hi: &Hi) -> std::result::Result<(), String> {
        let here = Hi::here();
        if (hi.protocol, hi.format) == (here.protocol, here.format) {
            return Ok(());
        }
        let say = |hi: &Hi| format!("hikyaku {} (protocol {}, format {})", hi.version, hi.protocol, hi.format);
        Err(format!(
            "its agent is {}, here is {}: install the same version there, or name its place with --agent-program",
            say(hi),
            say(&here)
        ))
    }

    /// Has nothing more to say to the agent, which therefore ends.
    pub fn close(&mut self) {
        self.to = None;
    }

    /// Whether the command has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends the command and what it has started, whatever they do.
    pub fn end(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            // It leads a group of its own, and its number stays taken until it is waited for.
            let _ = rustix::process::kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.end();
    }
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("has exited with status {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "has ended".into(),
    }
}

/// What usually helps.
fn advice(status: ExitStatus) -> &'static str {
    match status.code() {
        Some(255) => "\n(can you log in there by ssh without a password?)",
        Some(126 | 127) => "\n(is hikyaku installed there in the same place? --agent-program names another)",
        _ => "",
    }
}

/// A host that does not do its part.
pub(super) fn failed(host: &str, reason: impl Into<String>) -> Error {
    Error::Host { host: host.to_owned(), reason: reason.into() }
}
