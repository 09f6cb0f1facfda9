//! Beginning and ending.

use super::comm::{Comm, Sending};
use super::entry::{guarded, with_fmpl};
use super::error::{Outcome, Trouble};
use super::memory::Blocks;
use super::origin::Origin;
use super::prepared::Transfer;
use super::started::Call;
use super::table::Table;
use super::threads;
use crate::error::Failure;
use crate::function::Function;
use crate::given::exported;
use crate::process::{self, Interface};
use crate::{current, thread};
use core_hikyaku::message::SLOTS_MAX;
use core_hikyaku::{Error, Job};
use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::ptr::null;
use std::sync::atomic::{AtomicBool, Ordering};

/// `FMPL_COMM_WORLD`.
pub const WORLD: c_int = 0;

/// Whether FMPL has begun in this process. Written by the thread that called `fmpl_init`.
static STARTED: AtomicBool = AtomicBool::new(false);

/// Everything that a thread has between `fmpl_init` and `fmpl_finalize`, or between `fmpl_thread_init` and `fmpl_thread_finalize`.
pub struct Fmpl {
    /// Slots per pair.
    pub slots: usize,
    /// Changed by the calls that make and free groups only ([`Fmpl::alone`]).
    pub comms: Table<Comm>,
    pub sending: Cell<Sending>,
    pub last: Cell<Last>,
    pub functions: RefCell<Table<Function>>,
    pub transfers: RefCell<Table<Transfer>>,
    pub calls: RefCell<Table<Call>>,
    pub blocks: RefCell<Blocks>,
    /// Groups and messages rest on it, so it goes last.
    pub origin: Origin,
}

/// What the last receive got.
#[derive(Clone, Copy, Debug)]
pub struct Last {
    pub bytes: usize,
    pub source: c_int,
    pub index: c_int,
}

impl Fmpl {
    /// The group of a number.
    #[inline(always)]
    pub fn comm(&self, comm: c_int) -> Outcome<&Comm> {
        self.comms.get(comm).ok_or(Trouble::Comm(comm))
    }

    /// Begins with the group of all ranks, together with them.
    pub fn new(origin: Origin, slots: usize) -> Outcome<Fmpl> {
        let world = Comm::new(origin.group(true)?.expect("this rank joins"), slots, false)?;
        let mut comms = Table::default();
        comms.add(world).expect("there is room");
        Ok(Fmpl {
            origin,
            slots,
            comms,
            sending: Cell::default(),
            last: Cell::new(Last { bytes: 0, source: -1, index: -1 }),
            functions: RefCell::default(),
            transfers: RefCell::default(),
            calls: RefCell::default(),
            blocks: RefCell::default(),
        })
    }

    /// Lets this thread's calls find it.
    pub fn install(self) {
        current::with(|current| current.fmpl.set(Box::into_raw(Box::new(self))));
    }

    /// Takes it from this thread, whose calls find nothing from now on. For the functions that C calls, after [`Fmpl::with`] has found it.
    pub fn take() -> Box<Fmpl> {
        let fmpl = current::with(|current| current.fmpl.replace(null()));
        assert!(!fmpl.is_null(), "it was found");
        // SAFETY: from `install`; this thread was the only one to have it, and has just let go of it.
        unsafe { Box::from_raw(fmpl.cast_mut()) }
    }

    /// What has to be so before it ends.
    pub fn check_idle(&self, call: &'static str) -> Outcome<()> {
        refuse_in_fork()?;
        match self.comms.all().all(Comm::is_idle) {
            true => Ok(()),
            false => Err(Trouble::UnderWay(call)),
        }
    }

    /// Ends it, together with all ranks.
    pub fn end(self) -> Outcome<()> {
        // All ranks have made their groups in the same order; the world is the last to go.
        let freed = self.comms.into_all().rev().map(Comm::free).fold(Ok(()), Outcome::and);
        drop((self.transfers, self.calls, self.functions, self.blocks));
        drop(self.origin);
        freed
    }

    /// Goes on with what this thread has, between `fmpl_init` and `fmpl_finalize`.
    ///
    /// This and [`Fmpl::alone`] are for the functions that C calls: they are never inside each other. What the program runs in the
    /// middle of a call finds nothing (`thread::without_fmpl`).
    #[inline(always)]
    pub fn with(body: impl FnOnce(&Fmpl) -> Outcome<()>) -> Outcome<()> {
        let fmpl = current::with(|current| current.fmpl.get());
        if fmpl.is_null() {
            return Err(why_not());
        }
        // SAFETY: it stays until `Fmpl::take`, which takes the pointer away first, and is never inside another call.
        body(unsafe { &*fmpl })
    }

    /// Goes on with it for a change. Meanwhile no call finds it.
    pub fn alone(body: impl FnOnce(&mut Fmpl) -> Outcome<()>) -> Outcome<()> {
        let fmpl = current::with(|current| current.fmpl.get());
        if fmpl.is_null() {
            return Err(why_not());
        }
        let mut outcome = Ok(());
        // SAFETY: as above; and this thread, the only one to have it, has no other reference: it is not inside a call, and can begin none.
        thread::without_fmpl(|| outcome = body(unsafe { &mut *fmpl.cast_mut() }));
        outcome
    }

    /// Notes what a receive got.
    #[inline(always)]
    pub fn received(&self, bytes: usize, source: usize, index: usize) {
        self.last.set(Last { bytes, source: source as c_int, index: index as c_int });
    }
}

pub fn is_started() -> bool {
    STARTED.load(Ordering::Acquire)
}

/// Why this thread has no [`Fmpl`].
#[cold]
pub fn why_not() -> Trouble {
    let started = is_started();
    match (process::why_not(process::epoch()), thread::refuse_in_handler()) {
        (Some(failure @ Failure::Library(_)), _) => failure.into(),
        (_, Err(in_handler)) => in_handler.into(),
        _ if !started => Failure::NotStarted.into(),
        _ if thread::job().is_err() && !threads::is_inside() => Failure::Thread.into(),
        _ => Trouble::InFunction,
    }
}

exported! {
    /// Joins the job and makes the slots of all ranks.
    pub fn fmpl_init(_ma: *mut c_void, _fa: *mut c_void, count: c_int) -> c_int {
        guarded(|| {
            let slots = usize::try_from(count).ok().filter(|slots| (1..=SLOTS_MAX).contains(slots));
            let slots = slots.ok_or(Trouble::Slots(count))?;
            process::join(Interface::Fmpl)?;
            let begun = begin(slots);
            if begun.is_err() {
                // The first error tells more.
                let _ = process::leave(Interface::Fmpl);
            }
            begun
        })
    }
}

fn begin(slots: usize) -> Outcome<()> {
    // SAFETY: the job lives until `process::leave`, which follows the end of what is made here.
    let job: &'static Job = unsafe { &*thread::job()? };
    let fmpl = Fmpl::new(Origin::Job(job), slots)?;
    STARTED.store(true, Ordering::Release);
    fmpl.install();
    Ok(())
}

exported! {
    /// Ends everything. All ranks call it.
    pub fn fmpl_finalize() -> c_int {
        let checked = with_fmpl(|fmpl| {
            fmpl.origin.job("fmpl_finalize")?;
            fmpl.check_idle("fmpl_finalize")?;
            threads::forget()
        });
        if checked < 0 {
            return checked;
        }
        guarded(|| {
            let fmpl = Fmpl::take();
            STARTED.store(false, Ordering::Release);
            let freed = fmpl.end();
            process::leave(Interface::Fmpl)?;
            freed
        })
    }
}

/// What changes memory of the rank is not for its forks.
pub fn refuse_in_fork() -> Outcome<()> {
    match process::why_not(process::epoch()) {
        Some(Failure::Library(error @ Error::ForkedChild)) => Err(error.into()),
        _ => Ok(()),
    }
}
