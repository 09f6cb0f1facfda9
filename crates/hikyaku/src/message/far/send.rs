//! Sending to a far rank.

use super::link::FarLink;
use super::words::{FarSlot, Landed, Notice, Place};
use crate::error::{Error, Result};
use crate::message::Core;
use crate::message::layout::EAGER_MAX;
use crate::message::send::{SendOp, Stage};
use crate::message::short::SHORT_MAX;
use crate::message::state::Peer;
use crate::ni::message::refuse_in_handler;
use crate::ni::remote::Target;
use crate::ni::wait::By;
use crate::planted::{Bug, planted};

impl Core {
    /// Takes a send as far as it goes now; true when it is done.
    #[cold]
    pub(in crate::message) fn poke_far_send(&self, link: &FarLink, op: &mut SendOp) -> Result<bool> {
        match op.stage {
            Stage::Start => self.start_far_send(link, op),
            Stage::Offered => self.honour_offer(link, op),
            Stage::Sent => Ok(true),
        }
    }

    fn start_far_send(&self, link: &FarLink, op: &mut SendOp) -> Result<bool> {
        if self.has_departures() {
            self.ni.check_departed(By::Rank(link.rank))?;
        }
        let entry = op.entry;
        let post = link.mine(&self.layout).far(entry).post();
        {
            let mut peer = link.state.borrow_mut();
            peer.learn(entry, post.taken);
            op.number = peer.slots[entry].send.sent + 1;
            if peer.slots[entry].send.taken + 1 < op.number && !planted(Bug::SlotReusedEarly)
                || !op.spooled && self.is_spooled(op.member, entry)
            {
                return Ok(false);
            }
        }
        if !link.is_clear(&self.ni) || !self.raise_far(link, entry)? {
            return Ok(false);
        }
        if post.waiting && post.taken + 1 == op.number && post.bytes >= op.buffer.bytes as u64 {
            return self.land(link, op, post.window);
        }
        if op.buffer.bytes <= EAGER_MAX && !op.synchronous && self.send_eagerly(link, op)? {
            return Ok(true);
        }
        if op.may_offer && (op.buffer.bytes <= EAGER_MAX || !op.only_to_waiting) {
            return self.offer(link, op);
        }
        Ok(false)
    }

    /// Tells a far receiver that its searches must look at a slot; false while there is no room.
    fn raise_far(&self, link: &FarLink, entry: usize) -> Result<bool> {
        let high = entry as u64 + 1;
        if entry >= self.slots || high <= link.state.borrow().high {
            return Ok(true);
        }
        let told = self.ni.try_word(Target::in_heap(&self.ni, link.rank, link.at(self.layout.high)), high)?;
        if told {
            link.state.borrow_mut().high = high;
        }
        Ok(told)
    }

    /// Sends a message that its receiver has room for without a receive; false if there is none.
    fn send_eagerly(&self, link: &FarLink, op: &mut SendOp) -> Result<bool> {
        let (entry, data) = (op.entry, op.bytes());
        let mut peer = link.state.borrow_mut();
        let (place, at) = match data.len() {
            0..=SHORT_MAX => (Place::Line, link.slot_at(entry, FarSlot::LINE)),
            _ if !peer.has_bounce(|holder| link.mine(&self.layout).far(holder).post().taken) => return Ok(false),
            _ => match peer.bounces.first_free() {
                Some(buffer) => (Place::Bounce(buffer), link.at(self.layout.bounce(buffer))),
                None => return Ok(false),
            },
        };
        let notice = Notice { number: op.number, place, bytes: data.len(), taken: peer.slots[entry].receive.taken };
        if !self.publish(link, entry, at, data, notice, op.prepared)? {
            return Ok(false);
        }
        if let Place::Bounce(buffer) = place
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
    fn offer(&self, link: &FarLink, op: &mut SendOp) -> Result<bool> {
        // An offer must be waited for, which a handler cannot.
        refuse_in_handler()?;
        let mut peer = link.state.borrow_mut();
        let taken = peer.slots[op.entry].receive.taken;
        let notice = Notice { number: op.number, place: Place::Offer, bytes: op.buffer.bytes, taken };
        let at = link.slot_at(op.entry, FarSlot::LINE);
        if self.publish(link, op.entry, at, &[], notice, op.prepared)? {
            peer.slots[op.entry].send.sent = op.number;
            op.stage = Stage::Offered;
        }
        Ok(false)
    }

    fn publish(
        &self,
        link: &FarLink,
        entry: usize,
        at: usize,
        data: &[u8],
        notice: Notice,
        prepared: bool,
    ) -> Result<bool> {
        let to = Target::in_heap(&self.ni, link.rank, at);
        self.ni.try_push_then(to, data, link.slot_at(entry, FarSlot::NOTICE), &notice.words(), prepared)
    }

    /// Sends an offered message once the header is there.
    fn honour_offer(&self, link: &FarLink, op: &mut SendOp) -> Result<bool> {
        let post = link.mine(&self.layout).far(op.entry).post();
        if post.taken >= op.number {
            link.state.borrow_mut().learn(op.entry, post.taken);
            return match post.refused == op.number {
                true => Err(Error::Truncated {
                    from: self.ni.rank,
                    to: link.rank,
                    slot: op.entry % self.slots,
                    bytes: op.buffer.bytes,
                }),
                false => Ok(true),
            };
        }
        let fits = post.waiting && post.taken + 1 == op.number && post.bytes >= op.buffer.bytes as u64;
        if fits && link.is_clear(&self.ni) { self.land(link, op, post.window) } else { Ok(false) }
    }

    /// Writes a message straight into its receive; false while there is no room for all of it on its way.
    fn land(&self, link: &FarLink, op: &mut SendOp, window: u64) -> Result<bool> {
        let most = self.ni.payload_max(link.rank);
        while op.buffer.bytes - op.landed > most {
            let piece = &op.bytes()[op.landed..][..most];
            if !self.ni.try_push(Target::in_window(link.rank, window, op.landed), piece)? {
                return Ok(false);
            }
            op.landed += most;
        }
        let mut peer = link.state.borrow_mut();
        let taken = peer.slots[op.entry].receive.taken;
        let landed = Landed { number: op.number, bytes: op.buffer.bytes, taken };
        let (to, then) = (Target::in_window(link.rank, window, op.landed), link.slot_at(op.entry, FarSlot::LANDED));
        if !self.ni.try_push_then(to, &op.bytes()[op.landed..], then, &landed.words(), op.prepared)? {
            return Ok(false);
        }
        // It has a place of its own, so the slot is free.
        let send = &mut peer.slots[op.entry].send;
        (send.sent, send.taken) = (op.number, op.number);
        op.stage = Stage::Sent;
        Ok(true)
    }

    /// Gives a send up: when this returns, its buffer is not needed any more. What was offered goes on from a copy.
    pub(in crate::message) fn revoke_far(&self, op: &mut SendOp) {
        let copy: Box<[u8]> = op.bytes().into();
        self.go_on_from(op, copy);
    }
}
