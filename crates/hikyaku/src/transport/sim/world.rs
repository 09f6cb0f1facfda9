//! What happens next: which rank runs, and what becomes of what arrives.

use super::agenda::{Agenda, What};
use super::chance::Chance;
use super::course::{Course, Phase, Rank, Time, queue};
use super::faults::{Faults, picoseconds};
use super::fiber::Owner;
use super::hardware::Hardware;
use super::machine::Machine;
use super::mesh::Mesh;
use super::nic::{NicOrder, Nics};
use super::passage::Passage;
use super::wire::{Stages, Wire};
use crate::planted::{Bug, planted};
use crate::sync::brief::lock;
use crate::sync::fence::Fences;
use crate::transport::hosts::Hosts;
use crate::transport::packet::kind;
use crate::transport::reliable::Counters;
use crate::transport::shm::layout::{JobMemory, State};
use crate::transport::{Interface, Parcel};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::{Duration, Instant};

/// Everything that is simulated.
pub(crate) struct World {
    /// Its number in this process.
    pub run: u64,
    /// What instants are reckoned from.
    epoch: Instant,
    /// Of each host.
    memories: Vec<Arc<JobMemory>>,
    hosts: Hosts,
    /// The ranks of each host.
    ranks_on: Vec<Vec<usize>>,
    interfaces: OnceLock<Vec<Weak<dyn Interface>>>,
    pub(super) wire: Wire,
    state: Mutex<Course>,
}

/// What happens next.
pub(crate) enum Next {
    /// A rank runs.
    Run(usize),
    /// A rank is killed.
    Kill(usize),
    /// Something happened that concerns no program.
    Went,
    /// Nothing, ever.
    Nothing,
}

/// Runs of this process, and one.
static RUNS: AtomicU64 = AtomicU64::new(1);
/// The cell of the interface's own port in the bell of a rank.
const NI_CELL: usize = 0;
/// Packets in a queue that may be under way or not handled.
const CROWD_MAX: usize = 256;
impl World {
    /// Whose fiber a rank's program is.
    pub fn owner(&self, rank: usize) -> Owner {
        Owner { run: self.run, rank }
    }

    pub fn new(
        machine: Machine,
        (hosts, memories): (Hosts, Vec<Arc<JobMemory>>),
        seed: u64,
        faults: &Faults,
        nics: Option<NicOrder>,
        trace: bool,
    ) -> World {
        let size = hosts.size();
        let wire = Wire::new(machine);
        let mut ranks_on: Vec<Vec<usize>> = vec![Vec::new(); hosts.count()];
        (0..size).for_each(|rank| ranks_on[hosts.host_of(rank)].push(rank));
        let world = World {
            run: RUNS.fetch_add(1, Ordering::Relaxed),
            epoch: Instant::now(),
            memories,
            ranks_on,
            hosts,
            interfaces: OnceLock::new(),
            state: Mutex::new(Course {
                now: 0,
                agenda: Agenda::default(),
                ready: (0..size).collect(),
                ranks: (0..size).map(|rank| Rank { slowness: faults.slowness(rank), ..Rank::default() }).collect(),
                stages: vec![Stages::default(); size],
                crowd_max: faults.buffers.unwrap_or(CROWD_MAX).max(1),
                mesh: faults.concern_wire().then(|| Mesh::new(faults.clone(), wire.longest_way(size))),
                nics: nics.map(|order| Nics::new(order, 4 * wire.longest_way(size), size)),
                crowd: HashMap::new(),
                acting: None,
                chance: Chance::new(seed),
                hardware: Hardware::default(),
                passages: trace.then(Vec::new),
            }),
            wire,
        };
        world.arm_bells();
        for crash in &faults.crashes {
            world.course().plan(picoseconds(crash.at), What::Crash { rank: crash.rank });
        }
        world
    }

    /// The interfaces of all ranks.
    pub fn connect(&self, interfaces: Vec<Weak<dyn Interface>>) {
        assert!(self.interfaces.set(interfaces).is_ok(), "connected once");
    }

    pub(super) fn course(&self) -> MutexGuard<'_, Course> {
        // A rank that panics holds it for no longer than a call, which leaves it as it should be.
        lock(&self.state)
    }

    /// Number of ranks.
    pub(super) fn size(&self) -> usize {
        self.hosts.size()
    }

    pub(super) fn instant(&self, time: Time) -> Instant {
        self.epoch + Duration::from_nanos(time / 1000)
    }

    /// The time of an instant; `None` if it is further away than any time.
    pub(super) fn time(&self, instant: Instant) -> Option<Time> {
        Time::try_from(instant.saturating_duration_since(self.epoch).as_nanos()).ok()?.checked_mul(1000)
    }

    /// Lets the next thing happen.
    pub fn advance(&self) -> Next {
        let mut course = self.course();
        if let Some(rank) = course.ready.pop_front() {
            return Next::Run(rank);
        }
        let Course { agenda, ranks, .. } = &mut *course;
        let concerns_nobody = |what: &What| match *what {
            What::Alarm { rank, sleep } => ranks[rank].sleeps != sleep,
            What::Crash { rank } => ranks[rank].dead || ranks[rank].phase == Phase::Ended,
            What::Retry { rank } => ranks[rank].dead,
            What::Lost { here, .. } => ranks[here].dead || ranks[here].phase == Phase::Ended,
            _ => false,
        };
        let Some((time, what)) = agenda.next(concerns_nobody) else { return Next::Nothing };
        course.now = time;
        match what {
            What::Alarm { rank, .. } => course.wake(rank, true),
            What::Rung { rank } => {
                course.wake(rank, false);
                course.plan_retry_if_alone(rank);
            }
            What::Room { rank } => {
                course.wake(rank, false);
                course.plan_retry_if_alone(rank);
                drop(course);
                if let Some(ni) = self.interface(rank) {
                    self.act(rank, || ni.go_on());
                }
            }
            What::Retry { rank } => {
                course.ranks[rank].retries = false;
                drop(course);
                self.retry(rank);
            }
            What::Tick { here, there } => {
                if course.tick(&self.wire, here, there) {
                    return Next::Went;
                }
                drop(course);
                self.lose(here, there, "it has not answered for long");
                // The other side may have nothing to send, by which it would find out; it hears that it was given up.
                let mut course = self.course();
                let time = course.now + self.wire.news();
                course.plan(time, What::Lost { here: there, there: here });
            }
            What::Lost { here, there } => {
                drop(course);
                self.lose(here, there, "it has given this rank up");
            }
            What::Frame { from, to, bytes } => {
                let parcels = course.receive_frame(&self.wire, from, to, &bytes);
                drop(course);
                parcels.into_iter().for_each(|parcel| self.deliver(to, parcel));
            }
            What::Crash { rank } => {
                if course.kill(rank, &self.wire) {
                    return Next::Kill(rank);
                }
            }
            What::Departure { rank, state, arrivals } => {
                course.ranks[rank].has_departed = true;
                if let Some(nics) = &mut course.nics {
                    nics.forget_regions(rank);
                }
                if course.ranks[rank].dead {
                    course.ranks[rank].forgotten = true;
                    course.forget_links(rank);
                    course.lose_works(|_, to| to == rank);
                }
                let count = if planted(Bug::NewsToOneHost) { 1 } else { self.hosts.count() };
                for host in 0..count {
                    self.tell(host, rank, state, arrivals);
                }
                for peer in 0..course.ranks.len() {
                    course.wake(peer, false);
                    course.plan_retry_if_alone(peer);
                }
            }
            What::Arrival { to, parcel } => {
                drop(course);
                self.deliver(to, *parcel);
            }
            What::Passed { color } => course.pass_barrier(color),
            What::Piece { number, piece } => {
                let now = course.now;
                course.send_piece(&self.wire, number, piece, now);
            }
            What::Finished { number } => {
                drop(course);
                self.finish(number);
            }
        }
        Next::Went
    }

    /// The ranks of a host learn that one has ended.
    fn tell(&self, host: usize, rank: usize, state: State, arrivals: u64) {
        match self.hosts.host_of(rank) == host {
            true => self.memories[host].mark_departed_silently(self.hosts.local_of(rank), state),
            false => self.memories[host].tell_of_silently(rank, state, arrivals),
        }
    }

    /// A rank has found out that it cannot reach another any more.
    fn lose(&self, here: usize, there: usize, tried: &str) {
        if !self.course().note_lost(here, there) {
            return;
        }
        self.course().lose_works(|from, to| (from, to) == (here, there));
        if let Some(ni) = self.interface(here) {
            self.act(here, || ni.lose(there, tried));
        }
        self.course().wake(here, false);
    }

    pub(super) fn interface(&self, rank: usize) -> Option<Arc<dyn Interface>> {
        self.interfaces.get().and_then(|all| all[rank].upgrade())
    }

    /// The bells that have been rung by a rank of this host wake those who sleep there: what ranks of one host do to each
    /// other's memory is no event of its own.
    pub fn heed_bells(&self, rank: usize) {
        let host = self.hosts.host_of(rank);
        if self.ranks_on[host].len() == 1 {
            return;
        }
        let mut course = self.course();
        for peer in &self.ranks_on[host] {
            let rings = self.memories[host].block(self.hosts.local_of(*peer)).bell.sequence(NI_CELL);
            if std::mem::replace(&mut course.ranks[*peer].rings, rings) != rings && *peer != rank {
                let time = course.now + course.ranks[rank].debt + self.wire.near();
                course.plan(time, What::Rung { rank: *peer });
            }
        }
    }

    /// Has every rank's bell count how often it is rung.
    fn arm_bells(&self) {
        for rank in 0..self.size() {
            let memory = &self.memories[self.hosts.host_of(rank)];
            memory.block(self.hosts.local_of(rank)).bell.arm(Fences::for_threads(), NI_CELL);
        }
    }

    /// A packet has arrived: the interface does what it can do by itself, the rest waits for the program.
    fn deliver(&self, to: usize, parcel: Parcel) {
        if matches!(parcel.packet.kind, kind::NIC | kind::NIC_DONE) {
            return self.land(to, &parcel);
        }
        let (source, queue) = (parcel.source, queue(parcel.source, to, &parcel.packet));
        if self.course().ranks[to].dead {
            self.course().lose(source);
            return;
        }
        let by_interface = self.course().ranks[to].by_interface(&parcel);
        match self.interface(to).filter(|_| by_interface) {
            Some(ni) => {
                let waits = self.act(to, || ni.take(parcel.source, &parcel.packet, &parcel.payload));
                let mut course = self.course();
                course.consumed(queue);
                course.serve_later(to, &self.wire, waits);
            }
            None => {
                let mut course = self.course();
                course.ranks[to].inbox.push_back(parcel);
                course.serve_later(to, &self.wire, false);
            }
        }
        let mut course = self.course();
        course.wake(to, false);
        course.lose(source);
        drop(course);
        self.heed_bells(to);
    }

    /// The interface of a rank does something by itself.
    pub(super) fn act<R>(&self, rank: usize, what: impl FnOnce() -> R) -> R {
        self.course().acting = Some(rank);
        let result = what();
        self.course().acting = None;
        result
    }

    /// The interface of a rank tries again what was put off.
    fn retry(&self, rank: usize) {
        let waits = self.interface(rank).is_some_and(|ni| self.act(rank, || ni.progress()));
        let mut course = self.course();
        course.wake(rank, false);
        course.serve_later(rank, &self.wire, waits);
        drop(course);
        self.heed_bells(rank);
    }

    /// The interface of a rank runs handlers by itself from now on, or once less.
    pub fn serve_alone(&self, rank: usize, alone: bool) {
        let mut course = self.course();
        let asked = &mut course.ranks[rank].alone;
        *asked = if alone { *asked + 1 } else { *asked - 1 };
        course.plan_retry_if_alone(rank);
    }

    /// The rank's program has ended.
    pub fn end(&self, rank: usize) {
        self.course().ranks[rank].phase = Phase::Ended;
    }

    /// Ranks whose programs have not ended.
    pub fn unfinished(&self) -> Vec<usize> {
        let course = self.course();
        (0..course.ranks.len()).filter(|rank| course.ranks[*rank].phase != Phase::Ended).collect()
    }

    /// Every rank that has not ended is dead now.
    pub fn end_all(&self) {
        for rank in self.unfinished() {
            (0..self.hosts.count()).for_each(|host| self.tell(host, rank, State::Dead, 0));
        }
    }

    /// What has happened on the links between ranks.
    pub fn counters(&self) -> Counters {
        self.course().mesh.as_ref().map_or_else(Counters::default, Mesh::counters)
    }

    /// Messages that have come to a rank, and that it has never looked at.
    pub fn take_inbox(&self, rank: usize) -> Vec<Parcel> {
        std::mem::take(&mut self.course().ranks[rank].inbox).into()
    }

    /// What went from where to where, if that was asked for.
    pub fn take_passages(&self) -> Vec<Passage> {
        self.course().passages.take().unwrap_or_default()
    }

    /// (time, events, a checksum of all of them)
    pub fn summary(&self) -> (Duration, u64, u64) {
        let course = self.course();
        let (events, hash) = course.agenda.summary();
        (Duration::from_nanos(course.now / 1000), events, hash)
    }
}
