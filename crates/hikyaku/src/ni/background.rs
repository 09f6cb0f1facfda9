//! Work of this thread that goes on by itself while the thread waits for something else.
//!
//! A thread's layers above register here what they have under way (sends in a spare buffer, say); every wait of the
//! thread moves it on. The list belongs to the thread, like the ports it uses.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

/// Something that can be moved on.
pub(crate) trait Background {
    /// Moves it on as far as it goes without waiting: some of it if there is much, or `all`. It may come back here: then
    /// there is nothing to do.
    fn advance(&self, all: bool);
}

thread_local! {
    static UNDER_WAY: RefCell<Vec<Weak<dyn Background>>> = const { RefCell::new(Vec::new()) };
    static MOVED: Cell<bool> = const { Cell::new(false) };
}

/// From now on waits of this thread move `work` on, as long as it exists.
pub(crate) fn register<W: Background + 'static>(work: &Rc<W>) {
    let weak: Weak<W> = Rc::downgrade(work);
    UNDER_WAY.with_borrow_mut(|list| {
        list.retain(|work| work.strong_count() > 0);
        list.push(weak);
    });
}

/// The same, unless they do so already.
pub(crate) fn ensure<W: Background + 'static>(work: &Rc<W>) {
    let listed = |other: &Weak<dyn Background>| std::ptr::addr_eq(other.as_ptr(), Rc::as_ptr(work));
    if !UNDER_WAY.with_borrow(|list| list.iter().any(listed)) {
        register(work);
    }
}

/// What is under way in this thread, exchanged for something else: for programs that take turns in one thread.
pub(crate) fn exchange(list: &mut UnderWay) {
    UNDER_WAY.with_borrow_mut(|current| std::mem::swap(current, &mut list.0));
}

/// A list of work, while its program does not run.
#[derive(Default)]
pub(crate) struct UnderWay(Vec<Weak<dyn Background>>);

/// Moves everything on: some of it, so that a wait is not held up, or `all`, before the thread sleeps. True if something
/// was done ([`moved`]), so that there may soon be more.
#[inline]
pub(crate) fn advance(all: bool) -> bool {
    MOVED.set(false);
    for index in 0.. {
        // The list is free while work moves on: it may register more.
        match UNDER_WAY.try_with(|list| list.borrow().get(index).map(Weak::upgrade)) {
            Ok(Some(Some(work))) => work.advance(all),
            Ok(Some(None)) => {}
            // A thread that ends may still wait for something, but then the list is gone.
            Ok(None) | Err(_) => break,
        }
    }
    MOVED.get()
}

/// Said by work that got something done.
pub(crate) fn moved() {
    MOVED.set(true);
}
