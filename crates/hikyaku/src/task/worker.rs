//! A thread that runs tasks, and rests when there are none.

use super::core::{Core, Failure, NoUnwinding, Patrol, Queues, Work};
use crate::error::Error;
use crate::ni::{Hold, Port, Wait, background};
use crate::planted::{Bug, planted};
use crossbeam_deque::{Steal, Stealer};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often futures are asked to look again, that nobody tells of what they wait for.
const ASK_EVERY: Duration = Duration::from_millis(2);
/// After so many looks of a worker that has nothing to do they are asked first; then after twice as many, and so on.
const FIRST_GAP: u32 = 8;
/// Tasks between two looks for messages.
const SERVE_EVERY: u32 = 16;
/// And between two looks for what other workers do not come to.
const STEAL_EVERY: u32 = 16 * SERVE_EVERY;
/// A worker that is busy looks at awaited words after each task, or, if there are many, only after some: so many words for each task, and
/// one for so much time. A look at a word takes some nanoseconds, so tasks that are long are kept from nothing, and those that are short
/// from little.
const FLAGS_PER_TASK: u32 = 4;
const TIME_PER_FLAG: Duration = Duration::from_nanos(50);

/// What one worker has for itself.
pub(super) struct Local<'p> {
    pub core: Arc<Core>,
    pub port: &'p Port,
    pub index: usize,
    pub queues: Queues,
    /// What it runs next, which others cannot steal.
    pub next: Cell<Option<Work>>,
    /// Tasks since the start.
    turns: Cell<u32>,
    /// How many flags it might have looked at in the tasks since it last has, and when that was.
    unlooked: Cell<u32>,
    looked: Cell<Instant>,
    /// It runs a task.
    is_inside: Cell<bool>,
    /// Looks since futures were last asked, and when they are asked next.
    looks: Cell<u32>,
    gap: Cell<u32>,
    /// How often its bell was rung, as it has last seen.
    rung: Cell<u32>,
    /// When it has last asked futures.
    asked: Cell<Instant>,
    /// Whose turn it is, of what is for this thread alone and of what comes from outside.
    is_homes_turn: Cell<bool>,
    /// The worker that this thread was before.
    below: Cell<*const Local<'static>>,
}

thread_local! {
    /// The worker that this thread is. On a thread of simulated ranks, which take turns, it is none.
    static CURRENT: Cell<*const Local<'static>> = const { Cell::new(std::ptr::null()) };
}

/// The worker that this thread is, if it is one of that scope.
#[inline]
pub(super) fn current(core: &Core) -> Option<&'static Local<'static>> {
    // SAFETY: set while it is borrowed, and callers keep it no longer than their own call: it ends after all that runs on this thread
    // in its scope.
    let local = unsafe { CURRENT.get().as_ref() }?;
    std::ptr::eq(&*local.core, core).then_some(local)
}

/// Until it is dropped, this thread is that worker.
pub(super) struct Current<'l>(&'l Local<'l>);

impl Drop for Current<'_> {
    fn drop(&mut self) {
        let own: *const Local<'static> = std::ptr::from_ref(self.0).cast();
        // It need not be the last that has begun: where a thread runs several stacks in turn, their scopes end in any order.
        if CURRENT.get() == own {
            return CURRENT.set(self.0.below.get());
        }
        let mut above = CURRENT.get();
        // SAFETY: all in the list are there: each takes itself off before it ends.
        while let Some(local) = unsafe { above.as_ref() } {
            if local.below.get() == own {
                return local.below.set(self.0.below.get());
            }
            above = local.below.get();
        }
    }
}

impl<'p> Local<'p> {
    pub fn new(core: Arc<Core>, port: &'p Port, index: usize, queues: Queues) -> Local<'p> {
        Local {
            looked: Cell::new(core.ni.now()),
            asked: Cell::new(core.ni.now()),
            is_homes_turn: Cell::new(true),
            core,
            port,
            index,
            queues,
            next: Cell::new(None),
            turns: Cell::new(0),
            unlooked: Cell::new(0),
            is_inside: Cell::new(false),
            looks: Cell::new(0),
            gap: Cell::new(FIRST_GAP),
            rung: Cell::new(0),
            below: Cell::new(std::ptr::null()),
        }
    }

    /// From now on this thread is that worker.
    pub fn enter(&self) -> Current<'_> {
        if !self.port.is_simulated() {
            self.below.set(CURRENT.replace(std::ptr::from_ref(self).cast()));
        }
        Current(self)
    }

    /// Whether it is in the middle of a task.
    pub fn is_inside(&self) -> bool {
        self.is_inside.get()
    }

    /// Runs tasks until there are none and `is_over`.
    pub fn run_until(&self, is_over: impl Fn(&Core) -> bool) {
        loop {
            while let Some(work) = self.find() {
                self.run(work);
            }
            if is_over(&self.core) {
                return;
            }
            if let Some(work) = self.rest(&is_over) {
                // Whoever woke this one up may have meant something else than what it has found.
                if !self.queues.usual.is_empty() || !self.core.outside.is_empty() {
                    self.core.rouse();
                }
                self.run(work);
            }
        }
    }

    /// Puts something to what is ready here.
    #[inline]
    pub fn put(&self, work: Work) {
        match &work {
            Work::Task(task) if task.is_urgent() => self.queues.urgent.push(work),
            _ => self.queues.usual.push(work),
        }
    }

    /// Takes something that is ready here.
    #[inline]
    fn take(&self) -> Option<Work> {
        if self.core.has_urgent()
            && let Some(work) = self.queues.urgent.pop()
        {
            self.share_next();
            return Some(work);
        }
        self.next.take().or_else(|| self.queues.usual.pop())
    }

    /// Something else is run before what would be next, and may wait for that: others may take it.
    fn share_next(&self) {
        if let Some(next) = self.next.take() {
            self.put(next);
            self.core.rouse();
        }
    }

    fn run(&self, work: Work) {
        self.is_inside.set(true);
        match work {
            Work::Task(task) => {
                self.gap.set(FIRST_GAP);
                task.run(self);
            }
            Work::Future(runnable) => {
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| runnable.run())) {
                    self.core.fail(Failure::Panic(panic));
                }
            }
        }
        self.is_inside.set(false);
        self.turns.set(self.turns.get().wrapping_add(1));
        if self.turns.get().is_multiple_of(SERVE_EVERY)
            && let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.port.progress()))
        {
            // Of a handler: it is one of the scope.
            self.core.fail(Failure::Panic(panic));
        }
    }

    /// The next thing to run, of a worker that is busy.
    #[inline]
    fn find(&self) -> Option<Work> {
        if !self.core.flags.is_empty() {
            self.unlooked.set(self.unlooked.get().saturating_add(FLAGS_PER_TASK));
            let count = self.core.flags.count();
            if self.unlooked.get() as usize >= count || self.is_time_to_look(count) {
                self.look_at_flags(true);
            }
        }
        // Tasks and futures that never cease keep nobody from looking again,
        if !self.core.askers.is_empty() && self.core.ni.now() - self.asked.get() >= ASK_EVERY {
            self.ask();
        }
        // nor anything that is ready: what comes from elsewhere has its turn, and what has waited here for longer.
        if self.turns.get() % SERVE_EVERY == 1 {
            let other = || if self.turns.get() % STEAL_EVERY == 1 { self.steal() } else { None };
            if let Some(work) = self.take_from_outside().or_else(other) {
                self.share_next();
                return Some(work);
            }
            if !self.queues.usual.is_empty() {
                self.share_next();
            }
        }
        self.take().or_else(|| self.find_elsewhere())
    }

    #[inline(never)]
    fn find_elsewhere(&self) -> Option<Work> {
        self.take_from_outside().or_else(|| self.steal())
    }

    fn take_from_outside(&self) -> Option<Work> {
        let Core { home, outside, .. } = &*self.core;
        let from_home = || if self.index != 0 || home.is_empty() { None } else { insist(|| home.steal()) };
        let from_outside =
            || if outside.is_empty() { None } else { insist(|| outside.steal_batch_and_pop(&self.queues.usual)) };
        // In turn, as there may be something for this thread all the time.
        match self.is_homes_turn.replace(!self.is_homes_turn.get()) {
            true => from_home().or_else(from_outside),
            false => from_outside().or_else(from_home),
        }
    }

    fn steal(&self) -> Option<Work> {
        let stealers = &self.core.stealers;
        let others = (1..stealers.len()).map(|step| &stealers[(self.index + step) % stealers.len()]);
        let take = |stealer: &Stealer<Work>| if stealer.is_empty() { None } else { insist(|| stealer.steal()) };
        others.clone().find_map(|of| take(&of.urgent)).or_else(|| others.clone().find_map(|of| take(&of.usual)))
    }

    /// Whether it has not looked for as long as so many flags allow.
    fn is_time_to_look(&self, count: usize) -> bool {
        let now = self.core.ni.now();
        let is_time = now - self.looked.get() >= TIME_PER_FLAG * count as u32;
        if is_time {
            self.looked.set(now);
        }
        is_time
    }

    fn look_at_flags(&self, is_brief: bool) {
        self.unlooked.set(0);
        let core = &self.core;
        if let Err(failure) = core.flags.look(&core.ni, is_brief, core.is_failing()) {
            core.fail(failure);
            // Nothing is waited for any more.
            if let Err(failure) = core.flags.look(&core.ni, false, true) {
                core.fail(failure);
            }
        }
    }

    /// The next thing to run, of a worker that has nothing to do.
    fn look(&self) -> Option<Work> {
        let core = &self.core;
        if !core.flags.is_empty() && (!planted(Bug::WordsUnseenAtRest) || core.is_failing()) {
            self.look_at_flags(false);
        }
        if core.is_failing() {
            core.live.cancel_all();
        }
        if let Some(work) = self.take().or_else(|| self.find_elsewhere()) {
            return Some(work);
        }
        if self.asks_now() {
            self.ask();
            return self.take().or_else(|| self.find_elsewhere());
        }
        if self.index != 0 {
            core.tell_if_quiet();
        }
        None
    }

    /// Whether futures are asked to look again: now and then, and when something has come.
    fn asks_now(&self) -> bool {
        if self.core.askers.is_empty() {
            return false;
        }
        let rung = self.port.rings();
        if rung != self.rung.replace(rung) {
            self.gap.set(FIRST_GAP);
            self.looks.set(0);
            return true;
        }
        self.looks.set(self.looks.get() + 1);
        let now = self.looks.get() >= self.gap.get();
        if now {
            self.looks.set(0);
            self.gap.set(self.gap.get().saturating_mul(2));
        }
        now
    }

    /// Futures look again.
    fn ask(&self) {
        self.asked.set(self.core.ni.now());
        if let Some(panic) = self.core.askers.wake() {
            self.core.fail(Failure::Panic(panic));
        }
    }

    /// Waits for something to run, as long as not `is_over`.
    #[cold]
    fn rest(&self, is_over: &impl Fn(&Core) -> bool) -> Option<Work> {
        let core = &self.core;
        if self.index == 0 {
            // Each time: who has told it that all was quiet may have done so before there was more.
            core.home_waits(true);
        }
        let mut wait = Wait::on_rank(core.ni.rank).watch(core.crew()).drowsy(core.is_crowded);
        if core.ni.spans_hosts() {
            wait = wait.always();
        }
        let patrol = core.askers.are_impatient().then(|| Patrol::begin(core));
        if patrol.is_some() {
            wait = wait.patrol(ASK_EVERY);
        }
        self.port.enter(&"tasks");
        // While a scope gives up, nothing else is raised.
        let _hold = core.is_failing().then(Hold::enter);
        let must_patrol = || patrol.is_none() && core.lacks_patrol();
        let ready = || self.look().map(Some).or_else(|| (is_over(core) || must_patrol()).then_some(None));
        match catch_unwind(AssertUnwindSafe(|| self.port.wait_until(wait, ready))) {
            Ok(Ok(work)) => return work,
            Ok(Err(Error::Timeout { .. })) => self.ask(),
            Ok(Err(error)) => core.fail(Failure::Error(error)),
            Err(panic) => core.fail(Failure::Panic(panic)),
        }
        None
    }

    /// A thread that works until the scope is closed.
    pub fn serve(&self) {
        let _current = self.enter();
        let whole = NoUnwinding;
        self.run_until(Core::is_closed);
        std::mem::forget(whole);
        background::vacate(&self.port.ni().workplaces);
    }
}

/// Tries again as long as others are in the way.
fn insist<T>(steal: impl Fn() -> Steal<T>) -> Option<T> {
    loop {
        match steal() {
            Steal::Success(work) => return Some(work),
            Steal::Empty => return None,
            Steal::Retry => std::hint::spin_loop(),
        }
    }
}
