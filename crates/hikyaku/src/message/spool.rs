//! The spare buffer: sends that have waited long enough are copied there and go on by themselves (F6, F7).

use super::send::SendOp;
use super::spot::Buffer;
use super::{Core, Messages};
use crate::error::{Error, Result};
use crate::ni::wait::{By, Progress};
use crate::sync::bell::ANY;
use std::collections::VecDeque;

/// Sends that were copied, in the order of their calls.
#[derive(Default)]
pub(super) struct Spool {
    room: usize,
    used: usize,
    waiting: VecDeque<Spooled>,
    moved: usize,
}

/// A send and the copy it sends from.
pub(super) struct Spooled {
    pub op: SendOp,
    pub copy: Box<[u8]>,
}

/// What [`Messages::check_spool`] reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpoolReport {
    /// Sends that have left the spare buffer since the last report.
    pub moved: usize,
    /// Sends that are still there.
    pub remaining: usize,
}

impl Messages<'_> {
    /// Sets the size of the spare buffer for [`super::Mode::Spool`]; not smaller than what lies in it.
    pub fn set_spare(&self, bytes: usize) -> Result<()> {
        let mut spool = self.core.spool.borrow_mut();
        if bytes < spool.used {
            return Err(Error::Invalid(format!("{} bytes still lie in the spare buffer", spool.used)));
        }
        spool.room = bytes;
        Ok(())
    }

    /// Moves what can be moved and tells how many sends have left the spare buffer and how many remain.
    pub fn check_spool(&self) -> Result<SpoolReport> {
        self.job.ni.check_rank(self.job.rank())?;
        self.job.progress();
        self.core.move_spooled();
        let mut spool = self.core.spool.borrow_mut();
        Ok(SpoolReport { moved: std::mem::take(&mut spool.moved), remaining: spool.waiting.len() })
    }
}

impl Drop for Messages<'_> {
    /// Waits until everything in the spare buffer has been taken, as was promised; only the end of a receiver ends that
    /// early.
    fn drop(&mut self) {
        let first_waiting = || self.core.first_spooled().or_else(|| self.core.pay());
        while let Some(member) = first_waiting().filter(|_| !std::thread::panicking()) {
            let by = By::Rank(self.core.rank_of(member));
            let moved = self.job.wait_until(by, None, ANY, Progress::Seldom, || {
                self.core.move_spooled();
                (first_waiting() != Some(member)).then_some(())
            });
            if moved.is_err() {
                break;
            }
        }
        // What was offered and not taken may still be read at any moment.
        self.core.spool.borrow_mut().waiting.drain(..).for_each(std::mem::forget);
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
        let spool = self.spool.borrow_mut();
        if spool.used + bytes.len() > spool.room {
            return false;
        }
        let copy: Box<[u8]> = bytes.into();
        // SAFETY: the copy stays beside the operation until it is done.
        let Ok(op) = (unsafe { self.begin_send(Buffer::of(&copy), op.member, op.entry) }) else { return false };
        drop(spool);
        self.keep_spooled(Spooled { op: op.set_spooled(), copy });
        // Offered at once if its slot is free: then the receiver needs nobody's help.
        self.move_spooled();
        true
    }

    /// Keeps a send and its copy until it is done.
    pub(super) fn keep_spooled(&self, spooled: Spooled) {
        let mut spool = self.spool.borrow_mut();
        spool.used += spooled.copy.len();
        spool.waiting.push_back(spooled);
        self.spooled.set(spool.waiting.len());
    }

    /// The receiver of the first of them.
    fn first_spooled(&self) -> Option<usize> {
        self.spool.borrow().waiting.front().map(|spooled| spooled.op.member)
    }

    /// Whether a send to this slot must wait behind one in the spare buffer.
    #[inline(always)]
    pub(super) fn is_spooled(&self, member: usize, entry: usize) -> bool {
        self.spooled.get() != 0
            && self
                .spool
                .borrow()
                .waiting
                .iter()
                .any(|spooled| spooled.op.member == member && spooled.op.entry == entry)
    }

    /// Takes spooled sends as far as they go; those of one slot keep their order.
    #[inline]
    pub(super) fn move_spooled(&self) {
        if self.spooled.get() == 0 {
            return;
        }
        let Ok(mut spool) = self.spool.try_borrow_mut() else { return };
        let mut index = 0;
        while index < spool.waiting.len() {
            let Spooled { op, .. } = &spool.waiting[index];
            let (member, entry) = (op.member, op.entry);
            let first = spool.waiting.iter().position(|s| s.op.member == member && s.op.entry == entry) == Some(index);
            // A send that fails (its rank has ended, its receive is too short) has nobody left to tell.
            let waits = |moved| matches!(moved, Ok(false)) && !self.has_departed(self.rank_of(member));
            let done = first && !waits(self.poke_send(&mut spool.waiting[index].op));
            match done {
                false => index += 1,
                true => {
                    if let Some(gone) = spool.waiting.remove(index) {
                        spool.used -= gone.copy.len();
                        spool.moved += 1;
                        self.spooled.set(spool.waiting.len());
                    }
                }
            }
        }
    }
}
