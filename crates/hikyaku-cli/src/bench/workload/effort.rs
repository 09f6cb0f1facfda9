//! How often things are done until a figure is a figure.

/// See above.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Every test is run once in each, so that a slow moment of the machine hits all alike.
    pub repetitions: usize,
    /// Round trips per repetition of a latency test.
    pub round_trips: u64,
    /// Operations per repetition of a one-sided test.
    pub operations: u64,
    /// Entries that pass the ring in the rate test of pushes.
    pub ring_entries: u64,
    /// Windows in the rate test of messages.
    pub windows: u64,
    /// Bytes moved per repetition of a bandwidth test, at most, and operations that move them, at most.
    pub bandwidth_bytes: usize,
    pub bandwidth_operations: usize,
    /// Calls in a row of a collective at most; otherwise as many as take a while.
    pub calls: Option<usize>,
    /// Whether there is a machine below whose limits can be measured, and whose caches matter.
    pub physical: bool,
}

impl Effort {
    /// Repetitions are many and short: where others use the machine too, some are left undisturbed.
    pub const MACHINE: Effort = Effort {
        repetitions: 9,
        round_trips: 5_000,
        operations: 50_000,
        ring_entries: 200_000,
        windows: 600,
        bandwidth_bytes: 96 << 20,
        bandwidth_operations: 50_000,
        calls: None,
        physical: true,
    };

    /// In virtual time nothing disturbs: just enough that the begin and the end of a test do not count.
    pub const SIMULATED: Effort = Effort {
        repetitions: 1,
        round_trips: 160,
        operations: 200,
        ring_entries: 4096,
        windows: 20,
        bandwidth_bytes: 4 << 20,
        bandwidth_operations: 200,
        calls: Some(16),
        physical: false,
    };

    /// Round trips where data are longer than a line or two.
    pub fn long_round_trips(&self) -> u64 {
        self.round_trips / 8
    }

    /// Calls in a row of a collective of that size, if that is known beforehand.
    pub fn calls_for(&self, bytes: usize) -> Option<u64> {
        let fit = self.bandwidth_bytes / 8 / bytes.max(1);
        self.calls.map(|most| fit.clamp(2, most) as u64)
    }

    /// Operations of a bandwidth test of that size.
    pub fn rounds_for(&self, bytes: usize) -> usize {
        (self.bandwidth_bytes / bytes).clamp(2, self.bandwidth_operations)
    }
}
