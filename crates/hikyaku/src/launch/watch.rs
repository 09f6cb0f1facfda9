//! The loop that welcomes ranks, watches them, and ends them.

use super::output::Forwarder;
use super::rank::Rank;
use super::signals::{Signals, end_orphans, ends};
use super::{Ending, Launcher, OnDeath, Outcome};
use crate::error::{Error, Result};
use crate::job::topology;
use crate::job::wire::{self, Hello, Welcome};
use crate::ni::area::random;
use crate::sync::fence::Fences;
use crate::transport::shm::layout::{FORMAT, JobMemory, Layout, Local, State};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::Timespec;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// After a death the others have this long to say what they make of it.
const LAST_WORDS: Duration = Duration::from_millis(150);
/// After being asked to end they have this long to do so.
const GRACE: Duration = Duration::from_millis(350);

/// A job that was started. Its ranks end when this is dropped.
pub struct Running {
    ranks: Vec<Rank>,
    memory: JobMemory,
    welcome: Welcome,
    on_death: OnDeath,
    output: Option<Forwarder>,
    signals: Option<Signals>,
    first_failure: Option<Failure>,
    ending: Stage,
    asked_to_end: bool,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("processes", &self.processes()).finish_non_exhaustive()
    }
}

/// The end of a rank that was not a good one.
#[derive(Clone, Copy, Debug)]
struct Failure {
    rank: usize,
    seen: Instant,
    crashed: bool,
}

/// How far the ranks are on the way to their end.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Running,
    /// A rank has died; the others are asked to end at this time.
    LastWords(Instant),
    /// They were asked to end and are killed at this time.
    Asked(Instant),
    Killed,
}

impl Running {
    pub(super) fn start(launcher: &Launcher) -> Result<Running> {
        let layout = Layout::new(launcher.ranks, launcher.config.ports, launcher.config.heap_bytes)?;
        let memory = JobMemory::create(layout, launcher.config.choices.words())?;
        let welcome = Welcome {
            size: layout.size as u64,
            ports: layout.ports as u64,
            heap_half_bytes: layout.heap_half_bytes as u64,
            job: random()?,
            fences: Fences::for_processes() as u64,
            crowded: (layout.size > topology::cores().len()) as u64,
            launcher: std::process::id() as u64,
            start_timeout_ms: launcher.config.start_patience().as_millis() as u64,
            ..Welcome::new()
        };
        let signals = if launcher.supervise { Some(Signals::take()?) } else { None };
        let mut running = Running {
            ranks: Vec::with_capacity(layout.size),
            memory,
            welcome,
            on_death: launcher.on_death,
            output: None,
            signals,
            first_failure: None,
            ending: Stage::Running,
            asked_to_end: false,
        };
        let cores = launcher.cores();
        let mut pipes = Vec::with_capacity(layout.size);
        for rank in 0..layout.size {
            // On failure those already started end with `running`.
            let core = cores.as_ref().map(|cores| cores[rank]);
            let mask = running.signals.as_ref().map(Signals::mask_before);
            let (started, output) = Rank::start(launcher, rank, core, mask)?;
            running.ranks.push(started);
            pipes.push(output);
        }
        running.output = Some(Forwarder::start(pipes, launcher.tag, launcher.capture)?);
        Ok(running)
    }

    /// The process of each rank.
    pub fn processes(&self) -> Vec<u32> {
        self.ranks.iter().map(Rank::id).collect()
    }

    /// Runs the job to its end.
    pub fn wait(mut self) -> Result<Outcome> {
        while self.ranks.iter().any(|rank| rank.ending.is_none()) {
            self.poll()?;
            self.advance_stage();
        }
        if self.signals.is_some() {
            self.reap();
            end_orphans();
        }
        let output = self.output.take().map(Forwarder::finish).unwrap_or_default();
        let endings = self.ranks.iter().filter_map(|rank| rank.ending).collect();
        let joined = self.ranks.iter().map(|rank| rank.welcomed).collect();
        let first_failure = self.first_failure.map(|failure| failure.rank);
        Ok(Outcome { endings, first_failure, joined, output })
    }

    /// Waits for the next event and handles it.
    fn poll(&mut self) -> Result<()> {
        #[derive(Clone, Copy)]
        enum Source {
            Process(usize),
            Socket(usize),
            Signal,
        }
        let mut sources = Vec::new();
        let mut polled = Vec::new();
        for (index, rank) in self.ranks.iter().enumerate().filter(|(_, rank)| rank.ending.is_none()) {
            sources.push(Source::Process(index));
            polled.push(PollFd::new(&rank.process, PollFlags::IN));
            if let Some(socket) = &rank.socket {
                sources.push(Source::Socket(index));
                polled.push(PollFd::new(socket, PollFlags::IN));
            }
        }
        if let Some(signals) = &self.signals {
            sources.push(Source::Signal);
            polled.push(PollFd::new(&signals.descriptor, PollFlags::IN));
        }
        let wait = self
            .time_to_next_stage()
            .map(|left| Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos() as _ });
        match rustix::event::poll(&mut polled, wait.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Error::system("poll", error)),
        }
        let ready: Vec<Source> =
            sources.iter().zip(&polled).filter(|(_, fd)| !fd.revents().is_empty()).map(|(source, _)| *source).collect();
        for source in ready {
            match source {
                Source::Process(rank) => self.look_at(rank),
                Source::Socket(rank) => self.welcome(rank),
                Source::Signal => self.forward_signals(),
            }
        }
        Ok(())
    }

    /// A rank has introduced itself, or a descendant of it has closed the socket.
    fn welcome(&mut self, index: usize) {
        let rank = &mut self.ranks[index];
        let Some(socket) = &rank.socket else { return };
        let hello = match wire::receive::<Hello>(socket.as_fd()) {
            Ok(Some((hello, _))) if hello.is_valid() => hello,
            _ => {
                rank.socket = None;
                return;
            }
        };
        let welcome = Welcome { rank: index as u64, ..self.welcome };
        // Only one program of a rank, and only one built for the same layout, is given the memory.
        let fits = hello.format == FORMAT && !rank.welcomed;
        let memory = fits.then(|| self.memory.segment.file());
        rank.welcomed |= fits;
        if wire::send(socket.as_fd(), &welcome, memory).is_err() {
            rank.socket = None;
        }
        if fits {
            // The rank may have read the welcome while the kernel was still about to tell it of that.
            self.memory.block(Local(index as u32)).life.welcomed.store(1, Ordering::Release);
        }
    }

    fn look_at(&mut self, index: usize) {
        let Some(ending) = self.ranks[index].look() else { return };
        // The socket stays open on this side until the job ends: closing it would end processes that the rank has
        // forked and that still hold the other side.
        let joined = self.memory.block(Local(index as u32)).life.state();
        if joined != State::Left {
            let state = if ending == Ending::Exited(0) { State::Left } else { State::Dead };
            self.memory.mark_departed(Local(index as u32), state);
        }
        if ending == Ending::Exited(0) {
            return;
        }
        self.note_failure(index, ending);
        if let (OnDeath::End, Stage::Running) = (self.on_death, self.ending) {
            self.ending = Stage::LastWords(Instant::now() + LAST_WORDS);
        }
    }

    /// A rank that crashes says nothing, and others may learn of it, and exit, before its end is seen here: it came first.
    fn note_failure(&mut self, rank: usize, ending: Ending) {
        const CRASHES: [i32; 5] = [libc::SIGKILL, libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];
        let asked = self.asked_to_end || matches!(self.ending, Stage::Asked(_) | Stage::Killed);
        let crashed = !asked && matches!(ending, Ending::Killed(signal) if CRASHES.contains(&signal));
        let failure = Failure { rank, seen: Instant::now(), crashed };
        let is_first = match &self.first_failure {
            Some(first) => crashed && !first.crashed && failure.seen - first.seen < LAST_WORDS,
            None => true,
        };
        if is_first {
            self.first_failure = Some(failure);
        }
    }

    fn forward_signals(&mut self) {
        while let Some(received) = self.signals.as_ref().and_then(Signals::next) {
            if ends(received.signal) {
                if self.asked_to_end {
                    self.signal_all(libc::SIGKILL);
                    continue;
                }
                self.asked_to_end = true;
            }
            if !received.from_terminal {
                self.signal_all(received.signal);
            }
        }
    }

    fn signal_all(&self, signal: i32) {
        for rank in &self.ranks {
            rank.signal(signal);
        }
    }

    fn time_to_next_stage(&self) -> Option<Duration> {
        match self.ending {
            Stage::LastWords(at) | Stage::Asked(at) => Some(at.saturating_duration_since(Instant::now())),
            Stage::Running | Stage::Killed => None,
        }
    }

    fn advance_stage(&mut self) {
        let now = Instant::now();
        match self.ending {
            Stage::LastWords(at) if now >= at => {
                self.signal_all(libc::SIGTERM);
                // A stopped process would not hear it.
                self.signal_all(libc::SIGCONT);
                self.ending = Stage::Asked(now + GRACE);
            }
            Stage::Asked(at) if now >= at => {
                self.signal_all(libc::SIGKILL);
                self.ending = Stage::Killed;
            }
            _ => {}
        }
    }

    fn reap(&mut self) {
        for rank in &mut self.ranks {
            rank.reap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal_all(libc::SIGKILL);
        self.reap();
        if let Some(output) = self.output.take() {
            output.finish();
        }
    }
}
