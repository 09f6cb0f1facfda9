//! Sending to a far rank.

use super::pair::FarPair;
use crate::error::{Error, Result};
use crate::message::state::op::{SendOp, Stage};
use crate::message::state::peer::Peer;
use crate::message::wire::far::{FarPlace, FarSlot, Landed, Notice};
use crate::message::wire::layout::{EAGER_MAX, SHORT_MAX};
use crate::ni::{By, Target, refuse_in_handler};
use crate::planted::{Bug, planted};

impl FarPair<'_> {
    /// Takes a send as far as it goes now; true when it is done.
    #[cold]
    pub fn poke_send(self, op: &mut SendOp) -> Result<bool> {
        match op.stage {
            Stage::Start => self.start_send(op),
            Stage::Offered => self.honour_offer(op),
            // Acknowledgements are missing.
            Stage::Sent => Ok(op.is_back()),
        }
    }

    fn start_send(self, op: &mut SendOp) -> Result<bool> {
        if self.core.has_departures() {
            self.core.ni.check_departed(By::Rank(self.link.rank))?;
        }
        let entry = op.entry;
        let post = self.mine().far(entry).post();
        {
            let mut peer = self.link.state.borrow_mut();
            peer.learn(entry, post.taken);
            op.number = peer.slots[entry].send.sent + 1;
            if peer.slots[entry].send.taken + 1 < op.number && !planted(Bug::SlotReusedEarly)
                || !op.spooled && self.core.is_spooled(op.member, entry)
            {
                return Ok(false);
            }
        }
        if !self.link.is_clear(&self.core.ni) || !self.raise(entry)? {
            return Ok(false);
        }
        if post.waiting && post.taken + 1 == op.number && post.bytes >= op.buffer.bytes as u64 {
            return self.land(op, post.window);
        }
        if op.buffer.bytes <= EAGER_MAX && !op.synchronous && self.send_eagerly(op)? {
            return Ok(true);
        }
        if op.may_offer && (op.buffer.bytes <= EAGER_MAX || !op.only_to_waiting) {
            return self.offer(op);
        }
        Ok(false)
    }

    /// Tells a far receiver that its searches must look at a slot; false while there is no room.
    fn raise(self, entry: usize) -> Result<bool> {
        let high = entry as u64 + 1;
        if entry >= self.core.slots || high <= self.link.state.borrow().high {
            return Ok(true);
        }
        let told = self.core.ni.try_word(Target::in_heap(self.link.rank, self.link.at(self.core.layout.high)), high)?;
        if told {
            self.link.state.borrow_mut().high = high;
        }
        Ok(told)
    }

    /// Sends a message that its receiver has room for without a receive; false if there is none.
    fn send_eagerly(self, op: &mut SendOp) -> Result<bool> {
        let (entry, data) = (op.entry, op.bytes());
        let mut peer = self.link.state.borrow_mut();
        let (place, at) = match data.len() {
            0..=SHORT_MAX => (FarPlace::Line, self.link.slot_at(entry, FarSlot::LINE)),
            _ if !peer.has_bounce(|holder| self.mine().far(holder).post().taken) => return Ok(false),
            _ => match peer.bounces.first_free() {
                Some(buffer) => (FarPlace::Bounce(buffer), self.link.at(self.core.layout.bounce(buffer))),
                None => return Ok(false),
            },
        };
        let notice = Notice { number: op.number, place, bytes: data.len(), taken: peer.slots[entry].receive.taken };
        if !self.publish(entry, at, data, notice, op.prepared)? {
            return Ok(false);
        }
        if let FarPlace::Bounce(buffer) = place
            && !planted(Bug::BounceFreedEarly)
        {
            let Peer { slots, bounces, .. } = &mut *peer;
            bounces.hold(buffer, entry, &mut slots[entry]);
        }
        peer.slots[entry].send.sent = op.number;
        op.stage = Stage::Sent;
        Ok(true)
    }

    /// Tells the receiver of a message that waits for a header; it is not done.
    fn offer(self, op: &mut SendOp) -> Result<bool> {
        // An offer must be waited for, which a handler cannot.
        refuse_in_handler()?;
        let mut peer = self.link.state.borrow_mut();
        let taken = peer.slots[op.entry].receive.taken;
        let notice = Notice { number: op.number, place: FarPlace::Offer, bytes: op.buffer.bytes, taken };
        let at = self.link.slot_at(op.entry, FarSlot::LINE);
        if self.publish(op.entry, at, &[], notice, op.prepared)? {
            peer.slots[op.entry].send.sent = op.number;
            op.stage = Stage::Offered;
        }
        Ok(false)
    }

    fn publish(self, entry: usize, at: usize, data: &[u8], notice: Notice, prepared: bool) -> Result<bool> {
        let to = Target::in_heap(self.link.rank, at);
        self.core.ni.try_push_then(to, data, self.link.slot_at(entry, FarSlot::NOTICE), &notice.words(), prepared)
    }

    /// Sends an offered message once the header is there.
    fn honour_offer(self, op: &mut SendOp) -> Result<bool> {
        let post = self.mine().far(op.entry).post();
        if post.taken >= op.number {
            self.link.state.borrow_mut().learn(op.entry, post.taken);
            return match post.refused == op.number {
                true => Err(Error::Truncated {
                    from: self.core.ni.rank,
                    to: self.link.rank,
                    slot: op.entry % self.core.slots,
                    bytes: op.buffer.bytes,
                }),
                false => Ok(true),
            };
        }
        let fits = post.waiting && post.taken + 1 == op.number && post.bytes >= op.buffer.bytes as u64;
        if fits && self.link.is_clear(&self.core.ni) { self.land(op, post.window) } else { Ok(false) }
    }

    /// Writes a message straight into its receive; false while there is no room for all of it on its way.
    fn land(self, op: &mut SendOp, window: u64) -> Result<bool> {
        let most = self.core.ni.payload_max(self.link.rank);
        while op.buffer.bytes - op.landed > most {
            let to = Target::in_window(self.link.rank, window, op.landed);
            if !op.try_push(&self.core.ni, to, op.landed, most)? {
                return Ok(false);
            }
            op.landed += most;
        }
        let mut peer = self.link.state.borrow_mut();
        let taken = peer.slots[op.entry].receive.taken;
        let landed = Landed { number: op.number, bytes: op.buffer.bytes, taken };
        let (to, then) =
            (Target::in_window(self.link.rank, window, op.landed), self.link.slot_at(op.entry, FarSlot::LANDED));
        if !self.core.ni.try_push_then(to, &op.bytes()[op.landed..], then, &landed.words(), op.prepared)? {
            return Ok(false);
        }
        // It has a place of its own, so the slot is free.
        let send = &mut peer.slots[op.entry].send;
        (send.sent, send.taken) = (op.number, op.number);
        op.stage = Stage::Sent;
        Ok(op.is_back())
    }

    /// Takes the buffer of an offered send back, which goes on from a copy.
    pub fn withdraw_send(self, op: &mut SendOp) {
        let copy: Box<[u8]> = op.bytes().into();
        self.core.go_on_from(op, copy);
    }

    /// Whether everything that was sent was taken, and nothing is owed.
    pub fn was_taken(self) -> bool {
        let mine = self.mine();
        let mut peer = self.link.state.borrow_mut();
        self.link.is_clear(&self.core.ni) && peer.have_taken(|entry| mine.far(entry).post().taken)
    }
}
