//! Jobs: the ranks started together, and what they do together.
//!
//! Rests on: [`crate::ni`]. Leaves out: starting processes (that is [`crate::launch`]).
//!
//! | file | concept |
//! |---|---|
//! | `local` | ranks as threads of this process |
//! | `beside` | ranks as threads that are far from each other, for tests |
//! | `simulated` | ranks in virtual time |
//! | `trial` | the same in tests, where chance decides what goes wrong |
//! | `standstill` | a job in which every rank waits: who waits for what |
//! | `asleep` | whether threads of the program can still do something |
//! | `join` | this process as one rank, started by a launcher or alone |
//! | `inherited` | descriptors that a launcher has opened for it |
//! | `pmi/` | what launchers of other libraries tell |
//! | `rendezvous` | how ranks started by those find each other |
//! | `assembly` | likewise, over several hosts |
//! | `card` | what they say of themselves through the launcher |
//! | `gathering` | how the ranks of a host get its memory from one of them |
//! | `watch` | how they notice each other's end |
//! | `news` | how they tell other hosts of it |
//! | `exit` | how they tell their own |
//! | `farewell` | what they say of messages that nobody has handled |
//! | `address` | where ranks of other hosts reach this one |
//! | `wire` | what a rank and its launcher say to each other |
//! | `neighborhood` | who is on which host, and how each is reached |
//! | `bytes` | writing messages and reading them back |
//! | `collective` | barrier, and agreeing on a collective call |
//! | `meeting` | the same over several hosts |
//! | `symmetric` | memory that every rank has alike |
//! | `keep` | what a layer above keeps with the job |
//! | `choice` | which version of a collective is used |
//! | `tune` | where that was measured: a file |
//! | `topology` | which cores there are |

mod address;
mod asleep;
mod assembly;
#[cfg(test)]
mod beside;
pub(crate) mod bytes;
mod card;
pub(crate) mod choice;
mod collective;
mod exit;
mod farewell;
mod gathering;
mod inherited;
mod join;
pub(crate) mod keep;
mod local;
mod meeting;
pub(crate) mod neighborhood;
mod news;
mod pmi;
mod rendezvous;
mod simulated;
pub(crate) mod standstill;
mod symmetric;
pub(crate) mod topology;
#[cfg(test)]
pub(crate) mod trial;
pub(crate) mod tune;
mod watch;
pub(crate) mod wire;

pub use address::of_this_host as address_of_this_host;
pub use exit::at_exit;
pub use local::{local, local_with};
pub use simulated::{Run, Sim};

use crate::error::Result;
use crate::memory::heap::Heap;
use crate::ni::{Ni, Port, Service, background};
use crate::transport::shm::layout::State;
use choice::Choices;
use std::cell::{Cell, RefCell};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use watch::Watch;

/// What a job is started with.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Ports per rank, the network interface's own included.
    pub ports: usize,
    /// Address space for symmetric memory per rank, and as much again for the rank's own areas. 0 means as much as the machine has
    /// memory. Memory is used only when it is allocated.
    pub heap_bytes: u64,
    /// How long ranks wait for each other at the start.
    pub start_timeout: Duration,
    /// Which version of a collective is used for what.
    pub choices: Choices,
}

impl Default for Config {
    /// The defaults, changed by `HIKYAKU_PORTS`, `HIKYAKU_HEAP` (bytes, or with K, M, G) and
    /// `HIKYAKU_START_TIMEOUT` (seconds), and the choices that were measured on this machine. If one of them cannot be read, whoever
    /// starts a job is told ([`crate::Error::Setting`]).
    fn default() -> Config {
        let number = |name: &str| parse_bytes(std::env::var(name).ok()?.trim());
        Config {
            ports: number("HIKYAKU_PORTS").map_or(16, |ports| ports as usize),
            heap_bytes: number("HIKYAKU_HEAP").unwrap_or(0),
            start_timeout: Duration::from_secs(number("HIKYAKU_START_TIMEOUT").unwrap_or(30)),
            choices: tune::Tuned::choices_here(),
        }
    }
}

impl Config {
    /// How long ranks wait for each other at the start: at most some hundred years, which clocks can be added to.
    pub(crate) fn start_patience(&self) -> Duration {
        self.start_timeout.min(Duration::from_secs(u32::MAX as u64))
    }
}

/// A number of bytes such as `64M`.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let (digits, shift) = match text.chars().last()? {
        'k' | 'K' => (&text[..text.len() - 1], 10),
        'm' | 'M' => (&text[..text.len() - 1], 20),
        'g' | 'G' => (&text[..text.len() - 1], 30),
        't' | 'T' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// One rank of a job. It dereferences to the rank's main [`Port`], which has all remote operations.
///
/// When it is dropped, this rank has left the job, and peers that still wait for it get [`crate::Error::PeerLeft`]. If it was moved to
/// another thread after messages or non-blocking calls were made, the rank leaves only when the process ends, because the first thread
/// may have leaked operations that are still under way.
#[derive(Debug)]
pub struct Job {
    port: Port,
    pub(crate) ni: Arc<Ni>,
    symmetric: RefCell<Heap>,
    barriers: Cell<u64>,
    /// A barrier is one counter.
    counts: bool,
    /// The last barrier at which this rank was counted.
    counted: Cell<u64>,
    /// A panic has ended a call in which all ranks agree on something: this one does not know whether they have.
    interrupted: Cell<bool>,
    /// The group of all ranks, once it was asked for.
    keep: keep::Keep,
    process: u32,
    /// The program of a simulated rank has returned: others of the same thread may panic meanwhile.
    has_returned: Cell<bool>,
    /// Held open so that the kernel ends this process when the launcher dies.
    _launcher: Option<OwnedFd>,
    /// Notices the end of peers, if no launcher of ours does.
    watch: Option<Watch>,
    /// Serves ranks of other hosts.
    service: Option<Service>,
    /// The private word that peers read to find out whether they reach this process's memory.
    _probe: Option<Box<u64>>,
}

impl std::ops::Deref for Job {
    type Target = Port;
    fn deref(&self) -> &Port {
        &self.port
    }
}

impl Job {
    fn new(ni: Arc<Ni>, launcher: Option<OwnedFd>, probe: Option<Box<u64>>) -> Result<Job> {
        let layout = ni.memory.layout;
        Ok(Job {
            port: Port::on(&ni)?,
            symmetric: RefCell::new(Heap::new(0, layout.heap_half_bytes)),
            barriers: Cell::new(0),
            counts: choice::counts(&Choices::of(&ni.memory).row(ni.size()), ni.size(), ni.crowded),
            counted: Cell::new(0),
            interrupted: Cell::new(false),
            keep: keep::Keep::default(),
            process: std::process::id(),
            has_returned: Cell::new(false),
            _launcher: launcher,
            watch: None,
            service: None,
            _probe: probe,
            ni,
        })
    }

    /// Groups that are made from now on use what is best where every rank has a core of its own, though ranks share cores: for
    /// tests on small machines. All ranks of the job do it.
    #[doc(hidden)]
    pub fn assume_own_cores(&self) {
        self.ni.assumes_own_cores.store(true, Ordering::Relaxed);
    }

    /// Tells peers that this rank takes part.
    fn announce(&self) {
        self.ni.mine().life.state.store(State::Joined as u64, Ordering::SeqCst);
        for rank in self.ni.routes.near() {
            self.ni.notify(*rank, crate::sync::bell::ANY);
        }
    }
}

/// How long a rank that ends waits for others to take what it has sent them.
const DRAIN_PATIENCE: Duration = Duration::from_secs(5);

impl Job {
    /// Ranks of other hosts get what was sent to them before this one is gone, and hear that it leaves.
    fn leave_network(&mut self, state: State) {
        let Some(far) = self.ni.far.clone().filter(|_| self.ni.environment.is_none()) else { return };
        let deadline = Instant::now() + DRAIN_PATIENCE;
        let has_ended = |rank| self.ni.state_of(rank).is_over();
        while state.has_left() && !far.drained_but(&has_ended) && Instant::now() < deadline {
            if self.ni.serve_far() != Some(true) {
                self.ni.relax();
            }
        }
        // Under our own launcher agents do it.
        if self.watch.is_some() {
            news::tell_own_end(&self.ni, state);
        }
        self.service = None;
        if state.has_left() {
            far.leave();
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // A forked child drops a copy of its parent's job, which goes on.
        if std::process::id() != self.process {
            return;
        }
        self.end_kept();
        let unwinds = if self.ni.environment.is_some() { !self.has_returned.get() } else { std::thread::panicking() };
        let died = unwinds || self.ni.failure.is_kept();
        if !background::retire(&self.ni.workplaces) {
            // What another thread still moves on may reach buffers of peers: they free those when the whole process ends.
            return;
        }
        let state = if died { State::Dead } else { self.ni.leaves_as() };
        if !died {
            self.ni.answer_unasked();
        }
        self.leave_network(state);
        match &self.ni.environment {
            Some(environment) => environment.depart(state, self.ni.mine().life.arrivals.load(Ordering::Relaxed)),
            None => self.ni.memory.mark_departed(self.ni.local, state),
        }
        // What lies there in a simulation is seen when all have ended.
        if state.has_left() && self.ni.environment.is_none() {
            self.tell_unhandled();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Config;
    use std::time::{Duration, Instant};

    #[test]
    fn any_start_timeout_can_be_waited_for() {
        let config = Config { start_timeout: Duration::MAX, ..Config::default() };
        assert!(Instant::now().checked_add(config.start_patience()).is_some());
        assert!(u64::try_from(config.start_patience().as_millis()).is_ok());
        let config = Config { start_timeout: Duration::from_secs(7), ..config };
        assert_eq!(config.start_patience(), Duration::from_secs(7));
    }
}
