//! Receives under way of which the sender knows nothing: of short messages, which come whether they are awaited or not.
//!
//! Such a receive is no more than a buffer that its slot remembers, and a name in a list, so that waits for something else
//! find what has come meanwhile. One that has more to remember becomes an operation in the table of `pending`.

use crate::message::buffer::spot::Buffer;
use crate::message::near::pair::NearPair;
use crate::message::state::core::Core;
use crate::message::state::op::ReceiveOp;
use crate::message::state::pending::{Flight, Name, Pending, UnderWay, Waiting};
use crate::message::wire::layout::EAGER_MAX;

impl Core {
    /// A receive into `buffer` waits from now on in a slot of a near member that has none; `None` if it must be told to the
    /// sender.
    #[inline(always)]
    pub(super) fn await_short(&self, buffer: Buffer, member: usize, entry: usize) -> Option<Waiting> {
        if buffer.bytes > EAGER_MAX || !buffer.shape.is_whole() {
            return None;
        }
        self.watch();
        let place = self.pending.borrow_mut().add_name(Name { member: member as u32, entry: entry as u32 });
        Some(Waiting { start: buffer.start, bytes: buffer.bytes as u32, place })
    }

    /// The one of a slot.
    #[inline(always)]
    pub(super) fn waiting(&self, member: usize, entry: usize) -> Option<Waiting> {
        match self.state(member).borrow().slots[entry].receive.under_way {
            Some(UnderWay::Waiting(waiting)) => Some(waiting),
            _ => None,
        }
    }

    /// Ends the receive that waits in a slot, if its short message is there or comes soon, and fits; gives its bytes.
    #[inline(always)]
    pub(super) fn end_short(&self, member: usize, entry: usize) -> Option<usize> {
        let waiting = self.waiting(member, entry)?;
        // SAFETY: it is the receive's until it has ended.
        let bytes = unsafe { NearPair::recv_awaited(self, waiting.buffer(), member, entry)? };
        self.end_waiting(waiting, member, entry, &mut self.pending.borrow_mut());
        Some(bytes)
    }

    /// It does not wait any more.
    #[inline(always)]
    pub(super) fn end_waiting(&self, waiting: Waiting, member: usize, entry: usize, pending: &mut Pending) {
        let names = &mut pending.waiting;
        names.list.swap_remove(waiting.place as usize);
        self.state(member).borrow_mut().slots[entry].receive.under_way = None;
        if let Some((member, entry)) = names.list.get(waiting.place as usize).map(|name| name.slot())
            && let Some(UnderWay::Waiting(moved)) = &mut self.state(member).borrow_mut().slots[entry].receive.under_way
        {
            moved.place = waiting.place;
        }
    }

    /// Looks whether the message of a slot has come, if a receive waits for it: then it is an operation that has ended, or
    /// one that goes on.
    pub(super) fn advance_waiting(&self, member: usize, entry: usize, pending: &mut Pending) {
        let Some(waiting) = self.waiting(member, entry) else { return };
        let number = self.state(member).borrow().slots[entry].receive.taken + 1;
        let mut op = ReceiveOp::new(waiting.buffer(), member, entry, number);
        let flight = match self.poke_receive(&mut op).transpose() {
            Some(result) => Flight::ended(result),
            None if op.has_begun() => Flight::Receive(op),
            None => return,
        };
        self.end_waiting(waiting, member, entry, pending);
        let ticket = pending.add(flight);
        self.state(member).borrow_mut().slots[entry].receive.under_way = Some(UnderWay::Flight(ticket));
    }

    /// Looks whether the messages have come for which receives wait: `count` of them, or all.
    pub(super) fn advance_all_waiting(&self, count: usize, pending: &mut Pending) {
        let all = pending.waiting.list.len();
        if count >= all {
            pending.waiting.turn = 0;
        }
        for _ in 0..count.min(all) {
            // Downwards: what takes the place of one that has gone was looked at before.
            let names = &mut pending.waiting;
            let Some(last) = names.list.len().checked_sub(1) else { return };
            names.turn = names.turn.checked_sub(1).unwrap_or(last).min(last);
            let (member, entry) = names.list[names.turn].slot();
            self.advance_waiting(member, entry, pending);
        }
    }
}
