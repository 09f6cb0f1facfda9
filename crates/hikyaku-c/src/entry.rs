//! The boundary: no panic passes it, every error becomes a code, every pointer is looked at before it is used.

use crate::error::{self, Failure};
use crate::thread;
use core_hikyaku::{Job, Port};
use std::ffi::{c_int, c_void};
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
    guarded(|| {
        let port = thread::port()?;
        // SAFETY: the port stays with the thread until the thread ends, `hk_finalize` or `hk_init` takes it away, or
        // it is replaced at a call under a later job; none of these happens inside another call of this thread.
        body(unsafe { &*port })
    })
}

/// Runs an entry point on the job, which only the thread that started it may touch.
pub fn with_job<C: Code>(body: impl FnOnce(&Job) -> Result<C, Failure>) -> c_int {
    guarded(|| {
        let job = thread::job()?;
        // SAFETY: the job lives until `hk_finalize` on this same thread.
        body(unsafe { &*job })
    })
}

/// The same for what all ranks do together, which no handler may.
pub fn with_everyone<C: Code>(body: impl FnOnce(&Job) -> Result<C, Failure>) -> c_int {
    with_job(|job| {
        thread::refuse_in_handler()?;
        body(job)
    })
}

/// The bytes of the caller at `start`.
///
/// # Safety
/// If `start` is not null, `bytes` bytes can be read there during the call. A peer may change them meanwhile: the
/// slice is only handed to the library, which copies by address.
#[inline(always)]
pub unsafe fn source<'a>(start: *const c_void, bytes: usize) -> Result<&'a [u8], Failure> {
    if start.is_null() || bytes > isize::MAX as usize {
        return absent(start, bytes).map(|()| &[][..]);
    }
    // SAFETY: the caller's promise; not null, and no longer than a slice may be.
    Ok(unsafe { std::slice::from_raw_parts(start.cast(), bytes) })
}

/// The bytes of the caller at `start`, to be written.
///
/// # Safety
/// As [`source`], and they can be written.
#[inline(always)]
pub unsafe fn target<'a>(start: *mut c_void, bytes: usize) -> Result<&'a mut [u8], Failure> {
    if start.is_null() || bytes > isize::MAX as usize {
        return absent(start, bytes).map(|()| &mut [][..]);
    }
    // SAFETY: the caller's promise; not null, and no longer than a slice may be.
    Ok(unsafe { std::slice::from_raw_parts_mut(start.cast(), bytes) })
}

/// A pointer that cannot be a slice: fine only for no bytes at all.
#[cold]
fn absent(start: *const c_void, bytes: usize) -> Result<(), Failure> {
    match (start.is_null(), bytes) {
        (true, 0) => Ok(()),
        (true, _) => Err(Failure::Null("the data")),
        _ => Err(Failure::Size(bytes)),
    }
}

/// Gives `value` to the caller, if it wants it.
///
/// # Safety
/// `out` is null or can be written.
#[inline(always)]
pub unsafe fn give<T>(out: *mut T, value: T) {
    if !out.is_null() {
        // SAFETY: the caller's promise.
        unsafe { out.write(value) };
    }
}

/// Fails for a null pointer.
#[inline(always)]
pub fn required<T>(pointer: *const T, what: &'static str) -> Result<(), Failure> {
    if pointer.is_null() { Err(Failure::Null(what)) } else { Ok(()) }
}
