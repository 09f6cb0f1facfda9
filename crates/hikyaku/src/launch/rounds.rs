//! The memory of a host's ranks, in rounds: a wrapper may run one program after the other, as `sh -c './first; ./second'` does, and each
//! joins a job of the same ranks with a memory of its own. Ranks go from round to round by themselves, so one may be ahead of another.

use crate::error::Result;
use crate::ni::random;
use crate::transport::shm::layout::{CHOICE_WORDS, JobMemory, Layout};
use std::collections::VecDeque;

/// One program of each rank.
pub(super) struct Round {
    pub memory: JobMemory,
    /// The number of its job.
    pub job: u64,
}

/// The rounds in which some rank still is, or may come to be.
pub(super) struct Rounds {
    /// The number of the first that is kept.
    first: usize,
    kept: VecDeque<Round>,
    layout: Layout,
    choices: [u64; CHOICE_WORDS],
}

impl Rounds {
    /// The first round.
    pub fn new(layout: Layout, choices: [u64; CHOICE_WORDS], job: u64) -> Result<Rounds> {
        let memory = JobMemory::create(layout, choices)?;
        Ok(Rounds { first: 0, kept: VecDeque::from([Round { memory, job }]), layout, choices })
    }

    /// A round that a rank is in.
    pub fn of(&self, number: usize) -> &Round {
        &self.kept[number - self.first]
    }

    /// A round, if it is still kept.
    pub fn get(&self, number: usize) -> Option<&Round> {
        self.kept.get(number.checked_sub(self.first)?)
    }

    /// The round after all others, if it is this one; gives its memory.
    pub fn begin(&mut self, number: usize) -> Result<Option<&JobMemory>> {
        if number < self.first + self.kept.len() {
            return Ok(None);
        }
        let memory = JobMemory::create(self.layout, self.choices)?;
        self.kept.push_back(Round { memory, job: random()? });
        Ok(self.kept.back().map(|round| &round.memory))
    }

    /// No rank is in a round before this one any more.
    pub fn forget_before(&mut self, number: usize) {
        while self.first < number && self.kept.len() > 1 {
            self.kept.pop_front();
            self.first += 1;
        }
    }

    /// The round of this number and those after it.
    pub fn from(&self, number: usize) -> impl Iterator<Item = &Round> {
        self.kept.iter().skip(number.saturating_sub(self.first))
    }

    /// All with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Round)> {
        (self.first..).zip(&self.kept)
    }
}
