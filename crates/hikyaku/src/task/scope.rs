//! What the program sees: a scope in which tasks run.

use super::access::Access;
use super::cell::submit;
use super::core::{Core, Failure, NoUnwinding, drop_quietly};
use super::worker::{Local, current};
use crate::error::{Error, Result};
use crate::job::Job;
use crate::ni::{Port, refuse_in_handler};
use std::fmt::{Debug, Formatter};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread::{ScopedJoinHandle, ThreadId};

/// Where tasks are submitted: see [`Job::tasks`]. Tasks may use it too, on whatever thread they run.
pub struct Tasks<'scope, 'env: 'scope> {
    pub(super) core: Arc<Core>,
    /// The first worker, and the thread that it is.
    home: Home,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

struct Home {
    local: *const Local<'static>,
    thread: ThreadId,
}

// SAFETY: it is looked into by its own thread alone.
unsafe impl Send for Home {}
// SAFETY: likewise.
unsafe impl Sync for Home {}

impl Debug for Tasks<'_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tasks").finish_non_exhaustive()
    }
}

impl Job {
    /// Runs `body`, which submits tasks, and returns when all of them have ended. `workers` threads run them: this one, whenever it waits
    /// for them, and `workers - 1` others, each with a port of its own.
    ///
    /// Tasks run in any order that their data allows: see [`crate::task`]. If one panics, or fails, or `body` does, those that have not
    /// begun are dropped, and the scope ends as the first of them: by its panic, or with its error.
    ///
    /// ```
    /// use hikyaku::{Until, task::{Data, when}};
    ///
    /// hikyaku::local(2, |job| {
    ///     let (inbox, flag) = (job.symmetric::<u64>(1)?, job.symmetric::<u64>(1)?);
    ///     let (peer, sum) = (1 - job.rank(), Data::new(0));
    ///     job.tasks(2, |tasks| {
    ///         let (inbox, flag) = (&inbox, &flag);
    ///         for number in 1..=10 {
    ///             tasks.task(sum.write(), move |_, sum| Ok(*sum += number))?;
    ///         }
    ///         // After those before, which write what it reads.
    ///         tasks.task(sum.read(), move |port, sum| port.push_notify(inbox.at(peer, 0), &[*sum], flag.at(peer, 0), 1))?;
    ///         // When the other rank has sent its own.
    ///         tasks.task((when(flag.here(0), Until::Equal(1)).by(peer), sum.write()), move |_, (_, sum)| {
    ///             *sum += inbox.get(0);
    ///             Ok(())
    ///         })
    ///     })?;
    ///     assert_eq!(sum.into_inner().unwrap(), 110);
    ///     job.barrier()
    /// })
    /// .unwrap();
    /// ```
    ///
    /// A task cannot borrow what ends before the scope:
    ///
    /// ```compile_fail,E0597
    /// # hikyaku::local(1, |job| {
    /// job.tasks(1, |tasks| {
    ///     let number = 5;
    ///     tasks.task((), |_, ()| Ok(assert_eq!(number, 5)))
    /// })
    /// # }).unwrap();
    /// ```
    ///
    /// and what a task is given it cannot keep:
    ///
    /// ```compile_fail
    /// # hikyaku::local(1, |job| {
    /// # use hikyaku::task::Data;
    /// let (data, kept) = (Data::new(5), std::sync::Mutex::new(None));
    /// job.tasks(1, |tasks| {
    ///     tasks.task(data.write(), |_, number| Ok(*kept.lock().unwrap() = Some(number)))
    /// })
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If there are not enough ports (`HIKYAKU_PORTS`), and for more than one worker of a simulated rank, which has no threads.
    pub fn tasks<'env, R>(
        &'env self,
        workers: usize,
        body: impl for<'scope> FnOnce(&'scope Tasks<'scope, 'env>) -> Result<R>,
    ) -> Result<R> {
        refuse_in_handler()?;
        self.ni.check_rank(self.ni.rank)?;
        if workers == 0 || self.is_simulated() && workers > 1 {
            let why =
                if workers == 0 { "tasks need a worker" } else { "a simulated rank has one worker for its tasks" };
            return Err(Error::Invalid(why.into()));
        }
        let ports = (1..workers).map(|_| self.open()).collect::<Result<Vec<_>>>()?;
        let (core, mut queues) = Core::new(self.ni.clone(), workers);
        let others = queues.split_off(1);
        let home = Local::new(core.clone(), self, 0, queues.remove(0));
        std::thread::scope(|threads| {
            let mut closes = Closes { core: &core, threads: Vec::with_capacity(ports.len()) };
            for (index, (port, queue)) in ports.into_iter().zip(others).enumerate() {
                let core = core.clone();
                let thread = std::thread::Builder::new().name(format!("hikyaku-task-{}", self.rank()));
                let serve = move || Local::new(core, &port, index + 1, queue).serve();
                closes.threads.push(thread.spawn_scoped(threads, serve).map_err(|error| Error::thread(&error))?);
            }
            let _current = home.enter();
            let thread = std::thread::current().id();
            let home = Home { local: std::ptr::from_ref(&home).cast(), thread };
            let tasks = Tasks { core: core.clone(), home, scope: PhantomData, env: PhantomData };
            tasks.run(body)
        })
    }
}

/// The threads of a scope end when this is dropped.
struct Closes<'c, 't> {
    core: &'c Core,
    threads: Vec<ScopedJoinHandle<'t, ()>>,
}

impl Drop for Closes<'_, '_> {
    fn drop(&mut self) {
        self.core.close();
        // One by one: what they have done is then done before whatever follows, also for tools that look inside.
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl<'scope, 'env> Tasks<'scope, 'env> {
    /// Submits a task: `work` runs when everything it names is there, on some worker, whose port it gets.
    ///
    /// Of tasks that name the same datum, those that were submitted first come first; readers run side by side.
    ///
    /// # Errors
    /// If `access` names a datum twice, or a word that is not of this rank's memory.
    #[inline]
    pub fn task<A, F>(&self, access: A, work: F) -> Result<()>
    where
        A: Access + 'scope,
        F: for<'t> FnOnce(&'t Port, A::Given<'t>) -> Result<()> + Send + 'scope,
    {
        // SAFETY: the scope ends when all tasks have, and what they borrow lives as long.
        unsafe { submit(&self.core, false, access, work) }
    }

    /// Submits a task that runs before all others that are ready: one that many wait for, such as those on other ranks.
    ///
    /// ```
    /// # hikyaku::local(1, |job| {
    /// let order = std::sync::Mutex::new(Vec::new());
    /// job.tasks(1, |tasks| {
    ///     let order = &order;
    ///     tasks.task((), |_, ()| Ok(order.lock().unwrap().push("usual")))?;
    ///     tasks.urgent((), |_, ()| Ok(order.lock().unwrap().push("urgent")))
    /// })?;
    /// assert_eq!(order.into_inner().unwrap(), ["urgent", "usual"]);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// # Errors
    /// As for [`Tasks::task`].
    pub fn urgent<A, F>(&self, access: A, work: F) -> Result<()>
    where
        A: Access + 'scope,
        F: for<'t> FnOnce(&'t Port, A::Given<'t>) -> Result<()> + Send + 'scope,
    {
        self.core.note_urgent();
        // SAFETY: as for `task`.
        unsafe { submit(&self.core, true, access, work) }
    }

    /// Runs tasks until all have ended that were submitted so far, and by those.
    ///
    /// # Errors
    /// If a task fails, or is cancelled; inside of a task, which would wait for itself; and on threads other than the one that has opened
    /// the scope.
    pub fn wait(&self) -> Result<()> {
        self.home(|local| match local {
            Some(local) if !local.is_inside() => {
                self.end(local);
                if self.core.is_failing() { Err(self.core.why_failing()) } else { Ok(()) }
            }
            _ => Err(Error::Invalid("only the function that has opened the scope can wait for its tasks".into())),
        })
    }

    /// Drops all tasks that have not begun, and futures where they stand; those that are submitted later are dropped, too. It is no
    /// error: the scope gives what its function does.
    ///
    /// ```
    /// # hikyaku::local(1, |job| {
    /// use hikyaku::{Until, task::when};
    /// let flag = job.symmetric::<u64>(1)?;
    /// job.tasks(1, |tasks| {
    ///     tasks.task(when(flag.here(0), Until::Equal(1)), |_, _| panic!("it never comes"))?;
    ///     tasks.cancel();
    ///     Ok(())
    /// })?;
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn cancel(&self) {
        self.core.cancel();
    }

    /// Whether tasks are dropped instead of run, because one has failed or the program has cancelled them.
    pub fn is_cancelled(&self) -> bool {
        self.core.is_failing()
    }

    /// Calls `work` with the port of the worker that this thread is: for futures, which may be elsewhere after each `await`.
    ///
    /// # Errors
    /// On a thread that is no worker of this scope.
    pub fn port<R>(&self, work: impl FnOnce(&Port) -> Result<R>) -> Result<R> {
        match current(&self.core) {
            Some(local) => work(local.port),
            None => self.home(|local| match local {
                Some(local) => work(local.port),
                None => Err(Error::Invalid("this thread is no worker of these tasks".into())),
            }),
        }
    }

    /// The scope: whatever `body` does, all tasks have ended afterwards.
    fn run<R>(&'scope self, body: impl FnOnce(&'scope Tasks<'scope, 'env>) -> Result<R>) -> Result<R> {
        let result = catch_unwind(AssertUnwindSafe(|| body(self)));
        if !matches!(result, Ok(Ok(_))) {
            self.core.cancel();
        }
        self.home(|local| self.end(local.expect("this is the thread that has opened the scope")));
        match (result, self.core.take_failure()) {
            (Err(panic), spare) => {
                drop_quietly(spare);
                resume_unwind(panic)
            }
            (Ok(result), Some(Failure::Panic(panic))) => {
                drop_quietly(result);
                resume_unwind(panic)
            }
            (Ok(_), Some(Failure::Error(error))) => Err(error),
            (Ok(result), None) => result,
        }
    }

    /// With the first worker, if this thread is that.
    pub(super) fn home<R>(&self, work: impl FnOnce(Option<&Local<'_>>) -> R) -> R {
        let is_here = std::thread::current().id() == self.home.thread;
        // SAFETY: it outlives this, and is of this thread.
        work(is_here.then(|| unsafe { &*self.home.local }))
    }

    fn end(&self, local: &Local<'_>) {
        let whole = NoUnwinding;
        local.run_until(Core::is_quiet);
        std::mem::forget(whole);
        self.core.home_waits(false);
    }
}
