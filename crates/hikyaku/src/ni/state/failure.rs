//! Panics of handlers, and how they reach the program of their rank.
//!
//! A handler runs wherever its message is found, and its message is used up whether it returns or panics. A panic goes on
//! through the call that found the message, if that call may be left by one. Where it may not, the panic is kept, and the
//! next call of the rank that may raises it:
//!
//! | where the handler ran | its panic |
//! |---|---|
//! | in a call of the program | goes on there, once |
//! | in a destructor while the thread unwinds: a second panic would abort the process | kept, raised once |
//! | in a coroutine, in a handler of another job, in a wait that must come to its end ([`Hold`]) | kept, raised once |
//! | on the interface's thread | kept for good: the thread serves no more, and every later call of the rank raises it |
//!
//! The last one ends its rank, but not before the rank's program has come out of the call in which it uses the memory of
//! others. *A rank has ended, for others, only when none of its threads can touch their memory any more*: peers free their
//! buffers by it. So a rank is called dead or left by its own program when that gives up its [`crate::Job`], which everything
//! borrows that works on buffers of peers, or by whoever has seen the whole process end. Ports that outlive the job reach
//! areas of others under a guard, for which a revocation waits however the rank is called ([`crate::ni::progress::revoke`]). A rank whose
//! program computes on meanwhile is unresponsive, not dead.

use super::coroutine;
use super::inside::refuse_in_handler;
use crate::sync::brief::lock;
use std::any::Any;
use std::cell::Cell;
use std::panic::{panic_any, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

/// What a handler panicked with.
pub(crate) type Panic = Box<dyn Any + Send>;

/// What a rank's handlers have panicked with and nobody has raised yet.
#[derive(Default)]
pub(crate) struct Failure {
    /// There is something to raise. Written inside the lock.
    is_kept: AtomicBool,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    panic: Option<Panic>,
    /// Why the interface's thread has ended, if it has.
    lasting: Option<String>,
}

thread_local! {
    /// How many holds there are, and [`INTERFACE`] more for each that serves a rank beside its program. They may end in another order,
    /// on simulated ranks that take turns in one thread.
    static HOLDS: Cell<u64> = const { Cell::new(0) };
}

/// What a hold of an interface counts in `HOLDS`, beside itself.
const INTERFACE: u64 = 1 << 32;

/// Until it is dropped, no panic of a handler leaves a call of this thread: for waits that must come to their end, because
/// memory is freed behind them.
pub(crate) struct Hold {
    counts: u64,
}

impl Hold {
    #[inline]
    pub fn enter() -> Hold {
        Hold::of(1)
    }

    /// Holds panics back for whatever serves a rank beside its program.
    pub fn as_interface() -> Hold {
        Hold::of(1 + INTERFACE)
    }

    #[inline]
    fn of(counts: u64) -> Hold {
        HOLDS.with(|holds| holds.set(holds.get() + counts));
        Hold { counts }
    }
}

impl Drop for Hold {
    #[inline]
    fn drop(&mut self) {
        HOLDS.with(|holds| holds.set(holds.get() - self.counts));
    }
}

/// Whether a call of this thread may be left by a panic now.
fn may_unwind() -> bool {
    HOLDS.get() == 0 && !std::thread::panicking() && !coroutine::is_inside() && refuse_in_handler().is_ok()
}

impl Failure {
    /// Lets a panic go on, or keeps it. True: it is kept.
    #[cold]
    pub fn go_on(&self, panic: Panic) -> bool {
        if may_unwind() {
            resume_unwind(panic);
        }
        // In a handler it is one of another job, which the handler moves on: that job's interface goes on.
        let for_good = HOLDS.get() >= INTERFACE && refuse_in_handler().is_ok();
        self.keep(panic, for_good);
        true
    }

    /// The first one is kept; the hook has told of all.
    fn keep(&self, panic: Panic, for_good: bool) {
        let mut kept = self.kept();
        if for_good && kept.lasting.is_none() {
            kept.lasting = Some(text_of(&panic));
        }
        let spare = match kept.panic {
            None => kept.panic.replace(panic),
            Some(_) => Some(panic),
        };
        self.is_kept.store(true, Ordering::SeqCst);
        drop(kept);
        // Not under the lock: what the program has thrown may have a destructor.
        drop(spare);
    }

    /// Raises what was kept, if this call may be left by a panic.
    #[inline(always)]
    pub fn raise(&self) {
        if self.is_kept.load(Ordering::Relaxed) {
            self.raise_kept();
        }
    }

    #[cold]
    #[inline(never)]
    fn raise_kept(&self) {
        if !may_unwind() {
            return;
        }
        let mut kept = self.kept();
        let panic = kept.panic.take();
        let lasting = kept.lasting.clone();
        self.is_kept.store(lasting.is_some(), Ordering::SeqCst);
        drop(kept);
        match (panic, lasting) {
            (Some(panic), _) => resume_unwind(panic),
            (None, Some(text)) => panic_any(format!("a handler has panicked on the interface's thread: {text}")),
            // Another thread has raised it.
            (None, None) => {}
        }
    }

    /// Whether a call of this thread would raise something.
    #[inline(always)]
    pub fn is_due(&self) -> bool {
        self.is_kept.load(Ordering::SeqCst) && may_unwind()
    }

    /// Whether anything was kept that nobody has raised.
    pub fn is_kept(&self) -> bool {
        self.is_kept.load(Ordering::SeqCst)
    }

    /// Whether the interface's thread has ended by a panic.
    pub fn is_lasting(&self) -> bool {
        self.is_kept.load(Ordering::SeqCst) && self.kept().lasting.is_some()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // Nothing in here panics while it is changed.
        lock(&self.kept)
    }
}

fn text_of(panic: &Panic) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it said nothing").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn raised(failure: &Failure) -> Option<String> {
        catch_unwind(AssertUnwindSafe(|| failure.raise())).err().map(|panic| text_of(&panic))
    }

    #[test]
    fn what_may_go_on_goes_on_and_is_not_kept() {
        let failure = Failure::default();
        let panic = catch_unwind(AssertUnwindSafe(|| failure.go_on(Box::new("now")))).unwrap_err();
        assert_eq!(text_of(&panic), "now");
        assert_eq!(raised(&failure), None);
    }

    #[test]
    fn what_is_held_is_raised_once_afterwards() {
        let failure = Failure::default();
        {
            let _hold = Hold::enter();
            let _inner = Hold::enter();
            assert!(failure.go_on(Box::new("first")) && failure.go_on(Box::new("second")));
            failure.raise();
            assert!(!failure.is_due());
        }
        assert!(failure.is_due() && !failure.is_lasting());
        assert_eq!(raised(&failure).as_deref(), Some("first"));
        assert_eq!(raised(&failure), None);
    }

    #[test]
    fn what_ended_the_interfaces_thread_is_raised_by_every_call() {
        let failure = Failure::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _hold = Hold::as_interface();
                failure.go_on(Box::new("there"));
            });
        });
        assert!(failure.is_lasting());
        assert_eq!(raised(&failure).as_deref(), Some("there"));
        for _ in 0..2 {
            assert!(raised(&failure).unwrap().ends_with("on the interface's thread: there"));
        }
    }

    /// A destructor that raises while its thread unwinds would abort the process.
    #[test]
    fn nothing_is_raised_while_a_thread_unwinds() {
        struct Calls<'f>(&'f Failure);
        impl Drop for Calls<'_> {
            fn drop(&mut self) {
                assert!(self.0.go_on(Box::new("second")));
                self.0.raise();
            }
        }
        let failure = Failure::default();
        let first = catch_unwind(AssertUnwindSafe(|| {
            let _calls = Calls(&failure);
            panic_any("first");
        }));
        assert_eq!(text_of(&first.unwrap_err()), "first");
        assert_eq!(raised(&failure).as_deref(), Some("second"));
    }
}
