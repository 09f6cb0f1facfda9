//! Receiving: from a slot of a rank, from any slot of a rank, from any rank.

use crate::error::{Error, Refusal, Result};
use crate::message::buffer::chunk::Chunks;
use crate::message::buffer::own::Own;
use crate::message::buffer::spot::{Buffer, Staged};
use crate::message::state::header::Header;
use crate::message::state::link::{Link, NearLink};
use crate::message::state::peer::Owner;
use crate::message::wire::deal::Stopped;
use crate::message::wire::layout::EAGER_MAX;
use crate::message::wire::search::find_member;
use crate::message::wire::slot::{Kind, Told};
use crate::message::{Core, Messages};
use crate::ni::rest::Rest;
use crate::ni::wait::{By, Progress};
use crate::sync::bell::ANY;
use crate::transport::shm::layout::State;
use bytemuck::Pod;

/// A receive under way.
#[derive(Debug)]
pub(in crate::message) struct ReceiveOp {
    pub member: usize,
    pub entry: usize,
    pub buffer: Buffer,
    pub number: u64,
    /// Bytes that were copied out of a bounce buffer so far.
    pub copied: u32,
    /// The sender was told where the bytes are wanted.
    posted: bool,
    /// Where they are wanted meanwhile, if the sender cannot reach the buffer.
    staged: Option<Box<Staged>>,
    /// Keeps where a message of oneself is written to.
    told: Option<Box<Own>>,
    /// What a far sender was told.
    pub header: Option<Box<Header>>,
}

impl ReceiveOp {
    /// A receive of message `number` that has not begun.
    #[inline(always)]
    pub fn new(buffer: Buffer, member: usize, entry: usize, number: u64) -> ReceiveOp {
        ReceiveOp { member, entry, buffer, number, copied: 0, posted: false, staged: None, told: None, header: None }
    }

    /// Whether it has more to remember than its buffer.
    pub fn has_begun(&self) -> bool {
        self.posted || self.copied > 0
    }

    /// The number of the message it is for.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Where a long message is put together.
    fn target(&self) -> Buffer {
        self.staged.as_ref().map_or(self.buffer, |staged| staged.buffer())
    }
}

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
    /// Receives from slot `slot` of `rank`; gives the number of elements that came, which may be fewer than fit. Of elements
    /// without a size that is 0.
    #[inline]
    pub fn recv<T: Pod>(&self, into: &mut [T], rank: usize, slot: usize) -> Result<usize> {
        let into = Buffer::of_mut(bytemuck::cast_slice_mut(into));
        // SAFETY: borrowed for the time of this call.
        let short = if slot < self.core.slots { unsafe { self.core.recv_short(into, rank, slot) } } else { None };
        let bytes = match short {
            Some(bytes) => bytes,
            None => self.recv_entry(into, rank, slot, slot)?,
        };
        Ok(bytes / size_of::<T>().max(1))
    }

    /// Receives the next message of `rank`, whatever its slot (TAG_ANY).
    pub fn recv_any_slot<T: Pod>(&self, into: &mut [T], rank: usize) -> Result<Received> {
        self.core.check(rank, 0)?;
        let slot = self.job.wait_until(By::Rank(self.core.rank_of(rank)), None, ANY, Progress::Seldom, || {
            self.core.move_spooled();
            self.core.find_slot(rank)
        })?;
        let len = self.recv(into, rank, slot)?;
        Ok(Received { rank, slot, len })
    }

    /// Receives what was sent by [`Messages::send_any`] to slot `slot`, from whomever.
    ///
    /// The loss of a member is told once, by [`Error::PeerDead`] or [`Error::Unreachable`]; afterwards messages of the others
    /// are awaited as before, until nobody is left who could send.
    pub fn recv_any<T: Pod>(&self, into: &mut [T], slot: usize) -> Result<Received> {
        self.core.check(self.core.me, slot)?;
        let entry = self.core.slots + slot;
        // Whose end matters is decided here: ranks that are no members do not.
        let myself = By::Rank(self.job.rank());
        let member = self.job.wait_until(myself, None, ANY, Progress::Seldom, || {
            self.core.move_spooled();
            let found = || self.core.find_member(entry);
            // What was sent before the end counts.
            found().map(Ok).or_else(|| self.core.check_senders().err().map(|error| found().ok_or(error)))
        })??;
        let received = self.recv_entry(Buffer::of_mut(bytemuck::cast_slice_mut(into)), member, slot, entry);
        if received.as_ref().is_err_and(Error::is_end_of_peer) {
            self.core.skip_last(member, entry);
        }
        Ok(Received { rank: member, slot, len: received? / size_of::<T>().max(1) })
    }

    pub(in crate::message) fn recv_entry(
        &self,
        buffer: Buffer,
        rank: usize,
        slot: usize,
        entry: usize,
    ) -> Result<usize> {
        self.core.check(rank, slot)?;
        self.core.enter(rank);
        // SAFETY: the operation ends, or is withdrawn, before this call returns.
        let mut op = unsafe { self.core.begin_receive(buffer, rank, entry)? };
        if let Some(bytes) = self.core.poke_receive(&mut op)? {
            return Ok(bytes);
        }
        self.await_receive(&mut op)
    }

    /// Waits until a receive is done.
    pub(in crate::message) fn await_receive(&self, op: &mut ReceiveOp) -> Result<usize> {
        self.core.post(op);
        let by = By::Rank(self.core.rank_of(op.member));
        // Also if a handler panics in the wait: the buffer is the program's then.
        let mut receive = Withdrawn::new(&self.core, op);
        let received = self.job.wait_until(by, None, ANY, Progress::Seldom, || {
            self.core.move_spooled();
            self.core.poke_receive(receive.op).transpose()
        })??;
        receive.is_done = true;
        Ok(received)
    }
}

/// A receive that has its slot to itself, and is given up when this is dropped before it is done.
struct Withdrawn<'a> {
    core: &'a Core,
    op: &'a mut ReceiveOp,
    is_done: bool,
}

impl<'a> Withdrawn<'a> {
    fn new(core: &'a Core, op: &'a mut ReceiveOp) -> Withdrawn<'a> {
        core.state(op.member).borrow_mut().slots[op.entry].receive.owner = Owner::Waiting;
        Withdrawn { core, op, is_done: false }
    }
}

impl Drop for Withdrawn<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.core.withdraw(self.op);
        }
        self.core.state(self.op.member).borrow_mut().slots[self.op.entry].receive.owner = Owner::Nobody;
    }
}

impl Core {
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

    /// Whether a message waits in a slot.
    fn has_message(&self, member: usize, entry: usize) -> bool {
        match self.links.met(member) {
            Some(Link::Near(link)) => self.has_near_message(link, member, entry),
            Some(Link::Far(link)) => self.has_far_message(link, entry),
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

    fn has_near_message(&self, link: &NearLink, member: usize, entry: usize) -> bool {
        let peer = link.state.borrow();
        let (taken, sent) = (peer.slots[entry].receive.taken, peer.slots[entry].send.sent);
        drop(peer);
        if member == self.me && sent <= taken {
            // Of oneself there is none that one has not sent, whatever others have written there.
            return false;
        }
        let by_head = self.mine(link).head(entry).look(taken + 1).is_some();
        by_head || self.find_node(link, entry, taken + 1).is_some()
    }

    /// The lowest slot of `member` in which a message waits that no receive under way is for.
    pub(in crate::message) fn find_slot(&self, member: usize) -> Option<usize> {
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

    /// A receive that has not begun; fails if another one is under way in its slot (F3).
    ///
    /// # Safety
    /// The buffer stays, and nobody else uses it, until the operation is done or withdrawn.
    #[inline(always)]
    pub(in crate::message) unsafe fn begin_receive(
        &self,
        buffer: Buffer,
        member: usize,
        entry: usize,
    ) -> Result<ReceiveOp> {
        let peer = self.state(member).borrow();
        let receive = &peer.slots[entry].receive;
        if !receive.is_open(false) {
            return Err(self.slot_busy(member, entry));
        }
        Ok(ReceiveOp::new(buffer, member, entry, receive.taken + 1))
    }

    /// Tells the sender of a long message where it is wanted, so that it can begin without this rank (F5).
    #[inline(always)]
    pub(in crate::message) fn post(&self, op: &mut ReceiveOp) {
        match self.link(op.member) {
            Link::Near(link) if !op.posted && op.buffer.bytes > EAGER_MAX => self.post_long(link, op),
            Link::Near(_) => {}
            Link::Far(link) => self.post_far(link, op),
        }
    }

    fn post_long(&self, link: &NearLink, op: &mut ReceiveOp) {
        if op.buffer.needs_staging(&self.ni, link.rank) {
            // Without memory for it the receive waits for this rank, as if it had come late.
            op.staged = Staged::new(&self.ni, op.buffer.bytes).ok().map(Box::new);
        }
        // While the sender holds the message, it has come: whoever takes it posts again.
        self.post_as_is(link, op);
    }

    /// False while the sender holds the message.
    fn post_as_is(&self, link: &NearLink, op: &mut ReceiveOp) -> bool {
        let (mine, theirs) = (self.mine(link), self.theirs(link));
        // Before the deal is opened, and after the last one was done or closed: whoever has claimed a chunk finds what
        // belongs to the claim.
        op.told = self.tell_place(op.member, op.target(), theirs.want(op.entry));
        if !mine.deal(op.entry).try_open(op.number) {
            return false;
        }
        theirs.post(op.entry).publish(op.number - 1, true);
        op.posted = true;
        self.notify(link);
        true
    }

    /// Takes a receive as far as it goes now; gives the bytes when it is done.
    #[inline]
    pub(in crate::message) fn poke_receive(&self, op: &mut ReceiveOp) -> Result<Option<usize>> {
        match self.link(op.member) {
            Link::Near(link) => self.poke_near_receive(link, op),
            Link::Far(link) => self.poke_far_receive(link, op),
        }
    }

    #[inline(always)]
    fn poke_near_receive(&self, link: &NearLink, op: &mut ReceiveOp) -> Result<Option<usize>> {
        let Some(told) = self.mine(link).head(op.entry).look(op.number) else {
            let node = self.find_node(link, op.entry, op.number);
            let Some(node) = node else { return Ok(None) };
            op.told = None;
            return self.take_node(link, op, node).map(Some);
        };
        let result = match told.kind {
            Kind::Offer => self.take_offer(link, op),
            Kind::Value | Kind::Line | Kind::Bounce => self.take_eager(link, op, told),
        };
        if matches!(result, Ok(None)) {
            return result;
        }
        op.told = None;
        op.posted = false;
        let mut peer = link.state.borrow_mut();
        self.settle(link, peer.parts(op.entry), op.entry, op.number, told);
        result
    }

    /// Copies a message that was sent without its receive; `None` while some of it has not come.
    #[inline(always)]
    fn take_eager(&self, link: &NearLink, op: &mut ReceiveOp, told: Told) -> Result<Option<usize>> {
        if told.bytes > op.buffer.bytes {
            // For a sender that waits until it was taken.
            self.mine(link).deal(op.entry).refuse(op.number);
            return Err(self.truncated(op, told.bytes));
        }
        if told.kind == Kind::Bounce && told.bytes <= EAGER_MAX {
            let mut copied = op.copied as usize;
            let all = self.take_pieces(link, &link.state.borrow().bounces, &told, op.buffer, &mut copied);
            op.copied = copied as u32;
            return Ok(all.then_some(told.bytes));
        }
        let Some(source) = self.place_of(self.mine(link), op.entry, &told) else {
            return Err(Error::PeerMisbehaved { rank: link.rank, what: "a message longer than its place" });
        };
        // SAFETY: both sides hold as many bytes, as checked above.
        unsafe { op.buffer.fill(0, source, told.bytes) };
        Ok(Some(told.bytes))
    }

    /// Copies what it can of an offered message; `None` while the sender still copies.
    fn take_offer(&self, link: &NearLink, op: &mut ReceiveOp) -> Result<Option<usize>> {
        let (ni, rank, mine) = (&*self.ni, link.rank, self.mine(link));
        let (spot, deal) = (mine.offer(op.entry), mine.deal(op.entry));
        // A sender that gives its buffer up tells of another one, of the same size.
        let offered = self.glimpse(op.member, spot)?;
        if offered.bytes > op.buffer.bytes {
            return self.refuse_offer(link, op, offered.bytes);
        }
        let chunks = Chunks::of(offered.bytes);
        if (op.posted || self.post_as_is(link, op)) && offered.is_reachable {
            while let Some(index) = deal.claim_back(op.number, chunks.count) {
                // Only now: the claim keeps the sender's buffer where it is.
                let offer = self.hear_place_of(op.member, spot, chunks.bytes);
                // SAFETY: the claim makes this the only one who writes the chunk; the sender keeps its buffer until
                // all claimed chunks are counted.
                let read = offer.and_then(|offer| unsafe { offer.read(ni, op.target(), chunks.range(index)) });
                self.count_copied(deal, op.number, read)?;
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
            let bad = Error::BadBuffer { from: rank, to: ni.rank, slot: op.entry % self.slots };
            // Nobody changes it any more, so it can be asked again whether it was nonsense.
            let failed = self.hear_place_of(op.member, spot, chunks.bytes).err().unwrap_or(bad);
            return Err(self.why_spoiled(errno, op.member, failed));
        }
        if let Some(staged) = op.staged.take() {
            // SAFETY: both hold the message, whose size was compared with the buffer's.
            unsafe { op.buffer.fill(0, staged.buffer().start, chunks.bytes) };
        }
        Ok(Some(chunks.bytes))
    }

    /// An offered message does not fit; `None` while its sender finds that out from what was posted.
    #[cold]
    fn refuse_offer(&self, link: &NearLink, op: &mut ReceiveOp, bytes: usize) -> Result<Option<usize>> {
        if op.posted && self.close(link, op) != Stopped::Now {
            return Ok(None);
        }
        self.mine(link).deal(op.entry).refuse(op.number);
        Err(self.truncated(op, bytes))
    }

    /// Takes back what was posted.
    fn close(&self, link: &NearLink, op: &ReceiveOp) -> Stopped {
        let mine = self.mine(link);
        let offered = || self.glimpse(op.member, mine.offer(op.entry)).map_or(0, |offered| offered.bytes);
        match mine.deal(op.entry).close(op.number, || Chunks::of(offered()).count) {
            // The sender gives back what it has claimed of a message that does not fit.
            Stopped::Late if offered() > op.buffer.bytes => Stopped::Soon,
            stopped => stopped,
        }
    }

    pub(in crate::message) fn truncated(&self, op: &ReceiveOp, bytes: usize) -> Error {
        Error::Truncated { from: self.rank_of(op.member), to: self.ni.rank, slot: op.entry % self.slots, bytes }
    }

    /// Gives a receive up: when this returns, nobody writes to its buffer any more. It waits at most for the chunk that the
    /// sender is copying. The message stays for the next receive, unless all of it was on its way into this one.
    ///
    /// If that takes long, the sender is stopped, or another rank has spoilt the words they meet on. Where the sender writes to
    /// the program's own buffer, this must wait for it, for it may go on writing: until it has ended. So a hostile rank can keep
    /// this one here, asleep, where it could as well write to its private memory itself (`SECURITY.md`).
    pub(in crate::message) fn withdraw(&self, op: &mut ReceiveOp) {
        match self.link(op.member) {
            Link::Near(link) => self.withdraw_near(link, op),
            Link::Far(link) => self.withdraw_far(link, op),
        }
    }

    fn withdraw_near(&self, link: &NearLink, op: &mut ReceiveOp) {
        let mut rest = Rest::new(&self.ni);
        while op.posted {
            match self.close(link, op) {
                Stopped::Now => {
                    self.theirs(link).post(op.entry).publish(op.number - 1, false);
                    (op.posted, op.told) = (false, None);
                }
                Stopped::Late if !matches!(self.poke_near_receive(link, op), Ok(None)) => return,
                stopped @ (Stopped::Late | Stopped::Soon) => {
                    // Whoever has ended touches nothing any more, and this rank copies no message to itself while it is here,
                    // whatever others have written.
                    if self.knows_place(op.member) || self.has_departed(link.rank) {
                        return;
                    }
                    if rest.wait_and_serve() && op.staged.is_some() {
                        return self.leave_staged(link, op, stopped);
                    }
                }
            }
        }
    }

    /// The sender may write to the part of the own heap that stood in for the buffer: it stays behind. The next receive of the
    /// slot waits until it has been left, or fails with the sender's end.
    #[cold]
    fn leave_staged(&self, link: &NearLink, op: &mut ReceiveOp, stopped: Stopped) {
        std::mem::forget(op.staged.take());
        op.posted = false;
        // All of the message is on its way there: it will not come again.
        if stopped == Stopped::Late
            && let Some(told) = self.mine(link).head(op.entry).look(op.number)
        {
            let mut peer = link.state.borrow_mut();
            self.settle(link, peer.parts(op.entry), op.entry, op.number, told);
        }
    }
}
