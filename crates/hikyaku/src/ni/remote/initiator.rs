//! Who starts operations: one port's ways out, and what it has under way.
//!
//! Its methods are in the files of this folder, each of which adds one kind of operation or of waiting for them.

use crate::error::{Error, Refusal, Result};
use crate::ni::interface::Ni;
use crate::ni::reach::place::Place;
use crate::ni::state::awaited::{By, Wait};
use crate::ni::state::lane::Lane;
use crate::ni::state::routes::Routes;
use crate::ni::state::stay::Stay;
use crate::ni::state::transfer::FIRST_SCOPE;
use crate::ni::wire::target::Target;
use crate::sync::guard::Guard;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What is inside of a [`Port`](crate::Port).
pub(crate) struct Initiator {
    pub ni: Arc<Ni>,
    /// The interface's own, one load nearer: every operation begins there.
    pub routes: Routes,
    pub lane: RefCell<Lane>,
    /// Which of the interface's ports it is.
    pub index: usize,
    /// What may be under way: [`ROUTED`] and [`MESSAGED`].
    started: Cell<u8>,
    /// Remote operations since the last look for messages.
    idle_ops: Cell<u32>,
    /// A long push since the last wait.
    has_moved_much: Cell<bool>,
    /// A call is under way.
    calls: Cell<bool>,
    /// Scopes of transfers so far.
    scopes: Cell<u32>,
    /// Which call of the program it is in.
    pub stay: Stay,
    /// Room to pack parts in.
    pub(super) scratch: RefCell<Vec<u8>>,
    /// Areas with a pin of this port that is to be ended when there is room.
    pub(super) owed: RefCell<Vec<Target>>,
    /// Far ranks that it has written words to which nobody waits for.
    hinted: RefCell<BTreeSet<usize>>,
}

/// Operations that were routed.
const ROUTED: u8 = 1;
/// Messages to handlers.
const MESSAGED: u8 = 2;

/// A push of so many bytes takes as long as a thread that shares its core spins. So does the answer, if it is as long.
const MUCH: usize = 16 << 10;

/// How many remote operations may pass before a port looks for arrived messages.
const IDLE_OPS_MAX: u32 = 32;

impl Initiator {
    /// Takes a free port of the interface.
    pub fn new(ni: &Arc<Ni>) -> Result<Initiator> {
        let index = ni.take_port()?;
        // What was refused before concerns whoever had the port open then.
        let _ = ni.accounts[index].take_refusal();
        Ok(Initiator {
            ni: ni.clone(),
            routes: ni.routes.clone(),
            lane: RefCell::new(ni.take_lane(index)),
            index,
            started: Cell::new(0),
            idle_ops: Cell::new(0),
            has_moved_much: Cell::new(false),
            calls: Cell::new(false),
            scopes: Cell::new(0),
            stay: Stay::default(),
            scratch: RefCell::default(),
            owed: RefCell::default(),
            hinted: RefCell::default(),
        })
    }

    /// Counts a remote operation and now and then looks for messages, so that a rank that only pushes answers too.
    #[inline(always)]
    pub fn tick(&self) {
        let ops = self.idle_ops.get() + 1;
        self.idle_ops.set(ops);
        if ops >= IDLE_OPS_MAX {
            self.look();
        }
    }

    /// Likewise, as long as no look for messages is due; then it is not counted.
    #[inline(always)]
    pub fn tick_without_look(&self) -> bool {
        let ops = self.idle_ops.get() + 1;
        if ops < IDLE_OPS_MAX {
            self.idle_ops.set(ops);
        }
        ops < IDLE_OPS_MAX
    }

    /// Out of line, so that the operations stay short.
    #[cold]
    #[inline(never)]
    fn look(&self) {
        self.idle_ops.set(0);
        // Simulated ranks that share memory see no end of each other's loops unless time goes on in them.
        if self.ni.environment.is_some() && self.ni.routes.near().len() > 1 {
            self.ni.look();
        }
        self.ni.progress();
        self.ni.failure.raise();
    }

    /// The address of `count` elements of symmetric memory that is mapped here; see [`Base::pointer_to`](crate::ni::base::Base).
    #[inline(always)]
    pub fn pointer_to<T>(&self, place: &Place<'_, T>, count: usize) -> Option<*mut u8> {
        self.ni.pointer_by(&self.routes, place, count)
    }

    /// The mark for operations on areas of `rank`: its owner waits for it, and trusts that of its own threads to nobody.
    #[inline]
    pub fn guard_at(&self, rank: usize) -> &Guard {
        if rank == self.ni.rank { self.ni.own_areas.guard(self.index) } else { &self.ni.mine().guards[self.index] }
    }

    /// Whether routed operations may be under way.
    #[inline(always)]
    pub fn has_routed(&self) -> bool {
        self.started.get() & ROUTED != 0
    }

    pub fn note_routed(&self, routed: bool) {
        self.note(ROUTED, routed);
    }

    /// A word goes to a far rank for which no flush waits.
    pub fn note_hint(&self, rank: usize) {
        self.hinted.borrow_mut().insert(rank);
    }

    /// Waits until all such words are there. Those to ranks that have ended do no harm.
    pub fn settle_hints(&self) -> Result<()> {
        let ranks = self.hinted.take();
        ranks.into_iter().try_for_each(|rank| match self.settle_quiet(rank) {
            Err(error) if error.is_peer_fault() => Ok(()),
            other => other,
        })
    }

    /// Whether messages may be unhandled that this port has sent.
    pub fn has_messaged(&self) -> bool {
        self.started.get() & MESSAGED != 0
    }

    #[inline(always)]
    pub fn note_messaged(&self, messaged: bool) {
        self.note(MESSAGED, messaged);
    }

    /// Whether anything may be under way: a push, or a message.
    #[inline(always)]
    pub fn has_started(&self) -> bool {
        self.started.get() != 0
    }

    #[inline(always)]
    fn note(&self, what: u8, is_so: bool) {
        let others = self.started.get() & !what;
        self.started.set(if is_so { others | what } else { others });
    }

    /// So many bytes were pushed by this thread itself.
    #[inline(always)]
    pub fn note_moved(&self, bytes: usize) {
        if bytes >= MUCH {
            self.has_moved_much.set(true);
        }
    }

    /// Waits until `ready`, or until the wait ends otherwise.
    #[inline]
    pub fn wait_until<R>(&self, wait: Wait, ready: impl FnMut() -> Option<R>) -> Result<R> {
        let wait = wait.long(wait.is_long || self.has_moved_much.take());
        self.ni.wait_until(self.index, &self.stay, wait, ready)
    }

    /// Waits until `rank` has done something, or this rank's own interface for it.
    pub fn wait_for_rank<R>(&self, rank: usize, ready: impl FnMut() -> Option<R>) -> Result<R> {
        self.wait_until(Wait::on_rank(rank).always(), ready)
    }

    /// Fails for a rank that does not exist, and for one that has ended.
    #[inline(always)]
    pub fn check_peer(&self, rank: usize) -> Result<()> {
        self.ni.check_rank(rank)?;
        if self.ni.departures() != 0 {
            self.ni.failure.raise();
            self.ni.check_departed(By::Rank(rank))?;
        }
        Ok(())
    }

    /// Waits until no other call of this port is under way: what goes on in the background has some of its own.
    pub fn begin_call(&self, rank: usize) -> Result<Calling<'_>> {
        if self.calls.get() {
            self.wait_for_rank(rank, || (!self.calls.get()).then_some(()))?;
        }
        self.calls.set(true);
        Ok(Calling(&self.calls))
    }

    /// A new scope of transfers.
    pub fn begin_scope(&self) -> u32 {
        self.scopes.set(self.scopes.get().wrapping_add(1).max(FIRST_SCOPE));
        self.scopes.get()
    }

    /// Waits for the answer to `token` from `rank`.
    pub fn await_answer(&self, rank: usize, token: u64) -> Result<()> {
        let slot = &self.ni.calls[self.index];
        match self.wait_for_rank(rank, || slot.outcome(token))? {
            0 => Ok(()),
            code => Err(Error::Refused { rank, reason: Refusal::from_u64(code) }),
        }
    }
}

impl Drop for Initiator {
    fn drop(&mut self) {
        self.end_transfers(None);
        self.leave_owed();
        self.ni.give_lane(self.index, self.lane.take());
        self.ni.give_port(self.index);
    }
}

/// A port's call is under way until this is dropped.
pub(crate) struct Calling<'p>(&'p Cell<bool>);

impl Drop for Calling<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}
