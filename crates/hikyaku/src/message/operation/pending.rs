//! Operations that go on while the program does something else (F5): one per slot and direction at most, so an operation
//! is named by its slot.
//!
//! Those that could not be finished at once are kept in a table (receives of short messages in their slots: `waiting`) and
//! moved on by every wait of the thread, whatever it waits for.

use crate::error::{Error, Result};
use crate::message::buffer::spot::Buffer;
use crate::message::messages::Messages;
use crate::message::near::pair::NearPair;
use crate::message::state::core::Core;
use crate::message::state::op::{ReceiveOp, SendOp};
use crate::message::state::pending::{Flight, Pending, UnderWay, Way};
use crate::message::state::spool::Spool;
use crate::message::wire::layout::EAGER_MAX;
use crate::ni::{Awaited, Background, By, Wait, refuse_in_handler};
use std::time::Duration;

/// What was given up and others may still read.
pub(crate) struct Halted {
    _pending: Pending,
    spool: Spool,
}

/// How many operations a short round moves on: enough for most programs, few enough not to delay the wait.
const SHORT_ROUND: usize = 8;

/// A long message must be waited for once the other side knows of it, so in a handler it is refused before.
#[inline(always)]
fn check_long(buffer: &Buffer) -> Result<()> {
    if buffer.bytes > EAGER_MAX { refuse_in_handler() } else { Ok(()) }
}

impl Background for Core {
    fn advance(&self, all: bool) {
        self.flush_owed();
        self.move_spooled();
        self.advance_pending(all);
    }

    fn rests(&self) -> bool {
        self.rest()
    }
}

impl Core {
    /// Moves an operation on.
    #[inline]
    fn advance_flight(&self, flight: &mut Flight) {
        let ended = match flight {
            Flight::Empty | Flight::Ended(_) => return,
            Flight::Send(op) => {
                let poked = self.poke_send(op).map(|done| done.then_some(0));
                poked.inspect_err(|_| self.withdraw_send(op)).transpose()
            }
            Flight::Receive(op) => {
                let poked = self.poke_receive(op);
                poked.inspect_err(|_| drop(self.withdraw_receive(op))).transpose()
            }
        };
        if let Some(result) = ended {
            *flight = Flight::ended(result);
        }
    }

    /// Moves operations on: some of them, or all.
    pub(super) fn advance_pending(&self, all: bool) {
        let Ok(mut pending) = self.pending.try_borrow_mut() else { return };
        if pending.is_idle() {
            return;
        }
        let most = if all { usize::MAX } else { SHORT_ROUND };
        // These first: some may get into the table.
        self.advance_all_waiting(most, &mut pending);
        let count = pending.flights.len();
        for _ in 0..count.min(most) {
            let index = pending.turn % count;
            self.advance_flight(&mut pending.flights[index]);
            pending.turn = index + 1;
        }
    }

    #[inline(always)]
    fn under_way(&self, member: usize, entry: usize, way: Way) -> Option<UnderWay> {
        let peer = self.state(member).borrow();
        match way {
            Way::Out => peer.slots[entry].send.under_way.map(UnderWay::Flight),
            Way::In => peer.slots[entry].receive.under_way,
        }
    }

    /// Nothing is under way any more.
    #[inline(always)]
    fn clear(&self, member: usize, entry: usize, way: Way) {
        let mut peer = self.state(member).borrow_mut();
        match way {
            Way::Out => peer.slots[entry].send.under_way = None,
            Way::In => peer.slots[entry].receive.under_way = None,
        }
    }

    /// Starts a send; true if it was finished at once, else it stays under way. Fails if there is one in its slot (F3).
    /// `prepared`: it is for the prepared send that the slot belongs to.
    ///
    /// # Safety
    /// The buffer stays as it is until the operation has ended.
    #[inline(always)]
    pub(super) unsafe fn start_out(&self, buffer: Buffer, member: usize, entry: usize, prepared: bool) -> Result<bool> {
        if buffer.bytes <= EAGER_MAX {
            // SAFETY: the caller's promise.
            let data = unsafe { buffer.as_slice() };
            if NearPair::send_at_once(self, data, member, entry, prepared) {
                return Ok(true);
            }
        }
        self.start_flight_out(buffer, member, entry, prepared)
    }

    /// Starts a send that ends when its message was taken; true if it was at once.
    ///
    /// # Safety
    /// The buffer stays as it is until the operation has ended.
    pub(super) unsafe fn start_taken(&self, buffer: Buffer, member: usize, entry: usize) -> Result<bool> {
        let mut op = SendOp::new(buffer, member, entry);
        op.synchronous = true;
        self.start_flight(op)
    }

    fn start_flight_out(&self, buffer: Buffer, member: usize, entry: usize, prepared: bool) -> Result<bool> {
        let mut op = SendOp::new(buffer, member, entry);
        op.prepared = prepared;
        self.start_flight(op)
    }

    fn start_flight(&self, mut op: SendOp) -> Result<bool> {
        let (member, entry) = (op.member, op.entry);
        let peer = self.state(member).borrow();
        if !peer.slots[entry].send.is_open(op.prepared) {
            return Err(self.slot_busy(member, entry));
        }
        drop(peer);
        check_long(&op.buffer)?;
        self.enter(member);
        let flight = match self.poke_send(op.offerable()) {
            Ok(true) => return Ok(true),
            Ok(false) => Flight::Send(op),
            // The receiver has refused it already, which is told when it is asked for, as if that had come later.
            Err(error) if op.has_begun() => {
                self.withdraw_send(&mut op);
                Flight::ended(Err(error))
            }
            Err(error) => return Err(error),
        };
        self.watch();
        let ticket = self.pending.borrow_mut().add(flight);
        self.state(member).borrow_mut().slots[entry].send.under_way = Some(ticket);
        Ok(false)
    }

    /// Starts a receive, which stays under way until it is asked for; fails if there is one in its slot (F3). `prepared`: it
    /// is for the prepared receive that the slot belongs to.
    ///
    /// # Safety
    /// The buffer stays, and nobody else uses it, until the operation has ended.
    #[inline(always)]
    pub(super) unsafe fn start_in(&self, buffer: Buffer, member: usize, entry: usize, prepared: bool) -> Result<()> {
        let link = self.link(member);
        let mut peer = link.state().borrow_mut();
        let receive = &mut peer.slots[entry].receive;
        if !receive.is_open(prepared) {
            return Err(self.slot_busy(member, entry));
        }
        if !link.is_far()
            && let Some(waiting) = self.await_short(buffer, member, entry)
        {
            receive.under_way = Some(UnderWay::Waiting(waiting));
            return Ok(());
        }
        let op = ReceiveOp::new(buffer, member, entry, receive.taken + 1);
        drop(peer);
        self.start_flight_in(op)
    }

    fn start_flight_in(&self, mut op: ReceiveOp) -> Result<()> {
        check_long(&op.buffer)?;
        self.enter(op.member);
        self.post(&mut op);
        self.watch();
        let mut peer = self.state(op.member).borrow_mut();
        let receive = &mut peer.slots[op.entry].receive;
        receive.under_way = Some(UnderWay::Flight(self.pending.borrow_mut().add(Flight::Receive(op))));
        Ok(())
    }

    /// What became of the operation of a slot: bytes that came, if it has ended. Nothing under way: 0.
    #[inline]
    pub(super) fn test(&self, member: usize, entry: usize, way: Way) -> Result<Option<usize>> {
        let mut pending = self.pending.borrow_mut();
        if way == Way::In {
            self.advance_waiting(member, entry, &mut pending);
        }
        let ticket = match self.under_way(member, entry, way) {
            Some(UnderWay::Flight(ticket)) => ticket,
            Some(UnderWay::Waiting(_)) => return Ok(None),
            None => return Ok(Some(0)),
        };
        self.advance_flight(&mut pending.flights[ticket.index()]);
        let Some(result) = pending.take(ticket) else { return Ok(None) };
        drop(pending);
        self.clear(member, entry, way);
        result.map(Some)
    }

    /// Takes back the buffer of the operation of a slot: afterwards nobody else uses it. A send goes on from a copy. How a receive has
    /// ended whose message had come, or was on its way and will not come again.
    pub(super) fn withdraw(&self, member: usize, entry: usize, way: Way) -> Option<Result<usize>> {
        // A forked child has no part in what its parent has started.
        if self.ni.is_forked() {
            return None;
        }
        let mut pending = self.pending.borrow_mut();
        let ticket = match self.under_way(member, entry, way)? {
            UnderWay::Flight(ticket) => ticket,
            UnderWay::Waiting(waiting) => {
                self.end_waiting(waiting, member, entry, &mut pending);
                return None;
            }
        };
        let taken = || self.state(member).borrow().slots[entry].receive.taken;
        let before = taken();
        let ended = match std::mem::replace(&mut pending.flights[ticket.index()], Flight::Empty) {
            Flight::Receive(mut op) => self.withdraw_receive(&mut op).or_else(|| {
                let (from, to, slot) = (self.rank_of(member), self.ni.rank, entry % self.slots);
                (taken() > before).then_some(Err(Error::BadBuffer { from, to, slot }))
            }),
            Flight::Send(mut op) => {
                self.withdraw_promised(&mut op);
                None
            }
            Flight::Ended(result) => Some(result.map_err(|error| *error)),
            Flight::Empty => None,
        };
        pending.empty.push(ticket.index());
        drop(pending);
        self.clear(member, entry, way);
        ended
    }
}

impl Messages<'_> {
    /// Withdraws all receives under way: nobody will ask for them any more.
    pub(crate) fn withdraw_receives(&self) {
        let pending = self.core.pending.borrow();
        let slots = pending.flights.iter().filter_map(|flight| match flight {
            Flight::Receive(op) => Some((op.member, op.entry)),
            _ => None,
        });
        let slots: Vec<(usize, usize)> = slots.chain(pending.waiting.slots()).collect();
        drop(pending);
        slots.into_iter().for_each(|(member, entry)| drop(self.core.withdraw(member, entry, Way::In)));
    }

    /// Gives up all that is under way, and what goes on by itself: from now on this rank touches nothing for it, and it cannot
    /// be asked for. What others may still read must stay until they have done the same, so it is with what this gives.
    pub(crate) fn stop(&self) -> Halted {
        self.withdraw_receives();
        Halted { _pending: self.core.pending.take(), spool: self.core.take_spool() }
    }

    /// All members have stopped: nobody reads it any more.
    pub(crate) fn give_stopped(&self, halted: Halted) {
        self.core.discard(halted.spool);
    }

    /// Moves all sends under way on; gives how many have not ended. Those to members that receive nothing any more are given
    /// up: they have no receive under way either.
    pub(crate) fn sends_under_way(&self, is_deaf: impl Fn(usize) -> bool) -> usize {
        self.core.advance_pending(true);
        let mut left = 0;
        for flight in &mut self.core.pending.borrow_mut().flights {
            let Flight::Send(op) = flight else { continue };
            match is_deaf(op.member) || self.core.has_departed(self.core.rank_of(op.member)) {
                true => *flight = Flight::Ended(Ok(0)),
                false => left += 1,
            }
        }
        left
    }

    /// Waits for the operation of a slot; gives the bytes that came. On an error nobody uses its buffer any more, except in a
    /// handler, where it is refused and changes nothing.
    #[track_caller]
    pub(super) fn wait_flight(&self, member: usize, entry: usize, way: Way) -> Result<usize> {
        // Without a timeout there is an end.
        Ok(self.wait_flight_for(member, entry, way, None)?.unwrap_or(0))
    }

    /// Likewise for at most so long; `None` when that has passed, and then it is under way as before.
    #[track_caller]
    pub(super) fn wait_flight_for(
        &self,
        member: usize,
        entry: usize,
        way: Way,
        patience: Option<Duration>,
    ) -> Result<Option<usize>> {
        self.core.check(member, 0)?;
        if way == Way::In
            && let Some(bytes) = self.core.end_short(member, entry)
        {
            return Ok(Some(bytes));
        }
        if let ended @ Some(_) = self.core.test(member, entry, way)? {
            return Ok(ended);
        }
        // A handler cannot wait; whoever started it can.
        refuse_in_handler()?;
        self.port.enter(if way == Way::In { &"wait_receive" } else { &"wait_send" });
        let awaited = Awaited::AnyMessage(Some(entry % self.core.slots));
        let wait = Wait::on_rank(self.core.rank_of(member)).at_most(patience).of(awaited);
        let waited = self.port.wait_until(wait, || {
            self.core.move_spooled();
            self.core.test(member, entry, way).transpose()
        });
        match waited {
            Ok(ended) => ended.map(Some),
            Err(Error::Timeout { .. }) => Ok(None),
            Err(error) => {
                self.core.withdraw(member, entry, way);
                Err(error)
            }
        }
    }

    /// One look at an operation; a peer that has ended ends it.
    pub(super) fn test_flight(&self, member: usize, entry: usize, way: Way) -> Result<Option<usize>> {
        self.core.check(member, 0)?;
        if let ended @ Some(_) = self.core.test(member, entry, way)? {
            return Ok(ended);
        }
        self.port.progress();
        self.core.move_spooled();
        match self.port.ni().check_departed(By::Rank(self.core.rank_of(member))) {
            Ok(()) => Ok(None),
            // What was done before the end counts.
            Err(error) => match self.core.test(member, entry, way)? {
                ended @ Some(_) => Ok(ended),
                None => {
                    self.core.withdraw(member, entry, way);
                    Err(error)
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Buffer;
    use crate::message::EAGER_MAX;
    use crate::message::operation::raw::RawMessages;

    /// Neither what is received from here nor what is sent to here is touched by the waits that follow.
    #[test]
    fn what_was_stopped_does_not_go_on() {
        for bytes in [8, 1000, EAGER_MAX, 100_000] {
            crate::local(2, |job| {
                let (peer, mut room) = (1 - job.rank(), vec![0u8; bytes]);
                let into = Buffer::of_mut(&mut room);
                let data = vec![1u8; 100_000];
                let messages = job.messages(2).unwrap();
                // SAFETY: the buffers outlive the messages, and are looked at only when nobody writes any more.
                unsafe {
                    messages.irecv(into.start, bytes, peer, 0).unwrap();
                    messages.isend(data.as_ptr(), data.len(), peer, 1).unwrap();
                }
                let kept = messages.stop();
                assert!(messages.is_idle());
                job.barrier().unwrap();
                // Short ones go at once; long ones are offered to nobody.
                // SAFETY: as above.
                unsafe { messages.isend(data.as_ptr(), bytes, peer, 0).unwrap() };
                job.barrier().unwrap();
                drop((kept, messages.stop()));
                job.barrier().unwrap();
                assert!(room.iter().all(|byte| *byte == 0), "{bytes} bytes");
            })
            .unwrap();
        }
    }
}
