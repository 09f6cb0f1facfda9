//! The loop that runs a job to its end: ranks of this host, or the agents of several.

use super::fleet::Fleet;
use super::forwarder::Forwarder;
use super::host::{Ended, Event, Host};
use super::lookout::Lookout;
use super::order::Order;
use super::orphans::end_orphans;
use super::output::{Display, Printed};
use super::policy::{Asked, Policy};
use super::signals::{Signals, ends, rest};
use super::sources::{Source, Sources};
use super::task::Seats;
use super::words::ToAgent;
use super::{Ending, Hosts, Launcher, Outcome, shown};
use crate::error::{Error, Result};
use crate::job::neighborhood::Secret;
use crate::job::standstill::View;
use crate::ni::random;
use crate::transport::shm::layout::Layout;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A job that was started. Its ranks end when this is dropped.
pub struct Running {
    ranks: Ranks,
    policy: Policy,
    lookout: Lookout,
    /// What was told to nobody, because output is captured.
    told: Option<Vec<String>>,
    signals: Option<Signals>,
    endings: Vec<Option<Ending>>,
    joined: Vec<bool>,
}

/// Where the ranks are.
enum Ranks {
    /// On this host, and what they print.
    Here(Box<Host>, Option<Forwarder>),
    /// On hosts that have agents.
    There(Box<Fleet>),
}

impl Ranks {
    fn views(&self) -> Vec<View> {
        match self {
            Ranks::Here(host, _) => host.views(),
            Ranks::There(fleet) => fleet.views(),
        }
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("processes", &self.processes()).finish_non_exhaustive()
    }
}

impl Running {
    pub(super) fn start(launcher: &Launcher) -> Result<Running> {
        crate::settings::check()?;
        match &launcher.hosts {
            None => Running::start_here(launcher),
            Some(hosts) => Running::start_there(launcher, hosts),
        }
    }

    fn start_here(launcher: &Launcher) -> Result<Running> {
        let task = &launcher.task;
        let layout = Layout::new(launcher.ranks, task.config.ports, task.config.heap_bytes)?;
        let signals = if launcher.supervise { Some(Signals::take(&[])?) } else { None };
        let mask = signals.as_ref().map(Signals::mask_before);
        let input = (!launcher.capture).then(Stdio::inherit);
        let display = Display::new(launcher, layout.size)?;
        let (host, pipes) = Host::start(task, Seats::all(layout.size), layout, random()?, input, mask)?;
        let output = Forwarder::start(pipes, display)?;
        Ok(Running::new(launcher, Ranks::Here(Box::new(host), Some(output)), signals))
    }

    fn start_there(launcher: &Launcher, hosts: &Hosts) -> Result<Running> {
        let folder = std::env::current_dir()
            .map_err(|error| Error::Invalid(format!("the working folder cannot be told to other hosts: {error}")))?;
        let (job, secret) = (random()?, Secret::random()?);
        let order = |host: usize| {
            ToAgent::Order(Box::new(Order {
                task: launcher.task_for_others(),
                job,
                secret: secret.clone(),
                host_of: hosts.host_of().to_vec(),
                host,
                name: hosts.names()[host].clone(),
                folder: folder.clone().into(),
                has_input: !launcher.capture,
            }))
        };
        // The terminal stops the ranks of this host with the launcher, but not those of others.
        let signals = if launcher.supervise { Some(Signals::take(&[libc::SIGTSTP])?) } else { None };
        let fleet = Fleet::call(launcher, hosts, signals.as_ref().map(Signals::mask_before))?;
        let mut running = Running::new(launcher, Ranks::There(Box::new(fleet)), signals);
        running.await_start(launcher.task.config.start_patience(), &order)?;
        Ok(running)
    }

    fn new(launcher: &Launcher, ranks: Ranks, signals: Option<Signals>) -> Running {
        let size = launcher.hosts.as_ref().map_or(launcher.ranks, |hosts| hosts.host_of().len());
        let policy = Policy::new(launcher.on_death, launcher.grace);
        let lookout = Lookout::new(launcher.on_deadlock, launcher.timeout);
        let told = launcher.capture.then(Vec::new);
        Running { ranks, policy, lookout, told, signals, endings: vec![None; size], joined: vec![false; size] }
    }

    /// Runs until all agents have started their ranks.
    fn await_start(&mut self, patience: Duration, order: &dyn Fn(usize) -> ToAgent) -> Result<()> {
        let begin = Instant::now();
        while let Ranks::There(fleet) = &mut self.ranks {
            fleet.go_if_ready();
            let waited = Some(begin.elapsed()).filter(|waited| *waited >= patience);
            if let Some(failure) = fleet.start_failure(waited) {
                return Err(failure);
            }
            if fleet.has_started() {
                return Ok(());
            }
            self.step(Some(patience.saturating_sub(begin.elapsed())), Some(order))?;
        }
        Ok(())
    }

    /// The process of each rank, on its host.
    pub fn processes(&self) -> Vec<u32> {
        match &self.ranks {
            Ranks::Here(host, _) => host.processes(),
            Ranks::There(fleet) => fleet.processes(),
        }
    }

    /// The cores that each rank is bound to; `None` if ranks are not bound, because that was not asked for, or there are too few cores, or
    /// other jobs use them. It is also `None` for jobs on other hosts.
    pub fn cores(&self) -> Option<Vec<Vec<usize>>> {
        match &self.ranks {
            Ranks::Here(host, _) => host.cores(),
            Ranks::There(_) => None,
        }
    }

    /// Runs the job to its end.
    pub fn wait(mut self) -> Result<Outcome> {
        while !self.is_over() {
            self.step(None, None)?;
        }
        let (Printed { captured: output, lost: lost_output }, mut remarks) = self.finish();
        remarks.extend(self.told.take().into_iter().flatten());
        let endings = self.endings.iter().filter_map(|ending| *ending).collect();
        let failures = self.policy.failures();
        let first_failure = failures.first().copied();
        Ok(Outcome {
            endings,
            first_failure,
            failures,
            joined: std::mem::take(&mut self.joined),
            output,
            lost_output,
            remarks,
            stopped: self.lookout.stopped,
        })
    }

    fn is_over(&self) -> bool {
        match &self.ranks {
            Ranks::Here(host, _) => host.is_over(),
            Ranks::There(fleet) => fleet.is_over(),
        }
    }

    /// Waits for the next event, at most so long, and handles it.
    fn step(&mut self, time: Option<Duration>, order: Option<&dyn Fn(usize) -> ToAgent>) -> Result<()> {
        for source in self.await_something(time)? {
            if source == Source::Signal {
                self.forward_signals(order.is_some())?;
                continue;
            }
            match &mut self.ranks {
                Ranks::Here(host, _) => {
                    if let Some(Event::Ended(ended)) = host.handle(source) {
                        self.note_end(ended);
                    }
                }
                // All have their orders once the job has started.
                Ranks::There(fleet) => fleet.handle(source, order.unwrap_or(&|_| ToAgent::Alive)),
            }
        }
        let now = Instant::now();
        if let Ranks::There(fleet) = &mut self.ranks {
            fleet.advance(now);
            for ended in fleet.take_news() {
                self.note_end(ended);
            }
        }
        let ranks = &self.ranks;
        if let Some(text) = self.lookout.look(now, || ranks.views()) {
            self.tell(&text);
        }
        if self.lookout.stopped.is_some() {
            self.policy.end(now);
        }
        for signal in self.policy.due(now) {
            self.signal(*signal);
        }
        Ok(())
    }

    fn await_something(&self, time: Option<Duration>) -> Result<Vec<Source>> {
        let now = Instant::now();
        let mut times = [time, self.policy.time_left(now), self.lookout.time_left(now), None];
        let mut sources = Sources::new();
        match &self.ranks {
            Ranks::Here(host, _) => host.watch(&mut sources),
            Ranks::There(fleet) => {
                fleet.watch(&mut sources);
                times[3] = Some(fleet.time_left(now));
            }
        }
        if let Some(signals) = &self.signals {
            sources.reads(Source::Signal, &signals.descriptor);
        }
        sources.wait(times.into_iter().flatten().min())
    }

    fn note_end(&mut self, ended: Ended) {
        self.endings[ended.rank] = Some(ended.ending);
        self.joined[ended.rank] = ended.joined;
        self.policy.ended(ended.rank, ended.ending, ended.blame, Instant::now());
    }

    /// Passes signals on; `Err` if one ends a job that has not started.
    fn forward_signals(&mut self, starts: bool) -> Result<()> {
        while let Some(received) = self.signals.as_ref().and_then(Signals::next) {
            if ends(received.signal) {
                if starts {
                    return Err(Error::Invalid(format!(
                        "ended by signal {} before all hosts answered",
                        received.signal
                    )));
                }
                let asked = self.policy.asked(received.signal, Instant::now());
                if asked != Asked::Again {
                    let table = self.lookout.table(&self.ranks.views());
                    if !table.is_empty() {
                        self.tell(&table);
                    }
                }
                if asked == Asked::Kill {
                    self.signal(libc::SIGKILL);
                    continue;
                }
            }
            if let (libc::SIGTSTP, Ranks::There(fleet)) = (received.signal, &mut self.ranks) {
                // Not as it came: that stops nobody in a process group without a terminal, as agents have.
                fleet.signal(libc::SIGSTOP);
                fleet.flush();
                rest();
                fleet.signal(libc::SIGCONT);
                continue;
            }
            // The terminal has sent it to the ranks of this host, but not to others.
            if !received.from_terminal || matches!(self.ranks, Ranks::There(_)) {
                self.signal(received.signal);
            }
        }
        Ok(())
    }

    /// Tells the user.
    fn tell(&mut self, text: &str) {
        match &mut self.told {
            Some(told) => told.push(text.trim_end().to_owned()),
            None => shown::tell(&format!("hikyaku: {text}")),
        }
    }

    fn signal(&mut self, signal: i32) {
        match &mut self.ranks {
            Ranks::Here(host, _) => host.signal(signal),
            Ranks::There(fleet) => fleet.signal(signal),
        }
    }

    /// All ranks have ended: gives what remains of their output, and what a user should know.
    fn finish(&mut self) -> (Printed, Vec<String>) {
        match &mut self.ranks {
            Ranks::Here(host, output) => {
                host.reap();
                if self.signals.is_some() {
                    end_orphans();
                }
                (output.take().map(Forwarder::finish).unwrap_or_default(), Vec::new())
            }
            Ranks::There(fleet) => {
                let rest = fleet.finish();
                if self.signals.is_some() {
                    end_orphans();
                }
                rest
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal(libc::SIGKILL);
        self.finish();
    }
}
