//! What each side keeps to itself: how many messages it has sent and taken in each slot, and what is under way.

use super::layout::{BOUNCE_COUNT, Side};
use super::node::{End, Reached};
use super::pending::Ticket;
use super::slot::ACK_MODULUS;

/// Everything about one peer.
pub(super) struct Peer {
    pub sends: Vec<Sending>,
    pub receives: Vec<Receiving>,
    /// One bit per bounce buffer that is free.
    free: u8,
    /// The bounce buffer whose lines were fetched for the next message.
    warm: usize,
    /// The slot whose message lies in each bounce buffer that is not free.
    holders: [u32; BOUNCE_COUNT],
    /// How often each was used.
    turns: [u64; BOUNCE_COUNT],
    /// One more than the highest slot used, as told to the peer.
    pub high: u64,
}

/// The sending side of one slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Sending {
    pub sent: u64,
    /// Messages the peer has taken, as far as is known.
    pub taken: u64,
    /// The bounce buffer of the last message, while it is not taken.
    pub bounce: Option<u8>,
    /// How far the chain of this slot goes.
    pub chain: End,
    /// The non-blocking send under way.
    pub under_way: Option<Ticket>,
    /// The slot belongs to a prepared send.
    pub reserved: bool,
}

/// The receiving side of one slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Receiving {
    pub taken: u64,
    /// How far the chain of this slot was followed.
    pub chain: Reached,
    /// The non-blocking receive under way.
    pub under_way: Option<Ticket>,
    /// The slot belongs to a prepared receive.
    pub reserved: bool,
}

impl Sending {
    /// Whether no other send may begin.
    #[inline(always)]
    pub fn is_busy(&self) -> bool {
        self.under_way.is_some() || self.reserved
    }
}

impl Receiving {
    /// Whether no other receive may begin.
    #[inline(always)]
    pub fn is_busy(&self) -> bool {
        self.under_way.is_some() || self.reserved
    }
}

impl Peer {
    pub fn new(entries: usize) -> Peer {
        Peer {
            sends: vec![Sending::default(); entries],
            receives: vec![Receiving::default(); entries],
            free: u8::MAX,
            warm: 0,
            holders: [0; BOUNCE_COUNT],
            turns: [0; BOUNCE_COUNT],
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

    /// The peer has taken `taken` messages of a slot.
    #[inline(always)]
    pub fn learn(&mut self, entry: usize, taken: u64) {
        let send = &mut self.sends[entry];
        // A peer's number: more than was sent means nothing.
        if taken > send.taken && taken <= send.sent {
            send.taken = taken;
            if let Some(buffer) = send.bounce.take_if(|_| taken == send.sent) {
                self.free |= 1 << buffer;
            }
        }
    }

    /// The same, told modulo [`ACK_MODULUS`].
    #[inline(always)]
    pub fn learn_modulo(&mut self, entry: usize, taken: u64) {
        let known = self.sends[entry].taken;
        let more = taken.wrapping_sub(known) % ACK_MODULUS;
        if more != 0 {
            self.learn(entry, known + more);
        }
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
        self.sends[entry].bounce = Some(buffer as u8);
        self.turns[buffer] += 1;
        self.turns[buffer]
    }

    /// The buffer that the next message will be given, if one is free: a message just sent gives time to fetch its lines,
    /// which the receiver has read since, and which the next copy would wait for.
    pub fn warm_bounce(&mut self) -> Option<usize> {
        self.warm = self.free.trailing_zeros() as usize % BOUNCE_COUNT;
        (self.free != 0).then_some(self.warm)
    }
}
