//! What every call passes through: no panic gets out, every error becomes a code.

use super::comm::Comm;
use super::error::{self, FMPL_ERR_INTERNAL, FMPL_SUCCESS, Outcome, Trouble};
use super::job::Fmpl;
use crate::error as base;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a call that needs nothing.
#[inline(always)]
pub fn guarded(body: impl FnOnce() -> Outcome<()>) -> c_int {
    // Only the code passes through `catch_unwind`: it hands results over in memory.
    let to_code = || match body() {
        Ok(()) => FMPL_SUCCESS,
        Err(trouble) => error::record(&trouble),
    };
    catch_unwind(AssertUnwindSafe(to_code)).unwrap_or_else(|panic| {
        base::record_panic(&*panic);
        FMPL_ERR_INTERNAL
    })
}

/// Runs a call of a thread between `fmpl_init` and `fmpl_finalize`, or those of threads.
#[inline(always)]
pub fn with_fmpl(body: impl FnOnce(&Fmpl) -> Outcome<()>) -> c_int {
    guarded(|| Fmpl::with(body))
}

/// Runs a call that makes or frees a group.
pub fn with_fmpl_alone(body: impl FnOnce(&mut Fmpl) -> Outcome<()>) -> c_int {
    guarded(|| Fmpl::alone(body))
}

/// Runs a call on a group.
#[inline(always)]
pub fn with_comm(comm: c_int, body: impl FnOnce(&Fmpl, &Comm) -> Outcome<()>) -> c_int {
    with_fmpl(|fmpl| body(fmpl, fmpl.comm(comm)?))
}

/// A number of things, which C and Fortran may give negative.
#[inline(always)]
pub fn count(value: impl Into<i64>, what: &'static str) -> Outcome<usize> {
    let value = value.into();
    usize::try_from(value).map_err(|_| Trouble::Negative(what, value))
}
