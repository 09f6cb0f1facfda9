//! What launchers of other libraries tell the processes they start: which rank each is, of how many, and short texts that
//! ranks say to all, by which they find each other.
//!
//! | file | concept |
//! |---|---|
//! | `pmix` | PMIx, of Open MPI's `mpirun` and others: calls of their library |
//! | `library` | finding that library while the program runs |
//! | `text` | PMI-1, of MPICH's `mpirun` (hydra): lines of text on an inherited socket |
//! | `mpi` | whether MPI was started in this process |
//! | `mapping` | which rank is on which host, as hydra writes it |
//!
//! Both are shared with an MPI library in the same process, before or after it has started: each end of the exchange is
//! a question and its answer, and nothing is closed before the process ends.

mod library;
mod mapping;
mod mpi;
mod pmix;
mod text;

use crate::error::{Error, Result};
use std::time::Instant;

/// A launcher that was found.
pub(super) trait Exchange: Send + Sync {
    /// This process's rank.
    fn rank(&self) -> usize;
    /// The number of ranks.
    fn size(&self) -> usize;
    /// Whether the launcher may have started ranks on other hosts: not if it says that it has not.
    fn spans_hosts(&self) -> Result<bool>;
    /// Says a text on a topic, one word each. The others can read it after the next [`Exchange::fence`].
    fn put(&self, topic: &str, text: &str) -> Result<()>;
    /// Waits for all ranks.
    fn fence(&self, deadline: Instant) -> Result<()>;
    /// What a rank has said on a topic, before the last fence.
    fn get(&self, rank: usize, topic: &str) -> Result<String>;
    /// Tells the launcher that this process is about to end properly.
    fn say_goodbye(&self);
}

/// How the launcher talks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Protocol {
    Pmix,
    Text,
}

impl Protocol {
    /// That of the launcher which has started this process, if it is one of those.
    pub fn of_launcher() -> Option<Protocol> {
        let is_set = |name| std::env::var_os(name).is_some();
        if is_set("PMIX_NAMESPACE") && is_set("PMIX_RANK") {
            return Some(Protocol::Pmix);
        }
        is_set("PMI_FD").then_some(Protocol::Text)
    }

    /// Introduces this process to the launcher.
    pub fn open(self) -> Result<Box<dyn Exchange>> {
        Ok(match self {
            Protocol::Pmix => Box::new(pmix::Pmix::open()?),
            Protocol::Text => Box::new(text::Text::open()?),
        })
    }
}

/// What is wrong with the launcher, and what to do instead.
fn unusable(protocol: &str, why: impl std::fmt::Display) -> Error {
    Error::Launcher {
        reason: format!("this program was started by an MPI launcher ({protocol}), but {why}; try `hikyaku run -n N`"),
    }
}

/// Not all ranks came to the exchange.
fn nobody_came(protocol: &str) -> Error {
    unusable(
        protocol,
        "not all of its ranks joined in time: every rank must start hikyaku \
         (HIKYAKU_START_TIMEOUT sets how many seconds the others wait)",
    )
}
