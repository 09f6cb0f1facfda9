//! Sending to a near member.
//!
//! A message of up to [`EAGER_MAX`] bytes goes as soon as its slot is free: the words two ranks meet on hold it. A longer
//! one is offered, and copied by both sides once the receive is there.

use super::pair::NearPair;
use super::spoiled::count_copied;
use crate::error::{Error, Result};
use crate::message::buffer::chunk::Chunks;
use crate::message::buffer::spot::Staged;
use crate::message::state::op::{SendOp, Stage};
use crate::message::state::peer::Peer;
use crate::message::wire::layout::{EAGER_MAX, SHORT_MAX};
use crate::message::wire::slot::{HeadInfo, HeadKind};
use crate::ni::{By, refuse_in_handler};

impl NearPair<'_> {
    /// Takes a send as far as it goes now; true when it is done.
    #[inline(always)]
    pub fn poke_send(self, op: &mut SendOp) -> Result<bool> {
        if op.stage == Stage::Start && !self.start_send(op)? {
            return Ok(false);
        }
        match op.stage {
            Stage::Start => unreachable!("started just now"),
            Stage::Sent if !op.synchronous => Ok(true),
            Stage::Sent if !self.was_taken_here(op) => Ok(false),
            Stage::Sent => self.taken_or_refused(op).map(|()| true),
            Stage::Offered => {
                let done = self.help(op);
                if !matches!(done, Ok(false)) {
                    op.told = None;
                }
                done
            }
        }
    }

    #[inline(always)]
    fn start_send(self, op: &mut SendOp) -> Result<bool> {
        let (member, entry, buffer) = (op.member, op.entry, op.buffer);
        let theirs = self.theirs();
        let mut peer = self.link.state.borrow_mut();
        if self.core.has_departures() {
            self.core.ni.check_departed(By::Rank(self.link.rank))?;
        }
        if !peer.is_free(self.mine(), entry) || !op.spooled && self.core.is_spooled(member, entry) {
            return Ok(false);
        }
        if entry < self.core.slots {
            theirs.high().raise(&mut peer.high, entry);
        }
        peer.slots[entry].send.chain.leave(theirs.link(entry));
        if buffer.bytes <= SHORT_MAX {
            self.put_short(&mut peer.slots[entry], op.bytes(), entry);
            op.number = peer.slots[entry].send.sent;
            op.stage = Stage::Sent;
            return Ok(true);
        }
        if buffer.bytes <= EAGER_MAX && self.send_bounce(&mut peer, op.bytes(), entry) {
            op.number = peer.slots[entry].send.sent;
            op.stage = Stage::Sent;
            return Ok(true);
        }
        if !self.may_offer(op, &peer) {
            return Ok(false);
        }
        // An offer must be waited for, which a handler cannot.
        refuse_in_handler()?;
        self.stage(op)?;
        op.told = self.tell_place(op.buffer, theirs.offer(entry));
        let told = HeadInfo::new(HeadKind::Offer, 0, peer.slots[entry].receive.taken, 0);
        let send = &mut peer.slots[entry].send;
        send.sent += 1;
        op.number = send.sent;
        theirs.head(entry).publish(send.sent, told);
        op.stage = Stage::Offered;
        self.notify();
        Ok(true)
    }

    fn may_offer(self, op: &SendOp, peer: &Peer) -> bool {
        if op.buffer.bytes <= EAGER_MAX {
            return op.may_offer;
        }
        let (taken, waiting) = self.mine().post(op.entry).look();
        !op.only_to_waiting || waiting && taken == peer.slots[op.entry].send.sent
    }

    /// Copies what it can of an offered message; true when all is copied.
    fn help(self, op: &SendOp) -> Result<bool> {
        let (entry, number) = (op.entry, op.number);
        let (mine, deal) = (self.mine(), self.theirs().deal(entry));
        let (taken, waiting) = mine.post(entry).look();
        if taken >= number {
            self.link.state.borrow_mut().learn(entry, taken);
            return self.taken_or_refused(op).map(|()| true);
        }
        if !waiting || taken + 1 != number {
            return Ok(false);
        }
        let (ni, spot) = (&*self.core.ni, mine.want(entry));
        let wanted = self.glimpse(spot)?;
        if wanted.bytes < op.buffer.bytes || !wanted.is_reachable {
            return Ok(false);
        }
        let chunks = Chunks::of(op.buffer.bytes);
        while let Some(index) = deal.claim(number, chunks.count) {
            // Only now: the claim keeps the receive that is there, which may be another one than was looked at before.
            let want = match self.hear_place(spot) {
                Ok(want) if want.bytes >= op.buffer.bytes && want.is_reachable(ni) => want,
                other => {
                    deal.give_back();
                    self.notify();
                    return other.map(|_| false);
                }
            };
            // SAFETY: the claim makes this the only one who writes the chunk, and keeps the receive's buffer; the own buffer
            // stays until the operation is done.
            let written = unsafe { want.write(ni, op.buffer, chunks.range(index)) };
            count_copied(deal, number, written)?;
        }
        self.notify();
        // The receiver need not know for this side to be done (F5).
        if deal.done(number, chunks.count) { self.taken_or_refused(op).map(|()| true) } else { Ok(false) }
    }

    /// Whether the message was taken, as its slot tells. A function of the program may have sent another one since.
    fn was_taken_here(self, op: &SendOp) -> bool {
        let mut peer = self.link.state.borrow_mut();
        peer.is_free(self.mine(), op.entry) || peer.slots[op.entry].send.taken >= op.number
    }

    /// Whether everything that was sent was taken.
    pub fn was_taken(self) -> bool {
        self.link.state.borrow_mut().have_taken(|entry| self.mine().post(entry).look().0)
    }

    /// A message is done: has the receiver got it?
    fn taken_or_refused(self, op: &SendOp) -> Result<()> {
        let (from, to, slot) = (self.core.ni.rank, self.link.rank, op.entry % self.core.slots);
        let deal = self.theirs().deal(op.entry);
        if deal.was_refused(op.number) {
            return Err(Error::Truncated { from, to, slot, bytes: op.buffer.bytes });
        }
        match deal.spoiled(op.number) {
            Some(errno) => Err(self.why_spoiled(errno, Error::BadBuffer { from, to, slot })),
            None => Ok(()),
        }
    }

    /// A copy of a long message in job memory, where the receiver cannot reach the sender's own.
    fn stage(self, op: &mut SendOp) -> Result<()> {
        if op.buffer.needs_staging(&self.core.ni, self.link.rank) {
            let staged = Staged::new(&self.core.ni, op.buffer.bytes)?;
            // SAFETY: a fresh part of the own heap, of the same size.
            unsafe { op.buffer.copy_to(staged.buffer().start) };
            op.buffer = staged.buffer();
            op.staged = Some(Box::new(staged));
        }
        Ok(())
    }
}
