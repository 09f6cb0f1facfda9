//! Waking a sleeper at no cost to the sender when nobody sleeps.
//!
//! Each rank has one [`Bell`]; each thread that may sleep has a cell in it.
//!
//! ```text
//!   sleeper                                   sender
//!   seq = cell.seq
//!   sleepers |= cell                          store the word (or ring entry) awaited
//!   heavy fence                               light fence
//!   still nothing there?                      sleepers != 0?  (a line that hardly ever changes)
//!   futex wait while cell.seq == seq              cell.seq += 1, futex wake
//!   sleepers &= !cell
//! ```
//! Either the sleeper sees the word or the sender sees the sleeper (see [`super::fence`]). The sender's part is
//! one load of a line that stays in its cache.
//!
//! A sleeper may say which word it waits for, so that a rank with many waiting threads wakes only the one.

use super::atomic::{AtomicU32, AtomicU64, Ordering};
use super::fence::Fences;
use super::futex;
use super::line::Line;
use super::shared;
use std::time::Duration;

/// How many threads of one rank can sleep at once: one bit each in a word.
pub const CELL_COUNT: usize = if cfg!(loom) { 2 } else { 64 };

/// A watch that fits every ring, and a ring that fits every watch.
pub const ANY: u64 = 0;

shared! {
    /// The words sleepers and senders of one rank meet on.
    #[derive(Debug)]
    pub struct Bell {
        /// One bit per sleeping cell. Written by sleepers, read by every sender.
        sleepers: Line<AtomicU64>,
        cells: [Line<Cell>; CELL_COUNT],
    }
}

shared! {
    /// What one sleeper waits on.
    #[derive(Debug)]
    struct Cell {
        /// Moves on with every wake-up; the futex word. Written by senders.
        seq: AtomicU32,
        pad: AtomicU32,
        /// What the sleeper waits for, or [`ANY`]. Written by the sleeper before it shows its bit.
        watch: AtomicU64,
    }
}

impl Bell {
    /// Tells a rank that `what` has changed: wakes those who sleep for it. Call after the store itself.
    #[inline(always)]
    pub fn ring(&self, fences: Fences, what: u64) {
        fences.light();
        let sleepers = self.sleepers.load(Ordering::Relaxed);
        if sleepers != 0 {
            self.wake(sleepers, what);
        }
    }

    /// Wakes everybody, whatever they wait for (a rank died, a job ends). Whoever rings here may be a process that the fences
    /// of the job do not reach, so it pays for a full one.
    pub fn ring_all(&self) {
        super::atomic::fence(Ordering::SeqCst);
        let sleepers = self.sleepers.load(Ordering::Relaxed);
        if sleepers != 0 {
            self.wake(sleepers, ANY);
        }
    }

    #[cold]
    fn wake(&self, mut sleepers: u64, what: u64) {
        while sleepers != 0 {
            // Any rank may have set bits that no cell has.
            let Some(cell) = self.cells.get(sleepers.trailing_zeros() as usize) else { return };
            sleepers &= sleepers - 1;
            // Acquire pairs with the sleeper's release of its bit: the watch read here is the one it set.
            super::atomic::fence(Ordering::Acquire);
            let watch = cell.watch.load(Ordering::Relaxed);
            if watch == ANY || what == ANY || watch == what {
                cell.seq.fetch_add(1, Ordering::SeqCst);
                futex::wake_all(&cell.seq);
            }
        }
    }

    /// Sleeps in `cell` until rung for `watch` or until `timeout`, unless `awake()` finds a reason not to.
    /// May return early; callers look again. Whether it was rung, or kept awake.
    pub fn sleep(
        &self,
        fences: Fences,
        cell: usize,
        watch: u64,
        timeout: Option<Duration>,
        awake: impl FnOnce() -> bool,
    ) -> bool {
        let bit = 1u64 << cell;
        let cell = &self.cells[cell];
        let seen = cell.seq.load(Ordering::Relaxed);
        cell.watch.store(watch, Ordering::Relaxed);
        self.sleepers.fetch_or(bit, Ordering::SeqCst);
        let _shown = Shown { bell: self, bit };
        fences.heavy();
        if awake() {
            return true;
        }
        futex::wait(&cell.seq, seen, timeout);
        cell.seq.load(Ordering::Relaxed) != seen
    }

    /// Keeps `cell` among the sleepers for good, for a thread that must miss no ring even while it is awake: every
    /// ring moves its sequence number. Senders then pay a system call per ring.
    pub fn arm(&self, fences: Fences, cell: usize) {
        self.cells[cell].watch.store(ANY, Ordering::Relaxed);
        self.sleepers.fetch_or(1 << cell, Ordering::SeqCst);
        // As in `sleep`: whoever did not see the bit has stored before what this thread reads after.
        fences.heavy();
    }

    /// Ends [`Bell::arm`].
    pub fn disarm(&self, cell: usize) {
        self.sleepers.fetch_and(!(1 << cell), Ordering::SeqCst);
    }

    /// How often `cell` was rung.
    pub fn sequence(&self, cell: usize) -> u32 {
        self.cells[cell].seq.load(Ordering::SeqCst)
    }

    /// Sleeps until `cell` has been rung more often than `seen`; may return early.
    pub fn await_sequence(&self, cell: usize, seen: u32) {
        futex::wait(&self.cells[cell].seq, seen, None);
    }

    /// A bell for models and unit tests; in a job it is zeroed mapped memory.
    pub fn new() -> Bell {
        let cell = |_| Line(Cell { seq: AtomicU32::new(0), pad: AtomicU32::new(0), watch: AtomicU64::new(0) });
        Bell { sleepers: Line(AtomicU64::new(0)), cells: core::array::from_fn(cell) }
    }
}

/// A cell is among the sleepers until this is dropped, also by a panic of what looks for a reason to stay awake.
struct Shown<'b> {
    bell: &'b Bell,
    bit: u64,
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        self.bell.sleepers.fetch_and(!self.bit, Ordering::SeqCst);
    }
}

impl Default for Bell {
    fn default() -> Bell {
        Bell::new()
    }
}
