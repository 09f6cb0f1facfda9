//! Runs for tests in which chance decides what goes wrong: packets that are lost, a rank that dies, memory that is written in any order.

use super::Sim;
use crate::error::{Error, Result};
use crate::transport::sim::chance::Chance;
use crate::transport::sim::faults::{Crash, Faults};
use crate::transport::sim::machine::Machine;
use crate::transport::sim::nic::NicOrder;
use std::time::Duration;

/// One run, and what may go wrong in it.
pub(crate) struct Trial {
    pub sim: Sim,
    pub hosts: usize,
    /// The rank that dies, if one does.
    pub mortal: Option<usize>,
}

impl Trial {
    /// Ranks over some hosts. Whoever dies does so within this time.
    pub fn new(seed: u64, size: usize, within: Duration, chance: &mut Chance) -> Trial {
        let hosts = 1 + chance.below(3) as usize;
        let (rank, dies) = (chance.below(size as u64) as usize, chance.below(2) == 0);
        let at = Duration::from_nanos(chance.below(within.as_nanos() as u64));
        let crashes = if dies { vec![Crash { rank, at }] } else { Vec::new() };
        let wire = if chance.below(3) == 0 { Faults::of_wire(0.05) } else { Faults::default() };
        let sim = Sim::new(Machine::plain(), size, seed).hosts(move |rank| rank % hosts);
        let sim = match chance.below(5) {
            0 => sim.remote_memory(NicOrder::AnyOrder),
            1 => sim.remote_memory(NicOrder::InOrder),
            _ => sim,
        };
        Trial { sim: sim.faults(Faults { crashes, ..wire }), hosts, mortal: dies.then_some(rank) }
    }
}

/// Whether this is how a rank may end in a run in which `mortal` dies. One that dies itself has no result.
pub(crate) fn may_end<T>(mortal: Option<usize>, rank: usize, result: &Option<Result<T>>) -> bool {
    match result {
        None => mortal == Some(rank),
        Some(Ok(_)) => true,
        // Others leave early when they have noticed it.
        Some(Err(Error::PeerLeft { .. })) => mortal.is_some(),
        Some(Err(error)) => mortal.is_some() && error.rank() == mortal,
    }
}

/// Runs each of these seeds; tells which has failed.
///
/// # Panics
/// If one has.
pub(crate) fn check(seeds: std::ops::Range<u64>, run: fn(u64) -> Result<()>) {
    for seed in seeds {
        let ran = std::panic::catch_unwind(|| run(seed)).unwrap_or_else(|_| panic!("seed {seed}: see above"));
        ran.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}
