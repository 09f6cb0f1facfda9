//! Work of this thread that goes on by itself while the thread waits for something else.
//!
//! A thread's layers above register here what they have under way (sends in a spare buffer, say); every wait of the
//! thread moves it on. The list belongs to the thread, like the ports it uses.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

/// Something that can be moved on.
pub(crate) trait Background {
    /// Moves it on as far as it goes without waiting: some of it if there is much, or `all`.
    fn advance(&self, all: bool);
}

thread_local! {
    static UNDER_WAY: RefCell<Vec<Weak<dyn Background>>> = const { RefCell::new(Vec::new()) };
}

/// From now on waits of this thread move `work` on, as long as it exists.
pub(crate) fn register<W: Background + 'static>(work: &Rc<W>) {
    let weak: Weak<W> = Rc::downgrade(work);
    UNDER_WAY.with_borrow_mut(|list| {
        list.retain(|work| work.strong_count() > 0);
        list.push(weak);
    });
}

/// Moves everything on: some of it, so that a wait is not held up, or `all`, before the thread sleeps.
#[inline]
pub(crate) fn advance(all: bool) {
    UNDER_WAY.with(|list| {
        // Work that waits itself would come back here: then the outer round goes on.
        if let Ok(list) = list.try_borrow() {
            list.iter().filter_map(Weak::upgrade).for_each(|work| work.advance(all));
        }
    });
}
