//! Messages that fit a head or a line, or a bounce buffer that is free: sent and received in place, without an operation
//! that could be under way.
//!
//! What stands in the way of that (a slot that is not free, a message that is not there, a spare buffer that is not empty)
//! is left to the general paths in `send` and `receive`.

use crate::memory::copy;
use crate::message::Core;
use crate::message::buffer::spot::Buffer;
use crate::message::state::link::NearLink;
use crate::message::state::peer::{Parts, Peer, Slot};
use crate::message::wire::layout::{EAGER_MAX, Side};
use crate::message::wire::node::Reached;
use crate::message::wire::slot::{Kind, Told, bounce_of};

/// The longest message of this kind: a line.
pub(in crate::message) const SHORT_MAX: usize = 64;

/// Looks at a slot before a receive becomes an operation: about a microsecond.
const SHORT_WAIT_TURNS: u32 = 24;

/// What a look at a slot found.
enum Look {
    /// A short message of so many bytes, which was received.
    Taken(usize),
    /// No message.
    Nothing,
    /// Something that is not done in place.
    Other,
}

impl Core {
    /// Sends a message of at most [`EAGER_MAX`] bytes if it can go at once. `prepared`: for the prepared send that the slot
    /// belongs to. The slot exists.
    #[inline(always)]
    pub(in crate::message) fn send_at_once(&self, data: &[u8], member: usize, entry: usize, prepared: bool) -> bool {
        let Some(link) = self.in_place(member) else { return false };
        let peer = &mut *link.state.borrow_mut();
        let high = peer.high;
        match peer.first_parts(entry) {
            Some(parts) => match self.send_open(link, parts, high, data, entry, prepared) {
                Some(sent) => sent,
                None => self.send_bounce(link, peer, data, entry),
            },
            None => self.send_behind(link, peer, data, entry, prepared),
        }
    }

    /// Sends a short message in a slot that takes a call to find: beside the path of the others, so that those do not pay for it.
    #[inline(never)]
    fn send_behind(&self, link: &NearLink, peer: &mut Peer, data: &[u8], entry: usize, prepared: bool) -> bool {
        let high = peer.high;
        let sent = self.send_open(link, peer.parts(entry), high, data, entry, prepared);
        sent.unwrap_or_else(|| self.send_bounce(link, peer, data, entry))
    }

    /// Whether it was sent; `None` if it can go, but through a bounce buffer.
    #[inline(always)]
    fn send_open(
        &self,
        link: &NearLink,
        (slot, bounces): Parts<'_>,
        high: u64,
        data: &[u8],
        entry: usize,
        prepared: bool,
    ) -> Option<bool> {
        let send = &slot.send;
        if !send.is_open(prepared) || send.chain.is_open() || self.spooled.get() != 0 || self.has_departures() {
            return Some(false);
        }
        if send.taken < send.sent {
            let (taken, _) = self.mine(link).post(entry).look();
            if taken != send.sent {
                return Some(false);
            }
            slot.learn(taken, bounces);
        }
        if entry as u64 >= high && entry < self.slots {
            return Some(false);
        }
        if data.len() > SHORT_MAX {
            return None;
        }
        self.put_short(link, slot, data, entry);
        Some(true)
    }

    /// Writes a short message into its slot, which is free, and tells the receiver.
    #[inline(always)]
    pub(in crate::message) fn put_short(&self, link: &NearLink, slot: &mut Slot, data: &[u8], entry: usize) {
        assert!(data.len() <= SHORT_MAX);
        let theirs = self.theirs(link);
        let taken = slot.receive.taken;
        let mut told = Told { kind: Kind::Value, bytes: data.len(), taken, value: 0 };
        // SAFETY: the value holds 8 bytes, the line 64.
        unsafe {
            if data.len() <= 8 {
                copy::copy((&raw mut told.value).cast(), data.as_ptr(), data.len());
            } else {
                told.kind = Kind::Line;
                copy::copy(theirs.line(entry).as_ptr() as *mut u8, data.as_ptr(), data.len());
            }
        }
        slot.send.sent += 1;
        theirs.head(entry).publish(slot.send.sent, told);
        self.notify(link);
    }

    /// Receives a short message, if it is there or comes soon, and fits; gives its bytes. Every rank has a core, so the
    /// other side most likely is about to send; what else a wait does can wait so long. The slot exists.
    ///
    /// # Safety
    /// The buffer is the caller's to write.
    #[inline(always)]
    pub(in crate::message) unsafe fn recv_short(&self, into: Buffer, member: usize, entry: usize) -> Option<usize> {
        // A long receive must be told to the sender at once.
        let patient = !self.ni.crowded && into.bytes <= EAGER_MAX;
        // SAFETY: the caller's promise.
        self.look_again(patient, || unsafe { self.look_short(into, member, entry, false) })
    }

    /// Ends the receive that waits in a slot, if its short message is there or comes soon, and fits; gives its bytes.
    #[inline(always)]
    pub(in crate::message) fn end_short(&self, member: usize, entry: usize) -> Option<usize> {
        let waiting = self.waiting(member, entry)?;
        // SAFETY: it is the receive's until it has ended.
        let look = || unsafe { self.look_short(waiting.buffer(), member, entry, true) };
        let bytes = self.look_again(!self.ni.crowded, look)?;
        self.end_waiting(waiting, member, entry, &mut self.pending.borrow_mut());
        Some(bytes)
    }

    /// Everything is looked at again each time, which leaves the sender alone with the line of the head for a while: looking at
    /// that alone, as fast as one can, was measured to make a message a fifth slower.
    #[inline(always)]
    fn look_again(&self, patient: bool, look: impl Fn() -> Look) -> Option<usize> {
        for _ in 0..if patient { SHORT_WAIT_TURNS } else { 1 } {
            match look() {
                Look::Taken(bytes) => return Some(bytes),
                Look::Other => return None,
                Look::Nothing => std::hint::spin_loop(),
            }
        }
        None
    }

    /// For a receive that begins with this look, or one that is `under_way`.
    ///
    /// # Safety
    /// The buffer is the receive's to write.
    #[inline(always)]
    unsafe fn look_short(&self, into: Buffer, member: usize, entry: usize, under_way: bool) -> Look {
        let Some(link) = self.in_place(member) else { return Look::Other };
        let peer = &mut *link.state.borrow_mut();
        match peer.first_parts(entry) {
            // SAFETY: the caller's promise.
            Some(parts) => unsafe { self.look_open(link, parts, into, entry, under_way) },
            // SAFETY: as above.
            None => unsafe { self.look_behind(link, peer, into, entry, under_way) },
        }
    }

    /// Looks for a short message in a slot that takes a call to find.
    ///
    /// # Safety
    /// The buffer is the receive's to write.
    #[inline(never)]
    unsafe fn look_behind(
        &self,
        link: &NearLink,
        peer: &mut Peer,
        into: Buffer,
        entry: usize,
        under_way: bool,
    ) -> Look {
        // SAFETY: the caller's promise.
        unsafe { self.look_open(link, peer.parts(entry), into, entry, under_way) }
    }

    /// # Safety
    /// The buffer is the receive's to write.
    #[inline(always)]
    unsafe fn look_open(&self, link: &NearLink, parts: Parts<'_>, into: Buffer, entry: usize, under_way: bool) -> Look {
        let (mine, receive) = (self.mine(link), &parts.0.receive);
        let number = receive.taken + 1;
        if !under_way && !receive.is_open(false) || self.spooled.get() != 0 || self.has_departures() {
            return Look::Other;
        }
        let Some(told) = mine.head(entry).look(number) else {
            return if receive.chain.is_inside() { Look::Other } else { Look::Nothing };
        };
        if told.kind == Kind::Bounce {
            return self.take_bounced(link, parts, into, entry, number, told);
        }
        let source = self.place_of(mine, entry, &told).filter(|_| told.bytes <= into.bytes);
        let Some(source) = source else { return Look::Other };
        // SAFETY: both sides hold as much, as checked.
        unsafe { copy::copy(into.start, source, told.bytes) };
        self.settle(link, parts, entry, number, told);
        Look::Taken(told.bytes)
    }

    /// Receives a message in a bounce buffer, unless its sender pauses in the midst of it: then all of it anew.
    fn take_bounced(
        &self,
        link: &NearLink,
        parts: Parts<'_>,
        into: Buffer,
        entry: usize,
        number: u64,
        told: Told,
    ) -> Look {
        if told.bytes > into.bytes.min(EAGER_MAX) {
            return Look::Other;
        }
        let mut copied = 0;
        for _ in 0..SHORT_WAIT_TURNS {
            if self.take_pieces(link, parts.1, &told, into, &mut copied) {
                self.settle(link, parts, entry, number, told);
                return Look::Taken(told.bytes);
            }
            std::hint::spin_loop();
        }
        Look::Other
    }

    /// Where the bytes of a short message lie, if as many fit there: what a peer tells is checked before it is used.
    #[inline(always)]
    pub(in crate::message) fn place_of(&self, mine: Side<'_>, entry: usize, told: &Told) -> Option<*const u8> {
        let (place, room) = match told.kind {
            Kind::Value => ((&raw const told.value).cast::<u8>(), 8),
            Kind::Line => (mine.line(entry).as_ptr() as *const u8, SHORT_MAX),
            Kind::Bounce | Kind::Offer => return None,
        };
        (told.bytes <= room).then_some(place)
    }

    /// Message `number` was taken: notes it, and what came along about the other direction, and tells the sender.
    #[inline(always)]
    pub(in crate::message) fn settle(
        &self,
        link: &NearLink,
        (slot, bounces): Parts<'_>,
        entry: usize,
        number: u64,
        told: Told,
    ) {
        slot.receive.taken = number;
        slot.receive.chain = Reached::default();
        slot.learn_modulo(told.taken, bounces);
        if told.kind == Kind::Bounce {
            bounces.saw(bounce_of(told.value).0);
        }
        self.theirs(link).post(entry).publish(number, false);
        self.notify(link);
    }

    /// Whether any rank has ended, so that it is worth asking which.
    #[inline(always)]
    pub(in crate::message) fn has_departures(&self) -> bool {
        self.ni.departures() != 0
    }
}
