//! The boundary: no panic passes it, every error becomes a code.

use crate::error::{self, Failure};
use crate::thread;
use core_hikyaku::{Job, Port};
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a call gives to C when all is well.
pub trait Code {
    /// As a number that is not negative.
    fn code(self) -> c_int;
}

impl Code for () {
    #[inline(always)]
    fn code(self) -> c_int {
        error::HK_SUCCESS
    }
}

impl Code for bool {
    fn code(self) -> c_int {
        self as c_int
    }
}

impl Code for usize {
    /// Ranks and indexes, which are small.
    fn code(self) -> c_int {
        c_int::try_from(self).unwrap_or(c_int::MAX)
    }
}

/// Runs an entry point that needs no job.
#[inline(always)]
pub fn guarded<C: Code>(body: impl FnOnce() -> Result<C, Failure>) -> c_int {
    // Only the code passes through `catch_unwind`: it hands results over in memory.
    let to_code = || match body() {
        Ok(value) => value.code(),
        Err(failure) => error::record(&failure),
    };
    catch_unwind(AssertUnwindSafe(to_code)).unwrap_or_else(|panic| error::record_panic(&*panic))
}

/// Runs an entry point on the calling thread's port.
#[inline(always)]
pub fn with_port<C: Code>(body: impl FnOnce(&Port) -> Result<C, Failure>) -> c_int {
    guarded(|| thread::with_port(body))
}

/// Runs an entry point on the job, which only the thread that started it may touch.
pub fn with_job<C: Code>(body: impl FnOnce(&Job) -> Result<C, Failure>) -> c_int {
    guarded(|| thread::with_job(body))
}

/// Runs an entry point for what all ranks do together, which no handler may.
pub fn with_everyone<C: Code>(body: impl FnOnce(&Job) -> Result<C, Failure>) -> c_int {
    with_job(|job| {
        thread::refuse_in_handler()?;
        body(job)
    })
}
