//! Sending, by calls that return when the program may use its buffer again.

use crate::error::{Error, Result};
use crate::message::buffer::spot::{Buffer, Staged, copy_of};
use crate::message::messages::{Messages, Mode};
use crate::message::near::pair::NearPair;
use crate::message::pair::Pair;
use crate::message::state::core::Core;
use crate::message::state::op::{SendOp, Stage};
use crate::message::wire::layout::{EAGER_MAX, SHORT_MAX};
use crate::ni::{Wait, refuse_in_handler};
use bytemuck::Pod;
use std::marker::PhantomData;
use std::time::Duration;

/// How long a send that need not be waited for waits for a bounce buffer before it is offered instead.
const BOUNCE_PATIENCE: Duration = Duration::from_micros(20);

impl Messages<'_> {
    /// Sends `data` to `rank` in slot `slot`. [`Messages::mode`] tells when it returns.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let messages = job.messages(1)?;
    /// if job.rank() == 0 {
    ///     messages.send(&[1u32, 2, 3], 1, 0)?;
    /// } else {
    ///     let mut numbers = [0u32; 10];
    ///     assert_eq!(messages.recv(&mut numbers, 0, 0)?, 3); // three came
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[inline]
    #[track_caller]
    pub fn send<T: Pod>(&self, data: &[T], rank: usize, slot: usize) -> Result<()> {
        let data = bytemuck::cast_slice(data);
        let at_once = match self.mode.get() {
            Mode::Standard => data.len() <= EAGER_MAX,
            // Longer ones must fit the spare buffer, whether they need it or not.
            Mode::Spool(_) => data.len() <= SHORT_MAX,
            Mode::Synchronous => false,
        };
        if slot < self.core.slots && at_once && NearPair::send_at_once(&self.core, data, rank, slot, false) {
            return Ok(());
        }
        self.port.enter(&"send");
        self.send_entry(Buffer::of(data), rank, slot, slot)
    }

    /// Sends `data` to a rank that receives it by [`Messages::recv_any`]. These messages have slots of their own, apart from those of
    /// [`Messages::send`].
    ///
    /// ```
    /// # hikyaku::local(3, |job| {
    /// let messages = job.messages(1)?;
    /// if job.rank() > 0 {
    ///     messages.send_any(&[job.rank()], 0, 0)?;
    /// } else {
    ///     for _ in 0..2 {
    ///         let mut number = [0];
    ///         let received = messages.recv_any(&mut number, 0)?; // from whoever comes first
    ///         assert_eq!(received.rank, number[0]);
    ///     }
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[track_caller]
    pub fn send_any<T: Pod>(&self, data: &[T], rank: usize, slot: usize) -> Result<()> {
        self.port.enter(&"send_any");
        // Before the slot is reckoned with: it may be any number.
        self.core.check(rank, slot)?;
        self.send_entry(Buffer::of(bytemuck::cast_slice(data)), rank, slot, self.core.slots + slot)
    }

    /// Takes what sending some bytes to a rank takes of memory, for a layer above that first announces them: then the send does not fail for
    /// want of it.
    pub(crate) fn ready<'d>(&self, data: &'d [u8], rank: usize) -> Result<Ready<'d>> {
        self.core.check(rank, 0)?;
        let (ni, buffer, to) = (&self.core.ni, Buffer::of(data), self.core.rank_of(rank));
        // Shorter ones go through buffers of the library.
        let is_staged = data.len() > EAGER_MAX && ni.is_near(to) && buffer.needs_staging(ni, to);
        let staged = if is_staged { Some(Staged::new(ni, data.len())?) } else { None };
        let buffer = staged.as_ref().map_or(buffer, |staged| {
            // SAFETY: a fresh part of the own heap, of the same size.
            unsafe { buffer.copy_to(staged.buffer().start) };
            staged.buffer()
        });
        Ok(Ready { buffer, _staged: staged, data: PhantomData })
    }

    /// [`Messages::send`] of such bytes.
    pub(crate) fn send_ready(&self, data: &Ready<'_>, rank: usize, slot: usize) -> Result<()> {
        self.port.enter(&"send");
        self.send_entry(data.buffer, rank, slot, slot)
    }

    /// The buffer stays as it is during the call.
    fn send_entry(&self, buffer: Buffer, rank: usize, slot: usize, entry: usize) -> Result<()> {
        self.core.check(rank, slot)?;
        self.core.enter(rank);
        let mode = self.mode.get();
        if mode == Mode::Synchronous || buffer.bytes > EAGER_MAX {
            // It waits once the receiver knows of it, so it is refused before.
            refuse_in_handler()?;
        }
        // SAFETY: the operation ends, or gives its buffer up, before this call returns.
        let mut op = unsafe { self.core.begin_send(buffer, rank, entry)? };
        op.synchronous = mode == Mode::Synchronous;
        op.may_lend = !matches!(mode, Mode::Spool(_));
        if let Mode::Spool(_) = mode {
            self.core.check_spare(buffer.bytes)?;
            op.only_to_waiting = true;
        }
        let poked = if op.synchronous { Ok(false) } else { self.core.poke_send(&mut op) };
        match poked {
            Ok(true) => Ok(()),
            Ok(false) => self.finish_send(op, mode),
            Err(error) => {
                self.core.withdraw_send(&mut op);
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
        let (rank, awaited) = (self.core.rank_of(op.member), self.core.awaited(op.entry, op.buffer.bytes));
        let wait = Wait::on_rank(rank).at_most(patience).of(awaited).watch(self.core.watch_of(op.member));
        // A handler that panics in the wait takes the buffer away, and so does every error but one.
        let send = WithdrawnSend { core: &self.core, op };
        let waited = self.port.wait_until(wait, || {
            self.core.move_spooled();
            step(send.op).map(|done| done.then_some(())).transpose()
        });
        match waited {
            // Whoever was impatient goes on with it.
            Ok(Ok(())) | Err(Error::Timeout { .. }) => std::mem::forget(send),
            // All of it is with the network, which keeps the buffer until the peer has acknowledged it: a receiver may have left by then.
            Ok(Err(_)) | Err(_) if send.op.stage == Stage::Sent && send.op.loan.is_some() => {
                drop(send);
                return Ok(());
            }
            Ok(Err(_)) | Err(_) => drop(send),
        }
        waited?
    }
}

/// Bytes that can be sent; see [`Messages::ready`].
pub(crate) struct Ready<'d> {
    buffer: Buffer,
    /// Where the receiver cannot reach the bytes themselves.
    _staged: Option<Staged>,
    data: PhantomData<&'d [u8]>,
}

/// A send that is withdrawn when this is dropped.
struct WithdrawnSend<'a> {
    core: &'a Core,
    op: &'a mut SendOp,
}

impl Drop for WithdrawnSend<'_> {
    fn drop(&mut self) {
        self.core.withdraw_send(self.op);
    }
}

impl Core {
    /// Takes a send as far as it goes now; true when it is done.
    #[inline]
    pub(super) fn poke_send(&self, op: &mut SendOp) -> Result<bool> {
        Pair::of(self, op.member).poke_send(op)
    }

    /// Takes the buffer of a send back: when this returns, nobody reads it any more. A send that its receiver knows of goes on
    /// from a copy; one that has not begun never does.
    #[cold]
    pub(super) fn withdraw_send(&self, op: &mut SendOp) {
        op.loan = None;
        if op.is_offered() && !self.ni.is_forked() && !self.has_departed(self.rank_of(op.member)) {
            Pair::of(self, op.member).withdraw_send(op);
        }
    }

    /// Takes the buffer of a send back that was promised to leave: it goes on from a copy even if it has not begun.
    #[cold]
    pub(super) fn withdraw_promised(&self, op: &mut SendOp) {
        if op.has_begun() {
            return self.withdraw_send(op);
        }
        if self.ni.is_forked() || self.has_departed(self.rank_of(op.member)) {
            return;
        }
        if let Some(copy) = copy_of(op.buffer) {
            self.go_on_from(op, copy);
        }
    }
}
