//! Progress without the host program: a thread that runs handlers and sleeps when there is nothing to do, and a
//! descriptor that becomes readable when something has arrived.

use super::port::Port;
use crate::error::{Error, Result};
use crate::ni::interface::Ni;
use crate::ni::remote::initiator::Initiator;
use crate::ni::state::failure::Hold;
use crate::ni::state::inside::refuse_in_handler;
use crate::sync::bell::ANY;
use rustix::event::EventfdFlags;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A thread that makes progress for its rank until it is dropped.
///
/// Handlers then run on this thread or inside calls of the program, still one at a time. If a handler panics on this thread, the thread
/// stops, and every later call of the rank that waits or looks for messages panics too, as if the handler had panicked there.
///
/// Dropping it waits until the thread has ended; inside a handler, which the thread may be waiting for or running, it only
/// asks the thread to end.
#[derive(Debug)]
pub struct NiThread {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    ni: Arc<Ni>,
    event: Option<Arc<OwnedFd>>,
    /// Of a simulated rank: the port a thread would have.
    port: Option<usize>,
}

impl Port {
    /// Starts a thread that runs handlers whenever messages arrive, so that peers are served while this rank
    /// computes. It sleeps when idle.
    ///
    /// ```
    /// # hikyaku::local(2, |job| {
    /// job.register_handler(1, |context, _| drop(context.reply([7; 6])))?;
    /// let thread = job.start_ni_thread()?;
    /// job.barrier()?;
    /// // Each rank is served by the thread of the other, even if that computes.
    /// assert_eq!(job.call(1 - job.rank(), 1, [0; 6], &[])?, [7; 6]);
    /// job.barrier()?;
    /// drop(thread);
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn start_ni_thread(&self) -> Result<NiThread> {
        if let Some(environment) = &self.initiator.ni.environment {
            self.initiator.ni.check_rank(self.initiator.ni.rank)?;
            let port = Some(self.initiator.ni.take_port()?);
            environment.serve_alone(true);
            let stop = Arc::new(AtomicBool::new(false));
            return Ok(NiThread { stop, thread: None, ni: self.initiator.ni.clone(), event: None, port });
        }
        NiThread::start(self, None)
    }

    /// A file descriptor for event loops. It becomes readable when a word, a notification, an atomic operation or a message has arrived
    /// since [`NiThread::clear`] was last called.
    ///
    /// ```
    /// # hikyaku::local(1, |job| {
    /// let flag = job.symmetric::<u64>(1)?;
    /// let events = job.event_descriptor()?;
    /// let descriptor = events.descriptor().expect("it was made for that"); // for `poll` or an event loop
    /// job.word(flag.here(0), 1)?;
    /// events.clear(); // first this, then a look at the words
    /// assert_eq!(job.poll(flag.here(0))?, 1);
    /// # let _ = descriptor;
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn event_descriptor(&self) -> Result<NiThread> {
        if self.initiator.ni.environment.is_some() {
            return Err(Error::Invalid(
                "a simulated rank has no descriptors: its time is not that of an event loop".into(),
            ));
        }
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let event = rustix::event::eventfd(0, flags).map_err(|e| Error::system("eventfd", e))?;
        NiThread::start(self, Some(Arc::new(event)))
    }
}

impl NiThread {
    fn start(port: &Port, event: Option<Arc<OwnedFd>>) -> Result<NiThread> {
        let by = port.open()?.initiator;
        let stop = Arc::new(AtomicBool::new(false));
        let (ni, stopping, signal) = (by.ni.clone(), stop.clone(), event.clone());
        let thread = std::thread::Builder::new()
            .name(format!("hikyaku-ni-{}", ni.rank))
            .spawn(move || serve(&by, &stopping, signal.as_deref()))
            .map_err(|error| Error::thread(&error))?;
        Ok(NiThread { stop, thread: Some(thread), ni, event, port: None })
    }

    /// The descriptor, if this was made by [`Port::event_descriptor`].
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.event.as_ref().map(|event| event.as_fd())
    }

    /// Makes the descriptor unreadable until the next arrival. Clear first, then look at your words: an arrival in
    /// between makes it readable again.
    pub fn clear(&self) {
        if let Some(event) = &self.event {
            let _ = rustix::io::read(event, &mut [0u8; 8]);
        }
    }
}

impl Drop for NiThread {
    fn drop(&mut self) {
        if self.ni.size() == 0 {
            // A forked child has a copy of this, but not of the thread.
            std::mem::forget(self.thread.take());
            return;
        }
        if let (Some(environment), Some(port)) = (&self.ni.environment, self.port) {
            environment.serve_alone(false);
            self.ni.give_port(port);
            return;
        }
        self.stop.store(true, Ordering::SeqCst);
        self.ni.mine().bell.ring_all();
        // The thread may be the one that runs this handler, or one whose handler waits for this one.
        if let Some(thread) = self.thread.take().filter(|_| refuse_in_handler().is_ok()) {
            let _ = thread.join();
        }
    }
}

fn serve(by: &Initiator, stop: &AtomicBool, event: Option<&OwnedFd>) {
    // A panic of a handler is the program's to raise. The rank is not dead by it: its program may be in the middle of a copy.
    let _hold = Hold::as_interface();
    match event {
        None => run_handlers(by, stop),
        Some(event) => signal_arrivals(by, stop, event),
    }
}

/// Sleeps at once when there is nothing to do: this thread must never spin against the program it serves.
fn run_handlers(by: &Initiator, stop: &AtomicBool) {
    let ni = &by.ni;
    while !stop.load(Ordering::SeqCst) && !ni.failure.is_lasting() {
        ni.mine().bell.sleep(ni.fences, by.index, ANY, None, || {
            stop.load(Ordering::SeqCst)
                || ni.failure.is_lasting()
                || match ni.progress() {
                    Some(worked) => worked,
                    None => {
                        rustix::thread::sched_yield();
                        true
                    }
                }
        });
    }
}

/// An arrival while this thread is awake counts too, hence the armed bell.
fn signal_arrivals(by: &Initiator, stop: &AtomicBool, event: &OwnedFd) {
    let bell = &by.ni.mine().bell;
    bell.arm(by.ni.fences, by.index);
    loop {
        // Before anything is looked at: whoever stops this thread rings after it has said so, and that ring must not be the one seen.
        let seen = bell.sequence(by.index);
        if stop.load(Ordering::SeqCst) {
            break;
        }
        by.ni.progress();
        // Also after a panic: a program that sleeps at the descriptor is to come and raise it.
        let _ = rustix::io::write(event, &1u64.to_ne_bytes());
        if by.ni.failure.is_lasting() {
            break;
        }
        bell.await_sequence(by.index, seen, None);
    }
    bell.disarm(by.index);
}
