//! Ports for as many threads as a program has.
//!
//! A thread takes a port at its first call and keeps it until it ends: that is the way of all threads while there are enough. Some ports
//! are kept back for the rest, in a pool. A thread of the rest takes one for each call and gives it back behind it. If there is none, it
//! lets others run: whoever has one gives it back without waiting for anybody ([`super::operation`] sees to that).
//!
//! When a thread has ended, those without a port of their own ask once more for one.

use crate::error::Failure;
use crate::{current, process, thread};
use core_hikyaku::ffi::port_count;
use core_hikyaku::{Error, Job, LentPort, Port, PortPool};
use std::cell::Cell;
use std::ptr::null;

/// Ports kept back for threads that find none: a quarter of all, so that most threads have one, and at most this many. More would only let
/// threads that are already switching in and out of their cores do so in more calls at once.
const SHARED_MAX: usize = 4;

/// What a thread goes on with.
pub enum Entered<'p> {
    Own(*const Port),
    Borrowed(Borrowed<'p>),
}

/// A port of the pool, for a call.
pub struct Borrowed<'p>(LentPort<'p>);

thread_local! {
    /// Of a thread that has found no port: in which job, and how many had been given back when it asked.
    static FOUND_NONE: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Keeps some of the ports that are free back; none, if there is none.
pub fn keep_back(job: &Job) -> Result<PortPool, Failure> {
    let wanted = (port_count(job) / 4).clamp(1, SHARED_MAX);
    let mut ports = Vec::new();
    while let Some(port) = none_is_none(process::take_port()).transpose() {
        ports.push(port?);
        if ports.len() == wanted {
            break;
        }
    }
    Ok(PortPool::new(ports)?)
}

/// The first call of a thread in a job, or one of a thread that has no port.
#[cold]
#[inline(never)]
pub fn enter_or_borrow(pool: &PortPool) -> Result<Entered<'_>, Failure> {
    let found_none = (process::epoch(), process::ports_given());
    if FOUND_NONE.get() != found_none {
        match thread::enter() {
            Ok(port) => return Ok(Entered::Own(port)),
            Err(Failure::Library(Error::NoPort { .. })) if !pool.is_empty() => FOUND_NONE.set(found_none),
            Err(failure) => return Err(failure),
        }
    }
    let port = pool.take()?;
    // Handlers that run in this call make theirs on the same port.
    current::with(|current| current.set(process::epoch(), &raw const *port));
    Ok(Entered::Borrowed(Borrowed(port)))
}

/// That there is no port is no error here.
fn none_is_none(port: Result<Port, Failure>) -> Result<Option<Port>, Failure> {
    match port {
        Err(Failure::Library(Error::NoPort { .. })) => Ok(None),
        other => other.map(Some),
    }
}

impl Borrowed<'_> {
    pub fn port(&self) -> &Port {
        &self.0
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        current::with(|current| current.set(0, null()));
    }
}
