//! Messages that leave nothing under way, for code that has a wait of its own. Short ones are sent or received now, or not at
//! all; long ones between two that wait for each other.

use crate::error::Result;
use crate::message::buffer::spot::Buffer;
use crate::message::messages::Messages;
use crate::message::pair::Pair;
use crate::message::state::core::Core;
use crate::message::state::op::ReceiveOp;
use crate::message::state::op::SendOp;
use crate::message::wire::layout::EAGER_MAX;
use std::marker::PhantomData;

/// A message that is waited for.
pub(crate) struct Expected<'m> {
    core: &'m Core,
    op: ReceiveOp,
    is_done: bool,
    into: PhantomData<&'m mut [u8]>,
}

impl<'m> Expected<'m> {
    /// Takes it as far as it goes now; gives its bytes when it has come.
    pub fn poke(&mut self) -> Result<Option<usize>> {
        // Again and again: there may have been no window.
        self.core.post(&mut self.op);
        let received = self.core.poke_receive(&mut self.op)?;
        self.is_done = received.is_some();
        Ok(received)
    }

    /// What has come, if it has filled the buffer with its `bytes`.
    pub fn complete(self, bytes: usize) -> Option<&'m mut [u8]> {
        let buffer = self.op.buffer;
        // SAFETY: the buffer that was borrowed for `'m`; nobody writes to it any more.
        (self.is_done && bytes == buffer.bytes).then(|| unsafe { std::slice::from_raw_parts_mut(buffer.start, bytes) })
    }
}

impl Drop for Expected<'_> {
    /// Nobody writes to the buffer any more.
    fn drop(&mut self) {
        if !self.is_done {
            let _ = self.core.withdraw_receive(&mut self.op);
        }
    }
}

/// A message that is offered to whoever waits for it.
struct Offered<'m> {
    core: &'m Core,
    op: SendOp,
    is_done: bool,
}

impl Drop for Offered<'_> {
    /// Nobody reads the buffer any more.
    fn drop(&mut self) {
        if !self.is_done {
            self.core.withdraw_send(&mut self.op);
        }
    }
}

impl Messages<'_> {
    /// Sends `data`, of any length, straight into the buffer of a member once that waits for it. `wait` calls the step until it
    /// gives something, and returns that, or an error; in either case nobody reads `data` any more.
    pub(crate) fn send_to_waiting(
        &self,
        data: &[u8],
        member: usize,
        slot: usize,
        wait: impl FnOnce(&mut dyn FnMut() -> Option<Result<()>>) -> Result<()>,
    ) -> Result<()> {
        self.core.check(member, slot)?;
        // SAFETY: the buffer is borrowed for as long as the operation lives, which ends when it is done or revoked.
        let mut op = unsafe { self.core.begin_send(Buffer::of(data), member, slot)? };
        op.only_to_waiting = Pair::of(&self.core, member).sends_to_waiting_only();
        let mut offered = Offered { core: &self.core, op, is_done: false };
        wait(&mut || {
            let sent = offered.core.poke_send(&mut offered.op);
            offered.is_done = matches!(sent, Ok(true));
            sent.map(|sent| sent.then_some(())).transpose()
        })
    }

    /// Waits for a message of a member that sends to those who wait.
    pub(crate) fn expect<'m>(&'m self, into: &'m mut [u8], member: usize, slot: usize) -> Result<Expected<'m>> {
        self.core.check(member, slot)?;
        // SAFETY: the buffer is borrowed for as long as the operation lives, which ends when it is done or withdrawn.
        let op = unsafe { self.core.begin_receive(Buffer::of_mut(into), member, slot)? };
        let mut expected = Expected { core: &self.core, op, is_done: false, into: PhantomData };
        self.core.post(&mut expected.op);
        Ok(expected)
    }

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
            let _ = self.core.withdraw_receive(&mut op);
        }
        received
    }
}
