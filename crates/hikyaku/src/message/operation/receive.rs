//! Receiving: from a slot of a rank, from any slot of a rank, from any rank.

use crate::error::{Error, Result};
use crate::message::buffer::spot::Buffer;
use crate::message::messages::Messages;
use crate::message::near::pair::NearPair;
use crate::message::pair::Pair;
use crate::message::state::core::Core;
use crate::message::state::link::Link;
use crate::message::state::op::ReceiveOp;
use crate::message::state::peer::Owner;
use crate::message::wire::search::find_member;
use crate::ni::{Awaited, By, Wait};
use crate::transport::shm::layout::State;
use bytemuck::Pod;
use std::time::Duration;

/// What a receive of any slot or any rank got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The sender.
    pub rank: usize,
    /// The slot.
    pub slot: usize,
    /// Elements.
    pub len: usize,
}

impl Messages<'_> {
    /// Receives the message of `rank` in slot `slot`. Returns the number of elements that arrived, which may be fewer than `into` holds;
    /// it is 0 if elements have no size.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let messages = job.messages(2)?;
    /// if job.rank() == 0 {
    ///     messages.send(&[1.0; 3], 1, 0)?;
    ///     messages.send(&[2.0; 3], 1, 1)?;
    /// } else {
    ///     let mut numbers = [0.0; 3];
    ///     messages.recv(&mut numbers, 0, 1)?; // slot 1 first: slots do not wait for each other
    ///     assert_eq!(numbers, [2.0; 3]);
    ///     messages.recv(&mut numbers, 0, 0)?;
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[inline]
    #[track_caller]
    pub fn recv<T: Pod>(&self, into: &mut [T], rank: usize, slot: usize) -> Result<usize> {
        let into = Buffer::of_mut(bytemuck::cast_slice_mut(into));
        let short = match slot < self.core.slots {
            // SAFETY: borrowed for the time of this call.
            true => unsafe { NearPair::recv_short(&self.core, into, rank, slot) },
            false => None,
        };
        let bytes = match short {
            Some(bytes) => bytes,
            None => {
                self.port.enter(&"recv");
                self.recv_entry(into, rank, slot, slot)?
            }
        };
        self.whole(bytes, size_of::<T>(), rank, slot)
    }

    /// [`Messages::recv`] that waits for at most `timeout`. When that has passed, the receive is withdrawn: the buffer may have been
    /// written to in part, but the message, if there is one, stays for the next receive of its slot.
    ///
    /// ```
    /// use hikyaku::Error;
    /// use std::time::Duration;
    ///
    /// hikyaku::local(2, |job| {
    ///     let messages = job.messages(1)?;
    ///     if job.rank() == 0 {
    ///         job.barrier()?;
    ///         messages.send(&[5u8; 3], 1, 0)
    ///     } else {
    ///         let mut data = [0u8; 3];
    ///         let late = messages.recv_for(&mut data, 0, 0, Duration::from_millis(1));
    ///         assert!(matches!(late, Err(Error::Timeout { .. })));
    ///         job.barrier()?;
    ///         assert_eq!(messages.recv_for(&mut data, 0, 0, Duration::from_secs(60))?, 3);
    ///         Ok(())
    ///     }
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Errors
    /// [`Error::Timeout`] when the time has passed; otherwise those of [`Messages::recv`].
    #[track_caller]
    pub fn recv_for<T: Pod>(&self, into: &mut [T], rank: usize, slot: usize, timeout: Duration) -> Result<usize> {
        self.port.enter(&"recv_for");
        let into = Buffer::of_mut(bytemuck::cast_slice_mut(into));
        let bytes = self.recv_entry_for(into, rank, slot, slot, Some(timeout))?;
        self.whole(bytes, size_of::<T>(), rank, slot)
    }

    /// How many elements of a receive so many bytes are.
    ///
    /// # Errors
    /// If they are no whole number.
    #[inline]
    pub(in crate::message) fn whole(&self, bytes: usize, element: usize, member: usize, slot: usize) -> Result<usize> {
        let element = element.max(1);
        match bytes % element {
            0 => Ok(bytes / element),
            _ => Err(self.part_element(bytes, element, member, slot)),
        }
    }

    #[cold]
    fn part_element(&self, bytes: usize, element: usize, member: usize, slot: usize) -> Error {
        Error::PartElement { from: self.core.rank_of(member), slot: slot % self.core.slots.max(1), bytes, element }
    }

    /// Receives the next message of `rank`, whatever its slot, as `MPI_ANY_TAG` does.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let messages = job.messages(8)?;
    /// if job.rank() == 0 {
    ///     messages.send(&[7u8], 1, 5)?;
    /// } else {
    ///     let received = messages.recv_any_slot(&mut [0u8], 0)?;
    ///     assert_eq!(received.slot, 5);
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[track_caller]
    pub fn recv_any_slot<T: Pod>(&self, into: &mut [T], rank: usize) -> Result<Received> {
        self.core.check(rank, 0)?;
        self.port.enter(&"recv_any_slot");
        let wait = Wait::on_rank(self.core.rank_of(rank)).of(Awaited::AnyMessage(None));
        let slot = self.port.wait_until(wait, || {
            self.core.move_spooled();
            self.core.find_slot(rank)
        })?;
        let len = self.recv(into, rank, slot)?;
        Ok(Received { rank, slot, len })
    }

    /// Receives a message that was sent by [`Messages::send_any`] in slot `slot`, whoever sent it.
    ///
    /// If a rank is lost, one call fails with [`Error::PeerDead`] or [`Error::Unreachable`]. Later calls wait for messages of the others
    /// as before, until nobody is left who could send.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let messages = job.messages(1)?;
    /// if job.rank() == 1 {
    ///     messages.send_any(b"hello", 0, 0)?;
    /// } else {
    ///     let mut text = [0; 5];
    ///     let received = messages.recv_any(&mut text, 0)?;
    ///     assert_eq!((received.rank, &text), (1, b"hello"));
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[track_caller]
    pub fn recv_any<T: Pod>(&self, into: &mut [T], slot: usize) -> Result<Received> {
        self.core.check(self.core.me, slot)?;
        let entry = self.core.slots + slot;
        // Whose end matters is decided here: ranks that are no members do not.
        let wait = Wait::on_rank(self.port.rank()).of(Awaited::AnyMessage(Some(slot)));
        self.port.enter(&"recv_any");
        let member = self.port.wait_until(wait, || {
            self.core.move_spooled();
            let found = || self.core.find_member(entry);
            // What was sent before the end counts.
            found().map(Ok).or_else(|| self.core.check_senders().err().map(|error| found().ok_or(error)))
        })??;
        let received = self.recv_entry(Buffer::of_mut(bytemuck::cast_slice_mut(into)), member, slot, entry);
        if received.as_ref().is_err_and(Error::is_end_of_peer) {
            self.core.skip_last(member, entry);
        }
        Ok(Received { rank: member, slot, len: self.whole(received?, size_of::<T>(), member, slot)? })
    }

    pub(in crate::message) fn recv_entry(
        &self,
        buffer: Buffer,
        rank: usize,
        slot: usize,
        entry: usize,
    ) -> Result<usize> {
        self.recv_entry_for(buffer, rank, slot, entry, None)
    }

    fn recv_entry_for(
        &self,
        buffer: Buffer,
        rank: usize,
        slot: usize,
        entry: usize,
        patience: Option<Duration>,
    ) -> Result<usize> {
        self.core.check(rank, slot)?;
        self.core.enter(rank);
        // SAFETY: the operation ends, or is withdrawn, before this call returns.
        let mut op = unsafe { self.core.begin_receive(buffer, rank, entry)? };
        if let Some(bytes) = self.core.poke_receive(&mut op)? {
            return Ok(bytes);
        }
        self.await_receive_for(&mut op, patience)
    }

    /// Waits until a receive is done.
    fn await_receive_for(&self, op: &mut ReceiveOp, patience: Option<Duration>) -> Result<usize> {
        self.core.post(op);
        let awaited = self.core.awaited(op.entry, op.buffer.bytes);
        let wait = Wait::on_rank(self.core.rank_of(op.member)).at_most(patience).of(awaited);
        let wait = wait.watch(self.core.watch_of(op.member));
        // Also if a handler panics in the wait: the buffer is the program's then.
        let mut receive = WithdrawnReceive::new(&self.core, op);
        let waited = self.port.wait_until(wait, || {
            self.core.move_spooled();
            self.core.poke_receive(receive.op).transpose()
        });
        let received = match waited {
            // All of it may have been on its way: then it has come, just in time.
            Err(late @ Error::Timeout { .. }) => {
                receive.is_done = true;
                return self.core.withdraw_receive(receive.op).unwrap_or(Err(late));
            }
            waited => waited??,
        };
        receive.is_done = true;
        Ok(received)
    }
}

/// A receive that has its slot to itself, and is withdrawn when this is dropped before it is done.
struct WithdrawnReceive<'a> {
    core: &'a Core,
    op: &'a mut ReceiveOp,
    is_done: bool,
}

impl<'a> WithdrawnReceive<'a> {
    fn new(core: &'a Core, op: &'a mut ReceiveOp) -> WithdrawnReceive<'a> {
        core.state(op.member).borrow_mut().slots[op.entry].receive.owner = Owner::Waiting;
        WithdrawnReceive { core, op, is_done: false }
    }
}

impl Drop for WithdrawnReceive<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            let _ = self.core.withdraw_receive(self.op);
        }
        self.core.state(self.op.member).borrow_mut().slots[self.op.entry].receive.owner = Owner::Nobody;
    }
}

impl Core {
    /// A message, in the words of the program.
    pub(super) fn awaited(&self, entry: usize, bytes: usize) -> Awaited {
        Awaited::Message { slot: entry % self.slots, bytes }
    }

    /// Fails once for every member that died, was lost, or left because it had lost another, and always if nobody is left who could send.
    fn check_senders(&self) -> Result<()> {
        if !self.has_departures() {
            return Ok(());
        }
        let (mut ended, mut present) = (None, false);
        for member in (0..self.size).filter(|member| *member != self.me) {
            let rank = self.rank_of(member);
            match self.ni.find_departed(By::Rank(rank)) {
                Ok(()) => present = true,
                Err(error) if self.ni.state_of(rank) != State::Left && self.mourned.borrow_mut().insert(member) => {
                    return Err(self.ni.failing(error));
                }
                Err(error) => ended = Some(error),
            }
        }
        match ended {
            Some(error) if !present => Err(self.ni.failing(error)),
            _ => Ok(()),
        }
    }

    /// A member has ended in the middle of its message, which is not looked at again.
    #[cold]
    fn skip_last(&self, member: usize, entry: usize) {
        self.mourned.borrow_mut().insert(member);
        if self.has_message(member, entry) {
            self.state(member).borrow_mut().slots[entry].receive.taken += 1;
        }
    }

    /// How many bytes the message has that waits in a slot, as its sender says; `None` if none does.
    pub(super) fn waiting_bytes(&self, member: usize, entry: usize) -> Result<Option<usize>> {
        match self.has_message(member, entry) {
            true => Pair::of(self, member).waiting_bytes(entry),
            false => Ok(None),
        }
    }

    /// Whether a message waits in a slot.
    fn has_message(&self, member: usize, entry: usize) -> bool {
        match Pair::met(self, member) {
            Some(pair) => pair.has_message(entry),
            None => self.has_first_message(member, entry),
        }
    }

    /// Whether a message waits in a slot of a member that was never talked with: it is the first one, which comes by the head.
    #[cold]
    fn has_first_message(&self, member: usize, entry: usize) -> bool {
        let mine = self.own_side(member);
        match self.ni.is_near(self.rank_of(member)) {
            true => member != self.me && mine.head(entry).look(1).is_some(),
            false => mine.far(entry).notice(1).is_some(),
        }
    }

    /// The lowest slot of `member` in which a message waits that no receive under way is for.
    pub(super) fn find_slot(&self, member: usize) -> Option<usize> {
        let is_open = |link: &Link, slot: usize| link.state().borrow().slots[slot].receive.is_open(false);
        let is_open = |slot: usize| self.links.met(member).is_none_or(|link| is_open(link, slot));
        let high = self.own_side(member).high();
        high.find_slot(self.slots, |slot| self.has_message(member, *slot) && is_open(*slot))
    }

    /// A member whose message waits in `entry`, beginning after the one found last.
    fn find_member(&self, entry: usize) -> Option<usize> {
        let (size, first) = (self.size, self.turn.get());
        let found = find_member(first, size, |member| self.has_message(*member, entry))?;
        self.turn.set((found + 1) % size);
        Some(found)
    }

    /// Tells the sender of a long message where it is wanted.
    #[inline(always)]
    pub(super) fn post(&self, op: &mut ReceiveOp) {
        Pair::of(self, op.member).post(op);
    }

    /// Takes a receive as far as it goes now; gives the bytes when it is done.
    #[inline]
    pub(super) fn poke_receive(&self, op: &mut ReceiveOp) -> Result<Option<usize>> {
        Pair::of(self, op.member).poke_receive(op)
    }

    /// Takes the buffer of a receive back: when this returns, nobody writes to it any more. What became of the message, if all of it
    /// came meanwhile.
    pub(super) fn withdraw_receive(&self, op: &mut ReceiveOp) -> Option<Result<usize>> {
        Pair::of(self, op.member).withdraw_receive(op)
    }
}
