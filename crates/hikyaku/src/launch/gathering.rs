//! Who has come at the start of a job over several hosts: its ranks are welcomed when all have said how they are reached.

use super::host::Departure;
use crate::job::wire::Absence;
use std::time::{Duration, Instant};

/// Who has come so far.
pub(super) struct Gathering {
    /// How each rank is reached that has come.
    arrived: Vec<Option<Box<[u8]>>>,
    missing: usize,
    patience: Duration,
    stage: Stage,
    /// The first rank that has ended before all had come.
    absent: Option<(usize, Absence)>,
}

enum Stage {
    /// Nobody has come: the program may not know of the library at all.
    Empty,
    /// Some have, and wait for the others until then.
    Waiting(Instant),
    /// All are told what there is to tell.
    Over,
}

/// What those who have come are to be told.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// How each rank is reached.
    Table(Vec<Box<[u8]>>),
    /// That there is no job, for want of this rank.
    Refusal(usize, Absence),
}

impl Gathering {
    /// Of `size` ranks that wait for each other for so long.
    pub fn new(size: usize, patience: Duration) -> Gathering {
        Gathering { arrived: vec![None; size], missing: size, patience, stage: Stage::Empty, absent: None }
    }

    /// A rank has come; false if it cannot have.
    pub fn arrived(&mut self, rank: usize, endpoint: Box<[u8]>, now: Instant) -> bool {
        if let Stage::Over = self.stage {
            // It was on its way here while all were told: its agent tells it too.
            return true;
        }
        let is_new = self.arrived[rank].is_none();
        if is_new {
            self.arrived[rank] = Some(endpoint);
            self.missing -= 1;
        }
        if let Stage::Empty = self.stage {
            self.stage = Stage::Waiting(now + self.patience);
        }
        is_new
    }

    /// A rank has ended.
    pub fn ended(&mut self, rank: usize, departure: &Departure) {
        if self.absent.is_none() {
            let absence = if departure.state.has_left() { Absence::Left } else { Absence::Dead };
            self.absent = Some((rank, absence));
        }
    }

    /// Until when those who have come wait for the others.
    pub fn deadline(&self) -> Option<Instant> {
        match self.stage {
            Stage::Waiting(at) => Some(at),
            Stage::Empty | Stage::Over => None,
        }
    }

    /// What is to be said now. It is said once.
    pub fn verdict(&mut self, now: Instant) -> Option<Verdict> {
        let Stage::Waiting(deadline) = self.stage else { return None };
        let verdict = if let Some((rank, absence)) = self.absent {
            Verdict::Refusal(rank, absence)
        } else if self.missing == 0 {
            Verdict::Table(self.arrived.iter_mut().filter_map(Option::take).collect())
        } else if now >= deadline {
            let first = self.missing().next().unwrap_or(0);
            Verdict::Refusal(first, Absence::Late(self.patience))
        } else {
            return None;
        };
        self.stage = Stage::Over;
        Some(verdict)
    }

    /// Who has not come.
    pub fn missing(&self) -> impl Iterator<Item = usize> {
        (0..self.arrived.len()).filter(|rank| self.arrived[*rank].is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::shm::layout::State;

    const PATIENCE: Duration = Duration::from_secs(5);

    fn name(rank: usize) -> Box<[u8]> {
        vec![rank as u8; 3].into()
    }

    #[test]
    fn all_are_told_of_all() {
        let (mut gathering, now) = (Gathering::new(3, PATIENCE), Instant::now());
        assert_eq!((gathering.deadline(), gathering.verdict(now + PATIENCE)), (None, None), "nobody waits");
        for rank in [2, 0] {
            assert!(gathering.arrived(rank, name(rank), now));
            assert!(!gathering.arrived(rank, name(rank), now), "twice");
            assert_eq!(gathering.verdict(now), None);
        }
        assert_eq!(gathering.deadline(), Some(now + PATIENCE));
        gathering.arrived(1, name(1), now);
        assert_eq!(gathering.verdict(now), Some(Verdict::Table((0..3).map(name).collect())));
        assert!(gathering.arrived(1, name(1), now), "too late to matter");
        assert_eq!((gathering.verdict(now + PATIENCE), gathering.deadline()), (None, None), "said once");
    }

    #[test]
    fn whoever_waits_hears_who_does_not_come() {
        let now = Instant::now();
        let some_of_three = || {
            let mut gathering = Gathering::new(3, PATIENCE);
            gathering.arrived(1, name(1), now);
            gathering
        };
        let mut gathering = some_of_three();
        assert_eq!(gathering.verdict(now + PATIENCE), Some(Verdict::Refusal(0, Absence::Late(PATIENCE))));
        assert_eq!(gathering.missing().collect::<Vec<_>>(), [0, 2]);
        for (state, absence) in [(State::Left, Absence::Left), (State::Dead, Absence::Dead)] {
            let mut gathering = some_of_three();
            gathering.ended(2, &Departure { state, arrivals: 0 });
            assert_eq!(gathering.verdict(now), Some(Verdict::Refusal(2, absence)));
            let mut gathering = some_of_three();
            gathering.ended(1, &Departure { state, arrivals: 0 });
            assert_eq!(gathering.verdict(now), Some(Verdict::Refusal(1, absence)), "one that had come");
        }
        // Whoever comes after an end hears of it as well.
        let mut gathering = Gathering::new(3, PATIENCE);
        gathering.ended(0, &Departure { state: State::Left, arrivals: 0 });
        assert_eq!(gathering.verdict(now), None, "nobody waits");
        gathering.arrived(1, name(1), now);
        assert_eq!(gathering.verdict(now), Some(Verdict::Refusal(0, Absence::Left)));
    }
}
