//! Counted operations under way: how many to each rank, which status words wait for them, what was refused.
//!
//! One account per port, in private memory: the port's holder starts operations, whichever thread runs the engine
//! finishes them. Operations of one port on one rank are performed in order, so one answer tells of all before it.
//!
//! ```text
//!   port                                       engine (one thread at a time)
//!   note the status word, if any; started += 1
//!   send the operation                         refused: keep the refusal
//!   ask for an answer when one is needed       answered up to a number: write the status words, inside the lock
//!   done, acquired, is not less than started?  done = that number, released
//!   then every status word is written, and every refusal can be seen
//! ```

use crate::sync::atomic::{AtomicU64, Mutex, MutexGuard, Ordering};
use crate::sync::brief::lock;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

/// The account of one port.
#[derive(Debug, Default)]
pub struct Account {
    /// Per rank; made when the first operation is routed, which most ports never do.
    ranks: OnceLock<Box<[Balance]>>,
    /// The first refusal that nobody has heard of yet: (rank + 1) << 32 | reason.
    refusal: AtomicU64,
    /// Status words to write when an operation is done: its rank and number -> (place, value).
    statuses: Mutex<Statuses>,
}

type Statuses = BTreeMap<(usize, u64), StatusWord>;

/// Operations to one rank: numbers of the last ones.
#[derive(Debug, Default)]
struct Balance {
    started: AtomicU64,
    /// Up to which an answer was asked for; only the port's holder looks.
    asked: AtomicU64,
    done: AtomicU64,
}

/// Where a word is in the own heap, and what to write there.
pub type StatusWord = (usize, u64);

impl Account {
    /// Begins an operation to `rank` of `size`; gives its number.
    pub fn start(&self, rank: usize, size: usize, status: Option<StatusWord>) -> u64 {
        let ranks = self.ranks.get_or_init(|| (0..size).map(|_| Balance::default()).collect());
        let number = ranks[rank].started.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(status) = status {
            self.statuses().insert((rank, number), status);
        }
        number
    }

    /// The operation to `rank` that was started last was not sent.
    pub fn cancel(&self, rank: usize) {
        if let Some(balance) = self.balance(rank) {
            let number = balance.started.fetch_sub(1, Ordering::Relaxed);
            self.drop_status(rank, number);
        }
    }

    /// An answer is needed: the number up to which it must be asked for now, unless it was already or has come.
    pub fn ask(&self, rank: usize) -> Option<u64> {
        let balance = self.balance(rank)?;
        let started = balance.started.load(Ordering::Relaxed);
        let known = balance.asked.load(Ordering::Relaxed).max(balance.done.load(Ordering::Relaxed));
        (known < started).then(|| balance.asked.store(started, Ordering::Relaxed)).map(|()| started)
    }

    /// What was to be asked was not sent.
    pub fn ask_again(&self, rank: usize) {
        if let Some(balance) = self.balance(rank) {
            balance.asked.store(0, Ordering::Relaxed);
        }
    }

    /// Everything up to a number is done. `write` gets the status words that wait for it, before anyone who waits for the
    /// operations themselves goes on. A number that was never used is a peer's nonsense.
    pub fn finish(&self, rank: usize, number: u64, mut write: impl FnMut(StatusWord)) {
        let Some(balance) = self.balance(rank) else { return };
        if number > balance.started.load(Ordering::Relaxed) {
            return;
        }
        {
            // Inside the lock, which whoever frees the word takes first.
            let mut statuses = self.statuses();
            while let Some((key, status)) = statuses.range((rank, 0)..=(rank, number)).next() {
                let (key, status) = (*key, *status);
                write(status);
                statuses.remove(&key);
            }
        }
        balance.done.fetch_max(number, Ordering::Release);
    }

    /// Keeps the status word of an operation that is answered by itself; its number is none of those above.
    pub fn keep_status(&self, rank: usize, number: u64, status: StatusWord) {
        self.statuses().insert((rank, number), status);
    }

    /// Such an operation is done: its status word, if it has one, is written, inside the lock.
    pub fn write_status(&self, rank: usize, number: u64, write: impl FnOnce(StatusWord)) {
        let mut statuses = self.statuses();
        if let Some(status) = statuses.remove(&(rank, number)) {
            write(status);
        }
    }

    /// An operation is not done, nor will it be: its status word stays as it is.
    pub fn drop_status(&self, rank: usize, number: u64) {
        self.statuses().remove(&(rank, number));
    }

    /// Forgets status words in this part of the heap, which is about to be freed.
    pub fn forget_statuses(&self, part: Range<usize>) {
        self.statuses().retain(|_, (word, _)| !part.contains(word));
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

    /// Gives up what is under way to a rank that has ended.
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

    fn statuses(&self) -> MutexGuard<'_, Statuses> {
        lock(&self.statuses)
    }
}
