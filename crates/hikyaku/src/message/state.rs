//! What each side keeps to itself: how many messages it has sent and taken in each slot, and what is under way.

use super::layout::{BOUNCE_COUNT, Side};
use super::node::{End, Reached};
use super::pending::{Ticket, UnderWay};
use super::slot::ACK_MODULUS;
use super::table::Table;

/// Everything about one peer.
pub(super) struct Peer {
    pub sends: Table<Sending>,
    pub receives: Table<Receiving>,
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
    /// One more than the highest slot used, as told to the peer.
    pub high: u64,
}

/// The sending side of one slot.
#[derive(Debug, Default)]
pub(super) struct Sending {
    pub sent: u64,
    /// Messages the peer has taken, as far as is known.
    pub taken: u64,
    /// The same when the peer's last message came by its head: what the next head tells is not older.
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
pub(super) struct Held {
    buffer: u8,
    number: u64,
}

/// The receiving side of one slot.
#[derive(Debug, Default)]
pub(super) struct Receiving {
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
pub(super) enum Owner {
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

impl Peer {
    pub fn new(entries: usize) -> Peer {
        Peer {
            sends: Table::new(entries),
            receives: Table::new(entries),
            free: u8::MAX,
            warm: 0,
            holders: [0; BOUNCE_COUNT],
            turns: [0; BOUNCE_COUNT],
            seen: [0, 1],
            high: 0,
        }
    }

    /// Whether all messages of a slot were taken; looks at the peer's word only if it has to.
    #[inline(always)]
    pub fn is_free(&mut self, mine: Side<'_>, entry: usize) -> bool {
        self.has_taken(entry, || mine.post(entry).look().0)
    }

    /// The same, where `look` looks at the peer's word.
    #[inline(always)]
    pub fn has_taken(&mut self, entry: usize, look: impl FnOnce() -> u64) -> bool {
        let send = &self.sends[entry];
        if send.taken < send.sent {
            self.learn(entry, look());
        }
        let send = &self.sends[entry];
        send.taken >= send.sent
    }

    /// Whether all messages of all slots were taken.
    pub fn have_taken(&mut self, look: impl Fn(usize) -> u64) -> bool {
        let mut next = self.sends.next_used(0);
        while let Some(entry) = next {
            if !self.has_taken(entry, || look(entry)) {
                return false;
            }
            next = self.sends.next_used(entry + 1);
        }
        true
    }

    /// The peer has taken `taken` messages of a slot.
    #[inline(always)]
    pub fn learn(&mut self, entry: usize, taken: u64) {
        let send = &mut self.sends[entry];
        // A peer's number: more than was sent means nothing.
        if taken > send.taken && taken <= send.sent {
            send.taken = taken;
            if let Some(held) = send.bounce.take_if(|held| held.number <= taken) {
                self.free |= 1 << held.buffer;
            }
        }
    }

    /// The same, told modulo [`ACK_MODULUS`].
    #[inline(always)]
    pub fn learn_modulo(&mut self, entry: usize, taken: u64) {
        // Reckoned from what it cannot be older than: if the number has come round since, this is too few, never too many.
        let confirmed = self.sends[entry].confirmed;
        self.learn(entry, confirmed + taken.wrapping_sub(confirmed) % ACK_MODULUS);
        let send = &mut self.sends[entry];
        send.confirmed = send.taken;
    }

    /// A free bounce buffer, now held by the next message of `entry`, and the how-manieth use of it this is.
    pub fn take_bounce(&mut self, mine: Side<'_>, entry: usize) -> Option<(usize, u64)> {
        let free = self.free_bounce(|holder| mine.post(holder).look().0)?;
        let buffer = if self.free & 1 << self.warm != 0 { self.warm } else { free };
        Some((buffer, self.hold_bounce(buffer, entry)))
    }

    /// A free bounce buffer; `taken` looks up how many messages of a slot the peer has taken.
    pub fn free_bounce(&mut self, taken: impl Fn(usize) -> u64) -> Option<usize> {
        if self.free == 0 {
            for buffer in 0..BOUNCE_COUNT {
                let holder = self.holders[buffer] as usize;
                self.learn(holder, taken(holder));
            }
        }
        (self.free != 0).then_some(self.free.trailing_zeros() as usize)
    }

    /// A free bounce buffer is now held by the next message of `entry`; gives the how-manieth use of it this is.
    pub fn hold_bounce(&mut self, buffer: usize, entry: usize) -> u64 {
        self.free &= !(1 << buffer);
        self.holders[buffer] = entry as u32;
        let send = &mut self.sends[entry];
        send.bounce = Some(Held { buffer: buffer as u8, number: send.sent + 1 });
        self.turns[buffer] += 1;
        self.turns[buffer]
    }

    /// The buffer that a message of the peer names, as a number that exists whatever it named.
    ///
    /// A sender that waits for answers uses two in turn. If this is the one that was foreseen, the number comes from this
    /// rank's memory instead of from the message, and the compiler must not see that it is the same: the processor then
    /// fetches the buffer while the message that names it is still on its way.
    #[inline(always)]
    pub fn foresee_bounce(&self, named: usize) -> usize {
        let (foreseen, same) = (self.seen[1], std::hint::black_box(self.seen[1]));
        if named == foreseen { same } else { named % BOUNCE_COUNT }
    }

    /// A message in a bounce buffer was taken.
    #[inline(always)]
    pub fn saw_bounce(&mut self, buffer: usize) {
        self.seen = [buffer % BOUNCE_COUNT, self.seen[0]];
    }

    /// The buffer that the next message will be given, if one is free: a message just sent gives time to fetch its lines,
    /// which the receiver has read since, and which the next copy would wait for.
    pub fn warm_bounce(&mut self) -> Option<usize> {
        self.warm = self.free.trailing_zeros() as usize % BOUNCE_COUNT;
        (self.free != 0).then_some(self.warm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A head that lies for long tells an old number, which must not be taken for one that is still to come.
    #[test]
    fn an_old_head_confirms_nothing_new() {
        for ahead in [1, 2, ACK_MODULUS - 1, ACK_MODULUS, ACK_MODULUS + 1, 3 * ACK_MODULUS] {
            let mut peer = Peer::new(1);
            // All but one were taken, of which the posts have told; the head was written before.
            peer.sends[0].sent = 100 + ahead;
            peer.learn(0, 99 + ahead);
            peer.learn_modulo(0, 100 % ACK_MODULUS);
            assert_eq!(peer.sends[0].taken, 99 + ahead, "{ahead}");
        }
    }

    #[test]
    fn heads_confirm_across_the_turn_of_their_numbers() {
        let mut peer = Peer::new(1);
        for step in 1..100 {
            let taken = step * (ACK_MODULUS / 3);
            peer.sends[0].sent = taken + step % 2;
            peer.learn_modulo(0, taken % ACK_MODULUS);
            assert_eq!(peer.sends[0].taken, taken);
        }
    }

    /// What is foreseen makes it faster, never another buffer; and what a peer names may be any number.
    #[test]
    fn the_buffer_that_was_named_is_the_one_that_is_read() {
        let mut peer = Peer::new(1);
        for seen in [0, 1, 0, 7, 3, 255, 8] {
            peer.saw_bounce(seen);
            (0..256).for_each(|named| assert_eq!(peer.foresee_bounce(named), named % BOUNCE_COUNT, "after {seen}"));
        }
    }

    #[test]
    fn a_bounce_buffer_is_free_when_its_own_message_was_taken() {
        let mut peer = Peer::new(1);
        let buffer = peer.free_bounce(|_| unreachable!("all are free")).unwrap();
        peer.hold_bounce(buffer, 0);
        // Two more behind it, in a chain.
        peer.sends[0].sent = 3;
        assert_ne!(peer.free_bounce(|_| unreachable!("others are free")), Some(buffer));
        peer.learn(0, 1);
        assert_eq!(peer.free_bounce(|_| unreachable!("one is free")), Some(buffer));
    }
}
