//! Ranks that this one cannot reach any more.

use crate::sync::brief::lock;
use crate::transport::core::Loss;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// See above.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    count: AtomicU64,
    /// Whether a call has failed because of one of them.
    missed: AtomicBool,
    /// Why.
    ranks: Mutex<HashMap<usize, Loss>>,
}

impl Lost {
    /// How many there are. Read in every wait.
    #[inline(always)]
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Whether there is none; else what was done before the loss was noted can be seen.
    pub fn is_none(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Why a rank cannot be reached, if it cannot.
    pub fn why(&self, rank: usize) -> Option<Loss> {
        match self.is_none() {
            true => None,
            false => lock(&self.ranks).get(&rank).cloned(),
        }
    }

    pub fn add(&self, rank: usize, why: Loss) {
        let mut ranks = lock(&self.ranks);
        ranks.entry(rank).or_insert(why);
        self.count.store(ranks.len() as u64, Ordering::Release);
    }

    /// A call fails because of one of them.
    pub fn note_missed(&self) {
        self.missed.store(true, Ordering::Relaxed);
    }

    /// Whether a call has failed because of one of them.
    pub fn is_missed(&self) -> bool {
        self.missed.load(Ordering::Relaxed)
    }
}
