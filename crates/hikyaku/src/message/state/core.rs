//! Everything that a rank keeps for its messages with some members. Whoever does something with it is above: this file knows
//! what there is, not what is done.

use super::far_link::FarLink;
use super::link::{Link, Links, NearLink};
use super::op::{ReceiveOp, SendOp};
use super::peer::Peer;
use super::pending::Pending;
use super::pool::Pool;
use super::spool::{Carried, Spool, Spooled};
use crate::error::{Error, Result};
use crate::message::buffer::own::OwnSpots;
use crate::message::buffer::spot::Buffer;
use crate::message::wire::layout::{DOMAINS, Home, Layout, Side};
use crate::message::wire::roster::Roster;
use crate::ni::{By, Ni, background};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::{Rc, Weak};
use std::sync::Arc;

/// What goes on without the program's calls: other waits of this thread move it too.
pub(in crate::message) struct Core {
    pub ni: Arc<Ni>,
    pub layout: Layout,
    pub slots: usize,
    /// Sends wait for their receives here, so most likely at the others too.
    pub is_synchronous: Cell<bool>,
    /// Which ranks the members are, and where their parts lie.
    pub roster: Roster,
    /// How many there are, of which this rank is number `me`.
    pub size: usize,
    pub me: usize,
    pub links: Links,
    /// Far members that are owed something.
    pub owing: RefCell<Vec<usize>>,
    /// Members whose death was told by a receive from anyone.
    pub mourned: RefCell<HashSet<usize>>,
    pub spool: RefCell<Spool>,
    /// Sends in it.
    pub spooled: Cell<usize>,
    /// Nodes for chains.
    pub pool: RefCell<Pool>,
    pub pending: RefCell<Pending>,
    /// Buffers of long messages to oneself.
    pub own_spots: Rc<OwnSpots>,
    /// Where the next search for a message of any rank begins, so that none is always first.
    pub turn: Cell<usize>,
    /// Waits of the thread look here.
    is_watched: Cell<bool>,
    /// By which they do.
    this: Weak<Core>,
}

impl Core {
    /// For `slots` slots with each of `size` members, of which this rank is number `me`.
    pub fn new(ni: Arc<Ni>, slots: usize, roster: Roster, size: usize, me: usize) -> Rc<Core> {
        Rc::new_cyclic(|this| Core {
            ni,
            layout: Layout::new(DOMAINS * slots),
            slots,
            is_synchronous: Cell::new(false),
            roster,
            size,
            me,
            links: Links::new(size),
            owing: RefCell::default(),
            mourned: RefCell::default(),
            spool: RefCell::default(),
            spooled: Cell::new(0),
            pool: RefCell::default(),
            pending: RefCell::default(),
            own_spots: Rc::default(),
            turn: Cell::new(0),
            is_watched: Cell::new(false),
            this: this.clone(),
        })
    }

    /// Something is under way, which waits of the thread move on from now on. They look at those alone that have said so: a program
    /// may have thousands of groups.
    #[inline(always)]
    pub fn watch(&self) {
        if !self.is_watched.replace(true) {
            self.begin_watch();
        }
    }

    #[cold]
    fn begin_watch(&self) {
        if let Some(this) = self.this.upgrade() {
            background::register(&self.ni.workplaces, &this);
        }
    }

    /// Whether nothing is under way; then it is not watched any more.
    pub fn rest(&self) -> bool {
        let is_idle = self.pending.try_borrow().is_ok_and(|pending| pending.is_idle());
        let rests = is_idle && self.spooled.get() == 0 && self.owing.try_borrow().is_ok_and(|owing| owing.is_empty());
        self.is_watched.set(!rests);
        rests
    }

    /// A member, whose link is made if there is none.
    #[inline(always)]
    pub fn link(&self, member: usize) -> &Link {
        match self.links.met(member) {
            Some(link) => link,
            None => self.meet(member),
        }
    }

    /// Whether a member is near or far is asked here, when its link is made, and never again.
    #[cold]
    fn meet(&self, member: usize) -> &Link {
        self.links.meet(member, || {
            let (rank, entries, mine) = (self.rank_of(member), DOMAINS * self.slots, self.part(self.me, member));
            if self.ni.is_near(rank) {
                return Link::Near(Box::new(NearLink::new(rank, mine, self.part(member, self.me), entries)));
            }
            let theirs = self.start_of(member, self.me);
            Link::Far(Box::new(FarLink::new(rank, mine, theirs, entries)))
        })
    }

    /// What this rank keeps to itself about `member`.
    #[inline(always)]
    pub fn state(&self, member: usize) -> &RefCell<Peer> {
        self.link(member).state()
    }

    /// The program has entered a call that sends to `member` or receives from it.
    #[inline(always)]
    pub fn enter(&self, member: usize) {
        if let Some(environment) = &self.ni.environment
            && self.link(member).is_far()
        {
            environment.call();
        }
    }

    /// The rank of a member in the job.
    #[inline(always)]
    pub fn rank_of(&self, member: usize) -> usize {
        self.roster.rank(member)
    }

    /// Checks a member and a slot, and in a forked child refuses both.
    #[inline(always)]
    pub fn check(&self, member: usize, slot: usize) -> Result<()> {
        if member >= self.size || self.ni.is_forked() {
            return Err(self.bad_member(member));
        }
        if slot < self.slots { Ok(()) } else { Err(Error::NoSuchSlot { slot, slots: self.slots }) }
    }

    #[cold]
    fn bad_member(&self, member: usize) -> Error {
        // Every rank of the job is out of range in a forked child.
        self.ni.check_rank(self.ni.rank).err().unwrap_or(Error::NoSuchRank { rank: member, size: self.size })
    }

    #[cold]
    pub fn slot_busy(&self, member: usize, entry: usize) -> Error {
        Error::SlotBusy { rank: self.rank_of(member), slot: entry % self.slots }
    }

    /// A message of `bytes` bytes does not fit a receive.
    #[cold]
    pub fn truncated(&self, op: &ReceiveOp, bytes: usize) -> Error {
        Error::Truncated { from: self.rank_of(op.member), to: self.ni.rank, slot: op.entry % self.slots, bytes }
    }

    /// Whether any rank has ended, so that it is worth asking which.
    #[inline(always)]
    pub fn has_departures(&self) -> bool {
        self.ni.departures() != 0
    }

    /// Whether `rank` has ended.
    pub fn has_departed(&self, rank: usize) -> bool {
        self.has_departures() && self.ni.find_departed(By::Rank(rank)).is_err()
    }
}

/// Where the words are.
impl Core {
    /// Where a near member, or this rank, holds what it has for `member`.
    fn part(&self, owner: usize, member: usize) -> Home {
        Home::find(&self.ni, self.rank_of(owner), self.start_of(owner, member), self.layout)
    }

    /// Where that is in the owner's heap.
    fn start_of(&self, owner: usize, member: usize) -> usize {
        self.roster.part(owner) + member * self.layout.peer_bytes
    }

    /// What this rank holds for a member, whether they have talked or not.
    pub fn own_side(&self, member: usize) -> Side<'_> {
        self.side_of(self.me, member)
    }

    /// What a near member holds for this rank, whether they have talked or not.
    #[cfg(test)]
    pub fn their_side(&self, member: usize) -> Side<'_> {
        assert!(self.ni.is_near(self.rank_of(member)), "a near member");
        self.side_of(member, self.me)
    }

    fn side_of(&self, owner: usize, member: usize) -> Side<'_> {
        let (start, bytes) = (self.start_of(owner, member) as u64, self.layout.peer_bytes as u64);
        let span = self.ni.near_span(self.rank_of(owner), start, bytes);
        Side::over(span.expect("a part of the heap of a near member"), &self.layout)
    }
}

/// Sends that go on by themselves.
impl Core {
    /// Whether a send to this slot must wait behind one that goes on by itself.
    #[inline(always)]
    pub fn is_spooled(&self, member: usize, entry: usize) -> bool {
        self.spooled.get() != 0 && self.spool.borrow().lanes.contains_key(&(member, entry))
    }

    /// Adds a send to those of its slot.
    pub fn spool(&self, member: usize, entry: usize, spooled: Spooled) {
        self.watch();
        let mut spool = self.spool.borrow_mut();
        spool.tally.used += spooled.takes;
        spool.tally.waiting += 1;
        self.spooled.set(spool.tally.waiting);
        spool.lanes.entry((member, entry)).or_default().push_back(spooled);
    }

    /// A send that was withdrawn goes on from a copy of its bytes.
    pub fn go_on_from(&self, op: &SendOp, copy: Box<[u8]>) {
        // SAFETY: the copy stays beside the operation until it is done.
        let op = unsafe { op.of_copy(Buffer::of(&copy), None, None) };
        self.spool_withdrawn(op, copy);
    }

    /// Keeps a send that was withdrawn, and what it sends from, until it is done.
    pub fn spool_withdrawn(&self, op: SendOp, data: Box<[u8]>) {
        let (member, entry) = (op.member, op.entry);
        self.spool(member, entry, Spooled { carried: Carried::Helped { op, _data: data }, takes: 0, promised: false });
    }

    /// Takes what goes on by itself: it does not any more.
    pub fn take_spool(&self) -> Spool {
        self.spooled.set(0);
        self.spool.take()
    }
}

/// Operations that have not begun.
impl Core {
    /// A send; fails if another one is under way in its slot (F3).
    ///
    /// # Safety
    /// The buffer stays until the operation is done.
    #[inline(always)]
    pub unsafe fn begin_send(&self, buffer: Buffer, member: usize, entry: usize) -> Result<SendOp> {
        if !self.state(member).borrow().slots[entry].send.is_open(false) {
            return Err(self.slot_busy(member, entry));
        }
        Ok(SendOp::new(buffer, member, entry))
    }

    /// A receive; fails if another one is under way in its slot (F3).
    ///
    /// # Safety
    /// The buffer stays, and nobody else uses it, until the operation is done or withdrawn.
    #[inline(always)]
    pub unsafe fn begin_receive(&self, buffer: Buffer, member: usize, entry: usize) -> Result<ReceiveOp> {
        let peer = self.state(member).borrow();
        let receive = &peer.slots[entry].receive;
        if !receive.is_open(false) {
            return Err(self.slot_busy(member, entry));
        }
        Ok(ReceiveOp::new(buffer, member, entry, receive.taken + 1))
    }
}
