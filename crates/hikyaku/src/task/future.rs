//! What can be awaited, by futures of a scope ([`Tasks`]) and of any executor ([`Events`](super::Events)).
//!
//! Nothing is under way on behalf of a future between two looks at it, except that a barrier was posted. So one can be dropped, or
//! forgotten, at any time.

use super::core::{Core, wake_all};
use super::flag::Sleeper;
use super::scope::Tasks;
use crate::counting::CountingBarrier;
use crate::error::Result;
use crate::lock::{Mutex, MutexGuard};
use crate::matching::{Keys, Matched, Matching, Source};
use crate::message::Messages;
use crate::ni::{By, Place, Until};
use crate::sync::brief::Brief;
use bytemuck::Pod;
use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

/// Futures that wait for what nobody tells them: they are asked to look again.
#[derive(Default)]
pub(super) struct Askers {
    list: Brief<Vec<Waker>>,
    count: AtomicUsize,
    /// Some of them may wait for what rings no bell.
    are_impatient: AtomicBool,
}

impl Askers {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    pub fn are_impatient(&self) -> bool {
        self.are_impatient.load(Ordering::SeqCst)
    }

    pub fn add(&self, waker: &Waker, is_impatient: bool) {
        let mut list = self.list.lock();
        list.push(waker.clone());
        if is_impatient {
            self.are_impatient.store(true, Ordering::SeqCst);
        }
        self.count.store(list.len(), Ordering::SeqCst);
    }

    /// Wakes all of them; the first panic of a waker.
    pub fn wake(&self) -> Option<Box<dyn Any + Send>> {
        let list = {
            let mut list = self.list.lock();
            self.count.store(0, Ordering::SeqCst);
            self.are_impatient.store(false, Ordering::SeqCst);
            std::mem::take(&mut *list)
        };
        wake_all(list)
    }
}

mod sealed {
    pub trait Asks {
        /// Wakes later, when there may be something to see.
        fn ask(&self, waker: &std::task::Waker);
    }
}

/// What futures can wait for: implemented by [`Tasks`], for those that run there, and by [`Events`](super::Events), for any executor.
///
/// Words have methods of their own there: [`Tasks::word`] and [`Events::word`](super::Events::word).
pub trait Awaits: sealed::Asks + Sized {
    /// Waits until `look` gives something, or fails. It is called whenever something has arrived at this rank, and every few
    /// milliseconds besides. It must not wait.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// use hikyaku::task::Awaits;
    /// job.register_handler(1, |_, _| {})?;
    /// job.barrier()?;
    /// job.send(1 - job.rank(), 1, 0, [0; 6], &[])?;
    /// job.tasks(1, |tasks| {
    ///     tasks.spawn_local(async move { tasks.until(|| Ok((job.handled(1) == 1).then_some(()))).await })
    /// })?;
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    fn until<R, L: FnMut() -> Result<Option<R>> + Unpin>(&self, look: L) -> Look<'_, Self, L> {
        Look { asks: self, look }
    }

    /// Receives a message of `rank` in a slot, as [`Messages::recv`] does: how many elements it had.
    fn recv<T: Pod>(
        &self,
        messages: &Messages<'_>,
        into: &mut [T],
        rank: usize,
        slot: usize,
    ) -> impl Future<Output = Result<usize>> {
        async move {
            self.until(|| messages.try_probe(rank, slot)).await?;
            messages.recv(into, rank, slot)
        }
    }

    /// Receives a message by its key, as [`Matching::recv`] does.
    fn recv_matched<T: Pod>(
        &self,
        matching: &Matching<'_>,
        into: &mut [T],
        from: impl Into<Source>,
        keys: impl Into<Keys>,
    ) -> impl Future<Output = Result<Matched>> {
        async move {
            let (from, keys) = (from.into(), keys.into());
            let found = self.until(|| matching.try_probe(from, keys)).await?;
            // The very message: nobody else of this thread has received meanwhile.
            matching.recv(into, found.rank, found.key)
        }
    }

    /// Arrives at a barrier, and waits for all others.
    ///
    /// ```
    /// # hikyaku::local(3, |job| {
    /// use hikyaku::task::Awaits;
    /// let barrier = job.counting_barrier(0)?;
    /// job.tasks(1, |tasks| {
    ///     let barrier = &barrier;
    ///     tasks.spawn_local(async move { tasks.barrier(barrier).await })?;
    ///     tasks.task((), |_, ()| Ok(println!("meanwhile")))
    /// })?;
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// A future that is dropped after it has arrived does not wait any more; before the barrier is used again, somebody must.
    fn barrier(&self, barrier: &CountingBarrier<'_>) -> impl Future<Output = Result<()>> {
        async move {
            barrier.post()?;
            self.until(|| Ok(barrier.is_complete()?.then_some(()))).await
        }
    }

    /// Waits until it has the lock. It stands in no line meanwhile, so ranks that wait by [`Mutex::lock`] come first, and of futures any may.
    ///
    /// A place in the line would be a promise to take the lock when its turn comes, and nobody keeps it for a future: one that was
    /// forgotten, or whose executor is busy, would hold up all ranks behind it. Who must be served in order waits by [`Mutex::lock`] in
    /// a thread.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// use hikyaku::task::Awaits;
    /// let (mutex, count) = (job.mutex(0)?, job.symmetric::<u64>(1)?);
    /// job.tasks(1, |tasks| {
    ///     let (mutex, count) = (&mutex, &count);
    ///     tasks.spawn_local(async move {
    ///         let guard = tasks.lock(mutex).await?;
    ///         let before = job.pull_one(count.at(0, 0))?;
    ///         job.push(count.at(0, 0), &[before + 1])?;
    ///         guard.unlock()
    ///     })
    /// })?;
    /// job.barrier()?;
    /// assert_eq!(job.pull_one(count.at(0, 0))?, 2);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    fn lock<'m>(&self, mutex: &'m Mutex<'_>) -> impl Future<Output = Result<MutexGuard<'m>>> {
        self.until(move || mutex.try_lock())
    }
}

impl Awaits for Tasks<'_, '_> {}
impl Awaits for super::Events {}

impl sealed::Asks for Tasks<'_, '_> {
    fn ask(&self, waker: &Waker) {
        self.core.askers.add(waker, true);
        // All that rest may have begun to when there was nobody to ask.
        self.core.call_patrol();
    }
}

impl sealed::Asks for super::Events {
    fn ask(&self, waker: &Waker) {
        self.add(waker, true);
    }
}

/// A future that looks until there is something: see [`Awaits::until`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Look<'a, A, L> {
    asks: &'a A,
    look: L,
}

impl<R, A: sealed::Asks, L: FnMut() -> Result<Option<R>> + Unpin> Future for Look<'_, A, L> {
    type Output = Result<R>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<R>> {
        if let Some(result) = (self.look)().transpose() {
            return Poll::Ready(result);
        }
        self.asks.ask(context.waker());
        // What has come meanwhile wakes nobody who has not asked yet.
        (self.look)().transpose().map_or(Poll::Pending, Poll::Ready)
    }
}

impl<'scope> Tasks<'scope, '_> {
    /// Waits for a word of this rank's own memory, as [`crate::Port::wait`] does, without a thread that does. A future of this scope is woken
    /// as exactly as a task that names the word.
    pub fn word(&self, word: Place<'scope, u64>, until: Until) -> Word<'scope> {
        let found = Sleeper::new(&self.core, word, self, until);
        Word { core: self.core.clone(), found, by: By::Anyone, is_listed: false, place: word }
    }
}

/// A future that waits for a word: see [`Tasks::word`]. It gives the value that ended the wait.
#[must_use = "a future does nothing unless it is awaited"]
pub struct Word<'scope> {
    core: Arc<Core>,
    found: Result<Arc<Sleeper>>,
    by: By,
    is_listed: bool,
    #[allow(dead_code, reason = "the word is borrowed")]
    place: Place<'scope, u64>,
}

impl Word<'_> {
    /// Who is to set it: only the end of that rank is an error. Otherwise the death of any rank is.
    pub fn by(mut self, rank: usize) -> Self {
        self.by = By::Rank(rank);
        self
    }
}

impl Future for Word<'_> {
    type Output = Result<u64>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<u64>> {
        let sleeper = match &self.found {
            Ok(sleeper) => sleeper.clone(),
            Err(error) => return Poll::Ready(Err(error.clone())),
        };
        let ni = &self.core.ni;
        if let Some(value) = sleeper.check() {
            return Poll::Ready(Ok(value));
        }
        if let Err(error) = ni.check_by(self.by) {
            return Poll::Ready(Err(error));
        }
        if ni.departures() != 0
            && let Err(error) = ni.find_departed(self.by)
        {
            ni.empty_rings();
            return Poll::Ready(sleeper.check().ok_or_else(|| ni.failing(error)));
        }
        let was_set = sleeper.set(Some(context.waker().clone()));
        if !self.is_listed || !was_set {
            // Also if the list has told of it, though the word is not as awaited any more.
            self.core.flags.add_sleeper(&sleeper, self.by);
            self.is_listed = true;
            self.core.rouse();
        }
        Poll::Pending
    }
}

impl Drop for Word<'_> {
    fn drop(&mut self) {
        if let Ok(sleeper) = &self.found {
            sleeper.set(None);
        }
    }
}

/// Lets other tasks run, and goes on after some.
///
/// ```
/// # hikyaku::local(1, |job| {
/// job.tasks(1, |tasks| {
///     for _ in 0..2 {
///         tasks.spawn(async {
///             for _ in 0..3 {
///                 hikyaku::task::yield_now().await; // the two take turns
///             }
///             Ok(())
///         })?;
///     }
///     Ok(())
/// })?;
/// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
/// ```
pub async fn yield_now() {
    let mut has_yielded = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
