//! The asymmetric fence.
//!
//! Two sides each write their own word and then read the other's; at least one must see the other's write.
//! Both would normally need a full fence. When one side runs millions of times a second (a sender that asks
//! "is anybody asleep?") and the other seldom (a rank that goes to sleep), the rare side pays for both: its
//! `membarrier` call makes every core of the job execute a full fence, so the frequent side needs to stop only
//! the compiler.
//!
//! The kind is one for all ranks of a host (whoever starts them probes the kernel): mixing kinds would leave one
//! side without a fence.

#[cfg(not(loom))]
use super::atomic::compiler_fence;
use super::atomic::{Ordering, fence};
#[cfg(not(loom))]
use rustix::thread::{MembarrierCommand, membarrier};

/// How the two sides are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Fences {
    /// Both sides execute a full fence: works everywhere.
    Symmetric = 0,
    /// `membarrier(PRIVATE_EXPEDITED)`: all sides are threads of one process.
    Threads = 1,
    /// `membarrier(GLOBAL_EXPEDITED)`: the sides are registered processes.
    Processes = 2,
}

impl Fences {
    /// The inverse of `as u32`, for a value that came from another process.
    pub fn from_u32(value: u32) -> Option<Fences> {
        [Fences::Symmetric, Fences::Threads, Fences::Processes].into_iter().find(|kind| *kind as u32 == value)
    }

    /// The frequent side.
    #[inline(always)]
    pub fn light(self) {
        #[cfg(not(loom))]
        if self != Fences::Symmetric {
            compiler_fence(Ordering::SeqCst);
            return;
        }
        fence(Ordering::SeqCst);
    }

    /// The rare side.
    #[cold]
    pub fn heavy(self) {
        #[cfg(not(loom))]
        match self {
            Fences::Symmetric => {}
            Fences::Threads => fence_everywhere(MembarrierCommand::PrivateExpedited),
            Fences::Processes => fence_everywhere(MembarrierCommand::GlobalExpedited),
        }
        fence(Ordering::SeqCst);
    }

    /// Registers this process for its side of the fence; every process of the job does it once at start.
    #[cfg(not(loom))]
    pub fn register(self) -> std::io::Result<()> {
        match self {
            Fences::Symmetric => Ok(()),
            Fences::Threads => Ok(membarrier(MembarrierCommand::RegisterPrivateExpedited)?),
            Fences::Processes => Ok(membarrier(MembarrierCommand::RegisterGlobalExpedited)?),
        }
    }

    /// The best kind this kernel offers to threads.
    #[cfg(not(loom))]
    pub fn for_threads() -> Fences {
        if Fences::Threads.register().is_ok() { Fences::Threads } else { Fences::Symmetric }
    }

    /// The best kind this kernel offers to processes.
    #[cfg(not(loom))]
    pub fn for_processes() -> Fences {
        if Fences::Processes.register().is_ok() { Fences::Processes } else { Fences::Symmetric }
    }
}

/// A registered command fails only when the kernel has no memory for its list of cores. The slow command, which waits
/// until every core of the machine has passed through the scheduler, needs none.
#[cfg(not(loom))]
fn fence_everywhere(command: MembarrierCommand) {
    while membarrier(command).or_else(|_| membarrier(MembarrierCommand::Global)).is_err() {
        // Without a fence there is no way to go on.
        std::thread::yield_now();
    }
}
