//! Requests: prepared transfers and collective calls under way, which a program names by a number.

use super::entry::with_fmpl;
use super::error::Trouble;
use super::started::FIRST_CALL;
use crate::given::{InOut, Out, exported};
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

exported! {
    /// Waits for what a request names.
    pub fn fmpl_wait(req: Handle) -> c_int {
        with_fmpl(|fmpl| match req.is_call() {
            true => fmpl.end_call(req),
            false => fmpl.transfer(req)?.wait(fmpl),
        })
    }

    /// Whether it has ended.
    pub fn fmpl_test(req: Handle, flag: Out<'_, c_int>) -> c_int {
        with_fmpl(|fmpl| {
            flag.required("the flag to be given")?;
            let ended = match req.is_call() {
                true => fmpl.test_call(req)?,
                false => fmpl.transfer(req)?.test(fmpl)?,
            };
            flag.give(ended as c_int);
            Ok(())
        })
    }

    /// Gives a request back.
    pub fn fmpl_request_free(req: InOut<'_, Handle>) -> c_int {
        with_fmpl(|fmpl| {
            let handle = req.read("the request")?;
            let freed = match handle.is_call() {
                true => fmpl.forget_call(handle)?,
                false => fmpl.free_transfer(handle)?,
            };
            if !freed {
                return Err(Trouble::UnderWay("fmpl_request_free"));
            }
            req.give(NO_REQUEST);
            Ok(())
        })
    }
}
