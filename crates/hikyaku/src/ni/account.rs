//! Routed operations under way: how many to each rank, which status words wait for them, what was refused.
//!
//! One account per port, in private memory: the port's holder starts operations, whichever thread runs the engine
//! finishes them.
//!
//! ```text
//!   port                                       engine (one thread at a time)
//!   note the status word, if any; started += 1
//!   send the operation                         answered: write the status word, inside the lock
//!                                              refused: keep the refusal
//!   done, acquired, is not less than started?  done += 1, released
//!   then every status word is written, and every refusal can be seen
//! ```

use crate::sync::atomic::{AtomicU64, Mutex, MutexGuard, Ordering};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

/// The account of one port.
#[derive(Debug, Default)]
pub struct Account {
    /// Per rank; made when the first operation is routed, which most ports never do.
    ranks: OnceLock<Box<[Balance]>>,
    /// The number of the last operation started.
    number: AtomicU64,
    /// The first refusal that nobody has heard of yet: (rank + 1) << 32 | reason.
    refusal: AtomicU64,
    /// Status words to write when an operation is done: its number -> (address, value).
    statuses: Mutex<HashMap<u64, StatusWord>>,
}

/// Operations to one rank.
#[derive(Debug, Default)]
struct Balance {
    started: AtomicU64,
    done: AtomicU64,
}

/// A word of own job memory, and what to write there.
pub type StatusWord = (*mut u8, u64);

// SAFETY: the addresses in `statuses` lead into job memory, which every thread may write atomically.
unsafe impl Send for Account {}
// SAFETY: as above.
unsafe impl Sync for Account {}

impl Account {
    /// Begins an operation to `rank` of `size`; gives its number.
    pub fn start(&self, rank: usize, size: usize, status: Option<StatusWord>) -> u64 {
        let ranks = self.ranks.get_or_init(|| (0..size).map(|_| Balance::default()).collect());
        ranks[rank].started.fetch_add(1, Ordering::Relaxed);
        let number = self.number.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(status) = status {
            self.statuses().insert(number, status);
        }
        number
    }

    /// Ends an operation, whatever came of it; `write` gets the status word that waits for it, before anyone who
    /// waits for the operation itself goes on.
    pub fn finish(&self, rank: usize, number: u64, write: impl FnOnce(StatusWord)) {
        {
            // Inside the lock, which whoever frees the word takes first.
            let mut statuses = self.statuses();
            statuses.remove(&number).map(write);
        }
        if let Some(balance) = self.balance(rank) {
            balance.done.fetch_add(1, Ordering::Release);
        }
    }

    /// Forgets status words at these addresses, which are about to be freed.
    pub fn forget_statuses(&self, addresses: Range<usize>) {
        self.statuses().retain(|_, (word, _)| !addresses.contains(&(*word as usize)));
    }

    /// Whether all operations to `rank` have ended.
    pub fn is_settled(&self, rank: usize) -> bool {
        self.balance(rank)
            .is_none_or(|balance| balance.done.load(Ordering::Acquire) >= balance.started.load(Ordering::Relaxed))
    }

    /// The ranks to which operations are under way.
    pub fn unsettled(&self) -> Vec<usize> {
        let count = self.ranks.get().map_or(0, |ranks| ranks.len());
        (0..count).filter(|rank| !self.is_settled(*rank)).collect()
    }

    /// Gives up what is under way to a rank that has ended. Should an answer come all the same, more is done than was
    /// started: nothing will be started any more to a rank that has ended.
    pub fn write_off(&self, rank: usize) {
        if let Some(balance) = self.balance(rank) {
            balance.done.fetch_max(balance.started.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Keeps a refusal until somebody asks.
    pub fn refuse(&self, rank: usize, reason: u64) {
        let code = (rank as u64 + 1) << 32 | reason & 0xffff_ffff;
        let _ = self.refusal.compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The first refusal since the last time somebody asked: the rank, and its reason.
    pub fn take_refusal(&self) -> Option<(usize, u64)> {
        // Mostly there is none, and then a look costs less than an exchange.
        if self.refusal.load(Ordering::Relaxed) == 0 {
            return None;
        }
        match self.refusal.swap(0, Ordering::Relaxed) {
            0 => None,
            code => Some(((code >> 32) as usize - 1, code & 0xffff_ffff)),
        }
    }

    fn balance(&self, rank: usize) -> Option<&Balance> {
        self.ranks.get()?.get(rank)
    }

    fn statuses(&self) -> MutexGuard<'_, HashMap<u64, StatusWord>> {
        self.statuses.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
