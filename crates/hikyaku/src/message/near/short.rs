//! Messages that fit a head or a line, or a bounce buffer that is free: sent and received in place, without an operation
//! that could be under way.
//!
//! What stands in the way of that (a slot that was never used or is not free, a message that is not there, a spare buffer that is
//! not empty) is left to the general paths in `send` and `receive`.

use super::pair::NearPair;
use crate::memory::copy;
use crate::message::buffer::spot::Buffer;
use crate::message::state::core::Core;
use crate::message::state::peer::{Slot, SlotParts};
use crate::message::wire::layout::{EAGER_MAX, SHORT_MAX, Side};
use crate::message::wire::node::Reached;
use crate::message::wire::slot::{HeadInfo, HeadKind, bounce_of};

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

impl NearPair<'_> {
    /// Sends a message of at most [`EAGER_MAX`] bytes if it can go at once. `prepared`: for the prepared send that the slot
    /// belongs to. The slot exists.
    #[inline(always)]
    pub fn send_at_once(core: &Core, data: &[u8], member: usize, entry: usize, prepared: bool) -> bool {
        let Some(pair) = NearPair::in_place(core, member) else { return false };
        let peer = &mut *pair.link.state.borrow_mut();
        let high = peer.high;
        let Some(parts) = peer.used_parts(entry) else { return false };
        match pair.send_open(parts, high, data, entry, prepared) {
            Some(sent) => sent,
            None => pair.send_bounce(peer, data, entry),
        }
    }

    /// Whether it was sent; `None` if it can go, but through a bounce buffer.
    #[inline(always)]
    fn send_open(
        self,
        (slot, bounces): SlotParts<'_>,
        high: u64,
        data: &[u8],
        entry: usize,
        prepared: bool,
    ) -> Option<bool> {
        let send = &slot.send;
        if !send.is_open(prepared) || send.chain.is_open() || self.core.spooled.get() != 0 || self.core.has_departures()
        {
            return Some(false);
        }
        if send.taken < send.sent {
            if self.mine().post(entry).look().0 != send.sent && !self.is_taken_soon(entry, send.sent) {
                return Some(false);
            }
            let sent = send.sent;
            slot.learn(sent, bounces);
        }
        if entry as u64 >= high && entry < self.core.slots {
            return Some(false);
        }
        if data.len() > SHORT_MAX {
            return None;
        }
        self.put_short(slot, data, entry);
        Some(true)
    }

    /// Whether message `sent` of a slot, which is not taken, will be soon: a receiver that has a core of its own most likely is at it.
    #[inline(never)]
    fn is_taken_soon(self, entry: usize, sent: u64) -> bool {
        let post = self.mine().post(entry);
        !self.core.ni.crowded
            && (0..SHORT_WAIT_TURNS).any(|_| {
                std::hint::spin_loop();
                post.look().0 == sent
            })
    }

    /// Writes a short message into its slot, which is free, and tells the receiver.
    #[inline(always)]
    pub fn put_short(self, slot: &mut Slot, data: &[u8], entry: usize) {
        assert!(data.len() <= SHORT_MAX);
        let theirs = self.theirs();
        let taken = slot.receive.taken;
        let mut told = HeadInfo::new(HeadKind::Value, data.len(), taken, 0);
        // SAFETY: the value holds 8 bytes, the line 64.
        unsafe {
            if data.len() <= 8 {
                copy::copy((&raw mut told.value).cast(), data.as_ptr(), data.len());
            } else {
                told = HeadInfo::new(HeadKind::Line, data.len(), taken, 0);
                copy::copy(theirs.line(entry).as_ptr() as *mut u8, data.as_ptr(), data.len());
            }
        }
        slot.send.sent += 1;
        theirs.head(entry).publish(slot.send.sent, told);
        self.notify();
    }

    /// Receives a short message, if it is there or comes soon, and fits; gives its bytes. Every rank has a core, so the
    /// other side most likely is about to send; what else a wait does can wait so long. The slot exists.
    ///
    /// # Safety
    /// The buffer is the caller's to write.
    #[inline(always)]
    pub unsafe fn recv_short(core: &Core, into: Buffer, member: usize, entry: usize) -> Option<usize> {
        // A long receive must be told to the sender at once.
        let patient = !core.ni.crowded && into.bytes <= EAGER_MAX;
        // SAFETY: the caller's promise.
        look_again(patient, || unsafe { look_short(core, into, member, entry, false) })
    }

    /// Receives the short message that a receive under way waits for, if it is there or comes soon, and fits; gives its bytes.
    ///
    /// # Safety
    /// The buffer is the receive's to write.
    #[inline(always)]
    pub unsafe fn recv_awaited(core: &Core, into: Buffer, member: usize, entry: usize) -> Option<usize> {
        // SAFETY: the caller's promise.
        look_again(!core.ni.crowded, || unsafe { look_short(core, into, member, entry, true) })
    }

    /// # Safety
    /// The buffer is the receive's to write.
    #[inline(always)]
    unsafe fn look_open(self, parts: SlotParts<'_>, into: Buffer, entry: usize, under_way: bool) -> Look {
        let (mine, receive) = (self.mine(), &parts.0.receive);
        let number = receive.taken + 1;
        if !under_way && !receive.is_open(false) || self.core.spooled.get() != 0 || self.core.has_departures() {
            return Look::Other;
        }
        let Some(told) = mine.head(entry).look(number) else {
            return if receive.chain.is_inside() { Look::Other } else { Look::Nothing };
        };
        if told.kind() == HeadKind::Bounce {
            return self.take_bounced(parts, into, entry, number, told);
        }
        let source = place_of(mine, entry, &told).filter(|_| told.bytes() <= into.bytes);
        let Some(source) = source else { return Look::Other };
        // SAFETY: both sides hold as much, as checked.
        unsafe { copy::copy(into.start, source, told.bytes()) };
        self.note_taken(parts, entry, number, told);
        Look::Taken(told.bytes())
    }

    /// Receives a message in a bounce buffer, unless its sender pauses in the midst of it: then all of it anew.
    fn take_bounced(self, parts: SlotParts<'_>, into: Buffer, entry: usize, number: u64, told: HeadInfo) -> Look {
        if told.bytes() > into.bytes.min(EAGER_MAX) {
            return Look::Other;
        }
        let mut copied = 0;
        for _ in 0..SHORT_WAIT_TURNS {
            if self.take_pieces(parts.1, told, into, &mut copied) {
                self.note_taken(parts, entry, number, told);
                return Look::Taken(told.bytes());
            }
            std::hint::spin_loop();
        }
        Look::Other
    }

    /// Message `number` was taken: notes it, and what came along about the other direction, and tells the sender.
    #[inline(always)]
    pub fn note_taken(self, (slot, bounces): SlotParts<'_>, entry: usize, number: u64, told: HeadInfo) {
        slot.receive.taken = number;
        slot.receive.chain = Reached::default();
        slot.learn_modulo(told.taken(), bounces);
        if told.kind() == HeadKind::Bounce {
            bounces.saw(bounce_of(told.value).0);
        }
        self.theirs().post(entry).publish(number, false);
        self.notify();
    }
}

/// Where the bytes of a short message lie, if as many fit there: what a peer tells is checked before it is used.
#[inline(always)]
pub(super) fn place_of(mine: Side<'_>, entry: usize, told: &HeadInfo) -> Option<*const u8> {
    let (place, room) = match told.kind() {
        HeadKind::Value => ((&raw const told.value).cast::<u8>(), 8),
        HeadKind::Line => (mine.line(entry).as_ptr() as *const u8, SHORT_MAX),
        HeadKind::Bounce | HeadKind::Offer => return None,
    };
    (told.bytes() <= room).then_some(place)
}

/// Everything is looked at again each time, which leaves the sender alone with the line of the head for a while: looking at
/// that alone, as fast as one can, was measured to make a message a fifth slower.
#[inline(always)]
fn look_again(patient: bool, look: impl Fn() -> Look) -> Option<usize> {
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
unsafe fn look_short(core: &Core, into: Buffer, member: usize, entry: usize, under_way: bool) -> Look {
    let Some(pair) = NearPair::in_place(core, member) else { return Look::Other };
    let peer = &mut *pair.link.state.borrow_mut();
    let Some(parts) = peer.used_parts(entry) else { return Look::Other };
    // SAFETY: the caller's promise.
    unsafe { pair.look_open(parts, into, entry, under_way) }
}
