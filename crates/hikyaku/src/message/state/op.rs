//! An operation that was begun: what it sends from or receives into, and how far it has got.

use super::header::Header;
use crate::error::Result;
use crate::message::buffer::own::Own;
use crate::message::buffer::spot::{Buffer, Staged};
use crate::ni::{Loan, Ni, Target};
use std::sync::Arc;

/// A send under way.
#[derive(Debug)]
pub(in crate::message) struct SendOp {
    pub member: usize,
    pub entry: usize,
    pub buffer: Buffer,
    pub stage: Stage,
    pub synchronous: bool,
    /// A long message is offered only to a receive that waits: its buffer may still change.
    pub only_to_waiting: bool,
    /// A message that finds no free bounce buffer is offered too: its buffer stays, however long that takes. Bounce
    /// buffers may all hold messages that are not wanted yet.
    pub may_offer: bool,
    /// It sends from the spare buffer, and others of its slot wait behind it.
    pub spooled: bool,
    /// It was described before.
    pub prepared: bool,
    pub number: u64,
    /// Bytes that are on their way into the buffer of a far receive.
    pub landed: usize,
    /// The buffer may be lent to the network: whoever began this waits until it is done.
    pub may_lend: bool,
    /// What is lent. Nobody reads the buffer when this is gone.
    pub loan: Option<Loan>,
    pub staged: Option<Box<Staged>>,
    /// Keeps what a message to oneself is read from.
    pub told: Option<Box<Own>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::message) enum Stage {
    /// Waits for its slot, or for a bounce buffer.
    Start,
    /// Offered: the receiver may copy at any moment.
    Offered,
    /// Waits to be taken.
    Sent,
}

impl SendOp {
    #[inline(always)]
    pub fn new(buffer: Buffer, member: usize, entry: usize) -> SendOp {
        SendOp {
            member,
            entry,
            buffer,
            stage: Stage::Start,
            synchronous: false,
            only_to_waiting: false,
            may_offer: false,
            spooled: false,
            prepared: false,
            number: 0,
            landed: 0,
            may_lend: false,
            loan: None,
            staged: None,
            told: None,
        }
    }

    /// From now on it may be offered, whatever its size.
    pub fn offerable(&mut self) -> &mut SendOp {
        self.may_offer = true;
        self
    }

    /// From now on it sends from the spare buffer.
    pub fn set_spooled(mut self) -> SendOp {
        self.spooled = true;
        self.may_offer = true;
        self
    }

    /// This send as far as it has got, but of a copy, which may be the one in job memory.
    ///
    /// # Safety
    /// The copy holds the same bytes, and stays until the operation is done.
    pub unsafe fn of_copy(&self, copy: Buffer, staged: Option<Box<Staged>>, told: Option<Box<Own>>) -> SendOp {
        SendOp {
            buffer: copy,
            spooled: true,
            may_offer: true,
            only_to_waiting: false,
            may_lend: false,
            loan: None,
            staged,
            told,
            ..*self
        }
    }

    /// Whether the receiver knows of it.
    pub fn has_begun(&self) -> bool {
        self.stage != Stage::Start
    }

    /// Whether the receiver may copy at any moment.
    pub fn is_offered(&self) -> bool {
        self.stage == Stage::Offered
    }

    /// What is to be sent, while it has not begun.
    pub fn waiting_bytes(&self) -> Option<&[u8]> {
        (self.stage == Stage::Start).then(|| self.bytes())
    }

    /// Pushes a part of what is to be sent to a far rank, from where it is if that may be; false while there is no room.
    pub fn try_push(&mut self, ni: &Arc<Ni>, to: Target, from: usize, bytes: usize) -> Result<bool> {
        if !self.may_lend || !ni.lends_to(to.rank) {
            return ni.try_push(to, &self.bytes()[from..][..bytes]);
        }
        let loan = self.loan.take().unwrap_or_else(|| Loan::open(ni, to.rank));
        // SAFETY: the buffer stays until the operation is done, which it is not before the loan is over, or withdrawn, which drops
        // the loan; and nobody writes it meanwhile.
        let pushed = unsafe { ni.try_push_lent(to, &self.bytes()[from..][..bytes], loan.token) };
        self.loan = Some(loan);
        pushed
    }

    /// Whether the network has let go of what was lent to it.
    pub fn is_back(&self) -> bool {
        self.loan.as_ref().is_none_or(Loan::is_over)
    }

    /// What is to be sent, which lies in one piece.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the buffer stays until the operation is done, and nobody writes it meanwhile.
        unsafe { self.buffer.as_slice() }
    }
}

/// A receive under way.
#[derive(Debug)]
pub(in crate::message) struct ReceiveOp {
    pub member: usize,
    pub entry: usize,
    pub buffer: Buffer,
    pub number: u64,
    /// Bytes that were copied out of a bounce buffer so far.
    pub copied: u32,
    /// The sender was told where the bytes are wanted.
    pub posted: bool,
    /// Where they are wanted meanwhile, if the sender cannot reach the buffer.
    pub staged: Option<Box<Staged>>,
    /// Keeps where a message of oneself is written to.
    pub told: Option<Box<Own>>,
    /// What a far sender was told.
    pub header: Option<Box<Header>>,
}

impl ReceiveOp {
    /// A receive of message `number` that has not begun.
    #[inline(always)]
    pub fn new(buffer: Buffer, member: usize, entry: usize, number: u64) -> ReceiveOp {
        ReceiveOp { member, entry, buffer, number, copied: 0, posted: false, staged: None, told: None, header: None }
    }

    /// Whether it has more to remember than its buffer.
    pub fn has_begun(&self) -> bool {
        self.posted || self.copied > 0
    }

    /// The number of the message it is for.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Where a long message is put together.
    pub fn target(&self) -> Buffer {
        self.staged.as_ref().map_or(self.buffer, |staged| staged.buffer())
    }
}
