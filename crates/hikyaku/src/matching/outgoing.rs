//! Sends: at once, or in the order in which they were started.

use super::buffer::Data;
use super::chains::Chains;
use super::lane::{SHORT_MAX, Writer};
use super::mover::Mover;
use super::tables::{BUDGET, cost};
use super::wire::{self, INLINE_MAX, OFFER_SLOTS, Offer};
use crate::error::{Error, Result};
use crate::ni::{By, PAYLOAD_MAX};
use crate::planted::{Bug, planted};
use std::collections::VecDeque;

/// Sends that have not ended.
pub(super) struct Outgoing {
    sends: Chains<Send, 1>,
    next: u64,
    /// What is known of ranks that something was sent to.
    peers: Vec<Option<Box<Peer>>>,
    /// Ranks for which sends wait to be announced.
    crowd: Vec<usize>,
    /// Sends whose messages move through slots.
    moving: Vec<SendId>,
}

/// A send, by its number and order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SendId {
    number: u32,
    order: u64,
}

struct Send {
    to: usize,
    key: u64,
    data: Data,
    bytes: usize,
    /// Through which it moves.
    slot: Option<usize>,
    /// Its receiver knows of it.
    is_announced: bool,
    /// Nobody will ask how it has ended.
    is_detached: bool,
    ended: Option<Result<()>>,
}

struct Peer {
    /// Not announced yet, in order.
    queue: VecDeque<SendId>,
    /// What may be sent unasked.
    budget: u32,
    /// The slots for offers that are free: a bit each.
    free: u32,
    /// Where short messages to it go.
    lane: Lane,
    /// How many messages were sent to it by other ways.
    told: u64,
}

/// The lane to a rank.
enum Lane {
    /// There was none yet.
    Unknown,
    /// There is memory for it, of which the rank was not told yet.
    Made(Writer),
    Open(Writer),
    /// It is on another host, or there is no memory.
    None,
}

impl Default for Peer {
    fn default() -> Peer {
        let free = (1 << OFFER_SLOTS) - 1;
        Peer { queue: VecDeque::new(), budget: BUDGET, free, lane: Lane::Unknown, told: 0 }
    }
}

impl Peer {
    /// Whether a message goes at once, whether it is wanted or not.
    #[inline(always)]
    fn takes_unasked(&self, bytes: usize) -> bool {
        bytes <= PAYLOAD_MAX && (cost(bytes) <= self.budget || planted(Bug::BudgetIgnored))
    }

    /// How many lines were written to its lane.
    #[inline(always)]
    fn written(&self) -> u64 {
        if let Lane::Open(lane) = &self.lane { lane.written() } else { 0 }
    }
}

impl Outgoing {
    pub fn new(size: usize, first: u64) -> Outgoing {
        let peers = std::iter::repeat_with(|| None).take(size).collect();
        Outgoing { sends: Chains::default(), next: first, peers, crowd: Vec::new(), moving: Vec::new() }
    }

    pub fn is_idle(&self) -> bool {
        self.crowd.is_empty() && self.moving.is_empty()
    }

    pub fn take_credit(&mut self, rank: usize, bytes: u64) {
        if let Some(peer) = self.peers.get_mut(rank).and_then(Option::as_mut) {
            peer.budget = (peer.budget as u64).saturating_add(bytes).min(BUDGET as u64) as u32;
        }
    }

    fn get(&mut self, id: SendId) -> Option<&mut Send> {
        self.sends.get(id.number).filter(|_| self.sends.order(id.number) == id.order)?;
        self.sends.get_mut(id.number)
    }

    fn peer(&mut self, rank: usize) -> &mut Peer {
        self.peers[rank].get_or_insert_default()
    }

    /// It has ended; gives back its slot, if it has chosen one. If it has failed, its receiver may still look there.
    fn end(&mut self, id: SendId, result: Result<()>) {
        let Some(send) = self.get(id) else { return };
        let (to, slot, is_ok) = (send.to, send.slot, result.is_ok());
        send.ended = Some(result);
        if let Some(slot) = slot.filter(|slot| is_ok && *slot < OFFER_SLOTS) {
            self.peer(to).free |= 1 << slot;
        }
        self.forget_detached(id);
    }

    /// One that nobody asks for is forgotten, once it is neither under way nor in a queue.
    fn forget_detached(&mut self, id: SendId) {
        if self.get(id).is_some_and(|send| send.is_detached && send.ended.is_some() && send.is_announced) {
            self.sends.remove(id.number);
        }
    }
}

impl Mover {
    /// Starts a send to a rank, which exists. `None` if it has ended; otherwise the next step moves it.
    #[inline]
    pub fn start_send(&self, data: Data, to: usize, key: u64) -> Result<Option<SendId>> {
        let mut outgoing = self.outgoing.borrow_mut();
        let bytes = data.as_slice().len();
        let peer = outgoing.peer(to);
        if peer.queue.is_empty() && peer.takes_unasked(bytes) && self.try_unasked(peer, to, key, data.as_slice())? {
            return Ok(None);
        }
        self.port.initiator.check_peer(to)?;
        outgoing.next += 1;
        let order = outgoing.next;
        let (slot, is_announced, is_detached, ended) = (None, false, false, None);
        let send = Send { to, key, data, bytes, slot, is_announced, is_detached, ended };
        let id = SendId { number: outgoing.sends.add(order, send), order };
        let queue = &mut outgoing.peer(to).queue;
        queue.push_back(id);
        if queue.len() == 1 {
            outgoing.crowd.push(to);
        }
        Ok(Some(id))
    }

    /// Sends a message with its bytes; false while there is no room.
    #[inline]
    fn try_unasked(&self, peer: &mut Peer, to: usize, key: u64, data: &[u8]) -> Result<bool> {
        let ni = self.port.ni();
        let is_sent = match &mut peer.lane {
            Lane::Open(lane) if data.len() <= SHORT_MAX => {
                if ni.departures() != 0 {
                    ni.check_departed(By::Rank(to))?;
                }
                lane.try_write(ni, key, data, peer.told)
            }
            Lane::Unknown | Lane::Made(_) if data.len() <= SHORT_MAX => {
                self.open_lane(peer, to)?;
                false
            }
            _ => false,
        };
        if !is_sent && !self.try_tell_message(peer, to, key, data)? {
            return Ok(false);
        }
        peer.budget = peer.budget.saturating_sub(cost(data.len()));
        Ok(true)
    }

    /// Sends a message by an active message; false while there is no room.
    fn try_tell_message(&self, peer: &mut Peer, to: usize, key: u64, data: &[u8]) -> Result<bool> {
        let after = peer.written();
        let is_sent = match data.len() <= INLINE_MAX {
            true => self.tell(to, key, wire::short(data, after))?,
            false => self.port.try_post(to, self.handler, key, wire::with_payload(data.len(), after), data)?,
        };
        peer.told += u64::from(is_sent);
        Ok(is_sent)
    }

    /// From now on short messages to a rank go to its lane, if it has one and there is room to tell it.
    #[cold]
    fn open_lane(&self, peer: &mut Peer, to: usize) -> Result<()> {
        let ni = self.port.ni();
        peer.lane = match std::mem::replace(&mut peer.lane, Lane::None) {
            Lane::Unknown if ni.is_near(to) => Writer::open(ni, self.lanes_start, to).map_or(Lane::None, Lane::Made),
            Lane::Unknown => Lane::None,
            other => other,
        };
        if let Lane::Made(_) = peer.lane
            && self.tell(to, 0, wire::lane())?
            && let Lane::Made(lane) = std::mem::replace(&mut peer.lane, Lane::None)
        {
            peer.lane = Lane::Open(lane);
        }
        Ok(())
    }

    /// Moves sends on.
    pub(super) fn move_outgoing(&self) {
        let Ok(mut outgoing) = self.outgoing.try_borrow_mut() else { return };
        let mut crowd = std::mem::take(&mut outgoing.crowd);
        crowd.retain(|rank| !self.announce_all(&mut outgoing, *rank));
        outgoing.crowd = crowd;
        let mut moving = std::mem::take(&mut outgoing.moving);
        moving.retain(|id| !self.has_moved(&mut outgoing, *id));
        outgoing.moving.append(&mut moving);
    }

    /// Announces the sends to a rank as far as there is room; whether that is all.
    fn announce_all(&self, outgoing: &mut Outgoing, rank: usize) -> bool {
        while let Some(id) = outgoing.peer(rank).queue.front().copied() {
            match self.announce(outgoing, rank, id) {
                Ok(false) => return false,
                Ok(true) => {}
                Err(error) => {
                    if let Some(slot) = outgoing.get(id).and_then(|send| send.slot) {
                        // The slot has its data, which are the program's again.
                        self.carrier.withdraw_send(rank, slot);
                        outgoing.moving.retain(|moving| *moving != id);
                    }
                    outgoing.end(id, Err(error));
                    self.note_ended();
                }
            }
            outgoing.peer(rank).queue.pop_front();
            if let Some(send) = outgoing.get(id) {
                send.is_announced = true;
            }
            outgoing.forget_detached(id);
        }
        true
    }

    /// Sends a message, or offers it; false while there is no room.
    fn announce(&self, outgoing: &mut Outgoing, rank: usize, id: SendId) -> Result<bool> {
        // One that has failed may be forgotten already.
        let Some(send) = outgoing.get(id).filter(|send| !matches!(send.ended, Some(Err(_)))) else { return Ok(true) };
        let (key, bytes, has_slot) = (send.key, send.bytes, send.slot.is_some());
        let Outgoing { sends, peers, .. } = outgoing;
        let peer = peers[rank].get_or_insert_default();
        let mut free = peer.free;
        if !has_slot && peer.takes_unasked(bytes) {
            let data = sends.get(id.number).map_or(&[][..], |send| send.data.as_slice());
            if !self.try_unasked(peer, rank, key, data)? {
                return Ok(false);
            }
            outgoing.end(id, Ok(()));
            self.note_ended();
            return Ok(true);
        }
        if free == 0 && planted(Bug::OfferSlotReused) {
            free = 1;
        }
        if !has_slot && free != 0 {
            match self.start_moving(outgoing, id, free.trailing_zeros() as usize) {
                // Without memory for it now: it is called later.
                Err(error) if !error.is_peer_fault() && !planted(Bug::OfferSlotReused) => {}
                started => started?,
            }
        }
        let slot = outgoing.sends.get(id.number).and_then(|send| send.slot);
        let peer = outgoing.peer(rank);
        let is_told = self.tell(rank, key, wire::offer(Offer { bytes, which: id.name(), slot }, peer.written()))?;
        peer.told += u64::from(is_told);
        Ok(is_told)
    }

    /// From now on a slot has the message.
    fn start_moving(&self, outgoing: &mut Outgoing, id: SendId, slot: usize) -> Result<()> {
        let Some(send) = outgoing.get(id) else { return Ok(()) };
        let (to, data) = (send.to, send.data.as_slice());
        // SAFETY: the data stay as they are until the send has ended or is withdrawn, and so does what the slot has of it.
        unsafe { self.carrier.start_send(data.as_ptr(), data.len(), to, slot)? };
        send.slot = Some(slot);
        if slot < OFFER_SLOTS {
            outgoing.peer(to).free &= !(1 << slot);
        }
        outgoing.moving.push(id);
        Ok(())
    }

    /// Whether a slot has nothing of a send any more.
    fn has_moved(&self, outgoing: &mut Outgoing, id: SendId) -> bool {
        let Some(&mut Send { to, slot: Some(slot), .. }) = outgoing.get(id) else { return true };
        let result = match self.carrier.test_send(to, slot) {
            Ok(false) => return false,
            // The receiver knows; to send was right.
            Ok(true) | Err(Error::Truncated { .. }) => Ok(()),
            Err(error) => Err(error),
        };
        outgoing.end(id, result);
        self.note_ended();
        true
    }

    /// A rank wants a message that was offered to it, in a slot that it has chosen; false while this rank does not know yet that the one
    /// before it was taken. What was never offered, or not to that rank, is nothing to it.
    pub(super) fn answer_call(&self, rank: usize, which: u64, slot: usize) -> bool {
        let mut outgoing = self.outgoing.borrow_mut();
        let Some(id) = outgoing.named(which) else { return true };
        let is_wanted =
            |send: &&mut Send| send.to == rank && send.slot.is_none() && send.is_announced && send.ended.is_none();
        if outgoing.get(id).filter(is_wanted).is_none() {
            return true;
        }
        let is_there = |send: &Send| send.to == rank && send.slot == Some(slot);
        if outgoing.moving.iter().any(|id| outgoing.sends.get(id.number).is_some_and(is_there)) {
            return false;
        }
        match self.start_moving(&mut outgoing, id, slot) {
            // Without memory for it now.
            Err(error) if !error.is_peer_fault() => return false,
            Err(error) => {
                outgoing.end(id, Err(error));
                self.note_ended();
            }
            Ok(()) => {}
        }
        true
    }

    /// How a send has ended, if it has. Then it is forgotten.
    pub fn ended_send(&self, id: SendId) -> Option<Result<()>> {
        let mut outgoing = self.outgoing.borrow_mut();
        outgoing.get(id)?.ended.as_ref()?;
        // An error may end it while it waits in its queue, which then finds nothing.
        outgoing.sends.remove(id.number)?.ended
    }

    /// Takes the data of a send back, which goes on from a copy.
    pub fn withdraw_send(&self, id: SendId) {
        // To a forked child it does not belong.
        if self.port.ni().is_forked() {
            return;
        }
        let mut outgoing = self.outgoing.borrow_mut();
        if outgoing.get(id).is_some_and(|send| send.slot.is_some()) {
            // It may have ended without anybody having looked.
            self.has_moved(&mut outgoing, id);
        }
        let Some(send) = outgoing.get(id).filter(|send| !send.is_detached) else { return };
        if send.ended.is_some() {
            outgoing.moving.retain(|moving| *moving != id);
            outgoing.sends.remove(id.number);
            return;
        }
        send.is_detached = true;
        match (send.slot, send.to) {
            (None, _) => send.data.own(),
            (Some(slot), to) => {
                // The slot goes on from a copy, behind which others would wait: it is never free again. It may still have to be announced.
                // What it has of the data, it reads until it was withdrawn, also where this send owns them.
                let data = std::mem::replace(&mut send.data, Data::Own(Box::default()));
                send.ended = Some(Ok(()));
                outgoing.moving.retain(|moving| *moving != id);
                drop(outgoing);
                self.carrier.withdraw_send(to, slot);
                drop(data);
                self.outgoing.borrow_mut().forget_detached(id);
            }
        }
    }
}

impl SendId {
    /// How the receiver of an offer calls it.
    fn name(self) -> u64 {
        (self.number as u64) << 32 | self.order & u32::MAX as u64
    }
}

impl Outgoing {
    /// The send of a name.
    fn named(&self, which: u64) -> Option<SendId> {
        let number = (which >> 32) as u32;
        self.sends.get(number)?;
        let id = SendId { number, order: self.sends.order(number) };
        (id.name() == which).then_some(id)
    }
}
