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

/// A watch that only rings for everybody fit ([`ANY`]): of whoever waits for something that is always rung for so.
pub const EVERYBODY: u64 = 1 << 61;

/// A watch with this bit is that of a crew, of which [`Bell::ring_one`] wakes one. Besides, every ring fits it.
pub const CREW: u64 = 1 << 62;

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
            if watch == ANY || what == ANY || watch == what || watch & !(CREW - 1) == CREW {
                cell.seq.fetch_add(1, Ordering::SeqCst);
                futex::wake_all(&cell.seq);
            }
        }
    }

    /// Wakes one sleeper of a crew, if any sleeps. It counts as awake at once, so that the next call wakes another one. Call after what is
    /// there to be found.
    #[inline(always)]
    pub fn ring_one(&self, fences: Fences, crew: u64) {
        fences.light();
        let sleepers = self.sleepers.load(Ordering::Relaxed);
        if sleepers != 0 {
            self.wake_one(sleepers, crew);
        }
    }

    #[cold]
    fn wake_one(&self, mut sleepers: u64, crew: u64) {
        super::atomic::fence(Ordering::Acquire);
        while sleepers != 0 {
            let index = sleepers.trailing_zeros() as usize;
            sleepers &= sleepers - 1;
            let Some(cell) = self.cells.get(index) else { return };
            if cell.watch.load(Ordering::Relaxed) != crew {
                continue;
            }
            // Whoever takes the bit away wakes it: another caller, or the sleeper itself, which has found something to do. One
            // that finds something and has lost its bit to this call rings for another one.
            if self.sleepers.fetch_and(!(1 << index), Ordering::SeqCst) & 1 << index != 0 {
                cell.seq.fetch_add(1, Ordering::SeqCst);
                futex::wake_all(&cell.seq);
                return;
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
        let shown = Shown { bell: self, bit };
        fences.heavy();
        if awake() {
            // Whoever has chosen this one meant somebody with nothing to do: that is another one now.
            if shown.end() {
                self.ring_one(fences, watch);
            }
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

    /// Sleeps until `cell` has been rung more often than `seen`, or until `timeout`; may return early.
    pub fn await_sequence(&self, cell: usize, seen: u32, timeout: Option<Duration>) {
        futex::wait(&self.cells[cell].seq, seen, timeout);
    }

    /// Rings for one cell, whether it is among the sleepers or not.
    pub fn call(&self, cell: usize) {
        self.cells[cell].seq.fetch_add(1, Ordering::SeqCst);
        futex::wake_all(&self.cells[cell].seq);
    }

    /// How often sleepers were woken, and whether anybody sleeps now.
    #[cfg(test)]
    pub(crate) fn wakings(&self) -> (u32, bool) {
        (self.cells.iter().map(|cell| cell.seq.load(Ordering::SeqCst)).sum(), self.sleepers.load(Ordering::SeqCst) != 0)
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

impl Shown<'_> {
    /// Ends it; whether [`Bell::ring_one`] has chosen this cell.
    fn end(self) -> bool {
        let shown = std::mem::ManuallyDrop::new(self);
        shown.take_away() & shown.bit == 0
    }

    fn take_away(&self) -> u64 {
        self.bell.sleepers.fetch_and(!self.bit, Ordering::SeqCst)
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        self.take_away();
    }
}

impl Default for Bell {
    fn default() -> Bell {
        Bell::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_for_rings_for_everybody_sleeps_through_others() {
        let (bell, fences) = (Bell::new(), Fences::for_threads());
        let rung = bell.sleep(fences, 3, EVERYBODY, None, || {
            bell.ring(fences, 7);
            assert_eq!(bell.sequence(3), 0);
            bell.ring(fences, ANY);
            assert_eq!(bell.sequence(3), 1);
            false
        });
        assert!(rung);
    }

    /// Whoever is rung for while it finds something else to do is not the one that was to wake up.
    #[test]
    fn a_crew_member_that_stays_awake_passes_its_ring_on() {
        let (bell, fences, crew) = (Bell::new(), Fences::for_threads(), CREW | 1);
        std::thread::scope(|threads| {
            let other = threads.spawn(|| bell.sleep(fences, 5, crew, Some(Duration::from_secs(5)), || false));
            while !bell.wakings().1 {
                std::thread::yield_now();
            }
            let stays = bell.sleep(fences, 3, crew, None, || {
                // Meant for one of the crew, of which this is the first.
                bell.ring_one(fences, crew);
                true
            });
            assert!(stays);
            assert!(other.join().unwrap(), "it was not woken");
        });
    }
}
