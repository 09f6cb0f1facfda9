//! Spin while every rank has a core of its own, then yield, then sleep.
//!
//! A rank with more threads than cores spins only for about as long as an answer takes from a thread that runs now. Then its core goes to
//! another of its threads. So threads of two ranks that talk to each other come to run at the same time, and when they do they go on
//! without a switch, as fast as if there were no others, until the system takes a core away. Whoever has just pushed much expects an answer
//! that takes longer, and does not spin at all: two to sixteen threads of each of two ranks push 64 KB 1.4 to 1.6 times as fast.

use std::time::{Duration, Instant};

/// How long to spin and to yield before sleeping.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    spin: Duration,
    idle: Duration,
    /// Turns of a spinning wait between two looks at the clock, less one: a power of two, so that a turn takes no division.
    clock_mask: u32,
}

impl Pace {
    /// `crowded`: there are more ranks than cores, so spinning only keeps the awaited rank from running.
    pub fn new(crowded: bool) -> Pace {
        let spin = if crowded { Duration::ZERO } else { Duration::from_micros(100) };
        Pace { spin, idle: Duration::from_millis(1), clock_mask: 512 - 1 }
    }

    /// The same where a rank has more threads than cores.
    pub fn packed(self) -> Pace {
        Pace { spin: self.spin.min(PACKED_SPIN), clock_mask: 32 - 1, ..self }
    }

    /// The same for what takes longer than a spin.
    pub fn without_spin(self) -> Pace {
        Pace { spin: Duration::ZERO, ..self }
    }

    #[inline(always)]
    fn first_phase(&self) -> Phase {
        if self.spin.is_zero() { Phase::Yield } else { Phase::Spin }
    }
}

/// The course of one wait.
pub(in crate::ni) struct Turn {
    pace: Pace,
    timeout: Option<Duration>,
    turns: u32,
    /// Taken late: the clock costs as much as a short wait.
    begin: Option<Instant>,
    /// When there was last something to do, as far as the clock was looked at.
    idle_since: Option<Instant>,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Spin,
    Yield,
    Sleep,
}

pub(in crate::ni) enum Step {
    Spin,
    Yield,
    Sleep(Duration),
    Late(Duration),
}

/// A sleeper looks around so often though nobody has woken it: a hostile rank may have spoilt the words by which it is woken, and then
/// the end of that rank ends the wait all the same.
const SLEEP_MAX: Duration = Duration::from_secs(1);
/// Longer than an answer of some kilobytes takes, and than a peer needs for some dozens of short messages. No longer, since it is lost where
/// the peer does not run, and where the answer is long: then others may run meanwhile.
const PACKED_SPIN: Duration = Duration::from_micros(3);
/// Turns of a spinning wait between two looks at messages and departures.
const LOOK_AROUND_TURNS: u32 = 16;
/// Turns of a wait that yields from the beginning, before it looks at the clock for the first time: where ranks share cores, most waits
/// are over by then, and a look takes about as long as all else that they do between two yields.
const UNTIMED_YIELDS: u32 = 4;

impl Turn {
    pub fn new(pace: Pace, timeout: Option<Duration>) -> Turn {
        Turn { pace, timeout, turns: 0, begin: None, idle_since: None, phase: pace.first_phase() }
    }

    /// Of a wait that goes on where another one slept: it sleeps at once.
    #[cold]
    pub fn resumed(pace: Pace, timeout: Option<Duration>) -> Turn {
        Turn { phase: Phase::Sleep, ..Turn::new(pace, timeout) }
    }

    /// Begins again with spinning; the timeout goes on.
    #[inline(always)]
    pub fn restart(&mut self) {
        self.phase = self.pace.first_phase();
        self.idle_since = None;
    }

    #[inline(always)]
    pub fn look_around(&self) -> bool {
        self.phase != Phase::Spin || self.turns % LOOK_AROUND_TURNS == LOOK_AROUND_TURNS - 1
    }

    #[inline(always)]
    pub fn next(&mut self) -> Step {
        self.turns = self.turns.wrapping_add(1);
        if self.phase == Phase::Spin && self.turns & self.pace.clock_mask != 0 {
            return Step::Spin;
        }
        if self.phase == Phase::Yield
            && self.turns <= UNTIMED_YIELDS
            && self.timeout.is_none_or(|most| most >= self.pace.idle)
        {
            return Step::Yield;
        }
        self.slow_next()
    }

    #[cold]
    fn slow_next(&mut self) -> Step {
        let now = Instant::now();
        let waited = now - *self.begin.get_or_insert(now);
        let idle = now - *self.idle_since.get_or_insert(now);
        if let Some(timeout) = self.timeout.filter(|timeout| waited >= *timeout) {
            return Step::Late(timeout);
        }
        if self.phase == Phase::Spin && idle >= self.pace.spin {
            self.phase = Phase::Yield;
        }
        if self.phase == Phase::Yield && idle >= self.pace.idle {
            self.phase = Phase::Sleep;
        }
        match self.phase {
            Phase::Spin => Step::Spin,
            Phase::Yield => Step::Yield,
            Phase::Sleep => Step::Sleep(self.timeout.map_or(SLEEP_MAX, |timeout| (timeout - waited).min(SLEEP_MAX))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first steps of a wait.
    fn begins(pace: Pace) -> [bool; 2] {
        let mut turn = Turn::new(pace, None);
        [turn.next(), turn.next()].map(|step| matches!(step, Step::Spin))
    }

    #[test]
    fn nobody_spins_for_what_takes_longer_than_a_spin() {
        let packed = Pace::new(false).packed();
        assert_eq!(begins(packed), [true, true]);
        assert_eq!(begins(packed.without_spin()), [false, false]);
        assert_eq!(begins(Pace::new(true).packed()), [false, false]);
    }
}
