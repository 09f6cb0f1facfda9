//! The agent of a host: started there by the launcher of a job over several hosts, it starts the ranks of its host, watches
//! them, and speaks with the launcher through its own standard input and output. When the input closes, the launcher is gone:
//! the ranks end, and the agent.

use super::crew::Crew;
use super::frame::{Inbox, Outbox, Read, set_nonblocking};
use super::order::Order;
use super::orphans::end_orphans;
use super::signals::{Signals, ends};
use super::sources::{Source, Sources};
use super::words::{Hi, MACHINE_BYTES_MAX, TO_AGENT_BYTES_MAX, ToAgent, ToLauncher};
use crate::error::{Error, Result};
use crate::transport::shm::layout::Layout;
use rustix::stdio::{stdin, stdout};
use std::io::IsTerminal;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// Both sides say so often that they live.
pub(super) const TICK: Duration = Duration::from_secs(1);
/// A launcher that is silent for so many ticks is gone with its host. One that was stopped for a while is not.
const SILENT_TICKS_MAX: u32 = 60;

/// Serves as the agent of a host: what `hikyaku agent` does, which a launcher starts on each host of
/// [`super::Launcher::hosts`]. Takes over this process's signals, standard input and standard output.
pub fn serve_as_agent() -> Result<()> {
    if std::io::stdin().is_terminal() {
        return Err(ended("an agent is started by `hikyaku run --hosts`, and speaks with nobody else"));
    }
    set_nonblocking(stdin())?;
    set_nonblocking(stdout())?;
    let signals = Signals::take(&[])?;
    let mut agent = Agent { line: Line::new(), signals, stage: Stage::Called };
    agent.line.say(&ToLauncher::Hi(Hi::here()));
    let served = agent.serve();
    let Agent { mut line, stage, .. } = agent;
    // The ranks end here if they have not.
    drop(stage);
    end_orphans();
    line.say(&match &served {
        Ok(()) => ToLauncher::Finished,
        Err(Error::CannotStart { program, reason, exists }) => {
            ToLauncher::CannotStart { program: program.clone(), reason: reason.clone(), exists: *exists }
        }
        Err(error) => ToLauncher::Failed(error.to_string()),
    });
    line.finish();
    served
}

struct Agent {
    line: Line,
    signals: Signals,
    stage: Stage,
}

/// How far the agent has come.
enum Stage {
    /// It waits to be told what to do.
    Called,
    /// It waits for the others to be ready.
    Ordered(Box<Order>),
    /// It has started its ranks.
    Running(Box<Crew>),
}

/// The way to the launcher.
struct Line {
    into: Inbox,
    out: Outbox,
    next_tick: Instant,
    silent_ticks: u32,
    /// The launcher is about to stop for a while, and its ranks with it.
    launcher_rests: bool,
}

/// Why an agent ends before its ranks do.
fn ended(why: impl Into<String>) -> Error {
    Error::Invalid(why.into())
}

fn nonsense() -> Error {
    ended("what came on standard input of the agent is nothing that a launcher of this version says")
}

impl Agent {
    /// Does what the launcher says until all ranks have ended.
    fn serve(&mut self) -> Result<()> {
        loop {
            for source in self.wait()? {
                match source {
                    Source::Signal => self.heed_signals()?,
                    Source::FromLauncher => self.hear()?,
                    Source::ToLauncher => {}
                    other => {
                        if let Stage::Running(crew) = &mut self.stage {
                            crew.handle(other);
                        }
                    }
                }
            }
            let Stage::Running(crew) = &mut self.stage else {
                self.line.flush()?;
                continue;
            };
            crew.advance();
            for said in crew.take_words() {
                self.line.say(&said);
            }
            self.line.flush()?;
            if crew.is_over() {
                return Ok(());
            }
        }
    }

    fn wait(&mut self) -> Result<Vec<Source>> {
        self.line.tick()?;
        let mut time = self.line.next_tick.saturating_duration_since(Instant::now());
        let (input, output) = (stdin(), stdout());
        let mut sources = Sources::new();
        sources.reads(Source::Signal, &self.signals.descriptor);
        self.line.watch(&mut sources, &input, &output);
        if let Stage::Running(crew) = &self.stage {
            crew.watch(&mut sources);
            time = time.min(crew.time_left().unwrap_or(time));
        }
        sources.wait(Some(time))
    }

    fn heed_signals(&self) -> Result<()> {
        while let Some(received) = self.signals.next() {
            if ends(received.signal) {
                return Err(ended(format!("the agent was ended by signal {}", received.signal)));
            }
        }
        Ok(())
    }

    fn hear(&mut self) -> Result<()> {
        self.line.read()?;
        while let Some(message) = self.line.into.next(ToAgent::decode).map_err(|_| nonsense())? {
            self.line.launcher_rests = matches!(message, ToAgent::Signal(libc::SIGSTOP));
            self.obey(message)?;
        }
        Ok(())
    }

    fn obey(&mut self, message: ToAgent) -> Result<()> {
        match (&mut self.stage, message) {
            (_, ToAgent::Alive) => {}
            (Stage::Called, ToAgent::Order(order)) => {
                let half = prepare(&order)?.heap_half_bytes as u64;
                self.line.say(&ToLauncher::Ready { heap_half_bytes: half, machine: machine() });
                self.stage = Stage::Ordered(order);
            }
            (Stage::Ordered(order), ToAgent::Go(go)) => {
                let crew = Crew::start(order, go, self.signals.mask_before())?;
                self.line.say(&ToLauncher::Started { processes: crew.processes() });
                self.stage = Stage::Running(Box::new(crew));
            }
            (Stage::Running(crew), message) => crew.obey(message)?.ok_or_else(nonsense)?,
            _ => return Err(nonsense()),
        }
        Ok(())
    }
}

/// Finds out what can be found before the ranks are started; gives what their memory would be.
fn prepare(order: &Order) -> Result<Layout> {
    let folder = &order.folder;
    std::env::set_current_dir(folder)
        .map_err(|error| Error::Invalid(format!("cannot enter the folder {}: {error}", folder.display())))?;
    let (size, count) = (order.host_of.len(), order.ranks().len());
    Layout::of_host(size, count, order.task.config.ports, order.task.config.heap_bytes)
}

/// What names this machine from its start to its end; nothing if that cannot be found out.
fn machine() -> Box<[u8]> {
    let name = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    name[..name.len().min(MACHINE_BYTES_MAX)].into()
}

impl Line {
    fn new() -> Line {
        let (into, out) = (Inbox::new(TO_AGENT_BYTES_MAX), Outbox::default());
        Line { into, out, next_tick: Instant::now() + TICK, silent_ticks: 0, launcher_rests: false }
    }

    fn say(&mut self, message: &ToLauncher) {
        self.out.push(&message.encode());
    }

    fn watch<'a>(&self, sources: &mut Sources<'a>, input: &'a BorrowedFd<'_>, output: &'a BorrowedFd<'_>) {
        sources.reads(Source::FromLauncher, input);
        if !self.out.is_empty() {
            sources.writes(Source::ToLauncher, output);
        }
    }

    fn read(&mut self) -> Result<()> {
        self.silent_ticks = 0;
        match self.into.read(stdin())? {
            Read::Open => Ok(()),
            Read::Closed => Err(ended("the launcher has ended")),
        }
    }

    fn flush(&mut self) -> Result<()> {
        if self.out.write(stdout()) {
            return Ok(());
        }
        Err(ended("the launcher has ended"))
    }

    /// Says that the agent lives, and listens whether the launcher does.
    fn tick(&mut self) -> Result<()> {
        if Instant::now() < self.next_tick {
            return Ok(());
        }
        self.next_tick = Instant::now() + TICK;
        self.silent_ticks += u32::from(!self.launcher_rests);
        if self.silent_ticks > SILENT_TICKS_MAX {
            return Err(ended(format!("the launcher has been silent for {SILENT_TICKS_MAX} s")));
        }
        if self.out.is_empty() {
            self.say(&ToLauncher::Alive);
        }
        Ok(())
    }

    /// Gets rid of what is to be said, if the launcher still listens.
    fn finish(mut self) {
        while self.out.write(stdout()) && !self.out.is_empty() {
            let output = stdout();
            let mut sources = Sources::new();
            sources.writes(Source::ToLauncher, &output);
            if !sources.wait(Some(TICK)).is_ok_and(|ready| !ready.is_empty()) {
                return;
            }
        }
    }
}
