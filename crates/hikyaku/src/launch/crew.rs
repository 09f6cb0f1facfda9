//! The ranks of an agent's host, with what they read and print.

use super::forwarder::{LOOK, STRAGGLERS};
use super::frame::set_nonblocking;
use super::host::{Event, Host};
use super::order::Order;
use super::orphans::end_orphans;
use super::rank::{Pipes, pipe};
use super::relay::WINDOW_BYTES;
use super::sources::{Source, Sources};
use super::words::{Go, INPUT_WINDOW_BYTES, PIECE_BYTES_MAX, ToAgent, ToLauncher};
use crate::error::{Error, Result};
use crate::job::neighborhood::{Neighborhood, Secret};
use crate::job::standstill::{LOOK_EVERY, View};
use crate::transport::shm::layout::Layout;
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The ranks of a host, as their agent sees them.
pub(super) struct Crew {
    host: Host,
    host_of: Vec<u32>,
    here: u32,
    secret: Secret,
    /// Where ranks print: rank, whether it is standard error, and the pipe while there may be more.
    streams: Vec<(usize, bool, Option<OwnedFd>)>,
    /// What may be said of it before the launcher has shown some.
    window: usize,
    input: Option<Input>,
    words: Vec<ToLauncher>,
    /// What the launcher was told of what each rank waits for, and when to look again.
    views: Vec<View>,
    next_look: Instant,
    /// When to stop waiting for more to be printed, once all ranks have ended.
    drained: Option<Instant>,
}

/// What rank 0 is to read.
struct Input {
    pipe: OwnedFd,
    bytes: Vec<u8>,
    is_complete: bool,
}

impl Crew {
    /// Starts the ranks.
    pub fn start(order: &Order, go: Go, mask: libc::sigset_t) -> Result<Crew> {
        let seats = order.seats(go.machine_ranks, go.machine_ranks_before);
        let layout = Layout::of_host(seats.size, seats.ranks.len(), order.task.config.ports, go.heap_half_bytes)?;
        if layout.heap_half_bytes as u64 != go.heap_half_bytes {
            let (asked, here) = (go.heap_half_bytes, layout.heap_half_bytes);
            return Err(Error::Invalid(format!("heaps of {asked} bytes are asked for, which would be {here} here")));
        }
        let (stdin, input) = if order.has_input && seats.ranks.first() == Some(&0) {
            let (reads, writes) = pipe()?;
            set_nonblocking(&writes)?;
            (Some(Stdio::from(reads)), Some(Input { pipe: writes, bytes: Vec::new(), is_complete: false }))
        } else {
            (None, None)
        };
        let ranks = seats.ranks.clone();
        let views = ranks.iter().copied().map(View::unknown).collect();
        let (host, pipes) = Host::start(&order.task, seats, layout, order.job, stdin, Some(mask))?;
        let streams = ranks
            .into_iter()
            .zip(pipes)
            .flat_map(|(rank, Pipes { output, errors })| [(rank, false, Some(output)), (rank, true, Some(errors))]);
        Ok(Crew {
            host,
            host_of: order.host_of.clone(),
            here: order.host as u32,
            secret: order.secret.clone(),
            streams: streams.collect(),
            window: WINDOW_BYTES,
            input,
            words: Vec::new(),
            views,
            next_look: Instant::now() + LOOK_EVERY,
            drained: None,
        })
    }

    /// The process of each rank.
    pub fn processes(&self) -> Vec<u32> {
        self.host.processes()
    }

    /// Whether all ranks have ended, and all they have printed was said.
    pub fn is_over(&self) -> bool {
        self.drained.is_some() && self.streams.iter().all(|(_, _, pipe)| pipe.is_none())
    }

    /// How long until something is due.
    pub fn time_left(&self) -> Option<Duration> {
        let look = self.next_look.saturating_duration_since(Instant::now());
        Some(if self.drained.is_some() { LOOK } else { look })
    }

    /// What to tell the launcher.
    pub fn take_words(&mut self) -> Vec<ToLauncher> {
        std::mem::take(&mut self.words)
    }

    /// What to wait for.
    pub fn watch<'a>(&'a self, sources: &mut Sources<'a>) {
        self.host.watch(sources);
        if self.window > 0 {
            for (index, (_, is_error, pipe)) in self.streams.iter().enumerate() {
                if let Some(pipe) = pipe {
                    sources.reads(Source::Output(index, *is_error), pipe);
                }
            }
        }
        if let Some(input) = self.input.as_ref().filter(|input| !input.bytes.is_empty()) {
            sources.writes(Source::ToRank, &input.pipe);
        }
    }

    /// Sees to what was waited for.
    pub fn handle(&mut self, source: Source) {
        match source {
            Source::Output(index, _) => self.read_output(index),
            Source::ToRank => self.write_input(),
            other => match self.host.handle(other) {
                Some(Event::Arrived { rank, endpoint }) => self.words.push(ToLauncher::Arrived { rank, endpoint }),
                Some(Event::Ended(ended)) => self.words.push(ToLauncher::Ended(ended)),
                None => {}
            },
        }
    }

    /// Does what follows from what has happened.
    pub fn advance(&mut self) {
        let now = Instant::now();
        if now >= self.next_look {
            self.next_look = now + LOOK_EVERY;
            self.look();
        }
        match self.drained {
            None if self.host.is_over() => {
                self.host.reap();
                end_orphans();
                self.drained = Some(now + STRAGGLERS);
            }
            // While the launcher takes nothing, nobody knows whether there is more.
            Some(at) if now >= at && self.window > 0 => self.streams.iter_mut().for_each(|stream| stream.2 = None),
            _ => {}
        }
    }

    /// Tells the launcher which ranks have begun or ended a long wait.
    fn look(&mut self) {
        for (view, before) in self.host.views().into_iter().zip(&mut self.views) {
            if !view.is_as(before) {
                self.words.push(ToLauncher::Waits(view.clone()));
                *before = view;
            }
        }
    }

    /// Does what the launcher says; nothing if it makes no sense.
    pub fn obey(&mut self, message: ToAgent) -> Result<Option<()>> {
        let size = self.host_of.len();
        match message {
            ToAgent::Table { endpoints } => {
                if endpoints.len() != size || self.host_of.iter().all(|host| *host == self.here) {
                    return Ok(None);
                }
                let (host_of, secret) = (self.host_of.clone(), self.secret.clone());
                self.host.open(Neighborhood { host_of, endpoints, secret }.to_file()?);
            }
            ToAgent::Refuse { rank, absence } if rank < size => self.host.refuse(rank, absence),
            ToAgent::News { rank, departure } if self.host_of.get(rank).is_some_and(|host| *host != self.here) => {
                self.host.news(rank, departure);
            }
            ToAgent::Signal(signal) => self.host.signal(signal),
            ToAgent::Input(bytes) => return Ok(self.take_input(&bytes)),
            ToAgent::Shown(bytes) => {
                self.window = self.window.saturating_add(bytes);
                if self.window > WINDOW_BYTES {
                    return Ok(None);
                }
            }
            ToAgent::Unread { rank, is_error } => {
                // Closed, so that the rank learns it as it would without us.
                let unread = self.streams.iter_mut().filter(|stream| (stream.0, stream.1) == (rank, is_error));
                unread.for_each(|stream| stream.2 = None);
            }
            _ => return Ok(None),
        }
        Ok(Some(()))
    }

    fn read_output(&mut self, index: usize) {
        let (rank, is_error, pipe) = &mut self.streams[index];
        let room = self.window.min(PIECE_BYTES_MAX);
        let Some(open) = pipe.as_ref().filter(|_| room > 0) else { return };
        let mut buffer = [0; PIECE_BYTES_MAX];
        match rustix::io::read(open, &mut buffer[..room]) {
            // The second is how the end of a pseudo-terminal is told.
            Ok(0) | Err(Errno::IO) => *pipe = None,
            Ok(count) => {
                self.window -= count;
                let bytes = buffer[..count].to_vec();
                self.words.push(ToLauncher::Output { rank: *rank, is_error: *is_error, bytes });
                // There may be more where that came from.
                self.drained = self.drained.map(|at| at.max(Instant::now() + LOOK));
                return;
            }
            Err(_) => return,
        }
        self.words.push(ToLauncher::Output { rank: *rank, is_error: *is_error, bytes: Vec::new() });
    }

    fn take_input(&mut self, bytes: &[u8]) -> Option<()> {
        // Rank 0 may have closed it while this was on its way.
        let Some(input) = &mut self.input else { return Some(()) };
        if input.is_complete || input.bytes.len() + bytes.len() > INPUT_WINDOW_BYTES {
            return None;
        }
        input.is_complete = bytes.is_empty();
        input.bytes.extend_from_slice(bytes);
        self.write_input();
        Some(())
    }

    fn write_input(&mut self) {
        let Some(input) = &mut self.input else { return };
        while !input.bytes.is_empty() {
            match rustix::io::write(&input.pipe, &input.bytes) {
                Ok(count) => {
                    input.bytes.drain(..count);
                    self.words.push(ToLauncher::Consumed(count));
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => {
                    self.input = None;
                    self.words.push(ToLauncher::Deaf);
                    return;
                }
            }
        }
        if input.is_complete {
            self.input = None;
        }
    }
}
