//! Memory that all ranks of the host map.

use super::entry::with_fmpl;
use super::error::{Outcome, Trouble};
use super::job::{Fmpl, refuse_in_fork};
use crate::given::exported;
use core_hikyaku::Block;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::null_mut;

/// What was handed out, by address.
pub type Blocks = BTreeMap<usize, Block>;

impl Fmpl {
    pub fn take_block(&self, size: usize) -> Outcome<*mut c_void> {
        let block = self.origin.port().block(size)?;
        let start: *mut c_void = block.start().cast();
        self.blocks.borrow_mut().insert(start.addr(), block);
        Ok(start)
    }

    pub fn give_block(&self, start: *mut c_void) -> Outcome<()> {
        refuse_in_fork()?;
        let block = self.blocks.borrow_mut().remove(&start.addr());
        block.map(drop).ok_or(Trouble::Foreign)
    }
}

exported! {
    /// Hands memory out; null if there is none.
    pub fn fmpl_malloc(size: usize) -> *mut c_void {
        let mut start = null_mut();
        with_fmpl(|fmpl| {
            start = fmpl.take_block(size)?;
            Ok(())
        });
        start
    }

    /// Takes it back.
    pub fn fmpl_free(p: *mut c_void) {
        if !p.is_null() {
            with_fmpl(|fmpl| fmpl.give_block(p));
        }
    }
}
