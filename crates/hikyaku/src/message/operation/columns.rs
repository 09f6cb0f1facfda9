//! Long messages from and into columns, which are not copied together: the part of a matrix, for instance.

use crate::error::{Error, Result};
use crate::message::buffer::shape::Shape;
use crate::message::buffer::spot::Buffer;
use crate::message::messages::Messages;
use crate::message::state::op::Stage;
use crate::message::wire::layout::EAGER_MAX;
use crate::ni::refuse_in_handler;
use std::time::Duration;

/// Bytes in columns of equal length and at equal distance; the last may be cut short.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    /// The first byte of the first column.
    pub start: *mut u8,
    /// Bytes of all columns together.
    pub bytes: usize,
    /// Bytes of each column, at least 1.
    pub column: usize,
    /// Bytes from the beginning of one to that of the next, not less than it has, and less than 4 GB.
    pub pitch: usize,
}

impl Columns {
    fn buffer(&self) -> Result<Buffer> {
        let shape = || {
            let [column, pitch] = [self.column, self.pitch].map(|bytes| u32::try_from(bytes).ok());
            Some(Shape { column: column?, pitch: pitch? }).filter(|shape| shape.extent(self.bytes).is_some())
        };
        match shape() {
            Some(shape) => Ok(Buffer { start: self.start, bytes: self.bytes, shape }),
            None => Err(Error::Invalid("columns that are empty, that overlap, or that lie 4 GB apart".into())),
        }
    }
}

impl Messages<'_> {
    /// Whether messages to and from `rank` may be [`Columns`]: its memory is near.
    pub fn takes_columns(&self, rank: usize) -> bool {
        rank < self.core.size && self.core.ni.is_near(self.core.rank_of(rank))
    }

    /// Sends columns straight from where they are, if the receive is there or comes within `patience`, in whatever mode;
    /// false if not, and nothing was sent. Only messages of more than [`EAGER_MAX`] bytes wait to be received.
    ///
    /// # Safety
    /// The columns are the caller's to read.
    pub unsafe fn send_columns(&self, from: Columns, rank: usize, slot: usize, patience: Duration) -> Result<bool> {
        self.core.check(rank, slot)?;
        refuse_in_handler()?;
        if from.bytes <= EAGER_MAX || !self.takes_columns(rank) {
            return Ok(false);
        }
        // SAFETY: the operation ends, or has not begun, before this call returns.
        let mut op = unsafe { self.core.begin_send(from.buffer()?, rank, slot)? };
        op.only_to_waiting = true;
        match self.await_send(&mut op, Some(patience)) {
            Err(Error::Timeout { .. }) if op.stage == Stage::Start => Ok(false),
            Err(Error::Timeout { .. }) => self.await_send(&mut op, None).map(|()| true),
            other => other.map(|()| true),
        }
    }

    /// Receives a message of any kind into columns; gives its bytes. The sender must be near.
    ///
    /// # Safety
    /// The columns are the caller's to write, and do not overlap.
    pub unsafe fn recv_columns(&self, into: Columns, rank: usize, slot: usize) -> Result<usize> {
        self.core.check(rank, slot)?;
        if !self.takes_columns(rank) {
            return Err(Error::Invalid(format!("rank {rank} is not near: receive from it in one piece")));
        }
        self.recv_entry(into.buffer()?, rank, slot, slot)
    }
}
