//! Operations under way in safe code: they borrow their buffers, so they live in a scope, which ends only when all of them have ended.

use super::arrival::Envelope;
use super::buffer::{Data, Room};
use super::keys::{Keys, Pattern, Source};
use super::messages::{Matched, Matching};
use super::outgoing::SendId;
use super::parts::changes_in;
use super::tables::ReceiveId;
use crate::error::{Error, Result};
use crate::ni::refuse_in_handler;
use bytemuck::Pod;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::time::Duration;

/// Where operations are started; see [`Matching::scope`].
pub struct Scope<'scope, 'env: 'scope> {
    matching: &'scope Matching<'scope>,
    /// `None` where one has ended.
    started: RefCell<Vec<Option<Started>>>,
    env: PhantomData<&'scope mut &'env ()>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Started {
    Send(SendId, usize),
    Receive(ReceiveId, Pattern),
}

/// A send under way.
#[derive(Debug)]
#[must_use = "an operation that is not waited for ends with its scope"]
pub struct SendHandle(
    /// Its place in the scope; `None`: it ended at once.
    Option<(usize, SendId, usize)>,
);

/// A receive under way.
#[derive(Debug)]
#[must_use = "an operation that is not waited for ends with its scope"]
pub struct ReceiveHandle {
    place: usize,
    id: ReceiveId,
    pattern: Pattern,
    unit: Unit,
}

/// How the length of a message is counted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unit {
    /// Elements of so many bytes.
    Element(usize),
    /// Changed ones, of so many bytes, and of how many.
    Changed(usize, usize),
}

impl Unit {
    pub fn matched(self, envelope: Envelope) -> Result<Matched> {
        match self {
            Unit::Element(element) => Matched::of(envelope, element),
            Unit::Changed(unit, units) => {
                let Envelope { source: rank, key, bytes } = envelope;
                Ok(Matched { rank, key, len: changes_in(bytes, unit, units) })
            }
        }
    }
}

impl Matching<'_> {
    /// Runs `work` with a scope in which operations are started. Returns when all of them have ended.
    ///
    /// If `work` panics, nothing is waited for: receives are withdrawn, and sends continue from copies of their data for as long as the
    /// [`Matching`] exists.
    ///
    /// ```
    /// hikyaku::local(2, |job| {
    ///     let matching = job.matching()?;
    ///     let peer = 1 - job.rank();
    ///     let mine: Vec<u64> = (0..100).collect();
    ///     let mut theirs = vec![0; 100];
    ///     matching.scope(|scope| {
    ///         // A hundred messages, received in the opposite order.
    ///         for (key, number) in theirs.chunks_mut(1).enumerate().rev() {
    ///             let _ = scope.irecv(number, peer, key as u64)?;
    ///         }
    ///         for (key, number) in (0..).zip(mine.chunks(1)) {
    ///             let _ = scope.isend(number, peer, key)?;
    ///         }
    ///         Ok(()) // all are waited for here
    ///     })?;
    ///     assert_eq!(theirs, mine);
    ///     job.barrier()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// Until the scope has ended, a buffer that is sent from cannot be changed,
    ///
    /// ```compile_fail,E0506
    /// # hikyaku::local(2, |job| {
    /// # let matching = job.matching()?;
    /// let mut mine = [1u64; 5000];
    /// matching.scope(|scope| {
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
    /// # let matching = job.matching()?;
    /// let mut theirs = [0u64; 5000];
    /// matching.scope(|scope| {
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
    /// # let matching = job.matching()?;
    /// matching.scope(|scope| {
    ///     let mut theirs = [0u64; 5000];
    ///     let receive = scope.irecv(&mut theirs, 1, 0)?;
    ///     scope.wait_receive(receive)
    /// })
    /// # }).unwrap();
    /// ```
    pub fn scope<'env, R>(&self, work: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<R>) -> Result<R> {
        let scope = Scope { matching: self, started: RefCell::default(), env: PhantomData };
        let result = work(&scope);
        // On a panic in `work` the scope's destructor gives them up.
        let ended = scope.end();
        let result = result?;
        ended.map(|()| result)
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts a send to `rank` under `key`. It never waits: what finds no room follows while this rank waits for anything.
    pub fn isend<T: Pod>(&'scope self, data: &'env [T], rank: usize, key: u64) -> Result<SendHandle> {
        let data: &[u8] = bytemuck::cast_slice(data);
        // SAFETY: borrowed for longer than the scope, which ends the operation.
        let data = unsafe { Data::lent(data.as_ptr(), data.len()) };
        self.begin_send(data, rank, key)
    }

    pub(super) fn begin_send(&'scope self, data: Data, rank: usize, key: u64) -> Result<SendHandle> {
        let id = self.matching.start_send(data, rank, key)?;
        let begun = id.map(|id| (self.begun(Started::Send(id, rank)), id, rank));
        self.matching.mover.step();
        Ok(SendHandle(begun))
    }

    /// Starts a receive of the first message that it takes. Of several receives that take a message, the one that was started first gets
    /// it.
    pub fn irecv<T: Pod>(
        &'scope self,
        into: &'env mut [T],
        from: impl Into<Source>,
        keys: impl Into<Keys>,
    ) -> Result<ReceiveHandle> {
        let pattern = Pattern::new(from, keys);
        let into: &mut [u8] = bytemuck::cast_slice_mut(into);
        // SAFETY: borrowed for longer than the scope, which ends the operation.
        let room = unsafe { Room::new(into.as_mut_ptr(), into.len()) };
        self.begin_receive(room, pattern, Unit::Element(size_of::<T>()))
    }

    /// Starts a receive into memory that is borrowed for longer than the scope.
    pub(super) fn begin_receive(&'scope self, room: Room, pattern: Pattern, unit: Unit) -> Result<ReceiveHandle> {
        let (id, _) = self.matching.start_receive(room, pattern)?;
        let place = self.begun(Started::Receive(id, pattern));
        self.matching.mover.step();
        Ok(ReceiveHandle { place, id, pattern, unit })
    }

    /// Waits for a send.
    #[track_caller]
    pub fn wait_send(&self, handle: SendHandle) -> Result<()> {
        self.matching.port().enter(&"wait_send");
        self.wait_send_within(&handle, None).map(drop)
    }

    /// Waits for a receive.
    #[track_caller]
    pub fn wait_receive(&self, handle: ReceiveHandle) -> Result<Matched> {
        self.matching.port().enter(&"wait_receive");
        match self.wait_receive_within(&handle, None)? {
            Some(envelope) => handle.unit.matched(envelope),
            // Without a timeout there is an end.
            None => Err(Error::Timeout { after: Duration::ZERO }),
        }
    }

    /// Waits for a send for at most `timeout`; if it has not ended by then it is under way as before, and the handle comes back.
    #[track_caller]
    pub fn wait_send_for(&self, handle: SendHandle, timeout: Duration) -> Result<std::result::Result<(), SendHandle>> {
        self.matching.port().enter(&"wait_send_for");
        Ok(if self.wait_send_within(&handle, Some(timeout))? { Ok(()) } else { Err(handle) })
    }

    /// Waits for a receive for at most `timeout`; if it has not ended by then it is under way as before, and the handle comes back.
    #[track_caller]
    pub fn wait_receive_for(
        &self,
        handle: ReceiveHandle,
        timeout: Duration,
    ) -> Result<std::result::Result<Matched, ReceiveHandle>> {
        self.matching.port().enter(&"wait_receive_for");
        match self.wait_receive_within(&handle, Some(timeout))? {
            Some(envelope) => handle.unit.matched(envelope).map(Ok),
            None => Ok(Err(handle)),
        }
    }

    /// Whether a send has ended; if not, the handle comes back.
    pub fn test_send(&self, handle: SendHandle) -> Result<std::result::Result<(), SendHandle>> {
        let Some((place, id, rank)) = handle.0 else { return Ok(Ok(())) };
        self.check(place, Started::Send(id, rank))?;
        let ended = self.matching.test_send(id, rank);
        self.forget_unless(place, matches!(ended, Ok(false) | Err(Error::InHandler | Error::InFunction)));
        Ok(if ended? { Ok(()) } else { Err(handle) })
    }

    /// What a receive got, if it has ended; if not, the handle comes back.
    pub fn test_receive(&self, handle: ReceiveHandle) -> Result<std::result::Result<Matched, ReceiveHandle>> {
        self.check(handle.place, Started::Receive(handle.id, handle.pattern))?;
        let ended = self.matching.test_receive(handle.id, handle.pattern);
        self.forget_unless(handle.place, matches!(ended, Ok(None) | Err(Error::InHandler | Error::InFunction)));
        match ended? {
            Some(envelope) => handle.unit.matched(envelope).map(Ok),
            None => Ok(Err(handle)),
        }
    }

    /// Ends a receive before its message has come; what it got if that was too late. The message waits for another receive.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let matching = job.matching()?;
    /// let mut room = [0u64];
    /// matching.scope(|scope| {
    ///     let receive = scope.irecv(&mut room, 1 - job.rank(), 7)?;
    ///     assert_eq!(scope.cancel_receive(receive)?, None); // nobody has sent anything
    ///     Ok(())
    /// })?;
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn cancel_receive(&self, handle: ReceiveHandle) -> Result<Option<Matched>> {
        refuse_in_handler()?;
        self.check(handle.place, Started::Receive(handle.id, handle.pattern))?;
        let ended = self.matching.withdraw_receive(handle.id);
        self.forget_unless(handle.place, false);
        ended.transpose()?.map(|envelope| handle.unit.matched(envelope)).transpose()
    }

    fn begun(&self, operation: Started) -> usize {
        let mut started = self.started.borrow_mut();
        started.push(Some(operation));
        started.len() - 1
    }

    fn at(&self, place: usize) -> Option<Started> {
        self.started.borrow().get(place).copied().flatten()
    }

    /// A handle is of this scope only if it is among what was started here.
    fn check(&self, place: usize, operation: Started) -> Result<()> {
        match self.at(place) == Some(operation) {
            true => Ok(()),
            false => Err(Error::Invalid("this operation was started in another scope".into())),
        }
    }

    /// An operation of this scope has ended, unless it is under way.
    fn forget_unless(&self, place: usize, is_under_way: bool) {
        let mut started = self.started.borrow_mut();
        if !is_under_way {
            started[place] = None;
            while let Some(None) = started.last() {
                started.pop();
            }
        }
    }

    #[track_caller]
    fn wait_send_within(&self, handle: &SendHandle, patience: Option<Duration>) -> Result<bool> {
        let Some((place, id, rank)) = handle.0 else { return Ok(true) };
        self.check(place, Started::Send(id, rank))?;
        let ended = self.matching.wait_send(id, rank, patience);
        // Not before: a handler may panic in the wait. And not where nothing can be waited for: it is still under way.
        self.forget_unless(place, matches!(ended, Ok(false) | Err(Error::InHandler | Error::InFunction)));
        ended
    }

    #[track_caller]
    fn wait_receive_within(&self, handle: &ReceiveHandle, patience: Option<Duration>) -> Result<Option<Envelope>> {
        self.check(handle.place, Started::Receive(handle.id, handle.pattern))?;
        let ended = self.matching.wait_receive(handle.id, handle.pattern, patience);
        self.forget_unless(handle.place, matches!(ended, Ok(None) | Err(Error::InHandler | Error::InFunction)));
        ended
    }

    /// Ends everything; the first error is reported.
    #[track_caller]
    fn end(&self) -> Result<()> {
        self.matching.port().enter(&"scope");
        let mut result = Ok(());
        let all = 0..self.started.borrow().len();
        // Receives first: the other side's sends may wait for them.
        for place in all.clone() {
            if let Some(Started::Receive(id, pattern)) = self.at(place) {
                let ended = self.matching.wait_receive(id, pattern, None);
                // Where nothing can be waited for it is still under way.
                self.matching.mover.withdraw_receive(id);
                result = result.and(ended.map(drop));
            }
        }
        for place in all {
            if let Some(Started::Send(id, rank)) = self.at(place) {
                let ended = self.matching.wait_send(id, rank, None);
                self.matching.mover.withdraw_send(id);
                result = result.and(ended.map(drop));
            }
        }
        self.started.borrow_mut().clear();
        result
    }
}

impl Drop for Scope<'_, '_> {
    fn drop(&mut self) {
        // Only after a panic is anything left.
        for operation in self.started.take().into_iter().flatten() {
            match operation {
                Started::Send(id, _) => self.matching.mover.withdraw_send(id),
                Started::Receive(id, _) => drop(self.matching.mover.withdraw_receive(id)),
            }
        }
    }
}
