//! Sending.
//!
//! A message of up to [`EAGER_MAX`] bytes goes as soon as its slot is free: the words two ranks meet on hold it. A longer
//! one is offered, and copied by both sides once the receive is there.

use crate::error::{Error, Result};
use crate::message::buffer::chunk::Chunks;
use crate::message::buffer::own::Own;
use crate::message::buffer::spot::{Buffer, Staged};
use crate::message::near::short::SHORT_MAX;
use crate::message::state::link::{Link, NearLink};
use crate::message::state::peer::Peer;
use crate::message::wire::layout::EAGER_MAX;
use crate::message::wire::slot::{Kind, Told};
use crate::message::{Core, Messages, Mode};
use crate::ni::message::refuse_in_handler;
use crate::ni::wait::{By, Progress};
use crate::sync::bell::ANY;
use bytemuck::Pod;
use std::time::Duration;

/// How long a send that need not be waited for waits for a bounce buffer before it is offered instead.
const BOUNCE_PATIENCE: Duration = Duration::from_micros(20);

/// A send under way.
#[derive(Debug)]
pub(in crate::message) struct SendOp {
    pub member: usize,
    pub entry: usize,
    pub buffer: Buffer,
    pub stage: Stage,
    pub synchronous: bool,
    /// A long message is offered only to a receive that waits: its buffer may still change.
    pub only_to_waiting: bool,
    /// A message that finds no free bounce buffer is offered too: its buffer stays, however long that takes. Bounce
    /// buffers may all hold messages that are not wanted yet.
    pub may_offer: bool,
    /// It sends from the spare buffer, and others of its slot wait behind it.
    pub spooled: bool,
    /// It was described before.
    pub prepared: bool,
    pub number: u64,
    /// Bytes that are on their way into the buffer of a far receive.
    pub landed: usize,
    pub(in crate::message) staged: Option<Box<Staged>>,
    /// Keeps what a message to oneself is read from.
    pub(in crate::message) told: Option<Box<Own>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::message) enum Stage {
    /// Waits for its slot, or for a bounce buffer.
    Start,
    /// Offered: the receiver may copy at any moment.
    Offered,
    /// Waits to be taken.
    Sent,
}

impl Messages<'_> {
    /// Sends `data` to slot `slot` of `rank`; what it waits for depends on [`Messages::mode`].
    #[inline]
    pub fn send<T: Pod>(&self, data: &[T], rank: usize, slot: usize) -> Result<()> {
        let data = bytemuck::cast_slice(data);
        let at_once = match self.mode.get() {
            Mode::Standard => data.len() <= EAGER_MAX,
            // Longer ones must fit the spare buffer, whether they need it or not.
            Mode::Spool(_) => data.len() <= SHORT_MAX,
            Mode::Synchronous => false,
        };
        if slot < self.core.slots && at_once && self.core.send_at_once(data, rank, slot, false) {
            return Ok(());
        }
        self.send_entry(data, rank, slot, slot)
    }

    /// Sends `data` to a rank that receives from any: a domain of its own, with as many slots.
    pub fn send_any<T: Pod>(&self, data: &[T], rank: usize, slot: usize) -> Result<()> {
        // Before the slot is reckoned with: it may be any number.
        self.core.check(rank, slot)?;
        self.send_entry(bytemuck::cast_slice(data), rank, slot, self.core.slots + slot)
    }

    fn send_entry(&self, data: &[u8], rank: usize, slot: usize, entry: usize) -> Result<()> {
        self.core.check(rank, slot)?;
        self.core.enter(rank);
        let mode = self.mode.get();
        if mode == Mode::Synchronous || data.len() > EAGER_MAX {
            // It waits once the receiver knows of it, so it is refused before.
            refuse_in_handler()?;
        }
        // SAFETY: the operation ends, or gives its buffer up, before this call returns.
        let mut op = unsafe { self.core.begin_send(Buffer::of(data), rank, entry)? };
        op.synchronous = mode == Mode::Synchronous;
        if let Mode::Spool(_) = mode {
            self.core.check_spare(data.len())?;
            op.only_to_waiting = true;
        }
        let poked = if op.synchronous { Ok(false) } else { self.core.poke_send(&mut op) };
        match poked {
            Ok(true) => Ok(()),
            Ok(false) => self.finish_send(op, mode),
            Err(error) => {
                self.core.revoke(&mut op);
                Err(error)
            }
        }
    }

    #[cold]
    fn finish_send(&self, mut op: SendOp, mode: Mode) -> Result<()> {
        let Mode::Spool(patience) = mode else {
            // A bounce buffer is worth a short wait.
            return match self.await_send(&mut op, Some(BOUNCE_PATIENCE)) {
                Err(Error::Timeout { .. }) => self.await_send(op.offerable(), None),
                other => other,
            };
        };
        if patience.is_zero() && self.core.spool_send(&op) {
            return Ok(());
        }
        match self.await_send(&mut op, Some(patience)) {
            Err(Error::Timeout { .. }) => self.spool_or_wait(op),
            other => other,
        }
    }

    /// Copies a send that has waited long enough into the spare buffer; while that is full, waits on (F7).
    fn spool_or_wait(&self, mut op: SendOp) -> Result<()> {
        op.only_to_waiting = op.stage == Stage::Start;
        op.may_offer = true;
        self.await_step(&mut op, None, |op| {
            if op.stage == Stage::Start && self.core.spool_send(op) { Ok(true) } else { self.core.poke_send(op) }
        })
    }

    /// Waits until a send is done.
    pub(in crate::message) fn await_send(&self, op: &mut SendOp, patience: Option<Duration>) -> Result<()> {
        self.await_step(op, patience, |op| self.core.poke_send(op))
    }

    /// Waits until a `step` of a send says that it is done.
    fn await_step(
        &self,
        op: &mut SendOp,
        patience: Option<Duration>,
        step: impl Fn(&mut SendOp) -> Result<bool>,
    ) -> Result<()> {
        let by = By::Rank(self.core.rank_of(op.member));
        // A handler that panics in the wait takes the buffer away, and so does every error but one.
        let send = Revoked { core: &self.core, op };
        let waited = self.job.wait_until(by, patience, ANY, Progress::Seldom, || {
            self.core.move_spooled();
            step(send.op).map(|done| done.then_some(())).transpose()
        });
        match waited {
            // Whoever was impatient goes on with it.
            Ok(Ok(())) | Err(Error::Timeout { .. }) => std::mem::forget(send),
            Ok(Err(_)) | Err(_) => drop(send),
        }
        waited?
    }
}

/// A send that is given up when this is dropped.
struct Revoked<'a> {
    core: &'a Core,
    op: &'a mut SendOp,
}

impl Drop for Revoked<'_> {
    fn drop(&mut self) {
        self.core.revoke(self.op);
    }
}

impl Core {
    /// A send that has not begun; fails if another one is under way in its slot (F3).
    ///
    /// # Safety
    /// The buffer stays until the operation is done.
    #[inline(always)]
    pub(in crate::message) unsafe fn begin_send(&self, buffer: Buffer, member: usize, entry: usize) -> Result<SendOp> {
        if !self.state(member).borrow().slots[entry].send.is_open(false) {
            return Err(self.slot_busy(member, entry));
        }
        Ok(SendOp::new(buffer, member, entry))
    }

    /// Takes a send as far as it goes now; true when it is done.
    #[inline]
    pub(in crate::message) fn poke_send(&self, op: &mut SendOp) -> Result<bool> {
        match self.link(op.member) {
            Link::Near(link) => self.poke_near_send(link, op),
            Link::Far(link) => self.poke_far_send(link, op),
        }
    }

    #[inline(always)]
    fn poke_near_send(&self, link: &NearLink, op: &mut SendOp) -> Result<bool> {
        if op.stage == Stage::Start && !self.start_send(link, op)? {
            return Ok(false);
        }
        match op.stage {
            Stage::Start => unreachable!("started just now"),
            Stage::Sent if !op.synchronous => Ok(true),
            Stage::Sent if !self.was_taken_here(link, op) => Ok(false),
            Stage::Sent => self.taken_or_refused(link, op).map(|()| true),
            Stage::Offered => {
                let done = self.help(link, op);
                if !matches!(done, Ok(false)) {
                    op.told = None;
                }
                done
            }
        }
    }

    #[inline(always)]
    fn start_send(&self, link: &NearLink, op: &mut SendOp) -> Result<bool> {
        let (member, entry, buffer) = (op.member, op.entry, op.buffer);
        let theirs = self.theirs(link);
        let mut peer = link.state.borrow_mut();
        if self.has_departures() {
            self.ni.check_departed(By::Rank(link.rank))?;
        }
        if !peer.is_free(self.mine(link), entry) || !op.spooled && self.is_spooled(member, entry) {
            return Ok(false);
        }
        if entry < self.slots {
            theirs.high().raise(&mut peer.high, entry);
        }
        peer.slots[entry].send.chain.leave(theirs.link(entry));
        if buffer.bytes <= SHORT_MAX {
            self.put_short(link, &mut peer.slots[entry], op.bytes(), entry);
            op.number = peer.slots[entry].send.sent;
            op.stage = Stage::Sent;
            return Ok(true);
        }
        if buffer.bytes <= EAGER_MAX && self.send_bounce(link, &mut peer, op.bytes(), entry) {
            op.number = peer.slots[entry].send.sent;
            op.stage = Stage::Sent;
            return Ok(true);
        }
        if !self.may_offer(link, op, &peer) {
            return Ok(false);
        }
        // An offer must be waited for, which a handler cannot.
        refuse_in_handler()?;
        self.stage(link, op)?;
        op.told = self.tell_place(member, op.buffer, theirs.offer(entry));
        let told = Told { kind: Kind::Offer, bytes: 0, taken: peer.slots[entry].receive.taken, value: 0 };
        let send = &mut peer.slots[entry].send;
        send.sent += 1;
        op.number = send.sent;
        theirs.head(entry).publish(send.sent, told);
        op.stage = Stage::Offered;
        self.notify(link);
        Ok(true)
    }

    fn may_offer(&self, link: &NearLink, op: &SendOp, peer: &Peer) -> bool {
        if op.buffer.bytes <= EAGER_MAX {
            return op.may_offer;
        }
        let (taken, waiting) = self.mine(link).post(op.entry).look();
        !op.only_to_waiting || waiting && taken == peer.slots[op.entry].send.sent
    }

    /// Copies what it can of an offered message; true when all is copied.
    fn help(&self, link: &NearLink, op: &SendOp) -> Result<bool> {
        let (member, entry, number) = (op.member, op.entry, op.number);
        let (mine, deal) = (self.mine(link), self.theirs(link).deal(entry));
        let (taken, waiting) = mine.post(entry).look();
        if taken >= number {
            link.state.borrow_mut().learn(entry, taken);
            return self.taken_or_refused(link, op).map(|()| true);
        }
        if !waiting || taken + 1 != number {
            return Ok(false);
        }
        let (ni, spot) = (&*self.ni, mine.want(entry));
        let wanted = self.glimpse(member, spot)?;
        if wanted.bytes < op.buffer.bytes || !wanted.is_reachable {
            return Ok(false);
        }
        let chunks = Chunks::of(op.buffer.bytes);
        while let Some(index) = deal.claim(number, chunks.count) {
            // Only now: the claim keeps the receive that is there, which may be another one than was looked at before.
            let want = match self.hear_place(member, spot) {
                Ok(want) if want.bytes >= op.buffer.bytes && want.is_reachable(ni) => want,
                other => {
                    deal.give_back();
                    self.notify(link);
                    return other.map(|_| false);
                }
            };
            // SAFETY: the claim makes this the only one who writes the chunk, and keeps the receive's buffer; the own buffer
            // stays until the operation is done.
            let written = unsafe { want.write(ni, op.buffer, chunks.range(index)) };
            self.count_copied(deal, number, written)?;
        }
        self.notify(link);
        // The receiver need not know for this side to be done (F5).
        if deal.done(number, chunks.count) { self.taken_or_refused(link, op).map(|()| true) } else { Ok(false) }
    }

    /// Whether the message was taken, as its slot tells. A function of the program may have sent another one since.
    fn was_taken_here(&self, link: &NearLink, op: &SendOp) -> bool {
        let mut peer = link.state.borrow_mut();
        peer.is_free(self.mine(link), op.entry) || peer.slots[op.entry].send.taken >= op.number
    }

    /// A message is done: has the receiver got it?
    fn taken_or_refused(&self, link: &NearLink, op: &SendOp) -> Result<()> {
        let (from, to, slot) = (self.ni.rank, link.rank, op.entry % self.slots);
        let deal = self.theirs(link).deal(op.entry);
        if deal.was_refused(op.number) {
            return Err(Error::Truncated { from, to, slot, bytes: op.buffer.bytes });
        }
        match deal.spoiled(op.number) {
            Some(errno) => Err(self.why_spoiled(errno, op.member, Error::BadBuffer { from, to, slot })),
            None => Ok(()),
        }
    }

    /// Whether `rank` has ended.
    pub(in crate::message) fn has_departed(&self, rank: usize) -> bool {
        self.has_departures() && self.ni.find_departed(By::Rank(rank)).is_err()
    }

    /// A copy of a long message in job memory, where the receiver cannot reach the sender's own.
    fn stage(&self, link: &NearLink, op: &mut SendOp) -> Result<()> {
        if op.buffer.needs_staging(&self.ni, link.rank) {
            let staged = Staged::new(&self.ni, op.buffer.bytes)?;
            // SAFETY: a fresh part of the own heap, of the same size.
            unsafe { op.buffer.copy_to(staged.buffer().start) };
            op.buffer = staged.buffer();
            op.staged = Some(Box::new(staged));
        }
        Ok(())
    }
}

impl SendOp {
    #[inline(always)]
    pub fn new(buffer: Buffer, member: usize, entry: usize) -> SendOp {
        SendOp {
            member,
            entry,
            buffer,
            stage: Stage::Start,
            synchronous: false,
            only_to_waiting: false,
            may_offer: false,
            spooled: false,
            prepared: false,
            number: 0,
            landed: 0,
            staged: None,
            told: None,
        }
    }

    /// From now on it may be offered, whatever its size.
    pub fn offerable(&mut self) -> &mut SendOp {
        self.may_offer = true;
        self
    }

    /// From now on it sends from the spare buffer.
    pub fn set_spooled(mut self) -> SendOp {
        self.spooled = true;
        self.may_offer = true;
        self
    }

    /// This send as far as it has got, but of a copy, which may be the one in job memory.
    ///
    /// # Safety
    /// The copy holds the same bytes, and stays until the operation is done.
    pub unsafe fn of_copy(&self, copy: Buffer, staged: Option<Box<Staged>>, told: Option<Box<Own>>) -> SendOp {
        SendOp { buffer: copy, spooled: true, may_offer: true, only_to_waiting: false, staged, told, ..*self }
    }

    /// Whether the receiver knows of it.
    pub fn has_begun(&self) -> bool {
        self.stage != Stage::Start
    }

    /// What is to be sent, while it has not begun.
    pub fn waiting_bytes(&self) -> Option<&[u8]> {
        (self.stage == Stage::Start).then(|| self.bytes())
    }

    /// What is to be sent, which lies in one piece.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the buffer stays until the operation is done, and nobody writes it meanwhile.
        unsafe { self.buffer.as_slice() }
    }
}
