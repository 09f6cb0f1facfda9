//! Receiving from a far rank.

use crate::error::{Error, Result};
use crate::memory::copy;
use crate::message::Core;
use crate::message::near::short::SHORT_MAX;
use crate::message::operation::receive::ReceiveOp;
use crate::message::state::far_link::FarLink;
use crate::message::state::header::Header;
use crate::message::wire::far::{FarSlot, Notice, Place, Post};
use crate::message::wire::layout::{BOUNCE_COUNT, EAGER_MAX};
use crate::planted::{Bug, planted};

impl Core {
    /// Tells the sender where the message is wanted, if it may wait for that: a long one does, and so does every one if
    /// messages are synchronous here.
    #[cold]
    pub(in crate::message) fn post_far(&self, link: &FarLink, op: &mut ReceiveOp) {
        if op.buffer.bytes > EAGER_MAX || self.is_synchronous.get() {
            self.send_header(link, op, op.buffer.bytes);
        }
    }

    /// Sees to it that the sender knows of a header with room for `bytes` bytes, of the receive's buffer.
    fn send_header(&self, link: &FarLink, op: &mut ReceiveOp, bytes: usize) {
        if op.header.is_none() {
            op.header = link.desks.borrow_mut()[op.entry].left.take();
            if let Some(header) = &mut op.header {
                // SAFETY: the buffer stays until the operation is done or withdrawn, which both end the header's use of it.
                unsafe { header.enter(op.buffer) };
            }
        }
        match &mut op.header {
            Some(header) if header.has_room_for(bytes) => return,
            // SAFETY: as above.
            Some(header) => unsafe { header.widen(op.buffer) },
            // SAFETY: as above. Without a window left the sender waits for this rank to have one.
            None => match unsafe { Header::of(&self.ni, link.rank, op.buffer) } {
                Some(header) => op.header = Some(Box::new(header)),
                None => return,
            },
        }
        let (window, bytes) = op.header.as_ref().map_or((0, 0), |header| header.told());
        let refused = if planted(Bug::RefusalForgotten) { 0 } else { link.desks.borrow()[op.entry].refused };
        let post = Post { taken: op.number - 1, waiting: true, window, bytes, refused };
        self.tell(link, op.member, link.slot_at(op.entry, FarSlot::POST), &post.words());
    }

    /// Takes a receive as far as it goes now; gives the bytes when it is done.
    #[cold]
    pub(in crate::message) fn poke_far_receive(&self, link: &FarLink, op: &mut ReceiveOp) -> Result<Option<usize>> {
        let slot = link.mine(&self.layout).far(op.entry);
        if let Some(landed) = slot.landed(op.number) {
            let header = op.header.take().or_else(|| link.desks.borrow_mut()[op.entry].left.take());
            // A peer that writes the number of a message it was not asked for harms only itself.
            if let Some(header) = header {
                self.note_taken(link, op, landed.taken);
                return self.collect(op, *header, landed.bytes).map(Some);
            }
        }
        let Some(notice) = slot.notice(op.number) else { return Ok(None) };
        if notice.bytes > op.buffer.bytes {
            let refused = (notice.place == Place::Offer && !planted(Bug::TruncationUntold)).then_some(op.number);
            self.answer(link, op, notice.taken, refused);
            return Err(self.truncated(op, notice.bytes));
        }
        if notice.place == Place::Offer {
            self.send_header(link, op, notice.bytes);
            return Ok(None);
        }
        let taken = self.take_far(link, op, &notice);
        self.answer(link, op, notice.taken, None);
        taken.map(Some)
    }

    /// A message has landed in the buffer of its header.
    fn collect(&self, op: &ReceiveOp, header: Header, bytes: usize) -> Result<usize> {
        if !header.has_room_for(bytes) {
            let rank = self.rank_of(op.member);
            return Err(Error::PeerMisbehaved { rank, what: "a message longer than its place" });
        }
        // Only a receive that has taken over another one's header can be too small.
        if bytes > op.buffer.bytes {
            return Err(self.truncated(op, bytes));
        }
        header.collect(op.buffer, bytes);
        Ok(bytes)
    }

    /// Copies a message that was sent without its receive, and that fits it.
    fn take_far(&self, link: &FarLink, op: &ReceiveOp, notice: &Notice) -> Result<usize> {
        let mine = link.mine(&self.layout);
        let (source, room) = match notice.place {
            Place::Bounce(buffer) if buffer < BOUNCE_COUNT => (mine.bounce(buffer).cast_const(), EAGER_MAX),
            Place::Line => (mine.far(op.entry).line(), SHORT_MAX),
            Place::Bounce(_) | Place::Offer => (std::ptr::null(), 0),
        };
        if source.is_null() || notice.bytes > room {
            return Err(Error::PeerMisbehaved { rank: link.rank, what: "a message longer than its place" });
        }
        // SAFETY: both sides hold as many bytes, as checked.
        unsafe { copy::copy(op.buffer.start, source, notice.bytes) };
        Ok(notice.bytes)
    }

    /// Message `op.number` was taken: notes it, and what came along about the other direction.
    fn note_taken(&self, link: &FarLink, op: &ReceiveOp, taken: u64) {
        let mut peer = link.state.borrow_mut();
        peer.slots[op.entry].receive.taken = op.number;
        peer.learn(op.entry, taken);
    }

    /// Notes that message `op.number` was taken, and tells the sender; of a message that was refused, too.
    fn answer(&self, link: &FarLink, op: &mut ReceiveOp, taken: u64, refused: Option<u64>) {
        self.note_taken(link, op, taken);
        // The header, if there was one, was for this message.
        op.header = None;
        let at = link.slot_at(op.entry, FarSlot::POST);
        let post = {
            let desk = &mut link.desks.borrow_mut()[op.entry];
            desk.left = None;
            desk.refused = refused.unwrap_or(desk.refused);
            Post { taken: op.number, refused: desk.refused, ..Post::default() }
        };
        match refused {
            Some(_) => self.tell(link, op.member, at, &post.words()),
            None => self.tell(link, op.member, at, &[post.word()]),
        }
    }

    /// Gives a receive up: when this returns, nobody writes to its buffer any more.
    pub(in crate::message) fn withdraw_far(&self, link: &FarLink, op: &mut ReceiveOp) {
        if let Some(mut header) = op.header.take()
            && !planted(Bug::HeaderDropped)
        {
            header.leave();
            link.desks.borrow_mut()[op.entry].left = Some(header);
        }
    }

    /// Whether a message waits in a slot of a far member.
    pub(in crate::message) fn has_far_message(&self, link: &FarLink, entry: usize) -> bool {
        let slot = link.mine(&self.layout).far(entry);
        let next = link.state.borrow().slots[entry].receive.taken + 1;
        slot.notice(next).is_some() || slot.landed(next).is_some() && link.desks.borrow()[entry].left.is_some()
    }
}
