//! Which numbered frames have come already: none is taken twice.

use crate::planted::{Bug, planted};

/// Frames that may be overtaken. One that was overtaken by more is refused; its message is sent again under another number.
const WINDOW: u64 = 2048;
const WORD_COUNT: usize = (WINDOW / 64) as usize;

/// The latest numbers that have come.
#[derive(Debug)]
pub struct Replay {
    /// One more than the highest.
    end: u64,
    /// A bit for each number of the window before that, by the number.
    seen: [u64; WORD_COUNT],
}

impl Replay {
    pub fn new() -> Replay {
        Replay { end: 0, seen: [0; WORD_COUNT] }
    }

    /// The highest number that has come; `None` before any has.
    pub fn highest(&self) -> Option<u64> {
        self.end.checked_sub(1)
    }

    /// Whether this number has not come before, as far as is known; from now on it has.
    #[inline]
    pub fn is_new(&mut self, number: u64) -> bool {
        if number == u64::MAX {
            return false;
        }
        if number >= self.end {
            let passed = (number - self.end).min(WINDOW);
            for skipped in number - passed..number {
                self.seen[(skipped / 64) as usize % WORD_COUNT] &= !(1 << (skipped % 64));
            }
            self.end = number + 1;
        } else {
            let is_known = self.seen[(number / 64) as usize % WORD_COUNT] >> (number % 64) & 1 == 1;
            let is_old = self.end - number > WINDOW && !planted(Bug::OldFramesTaken);
            if is_known && !planted(Bug::ReplaysTaken) || is_old {
                return false;
            }
        }
        self.seen[(number / 64) as usize % WORD_COUNT] |= 1 << (number % 64);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Beside a set that remembers everything: nothing is taken twice, and nothing within the window is refused.
        #[test]
        fn no_number_is_taken_twice(steps in proptest::collection::vec(prop_oneof![-70..70i64, -3000..3000i64], 1..400)) {
            let mut replay = Replay::new();
            let mut all = std::collections::HashSet::new();
            let mut at = 1u64 << 40;
            for step in steps {
                at = at.wrapping_add_signed(step);
                let is_recent = replay.highest().is_none_or(|highest| at + WINDOW > highest);
                let is_first = all.insert(at);
                prop_assert_eq!(replay.is_new(at), is_first && is_recent);
                prop_assert!(!replay.is_new(at));
            }
        }
    }

    #[test]
    fn planted_bugs_are_caught() {
        crate::planted::catches(the_ends_of_the_range, &[Bug::ReplaysTaken, Bug::OldFramesTaken]);
    }

    #[test]
    fn the_ends_of_the_range() {
        let mut replay = Replay::new();
        assert!(replay.is_new(0) && !replay.is_new(0) && replay.is_new(u64::MAX - 1));
        assert!(!replay.is_new(u64::MAX) && !replay.is_new(0));
    }
}
