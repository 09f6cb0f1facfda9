//! The boundary: no panic passes it, every error becomes a code, every pointer is looked at before it is used.

use crate::error::{self, Failure};
use crate::thread;
use core_hikyaku::ffi::copy_out;
use core_hikyaku::{Job, PAYLOAD_MAX, Port};
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

/// Runs an entry point for what all ranks do together, which no handler may.
pub fn with_everyone<C: Code>(body: impl FnOnce(&Job) -> Result<C, Failure>) -> c_int {
    with_job(|job| {
        thread::refuse_in_handler()?;
        body(job)
    })
}

/// Checks where bytes of the caller are which peers may change meanwhile: they are copied by address, never behind a
/// reference. The pointer may be used for as many bytes afterwards, or for none.
#[inline(always)]
pub fn place<T>(start: *const T, bytes: usize) -> Result<(), Failure> {
    match start.is_null() || bytes > isize::MAX as usize {
        true => absent(start.cast(), bytes),
        false => Ok(()),
    }
}

/// The bytes of the caller at `start`, which belong to the operation until it has ended.
///
/// # Safety
/// If `start` is not null, `bytes` bytes can be read there, and nobody writes them, during the call.
#[inline(always)]
pub unsafe fn source<'a>(start: *const c_void, bytes: usize) -> Result<&'a [u8], Failure> {
    place(start, bytes)?;
    // SAFETY: the caller's promise; not null, and no longer than a slice may be.
    Ok(if start.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(start.cast(), bytes) } })
}

/// The bytes of the caller at `start`, to be written, which belong to the operation until it has ended.
///
/// # Safety
/// As [`source`], and they can be written, and nobody else uses them.
#[inline(always)]
pub unsafe fn target<'a>(start: *mut c_void, bytes: usize) -> Result<&'a mut [u8], Failure> {
    place(start, bytes)?;
    // SAFETY: the caller's promise; not null, and no longer than a slice may be.
    Ok(if start.is_null() { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(start.cast(), bytes) } })
}

/// A private copy of the payload of a message: what the caller gives may lie where peers write.
///
/// # Safety
/// If `start` is not null, `bytes` bytes can be read there.
#[inline(always)]
pub unsafe fn payload<R>(start: *const c_void, bytes: usize, send: impl FnOnce(&[u8]) -> R) -> Result<R, Failure> {
    place(start, bytes)?;
    if bytes == 0 {
        return Ok(send(&[]));
    }
    let (mut short, mut long) = ([0; SHORT_PAYLOAD], Vec::new());
    let copy = match bytes <= SHORT_PAYLOAD {
        true => &mut short[..bytes],
        false => {
            // One that is too long is refused, however much of it there is.
            long.resize(bytes.min(PAYLOAD_MAX + 1), 0);
            &mut long[..]
        }
    };
    // SAFETY: the caller's promise; not null.
    unsafe { copy_out(start.cast(), copy) };
    Ok(send(copy))
}

/// Bytes of a payload that is copied to the stack.
const SHORT_PAYLOAD: usize = 256;

/// A pointer that leads to no memory: fine only for no bytes at all.
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
