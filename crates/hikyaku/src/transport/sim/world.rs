//! Time, which rank is ready to run, and what becomes of packets.

use super::agenda::{Agenda, What};
use super::chance::Chance;
use super::faults::{Faults, picoseconds};
use super::fiber::Owner;
use super::hardware::Hardware;
use super::machine::Machine;
use super::mesh::{self, Mesh};
use super::nic::{NicOrder, Nics};
use super::passage::Passage;
use super::wire::{Stages, Wire};
use crate::planted::{Bug, planted};
use crate::sync::fence::Fences;
use crate::transport::hosts::Hosts;
use crate::transport::packet::Class;
use crate::transport::packet::kind;
use crate::transport::reliable::Counters;
use crate::transport::shm::layout::{JobMemory, State};
use crate::transport::shm::ring::Packet;
use crate::transport::{Interface, Parcel, TAIL_BYTES_MAX};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::{Duration, Instant};

/// Virtual time since the start, in picoseconds.
pub(crate) type Time = u64;
/// Picoseconds of a microsecond.
pub(super) const PICOSECONDS: f64 = 1e6;

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

/// What changes.
pub(super) struct Course {
    pub now: Time,
    agenda: Agenda,
    ready: VecDeque<usize>,
    pub ranks: Vec<Rank>,
    pub stages: Vec<Stages>,
    /// Links over a wire with faults; `None`: nothing is ever lost.
    pub mesh: Option<Mesh>,
    /// Network interfaces that reach memory by themselves; `None`: they only carry packets.
    pub nics: Option<Nics>,
    /// Packets of one rank to another that may be under way or not handled.
    pub(super) crowd_max: usize,
    /// Packets under way or not handled. Those that wait for a program do not keep out those that wait for nobody.
    pub(super) crowd: HashMap<Queue, usize>,
    /// The interface that acts now, instead of a program.
    pub acting: Option<usize>,
    pub chance: Chance,
    /// What the network does for all at once.
    pub hardware: Hardware,
    /// What went from where to where, if anybody wants to know.
    passages: Option<Vec<Passage>>,
}

/// One rank.
#[derive(Default)]
pub(super) struct Rank {
    /// What its program has spent since `now`: it is ahead by this much.
    pub debt: Time,
    phase: Phase,
    /// Looks since something last happened to it.
    vain_looks: Time,
    /// Moves on with every sleep, so that an old alarm wakes nobody.
    sleeps: u64,
    /// Messages that wait for the program.
    pub inbox: VecDeque<Parcel>,
    /// How often its bell had been rung when that was last looked at.
    rings: u32,
    /// Colors of the network's barrier that it has passed, and does not know of.
    pub passed: Vec<u64>,
    /// How often its interface was asked to run handlers when messages arrive.
    alone: usize,
    /// Its interface is about to try again what was put off.
    retries: bool,
    /// Its packets that have not arrived.
    pub under_way: usize,
    /// How it has ended, while the others do not know.
    departing: Option<(State, u64)>,
    /// It was killed.
    pub dead: bool,
    /// And all know.
    pub forgotten: bool,
    /// All know that it has ended, however.
    pub has_departed: bool,
    /// So many times as long it takes for everything.
    slowness: f64,
}

/// (from, to, for handlers)
pub(super) type Queue = (usize, usize, bool);

pub(super) fn queue(from: usize, to: usize, packet: &Packet) -> Queue {
    (from, to, packet.kind <= kind::CALL)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Runs, or will when its turn comes.
    #[default]
    Ready,
    /// Until an alarm or an arrival.
    Asleep,
    /// Until an alarm.
    Busy,
    Ended,
}

impl Rank {
    /// Whether the interface does what a packet asks for, without the program; not before what came earlier.
    fn by_interface(&self, parcel: &Parcel) -> bool {
        let behind = |earlier: &Parcel| earlier.source == parcel.source;
        !parcel.packet.is_message() || self.alone > 0 && !self.inbox.iter().any(behind)
    }
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
/// How much longer every look in vain takes, and how often it does.
const VAIN_LOOK: Time = 1000;
const VAIN_LOOKS_MAX: Time = 100;

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
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
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

impl Course {
    pub(super) fn plan(&mut self, time: Time, what: What) {
        self.agenda.plan(time.max(self.now), what);
    }

    /// An interface that works by itself tries again what was put off.
    fn serve_later(&mut self, rank: usize, wire: &Wire, waits: bool) {
        let this = &self.ranks[rank];
        if this.alone > 0 && (waits || !this.inbox.is_empty()) {
            self.plan_retry(rank, wire.poll());
        }
    }

    pub(super) fn plan_retry_if_alone(&mut self, rank: usize) {
        if self.ranks[rank].alone > 0 {
            self.plan_retry(rank, 0);
        }
    }

    fn plan_retry(&mut self, rank: usize, after: Time) {
        if !std::mem::replace(&mut self.ranks[rank].retries, true) {
            self.plan(self.now + after, What::Retry { rank });
        }
    }

    pub(super) fn wake(&mut self, rank: usize, alarm: bool) {
        if !alarm {
            self.ranks[rank].vain_looks = 0;
        }
        let phase = &mut self.ranks[rank].phase;
        if *phase == Phase::Asleep || alarm && *phase == Phase::Busy {
            *phase = Phase::Ready;
            self.ready.push_back(rank);
        }
    }

    /// A rank's program stops until `deadline`, or earlier if something arrives.
    pub fn sleep(&mut self, rank: usize, deadline: Option<Time>) {
        self.stop(rank, deadline, Phase::Asleep);
    }

    /// A rank's program looks at its memory, and stops until it has done what it is ahead by. One that looks in vain looks
    /// less often: a long loop ends the sooner, and a short one costs what the machine says.
    pub fn look(&mut self, rank: usize, wire: &Wire) {
        let this = &mut self.ranks[rank];
        this.debt += wire.poll().max(this.vain_looks * VAIN_LOOK);
        this.vain_looks = (this.vain_looks + 1).min(VAIN_LOOKS_MAX);
        let spent = std::mem::take(&mut this.debt) as f64 * this.slowness;
        let until = self.now + spent as Time;
        self.stop(rank, Some(until), Phase::Busy);
    }

    fn stop(&mut self, rank: usize, deadline: Option<Time>, phase: Phase) {
        let this = &mut self.ranks[rank];
        this.phase = phase;
        this.sleeps += 1;
        let sleep = this.sleeps;
        if let Some(deadline) = deadline {
            self.plan(deadline, What::Alarm { rank, sleep });
        }
    }

    /// Sends a packet; false while too many are under way.
    pub fn send(&mut self, wire: &Wire, from: usize, to: usize, parcel: Parcel) -> bool {
        if self.ranks[from].dead || self.ranks[to].forgotten || self.has_lost(from, to) {
            return true;
        }
        // Answers are as many as what they answer.
        let bounded = !matches!(parcel.packet.kind, kind::ANSWER | kind::REFUSED | kind::CREDIT);
        let is_full = self.crowd.get(&queue(from, to, &parcel.packet)).is_some_and(|crowd| *crowd >= self.crowd_max);
        if bounded && is_full {
            return false;
        }
        let crowd = self.crowd.entry(queue(from, to, &parcel.packet)).or_default();
        *crowd += 1;
        let start = self.spend(wire, from, &parcel.packet);
        self.carry(wire, to, start, parcel);
        true
    }

    /// What a rank spends on starting an operation: when its interface has it.
    pub(super) fn spend(&mut self, wire: &Wire, from: usize, packet: &Packet) -> Time {
        if self.acting.is_some() {
            return self.now;
        }
        let cost = wire.cost(packet);
        let start = self.now + self.ranks[from].debt + cost.start;
        self.ranks[from].debt += cost.busy;
        start
    }

    /// Puts a packet on its way that an interface has at `start`.
    pub(super) fn carry(&mut self, wire: &Wire, to: usize, start: Time, parcel: Parcel) {
        let from = parcel.source;
        self.ranks[from].under_way += 1;
        if self.mesh.is_some() && from != to {
            return self.post(wire, to, start, &parcel);
        }
        let for_interface = self.ranks[to].alone > 0;
        let load = wire.load(&parcel.packet, parcel.payload.len(), self.acting.is_some(), for_interface);
        let is_apart = matches!(parcel.packet.kind, kind::NIC | kind::NIC_DONE);
        let apart = self.nics.as_mut().filter(|nics| is_apart && nics.order == NicOrder::AnyOrder);
        let stages = apart.map_or(&mut self.stages, |nics| &mut nics.stages);
        let arrived = wire.arrival(start, from, to, load, stages);
        self.trace(from, to, Class::of(&parcel.packet).name(), load.bytes, start, arrived);
        self.plan(arrived, What::Arrival { to, parcel: Box::new(parcel) });
    }

    /// Notes what goes from where to where.
    pub(super) fn trace(
        &mut self,
        from: usize,
        to: usize,
        what: &'static str,
        bytes: usize,
        left: Time,
        arrived: Time,
    ) {
        let Some(passages) = &mut self.passages else { return };
        let [left, arrived] = [left, arrived].map(|time| Duration::from_nanos(time / 1000));
        passages.push(Passage { from, to, what, bytes, left, arrived });
    }

    /// A packet was handled: its sender may have waited for room.
    pub fn consumed(&mut self, queue: Queue) {
        let Some(crowd) = self.crowd.get_mut(&queue) else { return };
        *crowd -= 1;
        let was_full = *crowd + 1 >= self.crowd_max;
        if *crowd == 0 {
            self.crowd.remove(&queue);
        }
        if was_full && !planted(Bug::RoomUntold) {
            self.plan(self.now, What::Room { rank: queue.0 });
        }
    }

    /// A rank has ended; the others hear of it after everything it has sent.
    pub fn depart(&mut self, rank: usize, state: State, arrivals: u64) {
        if self.ranks[rank].dead {
            return;
        }
        self.ranks[rank].departing = Some((state, arrivals));
        self.depart_when_quiet(rank);
    }

    /// A packet of a rank is not under way any more.
    pub(super) fn lose(&mut self, source: usize) {
        self.ranks[source].under_way -= 1;
        self.depart_when_quiet(source);
    }

    /// Kills a rank; false if it has ended before.
    fn kill(&mut self, rank: usize, wire: &Wire) -> bool {
        if self.ranks[rank].phase == Phase::Ended || self.ranks[rank].dead {
            return false;
        }
        let this = &mut self.ranks[rank];
        (this.dead, this.phase) = (true, Phase::Ended);
        // No alarm is for it any more.
        this.sleeps += 1;
        self.bury(rank);
        self.ready.retain(|ready| *ready != rank);
        self.plan(self.now + wire.news(), What::Departure { rank, state: State::Dead, arrivals: 0 });
        true
    }

    /// Payload of a packet at most; the model cuts long transfers by itself.
    pub fn payload_max(&self) -> usize {
        if self.mesh.is_some() { mesh::PAYLOAD_MAX + TAIL_BYTES_MAX } else { 1 << 30 }
    }

    pub(super) fn depart_when_quiet(&mut self, rank: usize) {
        let this = &mut self.ranks[rank];
        if (this.under_way == 0 || planted(Bug::DepartureEarly))
            && let Some((state, arrivals)) = this.departing.take()
        {
            let time = self.now + this.debt;
            self.plan(time, What::Departure { rank, state, arrivals });
        }
    }
}
