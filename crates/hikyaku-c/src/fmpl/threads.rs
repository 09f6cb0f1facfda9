//! Other threads than the one that called `fmpl_init`: each has an [`Fmpl`] of its own, on an endpoint of the job.
//!
//! The lock here is taken when threads come and go, never by an operation.

use super::entry::{count, guarded, with_fmpl};
use super::error::{Outcome, Trouble};
use super::job::{Fmpl, is_started, refuse_in_fork, why_not};
use super::origin::Origin;
use crate::error::Failure;
use crate::given::exported;
use crate::{process, thread};
use core_hikyaku::collective::Endpoint;
use core_hikyaku::ffi::OpenEndpoint;
use core_hikyaku::message::SLOTS_MAX;
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Slots of the messages that an endpoint brings along. The groups of FMPL have slots of their own.
const UNUSED_SLOTS: usize = 1;

static PREPARED: Mutex<Option<Threads>> = Mutex::new(None);

/// What `fmpl_threads` has prepared.
struct Threads {
    /// Slots per pair.
    slots: usize,
    places: Vec<Place>,
}

/// A number for a thread.
enum Place {
    Free(Box<Endpoint<'static>>),
    Inside,
    /// Its thread has ended without `fmpl_thread_finalize`.
    Ended,
    Used,
}

thread_local! {
    /// The number of this thread, between `fmpl_thread_init` and `fmpl_thread_finalize`.
    static NUMBER: Number = const { Number(Cell::new(None)) };
}

/// The number of a thread.
struct Number(Cell<Option<usize>>);

impl Number {
    fn get(&self) -> Option<usize> {
        self.0.get()
    }
}

impl Drop for Number {
    /// The thread ends. It should have none any more.
    fn drop(&mut self) {
        if let Some(number) = self.get() {
            mark(number, Place::Ended);
        }
    }
}

/// Says what has become of a number.
fn mark(number: usize, place: Place) {
    if let Some(old) = lock().as_mut().and_then(|threads| threads.places.get_mut(number)) {
        *old = place;
    }
}

/// Whether this thread is between `fmpl_thread_init` and `fmpl_thread_finalize`.
pub fn is_inside() -> bool {
    // What a thread runs at its end may ask when it has no number any more.
    NUMBER.try_with(Number::get).ok().flatten().is_some()
}

fn lock() -> MutexGuard<'static, Option<Threads>> {
    PREPARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives up what was prepared, if no thread is inside.
pub fn forget() -> Outcome<()> {
    let mut prepared = lock();
    let places = || prepared.iter().flat_map(|threads| &threads.places).enumerate();
    let numbers = |is: fn(&Place) -> bool| places().filter(|(_, place)| is(place)).map(|(number, _)| number).collect();
    let ended: Vec<usize> = numbers(|place| matches!(place, Place::Ended));
    let inside: Vec<usize> = numbers(|place| matches!(place, Place::Inside | Place::Ended));
    if !inside.is_empty() {
        return Err(Trouble::Inside { inside, ended });
    }
    let old = prepared.take();
    drop(prepared);
    drop(old);
    Ok(())
}

/// Takes an endpoint; gives the slots of its groups too.
fn take(number: c_int) -> Outcome<(Endpoint<'static>, usize)> {
    let mut prepared = lock();
    let threads = prepared.as_mut().ok_or(Trouble::NoThreads)?;
    let count = threads.places.len();
    let place = usize::try_from(number).ok().and_then(|index| threads.places.get_mut(index));
    match place.map(|place| std::mem::replace(place, Place::Inside)) {
        Some(Place::Free(endpoint)) => Ok((*endpoint, threads.slots)),
        Some(Place::Inside) => Err(Trouble::NumberTaken(number)),
        Some(Place::Ended) => {
            threads.places[number as usize] = Place::Ended;
            Err(Trouble::NumberTaken(number))
        }
        Some(Place::Used) => {
            threads.places[number as usize] = Place::Used;
            Err(Trouble::NumberUsed(number))
        }
        None => Err(Trouble::NoNumber(number, count)),
    }
}

/// A thread has left, with all that it had.
fn leave(number: usize) {
    NUMBER.with(|own| own.0.set(None));
    mark(number, Place::Used);
}

exported! {
    /// Prepares threads besides this one. All ranks call it.
    pub fn fmpl_threads(number: c_int, slots: c_int) -> c_int {
        with_fmpl(|fmpl| {
            let job = fmpl.origin.job("fmpl_threads")?;
            let number = count(number, "the number of threads")?;
            let per_pair = usize::try_from(slots).ok().filter(|slots| (1..=SLOTS_MAX).contains(slots));
            let slots = per_pair.ok_or(Trouble::Slots(slots))?;
            refuse_in_fork()?;
            forget()?;
            let free = |endpoint| Place::Free(Box::new(endpoint));
            let places = job.endpoints(number, UNUSED_SLOTS)?.into_iter().map(free).collect();
            *lock() = Some(Threads { slots, places });
            Ok(())
        })
    }

    /// Makes this thread the one of a number. The threads of that number on all ranks call it.
    pub fn fmpl_thread_init(number: c_int) -> c_int {
        guarded(|| {
            refuse_here()?;
            let (endpoint, slots) = take(number)?;
            NUMBER.with(|own| own.0.set(Some(number as usize)));
            // SAFETY: `fmpl_finalize` ends nothing while a thread is inside; and `Fmpl` lets groups and messages go first.
            let worker = Box::new(unsafe { OpenEndpoint::new(endpoint) });
            let made = Fmpl::new(Origin::Thread(worker), slots);
            if made.is_err() {
                leave(number as usize);
            }
            made?.install();
            Ok(())
        })
    }

    /// Ends this thread's part. The threads of its number on all ranks call it.
    pub fn fmpl_thread_finalize() -> c_int {
        let checked = with_fmpl(|fmpl| match fmpl.origin {
            Origin::Job(_) => Err(Trouble::InitThread),
            Origin::Thread(_) => fmpl.check_idle("fmpl_thread_finalize"),
        });
        if checked < 0 {
            return checked;
        }
        guarded(|| {
            let ended = Fmpl::take().end();
            leave(NUMBER.with(Number::get).expect("set before there was an `Fmpl`"));
            ended
        })
    }
}

/// What stands against `fmpl_thread_init` on this thread.
fn refuse_here() -> Outcome<()> {
    if let Some(failure @ Failure::Library(_)) = process::why_not(process::epoch()) {
        return Err(failure.into());
    }
    thread::refuse_in_handler()?;
    match (is_started(), is_inside()) {
        (false, _) => Err(why_not()),
        (true, true) => Err(Trouble::ThreadStarted),
        (true, false) if thread::job().is_ok() => Err(Trouble::InitThread),
        (true, false) => Ok(()),
    }
}
