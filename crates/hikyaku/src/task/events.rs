//! Futures for any executor: a thread that wakes them when something has arrived.
//!
//! ```text
//!   a future that sees nothing yet             the thread
//!   is put on the list                         sleeps; nobody pays for it
//!   calls the thread, unless it is armed  ->   arms its bell, wakes everybody on the list, who look again
//!   looks again                                is rung by whatever arrives: wakes everybody on the list
//! ```
//! Whoever is on the list while the bell is armed misses nothing. It is disarmed when nobody was on the list for a while: an armed bell
//! costs whoever writes here a system call.

use super::core::drop_quietly;
use super::future::Askers;
use crate::error::{Error, Result};
use crate::ni::{By, Hold, Ni, Place, Port, Until, refuse_in_handler};
use std::fmt::{Debug, Formatter};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often futures are woken that may wait for what rings no bell; and how long the bell stays armed for nobody, in such times.
const TICK: Duration = Duration::from_millis(2);
const LINGER_TICKS: u32 = 10;

/// Wakes futures when something has arrived at this rank: for executors that know nothing of it. See [`Port::events`].
///
/// It has a thread, which sleeps. Dropping it ends the thread; futures that still wait are woken no more.
pub struct Events {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    ni: Arc<Ni>,
    /// Where the thread sleeps.
    cell: usize,
    askers: Askers,
    is_armed: AtomicBool,
    stops: AtomicBool,
}

impl Debug for Events {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

impl Port {
    /// Starts what wakes futures of any executor when words, messages and the like arrive. It takes a port and a thread, which sleeps.
    ///
    /// ```
    /// # use std::{future::Future, pin::pin, sync::Arc, task::{Context, Poll, Wake}, thread::Thread};
    /// # struct Unpark(Thread);
    /// # impl Wake for Unpark { fn wake(self: Arc<Self>) { self.0.unpark() } }
    /// # fn block_on<F: Future>(future: F) -> F::Output {
    /// #     let (mut future, waker) = (pin!(future), Arc::new(Unpark(std::thread::current())).into());
    /// #     loop {
    /// #         if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) { return result }
    /// #         std::thread::park();
    /// #     }
    /// # }
    /// # hikyaku::local(2, |job| {
    /// use hikyaku::Until;
    /// let flag = job.symmetric::<u64>(1)?;
    /// let events = job.events()?;
    /// let peer = 1 - job.rank();
    /// // `block_on` is that of any executor.
    /// block_on(async {
    ///     job.word(flag.at(peer, 0), 5)?;
    ///     assert_eq!(events.word(flag.here(0), Until::AtLeast(1)).by(peer).await?, 5);
    ///     hikyaku::Result::Ok(())
    /// })?;
    /// # drop(events);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    ///
    /// # Errors
    /// If there is no port left (`HIKYAKU_PORTS`), and on simulated ranks, which have no threads.
    pub fn events(&self) -> Result<Events> {
        if self.is_simulated() {
            return Err(Error::Invalid(
                "a simulated rank has no thread that wakes futures; its tasks can await everything".into(),
            ));
        }
        let port = self.open()?;
        let shared = Arc::new(Shared {
            ni: port.ni().clone(),
            cell: port.initiator.index,
            askers: Askers::default(),
            is_armed: AtomicBool::new(false),
            stops: AtomicBool::new(false),
        });
        let serves = shared.clone();
        let serve = move || {
            // The port is this thread's for as long as it sleeps there.
            let _port = &port;
            serves.serve();
        };
        let thread = std::thread::Builder::new().name(format!("hikyaku-events-{}", shared.ni.rank));
        let thread = thread.spawn(serve).map_err(|error| Error::thread(&error))?;
        Ok(Events { shared, thread: Some(thread) })
    }
}

impl Events {
    /// Waits for a word of this rank's own memory, as [`Port::wait`] does.
    pub fn word<'a>(&'a self, word: Place<'a, u64>, until: Until) -> EventWord<'a> {
        EventWord { events: self, word, until, by: By::Anyone }
    }

    pub(super) fn add(&self, waker: &Waker, is_impatient: bool) {
        let shared = &self.shared;
        shared.askers.add(waker, is_impatient);
        if !shared.is_armed.load(Ordering::SeqCst) {
            shared.ni.mine().bell.call(shared.cell);
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let shared = &self.shared;
        if shared.ni.size() == 0 {
            // A forked child has a copy of this, but not of the thread.
            std::mem::forget(self.thread.take());
            return;
        }
        shared.stops.store(true, Ordering::SeqCst);
        shared.ni.mine().bell.call(shared.cell);
        // In a handler it may be the thread itself, or one that waits for this; a waker of the program may drop it on that thread, too.
        let is_own = |thread: &JoinHandle<()>| thread.thread().id() == std::thread::current().id();
        if let Some(thread) = self.thread.take().filter(|thread| refuse_in_handler().is_ok() && !is_own(thread)) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn serve(&self) {
        // As on the interface's thread: a panic of a handler is the program's to raise.
        let _hold = Hold::as_interface();
        let bell = &self.ni.mine().bell;
        loop {
            // Before anything is looked at: a call that comes later is seen.
            let seen = bell.sequence(self.cell);
            if self.stops.load(Ordering::SeqCst) || self.ni.failure.is_lasting() {
                break;
            }
            if self.askers.is_empty() {
                bell.await_sequence(self.cell, seen, None);
            } else {
                self.watch();
            }
        }
        // Who calls later is not answered, so it must not be said that somebody listens.
        self.is_armed.store(false, Ordering::SeqCst);
        self.wake();
    }

    /// A waker that panics has said so; the others go on.
    fn wake(&self) {
        drop_quietly(self.askers.wake());
    }

    /// While somebody waits.
    fn watch(&self) {
        let bell = &self.ni.mine().bell;
        bell.arm(self.ni.fences, self.cell);
        self.is_armed.store(true, Ordering::SeqCst);
        let mut idle_ticks = 0;
        while idle_ticks < LINGER_TICKS && !self.stops.load(Ordering::SeqCst) && !self.ni.failure.is_lasting() {
            let seen = bell.sequence(self.cell);
            self.ni.progress();
            let (is_idle, is_impatient) = (self.askers.is_empty(), self.askers.are_impatient());
            idle_ticks = if is_idle { idle_ticks + 1 } else { 0 };
            self.wake();
            // Those that were woken ask again, if there was nothing for them.
            let time = if is_idle || is_impatient { TICK } else { TICK * LINGER_TICKS };
            bell.await_sequence(self.cell, seen, Some(time));
        }
        self.is_armed.store(false, Ordering::SeqCst);
        bell.disarm(self.cell);
    }
}

/// A future that waits for a word, in any executor: see [`Events::word`]. It gives the value that ended the wait.
#[must_use = "a future does nothing unless it is awaited"]
#[derive(Debug)]
pub struct EventWord<'a> {
    events: &'a Events,
    word: Place<'a, u64>,
    until: Until,
    by: By,
}

impl EventWord<'_> {
    /// Who is to set it: only the end of that rank is an error. Otherwise the death of any rank is.
    pub fn by(mut self, rank: usize) -> Self {
        self.by = By::Rank(rank);
        self
    }

    fn look(&self) -> Result<Option<u64>> {
        let ni = &self.events.shared.ni;
        let word = Port::own_word_of(ni, self.word)?;
        let met = || Some(word.load(Ordering::Acquire)).filter(|value| self.until.met(*value));
        if let Some(value) = met() {
            return Ok(Some(value));
        }
        ni.failure.raise();
        ni.check_by(self.by)?;
        if ni.departures() != 0
            && let Err(error) = ni.find_departed(self.by)
        {
            ni.empty_rings();
            return met().map(Some).ok_or_else(|| ni.failing(error));
        }
        Ok(None)
    }
}

impl Future for EventWord<'_> {
    type Output = Result<u64>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<u64>> {
        if let Some(result) = self.look().transpose() {
            return Poll::Ready(result);
        }
        self.events.add(context.waker(), false);
        self.look().transpose().map_or(Poll::Pending, Poll::Ready)
    }
}
