//! `hikyaku run`: starts a program as the ranks of a job.

use hikyaku::launch::{Bind, Ending, Launcher, OnDeath, Outcome};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Start a program as the ranks of a job on this machine.
///
/// Standard input goes to rank 0, output of all ranks comes here, whole lines at a time. Signals are passed on; a second
/// Ctrl-C kills. The exit status is that of the rank that failed first, or 0.
#[derive(clap::Args)]
pub struct Arguments {
    /// How many ranks to start
    #[arg(short = 'n', long = "ranks", value_name = "N", default_value_t = 1)]
    ranks: usize,

    /// Start every line of output with the rank that printed it
    #[arg(short, long)]
    tag: bool,

    /// Bind each rank to a core, if there are enough; `none` leaves it to the system
    #[arg(long, value_enum, default_value = "core")]
    bind: BindChoice,

    /// What to do when a rank is killed or exits with a status other than 0
    #[arg(long, value_enum, default_value = "end")]
    on_death: OnDeathChoice,

    /// Address space for symmetric memory per rank, e.g. 4G (default: as much as the machine has memory)
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    heap: Option<u64>,

    /// Ports per rank: threads that can communicate at once, plus one
    #[arg(long, value_name = "N")]
    ports: Option<usize>,

    /// How long ranks wait for each other at the start, in seconds
    #[arg(long, value_name = "SECONDS")]
    start_timeout: Option<u64>,

    /// For ScaLAPACK programs: put hikyaku's BLACS in the place of those the program is linked with
    #[arg(long)]
    blacs: bool,

    /// Say which rank runs where, and how each ended
    #[arg(short, long)]
    verbose: bool,

    /// The program and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true, value_name = "PROGRAM")]
    program: Vec<std::ffi::OsString>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum BindChoice {
    Core,
    None,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum OnDeathChoice {
    /// End the job within a second
    End,
    /// Let the others go on; they learn which rank died
    Continue,
}

fn bytes(text: &str) -> Result<u64, String> {
    hikyaku::parse_bytes(text).filter(|bytes| *bytes > 0).ok_or_else(|| "a number of bytes, e.g. 64M or 4G".into())
}

pub fn run(arguments: Arguments) -> Result<ExitCode, String> {
    let mut config = hikyaku::Config::default();
    config.heap_bytes = arguments.heap.unwrap_or(config.heap_bytes);
    config.ports = arguments.ports.unwrap_or(config.ports);
    config.start_timeout = arguments.start_timeout.map_or(config.start_timeout, Duration::from_secs);
    let mut launcher = Launcher::new(&arguments.program[0])
        .args(&arguments.program[1..])
        .ranks(arguments.ranks)
        .config(config)
        .tag(arguments.tag)
        .supervise(true)
        .bind(match arguments.bind {
            BindChoice::Core => Bind::Core,
            BindChoice::None => Bind::None,
        })
        .on_death(match arguments.on_death {
            OnDeathChoice::End => OnDeath::End,
            OnDeathChoice::Continue => OnDeath::Continue,
        });
    if arguments.blacs {
        launcher = launcher.env("LD_PRELOAD", preloaded(&blacs_library()?)?);
    }
    let running = launcher.start().map_err(|error| error.to_string())?;
    if arguments.verbose {
        describe(&launcher, &running.processes());
    }
    let outcome = running.wait().map_err(|error| error.to_string())?;
    report(&outcome, arguments.verbose);
    if arguments.blacs && outcome.status() == 0 && !outcome.joined.contains(&true) {
        return Err("no rank has called hikyaku's BLACS: is the program linked with a shared ScaLAPACK?".into());
    }
    Ok(ExitCode::from(outcome.status().clamp(0, 255) as u8))
}

/// The BLACS, beside this program or where programs are installed with their libraries.
pub fn blacs_library() -> Result<PathBuf, String> {
    const NAME: &str = "libhikyaku_blacs.so";
    let program = crate::this_program()?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    let places = [folder.join(NAME), folder.join("../lib").join(NAME)];
    let found = places.iter().find(|place| place.exists());
    found.cloned().ok_or_else(|| format!("there is no {NAME} in {} or in ../lib from there", folder.display()))
}

/// What is to be loaded before everything else: `library`, and what was to be before. Of a path with one of the characters
/// that separate them there, the system would load nothing, and the program would run as many jobs of one rank.
fn preloaded(library: &Path) -> Result<OsString, String> {
    let mut all = library.as_os_str().to_owned();
    if all.as_encoded_bytes().iter().any(|byte| matches!(byte, b' ' | b':')) {
        return Err(format!("{} cannot be preloaded: its path has a space or a colon", library.display()));
    }
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        all.push(":");
        all.push(others);
    }
    Ok(all)
}

fn describe(launcher: &Launcher, processes: &[u32]) {
    let cores = launcher.cores();
    for (rank, process) in processes.iter().enumerate() {
        match &cores {
            Some(cores) => eprintln!("hikyaku: rank {rank} is process {process} on core {}", cores[rank]),
            None => eprintln!("hikyaku: rank {rank} is process {process}, not bound"),
        }
    }
}

/// Says what a user would otherwise have to guess: which rank ended the job, and how.
fn report(outcome: &Outcome, verbose: bool) {
    if let Some(rank) = outcome.first_failure {
        match outcome.endings[rank] {
            Ending::Exited(status) => eprintln!("hikyaku: rank {rank} exited with status {status}; the job has ended"),
            Ending::Killed(signal) => {
                eprintln!("hikyaku: rank {rank} was killed by signal {signal}; the job has ended")
            }
        }
    }
    if verbose {
        for (rank, ending) in outcome.endings.iter().enumerate() {
            eprintln!("hikyaku: rank {rank}: {ending:?}");
        }
    }
}
