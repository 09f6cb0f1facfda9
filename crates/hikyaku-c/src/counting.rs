//! Barriers that one rank counts. The header has the full description of each.
//!
//! They are of the init thread alone, which keeps them in a table.

use crate::entry::with_everyone;
use crate::error::Failure;
use crate::given::{In, Out, exported};
use crate::numbered::Numbered;
use crate::wait::timeout;
use core_hikyaku::ffi::RawCountingBarrier;
use std::cell::RefCell;
use std::ffi::c_int;
use std::rc::Rc;

/// `hk_counting`
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Counting(u64);

thread_local! {
    static TABLE: RefCell<Numbered<RawCountingBarrier>> = const { RefCell::new(Numbered::new()) };
}

/// Those of this thread name nothing any more: their job ends.
pub fn clear() {
    TABLE.with_borrow_mut(Numbered::clear);
}

fn find(barrier: Counting) -> Result<Rc<RawCountingBarrier>, Failure> {
    TABLE.with_borrow(|table| table.get(barrier.0)).ok_or(Failure::Barrier(barrier.0))
}

exported! {
    /// Makes a barrier.
    pub fn hk_counting_create(manager: c_int, barrier: Out<'_, Counting>) -> c_int {
        with_everyone(|job| {
            barrier.required("the barrier to be given")?;
            let made = RawCountingBarrier::new(job, manager as usize)?;
            let number = TABLE.with_borrow_mut(|table| table.add(made));
            barrier.give(Counting(number));
            Ok(())
        })
    }

    /// Makes barriers of some ranks each.
    pub fn hk_counting_create_of(ranks: In<'_, c_int>, count: usize, manager: c_int, barrier: Out<'_, Counting>) -> c_int {
        with_everyone(|job| {
            barrier.required("the barrier to be given")?;
            // More than there are cannot all be different ones, which all ranks are to hear of.
            let ranks = if count == 0 { &[] } else { ranks.slice(count.min(job.size() + 1), "the ranks")? };
            let ranks: Vec<usize> = ranks.iter().map(|rank| *rank as usize).collect();
            let made = RawCountingBarrier::of_some(job, &ranks, manager as usize)?;
            let number = TABLE.with_borrow_mut(|table| table.add(made));
            barrier.give(Counting(number));
            Ok(())
        })
    }

    /// Frees a barrier.
    pub fn hk_counting_free(barrier: Counting) -> c_int {
        with_everyone(|job| {
            let taken = TABLE.with_borrow_mut(|table| table.take(barrier.0));
            Ok(taken.ok_or(Failure::Barrier(barrier.0))??.free(job)?)
        })
    }

    /// Arrives.
    pub fn hk_counting_post(barrier: Counting) -> c_int {
        with_everyone(|job| Ok(find(barrier)?.post(job)?))
    }

    /// Waits for the others.
    pub fn hk_counting_wait(barrier: Counting, timeout_ms: c_int) -> c_int {
        with_everyone(|job| Ok(find(barrier)?.wait(job, timeout(timeout_ms))?))
    }

    /// Whether all have arrived.
    pub fn hk_counting_test(barrier: Counting) -> c_int {
        with_everyone(|job| Ok(find(barrier)?.is_complete(job)?))
    }
}
