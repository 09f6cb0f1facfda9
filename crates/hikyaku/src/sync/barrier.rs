//! Two barriers, each without reset: counts only grow, so consecutive barriers never mix.
//!
//! * [`Flags`]: the butterfly of the active-message paper (A7) for any number of ranks. In step `k` a rank
//!   writes the barrier's number into flag `k` of the rank `2^k` above it and waits for its own flag `k`.
//!   No line has two writers at a time. The usual choice when every rank has a core.
//! * [`Counter`]: one shared count of arrivals; barrier number `e` is over when `e * ranks` have arrived. Whoever
//!   gets a core sees at one glance whether it may go on. The usual choice when ranks share cores, where each step of a
//!   butterfly would cost a round through the scheduler.

use super::atomic::{AtomicU64, Ordering};
use super::line::Line;
use super::shared;

/// Steps of a butterfly: enough for 2^20 ranks.
pub const STEP_COUNT: usize = if cfg!(loom) { 2 } else { 20 };

shared! {
    /// The flags of one rank, one line per step. Each is written by one peer and read by its owner.
    #[derive(Debug)]
    pub struct Flags([Line<AtomicU64>; STEP_COUNT]);
}

impl Flags {
    /// The peer sets step `step` to barrier number `number`.
    #[inline]
    pub fn set(&self, step: usize, number: u64) {
        self.0[step].store(number, Ordering::Release);
    }

    /// The number of the last barrier that the peer of step `step` has reached.
    #[inline]
    pub fn get(&self, step: usize) -> u64 {
        self.0[step].load(Ordering::Acquire)
    }

    /// Whether the peer of step `step` has reached barrier number `number`.
    #[inline]
    pub fn reached(&self, step: usize, number: u64) -> bool {
        self.get(step) >= number
    }

    /// For models; in a job it is zeroed mapped memory.
    pub fn new() -> Flags {
        Flags(core::array::from_fn(|_| Line(AtomicU64::new(0))))
    }
}

impl Default for Flags {
    fn default() -> Flags {
        Flags::new()
    }
}

/// The partner a rank writes to in `step`, or `None` after the last step.
#[inline]
pub fn partner(rank: usize, size: usize, step: usize) -> Option<usize> {
    let distance = 1usize << step;
    // Without a division, which takes longer than all else that a barrier does by itself.
    let above = rank + distance;
    (distance < size).then(|| if above < size { above } else { above - size })
}

/// How often a rank that shares its core looks for the last arrival before it gives the core away: for less than that takes.
const LAST_TURNS: u32 = 16;

/// Waits a moment for the last arrival, if only one is missing: it may run on another core, and if so, giving this one away
/// would be in vain. True if all have come.
#[inline]
pub fn await_last(missing: impl Fn() -> u64) -> bool {
    for _ in 0..LAST_TURNS {
        match missing() {
            0 => return true,
            1 => std::hint::spin_loop(),
            _ => return false,
        }
    }
    false
}

shared! {
    /// Arrivals of all ranks since the start of the job.
    #[derive(Debug)]
    pub struct Counter(Line<AtomicU64>);
}

impl Counter {
    /// Adds to the count; gives the new one. Who sees it sees what was done before each addition.
    #[inline]
    pub fn add(&self, amount: u64) -> u64 {
        self.0.fetch_add(amount, Ordering::AcqRel).wrapping_add(amount)
    }

    /// The count.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Arrives; true for the one whose arrival ends barrier number `number`.
    #[inline]
    pub fn arrive(&self, size: usize, number: u64) -> bool {
        self.add(1) == number * size as u64
    }

    /// Whether all have arrived at barrier number `number`.
    #[inline]
    pub fn complete(&self, size: usize, number: u64) -> bool {
        self.get() >= number * size as u64
    }

    /// For models; in a job it is zeroed mapped memory.
    pub fn new() -> Counter {
        Counter(Line(AtomicU64::new(0)))
    }
}

impl Default for Counter {
    fn default() -> Counter {
        Counter::new()
    }
}
