//! What changes in a simulated world: how far each rank is, what it has waiting, and what is planned.

use super::agenda::{Agenda, What};
use super::chance::Chance;
use super::hardware::Hardware;
use super::mesh::{self, Mesh};
use super::nic::{NicOrder, Nics};
use super::passage::Passage;
use super::wire::{Stages, Wire};
use crate::planted::{Bug, planted};
use crate::transport::packet::{Class, kind};
use crate::transport::shm::layout::State;
use crate::transport::shm::ring::Packet;
use crate::transport::{Parcel, TAIL_BYTES_MAX};
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// Virtual time since the start, in picoseconds.
pub(crate) type Time = u64;
/// Picoseconds of a microsecond.
pub(super) const PICOSECONDS: f64 = 1e6;

/// How much longer every look in vain takes, and how often it does.
const VAIN_LOOK: Time = 1000;
const VAIN_LOOKS_MAX: Time = 100;

/// What changes.
pub(super) struct Course {
    pub now: Time,
    pub agenda: Agenda,
    pub ready: VecDeque<usize>,
    pub ranks: Vec<Rank>,
    pub stages: Vec<Stages>,
    /// Links over a wire with faults; `None`: nothing is ever lost.
    pub mesh: Option<Mesh>,
    /// Network interfaces that reach memory by themselves; `None`: they only carry packets.
    pub nics: Option<Nics>,
    /// Packets of one rank to another that may be under way or not handled.
    pub crowd_max: usize,
    /// Packets under way or not handled. Those that wait for a program do not keep out those that wait for nobody.
    pub crowd: HashMap<Queue, usize>,
    /// The interface that acts now, instead of a program.
    pub acting: Option<usize>,
    pub chance: Chance,
    /// What the network does for all at once.
    pub hardware: Hardware,
    /// What went from where to where, if anybody wants to know.
    pub passages: Option<Vec<Passage>>,
}

/// One rank.
#[derive(Default)]
pub(super) struct Rank {
    /// What its program has spent since `now`: it is ahead by this much.
    pub debt: Time,
    pub phase: Phase,
    /// Looks since something last happened to it.
    pub vain_looks: Time,
    /// Moves on with every sleep, so that an old alarm wakes nobody.
    pub sleeps: u64,
    /// Messages that wait for the program.
    pub inbox: VecDeque<Parcel>,
    /// How often its bell had been rung when that was last looked at.
    pub rings: u32,
    /// Colors of the network's barrier that it has passed, and does not know of.
    pub passed: Vec<u64>,
    /// How often its interface was asked to run handlers when messages arrive.
    pub alone: usize,
    /// Its interface is about to try again what was put off.
    pub retries: bool,
    /// Its packets that have not arrived.
    pub under_way: usize,
    /// How it has ended, while the others do not know.
    pub departing: Option<(State, u64)>,
    /// It was killed.
    pub dead: bool,
    /// And all know.
    pub forgotten: bool,
    /// All know that it has ended, however.
    pub has_departed: bool,
    /// So many times as long it takes for everything.
    pub slowness: f64,
}

/// (from, to, for handlers)
pub(super) type Queue = (usize, usize, bool);

pub(super) fn queue(from: usize, to: usize, packet: &Packet) -> Queue {
    (from, to, packet.is_message())
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
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
    pub fn by_interface(&self, parcel: &Parcel) -> bool {
        let behind = |earlier: &Parcel| earlier.source == parcel.source;
        !parcel.packet.is_message() || self.alone > 0 && !self.inbox.iter().any(behind)
    }
}

impl Course {
    pub fn plan(&mut self, time: Time, what: What) {
        self.agenda.plan(time.max(self.now), what);
    }

    /// An interface that works by itself tries again what was put off.
    pub fn serve_later(&mut self, rank: usize, wire: &Wire, waits: bool) {
        let this = &self.ranks[rank];
        if this.alone > 0 && (waits || !this.inbox.is_empty()) {
            self.plan_retry(rank, wire.poll());
        }
    }

    pub fn plan_retry_if_alone(&mut self, rank: usize) {
        if self.ranks[rank].alone > 0 {
            self.plan_retry(rank, 0);
        }
    }

    pub fn plan_retry(&mut self, rank: usize, after: Time) {
        if !std::mem::replace(&mut self.ranks[rank].retries, true) {
            self.plan(self.now + after, What::Retry { rank });
        }
    }

    pub fn wake(&mut self, rank: usize, alarm: bool) {
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

    pub fn stop(&mut self, rank: usize, deadline: Option<Time>, phase: Phase) {
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
    pub fn spend(&mut self, wire: &Wire, from: usize, packet: &Packet) -> Time {
        if self.acting.is_some() {
            return self.now;
        }
        let cost = wire.cost(packet);
        let start = self.now + self.ranks[from].debt + cost.start;
        self.ranks[from].debt += cost.busy;
        start
    }

    /// Puts a packet on its way that an interface has at `start`.
    pub fn carry(&mut self, wire: &Wire, to: usize, start: Time, parcel: Parcel) {
        let from = parcel.source;
        self.ranks[from].under_way += 1;
        if self.mesh.is_some() && from != to {
            return self.post(wire, to, start, &parcel);
        }
        let for_interface = self.ranks[to].alone > 0;
        let load = wire.load(&parcel.packet, parcel.payload.len(), self.acting.is_some(), for_interface);
        let is_apart = matches!(parcel.packet.kind, kind::NIC | kind::NIC_DONE);
        let apart = self.nics.as_mut().filter(|nics| is_apart && nics.order != NicOrder::InOrder);
        let stages = apart.map_or(&mut self.stages, |nics| &mut nics.stages);
        let arrived = wire.arrival(start, from, to, load, stages);
        self.trace(from, to, Class::of(&parcel.packet).name(), load.bytes, start, arrived);
        self.plan(arrived, What::Arrival { to, parcel: Box::new(parcel) });
    }

    /// Notes what goes from where to where.
    pub fn trace(&mut self, from: usize, to: usize, what: &'static str, bytes: usize, left: Time, arrived: Time) {
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
    pub fn lose(&mut self, source: usize) {
        self.ranks[source].under_way -= 1;
        self.depart_when_quiet(source);
    }

    /// Kills a rank; false if it has ended before.
    pub fn kill(&mut self, rank: usize, wire: &Wire) -> bool {
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

    pub fn depart_when_quiet(&mut self, rank: usize) {
        let this = &mut self.ranks[rank];
        if (this.under_way == 0 || planted(Bug::DepartureEarly))
            && let Some((state, arrivals)) = this.departing.take()
        {
            let time = self.now + this.debt;
            self.plan(time, What::Departure { rank, state, arrivals });
        }
    }
}
