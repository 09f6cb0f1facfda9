//! A word that tasks name, and the list of those that are awaited.

use super::access::{Access, Part};
use super::cell::{Header, make_ready};
use super::core::{Core, Failure, wake_all};
use super::scope::Tasks;
use crate::error::{Error, Result};
use crate::ni::{By, Ni, Place, Port, Until};
use crate::planted::{Bug, planted};
use crate::sync::brief::Brief;
use crossbeam_deque::{Injector, Steal};
use std::cell::Cell;
use std::fmt::{Debug, Formatter};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::Waker;

/// A word of this rank's memory that a task waits for, without a thread that does: see [`when`].
pub struct Flag<'a> {
    place: Place<'a, u64>,
    awaited: Awaited,
}

impl Debug for Flag<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Flag").field(&self.place).finish()
    }
}

/// For a task that is ready only when a word of this rank's memory is as it says; the task's function gets the value. A peer changes the word
/// by a word, a notification or an atomic operation, and the task sees what the peer has written before.
///
/// ```
/// # hikyaku::local(2, |job| {
/// use hikyaku::{Until, task::when};
/// let (table, flag) = (job.symmetric::<f64>(100)?, job.symmetric::<u64>(1)?);
/// job.tasks(1, |tasks| {
///     let peer = 1 - job.rank();
///     let (table, flag) = (&table, &flag);
///     tasks.task((), move |port, ()| port.push_notify(table.at(peer, 0), &[1.5; 100], flag.at(peer, 0), 1))?;
///     tasks.task(when(flag.here(0), Until::Equal(1)).by(peer), move |_, _| {
///         assert_eq!(table.get(99), 1.5);
///         Ok(())
///     })
/// })?;
/// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
/// ```
pub fn when(word: Place<'_, u64>, until: Until) -> Flag<'_> {
    Flag { place: word, awaited: Awaited { until, by: By::Anyone, word: Cell::new(None), value: Cell::new(0) } }
}

impl Flag<'_> {
    /// Who is to set it: only the end of that rank is an error. Otherwise the death of any rank is.
    pub fn by(mut self, rank: usize) -> Self {
        self.awaited.by = By::Rank(rank);
        self
    }

    /// Finds the word, before anything else is asked.
    pub(super) fn locate(&self, ni: &Ni) -> Result<()> {
        ni.check_by(self.awaited.by)?;
        self.awaited.word.set(Some(locate(ni, self.place)?));
        Ok(())
    }

    pub(super) fn awaited(&self) -> &Awaited {
        &self.awaited
    }
}

/// What a flag is, in a task that waits for it.
pub struct Awaited {
    until: Until,
    by: By,
    /// Where the word is; set when the task is submitted.
    word: Cell<Option<NonNull<AtomicU64>>>,
    /// What it was, when it was as awaited. Written by whoever has found that, before the task can run.
    value: Cell<u64>,
}

// SAFETY: its cells are written by whoever submits the task, then by the one who has found the flag, then read by who runs the task; counts
// of what the task lacks order them.
unsafe impl Send for Flag<'_> {}

// SAFETY: it tells of its one flag, and gives a number.
unsafe impl Access for Flag<'_> {
    type Given<'t> = u64;

    #[inline]
    fn each<'a>(&'a self, part: &mut impl FnMut(Part<'a>)) {
        part(Part::Flag(self));
    }

    #[inline]
    unsafe fn give<'t>(&self) -> Self::Given<'t> {
        self.awaited.value.get()
    }
}

/// Where a word of this rank's own memory is.
fn locate(ni: &Ni, place: Place<'_, u64>) -> Result<NonNull<AtomicU64>> {
    Port::own_word_of(ni, place).map(NonNull::from)
}

impl Awaited {
    /// Whether it is as awaited already.
    #[inline]
    pub fn is_met(&self) -> bool {
        self.check().is_some_and(|value| {
            self.value.set(value);
            true
        })
    }

    fn check(&self) -> Option<u64> {
        check(self.word.get()?, self.until)
    }
}

#[inline]
fn check(word: NonNull<AtomicU64>, until: Until) -> Option<u64> {
    // SAFETY: located in an area that whoever awaits it borrows for longer than the scope; see `Flags::add`.
    let value = unsafe { word.as_ref() }.load(Ordering::Acquire);
    until.met(value).then_some(value)
}

/// A future that awaits a word, as the list knows it.
pub(super) struct Sleeper {
    word: NonNull<AtomicU64>,
    until: Until,
    /// `None`: it was woken, or nobody waits any more.
    waker: Brief<Option<Waker>>,
}

// SAFETY: the word is an atomic, which lives as long as the scope.
unsafe impl Send for Sleeper {}
// SAFETY: likewise.
unsafe impl Sync for Sleeper {}

impl Sleeper {
    /// For a word that lives as long as the scope, in whose list alone it is.
    pub fn new<'scope>(
        core: &Core,
        word: Place<'scope, u64>,
        _: &Tasks<'scope, '_>,
        until: Until,
    ) -> Result<Arc<Sleeper>> {
        let word = locate(&core.ni, word)?;
        Ok(Arc::new(Sleeper { word, until, waker: Brief::new(None) }))
    }

    pub fn check(&self) -> Option<u64> {
        check(self.word, self.until)
    }

    /// Whom to wake from now on; whether there was somebody already.
    pub fn set(&self, waker: Option<Waker>) -> bool {
        let before = std::mem::replace(&mut *self.waker.lock(), waker);
        before.is_some()
    }

    fn take_waker(&self) -> Option<Waker> {
        self.waker.lock().take()
    }

    fn is_given_up(&self) -> bool {
        self.waker.lock().is_none()
    }
}

/// A word that is awaited. What a look at the word of a task needs is here, so that many are looked at without going to the tasks.
struct Entry {
    word: NonNull<AtomicU64>,
    until: Until,
    by: By,
    whose: Whose,
}

enum Whose {
    /// A flag that is part of a task, which cannot run and so is not freed before this has told it.
    Task(NonNull<Header>, NonNull<Awaited>),
    Future(Arc<Sleeper>),
}

// SAFETY: what it points to may be used by any thread, one at a time: the one that has the list.
unsafe impl Send for Entry {}

/// Words that are awaited in a scope.
#[derive(Default)]
pub(super) struct Flags {
    /// Those that the list does not have yet.
    new: Injector<Entry>,
    list: Brief<Vec<Entry>>,
    /// In both.
    count: AtomicUsize,
}

impl Flags {
    /// Whether there is nothing to look at.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// How many there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// A flag that a task lacks.
    ///
    /// # Safety
    /// The task cannot run before it was told of this, and the flag's word lives as long.
    pub unsafe fn add(&self, task: NonNull<Header>, flag: &Awaited) {
        let Some(word) = flag.word.get() else { unreachable!("located when the task was submitted") };
        let whose = Whose::Task(task, NonNull::from(flag));
        self.push(Entry { word, until: flag.until, by: flag.by, whose });
    }

    pub fn add_sleeper(&self, sleeper: &Arc<Sleeper>, by: By) {
        self.push(Entry { word: sleeper.word, until: sleeper.until, by, whose: Whose::Future(sleeper.clone()) });
    }

    fn push(&self, entry: Entry) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.new.push(entry);
    }

    /// Looks at all of them, unless somebody else does and this is `brief`. Makes those tasks ready that lack nothing else. With
    /// `gives_up` none is waited for any more. The first error of one whose rank has ended.
    pub fn look(&self, ni: &Ni, brief: bool, gives_up: bool) -> std::result::Result<(), Failure> {
        let mut list = match self.list.try_lock() {
            Some(list) => list,
            None if brief => return Ok(()),
            None => self.list.lock(),
        };
        loop {
            match self.new.steal() {
                Steal::Success(entry) => list.push(entry),
                Steal::Retry => continue,
                Steal::Empty => break,
            }
        }
        let asks_departed = !brief && ni.departures() != 0 && !planted(Bug::EndOfWriterUnseen);
        let (mut index, mut woken) = (0, Vec::new());
        let mut result = Ok(());
        loop {
            if !asks_departed && !gives_up {
                // Most have not come: a tight loop skips those. Whatever it stops at is over.
                index += list[index..].iter().take_while(|entry| !entry.is_over()).count();
            }
            let Some(entry) = list.get(index) else { break };
            if asks_departed && !gives_up && !entry.is_over() {
                let has_come = match (end_of(ni, entry), &entry.whose) {
                    // What was seen is not asked again: the word may change back.
                    (End::HasCome, _) => true,
                    (End::IsAwaited, _) => false,
                    // It stays until the scope has given everything up.
                    (End::Never(error), Whose::Task(..)) => {
                        result = Err(Failure::Error(error));
                        false
                    }
                    // It finds out by itself.
                    (End::Never(_), Whose::Future(sleeper)) => {
                        woken.push(sleeper.clone());
                        false
                    }
                };
                if !has_come {
                    index += 1;
                    continue;
                }
            }
            self.count.fetch_sub(1, Ordering::Relaxed);
            match list.swap_remove(index).whose {
                // SAFETY: it was counted as one thing that the task lacks, and is told of once.
                Whose::Task(task, _) => unsafe { make_ready(task) },
                Whose::Future(sleeper) => woken.push(sleeper),
            }
        }
        drop(list);
        // Not under the lock: a waker is code of any executor.
        match wake_all(woken.iter().filter_map(|sleeper| sleeper.take_waker())) {
            Some(panic) => Err(Failure::Panic(panic)),
            None => result,
        }
    }
}

/// What becomes of a flag that had not come when some rank had ended.
enum End {
    /// Those who may set it are there.
    IsAwaited,
    /// It has come after all.
    HasCome,
    /// It never comes.
    Never(Error),
}

#[cold]
fn end_of(ni: &Ni, entry: &Entry) -> End {
    let Err(error) = ni.find_departed(entry.by) else { return End::IsAwaited };
    // What was done before the end counts, also what lies in the rings.
    ni.empty_rings();
    if entry.is_over() { End::HasCome } else { End::Never(ni.failing(error)) }
}

impl Entry {
    #[inline]
    fn is_over(&self) -> bool {
        match (check(self.word, self.until), &self.whose) {
            (Some(value), Whose::Task(_, flag)) => {
                // SAFETY: its task cannot run yet.
                unsafe { flag.as_ref() }.value.set(value);
                true
            }
            (None, Whose::Task(..)) => false,
            (come, Whose::Future(sleeper)) => come.is_some() || sleeper.is_given_up(),
        }
    }
}
