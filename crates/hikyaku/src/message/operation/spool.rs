//! The spare buffer: sends that have waited long enough are copied there and go on by themselves (F6, F7).

use crate::error::{Error, Result};
use crate::message::buffer::spot::Buffer;
use crate::message::messages::Messages;
use crate::message::pair::Pair;
use crate::message::state::core::Core;
use crate::message::state::op::SendOp;
#[cfg(test)]
use crate::message::state::pool::OwnNode;
use crate::message::state::spool::{Carried, Spool, Spooled, Tally};
use crate::ni::{By, Hold, Wait, refuse_in_handler};
use std::collections::VecDeque;
use std::collections::hash_map::Entry;

/// What [`Messages::check_spool`] reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpoolReport {
    /// Sends that have left the spare buffer since the last report.
    pub moved: usize,
    /// Sends that are still there.
    pub remaining: usize,
}

impl Messages<'_> {
    /// Sets the size of the spare buffer for [`crate::message::Mode::Spool`]. It cannot become smaller than what it holds.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// use hikyaku::message::Mode;
    /// let messages = job.messages(1)?;
    /// messages.set_spare(1 << 20)?;
    /// messages.set_mode(Mode::Spool(std::time::Duration::from_millis(1)));
    /// let peer = 1 - job.rank();
    /// messages.send(&[1.0; 5000], peer, 0)?; // both send first, and nobody waits for ever
    /// messages.recv(&mut [0.0; 5000], peer, 0)?;
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn set_spare(&self, bytes: usize) -> Result<()> {
        let mut spool = self.core.spool.borrow_mut();
        if bytes < spool.tally.used {
            return Err(Error::Invalid(format!("{} bytes still lie in the spare buffer", spool.tally.used)));
        }
        spool.room = bytes;
        Ok(())
    }

    /// Advances the sends in the spare buffer; reports how many have left it and how many remain.
    pub fn check_spool(&self) -> Result<SpoolReport> {
        self.port.ni().check_rank(self.port.rank())?;
        self.port.progress();
        self.core.move_spooled();
        let mut spool = self.core.spool.borrow_mut();
        Ok(SpoolReport { moved: std::mem::take(&mut spool.tally.moved), remaining: spool.tally.waiting })
    }

    /// Sends a buffer that is handed over to the library and need not be copied. This never waits, whatever the mode, and needs no spare
    /// buffer. Messages of one slot stay in order. The message advances as those in the spare buffer do.
    ///
    /// ```
    /// hikyaku::local(2, |job| {
    ///     let messages = job.messages(1)?;
    ///     if job.rank() == 0 {
    ///         (1..=3).try_for_each(|value| messages.send_owned(vec![value; 100_000].into(), 1, 0))?;
    ///     } else {
    ///         let mut data = vec![0; 100_000];
    ///         for value in 1..=3u8 {
    ///             messages.recv(&mut data, 0, 0)?;
    ///             assert_eq!(data[99_999], value);
    ///         }
    ///     }
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    pub fn send_owned(&self, data: Box<[u8]>, rank: usize, slot: usize) -> Result<()> {
        self.core.check(rank, slot)?;
        // An offer must be waited for, which a handler cannot.
        refuse_in_handler()?;
        if !self.core.spool_in_chain(&data, 0, rank, slot) {
            self.core.spool_owned(data, 0, rank, slot)?;
        }
        self.core.move_spooled();
        Ok(())
    }

    /// Moves what can be moved, and gives up what is for members that receive nothing any more. Their buffers are freed, so
    /// these members have no receive under way either.
    pub(crate) fn drop_sends_to(&self, is_deaf: impl Fn(usize) -> bool) {
        self.core.move_lanes(is_deaf);
    }

    /// How many sends to a slot have not left yet: those in the spare buffer, and those of buffers that were handed over.
    pub fn spooled(&self, rank: usize, slot: usize) -> usize {
        self.core.spool.borrow().lanes.get(&(rank, slot)).map_or(0, VecDeque::len)
    }
}

impl Drop for Messages<'_> {
    fn drop(&mut self) {
        // A panic of a handler must not end this before what is offered is out of harm's way.
        let _hold = Hold::enter();
        self.settle();
        self.leak_rest();
    }
}

impl Messages<'_> {
    /// Drops them without waiting for anybody.
    pub(crate) fn drop_at_once(self) {
        self.leak_rest();
    }

    /// Only transfers that were leaked are under way now, and sends that nobody waits for.
    fn leak_rest(&self) {
        // Where peers write is not given back before they have stopped.
        self.withdraw_receives();
        // What was offered and not taken may still be read at any moment.
        self.core.pending.take().leak();
        self.core.take_spool().lanes.drain().for_each(std::mem::forget);
    }
}

impl Messages<'_> {
    /// Waits until all sends that were spooled or handed over have been received. It stops waiting for a receiver only when that has
    /// ended.
    pub fn settle(&self) {
        // In a forked child that is the parent's.
        if self.core.ni.is_forked() {
            return;
        }
        let first_waiting = || self.core.first_promised().or_else(|| self.core.flush_owed());
        while let Some(member) = first_waiting().filter(|_| !std::thread::panicking()) {
            let by = By::Rank(self.core.rank_of(member));
            let moved = self.port.wait_until(Wait::on(by), || {
                self.core.move_spooled();
                (first_waiting() != Some(member)).then_some(())
            });
            if moved.is_err() {
                // What is for a receiver that has ended is given up.
                self.core.move_spooled();
                if first_waiting() == Some(member) {
                    break;
                }
            }
        }
    }
}

impl Core {
    /// A message that can never fit the spare buffer is an error.
    pub(super) fn check_spare(&self, bytes: usize) -> Result<()> {
        let room = self.spool.borrow().room;
        if bytes > room {
            return Err(Error::Invalid(format!(
                "a message of {bytes} bytes never fits the spare buffer of {room}; set_spare makes it larger"
            )));
        }
        Ok(())
    }

    /// Copies a send that has not begun; false while there is no room.
    pub(super) fn spool_send(&self, op: &SendOp) -> bool {
        let Some(bytes) = op.waiting_bytes() else { return false };
        let has_room = || {
            let spool = self.spool.borrow();
            bytes.len() <= spool.room - spool.tally.used
        };
        if !has_room() {
            self.move_spooled();
            if !has_room() {
                return false;
            }
        }
        let (takes, member, entry) = (bytes.len(), op.member, op.entry);
        if self.spool_in_chain(bytes, takes, member, entry) {
            // What was taken of the same slot makes room; other slots have their turn when they are sent to, or in a wait.
            self.move_lane(member, entry);
            return true;
        }
        if self.spool_owned(bytes.into(), takes, member, entry).is_err() {
            return false;
        }
        // Offered at once if its slot is free: then the receiver needs nobody's help.
        self.move_spooled();
        true
    }

    /// Adds a send of a buffer that was given to it, and `takes` so much of the room.
    fn spool_owned(&self, data: Box<[u8]>, takes: usize, member: usize, entry: usize) -> Result<()> {
        // SAFETY: the data stay beside the operation until it is done.
        let op = unsafe { self.begin_send(Buffer::of(&data), member, entry)? }.set_spooled();
        self.spool(member, entry, Spooled { carried: Carried::Helped { op, _data: data }, takes, promised: true });
        Ok(())
    }

    /// Adds a message behind those of its slot that were not taken yet, so that the receiver finds it without this rank's
    /// help; false if that cannot be.
    fn spool_in_chain(&self, data: &[u8], takes: usize, member: usize, entry: usize) -> bool {
        let Pair::Near(pair) = Pair::of(self, member) else { return false };
        if !pair.link.state.borrow().slots[entry].send.is_open(false) {
            return false;
        }
        let spool = self.spool.borrow();
        let published = match spool.lanes.get(&(member, entry)).and_then(VecDeque::back) {
            Some(Spooled { carried: Carried::Helped { op, .. }, .. }) => op.has_begun(),
            Some(Spooled { carried: Carried::Found(_), .. }) => true,
            None => !pair.link.state.borrow_mut().is_free(pair.mine(), entry),
        };
        drop(spool);
        let node = if published { pair.append(entry, data) } else { None };
        node.map(|node| self.spool(member, entry, Spooled { carried: Carried::Found(node), takes, promised: true }))
            .is_some()
    }

    /// Gives back what nobody reads any more.
    pub(super) fn discard(&self, spool: Spool) {
        for spooled in spool.lanes.into_values().flatten() {
            if let Carried::Found(node) = spooled.carried {
                self.give_node(node);
            }
        }
        spool.tally.tails.into_values().for_each(|node| self.give_node(node));
    }

    /// The last node of a chain that was taken.
    #[cfg(test)]
    pub(in crate::message) fn tail(&self, member: usize, entry: usize) -> OwnNode {
        self.spool.borrow().tally.tails[&(member, entry)]
    }

    /// The receiver of one of them that was promised to arrive. What this rank has sent to itself, nobody else will receive.
    fn first_promised(&self) -> Option<usize> {
        let spool = self.spool.borrow();
        let promised =
            spool.lanes.iter().find(|((member, _), lane)| *member != self.me && lane.iter().any(|send| send.promised));
        promised.map(|((member, _), _)| *member)
    }

    /// Takes spooled sends as far as they go; those of one slot keep their order.
    #[inline]
    pub(super) fn move_spooled(&self) {
        if self.spooled.get() != 0 {
            self.move_lanes(|member| self.has_departed(self.rank_of(member)));
        }
    }

    /// Takes spooled sends as far as they go, and gives up what is for members that are gone.
    fn move_lanes(&self, is_gone: impl Fn(usize) -> bool) {
        let Ok(mut spool) = self.spool.try_borrow_mut() else { return };
        let Spool { lanes, tally, .. } = &mut *spool;
        lanes.retain(|(member, entry), lane| self.advance(lane, (*member, *entry), tally, &is_gone));
        self.spooled.set(tally.waiting);
    }

    /// The same of one slot.
    fn move_lane(&self, member: usize, entry: usize) {
        let Ok(mut spool) = self.spool.try_borrow_mut() else { return };
        let Spool { lanes, tally, .. } = &mut *spool;
        let is_gone = |member| self.has_departed(self.rank_of(member));
        if let Entry::Occupied(mut lane) = lanes.entry((member, entry))
            && !self.advance(lane.get_mut(), (member, entry), tally, &is_gone)
        {
            lane.remove();
        }
        self.spooled.set(tally.waiting);
    }

    /// Takes the sends of a slot as far as they go; whether any are left.
    fn advance(
        &self,
        lane: &mut VecDeque<Spooled>,
        (member, entry): (usize, usize),
        tally: &mut Tally,
        is_gone: &impl Fn(usize) -> bool,
    ) -> bool {
        while let Some(first) = lane.front_mut() {
            let pair = Pair::of(self, member);
            let waits = match (&mut first.carried, pair) {
                // A send that fails (its rank has ended, its receive is too short) has nobody left to tell.
                (Carried::Helped { op, .. }, pair) => match pair.poke_send(op) {
                    Ok(done) => !done,
                    Err(_) => !pair.is_over(op),
                },
                (Carried::Found(node), Pair::Near(pair)) => !pair.is_taken(entry, node),
                (Carried::Found(_), Pair::Far(_)) => unreachable!("chains lead to near members"),
            };
            if waits && !is_gone(member) {
                return true;
            }
            tally.used -= first.takes;
            tally.waiting -= 1;
            tally.moved += 1;
            let Some(Spooled { carried: Carried::Found(node), .. }) = lane.pop_front() else { continue };
            if let Some(passed) = tally.tails.insert((member, entry), node) {
                self.give_node(passed);
            }
            if lane.is_empty() {
                self.empty_node(&node);
            }
        }
        false
    }
}
