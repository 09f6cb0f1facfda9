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
    pub(super) stand: Cell<Stand>,
    /// When this rank has last looked around because it could not take the lock.
    patrolled: Cell<Option<Instant>>,
}

/// How this rank stands to the lock.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stand {
    Out,
    /// It has a ticket that it does not wait for now, and that may have been passed over.
    Away(u64),
    /// It has a ticket, and has not named it yet. So it is only inside of a call.
    Drawn(u64),
    Inside(Turn),
    /// It has made it this turn, and has told nobody yet. So it is only inside of a call.
    Passed(Turn),
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
        let has_drawn = || matches!(self.stand.get(), Stand::Drawn(_));
        if !has_drawn() {
            refuse_in_handler()?;
            // A rank that only locks and unlocks answers others, too.
            job.initiator.tick();
            if let Some(owner_died) = self.take_at_once(job) {
                return Ok(owner_died);
            }
        }
        // One that has drawn a ticket names it first, whatever may be wrong: nobody would pass over it.
        if !has_drawn() {
            self.begin(job)?;
        }
        self.take_in_line(job, timeout)
    }

    /// The same where everything is at hand, nobody has the lock, and nothing else is to be done: most often. Else [`RawMutex::take`] does the
    /// rest. There is no call in here, so it needs no room on the stack: each store would be waited for by the next change of a word.
    #[inline(always)]
    pub fn take_at_once(&self, job: &Job) -> Option<bool> {
        let Stand::Out = self.stand.get() else { return None };
        if refuse_in_handler().is_err() || job.ni.departures() != 0 || !job.initiator.tick_without_look() {
            return None;
        }
        let turn = self.draw(&Desk::at_hand(self, job)?).ok()??;
        Some(self.enter(turn))
    }

    #[inline(never)]
    fn take_in_line(&self, job: &Job, timeout: Option<Duration>) -> Result<bool> {
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

    /// The number of the turn that this rank has, or has had last.
    pub(super) fn turn(&self) -> u64 {
        match self.stand.get() {
            Stand::Inside(turn) | Stand::Owes(turn, _) | Stand::Passed(turn) => turn.ticket(),
            Stand::Away(ticket) | Stand::Drawn(ticket) => ticket,
            Stand::Out => 0,
        }
    }

    /// Takes the lock if it is free, and gives whether an owner before has died with it; `None` if it is not.
    pub fn try_take(&self, job: &Job) -> Result<Option<bool>> {
        refuse_in_handler()?;
        job.initiator.tick();
        self.begin(job)?;
        if let Stand::Away(_) = self.stand.get() {
            // It still has a place in the queue, which may be the first.
            return match self.take_in_line(job, Some(Duration::ZERO)) {
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
        if self.release_at_once(job, died) {
            return Ok(());
        }
        if let Stand::Passed(next) = self.stand.get() {
            self.stand.set(Stand::Out);
            let _hold = Hold::enter();
            return self.hand_on(job, next).map(|()| self.look_after(job)).map_err(|error| self.failed(job, error));
        }
        refuse_in_handler()?;
        job.ni.check_rank(job.rank())?;
        self.release_anywhere(job, died)
    }

    /// The same where everything is at hand and nobody waits. Else [`RawMutex::release`] does the rest.
    #[inline(always)]
    pub fn release_at_once(&self, job: &Job, died: bool) -> bool {
        let Stand::Inside(turn) = self.stand.get() else { return false };
        if refuse_in_handler().is_err() || job.initiator.has_routed() {
            return false;
        }
        let (Some(desk), next) = (Desk::at_hand(self, job), turn.over(died)) else { return false };
        match self.pass(&desk, turn, next) {
            Ok(Some(Holder::Unnamed)) if job.ni.departures() == 0 => self.stand.set(Stand::Out),
            Ok(Some(_)) => {
                self.stand.set(Stand::Passed(next));
                return false;
            }
            _ => return false,
        }
        true
    }

    /// The same wherever the manager is, and whoever has ended.
    fn release_anywhere(&self, job: &Job, died: bool) -> Result<()> {
        let Stand::Inside(turn) = self.stand.get() else {
            return Err(Error::Invalid("this rank does not hold the lock".into()));
        };
        let _hold = Hold::enter();
        let pushed = match job.initiator.has_routed() && !planted(Bug::LockedPushesUnsettled) {
            true => job.initiator.settle_all(&|_| true),
            false => Ok(()),
        };
        self.stand.set(Stand::Out);
        let next = turn.over(died || pushed.is_err());
        let passed = job.initiator.check_peer(self.manager).and_then(|()| self.pass(&Desk::of(self, job), turn, next));
        let handed = match passed {
            Ok(Some(holder)) => self.hand_to(job, next, holder),
            Ok(None) => {
                let why = "the lock was given to another rank, because this one was taken for dead";
                return Err(Error::Invalid(why.into()));
            }
            Err(error) => Err(error),
        };
        handed.map_err(|error| self.failed(job, error))?;
        self.look_after(job);
        pushed
    }

    /// Some of those who wait may be gone. If this fails, it is found by those who wait.
    fn look_after(&self, job: &Job) {
        if job.ni.departures() != 0 {
            let _ = self.look(job, None, false);
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

    /// Whether somebody that tries again and again looks around now.
    pub(super) fn is_patrol_due(&self, job: &Job) -> bool {
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
