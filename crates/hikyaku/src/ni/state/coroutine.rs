//! Work with a stack of its own: where other code would wait, it is suspended, and goes on when it is resumed.
//!
//! So code that waits in the ordinary way ([`crate::ni::progress::wait`]) also runs beside the program, in steps, without a thread. A
//! coroutine stays on the thread that made it. Stacks are used again.
//!
//! Functions of the program run there, so a stack has as much room as that of a program usually has. It is address space only:
//! memory is taken as it is used. Whoever needs more is ended by the kernel (SIGSEGV) at the guard below it; to say more than that
//! would take a signal handler, and the library installs none.

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine as Raw, CoroutineResult, Yielder};
use rustix::mm::{Advice, MprotectFlags, madvise, mprotect};
use std::cell::{Cell, RefCell};

/// Address space of a stack.
const STACK_BYTES: usize = 8 << 20;
/// What is out of bounds below it: more than a frame of a function that does not look where it steps.
const GUARD_BYTES: usize = 1 << 20;
/// Stacks a thread keeps,
const KEPT_MAX: usize = 8;
/// unless more than so much of one was used: its memory goes back.
const KEPT_BYTES: usize = 256 * 1024;
/// Lies where that much is used up.
const UNUSED: u64 = 0x6879_6b79_616b_7500;

thread_local! {
    /// The coroutine that runs now, if any: where it is suspended.
    static CURRENT: Cell<*const Yielder<(), ()>> = const { Cell::new(std::ptr::null()) };
    /// No panic was under way when it was resumed.
    static CALM: Cell<bool> = const { Cell::new(false) };
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// Work under way that gives an `R`.
///
/// It must not be dropped before it has ended: what it has on its stack may be known to peers. Dropping it aborts.
pub(crate) struct Coroutine<R: 'static>(Option<Raw<(), (), R>>);

impl<R> Coroutine<R> {
    /// Prepares `work`, which begins with the first [`Coroutine::resume`] and must not panic; gives it back if there is no
    /// memory for a stack.
    pub fn new<W: FnOnce() -> R + 'static>(work: W) -> std::result::Result<Coroutine<R>, W> {
        let kept = STACKS.with_borrow_mut(Vec::pop);
        let Some(stack) = kept.or_else(make_stack) else { return Err(work) };
        Ok(Coroutine(Some(Raw::with_stack(stack, move |yielder, ()| {
            CURRENT.set(yielder);
            work()
        }))))
    }

    /// Runs it until it would wait; what it gives, if it has ended.
    pub fn resume(&mut self) -> Option<R> {
        let raw = self.0.as_mut().expect("a coroutine that has ended is not resumed");
        // Work may move other work on.
        let outer = CURRENT.replace(std::ptr::null());
        let calm = CALM.replace(!std::thread::panicking());
        let result = raw.resume(());
        CURRENT.set(outer);
        CALM.set(calm);
        let CoroutineResult::Return(result) = result else { return None };
        keep_stack(self.0.take().expect("it was there").into_stack());
        Some(result)
    }
}

fn make_stack() -> Option<DefaultStack> {
    let stack = DefaultStack::new(STACK_BYTES + GUARD_BYTES).ok()?;
    let (low, bytes) = (stack.limit().get(), stack.base().get() - stack.limit().get());
    // SAFETY: memory of the new stack that nobody uses yet; its lowest page is out of bounds anyway.
    unsafe {
        mprotect(low as *mut _, GUARD_BYTES, MprotectFlags::empty()).ok()?;
        // Its first pages shall not become a large one. Where there are none, nothing is lost.
        let _ = madvise(low as *mut _, bytes, Advice::LinuxNoHugepage);
        mark_of(&stack).write(UNUSED);
    }
    Some(stack)
}

/// Keeps the stack of a coroutine that has ended for the next one, or not.
fn keep_stack(stack: DefaultStack) {
    // SAFETY: nothing runs there any more.
    let is_shallow = unsafe { mark_of(&stack).read() } == UNUSED;
    STACKS.with_borrow_mut(|kept| {
        if is_shallow && kept.len() < KEPT_MAX {
            kept.push(stack);
        }
    });
}

fn mark_of(stack: &DefaultStack) -> *mut u64 {
    (stack.base().get() - KEPT_BYTES) as *mut u64
}

impl<R> Drop for Coroutine<R> {
    fn drop(&mut self) {
        if self.0.as_ref().is_some_and(Raw::started) {
            eprintln!("hikyaku: an operation was dropped while peers may use its buffers");
            std::process::abort();
        }
    }
}

/// Whether the calling code runs in a coroutine.
#[inline(always)]
pub(crate) fn is_inside() -> bool {
    !CURRENT.get().is_null()
}

/// Whether a panic goes through the coroutine that runs, and not through whoever has resumed it.
#[cold]
pub(crate) fn is_unwinding() -> bool {
    CALM.get() && std::thread::panicking()
}

/// Goes back to whoever resumed the coroutine that runs; returns when it is resumed again.
pub(crate) fn suspend() {
    let current = CURRENT.get();
    assert!(!current.is_null(), "only a coroutine can be suspended");
    // SAFETY: set by the coroutine that runs now, on whose stack the yielder lives until it ends.
    unsafe { (*current).suspend(()) };
    CURRENT.set(current);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn work_goes_on_where_it_was_suspended() {
        let seen = Rc::new(Cell::new(0));
        let count = seen.clone();
        let mut work = Coroutine::new(move || {
            for turn in 1..=3 {
                count.set(turn);
                suspend();
            }
            "done"
        })
        .ok()
        .unwrap();
        assert!(!is_inside());
        for turn in 1..=3 {
            assert_eq!(work.resume(), None);
            assert_eq!(seen.get(), turn);
        }
        assert_eq!(work.resume(), Some("done"));
    }

    #[test]
    fn one_may_resume_another() {
        let mut outer = Coroutine::new(|| {
            let mut inner = Coroutine::new(|| {
                suspend();
                7
            })
            .ok()
            .unwrap();
            assert_eq!(inner.resume(), None);
            suspend();
            inner.resume()
        })
        .ok()
        .unwrap();
        assert_eq!(outer.resume(), None);
        assert_eq!(outer.resume(), Some(Some(7)));
    }

    /// As much as the program has on its own, which only what needs it keeps.
    #[test]
    fn a_stack_that_was_used_deeply_is_given_back() {
        #[inline(never)]
        fn dig(depth: usize) -> usize {
            let room = std::hint::black_box([depth as u8; 1024]);
            if depth == 0 { 0 } else { dig(depth - 1) + room.len() }
        }
        let kept = || STACKS.with_borrow(Vec::len);
        let run = |depth: usize| Coroutine::new(move || dig(depth)).ok().unwrap().resume().unwrap();
        run(10);
        assert_eq!(kept(), 1);
        run(3000);
        assert_eq!(kept(), 0);
        run(10);
        assert_eq!(kept(), 1);
    }

    #[test]
    fn only_a_panic_of_its_own_goes_through_a_coroutine() {
        struct Sees<'a>(&'a Cell<Option<bool>>);
        impl Drop for Sees<'_> {
            fn drop(&mut self) {
                self.0.set(Some(is_unwinding()));
            }
        }
        struct Runs(Rc<Cell<Option<bool>>>);
        impl Drop for Runs {
            fn drop(&mut self) {
                let seen = self.0.clone();
                Coroutine::new(move || drop(Sees(&seen))).ok().unwrap().resume().unwrap();
            }
        }
        let seen = Rc::new(Cell::new(None));
        let inside = seen.clone();
        let panics = move || {
            let sees = Sees(&inside);
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let _sees = sees;
                panic!("on purpose")
            }))
            .is_err()
        };
        assert_eq!(Coroutine::new(panics).ok().unwrap().resume(), Some(true));
        assert_eq!(seen.take(), Some(true));
        let beside = seen.clone();
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _runs = Runs(beside);
            panic!("on purpose")
        }));
        assert!(result.is_err());
        assert_eq!(seen.take(), Some(false));
    }

    #[test]
    fn stacks_are_used_again() {
        let address = |work: &mut Coroutine<usize>| work.resume().unwrap();
        let here = || {
            let local = 0u8;
            &raw const local as usize / STACK_BYTES
        };
        let first = address(&mut Coroutine::new(here).ok().unwrap());
        assert!((0..20).all(|_| address(&mut Coroutine::new(here).ok().unwrap()) == first));
    }
}
