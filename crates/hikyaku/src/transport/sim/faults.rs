//! What goes wrong on a simulated machine: by chance, or by a script.

use super::chance::Chance;
use super::course::Time;
use crate::error::{Error, Result};
use std::time::Duration;

/// What goes wrong. Nothing by default.
///
/// With anything that concerns the wire, packets travel over reliable links, as they would on
/// a fabric that promises nothing.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Probability that a frame is lost.
    pub loss: f64,
    /// Probability that a frame arrives twice.
    pub duplication: f64,
    /// Probability that a frame is held up, for up to [`Faults::delay`], so that others overtake it.
    pub reordering: f64,
    /// Probability that some bits of a frame are turned.
    pub corruption: f64,
    /// How long a frame is held up at most; 0: ten times the way to the farthest rank.
    pub delay: Duration,
    /// Times in which some ranks do not reach others.
    pub partitions: Vec<Partition>,
    /// Ranks that die.
    pub crashes: Vec<Crash>,
    /// Ranks that are slow.
    pub slow: Vec<Slow>,
    /// Packets of one rank to another that may be under way or not handled, if not the usual number.
    pub buffers: Option<usize>,
}

/// For some time, frames of some ranks to all others are lost.
#[derive(Clone, Debug)]
pub struct Partition {
    /// The ranks that are cut off.
    pub ranks: Vec<usize>,
    /// Frames to them are lost too.
    pub both_ways: bool,
    /// From when.
    pub start: Duration,
    /// Until when.
    pub end: Duration,
}

/// A rank dies, as by SIGKILL.
#[derive(Clone, Copy, Debug)]
pub struct Crash {
    /// Which one.
    pub rank: usize,
    /// When.
    pub at: Duration,
}

/// A rank takes longer for everything its program does in the library.
#[derive(Clone, Copy, Debug)]
pub struct Slow {
    /// Which one.
    pub rank: usize,
    /// So many times as long.
    pub factor: f64,
}

/// What becomes of a frame: how much later each of its copies arrives.
pub(super) struct Fate {
    pub copies: Vec<Time>,
    /// Which bit of it is turned, of a frame that is damaged.
    pub damage: Option<u64>,
}

impl Faults {
    /// One chance for each of loss, duplication and reordering.
    pub fn of_wire(probability: f64) -> Faults {
        Faults { loss: probability, duplication: probability, reordering: probability, ..Faults::default() }
    }

    /// Fails if they concern ranks that do not exist.
    pub(crate) fn check(&self, size: usize) -> Result<()> {
        let cut_off = self.partitions.iter().flat_map(|partition| &partition.ranks).copied();
        let crashing = self.crashes.iter().map(|crash| crash.rank);
        match cut_off.chain(crashing).chain(self.slow.iter().map(|slow| slow.rank)).find(|rank| *rank >= size) {
            Some(rank) => Err(Error::NoSuchRank { rank, size }),
            None => Ok(()),
        }
    }

    /// Whether frames may not arrive as they were sent, or not at all.
    pub(super) fn concern_wire(&self) -> bool {
        let chances = [self.loss, self.duplication, self.reordering, self.corruption];
        chances.iter().any(|chance| *chance > 0.0) || !self.partitions.is_empty() || !self.crashes.is_empty()
    }

    /// How many times as long a rank takes.
    pub(super) fn slowness(&self, rank: usize) -> f64 {
        self.slow.iter().find(|slow| slow.rank == rank).map_or(1.0, |slow| slow.factor)
    }

    /// What becomes of a frame that leaves `from` for `to` at `time`.
    pub(super) fn fate(&self, chance: &mut Chance, from: usize, to: usize, time: Time, delay: Time) -> Fate {
        let delay = if self.delay.is_zero() { delay } else { picoseconds(self.delay) };
        let mut copies = Vec::new();
        let cut = self.partitions.iter().any(|partition| partition.cuts(from, to, time));
        // The same numbers are drawn whatever happens, so that one fault more or less does not change all others.
        let (lost, twice, late, damaged) = (
            chance.happens(self.loss),
            chance.happens(self.duplication),
            chance.happens(self.reordering),
            chance.happens(self.corruption),
        );
        let (first, second, bit) = (chance.below(delay), chance.below(delay), chance.next());
        if !cut && !lost {
            copies.push(if late { first } else { 0 });
        }
        if !cut && twice {
            copies.push(second);
        }
        Fate { copies, damage: damaged.then_some(bit) }
    }
}

impl Partition {
    fn cuts(&self, from: usize, to: usize, time: Time) -> bool {
        let during = (picoseconds(self.start)..picoseconds(self.end)).contains(&time);
        let (leaves, enters) = (self.ranks.contains(&from), self.ranks.contains(&to));
        during && leaves != enters && (leaves || self.both_ways)
    }
}

pub(super) fn picoseconds(duration: Duration) -> Time {
    (duration.as_nanos() as Time).saturating_mul(1000)
}
