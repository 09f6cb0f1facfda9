//! How the other ranks are, as this one sees it.
//!
//! Ranks of the same host say so in its memory. Of ranks of other hosts the host's memory holds what was told here; and what a
//! rank finds out by itself, that one cannot be reached any more, it keeps to itself. So views may differ for a while.

use super::Ni;
use super::wait::By;
use crate::error::{Error, Result};
use crate::planted::{Bug, planted};
use crate::transport::core::Loss;
use crate::transport::shm::layout::State;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Ranks that this one cannot reach any more.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    count: AtomicU64,
    /// Why.
    ranks: Mutex<HashMap<usize, Loss>>,
}

impl Lost {
    fn why(&self, rank: usize) -> Option<Loss> {
        match self.count.load(Ordering::Acquire) {
            0 => None,
            _ => self.ranks.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get(&rank).cloned(),
        }
    }

    fn add(&self, rank: usize, why: Loss) {
        let mut ranks = self.ranks.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        ranks.entry(rank).or_insert(why);
        self.count.store(ranks.len() as u64, Ordering::Release);
    }
}

impl Ni {
    /// Moves on whenever a rank has ended or was lost. Read in every wait.
    #[inline(always)]
    pub(crate) fn departures(&self) -> u64 {
        self.memory.header().departures.load(Ordering::Relaxed) + self.lost.count.load(Ordering::Relaxed)
    }

    /// Whether no rank has died or was lost.
    pub(crate) fn has_no_deaths(&self) -> bool {
        self.memory.header().deaths.load(Ordering::Acquire) == 0 && self.lost.count.load(Ordering::Acquire) == 0
    }

    /// How a rank is, which exists.
    #[cold]
    pub(crate) fn state_of(&self, rank: usize) -> State {
        match self.near_block(rank) {
            Some(block) => block.life.state(),
            None => match (self.memory.news_of(rank).0, self.lost.why(rank)) {
                (_, None) if planted(Bug::NewsUnread) => State::Joined,
                (told, None) => told,
                (State::Dead, Some(_)) => State::Dead,
                // One that has left was lost before if its farewell did not come: what it sent may be missing.
                (_, Some(Loss::Left)) => State::Left,
                (_, Some(Loss::Dead)) => State::Dead,
                (_, Some(Loss::Unreachable(_))) => State::Unreachable,
            },
        }
    }

    /// How many barriers a rank had come to that has left: to all, as long as only it has said so itself.
    fn arrivals_of(&self, rank: usize) -> u64 {
        match self.near_block(rank) {
            Some(block) => block.life.arrivals.load(Ordering::Acquire),
            None => match self.memory.news_of(rank) {
                (state, arrivals) if state.is_over() => arrivals,
                _ => u64::MAX,
            },
        }
    }

    /// This rank waits for another, whose silence must not go unnoticed.
    #[cold]
    pub(crate) fn watch(&self, by: By) {
        if let (By::Rank(rank), Some(far)) = (by, &self.far)
            && !self.is_near(rank)
        {
            far.watch(rank);
        }
    }

    /// A rank cannot be reached any more.
    pub(crate) fn lose(&self, rank: usize, why: Loss) {
        if planted(Bug::LossForgotten) {
            return;
        }
        self.lost.add(rank, why);
        // What sleeps here may wait for it.
        self.mine().bell.ring_all();
    }

    /// The error of a rank in this state, unless it takes part.
    pub(crate) fn end_of(&self, rank: usize) -> Option<Error> {
        match self.state_of(rank) {
            State::Starting | State::Joined => None,
            State::Left => Some(Error::PeerLeft { rank }),
            State::Dead => Some(Error::PeerDead { rank }),
            State::Unreachable => self.lost.why(rank).map(|why| why.error(rank)),
        }
    }

    /// Fails if `by` has ended.
    #[cold]
    pub fn check_departed(&self, by: By) -> Result<()> {
        match by {
            By::Rank(rank) => {
                self.check_rank(rank)?;
                self.end_of(rank).map_or(Ok(()), Err)
            }
            By::Barrier(number) => {
                let misses = |rank: usize| match self.end_of(rank)? {
                    Error::PeerLeft { rank } if self.arrivals_of(rank) >= number => None,
                    error => Some(error),
                };
                (0..self.size()).find_map(misses).map_or(Ok(()), Err)
            }
            By::Anyone => {
                let mut left = None;
                let mut present = false;
                for rank in (0..self.size()).filter(|rank| *rank != self.rank) {
                    match self.end_of(rank) {
                        None => present = true,
                        Some(error @ Error::PeerLeft { .. }) => left = Some(error),
                        Some(error) => return Err(error),
                    }
                }
                // Nobody is left who could end the wait.
                left.filter(|_| !present).map_or(Ok(()), Err)
            }
        }
    }
}
