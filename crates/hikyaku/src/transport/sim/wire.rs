//! The way of a packet: what its initiator spends, when it leaves, when it arrives.
//!
//! An operation passes stages, each of which does one thing at a time: reading host memory, the link out, the link in,
//! receiving, writing host memory, running a handler. A long one is cut into packets, which follow each other through the
//! stages. So operations of one rank on another keep their order.

use super::course::{PICOSECONDS, Time};
use super::machine::{HardwareBroadcast, Machine, Shape, Topology};
use crate::transport::packet::{Class, kind, verb};
use crate::transport::shm::ring::Packet;
use std::collections::HashMap;

/// Bytes of an active message besides its payload: handler, address, six arguments of a word of 32 bits.
const MESSAGE_BYTES: usize = 32;

/// When the stages of a host are free again.
#[derive(Clone, Debug, Default)]
pub(super) struct Stages {
    read: Time,
    out: Time,
    into: Time,
    receive: Time,
    write: Time,
    /// Running handlers.
    processor: Time,
    /// When the last handler for a source has run.
    handled: HashMap<usize, Time>,
}

/// What is to be carried.
#[derive(Clone, Copy)]
pub(super) struct Load {
    pub bytes: usize,
    /// An interface sends it by itself: it need not be read from host memory.
    pub at_hand: bool,
    /// It is for a handler that the interface of the target runs: it need not be written to host memory.
    pub kept: bool,
    /// What the interface of the target spends on its handler.
    pub handling: Time,
}

/// What the host spends on an operation.
pub(super) struct Cost {
    /// Until the interface has it.
    pub start: Time,
    /// Until the host can do something else, from the same moment on.
    pub busy: Time,
}

/// The costs of a machine.
#[derive(Debug)]
pub(super) struct Wire {
    machine: Machine,
}

fn time(microseconds: f64) -> Time {
    (microseconds * PICOSECONDS) as Time
}

/// Whether it is more to an interface than reading and writing: it follows a pointer, or counts arrivals.
fn is_worked_on(packet: &Packet) -> bool {
    packet.kind == kind::ROUTED && matches!(packet.handler, verb::PUSH_THROUGH | verb::PULL_THROUGH | verb::ARRIVE)
}

/// Bytes at MB/s; at none if there is nothing to pass.
fn transfer(bytes: usize, bandwidth: f64) -> Time {
    if bandwidth > 0.0 { time(bytes as f64 / bandwidth) } else { 0 }
}

/// When the first and the last packet of an operation have left a stage.
#[derive(Clone, Copy)]
struct Train {
    first: Time,
    last: Time,
    count: Time,
}

impl Train {
    /// Passes a stage that takes `each` for every packet.
    fn pass(self, each: Time, free: &mut Time) -> Train {
        // However long something is that a machine takes long for: the end of time is when it is there.
        let first = self.first.max(*free).saturating_add(each);
        let last = self.last.saturating_add(each).max(first.saturating_add((self.count - 1).saturating_mul(each)));
        *free = last;
        Train { first, last, ..self }
    }

    fn of_one(time: Time) -> Train {
        Train { first: time, last: time, count: 1 }
    }

    /// When the handler of the whole has run, after those of everything that came before; without one, after those of
    /// the same source.
    fn handled(self, load: Load, from: usize, target: &mut Stages) -> Time {
        if load.handling == 0 {
            return target.handled.get(&from).map_or(self.last, |handled| self.last.max(*handled));
        }
        let end = Train::of_one(self.last).pass(load.handling, &mut target.processor).last;
        target.handled.insert(from, end);
        end
    }
}

impl Wire {
    pub fn new(machine: Machine) -> Wire {
        Wire { machine }
    }

    /// What a look at memory costs; never nothing, so that a program that only looks makes time go on.
    pub fn poll(&self) -> Time {
        time(self.machine.host.poll).max(1000)
    }

    /// How long a rank of the same host takes to see what was written: as long as a look.
    pub fn near(&self) -> Time {
        self.poll()
    }

    /// What the entrance of a call costs.
    pub fn call(&self) -> Time {
        time(self.machine.host.call)
    }

    /// What the host spends to start an operation.
    pub fn cost(&self, packet: &Packet) -> Cost {
        let operation = &self.machine.operation;
        let (start, busy) = match Class::of(packet) {
            Class::Push | Class::Put => (operation.push_start, operation.push_busy),
            Class::Prepared => (operation.prepared_start, operation.prepared_busy),
            Class::Pull | Class::Get => (operation.pull_start, operation.pull_busy),
            Class::Word => (operation.word_start, operation.word_busy),
            Class::Atomic | Class::Change => (operation.atomic_start, operation.atomic_busy),
            Class::Message => (operation.message_start, operation.message_busy),
            Class::Answer | Class::Done => return Cost { start: 0, busy: 0 },
        };
        let flush = self.machine.host.flush;
        Cost { start: time(start + flush), busy: time(busy.max(start) + flush) }
    }

    /// What a packet has to carry. `by_interface`: no program has sent it. `for_interface`: the target's interface runs
    /// handlers.
    pub fn load(&self, packet: &Packet, payload: usize, by_interface: bool, for_interface: bool) -> Load {
        let class = Class::of(packet);
        let bytes = match class {
            Class::Push | Class::Prepared | Class::Answer => payload,
            Class::Put | Class::Done => payload.max(8),
            Class::Word | Class::Atomic | Class::Pull | Class::Get | Class::Change => 8,
            Class::Message => MESSAGE_BYTES + payload,
        };
        let at_hand = matches!(class, Class::Answer | Class::Done) || by_interface && self.has_processor();
        let kept = class == Class::Message && for_interface && self.has_processor();
        let handling = match () {
            () if is_worked_on(packet) => self.working(bytes),
            () if for_interface => self.handler(packet),
            () => 0,
        };
        Load { bytes, at_hand, kept, handling }
    }

    /// Whether interfaces run handlers; otherwise hosts do it for them.
    fn has_processor(&self) -> bool {
        self.machine.ni.clock > 0.0
    }

    /// What an interface spends to run a handler.
    fn handler(&self, packet: &Packet) -> Time {
        if matches!(packet.kind, kind::USER | kind::CALL) { time(self.machine.ni.handler) } else { 0 }
    }

    /// What an interface with a processor spends on such: as much as to run a handler, for every packet.
    fn working(&self, bytes: usize) -> Time {
        let each = if self.has_processor() { time(self.machine.ni.handler) } else { 0 };
        each.saturating_mul(self.cut(bytes).1)
    }

    /// When an operation that the interface has at `start` has changed the memory of its target, or its handler has run.
    pub fn arrival(&self, start: Time, from: usize, to: usize, load: Load, stages: &mut [Stages]) -> Time {
        let Machine { ni, link, .. } = &self.machine;
        let bytes = load.bytes;
        if from == to {
            // A rank operates on its own memory through its interface, in order; with a processor of its own, that reads
            // what the host asks for, and writes what it answers.
            let each = match (load.at_hand, load.kept) {
                _ if !self.has_processor() => self.copy(bytes),
                (true, true) => 0,
                (false, true) => time(ni.dma_read_start) + transfer(bytes, ni.dma_bandwidth),
                (true, false) => time(ni.dma_write_start) + transfer(bytes, ni.dma_bandwidth),
                (false, false) => self.copy(bytes),
            };
            return Train::of_one(start).pass(each, &mut stages[to].write).handled(load, from, &mut stages[to]);
        }
        let train = self.leave(start, load, link.bandwidth, &mut stages[from]);
        self.enter(train, from, to, load, stages)
    }

    /// When each of `targets` has what the network's own broadcast brings to all at once, for which all of it may have to pass one
    /// crossbar.
    pub fn arrivals(
        &self,
        start: Time,
        from: usize,
        targets: &[usize],
        load: Load,
        stages: &mut [Stages],
        crossbar: &mut Time,
    ) -> Vec<Time> {
        let broadcast = self.machine.hardware.broadcast.as_ref().expect("asked for where there is one");
        let source = &mut stages[from];
        if broadcast.serial {
            source.out = source.out.max(*crossbar);
        }
        let train = self.leave(start, load, broadcast.bandwidth, source);
        *crossbar = source.out;
        targets.iter().map(|to| self.enter(train, from, *to, load, stages)).collect()
    }

    /// Passes the stages of the host that sends.
    fn leave(&self, start: Time, load: Load, bandwidth: f64, source: &mut Stages) -> Train {
        let ni = &self.machine.ni;
        let (piece, count) = self.cut(load.bytes);
        let read_time = if load.at_hand { 0 } else { time(ni.dma_read_start) + transfer(piece, ni.dma_bandwidth) };
        let out_time = time(ni.send + ni.gap) + transfer(piece, bandwidth);
        let train = Train { first: start, last: start, count };
        train.pass(read_time, &mut source.read).pass(out_time, &mut source.out)
    }

    /// Passes the stages of the host that it is for. Bytes come in while they still go out, unless others come in.
    fn enter(&self, train: Train, from: usize, to: usize, load: Load, stages: &mut [Stages]) -> Time {
        let (latency, target) = (self.latency(from, to), &mut stages[to]);
        let ni = &self.machine.ni;
        let (piece, count) = self.cut(load.bytes);
        let wire_time = transfer(piece, self.machine.link.bandwidth);
        let first = train.first.saturating_add(latency).max(target.into.saturating_add(wire_time));
        let rest = (count - 1).saturating_mul(wire_time);
        let last = train.last.saturating_add(latency).max(first.saturating_add(rest));
        target.into = last;
        let write_time = if load.kept { 0 } else { time(ni.dma_write_start) + transfer(piece, ni.dma_bandwidth) };
        let train = Train { first, last, count }.pass(time(ni.receive), &mut target.receive);
        train.pass(write_time, &mut target.write).handled(load, from, target)
    }

    /// Bytes of a packet, and how many there are.
    fn cut(&self, bytes: usize) -> (usize, Time) {
        let packet = self.machine.ni.packet;
        let piece = if packet > 0 { bytes.min(packet) } else { bytes };
        (piece, bytes.div_ceil(piece.max(1)).max(1) as Time)
    }

    /// What the host spends on a copy within its memory.
    pub fn copy(&self, bytes: usize) -> Time {
        let host = &self.machine.host;
        time(host.copy_start) + transfer(bytes, host.copy_bandwidth)
    }

    /// What the host spends before the network's own broadcast beyond a push: the copy into a static buffer, where there are
    /// such, and the start.
    pub fn broadcast_start(&self, bytes: usize) -> Time {
        let broadcast = self.machine.hardware.broadcast.as_ref().expect("asked for where there is one");
        time(broadcast.start) + if broadcast.buffers > 0 { self.copy(bytes) } else { 0 }
    }

    /// The network's own broadcast, if it serves a job of `size` ranks.
    pub fn broadcast(&self, size: usize) -> Option<&HardwareBroadcast> {
        let broadcast = self.machine.hardware.broadcast.as_ref();
        broadcast.filter(|broadcast| self.is_served(broadcast.shape, size))
    }

    /// How long the network's own barrier takes from the last arrival on, if it serves a job of `size` ranks.
    pub fn barrier(&self, size: usize) -> Option<Time> {
        let barrier = self.machine.hardware.barrier.as_ref();
        barrier.filter(|barrier| self.is_served(barrier.shape, size)).map(|barrier| time(barrier.time))
    }

    /// Whether ranks, one on each host from the first on, fill a shape. The other conditions hold by themselves: nobody else
    /// is there.
    fn is_served(&self, shape: Shape, size: usize) -> bool {
        match shape {
            Shape::Any => true,
            Shape::Rectangle => {
                let hosts = self.machine.link.dims.iter().product();
                let row = self.machine.link.dims.first().copied().unwrap_or(usize::MAX);
                size <= row || size <= hosts && size.is_multiple_of(row)
            }
        }
    }

    /// The first byte between the two ranks of `size` that are farthest from each other, and as long again for what
    /// interfaces do.
    pub fn longest_way(&self, size: usize) -> Time {
        let ni = &self.machine.ni;
        let spent = ni.send + ni.receive + ni.handler + ni.dma_read_start + ni.dma_write_start;
        (0..size).map(|to| self.latency(0, to)).max().unwrap_or(0) + time(spent + self.machine.link.latency)
    }

    /// How long the news of a rank's end takes.
    pub fn news(&self) -> Time {
        time(self.machine.link.latency)
    }

    fn latency(&self, from: usize, to: usize) -> Time {
        let link = &self.machine.link;
        let hops = match link.topology {
            Topology::Crossbar | Topology::Switch => 0,
            Topology::Crossbar2d => {
                let row = link.dims.first().copied().unwrap_or(1).max(1);
                (from / row != to / row && from % row != to % row) as usize
            }
            Topology::FatTree => {
                let below = (link.radix / 2).max(2);
                let (mut from, mut to, mut levels) = (from / below, to / below, 0);
                while from != to {
                    (from, to, levels) = (from / below, to / below, levels + 1);
                }
                2 * levels
            }
        };
        time(link.latency + link.hop_latency * hops as f64)
    }
}
