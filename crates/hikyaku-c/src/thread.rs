//! What a thread holds: its port, the handler it runs, its last error.
//!
//! The port is found by one comparison: the thread remembers the number of the job its port belongs to
//! ([`crate::current`]), and the process has the number of the job that runs now. They differ before the first call,
//! after `hk_finalize`, and in a forked child; all of that is then sorted out in `enter`.

use crate::current;
use crate::error::Failure;
use crate::fmpl::Fmpl;
use crate::ompl::ports::{Entered, enter_or_borrow};
use crate::process;
use core_hikyaku::{Context, Error, Group, Job, Port, PortPool};
use std::cell::{Cell, RefCell, UnsafeCell};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

/// Longest text of an error, with its final zero.
pub const ERROR_BYTES: usize = 512;

/// Nothing here needs dropping, so it can be used even while the thread ends.
struct State {
    /// Set in the init thread only, while its job runs.
    job: Cell<*const Job>,
    /// The context of the handler that runs on this thread, or null.
    context: Cell<*mut c_void>,
    error_rank: Cell<c_int>,
    error_text: UnsafeCell<[u8; ERROR_BYTES]>,
}

thread_local! {
    static STATE: State = const {
        State {
            job: Cell::new(null()),
            context: Cell::new(null_mut()),
            error_rank: Cell::new(-1),
            error_text: UnsafeCell::new([0; ERROR_BYTES]),
        }
    };

    /// The port of a thread other than the init thread, given back when the thread ends.
    static KEPT: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

struct Kept {
    port: Option<Box<Port>>,
    epoch: u64,
}

impl Drop for Kept {
    fn drop(&mut self) {
        current::with(|current| current.forget(self.epoch));
        if let Some(port) = self.port.take() {
            process::give_port(*port, self.epoch);
        }
    }
}

/// Goes on with the port of this thread in the job that runs now.
#[inline(always)]
pub fn with_port<R>(body: impl FnOnce(&Port) -> Result<R, Failure>) -> Result<R, Failure> {
    let port = current::with(|current| match current.epoch.get() == process::epoch() {
        true => Ok(current.port.get()),
        false => enter(),
    })?;
    // SAFETY: the port stays with the thread until the thread ends, `hk_finalize` or `hk_init` takes it away, or
    // it is replaced at a call under a later job; none of these happens inside another call of this thread.
    body(unsafe { &*port })
}

/// As [`with_port`]; a thread that finds no port because all are in use goes on with one that is lent to it, and hears that it is.
#[inline(always)]
pub fn with_some_port<R>(pool: &PortPool, body: impl FnOnce(&Port, bool) -> Result<R, Failure>) -> Result<R, Failure> {
    let own = current::with(|current| (current.epoch.get() == process::epoch()).then(|| current.port.get()));
    match own {
        // SAFETY: as above.
        Some(port) => body(unsafe { &*port }, false),
        None => match enter_or_borrow(pool)? {
            // SAFETY: as above.
            Entered::Own(port) => body(unsafe { &*port }, false),
            Entered::Borrowed(borrowed) => body(borrowed.port(), true),
        },
    }
}

/// Goes on with the job, on the init thread.
pub fn with_job<R>(body: impl FnOnce(&Job) -> Result<R, Failure>) -> Result<R, Failure> {
    let job = job()?;
    // SAFETY: the job lives until `hk_finalize` on this same thread.
    body(unsafe { &*job })
}

/// Goes on with the group of all ranks, on the init thread. It is made when it is first needed, by all ranks together.
pub fn with_world<R>(body: impl FnOnce(&Group<'_>) -> Result<R, Failure>) -> Result<R, Failure> {
    with_job(|job| {
        refuse_in_handler()?;
        body(job.world()?)
    })
}

/// The job, on the init thread.
pub fn job() -> Result<*const Job, Failure> {
    let (now, mine) = (process::epoch(), current::with(|current| current.epoch.get()));
    match STATE.with(|state| state.job.get()) {
        job if now == mine && !job.is_null() => Ok(job),
        _ => Err(process::why_not(now).unwrap_or(Failure::Thread)),
    }
}

/// The job, on the init thread, for what ends before the job does: what [`process::leave`] clears.
pub fn lasting_job() -> Result<&'static Job, Failure> {
    // SAFETY: the job lives until `process::leave`, which first ends what is made of it.
    Ok(unsafe { &*job()? })
}

/// First call of a thread in a job.
#[cold]
#[inline(never)]
pub fn enter() -> Result<*const Port, Failure> {
    let epoch = process::epoch();
    if let Some(failure) = process::why_not(epoch) {
        return Err(failure);
    }
    let stale = current::with(|current| current.epoch.get() != 0);
    if stale && refuse_in_handler().is_err() {
        // A handler that outlived its job: the port it runs on must stay.
        return Err(Failure::NotStarted);
    }
    let entered = KEPT.try_with(|kept| {
        leave_old_job();
        let port = Box::new(process::take_port()?);
        let address = &raw const *port;
        kept.borrow_mut().replace(Kept { port: Some(port), epoch });
        STATE.with(|state| state.job.set(null()));
        current::with(|current| current.set(epoch, address));
        Ok(address)
    });
    entered.unwrap_or(Err(Failure::Ending))
}

/// Gives back what this thread still holds of a job that has ended.
pub fn leave_old_job() {
    let kept = KEPT.try_with(|kept| kept.borrow_mut().take());
    drop(kept);
}

/// Makes this thread the init thread of `job`.
pub fn adopt(epoch: u64, job: &Job) {
    STATE.with(|state| state.job.set(job));
    current::with(|current| current.set(epoch, &raw const **job));
}

/// The init thread lets go of the job of this number.
pub fn forsake(epoch: u64) {
    STATE.with(|state| state.job.set(null()));
    current::with(|current| current.forget(epoch));
}

/// Fails inside a handler, where nothing may wait.
pub fn refuse_in_handler() -> Result<(), Failure> {
    match STATE.with(|state| state.context.get().is_null()) {
        true => Ok(()),
        false => Err(Error::InHandler.into()),
    }
}

/// Goes on with the context of the handler that runs on this thread now, if that is what `context` is.
pub fn with_context(
    context: *mut c_void,
    body: impl FnOnce(&mut Context<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if context.is_null() || !STATE.with(|state| std::ptr::eq(state.context.get(), context)) {
        return Err(Failure::Context);
    }
    // SAFETY: the context that `run_handler` was given, on this thread, while it runs; it does not use it meanwhile.
    body(unsafe { &mut *context.cast::<Context<'_>>() })
}

/// Runs a handler with its context known to this thread, and without FMPL, whose calls wait. It gets the context as C does.
pub fn run_handler(context: &mut Context<'_>, handler: impl FnOnce(*mut c_void)) {
    struct Restore(*mut c_void);
    impl Drop for Restore {
        fn drop(&mut self) {
            STATE.with(|state| state.context.set(self.0));
        }
    }
    let context: *mut c_void = (&raw mut *context).cast();
    let _restore = Restore(STATE.with(|state| state.context.replace(context)));
    without_fmpl(|| handler(context));
}

/// Runs something of the program that may not make FMPL calls: they find nothing to work with. So nothing that a call
/// works with is ever changed by another one inside it, and no call has to look.
pub fn without_fmpl(run: impl FnOnce()) {
    struct Restore(*const Fmpl);
    impl Drop for Restore {
        fn drop(&mut self) {
            current::with(|current| current.fmpl.set(self.0));
        }
    }
    let _restore = Restore(current::with(|current| current.fmpl.replace(null())));
    run();
}

/// Writes the text of an error.
pub fn keep_error(rank: c_int, write: impl FnOnce(&mut [u8; ERROR_BYTES])) {
    STATE.with(|state| {
        state.error_rank.set(rank);
        // SAFETY: of this thread alone, and `write` only formats a text: nobody else looks at the buffer meanwhile.
        write(unsafe { &mut *state.error_text.get() });
    });
}

pub fn error_rank() -> c_int {
    STATE.with(|state| state.error_rank.get())
}

/// Looks at a copy of the text.
pub fn with_error_text<R>(look: impl FnOnce(&CStr) -> R) -> R {
    // SAFETY: of this thread alone, and nobody writes it meanwhile.
    let text = STATE.with(|state| unsafe { *state.error_text.get() });
    look(CStr::from_bytes_until_nul(&text).unwrap_or_default())
}

/// The text, which ends in a zero; valid while the thread lives.
pub fn error_text() -> *const c_char {
    STATE.with(|state| state.error_text.get().cast_const().cast())
}
