//! Serving peers without the program's help: a thread, and a descriptor for event loops.

use crate::entry::{Code, with_port};
use crate::error::Failure;
use crate::given::exported;
use crate::process::with_running;
use crate::thread;
use std::ffi::c_int;
use std::os::fd::AsRawFd;

/// A descriptor as C gets it.
struct Descriptor(c_int);

impl Code for Descriptor {
    fn code(self) -> c_int {
        self.0
    }
}

exported! {
    /// Starts the thread.
    pub fn hk_ni_thread_start() -> c_int {
        with_port(|port| {
            with_running(|running| {
                if running.ni_thread.is_none() {
                    running.ni_thread = Some(running.open(|| port.start_ni_thread())?);
                }
                Ok(())
            })
        })
    }

    /// Stops it.
    pub fn hk_ni_thread_stop() -> c_int {
        with_port(|port| {
            // A handler may run on that very thread.
            thread::refuse_in_handler()?;
            let stopped = with_running(|running| Ok(running.ni_thread.take()))?;
            // It ends without the lock, which it may need for its last handler.
            drop(stopped);
            with_running(|running| {
                running.mend_door(port);
                Ok(())
            })
        })
    }

    /// The descriptor.
    pub fn hk_event_fd() -> c_int {
        with_port(|port| {
            with_running(|running| {
                if running.events.is_none() {
                    running.events = Some(running.open(|| port.event_descriptor())?);
                }
                let descriptor = running.events.as_ref().and_then(|events| events.descriptor());
                descriptor.map(|fd| Descriptor(fd.as_raw_fd())).ok_or(Failure::NotStarted)
            })
        })
    }

    /// Makes it unreadable until the next arrival.
    pub fn hk_event_clear() -> c_int {
        with_port(|_| {
            with_running(|running| {
                if let Some(events) = &running.events {
                    events.clear();
                }
                Ok(())
            })
        })
    }
}
