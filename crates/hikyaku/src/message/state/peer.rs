//! What each side keeps to itself: how many messages it has sent and taken in each slot, and what is under way.

use super::pending::{Ticket, UnderWay};
use super::table::Table;
use crate::message::wire::layout::{BOUNCE_COUNT, Side};
use crate::message::wire::node::{End, Reached};
use crate::message::wire::slot::ACK_MODULUS;

/// Everything about one peer.
pub(in crate::message) struct Peer {
    pub slots: Table<Slot>,
    pub bounces: Bounces,
    /// One more than the highest slot used, as told to the peer.
    pub high: u64,
}

/// Everything about one slot, in lines of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(in crate::message) struct Slot {
    pub send: Sending,
    pub receive: Receiving,
}

/// The bounce buffers between this rank and one peer.
#[derive(Debug)]
pub(in crate::message) struct Bounces {
    /// One bit per bounce buffer that is free.
    free: u8,
    /// The bounce buffer whose lines were fetched for the next message.
    warm: usize,
    /// The slot whose message lies in each bounce buffer that is not free.
    holders: [u32; BOUNCE_COUNT],
    /// How often each was used.
    turns: [u64; BOUNCE_COUNT],
    /// The bounce buffers of the peer's last message that came in one, and of the one before.
    seen: [usize; 2],
}

/// What most operations need: found once, used several times.
pub(in crate::message) type SlotParts<'p> = (&'p mut Slot, &'p mut Bounces);

/// The sending side of one slot.
#[derive(Debug, Default)]
pub(in crate::message) struct Sending {
    pub sent: u64,
    /// Messages the peer has taken, as far as is known.
    pub taken: u64,
    /// What `taken` was when the peer's last message came by its head: what the next head tells is not older.
    confirmed: u64,
    /// The bounce buffer of the last message that needed one, while it is not taken.
    pub bounce: Option<Held>,
    /// How far the chain of this slot goes.
    pub chain: End,
    /// The non-blocking send under way.
    pub under_way: Option<Ticket>,
    /// The slot belongs to a prepared send.
    pub reserved: bool,
}

/// A bounce buffer and the number of the message in it, behind which there may be others in a chain.
#[derive(Clone, Copy, Debug)]
pub(in crate::message) struct Held {
    buffer: u8,
    number: u64,
}

/// The receiving side of one slot.
#[derive(Debug, Default)]
pub(in crate::message) struct Receiving {
    pub taken: u64,
    /// How far the chain of this slot was followed.
    pub chain: Reached,
    /// The non-blocking receive under way.
    pub under_way: Option<UnderWay>,
    /// Whom the slot belongs to.
    pub owner: Owner,
}

/// Whom the receiving side of a slot belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::message) enum Owner {
    /// Whoever comes.
    #[default]
    Nobody,
    /// A prepared receive.
    Prepared,
    /// A receive that waits. Functions of the program may run meanwhile, and must not take its message.
    Waiting,
}

impl Sending {
    /// Whether a send may begin; `prepared`: by whom the slot is kept for.
    #[inline(always)]
    pub fn is_open(&self, prepared: bool) -> bool {
        self.under_way.is_none() && self.reserved == prepared
    }
}

impl Receiving {
    /// Whether a receive may begin; `prepared`: by whom the slot is kept for.
    #[inline(always)]
    pub fn is_open(&self, prepared: bool) -> bool {
        self.under_way.is_none() && self.owner == if prepared { Owner::Prepared } else { Owner::Nobody }
    }
}

impl Slot {
    /// The peer has taken `taken` messages.
    #[inline(always)]
    pub fn learn(&mut self, taken: u64, bounces: &mut Bounces) {
        let send = &mut self.send;
        // A peer's number: more than was sent means nothing.
        if taken > send.taken && taken <= send.sent {
            send.taken = taken;
            if let Some(held) = send.bounce.take_if(|held| held.number <= taken) {
                bounces.free |= 1 << held.buffer;
            }
        }
    }

    /// The peer has taken so many messages, told modulo [`ACK_MODULUS`].
    #[inline(always)]
    pub fn learn_modulo(&mut self, taken: u64, bounces: &mut Bounces) {
        // Reckoned from what it cannot be older than: if the number has come round since, this is too few, never too many.
        let confirmed = self.send.confirmed;
        self.learn(confirmed + taken.wrapping_sub(confirmed) % ACK_MODULUS, bounces);
        self.send.confirmed = self.send.taken;
    }

    /// Whether all messages were taken; `look` looks at the peer's word.
    #[inline(always)]
    fn has_taken(&mut self, bounces: &mut Bounces, look: impl FnOnce() -> u64) -> bool {
        if self.send.taken < self.send.sent {
            self.learn(look(), bounces);
        }
        self.send.taken >= self.send.sent
    }
}

impl Peer {
    pub fn new(entries: usize) -> Peer {
        Peer { slots: Table::new(entries), bounces: Bounces::new(), high: 0 }
    }

    /// A slot and the bounce buffers.
    #[inline(always)]
    pub fn parts(&mut self, entry: usize) -> SlotParts<'_> {
        (&mut self.slots[entry], &mut self.bounces)
    }

    /// The same, if the slot or one beside it was used before: found without a call.
    #[inline(always)]
    pub fn used_parts(&mut self, entry: usize) -> Option<SlotParts<'_>> {
        Some((self.slots.get_mut(entry)?, &mut self.bounces))
    }

    /// Whether all messages of a slot were taken; looks at the peer's word only if it has to.
    #[inline(always)]
    pub fn is_free(&mut self, mine: Side<'_>, entry: usize) -> bool {
        self.slots[entry].has_taken(&mut self.bounces, || mine.post(entry).look().0)
    }

    /// Whether all messages of all slots were taken; `look` looks at the peer's word of one.
    pub fn have_taken(&mut self, look: impl Fn(usize) -> u64) -> bool {
        let mut next = self.slots.next_used(0);
        while let Some(entry) = next {
            if !self.slots[entry].has_taken(&mut self.bounces, || look(entry)) {
                return false;
            }
            next = self.slots.next_used(entry + 1);
        }
        true
    }

    /// The peer has taken `taken` messages of a slot.
    pub fn learn(&mut self, entry: usize, taken: u64) {
        self.slots[entry].learn(taken, &mut self.bounces);
    }

    /// Whether a bounce buffer is free; `taken` looks up how many messages of a slot the peer has taken.
    #[inline(always)]
    pub fn has_bounce(&mut self, taken: impl Fn(usize) -> u64) -> bool {
        self.bounces.free != 0 || self.regain_bounces(taken)
    }

    #[cold]
    fn regain_bounces(&mut self, taken: impl Fn(usize) -> u64) -> bool {
        for buffer in 0..BOUNCE_COUNT {
            let holder = self.bounces.holders[buffer] as usize;
            self.learn(holder, taken(holder));
        }
        self.bounces.free != 0
    }
}

impl Bounces {
    fn new() -> Bounces {
        Bounces { free: u8::MAX, warm: 0, holders: [0; BOUNCE_COUNT], turns: [0; BOUNCE_COUNT], seen: [0, 1] }
    }

    /// The first buffer that is free.
    pub fn first_free(&self) -> Option<usize> {
        (self.free != 0).then_some(self.free.trailing_zeros() as usize)
    }

    /// Takes a free buffer, if there is one, for the next message of a slot; gives it, and the how-manieth use of it this is.
    #[inline(always)]
    pub fn take(&mut self, entry: usize, slot: &mut Slot) -> Option<(usize, u64)> {
        let first = self.first_free()?;
        let buffer = if self.free & 1 << self.warm != 0 { self.warm } else { first };
        Some((buffer, self.hold(buffer, entry, slot)))
    }

    /// A free buffer is now held by the next message of a slot; gives the how-manieth use of it this is.
    #[inline(always)]
    pub fn hold(&mut self, buffer: usize, entry: usize, slot: &mut Slot) -> u64 {
        self.free &= !(1 << buffer);
        self.holders[buffer] = entry as u32;
        slot.send.bounce = Some(Held { buffer: buffer as u8, number: slot.send.sent + 1 });
        self.turns[buffer] += 1;
        self.turns[buffer]
    }

    /// The buffer that a message of the peer names, as a number that exists whatever it named.
    ///
    /// A sender that waits for answers uses two in turn. If this is the one that was foreseen, the number comes from this
    /// rank's memory instead of from the message, and the compiler must not see that it is the same: the processor then
    /// fetches the buffer while the message that names it is still on its way.
    #[inline(always)]
    pub fn foresee(&self, named: usize) -> usize {
        let (foreseen, same) = (self.seen[1], std::hint::black_box(self.seen[1]));
        if named == foreseen { same } else { named % BOUNCE_COUNT }
    }

    /// A message in a buffer was taken.
    #[inline(always)]
    pub fn saw(&mut self, buffer: usize) {
        self.seen = [buffer % BOUNCE_COUNT, self.seen[0]];
    }

    /// The buffer that the next message will be given, if one is free: a message just sent gives time to fetch its lines,
    /// which the receiver has read since, and which the next copy would wait for.
    pub fn warm(&mut self) -> Option<usize> {
        self.warm = self.free.trailing_zeros() as usize % BOUNCE_COUNT;
        (self.free != 0).then_some(self.warm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learn_modulo(peer: &mut Peer, taken: u64) {
        let (slot, bounces) = peer.parts(0);
        slot.learn_modulo(taken, bounces);
    }

    /// A head that lies for long tells an old number, which must not be taken for one that is still to come.
    #[test]
    fn an_old_head_confirms_nothing_new() {
        for ahead in [1, 2, ACK_MODULUS - 1, ACK_MODULUS, ACK_MODULUS + 1, 3 * ACK_MODULUS] {
            let mut peer = Peer::new(1);
            // All but one were taken, of which the posts have told; the head was written before.
            peer.slots[0].send.sent = 100 + ahead;
            peer.learn(0, 99 + ahead);
            learn_modulo(&mut peer, 100 % ACK_MODULUS);
            assert_eq!(peer.slots[0].send.taken, 99 + ahead, "{ahead}");
        }
    }

    #[test]
    fn heads_confirm_across_the_turn_of_their_numbers() {
        let mut peer = Peer::new(1);
        for step in 1..100 {
            let taken = step * (ACK_MODULUS / 3);
            peer.slots[0].send.sent = taken + step % 2;
            learn_modulo(&mut peer, taken % ACK_MODULUS);
            assert_eq!(peer.slots[0].send.taken, taken);
        }
    }

    /// What is foreseen makes it faster, never another buffer; and what a peer names may be any number.
    #[test]
    fn the_buffer_that_was_named_is_the_one_that_is_read() {
        let mut bounces = Bounces::new();
        for seen in [0, 1, 0, 7, 3, 255, 8] {
            bounces.saw(seen);
            (0..256).for_each(|named| assert_eq!(bounces.foresee(named), named % BOUNCE_COUNT, "after {seen}"));
        }
    }

    #[test]
    fn a_bounce_buffer_is_free_when_its_own_message_was_taken() {
        let mut peer = Peer::new(1);
        assert!(peer.has_bounce(|_| unreachable!("all are free")));
        let (slot, bounces) = peer.parts(0);
        let (buffer, _) = bounces.take(0, slot).unwrap();
        // Two more behind it, in a chain.
        slot.send.sent = 3;
        assert_ne!(bounces.first_free(), Some(buffer));
        peer.learn(0, 1);
        assert_eq!(peer.bounces.first_free(), Some(buffer));
    }

    #[test]
    fn bounce_buffers_are_regained_when_none_is_free() {
        let mut peer = Peer::new(40);
        for entry in 0..BOUNCE_COUNT {
            let (slot, bounces) = peer.parts(4 * entry);
            bounces.take(4 * entry, slot).unwrap();
            slot.send.sent = 1;
        }
        assert!(!peer.has_bounce(|_| 0));
        assert!(peer.has_bounce(|entry| (entry == 20) as u64));
        assert_eq!(peer.bounces.first_free(), Some(5));
    }

    #[test]
    fn everything_was_taken_when_the_last_slot_was() {
        let mut peer = Peer::new(100);
        peer.slots[3].send.sent = 1;
        peer.slots[77].send.sent = 2;
        assert!(!peer.have_taken(|_| 1));
        assert!(peer.have_taken(|entry| if entry == 77 { 2 } else { 0 }));
    }
}
