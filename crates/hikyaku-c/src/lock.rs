//! Locks. The header has the full description of each.
//!
//! They are of the init thread alone, which keeps them in a table.

use crate::entry::with_everyone;
use crate::error::Failure;
use crate::given::{Out, exported};
use crate::numbered::Numbered;
use crate::wait::timeout;
use core_hikyaku::ffi::RawMutex;
use std::cell::RefCell;
use std::ffi::c_int;
use std::rc::Rc;

/// `hk_mutex`
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Mutex(u64);

thread_local! {
    static TABLE: RefCell<Numbered<RawMutex>> = const { RefCell::new(Numbered::new()) };
}

/// Those of this thread name nothing any more: their job ends.
pub fn clear() {
    TABLE.with_borrow_mut(Numbered::clear);
}

fn find(mutex: Mutex) -> Result<Rc<RawMutex>, Failure> {
    TABLE.with_borrow(|table| table.get(mutex.0)).ok_or(Failure::Mutex(mutex.0))
}

exported! {
    /// Makes a lock.
    pub fn hk_mutex_create(manager: c_int, mutex: Out<'_, Mutex>) -> c_int {
        with_everyone(|job| {
            mutex.required("the lock to be given")?;
            let made = RawMutex::new(job, manager as usize)?;
            let number = TABLE.with_borrow_mut(|table| table.add(made));
            mutex.give(Mutex(number));
            Ok(())
        })
    }

    /// Frees a lock.
    pub fn hk_mutex_free(mutex: Mutex) -> c_int {
        with_everyone(|job| {
            let taken = TABLE.with_borrow_mut(|table| table.take(mutex.0));
            Ok(taken.ok_or(Failure::Mutex(mutex.0))??.free(job)?)
        })
    }

    /// Waits for a lock.
    pub fn hk_lock(mutex: Mutex, timeout_ms: c_int, owner_died: Out<'_, c_int>) -> c_int {
        with_everyone(|job| {
            let died = find(mutex)?.take(job, timeout(timeout_ms))?;
            owner_died.give(died.into());
            Ok(())
        })
    }

    /// Takes a lock that is free.
    pub fn hk_try_lock(mutex: Mutex, owner_died: Out<'_, c_int>) -> c_int {
        with_everyone(|job| match find(mutex)?.try_take(job)? {
            Some(died) => {
                owner_died.give(died.into());
                Ok(())
            }
            None => Err(Failure::Held),
        })
    }

    /// Releases a lock.
    pub fn hk_unlock(mutex: Mutex) -> c_int {
        with_everyone(|job| Ok(find(mutex)?.release(job, false)?))
    }
}
