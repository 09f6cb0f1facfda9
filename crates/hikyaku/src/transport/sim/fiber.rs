//! A rank's program with a stack of its own: it stops where the rank waits and goes on when its time has come.

use crate::error::{Error, Result};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::any::Any;
use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What became of a program.
pub(crate) type Ending<R> = std::result::Result<R, Box<dyn Any + Send>>;

thread_local! {
    /// The fiber that runs now, if any: where it stops.
    static CURRENT: Cell<*const Yielder<bool, ()>> = const { Cell::new(std::ptr::null()) };
    /// Whose it is.
    static OWNER: Cell<Owner> = const { Cell::new(Owner { run: 0, rank: 0 }) };
    /// It is being ended.
    static ENDING: Cell<bool> = const { Cell::new(false) };
}

/// What a fiber that is ended early unwinds with.
pub(crate) struct Ended;

/// The rank whose program a fiber is. Programs get hold of what belongs to others, and of other runs: who stops in the name of another
/// rank would never be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The number of the run.
    pub run: u64,
    pub rank: usize,
}

/// One program.
pub(crate) struct Fiber<'a, R> {
    owner: Owner,
    coroutine: Coroutine<bool, (), Ending<R>, DefaultStack>,
    borrows: PhantomData<&'a ()>,
}

impl<'a, R: 'a> Fiber<'a, R> {
    /// Prepares a program with so many bytes of stack, which begins when first resumed.
    pub fn new(owner: Owner, stack_bytes: usize, program: impl FnOnce() -> R + 'a) -> Result<Fiber<'a, R>> {
        if stack_bytes > isize::MAX as usize {
            // More than there are addresses; the sum with the guard would overflow.
            return Err(Error::System { call: "mmap", errno: libc::ENOMEM });
        }
        let stack = DefaultStack::new(stack_bytes)
            .map_err(|error| Error::System { call: "mmap", errno: error.raw_os_error().unwrap_or(libc::ENOMEM) })?;
        let body = move |yielder: &Yielder<bool, ()>, goes_on| {
            CURRENT.set(yielder);
            match goes_on {
                true => catch_unwind(AssertUnwindSafe(program)),
                false => Err(Box::new(Ended) as _),
            }
        };
        // SAFETY: the marker keeps the fiber from outliving what the program borrows, and `drop` ends the program.
        let coroutine = unsafe { Coroutine::with_stack_unchecked(stack, body) };
        Ok(Fiber { owner, coroutine, borrows: PhantomData })
    }
}

impl<R> Fiber<'_, R> {
    /// Runs it until it stops; what became of it, if it has ended.
    pub fn resume(&mut self) -> Option<Ending<R>> {
        self.switch(true)
    }

    fn switch(&mut self, goes_on: bool) -> Option<Ending<R>> {
        let outer = (CURRENT.replace(std::ptr::null()), OWNER.replace(self.owner));
        let result = self.coroutine.resume(goes_on);
        CURRENT.set(outer.0);
        OWNER.set(outer.1);
        match result {
            CoroutineResult::Yield(()) => None,
            CoroutineResult::Return(ending) => Some(ending),
        }
    }
}

impl<R> Drop for Fiber<'_, R> {
    /// Unwinds a program that has not ended, as a panic would.
    fn drop(&mut self) {
        let outer = ENDING.replace(true);
        while !self.coroutine.done() {
            self.switch(false);
        }
        ENDING.set(outer);
    }
}

/// Whether the fiber of this rank runs, and can stop here. One that is being ended does not stop any more.
pub(crate) fn can_stop(owner: Owner) -> bool {
    !CURRENT.get().is_null() && OWNER.get() == owner && !ENDING.get()
}

/// Stops the fiber that runs; returns when it is resumed, or unwinds it if it is not to go on and nothing unwinds it yet.
pub(crate) fn stop() {
    let current = CURRENT.get();
    assert!(!current.is_null(), "only a fiber can stop");
    let is_unwinding = std::thread::panicking();
    // SAFETY: set by the fiber that runs now, on whose stack the yielder lives until it ends.
    let goes_on = unsafe { (*current).suspend(()) };
    CURRENT.set(current);
    // One that a panic unwinds already has stopped in a destructor, which a second panic would not get out of. It does not stop
    // any more, so it comes to its end.
    if !goes_on && !is_unwinding {
        resume_unwind(Box::new(Ended));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: Owner = Owner { run: 1, rank: 0 };

    #[test]
    fn programs_take_turns_and_borrow() {
        let log = std::cell::RefCell::new(Vec::new());
        let program = |name: u32| {
            let log = &log;
            move || {
                for step in 0..3 {
                    log.borrow_mut().push((name, step));
                    stop();
                }
                name
            }
        };
        let mut fibers = [1, 2].map(|name| Fiber::new(OWNER, 64 * 1024, program(name)).unwrap());
        let mut endings = Vec::new();
        while endings.len() < 2 {
            endings.extend(fibers.iter_mut().filter_map(|fiber| (!fiber.coroutine.done()).then(|| fiber.resume())?));
        }
        assert_eq!(endings.into_iter().map(|ending| ending.ok().unwrap()).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(*log.borrow(), [(1, 0), (2, 0), (1, 1), (2, 1), (1, 2), (2, 2)]);
    }

    #[test]
    fn only_the_fiber_of_a_rank_stops_for_it() {
        let other = Owner { rank: 1, ..OWNER };
        let mut outer = Fiber::new(OWNER, 64 * 1024, || {
            let mut inner = Fiber::new(other, 64 * 1024, || (can_stop(OWNER), can_stop(other))).unwrap();
            let ended = inner.resume().unwrap().ok().unwrap();
            (ended, can_stop(OWNER), can_stop(other))
        })
        .unwrap();
        assert_eq!(outer.resume().unwrap().ok().unwrap(), ((false, true), true, false));
        assert!(!can_stop(OWNER));
    }

    #[test]
    fn a_stack_that_cannot_be_is_an_error() {
        for bytes in [usize::MAX, usize::MAX - 8191, isize::MAX as usize] {
            assert!(Fiber::new(OWNER, bytes, || ()).is_err());
        }
    }

    #[test]
    fn a_program_that_stops_while_it_is_unwound_can_be_dropped() {
        struct Stops<'a>(&'a Cell<u32>);
        impl Drop for Stops<'_> {
            fn drop(&mut self) {
                if can_stop(OWNER) {
                    stop();
                }
                self.0.set(self.0.get() + 1);
            }
        }
        let passed = Cell::new(0);
        let mut fiber = Fiber::new(OWNER, 64 * 1024, || {
            let _stops = (Stops(&passed), Stops(&passed));
            resume_unwind(Box::new("on purpose"));
        })
        .unwrap();
        assert!(fiber.resume().is_none());
        drop(fiber);
        assert_eq!(passed.get(), 2);
        assert!(!std::thread::panicking());
    }

    #[test]
    fn a_program_that_is_dropped_is_unwound() {
        struct Bell<'a>(&'a Cell<u32>);
        impl Drop for Bell<'_> {
            fn drop(&mut self) {
                self.0.set(self.0.get() + 1);
            }
        }
        let rung = Cell::new(0);
        let mut fiber = Fiber::new(OWNER, 64 * 1024, || {
            let _bell = Bell(&rung);
            stop();
            unreachable!("it is not resumed");
        })
        .unwrap();
        assert!(fiber.resume().is_none());
        assert_eq!(rung.get(), 0);
        drop(fiber);
        assert_eq!(rung.get(), 1);
        assert!(!is_inside_any());
        drop(Fiber::new(OWNER, 64 * 1024, stop).unwrap());
    }

    fn is_inside_any() -> bool {
        !CURRENT.get().is_null()
    }
}
