//! Serving ranks of other hosts while this one computes: a thread that sleeps on the transport's descriptor.
//!
//! A push of a far rank lands although the program is busy with something else: this thread performs what concerns memory, and
//! keeps messages for the program, whose handlers run only where the program said so.
//!
//! ```text
//!   a thread of the program that waits                 this thread
//!   polls += 1; polls the transport                    seen = polls; sleeps on the descriptor
//!   ...                                                awake: polls != seen?  somebody else is at it: naps, and looks after
//!                                                      each nap, until nobody else has
//!   sleeps at its bell, or leaves the library          polls == seen: polls itself, and rings the bell
//! ```
//! So a waiting rank does not pay for two threads, and nothing that comes lies longer than a nap. Nor does what that thread has
//! left to be sent later: mostly it rides on what it says next, so it is not sent alone while it polls. If it leaves the library
//! instead, the transport's timer wakes this thread.

use crate::error::{Error, Result};
use crate::ni::interface::Ni;
use crate::ni::state::failure::Hold;
use crate::transport::core::Armed;
use rustix::event::{EventfdFlags, PollFd, PollFlags};
use rustix::fs::Timespec;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long this thread keeps away from a transport that another one polls. Each nap takes the core away from that one for some
/// microseconds; without, a push to a rank that computes would land when it looks next.
const NAP: Duration = Duration::from_micros(200);

/// The thread, until dropped.
#[derive(Debug)]
pub(crate) struct Service {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
    process: u32,
}

#[derive(Debug)]
struct Stop {
    asked: AtomicBool,
    event: OwnedFd,
}

impl Service {
    pub fn start(ni: &Arc<Ni>) -> Result<Service> {
        let event = rustix::event::eventfd(0, EventfdFlags::CLOEXEC).map_err(|e| Error::system("eventfd", e))?;
        let stop = Arc::new(Stop { asked: AtomicBool::new(false), event });
        // Not the interface itself, which lives as long as its job does.
        let (served, stopping) = (Arc::downgrade(ni), stop.clone());
        let run = move || {
            let _hold = Hold::as_interface();
            while !stopping.asked.load(Ordering::SeqCst)
                && let Some(ni) = served.upgrade()
            {
                serve(&ni, &stopping);
            }
        };
        let thread = std::thread::Builder::new().name(format!("hikyaku-far-{}", ni.rank));
        let thread =
            crate::sync::signals::without_signals(|| thread.spawn(run)).map_err(|error| Error::thread(&error))?;
        Ok(Service { stop, thread: Some(thread), process: std::process::id() })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // A forked child has a copy of this, but not of the thread.
            std::mem::forget(self.thread.take());
            return;
        }
        self.stop.asked.store(true, Ordering::SeqCst);
        let _ = rustix::io::write(&self.stop.event, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// One round.
fn serve(ni: &Ni, stop: &Stop) {
    let Some(far) = &ni.far else { return };
    let seen = ni.polls.load(Ordering::Relaxed);
    if let Armed::Until(deadline) = far.arm() {
        let time = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        sleep([far.descriptor(), far.timer()], stop, time);
    }
    let is_polled = ni.polls.load(Ordering::Relaxed) != seen;
    if is_polled || ni.serve_far().is_none() {
        keep_away(ni, stop);
    }
}

/// Naps, and looks after each nap, until nobody else has looked during one.
fn keep_away(ni: &Ni, stop: &Stop) {
    loop {
        let seen = ni.polls.load(Ordering::Relaxed);
        std::thread::park_timeout(NAP);
        ni.serve_far();
        if ni.polls.load(Ordering::Relaxed) == seen || stop.asked.load(Ordering::SeqCst) {
            return;
        }
    }
}

/// Sleeps until one of the descriptors is readable, or the time is over, or the thread is asked to stop.
fn sleep(descriptors: [Option<BorrowedFd<'_>>; 2], stop: &Stop, time: Option<Duration>) {
    let time = time.map(|time| Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() });
    let asked = stop.event.as_fd();
    let polled = [asked, descriptors[0].unwrap_or(asked), descriptors[1].unwrap_or(asked)];
    let mut polled = polled.map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
    // Whatever has interrupted it, the caller looks again.
    let _ = rustix::event::poll(&mut polled, time.as_ref());
}
