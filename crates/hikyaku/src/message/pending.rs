//! Operations that go on while the program does something else (F5).
//!
//! An operation borrows its buffer, so it lives in a scope, which ends only when all its operations have ended.

use super::receive::ReceiveOp;
use super::send::SendOp;
use super::spot::Buffer;
use super::{Core, Messages};
use crate::error::{Error, Result};
use bytemuck::Pod;
use std::cell::RefCell;
use std::marker::PhantomData;

/// Where non-blocking operations are started; see [`Messages::scope`].
pub struct Scope<'scope, 'env: 'scope> {
    messages: &'scope Messages<'scope>,
    sends: RefCell<Vec<Option<SendOp>>>,
    /// With the size of the elements of the buffer.
    receives: RefCell<Vec<Option<(ReceiveOp, usize)>>>,
    env: PhantomData<&'scope mut &'env ()>,
}

/// A non-blocking send.
#[derive(Debug)]
#[must_use = "an operation that is not waited for ends with its scope"]
pub struct SendHandle(usize);

/// A non-blocking receive.
#[derive(Debug)]
#[must_use = "an operation that is not waited for ends with its scope"]
pub struct ReceiveHandle(usize);

impl Messages<'_> {
    /// Runs `work` with a scope in which non-blocking operations are started. Returns when all of them have ended.
    ///
    /// ```
    /// hikyaku::local(2, |job| {
    ///     let messages = job.messages(4)?;
    ///     let peer = 1 - job.rank();
    ///     let (mine, mut theirs) = ([job.rank() as u64; 5000], [0u64; 5000]);
    ///     messages.scope(|scope| {
    ///         let receive = scope.irecv(&mut theirs, peer, 0)?;
    ///         let send = scope.isend(&mine, peer, 0)?;
    ///         // Compute something here.
    ///         assert_eq!(scope.wait_receive(receive)?, 5000);
    ///         scope.wait_send(send)
    ///     })?;
    ///     assert_eq!(theirs, [peer as u64; 5000]);
    ///     job.barrier()
    /// })
    /// .unwrap();
    /// ```
    pub fn scope<'env, R>(&self, work: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<R>) -> Result<R> {
        let scope = Scope { messages: self, sends: RefCell::default(), receives: RefCell::default(), env: PhantomData };
        let result = work(&scope);
        // On a panic in `work` the scope's destructor does the same.
        let ended = scope.end();
        let result = result?;
        ended.map(|()| result)
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts a send.
    pub fn isend<T: Pod>(&'scope self, data: &'env [T], rank: usize, slot: usize) -> Result<SendHandle> {
        let messages = self.messages;
        messages.core.check(rank, slot)?;
        // SAFETY: the buffer is borrowed for longer than the scope, which ends the operation.
        let mut op = unsafe { messages.core.begin_send(Buffer::of(bytemuck::cast_slice(data)), rank, slot)? };
        let done = messages.core.poke_send(&mut op)?;
        let mut sends = self.sends.borrow_mut();
        messages.core.set_sending(&op, !done);
        sends.push((!done).then_some(op));
        Ok(SendHandle(sends.len() - 1))
    }

    /// Starts a receive; a send of that slot can begin at once.
    pub fn irecv<T: Pod>(&'scope self, into: &'env mut [T], rank: usize, slot: usize) -> Result<ReceiveHandle> {
        let messages = self.messages;
        messages.core.check(rank, slot)?;
        let buffer = Buffer::of_mut(bytemuck::cast_slice_mut(into));
        // SAFETY: the buffer is borrowed for longer than the scope, which ends the operation.
        let mut op = unsafe { messages.core.begin_receive(buffer, rank, slot)? };
        messages.core.post(&mut op);
        messages.core.set_receiving(&op, true);
        let mut receives = self.receives.borrow_mut();
        receives.push(Some((op, size_of::<T>().max(1))));
        Ok(ReceiveHandle(receives.len() - 1))
    }

    /// Waits for a send.
    pub fn wait_send(&self, handle: SendHandle) -> Result<()> {
        let Some(mut op) = self.sends.borrow_mut()[handle.0].take() else { return Ok(()) };
        let result = self.messages.await_send(&mut op, None);
        self.messages.core.set_sending(&op, false);
        result
    }

    /// Waits for a receive; gives the number of elements that came.
    pub fn wait_receive(&self, handle: ReceiveHandle) -> Result<usize> {
        let Some((mut op, element)) = self.receives.borrow_mut()[handle.0].take() else {
            return Err(Error::Invalid("this receive was waited for already".into()));
        };
        self.messages.core.set_receiving(&op, false);
        Ok(self.messages.await_receive(&mut op)? / element)
    }

    fn end(&self) -> Result<()> {
        let mut result = Ok(());
        let receives: Vec<_> = self.receives.borrow_mut().drain(..).flatten().collect();
        for (mut op, _) in receives {
            self.messages.core.set_receiving(&op, false);
            result = result.and(self.messages.await_receive(&mut op).map(drop));
        }
        let sends: Vec<SendOp> = self.sends.borrow_mut().drain(..).flatten().collect();
        for mut op in sends {
            result = result.and(self.messages.await_send(&mut op, None));
            self.messages.core.set_sending(&op, false);
        }
        result
    }
}

impl Drop for Scope<'_, '_> {
    fn drop(&mut self) {
        // Only after a panic is anything left: receives are given up, sends must be taken or lose their rank.
        for (mut op, _) in self.receives.borrow_mut().drain(..).flatten() {
            self.messages.core.withdraw(&mut op);
            self.messages.core.set_receiving(&op, false);
        }
        let _ = self.end();
    }
}

impl Core {
    fn set_sending(&self, op: &SendOp, busy: bool) {
        self.peers[op.rank].borrow_mut().sends[op.entry].busy = busy;
    }

    fn set_receiving(&self, op: &ReceiveOp, busy: bool) {
        self.peers[op.rank].borrow_mut().receives[op.entry].busy = busy;
    }
}
