//! `hikyaku run`: starts a program as the ranks of a job.

use crate::elf::{self, Elf};
use hikyaku::Error;
use hikyaku::launch::{Bind, Ending, Hosts, Launcher, OnDeadlock, OnDeath, Outcome, Running};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Start a program as the ranks of a job, on this host or over several.
///
/// Standard input goes to rank 0. The output of all ranks is printed here, whole lines at a time. Signals are passed on, unless this
/// program was told to ignore them, as by nohup; a second Ctrl-C kills the job. The exit status is that of the rank that failed first, or
/// 0. A part of the output that cannot be written is a failure, too. A program that cannot be started gives 127 if there is none, else 126.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Number of ranks [default: 1]; with hosts they fill the first N slots [default: all slots]
    #[arg(short = 'n', long = "ranks", value_name = "N")]
    ranks: Option<usize>,

    /// Hosts and the number of ranks on each, in the order of ranks: a:2,b:2. A host may be listed more than once
    #[arg(long, value_name = "HOST:N,...", conflicts_with = "hostfile")]
    hosts: Option<String>,

    /// A file of hosts, with lines such as `a slots=2`
    #[arg(long, value_name = "FILE")]
    hostfile: Option<PathBuf>,

    /// The command that starts the agent of a host [default: ssh -o BatchMode=yes -o ServerAliveInterval=5 {host}]
    #[arg(long, value_name = "COMMAND")]
    agent: Option<String>,

    /// The path of this program on the hosts, if it is another one there
    #[arg(long, value_name = "PATH")]
    agent_program: Option<PathBuf>,

    /// How long a host may be silent before it is considered lost, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    host_timeout: u64,

    /// Set an environment variable of the ranks; without VALUE, pass on the one that is set here. HIKYAKU_*, PATH and
    /// LD_LIBRARY_PATH are always passed on
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<OsString>,

    /// Start every line of output with the rank that printed it
    #[arg(short, long)]
    tag: bool,

    /// Let ranks print to a terminal, so that programs which look for one print each line when it is finished
    #[arg(long)]
    tty: bool,

    /// Write what rank N prints to DIR/rank-N.out and DIR/rank-N.err instead of showing it here; the folder is made if it is missing
    #[arg(short, long, value_name = "DIR", conflicts_with = "tag")]
    output: Option<PathBuf>,

    /// How ranks are bound to cores that no other job has, if there are several ranks and enough cores
    #[arg(long, value_enum, default_value = "core")]
    bind: BindChoice,

    /// What to do when a rank is killed or exits with a status other than 0
    #[arg(long, value_enum, default_value = "end")]
    on_death: OnDeathChoice,

    /// What to do when every rank waits and nothing has moved for a second: say who waits for what, or say so and end the job
    #[arg(long, value_enum, default_value = "report")]
    on_deadlock: OnDeadlockChoice,

    /// End the job after so many seconds, saying who waits for what; the exit status is then 124
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,

    /// How long ranks have to end after SIGTERM before they are killed, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    grace: Duration,

    /// Address space for symmetric memory per rank, e.g. 4G (default: as much as the machine has memory)
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    heap: Option<u64>,

    /// Ports per rank: threads that can communicate at once, plus one
    #[arg(long, value_name = "N")]
    ports: Option<usize>,

    /// How long ranks wait for each other at the start, in seconds
    #[arg(long, value_name = "SECONDS")]
    start_timeout: Option<u64>,

    /// For ScaLAPACK programs: use hikyaku's BLACS instead of those that the program is linked with
    #[arg(long)]
    blacs: bool,

    /// Print which rank runs where, and how each ended
    #[arg(short, long)]
    verbose: bool,

    /// The program and its arguments; put `--` before a program whose name begins with a dash
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    program: Vec<std::ffi::OsString>,
}

const EXAMPLES: &str = "\
Examples:
  hikyaku run -n 4 ./program input      4 ranks here
  hikyaku run --hosts a:2,b:2 ./program 2 ranks each on the hosts a and b, reached by ssh
  hikyaku run -n 4 --output logs ...    files logs/rank-0.out, logs/rank-0.err and so on instead of output here
  hikyaku run --hosts a:1,b:1,a:1 ...   ranks 0 and 2 on a, rank 1 on b
  hikyaku run --hostfile cluster ...    hosts from a file with lines such as `a slots=2`
  hikyaku run --hosts a:2,b:2 --agent 'ssh -p 2222 me@{host}' ./program
  hikyaku run --hosts x:2,y:2 --agent 'nsenter --net=/run/netns/{host}' ./program

Over hosts, ssh must not ask for a password, and this program, the working folder and PROGRAM must have the same \
paths on all hosts. The launcher talks to the hosts through ssh alone; it opens no port.

Ranks find HIKYAKU_RANK, HIKYAKU_SIZE, HIKYAKU_LOCAL_RANK, HIKYAKU_LOCAL_SIZE and HIKYAKU_HOST in their environment.";

#[derive(Clone, Copy, clap::ValueEnum)]
enum BindChoice {
    /// One core each
    Core,
    /// An equal share of the cores each, for programs with threads: with 2 ranks on 8 cores, 4 each
    Share,
    /// Leave the placement to the system
    None,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum OnDeathChoice {
    /// End the job within a second
    End,
    /// Let the others go on; they learn which rank died
    Continue,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum OnDeadlockChoice {
    /// Say who waits for what, once
    Report,
    /// Say so and end the job, with status 124
    End,
    /// Do not look
    Ignore,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.filter(|time| !time.is_zero()).ok_or_else(|| "a number of seconds, e.g. 60 or 0.5".into())
}

fn bytes(text: &str) -> Result<u64, String> {
    hikyaku::parse_bytes(text).filter(|bytes| *bytes > 0).ok_or_else(|| "a number of bytes, e.g. 64M or 4G".into())
}

/// What libfabric's adapters need, and reads from the environment: connections of an endpoint share their buffers.
const SHARED: &str = "FI_OFI_RXM_USE_SRX";

pub fn run(arguments: Arguments) -> Result<ExitCode, String> {
    let mut config = hikyaku::Config::default();
    config.heap_bytes = arguments.heap.unwrap_or(config.heap_bytes);
    config.ports = arguments.ports.unwrap_or(config.ports);
    config.start_timeout = arguments.start_timeout.map_or(config.start_timeout, Duration::from_secs);
    let mut launcher = Launcher::new(&arguments.program[0])
        .args(&arguments.program[1..])
        .ranks(arguments.ranks.unwrap_or(1))
        .host_timeout(Duration::from_secs(arguments.host_timeout))
        .config(config)
        .tag(arguments.tag)
        .tty(arguments.tty)
        .grace(arguments.grace)
        .supervise(true)
        .bind(match arguments.bind {
            BindChoice::Core => Bind::Core,
            BindChoice::Share => Bind::Share,
            BindChoice::None => Bind::None,
        })
        .on_death(match arguments.on_death {
            OnDeathChoice::End => OnDeath::End,
            OnDeathChoice::Continue => OnDeath::Continue,
        });
    launcher = launcher.on_deadlock(match arguments.on_deadlock {
        OnDeadlockChoice::Report => OnDeadlock::Report,
        OnDeadlockChoice::End => OnDeadlock::End,
        OnDeadlockChoice::Ignore => OnDeadlock::Ignore,
    });
    if let Some(timeout) = arguments.timeout {
        launcher = launcher.timeout(timeout);
    }
    if let Some(folder) = &arguments.output {
        launcher = launcher.output_folder(folder);
    }
    if std::env::var_os(SHARED).is_none() {
        launcher = launcher.env(SHARED, "1");
    }
    for setting in &arguments.env {
        if let Some((name, value)) = variable(setting)? {
            launcher = launcher.env(name, value);
        }
    }
    if arguments.blacs {
        launcher = launcher.env("LD_PRELOAD", preloaded(&blacs_library()?)?);
    }
    let hosts = hosts(&arguments)?;
    if let Some(hosts) = &hosts {
        launcher = launcher.hosts(hosts.clone()).agent_program(match &arguments.agent_program {
            Some(program) => program.clone(),
            None => crate::this_program()?,
        });
        if let Some(agent) = &arguments.agent {
            launcher = launcher.agent(agent);
        }
    }
    let running = match launcher.start() {
        Ok(running) => running,
        Err(error) => {
            complain!("hikyaku: {error}");
            return Ok(ExitCode::from(match error {
                // As shells have it.
                Error::CannotStart { exists: false, .. } => 127,
                Error::CannotStart { .. } => 126,
                _ => 1,
            }));
        }
    };
    if arguments.verbose {
        describe(&launcher, &running, hosts.as_ref());
    }
    let outcome = running.wait().map_err(|error| error.to_string())?;
    report(&outcome, arguments.verbose);
    if arguments.blacs
        && outcome.status() == 0
        && !outcome.joined.contains(&true)
        && is_static(Path::new(&arguments.program[0]))
    {
        return Err("hikyaku's BLACS cannot be loaded into a static program: link it with shared libraries".into());
    }
    if outcome.status() == 0 && !outcome.lost_output.is_empty() {
        return Err("the job has succeeded, but a part of its output is lost (see above)".into());
    }
    Ok(ExitCode::from(outcome.status().clamp(0, 255) as u8))
}

/// The BLACS, beside this program or where programs are installed with their libraries.
pub fn blacs_library() -> Result<PathBuf, String> {
    library_beside("libhikyaku_blacs.so")
}

/// A library of ours, which is beside this program, or where programs have theirs.
pub fn library_beside(name: &str) -> Result<PathBuf, String> {
    let program = crate::this_program()?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    let places = [folder.join(name), folder.join("../lib").join(name)];
    let found = places.iter().find(|place| place.exists());
    found.cloned().ok_or_else(|| format!("there is no {name} in {} or in ../lib from there", folder.display()))
}

/// Whether nothing can be loaded into a program.
fn is_static(program: &Path) -> bool {
    let file = elf::find(program, &std::env::var_os("PATH").unwrap_or_default());
    file.and_then(|file| Elf::of(&file)).is_some_and(|program| !program.is_loaded)
}

/// What is to be loaded before everything else: `library`, and what was to be before. Of a path with one of the characters
/// that separate them there, the system would load nothing, and the program would run as many jobs of one rank.
fn preloaded(library: &Path) -> Result<OsString, String> {
    let mut all = library.as_os_str().to_owned();
    if all.as_encoded_bytes().iter().any(|byte| matches!(byte, b' ' | b':')) {
        return Err(format!("{} cannot be preloaded: its path has a space or a colon", library.display()));
    }
    // It would be left out with a word of warning.
    let machine = |file: &Path| Elf::of(file).filter(|it| it.is_loaded).map(|it| it.machine);
    if machine(library).is_none() || machine(library) != machine(&crate::this_program()?) {
        return Err(format!("{} is no library for this machine", library.display()));
    }
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        all.push(":");
        all.push(others);
    }
    Ok(all)
}

/// The hosts, if the job shall run on some.
fn hosts(arguments: &Arguments) -> Result<Option<Hosts>, String> {
    let hosts = match (&arguments.hosts, &arguments.hostfile) {
        (Some(list), _) => Hosts::parse(list).map_err(|error| format!("--hosts {list}: {error}"))?,
        (None, Some(file)) => {
            let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
            Hosts::from_lines(&text).map_err(|error| format!("{}: {error}", file.display()))?
        }
        (None, None) => {
            if arguments.agent.is_some() || arguments.agent_program.is_some() {
                return Err("agents are started on hosts: name them with --hosts a:2,b:2 or --hostfile".into());
            }
            return Ok(None);
        }
    };
    match arguments.ranks {
        Some(ranks) => hosts.first(ranks).map(Some).map_err(|error| error.to_string()),
        None => Ok(Some(hosts)),
    }
}

/// A variable and its value, from `NAME=VALUE`, or from `NAME` and this program's environment; nothing if it is not there.
fn variable(setting: &OsStr) -> Result<Option<(OsString, OsString)>, String> {
    let bytes = setting.as_bytes();
    let (name, value) = match bytes.iter().position(|byte| *byte == b'=') {
        Some(at) => (OsStr::from_bytes(&bytes[..at]), Some(OsStr::from_bytes(&bytes[at + 1..]).to_owned())),
        None => (setting, std::env::var_os(setting)),
    };
    if name.is_empty() {
        return Err(format!("--env {}: a variable has a name", setting.display()));
    }
    Ok(value.map(|value| (name.to_owned(), value)))
}

fn describe(launcher: &Launcher, running: &Running, hosts: Option<&Hosts>) {
    let cores = running.cores();
    let unbound = if launcher.cores().is_some() { "not bound: other jobs have the cores" } else { "not bound" };
    for (rank, process) in running.processes().iter().enumerate() {
        if let Some(hosts) = hosts {
            let host = &hosts.names()[hosts.host_of()[rank] as usize];
            complain!("hikyaku: rank {rank} is process {process} on host {host}");
            continue;
        }
        match &cores {
            Some(cores) => complain!("hikyaku: rank {rank} is process {process} on {}", names(&cores[rank])),
            None => complain!("hikyaku: rank {rank} is process {process}, {unbound}"),
        }
    }
}

/// Some cores by their numbers.
fn names(cores: &[usize]) -> String {
    let numbers: Vec<String> = cores.iter().map(usize::to_string).collect();
    format!("{} {}", if cores.len() == 1 { "core" } else { "cores" }, numbers.join(", "))
}

/// Says what a user would otherwise have to guess: which rank ended the job, and how; then who followed.
fn report(outcome: &Outcome, verbose: bool) {
    for remark in &outcome.remarks {
        complain!("hikyaku: {remark}");
    }
    if let Some((first, others)) = outcome.failures.split_first().filter(|_| outcome.stopped.is_none()) {
        complain!("hikyaku: rank {first} {}; the job has ended", past(outcome.endings[*first], false));
        for alike in others.chunk_by(|a, b| outcome.endings[*a] == outcome.endings[*b]) {
            let ending = past(outcome.endings[alike[0]], alike.len() > 1);
            complain!("hikyaku: after that {} {ending}", ranks(alike.to_vec()));
        }
    }
    if verbose {
        for (rank, ending) in outcome.endings.iter().enumerate() {
            complain!("hikyaku: rank {rank}: {ending:?}");
        }
    }
}

fn past(ending: Ending, several: bool) -> String {
    match ending {
        Ending::Exited(status) => format!("exited with status {status}"),
        Ending::Killed(signal) => format!("{} killed by signal {signal}", if several { "were" } else { "was" }),
        Ending::Unknown => "ended without leaving the job, and the program that had started it does not say how".into(),
    }
}

/// Names ranks as people do: `rank 2`, `ranks 1, 2 and 5`; many by their number.
fn ranks(mut ranks: Vec<usize>) -> String {
    const NAMED_MAX: usize = 8;
    ranks.sort();
    match &ranks[..] {
        [rank] => format!("rank {rank}"),
        [before @ .., last] if ranks.len() <= NAMED_MAX => {
            let before: Vec<String> = before.iter().map(usize::to_string).collect();
            format!("ranks {} and {last}", before.join(", "))
        }
        _ => format!("{} ranks", ranks.len()),
    }
}
