//! What a rank sleeps on: the descriptors of several queues of completions, as one.

use hikyaku::{Error, Result};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A descriptor that is readable while one of those is that were added.
pub struct Sleep {
    set: OwnedFd,
    process: u32,
}

impl Sleep {
    /// Without any.
    ///
    /// # Errors
    /// When there is no descriptor left.
    pub fn new() -> Result<Sleep> {
        let set = epoll::create(CreateFlags::CLOEXEC).map_err(|errno| failed("epoll_create1", errno))?;
        Ok(Sleep { set, process: std::process::id() })
    }

    /// Adds one.
    ///
    /// # Errors
    /// When the system has no memory for it.
    pub fn add(&self, descriptor: BorrowedFd<'_>) -> Result<()> {
        epoll::add(&self.set, descriptor, EventData::new_u64(0), EventFlags::IN)
            .map_err(|errno| failed("epoll_ctl", errno))
    }

    /// Takes one away, before it is closed: a forked child may have a copy, which would keep it here. The child itself leaves alone what
    /// it shares with its parent.
    pub fn remove(&self, descriptor: BorrowedFd<'_>) {
        if self.process == std::process::id() {
            // Only one that was not added, or was taken away before, can fail.
            let _ = epoll::delete(&self.set, descriptor);
        }
    }
}

impl AsFd for Sleep {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.set.as_fd()
    }
}

fn failed(call: &'static str, errno: Errno) -> Error {
    Error::System { call, errno: errno.raw_os_error() }
}
