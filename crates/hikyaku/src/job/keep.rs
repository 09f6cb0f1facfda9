//! What a layer above keeps with the job although it borrows the job: the group of all ranks.
//!
//! A job may be moved when nobody borrows it. So what is kept knows the job's port by an [`Anchor`], which is aimed at where that is now
//! whenever it is used; and it is used by the thread that made it alone, since it may have parts that other values of that thread share.
//! On another thread the job keeps nothing, and what it kept stays where it is until the process ends.

use super::Job;
use crate::ni::Port;
use std::any::TypeId;
use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// A port that is borrowed.
pub(crate) struct Anchor<'j> {
    at: Cell<NonNull<Port>>,
    port: PhantomData<&'j Port>,
}

impl<'j> Anchor<'j> {
    pub fn new(port: &'j Port) -> Anchor<'j> {
        Anchor { at: Cell::new(NonNull::from(port)), port: PhantomData }
    }

    #[inline(always)]
    pub fn get(&self) -> &'j Port {
        // SAFETY: made of a borrow that lasts for `'j`, or aimed at the port by whoever promised the same.
        unsafe { self.at.get().as_ref() }
    }

    /// The port is there now.
    ///
    /// # Safety
    /// It is borrowed until this is not used any more, or aimed again before.
    pub unsafe fn aim(&self, port: &Port) {
        self.at.set(NonNull::from(port));
    }
}

impl Deref for Anchor<'_> {
    type Target = Port;
    #[inline(always)]
    fn deref(&self) -> &Port {
        self.get()
    }
}

/// What a job keeps for a layer above.
#[derive(Default)]
pub(crate) struct Keep(Cell<Option<Kept>>);

#[derive(Clone, Copy)]
struct Kept {
    /// See [`this_thread`].
    thread: u64,
    of: TypeId,
    what: NonNull<()>,
    end: unsafe fn(NonNull<()>, &Job),
}

// SAFETY: what is kept is reached and dropped by the thread alone that made it.
unsafe impl Send for Keep {}

impl std::fmt::Debug for Keep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", if self.0.get().is_some() { "something" } else { "nothing" })
    }
}

/// What can be kept.
pub(crate) trait Keepsake {
    /// The job is there now.
    ///
    /// # Safety
    /// As for [`Anchor::aim`].
    unsafe fn aim(&self, job: &Job);
}

/// The number of the calling thread, which no other ever has. The standard library's counts references, at each look.
#[inline]
fn this_thread() -> u64 {
    thread_local! {
        static NUMBER: Cell<u64> = const { Cell::new(0) };
    }
    static LAST: AtomicU64 = AtomicU64::new(0);
    if NUMBER.get() == 0 {
        NUMBER.set(LAST.fetch_add(1, Ordering::Relaxed) + 1);
    }
    NUMBER.get()
}

impl Keep {
    /// What this thread keeps here.
    fn get(&self) -> Option<Kept> {
        self.0.get().filter(|kept| kept.thread == this_thread())
    }
}

impl Job {
    /// What this thread keeps with the job.
    pub(crate) fn kept<K: Keepsake + 'static>(&self) -> Option<&K> {
        let kept = self.keep.get().filter(|kept| kept.of == TypeId::of::<K>())?;
        // SAFETY: made by `keep` for this type, and dropped with the job.
        let what = unsafe { kept.what.cast::<K>().as_ref() };
        // SAFETY: the job is borrowed as long as what is given out, and aimed at again before it is given out another time.
        unsafe { what.aim(self) };
        Some(what)
    }

    /// Keeps something until the job is dropped.
    ///
    /// # Safety
    /// It can be used as long as the job exists, whatever its lifetimes say, once it is aimed at the job.
    pub(crate) unsafe fn keep<K: Keepsake + 'static>(&self, what: K) -> &K {
        let what = NonNull::from(Box::leak(Box::new(what))).cast();
        let kept = Kept { thread: this_thread(), of: TypeId::of::<K>(), what, end: end::<K> };
        self.keep.0.set(Some(kept));
        self.kept().expect("it was just kept")
    }

    /// The job ends.
    pub(super) fn end_kept(&self) {
        if let Some(kept) = self.keep.get() {
            self.keep.0.set(None);
            // SAFETY: made by `keep` for the same type, and taken out; nobody borrows it, since nobody borrows the job.
            unsafe { (kept.end)(kept.what, self) };
        }
    }
}

/// # Safety
/// It is a leaked box of a `K` that nobody uses.
unsafe fn end<K: Keepsake>(what: NonNull<()>, job: &Job) {
    // SAFETY: the caller's promise.
    let what = unsafe { Box::from_raw(what.cast::<K>().as_ptr()) };
    // SAFETY: dropped before the job.
    unsafe { what.aim(job) };
}
