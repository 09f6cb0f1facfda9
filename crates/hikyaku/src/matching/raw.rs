//! Matched messages by addresses, for interfaces to other languages.

use super::buffer::{Data, Room};
use super::keys::{Keys, Pattern, Source};
use super::messages::{Matched, Matching};
use super::outgoing::SendId;
use super::parts::Parts;
use super::tables::ReceiveId;
use crate::error::{Error, Result};
use std::time::Duration;

/// An operation that was started by [`RawMatching`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request(Operation);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    /// It ended at once.
    Sent,
    Send(SendId, usize),
    Receive(ReceiveId, Pattern),
}

/// Matched messages of memory that no borrow protects.
pub trait RawMatching: sealed::Sealed {
    /// Starts a send.
    ///
    /// # Safety
    /// The `bytes` bytes at `data` stay as they are until [`RawMatching::wait`] or [`RawMatching::test`] says that the request has
    /// ended, or [`RawMatching::withdraw`] returns.
    unsafe fn isend(&self, data: *const u8, bytes: usize, rank: usize, key: u64) -> Result<Request>;

    /// Starts a receive.
    ///
    /// # Safety
    /// The `bytes` bytes at `into` stay, and nobody else uses them, as above.
    unsafe fn irecv(&self, into: *mut u8, bytes: usize, from: Source, keys: Keys) -> Result<Request>;

    /// Starts a send of a message that was packed.
    fn isend_packed(&self, packed: Box<[u8]>, rank: usize, key: u64) -> Result<Request>;

    /// Starts a receive of parts of a range. What it says of its length is that of the message.
    ///
    /// # Safety
    /// All parts from `into` on stay, and nobody else uses them, as above.
    unsafe fn irecv_parts(&self, into: *mut u8, parts: Parts, from: Source, keys: Keys) -> Result<Request>;

    /// Starts a receive of which a twin is kept.
    ///
    /// # Safety
    /// The `bytes` bytes at both stay, and nobody else uses them, as above. They do not overlap.
    unsafe fn irecv_twin(
        &self,
        into: *mut u8,
        twin: *mut u8,
        bytes: usize,
        from: Source,
        keys: Keys,
    ) -> Result<Request>;

    /// Waits until a request has ended: what was received, in bytes. Fails with [`Error::Timeout`] when the time is over, and then it is
    /// under way as before. Any other error has ended it, except where nothing can be waited for.
    fn wait(&self, request: Request, timeout: Option<Duration>) -> Result<Option<Matched>>;

    /// One look at a request; [`Error::Timeout`] if it is under way.
    fn test(&self, request: Request) -> Result<Option<Matched>>;

    /// Ends a request: a receive gets nothing any more, and a send goes on from a copy. What was received if that was too late.
    fn withdraw(&self, request: Request) -> Result<Option<Matched>>;
}

impl Matching<'_> {
    fn begin_send(&self, data: Data, rank: usize, key: u64) -> Result<Request> {
        let id = self.start_send(data, rank, key)?;
        self.mover.step();
        Ok(Request(id.map_or(Operation::Sent, |id| Operation::Send(id, rank))))
    }

    fn begin_receive(&self, room: Room, from: Source, keys: Keys) -> Result<Request> {
        let pattern = Pattern::new(from, keys);
        let (id, _) = self.start_receive(room, pattern)?;
        self.mover.step();
        Ok(Request(Operation::Receive(id, pattern)))
    }
}

impl RawMatching for Matching<'_> {
    unsafe fn isend(&self, data: *const u8, bytes: usize, rank: usize, key: u64) -> Result<Request> {
        // SAFETY: the caller's promise.
        self.begin_send(unsafe { Data::lent(data, bytes) }, rank, key)
    }

    fn isend_packed(&self, packed: Box<[u8]>, rank: usize, key: u64) -> Result<Request> {
        self.begin_send(Data::Own(packed), rank, key)
    }

    unsafe fn irecv_parts(&self, into: *mut u8, parts: Parts, from: Source, keys: Keys) -> Result<Request> {
        // SAFETY: the caller's promise.
        self.begin_receive(unsafe { Room::of_parts(parts, into) }, from, keys)
    }

    unsafe fn irecv_twin(
        &self,
        into: *mut u8,
        twin: *mut u8,
        bytes: usize,
        from: Source,
        keys: Keys,
    ) -> Result<Request> {
        // SAFETY: the caller's promise.
        self.begin_receive(unsafe { Room::with_twin(into, twin, bytes) }, from, keys)
    }

    unsafe fn irecv(&self, into: *mut u8, bytes: usize, from: Source, keys: Keys) -> Result<Request> {
        // SAFETY: the caller's promise.
        self.begin_receive(unsafe { Room::new(into, bytes) }, from, keys)
    }

    fn wait(&self, request: Request, timeout: Option<Duration>) -> Result<Option<Matched>> {
        let late = Error::Timeout { after: timeout.unwrap_or_default() };
        match request.0 {
            Operation::Sent => Ok(None),
            Operation::Send(id, rank) => match self.wait_send(id, rank, timeout)? {
                true => Ok(None),
                false => Err(late),
            },
            Operation::Receive(id, pattern) => {
                let ended = self.wait_receive(id, pattern, timeout)?;
                Matched::of(ended.ok_or(late)?, 1).map(Some)
            }
        }
    }

    fn test(&self, request: Request) -> Result<Option<Matched>> {
        let late = Error::Timeout { after: Duration::ZERO };
        match request.0 {
            Operation::Sent => Ok(None),
            Operation::Send(id, rank) => match self.test_send(id, rank)? {
                true => Ok(None),
                false => Err(late),
            },
            Operation::Receive(id, pattern) => {
                let ended = self.test_receive(id, pattern)?;
                Matched::of(ended.ok_or(late)?, 1).map(Some)
            }
        }
    }

    fn withdraw(&self, request: Request) -> Result<Option<Matched>> {
        match request.0 {
            Operation::Sent => Ok(None),
            Operation::Send(id, _) => {
                self.mover.withdraw_send(id);
                Ok(None)
            }
            Operation::Receive(id, _) => {
                let ended = self.withdraw_receive(id).transpose()?;
                ended.map(|envelope| Matched::of(envelope, 1)).transpose()
            }
        }
    }
}

mod sealed {
    /// Only messages of the library have it.
    pub trait Sealed {}

    impl Sealed for super::Matching<'_> {}
}
