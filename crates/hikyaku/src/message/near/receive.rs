//! Receiving from a near member.

use super::pair::NearPair;
use super::short::place_of;
use super::spoiled::count_copied;
use crate::error::{Error, Refusal, Result};
use crate::message::buffer::chunk::Chunks;
use crate::message::buffer::spot::Staged;
use crate::message::state::op::ReceiveOp;
use crate::message::wire::deal::Stopped;
use crate::message::wire::layout::EAGER_MAX;
use crate::message::wire::slot::{HeadInfo, HeadKind};
use crate::ni::Rest;

impl NearPair<'_> {
    /// Whether a message waits in a slot.
    pub fn has_message(self, entry: usize) -> bool {
        let peer = self.link.state.borrow();
        let (taken, sent) = (peer.slots[entry].receive.taken, peer.slots[entry].send.sent);
        drop(peer);
        if self.is_oneself() && sent <= taken {
            // Of oneself there is none that one has not sent, whatever others have written there.
            return false;
        }
        let by_head = self.mine().head(entry).look(taken + 1).is_some();
        by_head || self.find_node(entry, taken + 1).is_some()
    }

    /// How many bytes the message has that waits in a slot, as its sender says.
    pub fn waiting_bytes(self, entry: usize) -> Result<Option<usize>> {
        if !self.has_message(entry) {
            return Ok(None);
        }
        let number = self.link.state.borrow().slots[entry].receive.taken + 1;
        match self.mine().head(entry).look(number) {
            Some(told) if told.kind() == HeadKind::Offer => Ok(Some(self.glimpse(self.mine().offer(entry))?.bytes)),
            Some(told) => Ok(Some(told.bytes())),
            None => Ok(self.find_node(entry, number).and_then(|node| self.peer_bytes(node))),
        }
    }

    /// Tells the sender of a long message where it is wanted.
    #[inline(always)]
    pub fn post(self, op: &mut ReceiveOp) {
        if !op.posted && op.buffer.bytes > EAGER_MAX {
            self.post_long(op);
        }
    }

    fn post_long(self, op: &mut ReceiveOp) {
        if op.buffer.needs_staging(&self.core.ni, self.link.rank) {
            // Without memory for it the receive waits for this rank, as if it had come late.
            op.staged = Staged::new(&self.core.ni, op.buffer.bytes).ok().map(Box::new);
        }
        // While the sender holds the message, it has come: whoever takes it posts again.
        self.post_as_is(op);
    }

    /// False while the sender holds the message.
    fn post_as_is(self, op: &mut ReceiveOp) -> bool {
        let (mine, theirs) = (self.mine(), self.theirs());
        // Before the deal is opened, and after the last one was done or closed: whoever has claimed a chunk finds what
        // belongs to the claim.
        op.told = self.tell_place(op.target(), theirs.want(op.entry));
        if !mine.deal(op.entry).try_open(op.number) {
            return false;
        }
        theirs.post(op.entry).publish(op.number - 1, true);
        op.posted = true;
        self.notify();
        true
    }

    #[inline(always)]
    pub fn poke_receive(self, op: &mut ReceiveOp) -> Result<Option<usize>> {
        let Some(told) = self.mine().head(op.entry).look(op.number) else {
            let node = self.find_node(op.entry, op.number);
            let Some(node) = node else { return Ok(None) };
            op.told = None;
            return self.take_node(op, node).map(Some);
        };
        let result = match told.kind() {
            HeadKind::Offer => self.take_offer(op),
            HeadKind::Value | HeadKind::Line | HeadKind::Bounce => self.take_eager(op, told),
        };
        if matches!(result, Ok(None)) {
            return result;
        }
        op.told = None;
        op.posted = false;
        let mut peer = self.link.state.borrow_mut();
        self.note_taken(peer.parts(op.entry), op.entry, op.number, told);
        result
    }

    /// Copies a message that was sent without its receive; `None` while some of it has not come.
    #[inline(always)]
    fn take_eager(self, op: &mut ReceiveOp, told: HeadInfo) -> Result<Option<usize>> {
        if told.bytes() > op.buffer.bytes {
            // For a sender that waits until it was taken.
            self.mine().deal(op.entry).refuse(op.number);
            return Err(self.core.truncated(op, told.bytes()));
        }
        if told.kind() == HeadKind::Bounce && told.bytes() <= EAGER_MAX {
            let mut copied = op.copied as usize;
            let all = self.take_pieces(&self.link.state.borrow().bounces, told, op.buffer, &mut copied);
            op.copied = copied as u32;
            return Ok(all.then_some(told.bytes()));
        }
        let Some(source) = place_of(self.mine(), op.entry, &told) else {
            return Err(Error::PeerMisbehaved { rank: self.link.rank, what: "a message longer than its place" });
        };
        // SAFETY: both sides hold as many bytes, as checked above.
        unsafe { op.buffer.fill(0, source, told.bytes()) };
        Ok(Some(told.bytes()))
    }

    /// Copies what it can of an offered message; `None` while the sender still copies.
    fn take_offer(self, op: &mut ReceiveOp) -> Result<Option<usize>> {
        let (ni, rank, mine) = (&*self.core.ni, self.link.rank, self.mine());
        let (spot, deal) = (mine.offer(op.entry), mine.deal(op.entry));
        // A sender that gives its buffer up tells of another one, of the same size.
        let offered = self.glimpse(spot)?;
        if offered.bytes > op.buffer.bytes {
            return self.refuse_offer(op, offered.bytes);
        }
        let chunks = Chunks::of(offered.bytes);
        if (op.posted || self.post_as_is(op)) && offered.is_reachable {
            while let Some(index) = deal.claim_back(op.number, chunks.count) {
                // Only now: the claim keeps the sender's buffer where it is.
                let offer = self.hear_place_of(spot, chunks.bytes);
                // SAFETY: the claim makes this the only one who writes the chunk; the sender keeps its buffer until
                // all claimed chunks are counted.
                let read = offer.and_then(|offer| unsafe { offer.read(ni, op.target(), chunks.range(index)) });
                count_copied(deal, op.number, read)?;
            }
        }
        let is_done = op.posted && deal.done(op.number, chunks.count);
        if deal.is_lost(op.number) {
            return Err(Error::Refused { rank, reason: Refusal::OutOfMemory });
        }
        if !is_done {
            return Ok(None);
        }
        if let Some(errno) = deal.spoiled(op.number) {
            let bad = Error::BadBuffer { from: rank, to: ni.rank, slot: op.entry % self.core.slots };
            // Nobody changes it any more, so it can be asked again whether it was nonsense.
            let failed = self.hear_place_of(spot, chunks.bytes).err().unwrap_or(bad);
            return Err(self.why_spoiled(errno, failed));
        }
        if let Some(staged) = op.staged.take() {
            // SAFETY: both hold the message, whose size was compared with the buffer's.
            unsafe { op.buffer.fill(0, staged.buffer().start, chunks.bytes) };
        } else {
            op.buffer.was_written(chunks.bytes);
        }
        Ok(Some(chunks.bytes))
    }

    /// An offered message does not fit; `None` while its sender finds that out from what was posted.
    #[cold]
    fn refuse_offer(self, op: &mut ReceiveOp, bytes: usize) -> Result<Option<usize>> {
        if op.posted && self.close(op) != Stopped::Now {
            return Ok(None);
        }
        self.mine().deal(op.entry).refuse(op.number);
        Err(self.core.truncated(op, bytes))
    }

    /// Takes back what was posted.
    fn close(self, op: &ReceiveOp) -> Stopped {
        let mine = self.mine();
        let offered = || self.glimpse(mine.offer(op.entry)).map_or(0, |offered| offered.bytes);
        match mine.deal(op.entry).close(op.number, || Chunks::of(offered()).count) {
            // The sender gives back what it has claimed of a message that does not fit.
            Stopped::Late if offered() > op.buffer.bytes => Stopped::Soon,
            stopped => stopped,
        }
    }

    /// Takes the buffer of a receive back: when this returns, nobody writes to it any more. It waits at most for the chunk that the
    /// sender is copying.
    ///
    /// If that takes long, the sender is stopped, or another rank has spoilt the words they meet on. Where the sender writes to
    /// the program's own buffer, this must wait for it, for it may go on writing: until it has ended. So a hostile rank can keep
    /// this one here, asleep, where it could as well write to its private memory itself (`SECURITY.md`).
    ///
    /// Gives what became of the message if the sender had all of it on its way here.
    pub fn withdraw_receive(self, op: &mut ReceiveOp) -> Option<Result<usize>> {
        let mut rest = Rest::new(&self.core.ni);
        while op.posted {
            match self.close(op) {
                Stopped::Now => {
                    self.theirs().post(op.entry).publish(op.number - 1, false);
                    (op.posted, op.told) = (false, None);
                }
                stopped @ (Stopped::Late | Stopped::Soon) => {
                    if stopped == Stopped::Late
                        && let ended @ Some(_) = self.poke_receive(op).transpose()
                    {
                        return ended;
                    }
                    // Whoever has ended touches nothing any more, and this rank copies no message to itself while it is here,
                    // whatever others have written.
                    if self.knows_place() || self.core.has_departed(self.link.rank) {
                        return None;
                    }
                    if rest.wait_and_serve() && op.staged.is_some() {
                        self.leave_staged(op, stopped);
                        return None;
                    }
                }
            }
        }
        None
    }

    /// The sender may write to the part of the own heap that stood in for the buffer: it stays behind. The next receive of the
    /// slot waits until it has been left, or fails with the sender's end.
    #[cold]
    fn leave_staged(self, op: &mut ReceiveOp, stopped: Stopped) {
        std::mem::forget(op.staged.take());
        op.posted = false;
        // All of the message is on its way there: it will not come again.
        if stopped == Stopped::Late
            && let Some(told) = self.mine().head(op.entry).look(op.number)
        {
            let mut peer = self.link.state.borrow_mut();
            self.note_taken(peer.parts(op.entry), op.entry, op.number, told);
        }
    }
}
