//! What the interface itself sends: messages of handlers, answers, refusals.

use crate::error::{Error, Refusal, Result};
use crate::ni::base::Base;
use crate::ni::state::awaited::By;
use crate::ni::state::lane::Lane;
use crate::ni::state::relay::Relay;
use crate::ni::wire::message::Arguments;
use crate::ni::wire::operation::{Data, Operation};
use crate::ni::wire::token;
use crate::planted::{Bug, planted};
use crate::transport::packet::kind;
use crate::transport::shm::ring::Packet;
use std::collections::{BTreeMap, VecDeque};

/// A packet that found no room, with its payload.
type Spilled = (Packet, Box<[u8]>);

/// What handlers send. A handler cannot wait for room, so what does not fit its ring is kept here for a while.
pub(crate) struct Outbox {
    /// `None`: only far ranks are sent to.
    lane: Option<Lane>,
    /// Per rank that has any, in order.
    spill: BTreeMap<usize, VecDeque<Spilled>>,
    spilled: usize,
    /// Calls, by who made them, whose handlers panicked before they answered. Mostly that is the end of this rank, and then
    /// that is what its callers are told; if the rank goes on, they are refused.
    owed: Vec<(usize, Packet)>,
    /// Room for what is packed to be answered, used again and again.
    scratch: Vec<u8>,
    unasked: Unasked,
}

/// Who made an operation, and through which port.
type Maker = (usize, u8);

/// Operations that are answered when somebody asks: by who made them, the token of the last.
#[derive(Default)]
struct Unasked {
    /// The latest of all, which is not in the table yet: mostly the next one is by the same.
    latest: Option<(Maker, u64)>,
    table: BTreeMap<Maker, u64>,
}

impl Unasked {
    #[inline]
    fn note(&mut self, maker: Maker, token: u64) {
        match &mut self.latest {
            Some((of, latest)) if *of == maker => *latest = token,
            latest => self.table.extend(latest.replace((maker, token))),
        }
    }

    fn remove(&mut self, maker: Maker) {
        self.latest.take_if(|(of, _)| *of == maker);
        self.table.remove(&maker);
    }

    fn take(&mut self) -> BTreeMap<Maker, u64> {
        self.table.extend(self.latest.take());
        std::mem::take(&mut self.table)
    }
}

/// The third argument of a refusal that came from the rank to which something was to be sent on.
pub(super) const BY_TARGET: u64 = 1;
/// Messages of handlers kept per rank.
pub(super) const SPILL_MAX: usize = 4096;
/// Answers kept per rank beyond that, so that handlers that send much cannot keep calls from being answered.
const ANSWER_MAX: usize = 1024;
/// Operations kept per rank that were to be sent on for others, who are many and may ask for much.
const ONWARD_MAX: usize = 16;

impl Outbox {
    pub fn new(lane: Option<Lane>) -> Outbox {
        Outbox {
            lane,
            spill: BTreeMap::new(),
            spilled: 0,
            owed: Vec::new(),
            scratch: Vec::new(),
            unasked: Unasked::default(),
        }
    }

    /// Whether it is that of whoever serves far ranks.
    pub fn is_for_far(&self) -> bool {
        self.lane.is_none()
    }

    /// Room to pack an answer in, which nothing else here touches.
    pub fn scratch(&mut self) -> &mut Vec<u8> {
        &mut self.scratch
    }

    fn try_send(&mut self, ni: &Base, rank: usize, packet: &Packet, payload: &[u8]) -> bool {
        let sent = match &mut self.lane {
            Some(lane) => lane.try_send(ni, rank, packet, payload),
            None => ni.post(rank, packet, payload),
        };
        matches!(sent, Ok(true))
    }

    /// Sends bytes that others may be writing, or keeps a copy of them for later.
    pub fn send_data(&mut self, ni: &Base, rank: usize, packet: Packet, data: Data<'_>, limit: usize) -> Result<()> {
        // What the interface itself answers concerns nothing that this rank has put.
        let is_held = self.lane.is_some() && ni.holds_back(rank);
        if !ni.is_near(rank) && self.waiting(rank) == 0 && !is_held {
            let sent = ni.post_data(rank, &packet, data);
            if matches!(sent, Ok(true)) {
                return Ok(());
            }
        }
        self.send(ni, rank, packet, &data.to_private(), limit)
    }

    /// Sends, or keeps for later unless `limit` messages to that rank are kept already.
    pub fn send(&mut self, ni: &Base, rank: usize, packet: Packet, payload: &[u8], limit: usize) -> Result<()> {
        let waiting = self.waiting(rank);
        // A ring for which there is no memory now is tried again later, like one that is full.
        if waiting == 0 && self.try_send(ni, rank, &packet, payload) {
            return Ok(());
        }
        if waiting >= limit {
            return Err(Error::Busy { rank });
        }
        self.spill.entry(rank).or_default().push_back((packet, payload.into()));
        self.spilled += 1;
        self.note(ni);
        Ok(())
    }

    /// Sends an operation to a far rank, or keeps a copy of it for later.
    ///
    /// # Errors
    /// When the rank cannot be reached any more.
    pub fn send_on(&mut self, ni: &Base, operation: &Operation<'_>, token: u64) -> Result<()> {
        let rank = operation.at.rank;
        if self.waiting(rank) == 0 && ni.post_operation(operation, token)? {
            return Ok(());
        }
        let (packet, payload) = operation.to_private(token);
        self.spill.entry(rank).or_default().push_back((packet, payload));
        self.spilled += 1;
        Ok(())
    }

    /// Ends the pins that ports have left, which are as many as there is memory for.
    #[cold]
    pub fn release_left(&mut self, ni: &Base) {
        for operation in ni.take_left_pins() {
            let (packet, payload) = operation.to_private(token::QUIET);
            let _ = self.send(ni, operation.at.rank, packet, &payload, usize::MAX);
        }
    }

    /// Whether so much waits to be sent to a rank that nothing should be sent on for others.
    pub fn is_crowded(&self, rank: usize) -> bool {
        self.waiting(rank) >= ONWARD_MAX
    }

    /// Whether so much waits to be sent at all that nothing should be added for others.
    pub fn is_full(&self) -> bool {
        self.spilled >= SPILL_MAX
    }

    /// An operation is done of which nobody has asked yet.
    pub fn note_unasked(&mut self, rank: usize, token: u64) {
        self.unasked.note((rank, token as u8), token);
    }

    /// Somebody has asked, and is answered.
    pub fn note_asked(&mut self, rank: usize, token: u64) {
        self.unasked.remove((rank, token as u8));
    }

    /// Tells everybody what is done, before this rank leaves: nobody can ask then.
    pub fn answer_unasked(&mut self, ni: &Base) {
        for ((rank, _), token) in self.unasked.take() {
            // Whoever has ended needs no answer.
            let _ = answer(ni, self, rank, token::as_answered(token), [0; 6], Data::EMPTY);
        }
    }

    /// A call is not answered now; if this rank goes on, it is refused.
    #[cold]
    pub fn owe(&mut self, ni: &Base, rank: usize, call: &Packet) {
        if self.owed.len() < ANSWER_MAX {
            self.owed.push((rank, *call));
            self.note(ni);
        }
    }

    /// Refuses the calls that nobody answers any more. Not while this rank ends.
    #[cold]
    fn refuse_owed(&mut self, ni: &Base) {
        if !std::thread::panicking() && !ni.failure.is_lasting() {
            for (rank, call) in std::mem::take(&mut self.owed) {
                refuse(ni, self, rank, &call, Refusal::HandlerPanicked);
            }
        }
    }

    /// Whether there is anything to send.
    #[inline(always)]
    pub fn is_waiting(&self) -> bool {
        self.spilled > 0 || !self.owed.is_empty()
    }

    /// What the interface answers far ranks is sent by whoever receives from them, who looks for itself.
    fn note(&self, ni: &Base) {
        if self.lane.is_some() {
            ni.lookout.note_spilled(self.spilled + self.owed.len());
        }
    }

    /// Whether an answer to `rank` can be sent or kept for sure.
    pub fn takes_answer(&self, rank: usize) -> bool {
        self.waiting(rank) < SPILL_MAX + ANSWER_MAX
    }

    fn waiting(&self, rank: usize) -> usize {
        self.spill.get(&rank).map_or(0, VecDeque::len)
    }

    /// Sends what was kept, as far as it fits now; true if anything moved.
    pub fn flush(&mut self, ni: &Base) -> bool {
        if !self.owed.is_empty() {
            self.refuse_owed(ni);
        }
        let before = self.spilled;
        let mut spill = std::mem::take(&mut self.spill);
        for (rank, queue) in &mut spill {
            while let Some((packet, payload)) = queue.front() {
                let gone = ni.find_departed(By::Rank(*rank)).is_err();
                if !gone && !self.try_send(ni, *rank, packet, payload) {
                    break;
                }
                queue.pop_front();
                self.spilled -= 1;
            }
        }
        spill.retain(|_, queue| !queue.is_empty());
        self.spill = spill;
        self.note(ni);
        self.spilled < before
    }
}

/// Passes on to whoever has asked that something is there which was sent on for it. This is never too much: as many are kept as are under
/// way, and what they are is limited.
pub(super) fn pass_on(ni: &Base, outbox: &mut Outbox, relay: Relay) {
    let packet = Packet { kind: kind::ANSWER, address: relay.token, ..Packet::default() };
    let _ = outbox.send(ni, relay.initiator, packet, &[], usize::MAX);
}

/// The same if it was refused, by whom it was sent to.
pub(super) fn pass_refusal_on(ni: &Base, outbox: &mut Outbox, relay: Relay, reason: u64) {
    if planted(Bug::RelayRefusalKept) {
        return pass_on(ni, outbox, relay);
    }
    let arguments = [reason, kind::ROUTED as u64, BY_TARGET, 0, 0, 0];
    let packet = Packet { kind: kind::REFUSED, address: relay.token, arguments, ..Packet::default() };
    let _ = outbox.send(ni, relay.initiator, packet, &[], usize::MAX);
}

/// Answers a call or a routed operation.
pub(crate) fn answer(
    ni: &Base,
    outbox: &mut Outbox,
    rank: usize,
    token: u64,
    arguments: Arguments,
    data: Data<'_>,
) -> Result<()> {
    let packet = Packet { handler: 0, kind: kind::ANSWER, payload_bytes: data.len() as u16, address: token, arguments };
    outbox.send_data(ni, rank, packet, data, SPILL_MAX + ANSWER_MAX)
}

/// Answers a call by bytes that nobody else writes: they need no copy.
pub(crate) fn answer_bytes(
    ni: &Base,
    outbox: &mut Outbox,
    rank: usize,
    token: u64,
    arguments: Arguments,
    payload: &[u8],
) -> Result<()> {
    let payload_bytes = payload.len() as u16;
    let packet = Packet { handler: 0, kind: kind::ANSWER, payload_bytes, address: token, arguments };
    outbox.send(ni, rank, packet, payload, SPILL_MAX + ANSWER_MAX)
}

/// Tells a sender that its message was refused.
pub(crate) fn refuse(ni: &Base, outbox: &mut Outbox, rank: usize, packet: &Packet, reason: Refusal) {
    let arguments = [reason as u64, packet.kind as u64, 0, 0, 0, 0];
    let refusal =
        Packet { handler: packet.handler, kind: kind::REFUSED, payload_bytes: 0, address: packet.address, arguments };
    // Who waits for an answer gets one. A sender too far behind to hear of its mistakes will hear of the next one.
    let limit = if packet.kind == kind::USER { SPILL_MAX } else { SPILL_MAX + ANSWER_MAX };
    let _ = outbox.send(ni, rank, refusal, &[], limit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_operation_of_each_maker_is_known_until_somebody_asks() {
        let mut unasked = Unasked::default();
        for (maker, token) in [((1, 0), 10), ((1, 0), 11), ((2, 0), 20), ((1, 1), 12), ((2, 0), 21), ((1, 0), 13)] {
            unasked.note(maker, token);
        }
        unasked.remove((2, 0));
        unasked.note((3, 0), 30);
        unasked.remove((3, 0));
        unasked.note((1, 0), 14);
        assert_eq!(unasked.take().into_iter().collect::<Vec<_>>(), [((1, 0), 14), ((1, 1), 12)]);
        assert!(unasked.take().is_empty());
    }
}
