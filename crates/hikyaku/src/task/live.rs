//! Futures that run as tasks.

use super::core::{Core, Failure, Work, drop_quietly, wake_all};
use super::scope::Tasks;
use crate::error::{Error, Result};
use crate::planted::{Bug, planted};
use crate::sync::brief::Brief;
use async_task::{Runnable, Task};
use std::future::{Future, poll_fn};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Futures that have not ended, so that they can be dropped where they stand.
#[derive(Default)]
pub(super) struct Live(Brief<List>);

#[derive(Default)]
struct List {
    entries: Vec<Option<Task<()>>>,
    free: Vec<usize>,
}

impl Live {
    fn reserve(&self) -> usize {
        let mut list = self.0.lock();
        list.free.pop().unwrap_or_else(|| {
            list.entries.push(None);
            list.entries.len() - 1
        })
    }

    fn put(&self, place: usize, task: Task<()>) {
        self.0.lock().entries[place] = Some(task);
    }

    /// It has ended.
    fn remove(&self, place: usize) {
        let task = {
            let mut list = self.0.lock();
            list.free.push(place);
            list.entries[place].take()
        };
        if let Some(task) = task {
            task.detach();
        }
    }

    /// They are run once more, which drops them.
    #[cold]
    pub fn cancel_all(&self) {
        let tasks: Vec<_> = self.0.lock().entries.iter_mut().filter_map(Option::take).collect();
        drop(tasks);
    }
}

/// Its end is the end of a future, whether that has come to its result or was dropped.
struct End {
    core: Arc<Core>,
    place: usize,
}

impl Drop for End {
    fn drop(&mut self) {
        self.core.live.remove(self.place);
        self.core.count_finished();
    }
}

/// In this order they are dropped: what the future borrows may be gone when its end is known.
struct Running<F> {
    future: Caught<F>,
    end: End,
}

/// A future whose destructor may panic: that is a failure of its scope, wherever it is dropped.
struct Caught<F> {
    future: ManuallyDrop<F>,
    core: Arc<Core>,
}

impl<F: Future> Caught<F> {
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: it is not moved out of its place, which is pinned as this is, before it is dropped there.
        unsafe { self.map_unchecked_mut(|caught| &mut *caught.future) }.poll(context)
    }
}

impl<F> Drop for Caught<F> {
    fn drop(&mut self) {
        // SAFETY: it is dropped here, once, where it stands.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| unsafe { ManuallyDrop::drop(&mut self.future) })) {
            self.core.fail(Failure::Panic(panic));
        }
    }
}

impl<'scope> Tasks<'scope, '_> {
    /// Runs a future as a task, on any worker. If it fails or panics, so does the scope.
    ///
    /// It can await [words, messages, barriers and locks](super::Awaits), other futures of the scope, and whatever else wakes it. It gets a port,
    /// for as long as it does not wait, by [`Tasks::port`].
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// use hikyaku::Until;
    /// let flags = job.symmetric::<u64>(10)?;
    /// let (flags, peer) = (&flags, 1 - job.rank());
    /// job.tasks(2, |tasks| {
    ///     tasks.spawn(async move {
    ///         for step in 0..10 {
    ///             tasks.port(|port| port.word(flags.at(peer, step), 1))?;
    ///             tasks.word(flags.here(step), Until::Equal(1)).by(peer).await?;
    ///         }
    ///         Ok(())
    ///     })
    /// })?;
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn spawn(&self, future: impl Future<Output = Result<()>> + Send + 'scope) -> Result<()> {
        self.start(future, Core::enqueue);
        Ok(())
    }

    /// Runs a future as a task on the thread that has opened the scope: it may use what is of that thread, such as messages and groups of
    /// the job.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// use hikyaku::task::Awaits;
    /// let (matching, peer) = (job.matching()?, 1 - job.rank());
    /// job.tasks(1, |tasks| {
    ///     let matching = &matching;
    ///     tasks.spawn_local(async move {
    ///         let mut number = [0u32];
    ///         tasks.recv_matched(matching, &mut number, peer, 7).await?;
    ///         assert_eq!(number, [peer as u32]);
    ///         Ok(())
    ///     })?;
    ///     matching.send(&[job.rank() as u32], peer, 7)
    /// })?;
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// # Errors
    /// On another thread.
    pub fn spawn_local(&self, future: impl Future<Output = Result<()>> + 'scope) -> Result<()> {
        if !self.home(|local| local.is_some()) {
            return Err(Error::Invalid(
                "a future of one thread is spawned by the thread that has opened the scope".into(),
            ));
        }
        self.start(future, Core::enqueue_home);
        Ok(())
    }

    /// Runs a future as a task, whose result can be awaited, and which can be cancelled by itself.
    pub fn spawn_joined<R: Send + 'scope>(
        &self,
        future: impl Future<Output = Result<R>> + Send + 'scope,
    ) -> Result<Joined<R>> {
        let (own, other) = (None, None);
        let joint = Arc::new(Brief::new(Joint { result: None, is_over: false, is_cancelled: false, own, other }));
        let inside = Over(joint.clone());
        self.spawn(async move {
            let mut future = pin!(future);
            let result = poll_fn(|context| {
                let (is_cancelled, _before) = {
                    let mut joint = inside.0.lock();
                    (joint.is_cancelled, keep(&mut joint.own, context.waker()))
                };
                if is_cancelled { Poll::Ready(None) } else { future.as_mut().poll(context).map(Some) }
            });
            if let Some(result) = result.await {
                inside.0.lock().result = Some(result?);
            }
            Ok(())
        })?;
        Ok(Joined(joint))
    }

    fn start(&self, future: impl Future<Output = Result<()>> + 'scope, enqueue: fn(&Core, Work)) {
        let core = self.core.clone();
        let place = core.live.reserve();
        core.count_spawned();
        let future = Caught { future: ManuallyDrop::new(future), core: core.clone() };
        let running = Running { future, end: End { core: core.clone(), place } };
        let scheduler = core.clone();
        let schedule = move |runnable: Runnable| enqueue(&scheduler, Work::Future(runnable));
        // SAFETY: the future may be of one thread, and borrow. It is run and dropped by workers alone, by the first one if it is of
        // that one's thread, and the scope ends only when it was dropped: its end is counted after that. What schedules it is
        // `Send`, `Sync` and borrows nothing, so wakers may be anywhere and outlive the scope.
        let (runnable, task) = unsafe { async_task::spawn_unchecked(guard(running), schedule) };
        core.live.put(place, task);
        runnable.schedule();
    }
}

/// Gives what a future fails with to its scope.
async fn guard<F: Future<Output = Result<()>>>(running: Running<F>) {
    let Running { future, end } = running;
    let end = end;
    let mut future = pin!(future);
    let step = |context: &mut Context<'_>| {
        // One that was spawned while the scope fails does nothing any more.
        if end.core.is_failing() {
            return Poll::Ready(Ok(Ok(())));
        }
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(result)) => Poll::Ready(Ok(result)),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    };
    match poll_fn(step).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => end.core.fail(Failure::Error(error)),
        Err(panic) => end.core.fail(Failure::Panic(panic)),
    }
}

struct Joint<R> {
    result: Option<R>,
    is_over: bool,
    is_cancelled: bool,
    /// Wakes the future itself.
    own: Option<Waker>,
    /// Wakes whoever awaits it: who has asked last, as there is one at a time.
    other: Option<Waker>,
}

/// Keeps a waker. The one before is code of any executor, and is to be dropped where nothing is locked.
#[must_use]
fn keep(place: &mut Option<Waker>, waker: &Waker) -> Option<Waker> {
    match place {
        Some(known) if known.will_wake(waker) => None,
        _ => place.replace(waker.clone()),
    }
}

/// The future has ended, also where it was dropped.
struct Over<R>(Arc<Brief<Joint<R>>>);

impl<R> Drop for Over<R> {
    fn drop(&mut self) {
        let (own, other) = {
            let mut joint = self.0.lock();
            joint.is_over = true;
            (joint.own.take(), joint.other.take())
        };
        drop(own);
        drop_quietly(wake_all(other));
    }
}

/// The result of a future that runs as a task: see [`Tasks::spawn_joined`]. It can be awaited, by another future of the scope or elsewhere;
/// `None` if the future was cancelled. Who drops it lets the future go on.
///
/// ```
/// # hikyaku::local(1, |job| {
/// use hikyaku::Until;
/// let flag = job.symmetric::<u64>(1)?;
/// let flag = &flag;
/// job.tasks(1, |tasks| {
///     let sum = tasks.spawn_joined(async { Ok(1 + 1) })?;
///     let never = tasks.spawn_joined(async move { tasks.word(flag.here(0), Until::Equal(1)).await })?;
///     tasks.spawn(async move {
///         assert_eq!(sum.await, Some(2));
///         never.cancel();
///         assert_eq!(never.await, None);
///         Ok(())
///     })
/// })?;
/// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
/// ```
#[must_use = "a future that nobody joins is spawned by `spawn`"]
pub struct Joined<R>(Arc<Brief<Joint<R>>>);

impl<R> Joined<R> {
    /// Drops the future where it stands, if it has not ended.
    pub fn cancel(&self) {
        let own = {
            let mut joint = self.0.lock();
            joint.is_cancelled = true;
            if planted(Bug::CancelUntold) { None } else { joint.own.take() }
        };
        drop_quietly(wake_all(own));
    }
}

impl<R> Future for Joined<R> {
    type Output = Option<R>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<R>> {
        let _before = {
            let mut joint = self.0.lock();
            if joint.is_over {
                return Poll::Ready(joint.result.take());
            }
            keep(&mut joint.other, context.waker())
        };
        Poll::Pending
    }
}
