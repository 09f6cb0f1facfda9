//! Work of this thread that goes on by itself while the thread waits for something else.
//!
//! A thread's layers above register here what they have under way (sends in a spare buffer, say); every wait of the
//! thread moves it on. The list belongs to the thread, like the ports it uses.

use crate::sync::brief::Brief;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::thread::ThreadId;

/// Something that can be moved on.
pub(crate) trait Background {
    /// Moves it on as far as it goes without waiting: some of it if there is much, or `all`. It may come back here: then
    /// there is nothing to do.
    fn advance(&self, all: bool);

    /// Whether there is nothing to move on, so that waits need not look any more. Who says so is not looked at again until it
    /// registers again.
    fn rests(&self) -> bool {
        false
    }
}

/// So many are looked at rather than asked whether they rest: most programs have no more, and change all the time.
const FEW: usize = 8;

thread_local! {
    static UNDER_WAY: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
    static MOVED: Cell<bool> = const { Cell::new(false) };
}

/// Work, and whose it is.
struct Entry {
    /// Only compared: of which rank it is, while that has its job.
    of: *const Workplaces,
    work: Weak<dyn Background>,
}

/// The threads of a rank on which work was registered.
#[derive(Default)]
pub(crate) struct Workplaces(Brief<Vec<ThreadId>>);

/// From now on waits of this thread move `work` of a rank on, as long as it exists and the rank has its job.
pub(crate) fn register<W: Background + 'static>(of: &Workplaces, work: &Rc<W>) {
    let work: Weak<W> = Rc::downgrade(work);
    UNDER_WAY.with_borrow_mut(|list| {
        list.retain(|entry| entry.work.strong_count() > 0);
        list.push(Entry { of, work });
    });
    let mut threads = of.0.lock();
    let this = std::thread::current().id();
    if !threads.contains(&this) {
        threads.push(this);
    }
}

/// Has waits of this thread move `work` of a rank on from now on, unless they do so already.
pub(crate) fn ensure<W: Background + 'static>(of: &Workplaces, work: &Rc<W>) {
    let listed = |entry: &Entry| std::ptr::addr_eq(entry.work.as_ptr(), Rc::as_ptr(work));
    if !UNDER_WAY.with_borrow(|list| list.iter().any(listed)) {
        register(of, work);
    }
}

/// The rank gives up its job: no wait of this thread moves anything of it on any more, also if the program has leaked it.
/// False if there may be work on another thread: the job was moved, and what was leaked there stayed.
pub(crate) fn retire(of: &Workplaces) -> bool {
    // A thread that ends has no list any more, and moves nothing on.
    let _ = UNDER_WAY.try_with(|list| list.borrow_mut().retain(|entry| !std::ptr::eq(entry.of, of)));
    let threads = of.0.lock();
    let this = std::thread::current().id();
    threads.iter().all(|thread| *thread == this)
}

/// This thread is done with a rank. If nothing of it is left here, it is not in the way when the rank gives up its job.
pub(crate) fn vacate(of: &Workplaces) {
    let is_left = |list: &RefCell<Vec<Entry>>| {
        list.borrow().iter().any(|entry| std::ptr::eq(entry.of, of) && entry.work.strong_count() > 0)
    };
    // A thread that ends has no list any more, and moves nothing on.
    if !UNDER_WAY.try_with(is_left).unwrap_or(false) {
        let this = std::thread::current().id();
        of.0.lock().retain(|thread| *thread != this);
    }
}

/// What is under way in this thread, exchanged for something else: for programs that take turns in one thread.
pub(crate) fn exchange(list: &mut UnderWay) {
    UNDER_WAY.with_borrow_mut(|current| std::mem::swap(current, &mut list.0));
}

/// A list of work, while its program does not run.
#[derive(Default)]
pub(crate) struct UnderWay(Vec<Entry>);

/// Moves everything on: some of it, so that a wait is not held up, or `all`, before the thread sleeps. True if something
/// was done ([`moved`]), so that there may soon be more.
#[inline]
pub(crate) fn advance(all: bool) -> bool {
    MOVED.set(false);
    for index in 0.. {
        // The list is free while work moves on: it may register more.
        match UNDER_WAY.try_with(|list| list.borrow().get(index).map(|entry| entry.work.upgrade())) {
            Ok(Some(Some(work))) => work.advance(all),
            Ok(Some(None)) => {}
            // A thread that ends may still wait for something, but then the list is gone.
            Ok(None) | Err(_) => break,
        }
    }
    let _ = UNDER_WAY.try_with(|list| {
        let mut list = list.borrow_mut();
        if list.len() > FEW {
            list.retain(|entry| entry.work.upgrade().is_some_and(|work| !work.rests()));
        }
    });
    MOVED.get()
}

/// Whether nothing of this thread goes on by itself, so that only what it waits for can give it something to do. What rests is taken off the
/// list: it comes back by [`register`] when there is something again.
pub(crate) fn rests() -> bool {
    let goes_on = |entry: &Entry| entry.work.upgrade().is_some_and(|work| !work.rests());
    let look = |list: &RefCell<Vec<Entry>>| {
        // Inside of such work something may be under way.
        let Ok(mut list) = list.try_borrow_mut() else { return false };
        list.retain(goes_on);
        list.is_empty()
    };
    // A thread that ends has no list any more.
    UNDER_WAY.try_with(look).unwrap_or(true)
}

/// Said by work that got something done.
pub(crate) fn moved() {
    MOVED.set(true);
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counts(Cell<u32>);

    impl Background for Counts {
        fn advance(&self, _: bool) {
            self.0.set(self.0.get() + 1);
        }
    }

    struct Sleeper(Cell<u32>);

    impl Background for Sleeper {
        fn advance(&self, _: bool) {
            self.0.set(self.0.get() + 1);
        }

        fn rests(&self) -> bool {
            true
        }
    }

    /// However many there are, a wait has nothing to do for those that rest.
    #[test]
    fn what_rests_is_not_looked_at_until_it_registers_again() {
        let of = Workplaces::default();
        let all: Vec<_> = (0..100).map(|_| Rc::new(Sleeper(Cell::new(0)))).collect();
        let looks = || all.iter().map(|work| work.0.get()).sum::<u32>();
        all.iter().for_each(|work| register(&of, work));
        advance(false);
        assert_eq!(looks(), 100);
        advance(false);
        assert_eq!(looks(), 100);
        register(&of, &all[0]);
        advance(false);
        assert_eq!((looks(), all[0].0.get()), (101, 2));
        assert!(retire(&of));
    }

    /// A rank that has left touches no memory of others: what the program has leaked stays where it is.
    #[test]
    fn what_was_leaked_does_not_go_on_when_the_job_is_given_up() {
        crate::local(2, |job| {
            let (port, work) = (job.open().unwrap(), Rc::new(Counts(Cell::new(0))));
            register(&job.ni.workplaces, &work);
            port.progress();
            assert_eq!(work.0.get(), 1);
            assert!(retire(&job.ni.workplaces));
            port.progress();
            assert_eq!(work.0.get(), 1);
        })
        .unwrap();
    }

    /// A thread that is done is in nobody's way, unless it has leaked something.
    #[test]
    fn a_thread_that_is_done_is_forgotten() {
        crate::local(1, |job| {
            for leaks in [false, true] {
                std::thread::scope(|scope| {
                    let of = &job.ni.workplaces;
                    scope.spawn(move || {
                        let work = Rc::new(Counts(Cell::new(0)));
                        register(of, &work);
                        vacate(of);
                        assert_eq!(of.0.lock().len(), 1, "there is work");
                        if leaks {
                            std::mem::forget(work)
                        } else {
                            drop(work)
                        }
                        vacate(of);
                    });
                });
                assert_eq!(retire(&job.ni.workplaces), !leaks);
            }
        })
        .unwrap();
    }

    /// Nobody can take it away from the other thread, so the rank has not left.
    #[test]
    fn what_may_go_on_in_another_thread_is_told() {
        crate::local(1, |job| {
            assert!(retire(&job.ni.workplaces));
            std::thread::scope(|scope| {
                let of = &job.ni.workplaces;
                scope.spawn(move || register(of, &Rc::new(Counts(Cell::new(0)))));
            });
            assert!(!retire(&job.ni.workplaces));
        })
        .unwrap();
    }
}
