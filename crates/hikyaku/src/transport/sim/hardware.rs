//! What the simulated network does for all ranks at once, where the model of the machine says so: its own broadcast and barrier.
//!
//! On a wire with faults a broadcast goes over the reliable link to each rank. The barrier is a line of its own, which
//! loses nothing; a rank that dies never comes to it.

use super::agenda::What;
use super::course::{Course, Time, queue};
use super::endpoint::Endpoint;
use super::wire::Wire;
use crate::error::Result;
use crate::transport::Parcel;
use crate::transport::hardware::{Multicast, NetworkBarrier};
use crate::transport::packet::Class;
use std::collections::HashMap;

/// What changes.
#[derive(Default)]
pub(super) struct Hardware {
    /// When the crossbar is free that all broadcasts pass.
    crossbar: Time,
    /// How many ranks have come to a barrier, and when the last of them does, by its color: a program may be ahead.
    arrivals: HashMap<u64, (usize, Time)>,
}

impl Course {
    /// Sends a packet to all other ranks; false while too many are under way to one of them.
    fn multicast(&mut self, wire: &Wire, parcel: &Parcel) -> bool {
        let (from, packet, payload) = (parcel.source, &parcel.packet, &parcel.payload);
        let targets: Vec<usize> =
            (0..self.ranks.len()).filter(|to| *to != from && !self.ranks[*to].forgotten).collect();
        let queues: Vec<_> = targets.iter().map(|to| queue(from, *to, packet)).collect();
        if queues.iter().any(|queue| self.crowd.get(queue).is_some_and(|crowd| *crowd >= self.crowd_max)) {
            return false;
        }
        if self.ranks[from].dead {
            return true;
        }
        queues.into_iter().for_each(|queue| *self.crowd.entry(queue).or_default() += 1);
        let (cost, before) = (wire.cost(packet), wire.broadcast_start(payload.len()));
        let start = self.now + self.ranks[from].debt + before + cost.start;
        self.ranks[from].debt += before + cost.busy;
        self.ranks[from].under_way += targets.len();
        if self.mesh.is_some() {
            targets.into_iter().for_each(|to| self.post(wire, to, start, parcel));
            return true;
        }
        let load = wire.load(packet, payload.len(), false, false);
        let crossbar = &mut self.hardware.crossbar;
        let arrivals = wire.arrivals(start, from, &targets, load, &mut self.stages, crossbar);
        for (to, arrived) in targets.into_iter().zip(arrivals) {
            self.trace(from, to, Class::of(packet).name(), load.bytes, start, arrived);
            let parcel = Box::new(Parcel { payload: payload.clone(), ..*parcel });
            self.plan(arrived, What::Arrival { to, parcel });
        }
        true
    }

    /// A rank has come to the barrier of a color, which takes `time` from the last one on.
    fn arrive(&mut self, rank: usize, color: u64, time: Time) {
        if self.ranks[rank].dead {
            return;
        }
        let (size, comes) = (self.ranks.len(), self.now + self.ranks[rank].debt);
        let (arrived, latest) = self.hardware.arrivals.entry(color).or_default();
        (*arrived, *latest) = (*arrived + 1, comes.max(*latest));
        if *arrived == size {
            let start = *latest;
            self.hardware.arrivals.remove(&color);
            self.plan(start + time, What::Passed { color });
        }
    }

    /// All ranks have come to the barrier of a color.
    pub(super) fn pass_barrier(&mut self, color: u64) {
        for rank in 0..self.ranks.len() {
            self.ranks[rank].passed.push(color);
            self.wake(rank, false);
        }
    }
}

impl Multicast for Endpoint {
    fn multicast(&self, parcel: &Parcel) -> Result<bool> {
        Ok(self.world.course().multicast(&self.world.wire, parcel))
    }

    fn buffer_bytes(&self) -> Option<usize> {
        let broadcast = self.world.wire.broadcast(self.world.size());
        broadcast.map(|broadcast| broadcast.buffer_bytes).filter(|bytes| *bytes > 0)
    }
}

impl NetworkBarrier for Endpoint {
    fn arrive(&self, color: u64) {
        let time = self.world.wire.barrier(self.world.size()).expect("asked for where there is one");
        self.world.course().arrive(self.rank, color, time);
    }

    fn has_passed(&self, color: u64) -> bool {
        let passed = &mut self.world.course().ranks[self.rank].passed;
        let found = passed.iter().position(|other| *other == color);
        found.map(|index| passed.swap_remove(index)).is_some()
    }
}
