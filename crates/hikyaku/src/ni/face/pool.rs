//! Ports that threads share, for as many threads as a program has.
//!
//! Free ports are in a list without a lock ([`Places`]). A thread takes one, for one call or for a while, and gives it back. It never waits
//! for a port while it has another, so whoever has one can go on, and gives it back some time.

use crate::error::{Error, Result};
use crate::ni::face::port::Port;
use crate::ni::face::wait::{at_work, stand_by};
use crate::ni::interface::Ni;
use crate::ni::state::inside::refuse_in_handler;
use crate::sync::atomic::{Mutex, MutexGuard};
use crate::sync::brief::{lock, look_for};
use crate::sync::places::{PLACES_MAX, Places};
use std::cell::Cell;
use std::ops::Deref;
use std::sync::Arc;

thread_local! {
    /// How many ports have been lent to this thread.
    static LENT: Cell<usize> = const { Cell::new(0) };
}

/// Ports that threads share: where a program has more threads than a rank can have ports, or does not know how many.
///
/// A thread takes one by [`take`](PortPool::take) and has it for itself until it drops the [`LentPort`]. Made by [`Port::pool`], or of ports
/// that are open already.
///
/// What a thread pushes to a rank and the words that it writes there behind keep their order while it has the same port. Another port is
/// another way: who gives a port back before it writes the word calls [`Port::flush`] first, unless all ranks are on one host.
#[derive(Debug)]
pub struct PortPool {
    places: Places,
    /// Each is locked by whoever has taken its place, so nobody waits for a lock.
    ports: Box<[Mutex<Pooled>]>,
    /// The interface they lead into, if there is any.
    ni: Option<Arc<Ni>>,
}

#[derive(Debug)]
struct Pooled {
    port: Port,
    was_lent: bool,
}

/// A port of a [`PortPool`] that a thread has for itself. It goes back to the pool when this is dropped; one that is forgotten never does.
#[derive(Debug)]
pub struct LentPort<'p> {
    // Dropped in this order: nobody finds the place free and the port locked.
    pooled: MutexGuard<'p, Pooled>,
    _place: TakenPlace<'p>,
}

#[derive(Debug)]
struct TakenPlace<'p> {
    places: &'p Places,
    place: usize,
}

impl Port {
    /// Opens so many ports of this rank, for any number of threads.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// let counter = job.symmetric::<u64>(1)?;
    /// let pool = job.pool(4)?;
    /// std::thread::scope(|scope| {
    ///     for _ in 0..100 {
    ///         scope.spawn(|| pool.take().unwrap().fetch_add(counter.at(0, 0), 1).unwrap());
    ///     }
    /// });
    /// job.barrier()?;
    /// assert_eq!(job.pull_one(counter.at(0, 0))?, 200);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn pool(&self, ports: usize) -> Result<PortPool> {
        let ports = (0..ports).map(|_| self.open()).collect::<Result<Vec<_>>>()?;
        PortPool::new(ports)
    }
}

impl PortPool {
    /// A pool of these ports, of one rank. It may have none, and then nobody gets one.
    pub fn new(ports: Vec<Port>) -> Result<PortPool> {
        if ports.len() > PLACES_MAX {
            return Err(Error::Invalid(format!("{} ports in a pool, which has at most {PLACES_MAX}", ports.len())));
        }
        let ni = ports.first().map(|port| port.ni().clone());
        // Nobody works with them yet.
        ports.iter().for_each(stand_by);
        let pooled = ports.into_iter().map(|port| Mutex::new(Pooled { port, was_lent: false }));
        let ports: Box<[_]> = pooled.collect();
        Ok(PortPool { places: Places::new(ports.len(), 0), ports, ni })
    }

    /// How many ports there are, lent or not.
    pub fn len(&self) -> usize {
        self.ports.len()
    }

    /// Whether there are none at all.
    pub fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }

    /// Takes a port. If all are lent, other threads run until one comes back.
    ///
    /// A thread that already has a port of a pool does not wait for another: it gets [`Error::NoPort`] if there is none, because threads
    /// that wait so for each other would never go on. In handlers nothing waits, either.
    pub fn take(&self) -> Result<LentPort<'_>> {
        match self.try_take() {
            Some(port) => Ok(port),
            None => self.take_when_free(),
        }
    }

    #[cold]
    fn take_when_free(&self) -> Result<LentPort<'_>> {
        refuse_in_handler()?;
        let ni = self.ni.as_ref().ok_or(Error::NoPort { max: 0 })?;
        ni.check_rank(ni.rank)?;
        if LENT.get() > 0 {
            return Err(Error::NoPort { max: ni.memory.layout.ports });
        }
        Ok(look_for(|| self.try_take()))
    }

    /// Takes a port if one is free.
    pub fn try_take(&self) -> Option<LentPort<'_>> {
        let place = self.places.take()?;
        let mut pooled = lock(&self.ports[place]);
        if !pooled.was_lent {
            pooled.was_lent = true;
            at_work(&pooled.port);
        }
        LENT.set(LENT.get() + 1);
        Some(LentPort { pooled, _place: TakenPlace { places: &self.places, place } })
    }
}

impl Deref for LentPort<'_> {
    type Target = Port;

    #[inline(always)]
    fn deref(&self) -> &Port {
        &self.pooled.port
    }
}

impl Drop for TakenPlace<'_> {
    fn drop(&mut self) {
        LENT.set(LENT.get() - 1);
        self.places.give(self.place);
    }
}
