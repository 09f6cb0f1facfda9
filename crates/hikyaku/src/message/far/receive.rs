//! Receiving from a far rank.

use super::pair::FarPair;
use crate::error::{Error, Result};
use crate::memory::copy;
use crate::message::state::header::Header;
use crate::message::state::op::ReceiveOp;
use crate::message::wire::far::{FarPlace, FarPost, FarSlot, Notice};
use crate::message::wire::layout::{BOUNCE_COUNT, EAGER_MAX, SHORT_MAX};
use crate::planted::{Bug, planted};

impl FarPair<'_> {
    /// Tells the sender where the message is wanted, if it may wait for that: a long one does, and so does every one if
    /// messages are synchronous here.
    #[cold]
    pub fn post(self, op: &mut ReceiveOp) {
        if op.buffer.bytes > EAGER_MAX || self.core.is_synchronous.get() {
            self.send_header(op, op.buffer.bytes);
        }
    }

    /// Sees to it that the sender knows of a header with room for `bytes` bytes, of the receive's buffer.
    fn send_header(self, op: &mut ReceiveOp, bytes: usize) {
        if op.header.is_none() {
            op.header = self.link.desks.borrow_mut()[op.entry].left.take();
        }
        match &mut op.header {
            Some(header) if header.has_room_for(bytes) => return,
            Some(header) => header.widen(op.buffer.bytes),
            // SAFETY: the buffer stays until the operation is done or withdrawn, which both end the header's use of it. Without a window
            // left the sender waits for this rank to have one.
            None => match unsafe { Header::of(&self.core.ni, self.link.rank, op.buffer) } {
                Some(header) => op.header = Some(Box::new(header)),
                None => return,
            },
        }
        let (window, bytes) = op.header.as_ref().map_or((0, 0), |header| header.told());
        let refused = if planted(Bug::RefusalForgotten) { 0 } else { self.link.desks.borrow()[op.entry].refused };
        let post = FarPost { taken: op.number - 1, waiting: true, window, bytes, refused };
        self.tell(op.member, self.link.slot_at(op.entry, FarSlot::POST), &post.words());
    }

    /// Takes a receive as far as it goes now; gives the bytes when it is done.
    #[cold]
    pub fn poke_receive(self, op: &mut ReceiveOp) -> Result<Option<usize>> {
        let slot = self.mine().far(op.entry);
        if let Some(landed) = slot.landed(op.number) {
            let header = op.header.take().or_else(|| self.link.desks.borrow_mut()[op.entry].left.take());
            // A peer that writes the number of a message it was not asked for harms only itself.
            if let Some(header) = header {
                self.note_taken(op, landed.taken);
                return self.collect(op, *header, landed.bytes).map(Some);
            }
        }
        let Some(notice) = slot.notice(op.number) else { return Ok(None) };
        if notice.bytes > op.buffer.bytes {
            let refused = (notice.place == FarPlace::Offer && !planted(Bug::TruncationUntold)).then_some(op.number);
            self.answer(op, notice.taken, refused);
            return Err(self.core.truncated(op, notice.bytes));
        }
        if notice.place == FarPlace::Offer {
            self.send_header(op, notice.bytes);
            return Ok(None);
        }
        let taken = self.take(op, &notice);
        self.answer(op, notice.taken, None);
        taken.map(Some)
    }

    /// A message has landed in the buffer of its header.
    fn collect(self, op: &ReceiveOp, header: Header, bytes: usize) -> Result<usize> {
        if !header.has_room_for(bytes) {
            let rank = self.core.rank_of(op.member);
            return Err(Error::PeerMisbehaved { rank, what: "a message longer than its place" });
        }
        // Only a receive that has taken over another one's header can be too small.
        if bytes > op.buffer.bytes {
            return Err(self.core.truncated(op, bytes));
        }
        header.collect(op.buffer, bytes);
        Ok(bytes)
    }

    /// Copies a message that was sent without its receive, and that fits it.
    fn take(self, op: &ReceiveOp, notice: &Notice) -> Result<usize> {
        let mine = self.mine();
        let (source, room) = match notice.place {
            FarPlace::Bounce(buffer) if buffer < BOUNCE_COUNT => (mine.bounce(buffer).cast_const(), EAGER_MAX),
            FarPlace::Line => (mine.far(op.entry).line(), SHORT_MAX),
            FarPlace::Bounce(_) | FarPlace::Offer => (std::ptr::null(), 0),
        };
        if source.is_null() || notice.bytes > room {
            return Err(Error::PeerMisbehaved { rank: self.link.rank, what: "a message longer than its place" });
        }
        // SAFETY: both sides hold as many bytes, as checked.
        unsafe { copy::copy(op.buffer.start, source, notice.bytes) };
        Ok(notice.bytes)
    }

    /// Message `op.number` was taken: notes it, and what came along about the other direction.
    fn note_taken(self, op: &ReceiveOp, taken: u64) {
        let mut peer = self.link.state.borrow_mut();
        peer.slots[op.entry].receive.taken = op.number;
        peer.learn(op.entry, taken);
    }

    /// Notes that message `op.number` was taken, and tells the sender; of a message that was refused, too.
    fn answer(self, op: &mut ReceiveOp, taken: u64, refused: Option<u64>) {
        self.note_taken(op, taken);
        // The header, if there was one, was for this message.
        op.header = None;
        let at = self.link.slot_at(op.entry, FarSlot::POST);
        let post = {
            let desk = &mut self.link.desks.borrow_mut()[op.entry];
            desk.left = None;
            desk.refused = refused.unwrap_or(desk.refused);
            FarPost { taken: op.number, refused: desk.refused, ..FarPost::default() }
        };
        match refused {
            Some(_) => self.tell(op.member, at, &post.words()),
            None => self.tell(op.member, at, &[post.word()]),
        }
    }

    /// Takes the buffer of a receive back: when this returns, nobody writes to it any more.
    pub fn withdraw_receive(self, op: &mut ReceiveOp) {
        if let Some(mut header) = op.header.take()
            && !planted(Bug::HeaderDropped)
        {
            header.leave();
            self.link.desks.borrow_mut()[op.entry].left = Some(header);
        }
    }

    /// How many bytes the message has that waits in a slot of a far member, as that says.
    pub fn waiting_bytes(self, entry: usize) -> Option<usize> {
        let slot = self.mine().far(entry);
        let next = self.link.state.borrow().slots[entry].receive.taken + 1;
        let left = || slot.landed(next).filter(|_| self.link.desks.borrow()[entry].left.is_some());
        slot.notice(next).map(|notice| notice.bytes).or_else(|| left().map(|landed| landed.bytes))
    }

    /// Whether a message waits in a slot of a far member.
    pub fn has_message(self, entry: usize) -> bool {
        let slot = self.mine().far(entry);
        let next = self.link.state.borrow().slots[entry].receive.taken + 1;
        slot.notice(next).is_some() || slot.landed(next).is_some() && self.link.desks.borrow()[entry].left.is_some()
    }
}
