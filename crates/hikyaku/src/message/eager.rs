//! Short messages that leave nothing under way: sent or received now, or not at all. For code that has a wait of its own.

use super::spot::Buffer;
use super::{EAGER_MAX, Messages};
use crate::error::Result;

impl Messages<'_> {
    /// Sends `data`, of at most [`EAGER_MAX`] bytes, if its slot is free; false if not.
    #[inline]
    pub(crate) fn try_send(&self, data: &[u8], member: usize, slot: usize) -> Result<bool> {
        debug_assert!(data.len() <= EAGER_MAX);
        self.core.check(member, slot)?;
        // SAFETY: a short message is copied now, or the operation has not begun when it is dropped: it is never offered.
        let mut op = unsafe { self.core.begin_send(Buffer::of(data), member, slot)? };
        self.core.poke_send(&mut op)
    }

    /// Receives a message of at most [`EAGER_MAX`] bytes if it has come; gives its bytes.
    #[inline]
    pub(crate) fn try_recv(&self, into: &mut [u8], member: usize, slot: usize) -> Result<Option<usize>> {
        debug_assert!(into.len() <= EAGER_MAX);
        self.core.check(member, slot)?;
        // SAFETY: only this call copies into the buffer, since a receive that was not posted is known to nobody, and one that
        // was is withdrawn. One of which some pieces have not come is dropped and begins anew.
        let mut op = unsafe { self.core.begin_receive(Buffer::of_mut(into), member, slot)? };
        let received = self.core.poke_receive(&mut op);
        if matches!(received, Ok(None)) {
            self.core.withdraw(&mut op);
        }
        received
    }
}
