//! Sends that are withdrawn: the program takes their buffers back, so they go on from a copy, as the sends of a spare buffer do.
//!
//! One that was offered may be taken at any moment. Its receiver is kept from copying (see `deal`) while the offer is made to
//! point to the copy; at most one chunk is waited for, which needs no help of this rank. If even that takes long, since the
//! receiver is stopped or another rank has spoilt the words of the deal, the message is lost, and the receiver is told so.

use super::pair::NearPair;
use crate::message::buffer::chunk::Chunks;
use crate::message::buffer::spot::{Buffer, Staged, copy_of};
use crate::message::state::op::SendOp;
use crate::message::wire::deal::Stopped;
use crate::ni::Rest;

/// What a send goes on with.
enum Copy {
    /// In private memory, which the receiver reaches.
    Private(Box<[u8]>),
    /// In job memory.
    Staged(Box<Staged>),
}

impl NearPair<'_> {
    /// Takes back the buffer of a send that was offered; see `Pair::withdraw_send`.
    #[cold]
    pub fn withdraw_send(self, op: &mut SendOp) {
        // The receive may be there: then there is nothing to copy for.
        let _ = self.poke_send(op);
        if !self.is_over(op) {
            self.go_on_from_copy(op);
        }
    }

    /// Whether nobody will read the buffer of an offered send any more.
    pub fn is_over(self, op: &SendOp) -> bool {
        let is_taken = self.mine().post(op.entry).look().0 >= op.number;
        let deal = self.theirs().deal(op.entry);
        is_taken || deal.done(op.number, Chunks::of(op.buffer.bytes).count) || self.core.has_departed(self.link.rank)
    }

    fn go_on_from_copy(self, op: &mut SendOp) {
        if let Some(staged) = op.staged.take() {
            // It goes from a copy already.
            let told = op.told.take();
            // SAFETY: the copy stays with the operation until it is done.
            let op = unsafe { op.of_copy(staged.buffer(), Some(staged), told) };
            return self.core.spool_withdrawn(op, Box::default());
        }
        // Before the receiver is kept waiting.
        let copy = self.copy_for(op);
        let (theirs, count) = (self.theirs(), Chunks::of(op.buffer.bytes).count);
        let (deal, mut rest) = (theirs.deal(op.entry), Rest::new(&self.core.ni));
        while deal.hold(op.number, count) != Stopped::Now {
            if self.is_over(op) {
                return;
            }
            // This rank, which is here, copies no message to itself meanwhile, whatever others have written.
            if self.knows_place() {
                break;
            }
            // A thread reads where the buffer is, so there it must stay, and no thread is hostile. A process asks the kernel,
            // which harms nobody.
            if rest.wait_and_serve() && !self.core.ni.threads {
                deal.lose(op.number);
                return self.notify();
            }
        }
        let Some(copy) = copy else {
            deal.lose(op.number);
            return self.notify();
        };
        let (buffer, data, staged) = match copy {
            Copy::Private(data) => (Buffer::of(&data), data, None),
            Copy::Staged(staged) => (staged.buffer(), Box::default(), Some(staged)),
        };
        let told = self.tell_place(buffer, theirs.offer(op.entry));
        deal.let_go(op.number);
        self.notify();
        // SAFETY: the copy stays beside the operation until it is done.
        let op = unsafe { op.of_copy(buffer, staged, told) };
        self.core.spool_withdrawn(op, data);
    }

    /// A copy of what is sent, where its receiver reaches it; `None` without memory for it.
    fn copy_for(self, op: &SendOp) -> Option<Copy> {
        let private = Buffer::of(&[0]);
        if !private.needs_staging(&self.core.ni, self.link.rank) {
            return copy_of(op.buffer).map(Copy::Private);
        }
        let staged = Staged::new(&self.core.ni, op.buffer.bytes).ok()?;
        // SAFETY: a fresh part of the own heap, of the same size.
        unsafe { op.buffer.copy_to(staged.buffer().start) };
        Some(Copy::Staged(Box::new(staged)))
    }
}
