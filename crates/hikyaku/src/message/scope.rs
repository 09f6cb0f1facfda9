//! Non-blocking operations in safe code: they borrow their buffers, so they live in a scope, which ends only when all of
//! them have ended.

use super::Messages;
use super::pending::Way;
use super::spot::Buffer;
use crate::error::{Error, Result};
use bytemuck::Pod;
use std::cell::RefCell;
use std::marker::PhantomData;

/// Where non-blocking operations are started; see [`Messages::scope`].
pub struct Scope<'scope, 'env: 'scope> {
    messages: &'scope Messages<'scope>,
    /// What was started here and not waited for.
    started: RefCell<Vec<Operation>>,
    env: PhantomData<&'scope mut &'env ()>,
}

/// An operation, by its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Operation {
    member: usize,
    slot: usize,
    way: Way,
}

/// A non-blocking send.
#[derive(Debug)]
#[must_use = "an operation that is not waited for ends with its scope"]
pub struct SendHandle(
    /// `None`: it ended at once.
    Option<Operation>,
);

/// A non-blocking receive.
#[derive(Debug)]
#[must_use = "an operation that is not waited for ends with its scope"]
pub struct ReceiveHandle {
    operation: Operation,
    /// Bytes of an element of its buffer.
    element: usize,
}

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
        let scope = Scope { messages: self, started: RefCell::default(), env: PhantomData };
        let result = work(&scope);
        // On a panic in `work` the scope's destructor ends them.
        let ended = scope.end();
        let result = result?;
        ended.map(|()| result)
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts a send.
    pub fn isend<T: Pod>(&'scope self, data: &'env [T], rank: usize, slot: usize) -> Result<SendHandle> {
        let core = &self.messages.core;
        core.check(rank, slot)?;
        // SAFETY: the buffer is borrowed for longer than the scope, which ends the operation.
        let ended = unsafe { core.start_out(core.begin_send(Buffer::of(bytemuck::cast_slice(data)), rank, slot)?)? };
        Ok(SendHandle((!ended).then(|| self.begun(rank, slot, Way::Out))))
    }

    /// Starts a receive; a send of that slot can begin at once.
    pub fn irecv<T: Pod>(&'scope self, into: &'env mut [T], rank: usize, slot: usize) -> Result<ReceiveHandle> {
        let core = &self.messages.core;
        core.check(rank, slot)?;
        let buffer = Buffer::of_mut(bytemuck::cast_slice_mut(into));
        // SAFETY: the buffer is borrowed for longer than the scope, which ends the operation.
        unsafe { core.start_in(core.begin_receive(buffer, rank, slot)?) };
        Ok(ReceiveHandle { operation: self.begun(rank, slot, Way::In), element: size_of::<T>().max(1) })
    }

    /// Waits for a send.
    pub fn wait_send(&self, handle: SendHandle) -> Result<()> {
        handle.0.map_or(Ok(()), |operation| self.wait(operation).map(drop))
    }

    /// Waits for a receive; gives the number of elements that came.
    pub fn wait_receive(&self, handle: ReceiveHandle) -> Result<usize> {
        Ok(self.wait(handle.operation)? / handle.element)
    }

    /// Whether a send has ended; if not, the handle comes back.
    pub fn test_send(&self, handle: SendHandle) -> Result<std::result::Result<(), SendHandle>> {
        let Some(operation) = handle.0 else { return Ok(Ok(())) };
        Ok(self.test(operation)?.map(drop).ok_or(handle))
    }

    /// The number of elements that came, if a receive has ended; if not, the handle comes back.
    pub fn test_receive(&self, handle: ReceiveHandle) -> Result<std::result::Result<usize, ReceiveHandle>> {
        Ok(self.test(handle.operation)?.map(|bytes| bytes / handle.element).ok_or(handle))
    }

    fn begun(&self, member: usize, slot: usize, way: Way) -> Operation {
        let operation = Operation { member, slot, way };
        self.started.borrow_mut().push(operation);
        operation
    }

    /// A handle is of this scope only if it is among what was started here.
    fn forget(&self, operation: Operation) -> Result<()> {
        let mut started = self.started.borrow_mut();
        let index = started.iter().position(|other| *other == operation);
        let index = index.ok_or_else(|| Error::Invalid("this operation was started in another scope".into()))?;
        started.swap_remove(index);
        Ok(())
    }

    fn wait(&self, operation: Operation) -> Result<usize> {
        self.forget(operation)?;
        self.messages.wait_flight(operation.member, operation.slot, operation.way)
    }

    fn test(&self, operation: Operation) -> Result<Option<usize>> {
        self.forget(operation)?;
        let ended = self.messages.test_flight(operation.member, operation.slot, operation.way)?;
        if ended.is_none() {
            self.started.borrow_mut().push(operation);
        }
        Ok(ended)
    }

    /// Ends everything; the first error is reported.
    fn end(&self) -> Result<()> {
        let mut result = Ok(());
        // Receives first: the other side's sends may wait for them.
        for way in [Way::In, Way::Out] {
            let operations: Vec<_> =
                self.started.borrow_mut().extract_if(.., |operation| operation.way == way).collect();
            for Operation { member, slot, way } in operations {
                result = result.and(self.messages.wait_flight(member, slot, way).map(drop));
            }
        }
        result
    }
}

impl Drop for Scope<'_, '_> {
    fn drop(&mut self) {
        // Only after a panic is anything left.
        for Operation { member, slot, way } in self.started.borrow_mut().drain(..) {
            self.messages.core.abandon(member, slot, way);
        }
    }
}
