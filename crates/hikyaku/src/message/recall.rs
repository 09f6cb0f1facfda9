//! Sends that are given up: the program takes their buffers back, so they go on from a copy, as the sends of a spare buffer do.
//!
//! One that was offered may be taken at any moment. Its receiver is kept from copying (see `deal`) while the offer is made to
//! point to the copy; at most one chunk is waited for, which needs no help of this rank. If even that takes long, since the
//! receiver is stopped or another rank has spoilt the words of the deal, the message is lost, and the receiver is told so.

use super::Core;
use super::chunk::Chunks;
use super::deal::Stopped;
use super::link::{Link, NearLink};
use super::send::{SendOp, Stage};
use super::spot::{Buffer, Staged};
use crate::ni::rest::Rest;

/// What a send goes on with.
enum Copy {
    /// In private memory, which the receiver reaches.
    Private(Box<[u8]>),
    /// In job memory.
    Staged(Box<Staged>),
}

impl Core {
    /// Gives a send up: when this returns, nobody reads its buffer any more. One that its receiver knows of goes on; one that
    /// has not begun never does.
    #[cold]
    pub(super) fn revoke(&self, op: &mut SendOp) {
        if op.stage != Stage::Offered || self.ni.is_forked() || self.has_departed(self.rank_of(op.member)) {
            return;
        }
        let link = match self.link(op.member) {
            Link::Near(link) => link,
            Link::Far(_) => return self.revoke_far(op),
        };
        // The receive may be there: then there is nothing to copy for.
        let _ = self.poke_send(op);
        if !self.is_over(link, op) {
            self.recall(link, op);
        }
    }

    /// Gives up a send that was promised to leave: nobody reads its buffer any more, and it goes on even if it has not begun.
    #[cold]
    pub(super) fn let_go(&self, op: &mut SendOp) {
        if op.stage != Stage::Start {
            return self.revoke(op);
        }
        if self.ni.is_forked() || self.has_departed(self.rank_of(op.member)) {
            return;
        }
        if let Some(copy) = copy_of(op.buffer) {
            self.go_on_from(op, copy);
        }
    }

    /// A send that was given up goes on from a copy of its bytes.
    pub(super) fn go_on_from(&self, op: &SendOp, copy: Box<[u8]>) {
        // SAFETY: the copy stays beside the operation until it is done.
        let op = unsafe { op.of_copy(Buffer::of(&copy), None, None) };
        self.keep_given_up(op, copy);
    }

    /// Whether nobody will read the buffer of an offered send any more.
    pub(super) fn is_over(&self, link: &NearLink, op: &SendOp) -> bool {
        let is_taken = self.mine(link).post(op.entry).look().0 >= op.number;
        let deal = self.theirs(link).deal(op.entry);
        is_taken || deal.done(op.number, Chunks::of(op.buffer.bytes).count) || self.has_departed(link.rank)
    }

    fn recall(&self, link: &NearLink, op: &mut SendOp) {
        if let Some(staged) = op.staged.take() {
            // It goes from a copy already.
            let told = op.told.take();
            // SAFETY: the copy stays with the operation until it is done.
            let op = unsafe { op.of_copy(staged.buffer(), Some(staged), told) };
            return self.keep_given_up(op, Box::default());
        }
        // Before the receiver is kept waiting.
        let copy = self.copy_for(link, op);
        let (theirs, count) = (self.theirs(link), Chunks::of(op.buffer.bytes).count);
        let (deal, mut rest) = (theirs.deal(op.entry), Rest::new(&self.ni));
        while deal.hold(op.number, count) != Stopped::Now {
            if self.is_over(link, op) {
                return;
            }
            // This rank, which is here, copies no message to itself meanwhile, whatever others have written.
            if self.knows_place(op.member) {
                break;
            }
            // A thread reads where the buffer is, so there it must stay, and no thread is hostile. A process asks the kernel,
            // which harms nobody.
            if rest.wait_and_serve() && !self.ni.threads {
                deal.lose(op.number);
                return self.notify(link);
            }
        }
        let Some(copy) = copy else {
            deal.lose(op.number);
            return self.notify(link);
        };
        let (buffer, data, staged) = match copy {
            Copy::Private(data) => (Buffer::of(&data), data, None),
            Copy::Staged(staged) => (staged.buffer(), Box::default(), Some(staged)),
        };
        let told = self.tell_place(op.member, buffer, theirs.offer(op.entry));
        deal.let_go(op.number);
        self.notify(link);
        // SAFETY: the copy stays beside the operation until it is done.
        let op = unsafe { op.of_copy(buffer, staged, told) };
        self.keep_given_up(op, data);
    }

    /// A copy of what is sent, where its receiver reaches it; `None` without memory for it.
    fn copy_for(&self, link: &NearLink, op: &SendOp) -> Option<Copy> {
        let private = Buffer::of(&[0]);
        if !private.needs_staging(&self.ni, link.rank) {
            return copy_of(op.buffer).map(Copy::Private);
        }
        let staged = Staged::new(&self.ni, op.buffer.bytes).ok()?;
        // SAFETY: a fresh part of the own heap, of the same size.
        unsafe { op.buffer.copy_to(staged.buffer().start) };
        Some(Copy::Staged(Box::new(staged)))
    }
}

/// The bytes of a buffer, in one piece; `None` without memory for them.
fn copy_of(buffer: Buffer) -> Option<Box<[u8]>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(buffer.bytes).ok()?;
    // SAFETY: room for as many bytes, all of which are written before they count.
    unsafe {
        buffer.copy_to(copy.as_mut_ptr());
        copy.set_len(buffer.bytes);
    }
    Some(copy.into_boxed_slice())
}
