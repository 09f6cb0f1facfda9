//! Doing an operation on memory that is mapped here: for the initiator in place, for the owner when it is asked.

use crate::memory::atomic::{Atomic, Change, add_float};
use crate::memory::{copy, parts};
use crate::ni::base::Base;
use crate::ni::wire::operation::{Act, Data, Operation};
use crate::ni::wire::tail::Tail;
use crate::ni::wire::target::Target;
use crate::planted::{Bug, planted};
use crate::sync::bell::ANY;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The addresses of what an operation works on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// As many bytes as the operation spans.
    pub target: *mut u8,
    /// Those beside, for a push that needs some ([`Act::beside`]).
    pub then: *mut u8,
}

impl Found {
    /// Whether words that are accessed atomically are where such words can be.
    pub fn is_aligned_for(&self, act: &Act<'_>) -> bool {
        match act {
            Act::Change(Change::Half(_)) => (self.target as usize).is_multiple_of(4),
            Act::Word(_) | Act::Change(_) | Act::PushThrough { .. } | Act::PullThrough { .. } => {
                (self.target as usize).is_multiple_of(8)
            }
            Act::PushThen { .. } | Act::PushAdd { .. } => (self.then as usize).is_multiple_of(8),
            _ => true,
        }
    }
}

impl Base {
    /// Does it on memory of `rank` and tells that rank; the word from before, if one is changed. What is to be read is read by
    /// the caller.
    ///
    /// # Safety
    /// The addresses were found for this operation, are aligned for it, and stay mapped meanwhile. Others may use the bytes, words
    /// atomically.
    pub(crate) unsafe fn perform(&self, rank: usize, act: &Act<'_>, found: Found) -> u64 {
        // SAFETY: the caller's promise, here and below.
        let word = || unsafe { AtomicU64::from_ptr(found.target.cast()) };
        match *act {
            // SAFETY: as above.
            Act::Push(data) => unsafe { write(found.target, data) },
            Act::PushThen { data, tail, .. } => {
                // SAFETY: as above.
                unsafe {
                    write(found.target, data);
                    write_words(found.then, tail);
                }
                self.notify(rank, ANY);
            }
            Act::PushAdd { data, amount, .. } => {
                // SAFETY: as above.
                let counter = unsafe {
                    write(found.target, data);
                    AtomicU64::from_ptr(found.then.cast())
                };
                counter.fetch_add(amount, Ordering::AcqRel);
                self.notify(rank, self.watch_of(found.then));
            }
            Act::Word(value) => {
                word().store(value, Ordering::Release);
                if rank == self.rank || !planted(Bug::NearUnnotified) {
                    self.notify(rank, self.watch_of(found.target));
                }
            }
            Act::Change(change) => {
                let change = match change {
                    Change::Word(Atomic::CompareSwap { new, .. }) if planted(Bug::ComparisonSkipped) => {
                        Change::Word(Atomic::Swap(new))
                    }
                    change => change,
                };
                // SAFETY: as above.
                let before = unsafe { change_at(found.target, change) };
                if planted(Bug::AtomicTwice) {
                    // SAFETY: as above.
                    unsafe { change_at(found.target, change) };
                }
                self.notify(rank, self.watch_around(found.target));
                return before;
            }
            Act::PushBlocks { data, block, distance } => {
                let block = block as usize;
                // SAFETY: as above; the span of the blocks was found.
                unsafe {
                    let count = data.len() / block.max(1);
                    parts::copy_blocks((found.target, distance as usize), (data.start(), block), block, count);
                }
            }
            Act::PushMarked { data, unit, units } => {
                let (unit, units) = (unit as usize, units as usize);
                let packed = data.start().wrapping_add(units.div_ceil(64) * 8);
                // SAFETY: as above; the data are the marks and as many units as are marked.
                unsafe { parts::unpack_by(data.start(), found.target, packed, unit, units) };
            }
            Act::Pull { .. } | Act::PullBlocks { .. } | Act::PullMarked { .. } | Act::Copy { .. } => {}
            // Whoever serves these has followed the pointer, counted, or taken a note.
            Act::Pin { .. } | Act::Unpin => {}
            Act::PushThrough { .. } | Act::PullThrough { .. } | Act::Arrive { .. } | Act::Open | Act::Settle => {}
        }
        0
    }

    /// Does an operation on memory that the ranks of this host share; false if it is not such memory.
    pub(crate) fn performs_here(&self, operation: &Operation<'_>) -> bool {
        let Operation { at, act, .. } = operation;
        if !self.is_common(at) {
            return false;
        }
        let find = |at: &Target, bytes| self.common_bytes(at, bytes).expect("the library's own places");
        let target = find(at, act.span());
        let then = act.beside().map_or(target, |(then, bytes)| find(&at.beside(then), bytes));
        let found = Found { target, then };
        assert!(found.is_aligned_for(act), "the library's own words");
        // SAFETY: found for this operation, in memory of this host, which stays mapped.
        unsafe { self.perform(at.rank, act, found) };
        true
    }
}

/// Changes a number; its bits from before.
///
/// # Safety
/// There is one, aligned, which others use atomically.
pub(in crate::ni) unsafe fn change_at(target: *mut u8, change: Change) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        match change {
            Change::Word(operation) => operation.perform(AtomicU64::from_ptr(target.cast())),
            Change::Half(operation) => operation.perform_on_half(AtomicU32::from_ptr(target.cast())),
            Change::AddFloat(amount) => add_float(AtomicU64::from_ptr(target.cast()), amount),
        }
    }
}

/// # Safety
/// As many bytes can be written there.
unsafe fn write(target: *mut u8, data: Data<'_>) {
    // SAFETY: the caller's promise; the data can be read.
    unsafe { copy::copy(target, data.start(), data.len()) };
}

/// Writes words, of which the first is stored last.
///
/// # Safety
/// There are as many bytes, at a multiple of 8; others may use them meanwhile, as atomic words.
unsafe fn write_words(then: *mut u8, tail: Tail<'_>) {
    let mut words = tail.words();
    let Some(first) = words.next() else { return };
    // SAFETY: the caller's promise.
    let place = |index: usize| unsafe { AtomicU64::from_ptr(then.cast::<u64>().add(index)) };
    if !planted(Bug::TailLost) {
        words.enumerate().for_each(|(index, word)| place(1 + index).store(word, Ordering::Relaxed));
    }
    place(0).store(first, Ordering::Release);
}
