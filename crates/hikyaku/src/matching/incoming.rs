//! Long messages on their way into the receives that they have matched.

use super::arrival::Envelope;
use super::mover::Mover;
use super::tables::{ReceiveId, Transfer};
use super::wire::{self, CALL_SLOTS, OFFER_SLOTS};
use crate::error::Result;
use std::collections::BTreeMap;

/// See above.
#[derive(Default)]
pub(super) struct Incoming {
    /// Matched, but their slots are not free yet.
    waiting: Vec<ReceiveId>,
    moving: Vec<Moving>,
    /// Calls that found no room yet: to whom, for which message, into which slot.
    calls: Vec<(usize, u64, usize)>,
    /// What is known of the slots of ranks.
    slots: BTreeMap<usize, Slots>,
}

struct Moving {
    receive: ReceiveId,
    rank: usize,
    slot: usize,
}

/// The slots by which one rank sends to this one: a bit each.
#[derive(Clone, Copy, Default)]
struct Slots {
    /// Those in which a receive is under way.
    busy: u32,
    /// Those of calls that hold a message, or wait for one.
    called: u32,
}

impl Slots {
    /// One for a call.
    fn free_for_call(self) -> Option<usize> {
        let calls = ((1 << CALL_SLOTS) - 1) << OFFER_SLOTS;
        let free = calls & !self.busy & !self.called;
        (free != 0).then(|| free.trailing_zeros() as usize)
    }
}

impl Incoming {
    pub fn new() -> Incoming {
        Incoming::default()
    }

    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.moving.is_empty() && self.calls.is_empty()
    }

    fn slots(&mut self, rank: usize) -> &mut Slots {
        self.slots.entry(rank).or_default()
    }

    /// The receive of a slot is over. Has the message come?
    fn release(&mut self, rank: usize, slot: usize, has_come: bool) {
        let slots = self.slots(rank);
        slots.busy &= !(1 << slot);
        if has_come {
            slots.called &= !(1 << slot);
        }
    }
}

impl Mover {
    /// Moves on what was matched, and what is matched now.
    pub(super) fn move_incoming(&self, matched: &mut Vec<ReceiveId>) {
        let Ok(mut incoming) = self.incoming.try_borrow_mut() else { return };
        self.test_moving(&mut incoming);
        incoming.waiting.append(matched);
        if !incoming.waiting.is_empty() {
            let mut waiting = std::mem::take(&mut incoming.waiting);
            waiting.retain(|receive| !self.start_receive(&mut incoming, *receive));
            incoming.waiting = waiting;
            // Some may have come already.
            self.test_moving(&mut incoming);
        }
        incoming.calls.retain(|(rank, which, slot)| matches!(self.tell(*rank, *which, wire::call(*slot)), Ok(false)));
    }

    fn test_moving(&self, incoming: &mut Incoming) {
        let mut moving = std::mem::take(&mut incoming.moving);
        moving.retain(|Moving { receive, rank, slot }| {
            let Some(result) = self.carrier.test_receive(*rank, *slot).transpose() else { return true };
            self.end_receive(incoming, *receive, *rank, *slot, result);
            false
        });
        incoming.moving = moving;
    }

    fn end_receive(
        &self,
        incoming: &mut Incoming,
        receive: ReceiveId,
        rank: usize,
        slot: usize,
        result: Result<usize>,
    ) {
        incoming.release(rank, slot, true);
        self.shared.tables().end(receive, result);
        self.note_ended();
    }

    /// Starts to move the message of a receive; false while there is no slot for it.
    fn start_receive(&self, incoming: &mut Incoming, receive: ReceiveId) -> bool {
        let transfer = self.shared.tables().transfer(receive);
        // It was withdrawn meanwhile.
        let Some(Transfer { source: rank, offer, start, bytes }) = transfer else { return true };
        let slots = *incoming.slots(rank);
        let slot = match offer.slot {
            Some(slot) => Some(slot).filter(|slot| slots.busy & 1 << slot == 0),
            None => slots.free_for_call(),
        };
        let Some(slot) = slot else { return false };
        // SAFETY: the receive's room stays until it has ended or is withdrawn, and so does what the slot knows of it.
        let started = unsafe { self.carrier.start_receive(start, bytes, rank, slot) };
        if let Err(error) = started {
            self.shared.tables().end(receive, Err(error));
            self.note_ended();
            return true;
        }
        incoming.slots(rank).busy |= 1 << slot;
        if offer.slot.is_none() {
            incoming.slots(rank).called |= 1 << slot;
            self.shared.tables().called(receive, slot);
            incoming.calls.push((rank, offer.which, slot));
        }
        incoming.moving.push(Moving { receive, rank, slot });
        true
    }

    /// Forgets a receive: afterwards nobody writes to its room. How it has ended, if it has; otherwise what it was to get waits for
    /// another one.
    pub fn withdraw_receive(&self, id: ReceiveId) -> Option<Result<Envelope>> {
        let ni = self.port.ni();
        // To a forked child it does not belong.
        if ni.is_forked() {
            return None;
        }
        let mut incoming = self.incoming.borrow_mut();
        let place = incoming.moving.iter().position(|moving| moving.receive == id);
        if let Some(Moving { receive, rank, slot }) = place.map(|place| incoming.moving.swap_remove(place)) {
            drop(incoming);
            let ended = self.carrier.withdraw_receive(rank, slot);
            let mut incoming = self.incoming.borrow_mut();
            match ended {
                Some(result) => self.end_receive(&mut incoming, receive, rank, slot, result),
                None => incoming.release(rank, slot, false),
            }
        }
        let mut tables = self.shared.tables();
        let ended = tables.withdraw(id, |rank| ni.end_of(rank).is_none());
        self.note_matched(&tables);
        ended
    }
}
