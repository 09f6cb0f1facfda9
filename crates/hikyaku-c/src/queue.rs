//! Remote queues. The header has the full description of each.
//!
//! They are of the init thread alone, which keeps them in a table.

use crate::entry::with_everyone;
use crate::error::Failure;
use crate::given::{Out, Source, exported};
use crate::numbered::Numbered;
use crate::wait::timeout;
use core_hikyaku::ffi::RawQueue;
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::rc::Rc;

/// `hk_queue`
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Queue(u64);

/// `hk_popped`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct CPopped {
    rank: c_int,
    count: usize,
    items: *const c_void,
    stride: usize,
}

thread_local! {
    static TABLE: RefCell<Numbered<RawQueue>> = const { RefCell::new(Numbered::new()) };
}

/// Those of this thread name nothing any more: their job ends.
pub fn clear() {
    TABLE.with_borrow_mut(Numbered::clear);
}

fn find(queue: Queue) -> Result<Rc<RawQueue>, Failure> {
    TABLE.with_borrow(|table| table.get(queue.0)).ok_or(Failure::Queue(queue.0))
}

exported! {
    /// Makes a queue.
    pub fn hk_queue_create(owner: c_int, capacity: usize, item_size: usize, queue: Out<'_, Queue>) -> c_int {
        with_everyone(|job| {
            queue.required("the queue to be given")?;
            let made = RawQueue::new(job, owner as usize, capacity, item_size)?;
            let number = TABLE.with_borrow_mut(|table| table.add(made));
            queue.give(Queue(number));
            Ok(())
        })
    }

    /// Frees a queue.
    pub fn hk_queue_free(queue: Queue) -> c_int {
        with_everyone(|job| {
            let taken = TABLE.with_borrow_mut(|table| table.take(queue.0));
            Ok(taken.ok_or(Failure::Queue(queue.0))??.free(job)?)
        })
    }

    /// Pushes items.
    pub fn hk_queue_push(
        queue: Queue,
        items: Source<'_>,
        count: usize,
        timeout_ms: c_int,
        pushed: Out<'_, usize>,
    ) -> c_int {
        with_everyone(|job| {
            let queue = find(queue)?;
            let items = items.bytes(count.saturating_mul(queue.item_bytes()))?;
            let (count, ended) = queue.push_many(job, items, timeout(timeout_ms));
            pushed.give(count);
            Ok(ended?)
        })
    }

    /// Pops items.
    pub fn hk_queue_pop(queue: Queue, max: usize, timeout_ms: c_int, popped: Out<'_, CPopped>) -> c_int {
        with_everyone(|job| {
            popped.required("the items to be given")?;
            let queue = find(queue)?;
            let found = queue.pop(job, max, timeout(timeout_ms))?;
            let items = queue.address(job, 0).cast();
            popped.give(CPopped { rank: found.rank as c_int, count: found.count, items, stride: queue.stride() });
            Ok(())
        })
    }

    /// Gives back what was popped last.
    pub fn hk_queue_release(queue: Queue) -> c_int {
        with_everyone(|job| {
            find(queue)?.release(job);
            Ok(())
        })
    }
}
