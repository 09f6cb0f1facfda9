//! Memory for messages, used again and again.

use crate::message::EAGER_MAX;
use std::cell::RefCell;

/// See above.
#[derive(Default)]
pub(super) struct Spare(RefCell<Vec<Box<[u8]>>>);

/// Memory for one message.
pub(super) struct Sheet<'f> {
    spare: &'f Spare,
    pub bytes: Box<[u8]>,
}

impl Spare {
    pub fn sheet(&self) -> Sheet<'_> {
        let kept = self.0.borrow_mut().pop();
        Sheet { spare: self, bytes: kept.unwrap_or_else(|| vec![0; EAGER_MAX].into()) }
    }
}

impl Drop for Sheet<'_> {
    fn drop(&mut self) {
        self.spare.0.borrow_mut().push(std::mem::take(&mut self.bytes));
    }
}
