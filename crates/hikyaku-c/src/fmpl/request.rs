//! Requests: prepared transfers and collective calls under way, which a program names by a number.

use super::entry::with_fmpl;
use super::error::Trouble;
use super::started::FIRST_CALL;
use crate::entry::{give, required};
use std::ffi::c_int;

/// `fmpl_request`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Handle {
    pub id: c_int,
}

/// Names none.
const NO_REQUEST: Handle = Handle { id: -1 };

impl Handle {
    fn is_call(self) -> bool {
        self.id >= FIRST_CALL
    }
}

/// Waits for what a request names.
#[unsafe(no_mangle)]
pub extern "C" fn fmpl_wait(req: Handle) -> c_int {
    with_fmpl(|fmpl| match req.is_call() {
        true => fmpl.end_call(req),
        false => fmpl.transfer(req)?.wait(fmpl),
    })
}

/// Whether it has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_test(req: Handle, flag: *mut c_int) -> c_int {
    with_fmpl(|fmpl| {
        required(flag, "the flag to be given")?;
        let ended = match req.is_call() {
            true => fmpl.test_call(req)?,
            false => fmpl.transfer(req)?.test(fmpl)?,
        };
        // SAFETY: not null, and the caller's to write.
        unsafe { give(flag, ended as c_int) };
        Ok(())
    })
}

/// Gives a request back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_request_free(req: *mut Handle) -> c_int {
    with_fmpl(|fmpl| {
        required(req, "the request")?;
        // SAFETY: not null, and the caller's to read.
        let handle = unsafe { req.read() };
        let freed = match handle.is_call() {
            true => fmpl.forget_call(handle)?,
            false => fmpl.free_transfer(handle)?,
        };
        if !freed {
            return Err(Trouble::UnderWay("fmpl_request_free"));
        }
        // SAFETY: not null, and the caller's to write.
        unsafe { give(req, NO_REQUEST) };
        Ok(())
    })
}
