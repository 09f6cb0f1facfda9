//! What the workers of a scope share: ready tasks, how many there are, and the first failure.

use super::cell::Ready;
use super::flag::Flags;
use super::future::Askers;
use super::live::Live;
use super::worker::current;
use crate::error::Error;
use crate::job::topology::cores;
use crate::ni::Ni;
use crate::sync::bell::CREW;
use crate::sync::brief::Brief;
use crate::sync::line::Line;
use async_task::Runnable;
use crossbeam_deque::{Injector, Stealer, Worker};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::Waker;

/// Something to run.
pub(super) enum Work {
    Task(Ready),
    Future(Runnable),
}

/// Why a scope fails.
pub(super) enum Failure {
    Error(Error),
    Panic(Box<dyn Any + Send>),
}

/// Drops something of the program whose destructor may panic, for those who cannot: what that throws is not dropped in its turn.
pub(super) fn drop_quietly<T>(what: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(what))) {
        std::mem::forget(panic);
    }
}

/// Wakes all of them. A waker is code of any executor: one that panics keeps nobody else asleep. The first panic.
pub(super) fn wake_all(wakers: impl IntoIterator<Item = Waker>) -> Option<Box<dyn Any + Send>> {
    let mut first = None;
    for waker in wakers {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
            match first {
                None => first = Some(panic),
                Some(_) => drop_quietly(panic),
            }
        }
    }
    first
}

/// Forgotten where all went well; dropped only by a panic, which must not go on: tasks that have not ended borrow from below. Whatever
/// can panic is caught before.
pub(super) struct NoUnwinding;

impl Drop for NoUnwinding {
    fn drop(&mut self) {
        eprintln!("hikyaku: a panic would leave a scope whose tasks have not ended");
        std::process::abort();
    }
}

/// What all workers of a scope know.
pub(super) struct Core {
    pub ni: Arc<Ni>,
    /// By what its workers are woken.
    crew: u64,
    /// From threads that are no workers of this scope.
    pub outside: Injector<Work>,
    /// For the thread that has opened the scope alone.
    pub home: Injector<Work>,
    pub stealers: Box<[Stealers]>,
    /// Some task was urgent.
    has_urgent: AtomicBool,
    /// There are more threads than cores, so that who waits makes room.
    pub is_crowded: bool,
    /// Of each worker, written by it alone; the last are of all other threads.
    counts: Box<[Line<Counts>]>,
    pub flags: Flags,
    pub askers: Askers,
    /// How many workers that rest ask impatient ones now and then.
    patrols: AtomicUsize,
    pub live: Live,
    is_failing: AtomicBool,
    failure: Brief<Option<Failure>>,
    /// Who has opened the scope waits for its tasks.
    home_waits: AtomicBool,
    is_closed: AtomicBool,
}

/// A worker that rests asks futures now and then, until this is dropped.
pub(super) struct Patrol<'c>(&'c Core);

impl Patrol<'_> {
    pub fn begin(core: &Core) -> Patrol<'_> {
        core.patrols.fetch_add(1, Ordering::SeqCst);
        Patrol(core)
    }
}

impl Drop for Patrol<'_> {
    fn drop(&mut self) {
        self.0.patrols.fetch_sub(1, Ordering::SeqCst);
        // It has something else to do, perhaps for long.
        self.0.call_patrol();
    }
}

/// What others take from a worker.
pub(super) struct Stealers {
    pub urgent: Stealer<Work>,
    pub usual: Stealer<Work>,
}

/// The tasks of a worker that are ready.
pub(super) struct Queues {
    pub urgent: Worker<Work>,
    pub usual: Worker<Work>,
}

/// Tasks of which one thread knows.
#[derive(Default)]
struct Counts {
    spawned: AtomicU64,
    finished: AtomicU64,
}

static SCOPES: AtomicU64 = AtomicU64::new(0);

impl Core {
    /// For so many workers: what they share, and the queue of each.
    pub fn new(ni: Arc<Ni>, workers: usize) -> (Arc<Core>, Vec<Queues>) {
        let queues = |_| Queues { urgent: Worker::new_fifo(), usual: Worker::new_fifo() };
        let queues: Vec<_> = (0..workers).map(queues).collect();
        let stealers = |of: &Queues| Stealers { urgent: of.urgent.stealer(), usual: of.usual.stealer() };
        // Ranks that are threads share the cores that a process may have for itself.
        let threads = if ni.threads { workers * ni.size() } else { workers };
        let is_crowded = ni.crowded || workers > 1 && threads > cores().len();
        let number = SCOPES.fetch_add(1, Ordering::Relaxed) + 1;
        let core = Core {
            ni,
            crew: CREW | number & (CREW - 1),
            outside: Injector::new(),
            home: Injector::new(),
            stealers: queues.iter().map(stealers).collect(),
            has_urgent: AtomicBool::new(false),
            is_crowded,
            counts: (0..=workers).map(|_| Line::default()).collect(),
            flags: Flags::default(),
            askers: Askers::default(),
            patrols: AtomicUsize::new(0),
            live: Live::default(),
            is_failing: AtomicBool::new(false),
            failure: Brief::new(None),
            home_waits: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        };
        (Arc::new(core), queues)
    }

    pub fn crew(&self) -> u64 {
        self.crew
    }

    /// Has it run by some worker, by this thread if it is one.
    #[inline]
    pub fn enqueue(&self, work: Work) {
        match current(self) {
            Some(local) => local.put(work),
            None => self.outside.push(work),
        }
        self.rouse();
    }

    /// Has it run by the thread that has opened the scope.
    pub fn enqueue_home(&self, work: Work) {
        self.home.push(work);
        // It may be any of those that sleep.
        self.rouse_all();
    }

    /// There is something to find: one that sleeps wakes up. A load, if none does.
    #[inline]
    pub fn rouse(&self) {
        self.ni.mine().bell.ring_one(self.ni.fences, self.crew);
    }

    pub fn rouse_all(&self) {
        self.ni.mine().bell.ring(self.ni.fences, self.crew);
    }

    /// Whether futures must be asked now and then, and no worker that rests does so.
    pub fn lacks_patrol(&self) -> bool {
        self.askers.are_impatient() && self.patrols.load(Ordering::SeqCst) == 0
    }

    /// If so, one that sleeps begins to.
    pub fn call_patrol(&self) {
        if self.lacks_patrol() {
            self.rouse();
        }
    }

    /// Whether any task was urgent so far.
    #[inline]
    pub fn has_urgent(&self) -> bool {
        self.has_urgent.load(Ordering::Relaxed)
    }

    /// One is.
    pub fn note_urgent(&self) {
        if !self.has_urgent() {
            self.has_urgent.store(true, Ordering::Relaxed);
        }
    }

    #[inline]
    pub fn count_spawned(&self) {
        self.count(|counts| &counts.spawned);
    }

    /// Last of all: the scope may end.
    #[inline]
    pub fn count_finished(&self) {
        self.count(|counts| &counts.finished);
    }

    #[inline]
    fn count(&self, which: impl Fn(&Counts) -> &AtomicU64) {
        match current(self) {
            Some(local) => {
                let count = which(&self.counts[local.index]);
                count.store(count.load(Ordering::Relaxed) + 1, Ordering::Release);
            }
            None => drop(which(&self.counts[self.counts.len() - 1]).fetch_add(1, Ordering::Release)),
        }
    }

    /// Whether every task has ended. Those that have are counted first: whoever spawned others before it ended, is then seen to have.
    pub fn is_quiet(&self) -> bool {
        let sum = |which: fn(&Counts) -> &AtomicU64| {
            self.counts.iter().map(|counts| which(counts).load(Ordering::Acquire)).fold(0, u64::wrapping_add)
        };
        let finished = sum(|counts| &counts.finished);
        finished == sum(|counts| &counts.spawned)
    }

    /// Who has opened the scope is told when all is quiet, or is no more.
    pub fn home_waits(&self, waits: bool) {
        self.home_waits.store(waits, Ordering::SeqCst);
    }

    /// From a worker that has nothing to do.
    pub fn tell_if_quiet(&self) {
        if self.home_waits.load(Ordering::SeqCst) && self.is_quiet() && self.home_waits.swap(false, Ordering::SeqCst) {
            self.rouse_all();
        }
    }

    #[inline]
    pub fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    /// Nothing that has not begun runs any more. The first failure is kept.
    #[cold]
    pub fn fail(&self, failure: Failure) {
        let spare = {
            let mut kept = self.failure.lock();
            if kept.is_none() { kept.replace(failure) } else { Some(failure) }
        };
        drop_quietly(spare);
        self.cancel();
    }

    #[cold]
    pub fn cancel(&self) {
        self.is_failing.store(true, Ordering::SeqCst);
        self.rouse_all();
    }

    pub fn take_failure(&self) -> Option<Failure> {
        self.failure.lock().take()
    }

    /// What a call says of a scope that fails.
    pub fn why_failing(&self) -> Error {
        match &*self.failure.lock() {
            Some(Failure::Error(error)) => error.clone(),
            Some(Failure::Panic(_)) => Error::Invalid("a task has panicked: the others are not run".into()),
            None => Error::Invalid("the tasks of this scope were cancelled".into()),
        }
    }

    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    /// All tasks have ended: the threads end, too.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.rouse_all();
    }
}
