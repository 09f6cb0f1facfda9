//! A task in one piece of memory: what it lacks, what it names, and its function.

use super::access::{Access, Part};
use super::core::{Core, Failure, Work};
use super::queue::Node;
use super::worker::{Local, current};
use crate::error::{Error, Result};
use crate::ni::Port;
use crate::planted::{Bug, planted};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// What is known of every task.
pub struct Header {
    /// How much it lacks; while it is submitted, one more. Whoever takes it to zero has the task.
    lacks: AtomicU32,
    /// It runs before others that are ready.
    is_urgent: bool,
    /// The scope it is of, which waits for it.
    core: NonNull<Core>,
    /// Runs it, or drops it if the scope fails, and frees it.
    run: unsafe fn(NonNull<Header>, &Local<'_>),
}

#[repr(C)]
struct Cell<A, F> {
    header: Header,
    access: A,
    /// Taken out by whoever runs it.
    work: ManuallyDrop<F>,
}

/// A task that lacks nothing, until it is run.
pub(super) struct Ready(NonNull<Header>);

// SAFETY: whoever has it, has the task; its function and what it names are `Send`, as `submit` asks.
unsafe impl Send for Ready {}

impl Ready {
    /// Whether it runs before others.
    #[inline]
    pub fn is_urgent(&self) -> bool {
        // SAFETY: nobody else has it.
        unsafe { self.0.as_ref() }.is_urgent
    }

    /// Runs it.
    #[inline]
    pub fn run(self, by: &Local<'_>) {
        // SAFETY: it lacks nothing, and nobody else has it.
        unsafe { (self.0.as_ref().run)(self.0, by) }
    }
}

/// One thing that a task lacked has come. Whoever has that ready now gets it, with the scope that it is of.
///
/// # Safety
/// It was counted when the task was submitted, and is told of once.
#[inline]
unsafe fn settle(task: NonNull<Header>) -> Option<(NonNull<Core>, Ready)> {
    // SAFETY: the task is there until this has told it.
    let header = unsafe { task.as_ref() };
    let core = header.core;
    (header.lacks.fetch_sub(1, Ordering::AcqRel) == 1).then_some((core, Ready(task)))
}

/// How many data a task can name without another allocation.
const FEW: usize = 8;

/// Makes a task. If it lacks nothing it is ready, otherwise it is when that has come.
///
/// # Safety
/// The scope does not end before the task has run or was dropped, and what the task borrows lives as long as the scope.
pub(super) unsafe fn submit<A, F>(core: &Arc<Core>, is_urgent: bool, access: A, work: F) -> Result<()>
where
    A: Access,
    F: for<'t> FnOnce(&'t Port, A::Given<'t>) -> Result<()> + Send,
{
    let (mut data, mut flags, mut found) = (0, 0, Ok(()));
    access.each(&mut |part| match part {
        Part::Datum(_) => data += 1,
        Part::Flag(flag) => {
            flags += 1;
            if found.is_ok() {
                found = flag.locate(&core.ni);
            }
        }
    });
    found?;
    let header = Header {
        lacks: AtomicU32::new(1 + data as u32 + flags),
        is_urgent,
        core: NonNull::from(&**core),
        run: run::<A, F>,
    };
    let cell = Box::new(Cell { header, access, work: ManuallyDrop::new(work) });
    // From here on by its address alone: others may change it, and free it.
    let cell = Box::into_raw(cell);
    // SAFETY: just made.
    let (task, access) = unsafe { (NonNull::new_unchecked(cell.cast::<Header>()), &(*cell).access) };
    if data == 0 && flags == 0 {
        core.count_spawned();
        core.enqueue(Work::Task(Ready(task)));
        return Ok(());
    }
    // SAFETY: it lacks one thing more than what follows, so nobody runs it meanwhile.
    let granted = unsafe { enter(access, data, task) };
    let Some(mut come) = granted else {
        // SAFETY: nobody knows of it yet.
        drop(ManuallyDrop::into_inner(unsafe { Box::from_raw(cell) }.work));
        return Err(Error::Invalid("a task names the same datum twice; it would wait for itself".into()));
    };
    core.count_spawned();
    if flags != 0 {
        access.each(&mut |part| match part {
            Part::Flag(flag) if flag.awaited().is_met() => come += 1,
            // SAFETY: likewise; the flag was counted.
            Part::Flag(flag) => unsafe { core.flags.add(task, flag.awaited()) },
            Part::Datum(_) => {}
        });
    }
    // SAFETY: it is there until what follows has told it.
    if unsafe { task.as_ref() }.lacks.fetch_sub(1 + come, Ordering::AcqRel) == 1 + come {
        core.enqueue(Work::Task(Ready(task)));
    } else if flags != 0 {
        // Somebody who sleeps may have to look at the new flag.
        core.rouse();
    }
    Ok(())
}

/// Enters the queues of all data of a task at once: how many it has got; `None` if two are the same, and then it has entered none.
///
/// # Safety
/// As for [`Node::enter`].
unsafe fn enter<A: Access>(access: &A, count: usize, task: NonNull<Header>) -> Option<u32> {
    let (mut few, mut many) = ([None::<&Node>; FEW], Vec::new());
    let nodes = match count <= FEW {
        true => &mut few[..count],
        false => {
            many.resize(count, None);
            &mut many[..]
        }
    };
    let mut index = 0;
    access.each(&mut |part| {
        if let Part::Datum(node) = part {
            nodes[index] = Some(node);
            index += 1;
        }
    });
    let address = |node: &Option<&Node>| node.map_or(0, Node::address);
    nodes.sort_unstable_by_key(address);
    if nodes.windows(2).any(|pair| address(&pair[0]) == address(&pair[1])) {
        return None;
    }
    let nodes = || nodes.iter().flatten();
    nodes().for_each(|node| node.lock());
    // SAFETY: locked; the caller's promise.
    let granted = nodes().map(|node| u32::from(unsafe { node.enter(task) })).sum();
    nodes().for_each(|node| node.unlock());
    Some(granted)
}

/// Runs a task, or drops it if its scope fails. Then gives back what it named, and frees it.
///
/// # Safety
/// The task is one of these types, lacks nothing, and nobody else has it.
unsafe fn run<A, F>(task: NonNull<Header>, by: &Local<'_>)
where
    A: Access,
    F: for<'t> FnOnce(&'t Port, A::Given<'t>) -> Result<()> + Send,
{
    let cell = task.cast::<Cell<A, F>>().as_ptr();
    // SAFETY: the header is its first field, so this is what was made.
    let (access, work) = unsafe { (&(*cell).access, ManuallyDrop::take(&mut (*cell).work)) };
    let outcome = catch_unwind(AssertUnwindSafe(|| match by.core.is_failing() && !planted(Bug::FailureIgnored) {
        // SAFETY: it lacks nothing, so all was granted, and it is given back below.
        false => work(by.port, unsafe { access.give() }),
        true => Ok(drop(work)),
    }));
    access.each(&mut |part| {
        if let Part::Datum(node) = part {
            node.leave(|task| by.granted(task));
        }
    });
    // SAFETY: the function is gone, and nobody knows of the rest.
    let freed = catch_unwind(AssertUnwindSafe(|| drop(unsafe { Box::from_raw(cell) })));
    match outcome {
        Ok(Ok(())) => {}
        Ok(Err(error)) => by.core.fail(Failure::Error(error)),
        Err(panic) => by.core.fail(Failure::Panic(panic)),
    }
    if let Err(panic) = freed {
        by.core.fail(Failure::Panic(panic));
    }
    by.core.count_finished();
}

/// One thing that a task lacked has come; if it was the last, the task is put to those that are ready, of its own scope.
///
/// # Safety
/// As for [`settle`].
pub(super) unsafe fn make_ready(task: NonNull<Header>) {
    // SAFETY: the caller's promise.
    let Some((core, ready)) = (unsafe { settle(task) }) else { return };
    // SAFETY: the scope has this task still to run.
    let core = unsafe { core.as_ref() };
    if current(core).is_some() {
        // The scope waits for this thread.
        return core.enqueue(Work::Task(ready));
    }
    // Not so here: as soon as others have the task, the scope may end.
    // SAFETY: it was made as an `Arc`, and there is one while the scope lasts.
    let core = unsafe {
        Arc::increment_strong_count(core);
        Arc::from_raw(core)
    };
    core.enqueue(Work::Task(ready));
}

impl Local<'_> {
    /// One thing that a task lacked has come, as the last act of another: this worker goes on with the first that is ready.
    #[inline]
    pub fn granted(&self, task: NonNull<Header>) {
        // SAFETY: as the queue tells of it.
        let Some((core, ready)) = (unsafe { settle(task) }) else { return };
        if core != NonNull::from(&*self.core) {
            // SAFETY: the scope has this task still to run.
            let core = unsafe {
                Arc::increment_strong_count(core.as_ptr());
                Arc::from_raw(core.as_ptr())
            };
            return core.enqueue(Work::Task(ready));
        }
        match self.next.take() {
            None if !ready.is_urgent() => self.next.set(Some(Work::Task(ready))),
            next => {
                self.next.set(next);
                self.put(Work::Task(ready));
                self.core.rouse();
            }
        }
    }
}
