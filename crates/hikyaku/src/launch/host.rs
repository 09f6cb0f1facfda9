//! The ranks of one host: their memory, their processes, their welcome. A job on one host has one of these in its launcher;
//! over several hosts every agent has one.

use super::door::Door;
use super::rank::{Pipes, Rank};
use super::rounds::Rounds;
use super::sources::{Source, Sources};
use super::task::{Places, Seats, Task};
use super::{Ending, child, descriptors, exits, program};
use crate::error::Result;
use crate::job::standstill::{self, Presence, View};
use crate::job::topology;
use crate::job::wire::{self, Absence, Hello, Welcome};
use crate::sync::fence::Fences;
use crate::transport::shm::layout::{Blame, FORMAT, JobMemory, Layout, Local, State};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;
use std::sync::atomic::Ordering;

/// The ranks of one host.
pub(super) struct Host {
    seats: Seats,
    ranks: Vec<Rank>,
    rounds: Rounds,
    door: Option<Door>,
    welcome: Welcome,
    admission: Admission,
    /// The cores of its ranks, taken from other jobs of this machine.
    places: Option<Places>,
}

/// What a rank hears that has said hello.
enum Admission {
    /// Its welcome.
    Open,
    /// Nothing until all ranks of all hosts have come.
    Waiting,
    /// Its welcome, and who is where.
    WithHosts(OwnedFd),
    /// That there is no job.
    Refused(Welcome),
}

/// Something that happened to a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// It has said hello, and how it is reached.
    Arrived { rank: usize, endpoint: Box<[u8]> },
    /// Its process has ended.
    Ended(Ended),
}

/// The end of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub rank: usize,
    pub ending: Ending,
    /// Whether it took part in the job.
    pub joined: bool,
    /// What it is for the others.
    pub departure: Departure,
    /// Whose end had failed a call of it.
    pub blame: Option<Blame>,
}

/// What the end of a rank is for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Departure {
    pub state: State,
    /// Barriers it had come to.
    pub arrivals: u64,
}

impl Host {
    /// Makes the memory of `layout` and starts all ranks, whose processes have the signals of `mask` blocked. What is printed
    /// comes out of the pipes.
    pub fn start(
        task: &Task,
        seats: Seats,
        layout: Layout,
        job: u64,
        mut input: Option<Stdio>,
        mask: Option<libc::sigset_t>,
    ) -> Result<(Host, Vec<Pipes>)> {
        program::check(&task.program)?;
        let before = child::Before { mask, descriptors: descriptors::make_room(layout.count)? };
        let rounds = Rounds::new(layout, task.config.choices.words(), job)?;
        let door = Door::open();
        let welcome = Welcome {
            size: seats.size as u64,
            near: layout.count as u64,
            hosts: seats.hosts as u64,
            ports: layout.ports as u64,
            heap_half_bytes: layout.heap_half_bytes as u64,
            fences: Fences::for_processes() as u64,
            crowded: (seats.machine_ranks > topology::cores().len()) as u64,
            launcher: std::process::id() as u64,
            start_timeout_ms: task.config.start_patience().as_millis() as u64,
            ..Welcome::new()
        };
        let places = task.claim(&seats);
        let admission = if seats.hosts > 1 { Admission::Waiting } else { Admission::Open };
        let mut host =
            Host { seats, ranks: Vec::with_capacity(layout.count), rounds, door, welcome, admission, places };
        let mut pipes = Vec::with_capacity(layout.count);
        for local in 0..layout.count {
            // On failure those already started end with `host`.
            let input = input.take_if(|_| host.seats.ranks[local] == 0).unwrap_or_else(Stdio::null);
            let cores = host.places.as_ref().map(|places| &*places.cores[local]);
            let (rank, output) = Rank::start(task, &host.seats, local, input, cores, host.door.as_ref(), before)?;
            host.ranks.push(rank);
            pipes.push(output);
        }
        Ok((host, pipes))
    }

    /// The process of each rank.
    pub fn processes(&self) -> Vec<u32> {
        self.ranks.iter().map(Rank::id).collect()
    }

    /// The cores of each rank, if they are bound.
    pub fn cores(&self) -> Option<Vec<Vec<usize>>> {
        self.places.as_ref().map(|places| places.cores.clone())
    }

    /// Whether all have ended.
    pub fn is_over(&self) -> bool {
        self.ranks.iter().all(Rank::is_over)
    }

    /// What to wait for.
    pub fn watch<'a>(&'a self, sources: &mut Sources<'a>) {
        if let Some(door) = &self.door {
            sources.reads(Source::Door, &door.socket);
            door.callers().for_each(|(index, caller)| sources.reads(Source::Caller(index), caller));
        }
        for (local, rank) in self.ranks.iter().enumerate() {
            if let Some(program) = &rank.program {
                sources.reads(Source::Program(local), &program.process);
            }
            if rank.ending.is_none() {
                sources.reads(Source::Process(local), &rank.process);
                if let Some(socket) = &rank.socket {
                    sources.reads(Source::Socket(local), socket);
                }
            }
        }
    }

    /// Sees to what was waited for.
    pub fn handle(&mut self, source: Source) -> Option<Event> {
        match source {
            Source::Process(local) => self.look_at(local),
            Source::Program(local) => self.look_at_program(local),
            Source::Socket(local) => self.hear(local),
            Source::Door => {
                self.door.as_mut()?.admit();
                None
            }
            Source::Caller(index) => {
                let (local, socket) = self.door.as_mut()?.ask(index)?;
                self.ranks.get_mut(local)?.comes_by(socket);
                None
            }
            _ => None,
        }
    }

    /// A rank has introduced itself, or a descendant of it has closed the socket.
    fn hear(&mut self, local: usize) -> Option<Event> {
        let rank = &mut self.ranks[local];
        let (hello, process) = match wire::receive::<Hello>(rank.socket.as_ref()?.as_fd()) {
            Ok(Some((hello, process))) if hello.is_valid() => (hello, process),
            _ => {
                rank.socket = None;
                return None;
            }
        };
        // Only one program of a rank at a time, and only one built for the same layout, is given the memory.
        let endpoint = hello.endpoint().filter(|_| hello.format == FORMAT && !rank.waits);
        let Some(endpoint) = endpoint.filter(|_| self.may_join(local)) else {
            self.answer(local, false);
            return None;
        };
        let rank = &mut self.ranks[local];
        rank.waits = true;
        rank.joined_by(hello.process, process);
        if let Admission::Waiting = self.admission {
            return Some(Event::Arrived { rank: self.seats.ranks[local], endpoint: endpoint.into() });
        }
        self.admit(local);
        None
    }

    /// Whether a program may join as this rank: the first, or on one host the next one after that has left. That one is in the next round.
    fn may_join(&mut self, local: usize) -> bool {
        let rank = &self.ranks[local];
        if !rank.welcomed {
            return rank.told.is_none();
        }
        let round = rank.round + 1;
        let has_left = self.memory(local).block(Local(local as u32)).life.state().has_left();
        if !has_left || rank.told.is_some() || !matches!(self.admission, Admission::Open) {
            return false;
        }
        match self.rounds.begin(round) {
            // It does not begin: the program is told that it cannot join.
            Err(_) => return false,
            Ok(Some(memory)) => {
                let ended = self.ranks.iter().enumerate().filter_map(|(local, rank)| Some((local, rank.told?)));
                ended.for_each(|(local, state)| memory.mark_departed(Local(local as u32), state));
            }
            Ok(None) => {}
        }
        self.ranks[local].round = round;
        let last = self.ranks.iter().filter(|rank| rank.told.is_none()).map(|rank| rank.round).min();
        self.rounds.forget_before(last.unwrap_or(round));
        true
    }

    /// The memory of the program that a rank is at.
    fn memory(&self, local: usize) -> &JobMemory {
        &self.rounds.of(self.ranks[local].round).memory
    }

    /// Tells a rank that waits what it waits for, if that is known.
    fn admit(&mut self, local: usize) {
        if !self.ranks[local].waits {
            return;
        }
        match &self.admission {
            Admission::Waiting => return,
            Admission::Refused(refusal) => {
                let rank = &mut self.ranks[local];
                rank.waits = false;
                if rank.socket.as_ref().is_some_and(|socket| wire::send(socket.as_fd(), refusal, None).is_err()) {
                    rank.socket = None;
                }
                return;
            }
            Admission::Open | Admission::WithHosts(_) => {}
        }
        self.ranks[local].waits = false;
        self.ranks[local].welcomed = true;
        self.answer(local, true);
        // The rank may have read the welcome while the kernel was still about to tell it of that.
        self.memory(local).block(Local(local as u32)).life.welcomed.store(1, Ordering::Release);
    }

    /// Sends a welcome, with the memory or without.
    fn answer(&mut self, local: usize, with_memory: bool) {
        // One that is refused may have ended long ago.
        let round = self.rounds.get(self.ranks[local].round);
        let job = round.map_or(0, |round| round.job);
        let welcome = Welcome { rank: self.seats.ranks[local] as u64, local: local as u64, job, ..self.welcome };
        let file = round.filter(|_| with_memory).map(|round| round.memory.segment.file());
        let sent = self.ranks[local].socket.as_ref().map(|socket| {
            wire::send(socket.as_fd(), &welcome, file)?;
            match &self.admission {
                Admission::WithHosts(table) if file.is_some() => {
                    wire::send(socket.as_fd(), &wire::Hosts::new(), Some(table.as_fd()))
                }
                _ => Ok(()),
            }
        });
        if let Some(Err(_)) = sent {
            self.ranks[local].socket = None;
        }
    }

    /// All ranks of all hosts have come: those of this host are welcomed, and told who is where.
    pub fn open(&mut self, hosts: OwnedFd) {
        self.admission = Admission::WithHosts(hosts);
        (0..self.ranks.len()).for_each(|local| self.admit(local));
    }

    /// There will be no job without `rank`: those who wait hear it, and whoever comes later.
    pub fn refuse(&mut self, rank: usize, absence: Absence) {
        self.admission = Admission::Refused(Welcome::refusal(rank, absence));
        (0..self.ranks.len()).for_each(|local| self.admit(local));
    }

    /// The process that was started may have ended.
    fn look_at(&mut self, local: usize) -> Option<Event> {
        let rank = &mut self.ranks[local];
        let ending = rank.look()?;
        if rank.program.is_some() {
            // A wrapper has ended before its program, which is still the rank. Nobody looks after it if the wrapper has failed.
            if ending != Ending::Exited(0) {
                rank.signal(libc::SIGKILL);
            }
            return None;
        }
        // The socket stays open on this side until the job ends: closing it would end processes that the rank has
        // forked and that still hold the other side.
        self.tell_end(local, ending)
    }

    /// The program that a wrapper has run as the rank has ended. Whether it meant to is known from what it has left in the job's memory,
    /// whatever the wrapper makes of it.
    fn look_at_program(&mut self, local: usize) -> Option<Event> {
        let rank = &mut self.ranks[local];
        let ending = rank.program.take_if(|program| exits::has_ended(&program.process))?.ending();
        let started = rank.ending;
        let memory = self.memory(local);
        let life = &memory.block(Local(local as u32)).life;
        let has_left = life.state().has_left();
        if has_left || life.farewell.load(Ordering::Acquire) != 0 || ending == Some(Ending::Exited(0)) {
            if !has_left {
                memory.mark_departed(Local(local as u32), State::Left);
            }
            return self.tell_end(local, started?);
        }
        let failed = started.filter(|started| *started != Ending::Exited(0));
        self.tell_end(local, failed.or(ending).unwrap_or(Ending::Unknown))
    }

    /// A rank has ended, which is told once.
    fn tell_end(&mut self, local: usize, ending: Ending) -> Option<Event> {
        let state = if ending == Ending::Exited(0) { State::Left } else { State::Dead };
        let rank = &mut self.ranks[local];
        if rank.told.replace(state).is_some() {
            return None;
        }
        let (round, joined) = (rank.round, rank.welcomed);
        for round in self.rounds.from(round) {
            // It does not come to those after its own.
            if !round.memory.block(Local(local as u32)).life.state().has_left() {
                round.memory.mark_departed(Local(local as u32), state);
            }
        }
        let life = &self.rounds.of(round).memory.block(Local(local as u32)).life;
        let departure = Departure { state: life.state(), arrivals: life.arrivals.load(Ordering::Relaxed) };
        let blame = Blame::from_word(life.blame.load(Ordering::Relaxed), self.seats.size);
        Some(Event::Ended(Ended { rank: self.seats.ranks[local], ending, joined, departure, blame }))
    }

    /// A rank of another host has ended: those of this one are told.
    pub fn news(&self, rank: usize, departure: Departure) {
        debug_assert!(!self.seats.ranks.contains(&rank), "{departure:?} of a rank of this host");
        // Over several hosts there is one round.
        self.rounds.from(0).for_each(|round| round.memory.tell_of(rank, departure.state, departure.arrivals));
    }

    /// What its ranks wait for.
    pub fn views(&self) -> Vec<View> {
        let gone = |rank: &usize| View { presence: Presence::Gone, ..View::unknown(*rank) };
        let mut views: Vec<View> = self.seats.ranks.iter().map(gone).collect();
        for (number, round) in self.rounds.iter() {
            let looked = standstill::look(&round.memory, &self.seats.ranks).into_iter().enumerate();
            looked
                .filter(|(local, _)| self.ranks[*local].round == number)
                .for_each(|(local, view)| views[local] = view);
        }
        views
    }

    /// Sends a signal to all ranks that have not ended.
    pub fn signal(&self, signal: i32) {
        for rank in &self.ranks {
            rank.signal(signal);
        }
    }

    /// Gives the processes' ids free; they must have ended.
    pub fn reap(&mut self) {
        for rank in &mut self.ranks {
            rank.reap();
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.signal(libc::SIGKILL);
        self.reap();
    }
}
