//! Starting jobs of processes on this machine: what `hikyaku run` does, as a library.
//!
//! Rests on: `job` for what a rank and its launcher say to each other.
//!
//! | file | concept |
//! |---|---|
//! | `rank` | starting one process as a rank |
//! | `watch` | the loop that welcomes ranks, watches them, ends them |
//! | `output` | forwarding what ranks print, line by line |
//! | `signals` | the launcher's own signals, and processes left behind by ranks |
//!
//! ```no_run
//! use hikyaku::launch::Launcher;
//!
//! let outcome = Launcher::new("./solver").arg("input.dat").ranks(4).run()?;
//! assert_eq!(outcome.status(), 0);
//! # hikyaku::Result::Ok(())
//! ```

mod output;
mod rank;
mod signals;
mod watch;

pub use output::Captured;
pub use watch::Running;

use crate::error::Result;
use crate::job::{Config, topology};
use std::ffi::{OsStr, OsString};

/// What to start, and how.
#[derive(Clone, Debug)]
pub struct Launcher {
    program: OsString,
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    ranks: usize,
    config: Config,
    bind: Bind,
    on_death: OnDeath,
    tag: bool,
    capture: bool,
    supervise: bool,
}

/// Whether ranks are bound to cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bind {
    /// One core each, if there are enough.
    Core,
    /// Left to the system.
    None,
}

/// What happens when a rank dies: is killed, or exits with a status other than 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDeath {
    /// The others learn of it, have a moment to say so, and are ended within a second.
    End,
    /// The others learn of it and go on.
    Continue,
}

/// How one rank ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With this exit status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

impl Ending {
    /// The status a shell would show.
    pub fn status(self) -> i32 {
        match self {
            Ending::Exited(status) => status,
            Ending::Killed(signal) => 128 + signal,
        }
    }
}

/// How a job ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How each rank ended.
    pub endings: Vec<Ending>,
    /// The rank that failed first, if one did.
    pub first_failure: Option<usize>,
    /// Whether each rank took part in the job, as programs without the library do not.
    pub joined: Vec<bool>,
    /// What each rank printed, if it was captured.
    pub output: Vec<Captured>,
}

impl Outcome {
    /// 0, or the status of the rank that failed first.
    pub fn status(&self) -> i32 {
        self.first_failure.map_or(0, |rank| self.endings[rank].status())
    }
}

impl Launcher {
    /// A job of one rank that runs `program`.
    pub fn new(program: impl AsRef<OsStr>) -> Launcher {
        Launcher {
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            variables: Vec::new(),
            ranks: 1,
            config: Config::default(),
            bind: Bind::Core,
            on_death: OnDeath::End,
            tag: false,
            capture: false,
            supervise: false,
        }
    }

    /// Adds an argument of the program.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Launcher {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds arguments of the program.
    pub fn args(self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Launcher {
        arguments.into_iter().fold(self, Launcher::arg)
    }

    /// Sets an environment variable of the ranks.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Launcher {
        self.variables.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// The number of ranks.
    pub fn ranks(mut self, ranks: usize) -> Launcher {
        self.ranks = ranks;
        self
    }

    /// Ports, heap size and start-up time.
    pub fn config(mut self, config: Config) -> Launcher {
        self.config = config;
        self
    }

    /// Whether to bind ranks to cores.
    pub fn bind(mut self, bind: Bind) -> Launcher {
        self.bind = bind;
        self
    }

    /// What to do when a rank dies.
    pub fn on_death(mut self, on_death: OnDeath) -> Launcher {
        self.on_death = on_death;
        self
    }

    /// Starts every line of output with the rank that printed it.
    pub fn tag(mut self, tag: bool) -> Launcher {
        self.tag = tag;
        self
    }

    /// Keeps the output for [`Outcome::output`] instead of forwarding it; rank 0 then has no standard input.
    pub fn capture(mut self, capture: bool) -> Launcher {
        self.capture = capture;
        self
    }

    /// For a program that is nothing but a launcher: takes over this process's signals (forwarding them to the
    /// ranks) and ends processes that ranks leave behind.
    pub fn supervise(mut self, supervise: bool) -> Launcher {
        self.supervise = supervise;
        self
    }

    /// The core each rank is bound to, or nothing if they do not fit or shall not be bound.
    pub fn cores(&self) -> Option<Vec<usize>> {
        let cores = topology::cores();
        (self.bind == Bind::Core && self.ranks <= cores.len()).then(|| cores[..self.ranks].to_vec())
    }

    /// Starts the job. Ranks can join only while [`Running::wait`] runs. The calling thread must live until the job
    /// has ended: the kernel ends the ranks with it.
    pub fn start(&self) -> Result<Running> {
        Running::start(self)
    }

    /// Starts the job and waits for its end.
    pub fn run(&self) -> Result<Outcome> {
        self.start()?.wait()
    }
}

/// What a launcher finds out about this machine before it starts a job.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The cores this process may use, in the order ranks take them.
    pub cores: Vec<usize>,
    /// Memory of the machine.
    pub memory_bytes: u64,
    /// Whether waking costs a sender nothing when nobody sleeps (`membarrier`).
    pub asymmetric_fence: bool,
    /// Bytes from which on a way to copy is used, and the way.
    pub copies: Vec<(usize, &'static str)>,
    /// The most that is transferred through the caches; more is written past them.
    pub cached_max: usize,
    /// The format of a job's memory; ranks and launcher must agree on it.
    pub format: u64,
}

/// What a launcher finds out about this machine before it starts a job.
pub fn facts() -> Facts {
    Facts {
        cores: topology::cores(),
        memory_bytes: crate::memory::limits::machine_total(),
        asymmetric_fence: crate::sync::fence::Fences::for_processes() != crate::sync::fence::Fences::Symmetric,
        copies: crate::memory::copy::ways(),
        cached_max: crate::memory::cache::transfer_max(),
        format: crate::transport::shm::layout::FORMAT,
    }
}
