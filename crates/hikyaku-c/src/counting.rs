//! Barriers that one rank counts. The header has the full description of each.
//!
//! They are of the init thread alone, which keeps them in a table.

use crate::entry::with_everyone;
use crate::error::Failure;
use crate::given::{Out, exported};
use crate::wait::timeout;
use core_hikyaku::Error;
use core_hikyaku::ffi::RawCountingBarrier;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::rc::Rc;

/// `hk_counting`: 0 for none, and no number is used twice.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Counting(u64);

#[derive(Default)]
struct Table {
    last: u64,
    barriers: BTreeMap<u64, Rc<RawCountingBarrier>>,
}

thread_local! {
    static TABLE: RefCell<Table> = const { RefCell::new(Table { last: 0, barriers: BTreeMap::new() }) };
}

/// Those of this thread name nothing any more: their job ends.
pub fn clear() {
    TABLE.with_borrow_mut(|table| table.barriers.clear());
}

/// The barrier of that number. The table is not borrowed meanwhile: functions that run inside a call may use it.
fn find(barrier: Counting) -> Result<Rc<RawCountingBarrier>, Failure> {
    TABLE.with_borrow(|table| table.barriers.get(&barrier.0).cloned()).ok_or(Failure::Barrier(barrier.0))
}

exported! {
    /// Makes a barrier.
    pub fn hk_counting_create(manager: c_int, barrier: Out<'_, Counting>) -> c_int {
        with_everyone(|job| {
            barrier.required("the barrier to be given")?;
            let made = Rc::new(RawCountingBarrier::new(job, manager as usize)?);
            let number = TABLE.with_borrow_mut(|table| {
                table.last += 1;
                table.barriers.insert(table.last, made);
                table.last
            });
            barrier.give(Counting(number));
            Ok(())
        })
    }

    /// Frees a barrier.
    pub fn hk_counting_free(barrier: Counting) -> c_int {
        with_everyone(|job| {
            let found = TABLE.with_borrow_mut(|table| table.barriers.remove(&barrier.0));
            match Rc::try_unwrap(found.ok_or(Failure::Barrier(barrier.0))?) {
                Ok(found) => Ok(found.free(job)?),
                Err(used) => {
                    // By a function that runs in the middle of another call with it.
                    TABLE.with_borrow_mut(|table| table.barriers.insert(barrier.0, used));
                    Err(Error::InFunction.into())
                }
            }
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
