//! Locks. The header has the full description of each.
//!
//! They are of the init thread alone, which keeps them in a table.

use crate::entry::with_everyone;
use crate::error::Failure;
use crate::given::{Out, exported};
use crate::wait::timeout;
use core_hikyaku::Error;
use core_hikyaku::ffi::RawMutex;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::rc::Rc;

/// `hk_mutex`: 0 for none, and no number is used twice.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Mutex(u64);

#[derive(Default)]
struct Table {
    last: u64,
    mutexes: BTreeMap<u64, Rc<RawMutex>>,
}

thread_local! {
    static TABLE: RefCell<Table> = const { RefCell::new(Table { last: 0, mutexes: BTreeMap::new() }) };
}

/// Those of this thread name nothing any more: their job ends.
pub fn clear() {
    TABLE.with_borrow_mut(|table| table.mutexes.clear());
}

/// Goes on with the lock of that number.
fn with_mutex<R>(mutex: Mutex, body: impl FnOnce(&RawMutex) -> core_hikyaku::Result<R>) -> Result<R, Failure> {
    // The table is not borrowed meanwhile: functions that run inside the call may use it.
    let found = TABLE.with_borrow(|table| table.mutexes.get(&mutex.0).cloned());
    Ok(body(&*found.ok_or(Failure::Mutex(mutex.0))?)?)
}

exported! {
    /// Makes a lock.
    pub fn hk_mutex_create(manager: c_int, mutex: Out<'_, Mutex>) -> c_int {
        with_everyone(|job| {
            mutex.required("the lock to be given")?;
            let made = Rc::new(RawMutex::new(job, manager as usize)?);
            let number = TABLE.with_borrow_mut(|table| {
                table.last += 1;
                table.mutexes.insert(table.last, made);
                table.last
            });
            mutex.give(Mutex(number));
            Ok(())
        })
    }

    /// Frees a lock.
    pub fn hk_mutex_free(mutex: Mutex) -> c_int {
        with_everyone(|job| {
            let found = TABLE.with_borrow_mut(|table| table.mutexes.remove(&mutex.0));
            match Rc::try_unwrap(found.ok_or(Failure::Mutex(mutex.0))?) {
                Ok(found) => Ok(found.free(job)?),
                Err(used) => {
                    // By a function that runs in the middle of another call with it.
                    TABLE.with_borrow_mut(|table| table.mutexes.insert(mutex.0, used));
                    Err(Error::InFunction.into())
                }
            }
        })
    }

    /// Waits for a lock.
    pub fn hk_lock(mutex: Mutex, timeout_ms: c_int, owner_died: Out<'_, c_int>) -> c_int {
        with_everyone(|job| {
            let died = with_mutex(mutex, |mutex| mutex.take(job, timeout(timeout_ms)))?;
            owner_died.give(died.into());
            Ok(())
        })
    }

    /// Takes a lock that is free.
    pub fn hk_try_lock(mutex: Mutex, owner_died: Out<'_, c_int>) -> c_int {
        with_everyone(|job| match with_mutex(mutex, |mutex| mutex.try_take(job))? {
            Some(died) => {
                owner_died.give(died.into());
                Ok(())
            }
            None => Err(Failure::Held),
        })
    }

    /// Releases a lock.
    pub fn hk_unlock(mutex: Mutex) -> c_int {
        with_everyone(|job| with_mutex(mutex, |mutex| mutex.release(job, false)))
    }
}
