//! The order of tasks at one datum: first come, first served; one that writes, or several that read.
//!
//! ```text
//!   enter, all queues of a task locked      inside already, and nobody waits: granted;  otherwise: the end of the line
//!   leave, this queue locked                the first of the line that fits is granted; readers together
//! ```
//! A queue names only tasks that wait, so none that has ended: places in line are parts of the tasks themselves.

use super::cell::Header;
use crate::planted::{Bug, planted};
use std::cell::{Cell, UnsafeCell};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

/// Who uses a datum, and who waits for it.
pub struct Queue {
    is_locked: AtomicBool,
    line: UnsafeCell<Line>,
}

struct Line {
    readers: usize,
    is_written: bool,
    first: Option<NonNull<Node>>,
    last: Option<NonNull<Node>>,
}

/// One task at one datum.
pub struct Node {
    queue: NonNull<Queue>,
    writes: bool,
    /// Set when it enters the queue.
    task: Cell<Option<NonNull<Header>>>,
    /// Under the lock of the queue.
    next: Cell<Option<NonNull<Node>>>,
}

// SAFETY: what it points to is kept alive by whoever holds it, and may be used by any thread; its cells belong to whoever has the lock of
// the queue, or to whoever has taken it out of the line.
unsafe impl Send for Node {}
// SAFETY: likewise.
unsafe impl Sync for Node {}
// SAFETY: the line is accessed under the lock alone.
unsafe impl Send for Queue {}
// SAFETY: likewise.
unsafe impl Sync for Queue {}

impl Node {
    /// A place at a queue that outlives it.
    pub fn new(queue: &Queue, writes: bool) -> Node {
        Node { queue: NonNull::from(queue), writes, task: Cell::new(None), next: Cell::new(None) }
    }

    fn queue(&self) -> &Queue {
        // SAFETY: `new` asks for it: whoever holds the node holds the datum too.
        unsafe { self.queue.as_ref() }
    }

    /// Which datum it is of, to compare and to sort by.
    pub fn address(&self) -> usize {
        self.queue.as_ptr().addr()
    }

    /// The first half of entering, in the order of addresses.
    pub fn lock(&self) {
        self.queue().lock();
    }

    /// The second half, after that of all data of the task: whether it may be used at once. Otherwise `task` is granted later.
    ///
    /// # Safety
    /// Between `lock` and `unlock` of this datum. It stays where it is until it was granted, and so does the task.
    pub unsafe fn enter(&self, task: NonNull<Header>) -> bool {
        // SAFETY: the caller has the lock.
        let line = unsafe { &mut *self.queue().line.get() };
        let passes = !self.writes && planted(Bug::ReadersPassWriters);
        if passes || line.first.is_none() && line.admits(self.writes) {
            line.admit(self.writes);
            return true;
        }
        self.task.set(Some(task));
        self.next.set(None);
        let this = NonNull::from(self);
        match line.last.replace(this) {
            // SAFETY: it is in line, so it is where it was.
            Some(last) => unsafe { last.as_ref() }.next.set(Some(this)),
            None => line.first = Some(this),
        }
        false
    }

    /// Ends `lock`.
    pub fn unlock(&self) {
        self.queue().is_locked.store(false, Ordering::Release);
    }

    /// It was granted, and is given back. Tells of each task that has come to its turn by that.
    pub fn leave(&self, granted: impl FnMut(NonNull<Header>)) {
        self.queue().leave(self.writes, granted);
    }
}

impl Queue {
    pub fn new() -> Queue {
        let line = Line { readers: 0, is_written: false, first: None, last: None };
        Queue { is_locked: AtomicBool::new(false), line: UnsafeCell::new(line) }
    }

    /// Held for some instructions: it spins, and lets others run if whoever has it does not.
    fn lock(&self) {
        let mut turns = 0u32;
        while self.is_locked.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            turns += 1;
            if turns < 100 { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
    }

    /// Takes a place at the head at once, as a reader that is no task; false if a task writes or waits to.
    pub fn try_read(&self) -> bool {
        self.lock();
        // SAFETY: locked.
        let line = unsafe { &mut *self.line.get() };
        let admitted = line.first.is_none() && line.admits(false);
        if admitted {
            line.admit(false);
        }
        self.is_locked.store(false, Ordering::Release);
        admitted
    }

    pub fn leave(&self, wrote: bool, mut granted: impl FnMut(NonNull<Header>)) {
        self.lock();
        // SAFETY: locked.
        let line = unsafe { &mut *self.line.get() };
        match wrote {
            true => line.is_written = false,
            false => line.readers -= 1,
        }
        let chosen = line.take_granted();
        self.is_locked.store(false, Ordering::Release);
        let mut next = chosen;
        while let Some(node) = next {
            // SAFETY: it was taken out of the line, and its task cannot run before this has told of it.
            let (after, task) = unsafe { (node.as_ref().next.get(), node.as_ref().task.get()) };
            next = after;
            granted(task.expect("set when it entered"));
        }
    }
}

impl Line {
    fn admits(&self, writes: bool) -> bool {
        !self.is_written && (!writes || self.readers == 0 || planted(Bug::WritersPassReaders))
    }

    fn admit(&mut self, writes: bool) {
        match writes {
            true => self.is_written = true,
            false => self.readers += 1,
        }
    }

    /// Takes those out of the line whose turn it is; they are linked as they were, and the last has no next.
    fn take_granted(&mut self) -> Option<NonNull<Node>> {
        let (chosen, mut last) = (self.first, None::<NonNull<Node>>);
        while let Some(node) = self.first {
            // SAFETY: it is in line, so it is where it was.
            let node = unsafe { node.as_ref() };
            if !self.admits(node.writes) {
                break;
            }
            self.admit(node.writes);
            last = self.first;
            self.first = node.next.get();
        }
        if self.first.is_none() {
            self.last = None;
        }
        // SAFETY: likewise; nobody else knows of it any more.
        unsafe { last?.as_ref() }.next.set(None);
        chosen
    }
}
