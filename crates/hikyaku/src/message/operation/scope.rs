//! Non-blocking operations in safe code: they borrow their buffers, so they live in a scope, which ends only when all of
//! them have ended.

use crate::error::{Error, Result};
use crate::message::buffer::spot::Buffer;
use crate::message::messages::Messages;
use crate::message::state::pending::{Started, StartedOp, Way};
use bytemuck::Pod;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::time::Duration;

/// Where non-blocking operations are started; see [`Messages::scope`].
pub struct Scope<'scope, 'env: 'scope> {
    messages: &'scope Messages<'scope>,
    /// Which scope of these messages it is.
    number: u32,
    started: RefCell<Started>,
    env: PhantomData<&'scope mut &'env ()>,
}

/// How long a list may be that is kept for the next scope.
const KEPT_MAX: usize = 4096;

/// A non-blocking send.
#[derive(Debug)]
#[must_use = "an operation that is not waited for ends with its scope"]
pub struct SendHandle(
    /// `None`: it ended at once.
    Option<StartedOp>,
);

/// A non-blocking receive.
#[derive(Debug)]
#[must_use = "an operation that is not waited for ends with its scope"]
pub struct ReceiveHandle {
    operation: StartedOp,
    /// Bytes of an element of its buffer.
    element: usize,
}

impl Messages<'_> {
    /// Runs `work` with a scope in which non-blocking operations are started. Returns when all of them have ended.
    ///
    /// If `work` panics, nothing is waited for: receives are given up, and sends continue from copies of their data for as long as the
    /// [`Messages`] exist.
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
    ///
    /// Until the scope has ended, a buffer that is sent from cannot be changed,
    ///
    /// ```compile_fail,E0506
    /// # hikyaku::local(2, |job| {
    /// # let messages = job.messages(1)?;
    /// let mut mine = [1u64; 5000];
    /// messages.scope(|scope| {
    ///     let send = scope.isend(&mine, 1, 0)?;
    ///     mine[0] = 2;
    ///     scope.wait_send(send)
    /// })
    /// # }).unwrap();
    /// ```
    ///
    /// one that is received into cannot be read,
    ///
    /// ```compile_fail,E0502
    /// # hikyaku::local(2, |job| {
    /// # let messages = job.messages(1)?;
    /// let mut theirs = [0u64; 5000];
    /// messages.scope(|scope| {
    ///     let receive = scope.irecv(&mut theirs, 1, 0)?;
    ///     println!("{}", theirs[0]);
    ///     scope.wait_receive(receive)
    /// })
    /// # }).unwrap();
    /// ```
    ///
    /// and one that ends before the scope cannot be used at all.
    ///
    /// ```compile_fail,E0597
    /// # hikyaku::local(2, |job| {
    /// # let messages = job.messages(1)?;
    /// messages.scope(|scope| {
    ///     let mut theirs = [0u64; 5000];
    ///     let receive = scope.irecv(&mut theirs, 1, 0)?;
    ///     scope.wait_receive(receive)
    /// })
    /// # }).unwrap();
    /// ```
    pub fn scope<'env, R>(&self, work: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<R>) -> Result<R> {
        let number = self.scopes.get().wrapping_add(1);
        self.scopes.set(number);
        let scope = Scope { messages: self, number, started: RefCell::new(self.started.take()), env: PhantomData };
        let result = work(&scope);
        // On a panic in `work` the scope's destructor gives them up.
        let ended = scope.end();
        let result = result?;
        ended.map(|()| result)
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts a send.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let messages = job.messages(1)?;
    /// let (mine, mut theirs) = (vec![job.rank(); 10_000], vec![9; 10_000]);
    /// let peer = 1 - job.rank();
    /// messages.scope(|scope| {
    ///     let (receive, send) = (scope.irecv(&mut theirs, peer, 0)?, scope.isend(&mine, peer, 0)?);
    ///     // compute something here
    ///     scope.wait_send(send)?;
    ///     scope.wait_receive(receive)
    /// })?;
    /// assert_eq!(theirs[0], peer);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn isend<T: Pod>(&'scope self, data: &'env [T], rank: usize, slot: usize) -> Result<SendHandle> {
        let core = &self.messages.core;
        core.check(rank, slot)?;
        // SAFETY: the buffer is borrowed for longer than the scope, which ends the operation.
        let ended = unsafe { core.start_out(Buffer::of(bytemuck::cast_slice(data)), rank, slot, false)? };
        Ok(SendHandle((!ended).then(|| self.begun(rank, slot, Way::Out))))
    }

    /// Starts a receive; a send of that slot can begin at once.
    pub fn irecv<T: Pod>(&'scope self, into: &'env mut [T], rank: usize, slot: usize) -> Result<ReceiveHandle> {
        let core = &self.messages.core;
        core.check(rank, slot)?;
        let buffer = Buffer::of_mut(bytemuck::cast_slice_mut(into));
        // SAFETY: the buffer is borrowed for longer than the scope, which ends the operation.
        unsafe { core.start_in(buffer, rank, slot, false)? };
        Ok(ReceiveHandle { operation: self.begun(rank, slot, Way::In), element: size_of::<T>().max(1) })
    }

    /// Waits for a send.
    #[track_caller]
    pub fn wait_send(&self, handle: SendHandle) -> Result<()> {
        match handle.0 {
            Some(operation) => self.wait(operation).map(drop),
            None => Ok(()),
        }
    }

    /// Waits for a receive; returns the number of elements that arrived.
    #[track_caller]
    pub fn wait_receive(&self, handle: ReceiveHandle) -> Result<usize> {
        let bytes = self.wait(handle.operation)?;
        self.elements(&handle, bytes)
    }

    /// Waits for a send for at most `timeout`; if it has not ended by then it is under way as before, and the handle comes back.
    #[track_caller]
    pub fn wait_send_for(&self, handle: SendHandle, timeout: Duration) -> Result<std::result::Result<(), SendHandle>> {
        let Some(operation) = handle.0 else { return Ok(Ok(())) };
        Ok(self.wait_within(operation, Some(timeout))?.map(drop).ok_or(handle))
    }

    /// Waits for a receive for at most `timeout`; gives the number of elements that came, or the handle of a receive that is under way
    /// as before.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// hikyaku::local(2, |job| {
    ///     let messages = job.messages(1)?;
    ///     let mut data = [0; 4];
    ///     if job.rank() == 0 {
    ///         job.barrier()?;
    ///         messages.send(&[7; 4], 1, 0)
    ///     } else {
    ///         messages.scope(|scope| {
    ///             let receive = scope.irecv(&mut data, 0, 0)?;
    ///             let receive = scope.wait_receive_for(receive, Duration::from_millis(1))?.expect_err("nothing was sent");
    ///             job.barrier()?;
    ///             assert_eq!(scope.wait_receive(receive)?, 4);
    ///             Ok(())
    ///         })
    ///     }
    /// })
    /// .unwrap();
    /// ```
    #[track_caller]
    pub fn wait_receive_for(
        &self,
        handle: ReceiveHandle,
        timeout: Duration,
    ) -> Result<std::result::Result<usize, ReceiveHandle>> {
        match self.wait_within(handle.operation, Some(timeout))? {
            Some(bytes) => self.elements(&handle, bytes).map(Ok),
            None => Ok(Err(handle)),
        }
    }

    /// Whether a send has ended; if not, the handle comes back.
    pub fn test_send(&self, handle: SendHandle) -> Result<std::result::Result<(), SendHandle>> {
        let Some(operation) = handle.0 else { return Ok(Ok(())) };
        Ok(self.test(operation)?.map(drop).ok_or(handle))
    }

    /// The number of elements that came, if a receive has ended; if not, the handle comes back.
    pub fn test_receive(&self, handle: ReceiveHandle) -> Result<std::result::Result<usize, ReceiveHandle>> {
        match self.test(handle.operation)? {
            Some(bytes) => self.elements(&handle, bytes).map(Ok),
            None => Ok(Err(handle)),
        }
    }

    fn elements(&self, handle: &ReceiveHandle, bytes: usize) -> Result<usize> {
        let (member, slot) = (handle.operation.member as usize, handle.operation.slot as usize);
        self.messages.whole(bytes, handle.element, member, slot)
    }

    #[inline(always)]
    fn begun(&self, member: usize, slot: usize, way: Way) -> StartedOp {
        let mut started = self.started.borrow_mut();
        // Ranks, slots and operations of a scope are fewer than a `u32` counts.
        let (member, slot, place) = (member as u32, slot as u32, started.len() as u32);
        let operation = StartedOp { member, slot, scope: self.number, place, way };
        started.push(Some(operation));
        operation
    }

    /// A handle is of this scope only if it is among what was started here.
    fn check(&self, operation: StartedOp) -> Result<()> {
        match self.started.borrow().get(operation.place as usize) {
            Some(started) if *started == Some(operation) => Ok(()),
            _ => Err(Error::Invalid("this operation was started in another scope".into())),
        }
    }

    /// An operation of this scope has ended.
    fn forget(&self, operation: StartedOp) {
        let mut started = self.started.borrow_mut();
        started[operation.place as usize] = None;
        while let Some(None) = started.last() {
            started.pop();
        }
    }

    #[track_caller]
    fn wait(&self, operation: StartedOp) -> Result<usize> {
        // Without a timeout there is an end.
        Ok(self.wait_within(operation, None)?.unwrap_or(0))
    }

    #[track_caller]
    fn wait_within(&self, operation: StartedOp, patience: Option<Duration>) -> Result<Option<usize>> {
        self.check(operation)?;
        let (member, slot, way) = operation.name();
        let ended = self.messages.wait_flight_for(member, slot, way, patience);
        // Not before: a handler may panic in the wait. And not where nothing can be waited for: it is still under way.
        if !matches!(ended, Ok(None) | Err(Error::InHandler | Error::InFunction)) {
            self.forget(operation);
        }
        ended
    }

    fn test(&self, operation: StartedOp) -> Result<Option<usize>> {
        self.check(operation)?;
        let (member, slot, way) = operation.name();
        let ended = self.messages.test_flight(member, slot, way);
        if !matches!(ended, Ok(None)) {
            self.forget(operation);
        }
        ended
    }

    /// Ends everything; the first error is reported.
    fn end(&self) -> Result<()> {
        let mut result = Ok(());
        // Receives first: the other side's sends may wait for them.
        for way in [Way::In, Way::Out] {
            let places = 0..self.started.borrow().len();
            for place in places {
                let operation = self.started.borrow()[place].filter(|operation| operation.way == way);
                if let Some((member, slot, way)) = operation.map(StartedOp::name) {
                    let ended = self.messages.wait_flight(member, slot, way);
                    if ended.is_err() {
                        // Where nothing can be waited for it is still under way.
                        self.messages.core.withdraw(member, slot, way);
                    }
                    self.started.borrow_mut()[place] = None;
                    result = result.and(ended.map(drop));
                }
            }
        }
        result
    }
}

impl Drop for Scope<'_, '_> {
    fn drop(&mut self) {
        let mut started = self.started.take();
        // Only after a panic is anything left.
        for (member, slot, way) in started.drain(..).flatten().map(StartedOp::name) {
            self.messages.core.withdraw(member, slot, way);
        }
        if started.capacity() <= KEPT_MAX {
            self.messages.started.set(started);
        }
    }
}
