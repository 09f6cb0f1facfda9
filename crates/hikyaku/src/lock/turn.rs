//! Taking a ticket, waiting for its turn, giving it up, handing on.

use super::queue::{Desk, Holder, Mark, Turn, spoilt, words_of};
use super::search::Found;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::ni::{Hold, Symmetric, Wait, refuse_in_handler};
use crate::planted::{Bug, planted};
use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often whoever waits looks at the manager's words, though nobody has told it anything.
const PATROL: Duration = Duration::from_millis(200);

/// How soon it looks again after the end of some rank.
const SOON: Duration = Duration::from_millis(2);

/// A lock without a guard: the program itself says when it releases. For interfaces to other languages; programs in Rust use
/// [`crate::Mutex`].
#[derive(Debug)]
pub struct RawMutex {
    pub(super) words: Symmetric<u64>,
    pub(super) manager: usize,
    pub(super) size: usize,
    stand: Cell<Stand>,
    /// When this rank has last looked around because it could not take the lock.
    patrolled: Cell<Option<Instant>>,
}

/// How this rank stands to the lock.
#[derive(Clone, Copy, Debug)]
enum Stand {
    Out,
    /// It has a ticket that it does not wait for now, and that may have been passed over.
    Away(u64),
    Inside(Turn),
    /// Its guard was dropped where nothing could be released: it is released before this rank does anything else with the lock. Whether
    /// a panic dropped it.
    Owes(Turn, bool),
}

/// How a wait for a turn has ended.
enum Waited {
    Turn(Turn),
    /// The time is over.
    Late,
    /// The turn was given to others, some time ago.
    Passed,
}

impl RawMutex {
    /// A lock whose words are at `manager`. All ranks call it together, with the same argument.
    pub fn new(job: &Job, manager: usize) -> Result<RawMutex> {
        job.agree_on_manager(manager)?;
        let words = job.symmetric_for_group(words_of(job.size()))?;
        Ok(RawMutex { words, manager, size: job.size(), stand: Cell::new(Stand::Out), patrolled: Cell::new(None) })
    }

    /// Frees its memory. All ranks call it together.
    pub fn free(self, job: &Job) -> Result<()> {
        job.free(self.words)
    }

    /// Waits for the lock; gives whether an owner before has died with it. Fails with [`Error::Timeout`] after `timeout`.
    pub fn take(&self, job: &Job, timeout: Option<Duration>) -> Result<bool> {
        self.begin(job)?;
        let deadline = timeout.and_then(|timeout| job.ni.now().checked_add(timeout));
        loop {
            let (ticket, at_once) = self.line_up(job).map_err(|error| self.failed(job, error))?;
            if let Some(turn) = at_once {
                return Ok(self.enter(turn));
            }
            let leaving = Leaving { mutex: self, job, ticket };
            let waited = self.await_turn(job, ticket, deadline);
            std::mem::forget(leaving);
            let late = match waited {
                Ok(Waited::Turn(turn)) => return Ok(self.enter(turn)),
                Ok(Waited::Passed) => {
                    self.stand.set(Stand::Out);
                    continue;
                }
                Ok(Waited::Late) => Error::Timeout { after: timeout.unwrap_or_default() },
                Err(error) if self.is_of_manager(&error) => return Err(self.failed(job, error)),
                Err(error) => error,
            };
            return match self.give_up(job, ticket) {
                // It has come meanwhile.
                Ok(Some(turn)) => Ok(self.enter(turn)),
                Ok(None) => Err(self.failed(job, late)),
                Err(error) => Err(self.failed(job, error)),
            };
        }
    }

    /// Takes the lock if it is free, and gives whether an owner before has died with it; `None` if it is not.
    pub fn try_take(&self, job: &Job) -> Result<Option<bool>> {
        self.begin(job)?;
        if let Stand::Away(_) = self.stand.get() {
            // It still has a place in the queue, which may be the first.
            return match self.take(job, Some(Duration::ZERO)) {
                Ok(died) => Ok(Some(died)),
                Err(Error::Timeout { .. }) => Ok(None),
                Err(error) => Err(error),
            };
        }
        let drawn = self.draw_if_free(job).map_err(|error| self.failed(job, error));
        drawn.map(|turn| turn.map(|turn| self.enter(turn)))
    }

    /// Releases the lock, after everything that was pushed. With `died` the next owner is told that this one has not come to the end
    /// of what it did; so it is if a push has failed.
    pub fn release(&self, job: &Job, died: bool) -> Result<()> {
        refuse_in_handler()?;
        job.ni.check_rank(job.rank())?;
        let Stand::Inside(turn) = self.stand.get() else {
            return Err(Error::Invalid("this rank does not hold the lock".into()));
        };
        let _hold = Hold::enter();
        let pushed = match job.initiator.has_routed() && !planted(Bug::LockedPushesUnsettled) {
            true => job.initiator.settle_all(&|_| true),
            false => Ok(()),
        };
        self.stand.set(Stand::Out);
        let next = Turn::new(turn.ticket() + 1, died || pushed.is_err());
        match self.pass(job, turn, next) {
            Ok(true) => {
                if job.ni.departures() != 0 {
                    // Some of those who wait may be gone. If this fails, it is found by those who wait.
                    let _ = self.look(job, None, false);
                }
                pushed
            }
            Ok(false) => {
                Err(Error::Invalid("the lock was given to another rank, because this one was taken for dead".into()))
            }
            Err(error) => Err(self.failed(job, error)),
        }
    }

    /// Releases the lock, or sees to it that it is released when this rank next asks for it: where nothing can be waited for, nothing
    /// can be released either.
    pub(super) fn let_go(&self, job: &Job, died: bool) -> Result<()> {
        let released = self.release(job, died);
        if let (Err(Error::InHandler | Error::InFunction), Stand::Inside(turn)) = (&released, self.stand.get()) {
            self.stand.set(Stand::Owes(turn, died));
        }
        released
    }

    /// Before this rank asks for the lock.
    fn begin(&self, job: &Job) -> Result<()> {
        refuse_in_handler()?;
        // A rank that only locks and unlocks answers others, too.
        job.initiator.tick();
        job.ni.check_rank(job.rank())?;
        if let Stand::Owes(turn, died) = self.stand.get() {
            self.stand.set(Stand::Inside(turn));
            self.release(job, died)?;
        }
        job.initiator.check_peer(self.manager).map_err(|error| self.failed(job, error))?;
        match self.stand.get() {
            Stand::Inside(_) => {
                Err(Error::Invalid("this rank holds the lock already: it would wait for itself".into()))
            }
            _ => Ok(()),
        }
    }

    fn enter(&self, turn: Turn) -> bool {
        self.stand.set(Stand::Inside(turn));
        turn.owner_died()
    }

    /// A call fails. If it is because the manager cannot be reached any more, this rank never touches the lock again, and says so.
    fn failed(&self, job: &Job, error: Error) -> Error {
        if self.is_of_manager(&error) {
            self.set_lost();
        }
        job.ni.failing(error)
    }

    fn is_of_manager(&self, error: &Error) -> bool {
        error.is_end_of_peer() && error.rank() == Some(self.manager)
    }

    /// Takes a ticket, or comes back to the one it has. Gives the turn too, if it is that ticket's.
    #[inline(always)]
    fn line_up(&self, job: &Job) -> Result<(u64, Option<Turn>)> {
        // No panic of a handler comes between: a ticket that nobody knows of would never be handed on.
        let (_hold, desk) = (Hold::enter(), Desk::of(self, job));
        let is_turn_of = |ticket| Ok(Some(desk.turn()?).filter(|turn| turn.ticket() == ticket));
        let (away, waits) = (Holder::GaveUp(job.rank()), Holder::Waits(job.rank()));
        if let Stand::Away(ticket) = self.stand.get() {
            desk.mark(Mark::Has(ticket))?;
            if desk.rename(ticket, away, waits)? || desk.holder(ticket)? == waits {
                return Ok((ticket, is_turn_of(ticket)?));
            }
            // It was passed over.
            self.stand.set(Stand::Out);
        }
        desk.mark(Mark::Takes)?;
        let ticket = desk.draw()?;
        self.stand.set(Stand::Away(ticket));
        let turn = desk.turn()?;
        if turn.ticket() == ticket {
            desk.name_owner(ticket)?;
            desk.mark(Mark::Has(ticket))?;
            return Ok((ticket, Some(turn)));
        }
        desk.name(ticket, waits)?;
        desk.mark(Mark::Has(ticket))?;
        Ok((ticket, is_turn_of(ticket)?))
    }

    fn draw_if_free(&self, job: &Job) -> Result<Option<Turn>> {
        let (_hold, desk) = (Hold::enter(), Desk::of(self, job));
        for is_last in [false, true] {
            desk.mark(Mark::Takes)?;
            let turn = desk.turn()?;
            let ticket = turn.ticket();
            if desk.draw_if_next(ticket)? {
                self.stand.set(Stand::Away(ticket));
                desk.name_owner(ticket)?;
                desk.mark(Mark::Has(ticket))?;
                return Ok(Some(turn));
            }
            desk.mark(Mark::Nothing)?;
            // It may be that of a rank that is gone.
            let is_patrol = self.is_patrol_due(job);
            if is_last || !(is_patrol || job.ni.departures() != 0) {
                break;
            }
            if self.look(job, None, is_patrol)? != Found::Free {
                break;
            }
        }
        Ok(None)
    }

    /// Whether somebody that tries again and again looks around now.
    fn is_patrol_due(&self, job: &Job) -> bool {
        let now = job.ni.now();
        match self.patrolled.get() {
            Some(last) if now.saturating_duration_since(last) < PATROL => false,
            last => {
                self.patrolled.set(Some(now));
                last.is_some()
            }
        }
    }

    /// Waits for a ticket's turn.
    fn await_turn(&self, job: &Job, ticket: u64, deadline: Option<Instant>) -> Result<Waited> {
        let (told, watch) = job.own_word(self.own_turn())?;
        let mut departed = 0;
        let (mut is_patrol, mut is_soon, mut late) = (false, false, None);
        let _patrol = job.patrol();
        loop {
            let departures = job.ni.departures();
            let has_news = departures != departed;
            if is_patrol || is_soon || has_news {
                departed = departures;
                match self.look(job, Some(ticket), is_patrol)? {
                    Found::Mine(turn) => return Ok(Waited::Turn(turn)),
                    Found::Passed => return Ok(Waited::Passed),
                    Found::Free => return Err(spoilt()),
                    Found::Held(rank) => late = rank,
                }
            }
            // An end is counted before it can be seen.
            is_soon = has_news;
            let patience = if is_soon { SOON } else { PATROL };
            let left = deadline.map(|deadline| deadline.saturating_duration_since(job.ni.now()));
            if left == Some(Duration::ZERO) {
                return Ok(Waited::Late);
            }
            // Whose end matters is decided by the look above, not by the wait.
            let wait = Wait::on_rank(job.rank()).watch(watch).late(late);
            let wait = if job.ni.spans_hosts() { wait.always() } else { wait };
            let wait = left.map_or(wait.patrol(patience), |left| wait.at_most(Some(left.min(patience))));
            let waited = job.wait_until(wait, || {
                let turn = Turn(told.load(Ordering::Acquire));
                let has_news = || (job.ni.departures() != departed).then_some(None);
                if turn.ticket() == ticket { Some(Some(turn)) } else { has_news() }
            });
            match waited {
                Ok(Some(turn)) => return Ok(Waited::Turn(turn)),
                Ok(None) => (is_patrol, is_soon) = (false, false),
                // Not if it was cut short by the deadline: a look may take longer.
                Err(Error::Timeout { .. }) => {
                    let is_whole = left.is_none_or(|left| left > patience);
                    (is_patrol, is_soon) = (is_whole && !is_soon, is_whole && is_soon);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits no longer for a ticket. Gives the turn if it has come all the same.
    fn give_up(&self, job: &Job, ticket: u64) -> Result<Option<Turn>> {
        let (_hold, desk) = (Hold::enter(), Desk::of(self, job));
        let (away, waits) = (Holder::GaveUp(job.rank()), Holder::Waits(job.rank()));
        desk.name(ticket, away)?;
        let turn = desk.turn()?;
        // Whoever makes it this ticket's turn from now on passes over it. Who has done so before may have told this rank, or not:
        // one of the two changes the slot.
        if turn.ticket() == ticket && desk.rename(ticket, away, waits)? {
            return Ok(Some(turn));
        }
        desk.mark(Mark::Nothing)?;
        Ok(None)
    }

    /// Makes it the next one's turn, and tells that one; false if it was made another's before.
    #[inline(always)]
    fn pass(&self, job: &Job, turn: Turn, next: Turn) -> Result<bool> {
        job.initiator.check_peer(self.manager)?;
        let desk = Desk::of(self, job);
        if !desk.move_turn(turn, next)? {
            return Ok(false);
        }
        match desk.holder(next.ticket())? {
            Holder::Unnamed => Ok(true),
            holder => self.hand_to(job, next, holder).map(|()| true),
        }
    }

    /// Tells whoever has the ticket whose turn it is now, and passes over those that were given up.
    pub(super) fn hand_on(&self, job: &Job, turn: Turn) -> Result<()> {
        self.hand_to(job, turn, Desk::of(self, job).holder(turn.ticket())?)
    }

    /// The same, of a ticket whose slot says this.
    fn hand_to(&self, job: &Job, mut turn: Turn, mut holder: Holder) -> Result<()> {
        let desk = Desk::of(self, job);
        for _ in 0..=self.size {
            let ticket = turn.ticket();
            let next = match holder {
                Holder::Unnamed => return Ok(()),
                Holder::Waits(rank) if rank == job.rank() => return Ok(()),
                Holder::Waits(rank) => {
                    // One that is gone is found by those who wait, and one that cannot be told finds out by itself.
                    if job.ni.departures() == 0 || job.ni.end_of(rank).is_none() {
                        let _ = self.tell(job, rank, turn);
                    }
                    return Ok(());
                }
                Holder::GaveUp(_) if planted(Bug::TicketNotPassed) => return Ok(()),
                Holder::GaveUp(rank) => match desk.rename(ticket, Holder::GaveUp(rank), Holder::Passed)? {
                    true => turn.next(),
                    // It has come back.
                    false => turn,
                },
                Holder::Passed => turn.next(),
            };
            if next != turn && !desk.move_turn(turn, next)? {
                // Somebody else does the rest.
                return Ok(());
            }
            turn = next;
            holder = desk.holder(turn.ticket())?;
        }
        Ok(())
    }
}

/// A panic ends a wait for a turn: the ticket is given up, or handed on if the turn has come.
struct Leaving<'m> {
    mutex: &'m RawMutex,
    job: &'m Job,
    ticket: u64,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let Leaving { mutex, job, ticket } = *self;
        match mutex.give_up(job, ticket) {
            Ok(Some(turn)) => {
                mutex.enter(turn);
                // Nothing was done inside; that an owner died before is told to the next.
                let _ = mutex.release(job, turn.owner_died());
            }
            Ok(None) => {}
            Err(error) => drop(mutex.failed(job, error)),
        }
    }
}
