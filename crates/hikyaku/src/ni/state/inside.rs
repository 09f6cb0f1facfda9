//! Whether this thread is inside a handler, or a function of the program that combines: both run in the middle of another call,
//! so nothing may wait there.

use crate::error::{Error, Result};
use std::cell::Cell;

thread_local! {
    /// How many handlers run on this thread, one inside the other, and how often [`FUNCTION`] functions that combine.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// What a function counts in `INSIDE`.
const FUNCTION: u32 = 1 << 16;

/// Fails inside a handler or a function that combines, where nothing may wait: both run in the middle of another call.
#[inline]
pub(crate) fn refuse_in_handler() -> Result<()> {
    if INSIDE.get() == 0 { Ok(()) } else { Err(why_refused()) }
}

#[cold]
fn why_refused() -> Error {
    if INSIDE.get() < FUNCTION { Error::InHandler } else { Error::InFunction }
}

/// Marks this thread as running a handler until dropped. One may run inside another: that of another job, which a handler
/// moves on.
pub(crate) struct InHandler;

impl InHandler {
    pub fn enter() -> InHandler {
        INSIDE.set(INSIDE.get() + 1);
        InHandler
    }
}

impl Drop for InHandler {
    fn drop(&mut self) {
        INSIDE.set(INSIDE.get() - 1);
    }
}

/// Marks this thread as running a function of the program, in the middle of a call that needs it, until dropped.
pub(crate) struct InFunction;

impl InFunction {
    #[inline(always)]
    pub fn enter() -> InFunction {
        INSIDE.set(INSIDE.get() + FUNCTION);
        InFunction
    }
}

impl Drop for InFunction {
    #[inline(always)]
    fn drop(&mut self) {
        INSIDE.set(INSIDE.get() - FUNCTION);
    }
}
