//! Collective calls that go on while the program does something else.
//!
//! A call borrows its buffers, so it lives in a scope, which ends only when all its calls have ended.

use super::group::Group;
use super::operation::{Marked, Operation};
use super::queue::{Failure, Outcome, Work};
use super::spread::Blocks;
use crate::error::Result;
use crate::ni::refuse_in_handler;
use bytemuck::Pod;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

/// Where non-blocking collective calls are started; see [`Group::scope`].
pub struct Scope<'scope, 'env: 'scope> {
    group: &'scope Group<'scope>,
    /// Tickets of calls that were not waited for.
    tickets: RefCell<Vec<u64>>,
    env: PhantomData<&'scope mut &'env ()>,
}

/// A non-blocking collective call.
#[derive(Debug)]
#[must_use = "a call that is not waited for ends with its scope"]
pub struct Handle<'scope> {
    ticket: u64,
    scope: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

impl Group<'_> {
    /// Runs `work` with a scope in which non-blocking calls are started. Returns when all of them have ended.
    ///
    /// Calls of one group, blocking or not, run in the order in which they were started; a blocking call first waits for those before it.
    /// Calls of different groups are independent. Started calls advance whenever this thread waits in the library, in [`Scope::test`] and
    /// in [`crate::Port::progress`]. If a reduction uses a function of the program, the function runs there too, on a stack of 8 MB.
    ///
    /// ```
    /// use hikyaku::collective::Sum;
    ///
    /// hikyaku::local(4, |job| {
    ///     let world = job.world()?;
    ///     let (mut total, mut data) = ([job.rank() as u64], [job.rank() as f64; 1000]);
    ///     world.scope(|scope| {
    ///         let sum = scope.iallreduce(&mut total, Sum)?;
    ///         let copy = scope.ibroadcast(&mut data, 2)?;
    ///         // Compute something here; now and then `scope.test(&sum)?` moves both on.
    ///         scope.wait(sum)?;
    ///         scope.wait(copy)
    ///     })?;
    ///     assert_eq!((total, data), ([6], [2.0; 1000]));
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    ///
    /// If `work` panics, calls under way are given up: the other members get an error, and the group is of no use any
    /// more.
    ///
    /// Until the scope has ended, the buffers of its calls cannot be used,
    ///
    /// ```compile_fail,E0502
    /// # use hikyaku::collective::Sum;
    /// # hikyaku::local(4, |job| {
    /// # let world = job.world()?;
    /// let mut total = [1u64];
    /// world.scope(|scope| {
    ///     let sum = scope.iallreduce(&mut total, Sum)?;
    ///     println!("{}", total[0]);
    ///     scope.wait(sum)
    /// })
    /// # }).unwrap();
    /// ```
    ///
    /// buffers that end before it are refused,
    ///
    /// ```compile_fail,E0597
    /// # use hikyaku::collective::Sum;
    /// # hikyaku::local(4, |job| {
    /// # let world = job.world()?;
    /// world.scope(|scope| {
    ///     let mut total = [1u64];
    ///     let sum = scope.iallreduce(&mut total, Sum)?;
    ///     scope.wait(sum)
    /// })
    /// # }).unwrap();
    /// ```
    ///
    /// and its handles stay in it.
    ///
    /// ```compile_fail
    /// # hikyaku::local(4, |job| {
    /// # let world = job.world()?;
    /// let barrier = world.scope(|scope| scope.ibarrier())?;
    /// world.scope(|scope| scope.wait(barrier))
    /// # }).unwrap();
    /// ```
    pub fn scope<'env, R>(&self, work: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<R>) -> Result<R> {
        // SAFETY: the scope ends with all its calls, before anything they borrow does.
        let scope = unsafe { open_scope(self) };
        let result = work(&scope);
        // On a panic in `work` the scope's destructor does the same.
        let ended = scope.end();
        let result = result?;
        ended.map(|()| result)
    }
}

/// A scope that a promise keeps instead of the compiler. Dropping it gives up the calls that are under way, as a panic in
/// [`Group::scope`] does.
///
/// # Safety
/// It is dropped by the thread that opened it. Until a call has ended, as [`Scope::wait`] or [`Scope::test`] says, its buffers, the
/// scope and the group exist, and the group is not moved.
pub unsafe fn open_scope<'scope, 'env>(group: &'scope Group<'scope>) -> Scope<'scope, 'env> {
    Scope { group, tickets: RefCell::default(), env: PhantomData }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts [`Group::barrier`].
    ///
    /// ```
    /// hikyaku::local(2, |job| {
    ///     let world = job.world()?;
    ///     world.scope(|scope| {
    ///         let barrier = scope.ibarrier()?;
    ///         while !scope.test(&barrier)? {
    ///             // Compute something here.
    ///         }
    ///         scope.wait(barrier)
    ///     })
    /// })
    /// .unwrap();
    /// ```
    pub fn ibarrier(&self) -> Result<Handle<'scope>> {
        self.start(move |group| group.run_barrier())
    }

    /// Starts [`Group::broadcast`].
    pub fn ibroadcast<T: Pod>(&self, data: &'env mut [T], root: usize) -> Result<Handle<'scope>> {
        self.start(move |group| group.run_broadcast(data, root))
    }

    /// Starts [`Group::reduce`].
    pub fn ireduce<T: Pod, O: Operation<T> + 'env>(
        &self,
        data: &'env mut [T],
        operation: O,
        root: usize,
    ) -> Result<Handle<'scope>> {
        let operation = Marked::new(operation);
        self.start(move |group| group.run_reduce(data, operation, root))
    }

    /// Starts [`Group::allreduce`].
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let world = job.world()?;
    /// let mut sum = [1u64];
    /// world.scope(|scope| {
    ///     let call = scope.iallreduce(&mut sum, hikyaku::collective::Sum)?;
    ///     // compute something here
    ///     scope.wait(call)
    /// })?;
    /// assert_eq!(sum, [2]);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn iallreduce<T: Pod, O: Operation<T> + 'env>(
        &self,
        data: &'env mut [T],
        operation: O,
    ) -> Result<Handle<'scope>> {
        let operation = Marked::new(operation);
        self.start(move |group| group.run_allreduce(data, operation))
    }

    /// Starts [`Group::scan`].
    pub fn iscan<T: Pod, O: Operation<T> + 'env>(&self, data: &'env mut [T], operation: O) -> Result<Handle<'scope>> {
        let operation = Marked::new(operation);
        self.start(move |group| group.run_scan(data, operation))
    }

    /// Starts [`Group::exscan`].
    pub fn iexscan<T: Pod, O: Operation<T> + 'env>(&self, data: &'env mut [T], operation: O) -> Result<Handle<'scope>> {
        let operation = Marked::new(operation);
        self.start(move |group| group.run_exscan(data, operation))
    }

    /// Starts [`Group::gather`].
    pub fn igather<T: Pod>(&self, mine: &'env [T], all: &'env mut [T], root: usize) -> Result<Handle<'scope>> {
        self.start(move |group| group.run_gather(mine, all, root))
    }

    /// Starts [`Group::allgather`].
    pub fn iallgather<T: Pod>(&self, mine: &'env [T], all: &'env mut [T]) -> Result<Handle<'scope>> {
        self.start(move |group| group.run_allgather(mine, all))
    }

    /// Starts [`Group::scatter`].
    pub fn iscatter<T: Pod>(&self, all: &'env [T], mine: &'env mut [T], root: usize) -> Result<Handle<'scope>> {
        self.start(move |group| group.run_scatter(all, mine, root))
    }

    /// Starts [`Group::alltoall`].
    pub fn ialltoall<T: Pod>(&self, blocks: &'env [T], into: &'env mut [T]) -> Result<Handle<'scope>> {
        self.start(move |group| group.run_alltoall(blocks, into))
    }

    /// Starts [`Group::gatherv`].
    ///
    /// ```
    /// hikyaku::local(3, |job| {
    ///     let world = job.world()?;
    ///     let (mine, counts) = (vec![job.rank(); job.rank()], [0, 1, 2]);
    ///     let mut all = [0; 3];
    ///     world.scope(|scope| scope.wait(scope.igatherv(&mine, &mut all, &counts, 0)?))?;
    ///     assert_eq!(all, if job.rank() == 0 { [1, 2, 2] } else { [0; 3] });
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    pub fn igatherv<T: Pod>(
        &self,
        mine: &'env [T],
        all: &'env mut [T],
        blocks: impl Into<Blocks<'env>>,
        root: usize,
    ) -> Result<Handle<'scope>> {
        let blocks = blocks.into();
        self.start(move |group| group.run_gatherv(mine, all, blocks, root))
    }

    /// Starts [`Group::allgatherv`].
    pub fn iallgatherv<T: Pod>(
        &self,
        mine: &'env [T],
        all: &'env mut [T],
        blocks: impl Into<Blocks<'env>>,
    ) -> Result<Handle<'scope>> {
        let blocks = blocks.into();
        self.start(move |group| group.run_allgatherv(mine, all, blocks))
    }

    /// Starts [`Group::scatterv`].
    pub fn iscatterv<T: Pod>(
        &self,
        all: &'env [T],
        blocks: impl Into<Blocks<'env>>,
        mine: &'env mut [T],
        root: usize,
    ) -> Result<Handle<'scope>> {
        let blocks = blocks.into();
        self.start(move |group| group.run_scatterv(all, blocks, mine, root))
    }

    /// Starts [`Group::alltoallv`].
    pub fn ialltoallv<T: Pod>(
        &self,
        from: &'env [T],
        given: impl Into<Blocks<'env>>,
        into: &'env mut [T],
        taken: impl Into<Blocks<'env>>,
    ) -> Result<Handle<'scope>> {
        let (given, taken) = (given.into(), taken.into());
        self.start(move |group| group.run_alltoallv(from, given, into, taken))
    }

    /// Starts [`Group::reduce_scatter`].
    pub fn ireduce_scatter<T: Pod, O: Operation<T> + 'env>(
        &self,
        data: &'env [T],
        mine: &'env mut [T],
        counts: &'env [usize],
        operation: O,
    ) -> Result<Handle<'scope>> {
        let operation = Marked::new(operation);
        self.start(move |group| group.run_reduce_scatter(data, mine, counts, operation))
    }

    /// Starts [`Group::reduce_scatter_block`].
    pub fn ireduce_scatter_block<T: Pod, O: Operation<T> + 'env>(
        &self,
        data: &'env [T],
        mine: &'env mut [T],
        operation: O,
    ) -> Result<Handle<'scope>> {
        let operation = Marked::new(operation);
        self.start(move |group| group.run_reduce_scatter_block(data, mine, operation))
    }

    /// Waits for a call.
    pub fn wait(&self, handle: Handle<'scope>) -> Result<()> {
        let ticket = handle.ticket;
        self.group.move_until(|| self.group.queue.has_ended(ticket))?;
        self.tickets.borrow_mut().retain(|of| *of != ticket);
        report(self.group.queue.outcome(ticket))
    }

    /// Waits for a call for at most `timeout`: whether it has ended. If not it is under way as before, and can be waited for again; so
    /// a barrier with a deadline is one that is started. A call that has ended is still to be waited for, which then returns at once.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// hikyaku::local(2, |job| {
    ///     let world = job.world()?;
    ///     world.scope(|scope| {
    ///         let barrier = scope.ibarrier()?;
    ///         while !scope.wait_for(&barrier, Duration::from_millis(100))? {
    ///             println!("still waiting");
    ///         }
    ///         scope.wait(barrier)
    ///     })
    /// })
    /// .unwrap();
    /// ```
    pub fn wait_for(&self, handle: &Handle<'scope>, timeout: Duration) -> Result<bool> {
        let (ni, ticket) = (self.group.port.ni(), handle.ticket);
        let deadline = ni.now().checked_add(timeout);
        let is_late = || deadline.is_some_and(|deadline| ni.now() >= deadline);
        let queue = &self.group.queue;
        self.group.move_within(timeout, || queue.has_ended(ticket) || is_late())?;
        queue.error(ticket).map_or(Ok(queue.has_ended(ticket)), Err)
    }

    /// Advances a call without waiting; returns whether it has ended.
    pub fn test(&self, handle: &Handle<'scope>) -> Result<bool> {
        let (ni, queue) = (self.group.port.ni(), &self.group.queue);
        // In a forked child nothing ever ends.
        ni.check_rank(ni.rank)?;
        if !queue.has_ended(handle.ticket) {
            self.group.watch_queue();
            self.group.port.progress();
        }
        queue.error(handle.ticket).map_or(Ok(queue.has_ended(handle.ticket)), Err)
    }

    /// Whether all calls were waited for.
    pub fn is_idle(&self) -> bool {
        self.tickets.borrow().is_empty()
    }

    pub(super) fn start(&self, call: impl FnOnce(&Group<'_>) -> Result<()> + 'env) -> Result<Handle<'scope>> {
        let group = self.group;
        refuse_in_handler()?;
        group.port.ni().check_rank(group.port.ni().rank)?;
        group.watch_queue();
        let work: Box<dyn FnOnce() -> Outcome + 'scope> =
            Box::new(move || match catch_unwind(AssertUnwindSafe(|| call(group))) {
                Ok(result) => result.map_err(Failure::Error),
                Err(panic) => {
                    group.quit_after_panic();
                    Err(Failure::Panic(panic))
                }
            });
        // SAFETY: only the lifetime changes. The group and the buffers are borrowed for longer than the scope, which ends
        // only when this work has.
        let work = unsafe { std::mem::transmute::<Box<dyn FnOnce() -> Outcome + 'scope>, Work>(work) };
        let ticket = group.queue.push(work);
        self.tickets.borrow_mut().push(ticket);
        Ok(Handle { ticket, scope: PhantomData })
    }

    /// Ends all calls; the first error of those that were not waited for.
    fn end(&self) -> Result<()> {
        let last = self.tickets.borrow().last().copied();
        let Some(last) = last else { return Ok(()) };
        self.group.move_until(|| self.group.queue.has_ended(last))?;
        // Not before: a handler may panic in the wait.
        let outcomes: Vec<_> = self.tickets.take().iter().map(|ticket| self.group.queue.outcome(*ticket)).collect();
        outcomes.into_iter().try_for_each(report)
    }
}

/// A panic in a function goes on where the call is waited for.
fn report(outcome: Outcome) -> Result<()> {
    outcome.map_err(|failure| match failure {
        Failure::Error(error) => error,
        Failure::Panic(panic) => resume_unwind(panic),
    })
}

impl Drop for Scope<'_, '_> {
    fn drop(&mut self) {
        // Only after a panic, or an error of the last wait, is anything left.
        let tickets = self.tickets.take();
        let Some(last) = tickets.last() else { return };
        if !self.group.queue.has_ended(*last) {
            self.group.quit_after_panic();
            self.group.move_until_whatever_happens(|| self.group.queue.has_ended(*last));
        }
        tickets.iter().for_each(|ticket| drop(self.group.queue.outcome(*ticket)));
    }
}
