//! Slots between all ranks for a layer above, which decides by itself what goes through which, and when.

use crate::error::Result;
use crate::message::buffer::spot::Buffer;
use crate::message::messages::{Messages, Mode};
use crate::message::state::core::Core;
use crate::message::state::pending::Way;
use std::rc::Rc;

/// See above. A send ends when its message was taken, whatever its size.
pub(crate) struct Carrier(Rc<Core>);

impl Messages<'_> {
    /// The slots of these messages, for a layer above that has them to itself.
    pub(crate) fn carrier(&self) -> Carrier {
        self.set_mode(Mode::Synchronous);
        Carrier(self.core.clone())
    }
}

impl Carrier {
    /// Starts a send; true if it has ended already.
    ///
    /// # Safety
    /// The bytes stay as they are until [`Carrier::test_send`] says that it has ended, or [`Carrier::withdraw_send`] returns.
    pub unsafe fn start_send(&self, data: *const u8, bytes: usize, rank: usize, slot: usize) -> Result<bool> {
        // SAFETY: the caller's promise.
        unsafe { self.0.start_taken(Buffer::whole(data.cast_mut(), bytes), rank, slot) }
    }

    /// Starts a receive.
    ///
    /// # Safety
    /// The bytes stay, and nobody else uses them, until [`Carrier::test_receive`] says that it has ended, or
    /// [`Carrier::withdraw_receive`] returns.
    pub unsafe fn start_receive(&self, into: *mut u8, bytes: usize, rank: usize, slot: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.0.start_in(Buffer::whole(into, bytes), rank, slot, false) }
    }

    /// Whether the send of a slot has ended.
    pub fn test_send(&self, rank: usize, slot: usize) -> Result<bool> {
        self.0.test(rank, slot, Way::Out).map(|ended| ended.is_some())
    }

    /// The bytes that came, if the receive of a slot has ended.
    pub fn test_receive(&self, rank: usize, slot: usize) -> Result<Option<usize>> {
        self.0.test(rank, slot, Way::In)
    }

    /// Takes the buffer of a send back, which goes on from a copy.
    pub fn withdraw_send(&self, rank: usize, slot: usize) {
        self.0.withdraw(rank, slot, Way::Out);
    }

    /// Takes the buffer of a receive back. The message, if it comes, waits for the next receive of the slot, unless it had come: then this
    /// says how.
    pub fn withdraw_receive(&self, rank: usize, slot: usize) -> Option<Result<usize>> {
        self.0.withdraw(rank, slot, Way::In)
    }
}
