//! Starting jobs of processes, on this host or over several: what `hikyaku run` does, as a library.
//!
//! Rests on: `job` for what a rank and its launcher say to each other.
//!
//! A job on one host is the launcher and its ranks. For a job over several hosts the launcher starts an agent on each, by `ssh`
//! or another command, and the agent does there what the launcher does here: one segment, its ranks, their welcome.
//!
//! | file | concept |
//! |---|---|
//! | `task` | what every rank runs |
//! | `outcome` | how a job ended, and each of its ranks |
//! | `program` | whether it can be run on this machine |
//! | `rank` | starting one process as a rank |
//! | `child` | what it does before it becomes the program |
//! | `exits` | how a program has ended that a wrapper has started |
//! | `descriptors` | how many of them ranks take |
//! | `places`, `claim` | which cores each rank gets; which are left by other jobs of this machine |
//! | `host` | the ranks of one host: their memory, their processes, their welcome |
//! | `rounds`, `door` | likewise: one program after the other; the way in for those whose wrapper closes descriptors |
//! | `watch` | the loop that runs a job to its end |
//! | `policy` | who failed first, and when the others are asked to end |
//! | `lookout` | whether it moves, and what is told if it does not |
//! | `sources` | what loops wait for |
//! | `signals`, `orphans` | the launcher's own signals; processes that ranks have left behind |
//! | `output`, `files`, `shown` | what ranks print: lines; to files; to the launcher's own output |
//! | `forwarder`, `relay`, `terminal` | likewise: from pipes of this host; from other hosts; pseudo-terminals |
//!
//! Over several hosts:
//!
//! | file | concept |
//! |---|---|
//! | `hosts` | which ranks run on which hosts |
//! | `fleet` | all hosts, as the launcher sees them |
//! | `remote`, `command` | one of them; the command that starts its agent |
//! | `gathering` | who has come at the start |
//! | `input` | standard input for a rank 0 elsewhere |
//! | `agent`, `crew` | the agent of a host; its ranks |
//! | `words`, `order`, `frame` | what launcher and agent say; the first of it; how it travels |
//!
//! ```no_run
//! use hikyaku::launch::Launcher;
//!
//! let outcome = Launcher::new("./solver").arg("input.dat").ranks(4).run()?;
//! assert_eq!(outcome.status(), 0);
//! # hikyaku::Result::Ok(())
//! ```

mod agent;
mod child;
mod claim;
mod command;
mod crew;
mod descriptors;
mod door;
mod exits;
mod files;
mod fleet;
mod forwarder;
mod frame;
mod gathering;
mod host;
mod hosts;
mod input;
mod lookout;
mod order;
mod orphans;
mod outcome;
mod output;
mod places;
mod policy;
mod program;
mod rank;
mod relay;
mod remote;
mod rounds;
mod shown;
mod signals;
mod sources;
mod task;
mod terminal;
mod watch;
mod words;

pub use agent::serve_as_agent;
pub use hosts::Hosts;
pub use outcome::{Ending, Outcome, Stopped};
pub use output::Captured;
pub use watch::Running;

use crate::error::Result;
use crate::job::wire::{
    DOOR_VARIABLE, HOST_VARIABLE, HOSTS_VARIABLE, LOCAL_RANK_VARIABLE, LOCAL_SIZE_VARIABLE, RANK_VARIABLE,
    SIZE_VARIABLE, SOCKET_VARIABLE,
};
use crate::job::{Config, topology};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;
use task::{Seats, Task};

/// What to start, and how.
#[derive(Clone, Debug)]
pub struct Launcher {
    task: Task,
    ranks: usize,
    on_death: OnDeath,
    tag: bool,
    capture: bool,
    output_folder: Option<PathBuf>,
    supervise: bool,
    hosts: Option<Hosts>,
    agent: Option<String>,
    agent_program: OsString,
    host_timeout: Duration,
    on_deadlock: OnDeadlock,
    timeout: Option<Duration>,
    grace: Duration,
}

/// Whether ranks are bound to cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bind {
    /// One core each, if there are enough that no other job has. A rank that is alone on its machine keeps all.
    Core,
    /// An equal share of the cores each, of those that no other job has: for programs with threads.
    Share,
    /// Left to the system.
    None,
}

/// What happens when a rank dies: is killed, or exits with a status other than 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnDeath {
    /// The others learn of it, have a moment to say so, and are ended within a second.
    End,
    /// The others learn of it and go on.
    Continue,
}

/// What happens when every rank waits and nothing has moved for a second. This need not be a deadlock if the program has other threads:
/// one of them may be reading from a network, say, and call the library later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnDeadlock {
    /// It is told who waits for what, on standard error, once.
    Report,
    /// It is told, and the job is ended.
    End,
    /// Nobody looks.
    Ignore,
}

impl Launcher {
    /// A job of one rank that runs `program`.
    pub fn new(program: impl AsRef<OsStr>) -> Launcher {
        Launcher {
            task: Task {
                program: program.as_ref().to_owned(),
                arguments: Vec::new(),
                variables: Vec::new(),
                config: Config::default(),
                bind: Bind::Core,
                tty: false,
            },
            ranks: 1,
            on_death: OnDeath::End,
            tag: false,
            capture: false,
            output_folder: None,
            supervise: false,
            hosts: None,
            agent: None,
            agent_program: "hikyaku".into(),
            host_timeout: Duration::from_secs(5),
            on_deadlock: OnDeadlock::Report,
            timeout: None,
            grace: Duration::from_secs(30),
        }
    }

    /// Adds an argument of the program.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Launcher {
        self.task.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds arguments of the program.
    pub fn args(self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Launcher {
        arguments.into_iter().fold(self, Launcher::arg)
    }

    /// Sets an environment variable of the ranks.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Launcher {
        self.task.variables.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// The number of ranks.
    pub fn ranks(mut self, ranks: usize) -> Launcher {
        self.ranks = ranks;
        self
    }

    /// Ports, heap size and start-up time.
    pub fn config(mut self, config: Config) -> Launcher {
        self.task.config = config;
        self
    }

    /// Whether to bind ranks to cores.
    pub fn bind(mut self, bind: Bind) -> Launcher {
        self.task.bind = bind;
        self
    }

    /// What to do when a rank dies.
    pub fn on_death(mut self, on_death: OnDeath) -> Launcher {
        self.on_death = on_death;
        self
    }

    /// What to do when every rank waits and nothing moves.
    pub fn on_deadlock(mut self, on_deadlock: OnDeadlock) -> Launcher {
        self.on_deadlock = on_deadlock;
        self
    }

    /// Ends the job after this time.
    pub fn timeout(mut self, timeout: Duration) -> Launcher {
        self.timeout = Some(timeout);
        self
    }

    /// How long ranks have to end after SIGTERM, if this is a supervisor ([`Launcher::supervise`]), before they are killed; 30 seconds if
    /// nobody says.
    pub fn grace(mut self, grace: Duration) -> Launcher {
        self.grace = grace;
        self
    }

    /// Gives each rank a pseudo-terminal for its standard output, so that programs print each line when it is finished.
    pub fn tty(mut self, tty: bool) -> Launcher {
        self.task.tty = tty;
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

    /// Writes what each rank prints to files in this folder instead of forwarding it: `rank-0.out` and `rank-0.err` for standard output
    /// and standard error of rank 0, and so on. They are written by the launcher, also for ranks on other hosts. The folder is made if it
    /// is missing, and files of an earlier job are overwritten. Nothing is then left for [`Launcher::capture`] to keep.
    pub fn output_folder(mut self, folder: impl AsRef<Path>) -> Launcher {
        self.output_folder = Some(folder.as_ref().to_owned());
        self
    }

    /// For a program that is nothing but a launcher: takes over this process's signals (forwarding them to the
    /// ranks) and ends processes that ranks leave behind.
    pub fn supervise(mut self, supervise: bool) -> Launcher {
        self.supervise = supervise;
        self
    }

    /// Runs the ranks on these hosts instead of on this one, each by an agent there. Ranks of several hosts reach each other by
    /// a network; those of one host share memory.
    pub fn hosts(mut self, hosts: Hosts) -> Launcher {
        self.ranks = hosts.host_of().len();
        self.hosts = Some(hosts);
        self
    }

    /// The command that starts agents, as `ssh -p 2222 {host}`: words separated by spaces, with the name of the host in the
    /// place of `{host}` or at the end. The program and its arguments follow. It must carry standard input and output.
    pub fn agent(mut self, template: impl Into<String>) -> Launcher {
        self.agent = Some(template.into());
        self
    }

    /// Where the `hikyaku` program is on the hosts; `hikyaku`, to be found by the host, if nobody says.
    pub fn agent_program(mut self, program: impl AsRef<OsStr>) -> Launcher {
        self.agent_program = program.as_ref().to_owned();
        self
    }

    /// How long a host may be silent before it is taken for lost; 5 seconds if nobody says. Whole seconds count.
    pub fn host_timeout(mut self, time: Duration) -> Launcher {
        self.host_timeout = time;
        self
    }

    /// The cores that each rank would be bound to if no other job ran; `None` if ranks do not fit or are not to be bound, and for jobs on
    /// other hosts. [`Running::cores`] tells what a started job really uses.
    pub fn cores(&self) -> Option<Vec<Vec<usize>>> {
        if self.hosts.is_some() { None } else { self.task.cores(&Seats::all(self.ranks)) }
    }

    /// What ranks of other hosts run: with this process's settings of the library, and with its paths, whatever they find there.
    fn task_for_others(&self) -> Task {
        const OF_ONE_RANK: [&str; 8] = [
            SOCKET_VARIABLE,
            DOOR_VARIABLE,
            RANK_VARIABLE,
            SIZE_VARIABLE,
            LOCAL_RANK_VARIABLE,
            LOCAL_SIZE_VARIABLE,
            HOST_VARIABLE,
            HOSTS_VARIABLE,
        ];
        let travels = |name: &OsStr| {
            let is_ours = name.as_encoded_bytes().starts_with(b"HIKYAKU_");
            (is_ours && !OF_ONE_RANK.iter().any(|other| name == *other)) || name == "PATH" || name == "LD_LIBRARY_PATH"
        };
        let mut task = self.task.clone();
        task.variables = std::env::vars_os().filter(|(name, _)| travels(name)).collect();
        task.variables.extend(self.task.variables.iter().cloned());
        task
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
    /// The format of a job's memory; ranks and launcher must agree on it.
    pub format: u64,
}

/// What a launcher finds out about this machine before it starts a job.
pub fn facts() -> Facts {
    Facts {
        cores: places::one_by_one(&topology::machine()),
        memory_bytes: crate::memory::limits::machine_total(),
        asymmetric_fence: crate::sync::fence::Fences::for_processes() != crate::sync::fence::Fences::Symmetric,
        copies: crate::memory::copy::ways(),
        format: crate::transport::shm::layout::FORMAT,
    }
}
