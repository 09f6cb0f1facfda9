//! MPI peers: the embedded program, compiled by the peer's own compiler command and started by its
//! own launcher. The program repeats each test and prints one line of JSON per repetition.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use super::machine::Machine;
use super::{Kind, Request, Values, add, process, version_after};

/// The program's files.
const SOURCES: [(&str, &str); 5] = [
    ("bench.h", include_str!("../../../peers/bench.h")),
    ("mpi.c", include_str!("../../../peers/mpi.c")),
    ("message.c", include_str!("../../../peers/message.c")),
    ("window.c", include_str!("../../../peers/window.c")),
    ("collective.c", include_str!("../../../peers/collective.c")),
];

/// How often the program repeats a test: many short repetitions, of which some are left undisturbed where others use the
/// machine too.
const REPETITIONS: usize = 15;
const REPETITIONS_BRIEF: usize = 4;

/// The longest that all tests of one start may take together, and what each rank adds to that and to the limit of a start: where there
/// are many for each core, everything takes longer.
const BATCH_LIMIT: Duration = Duration::from_secs(90);
const RANK_LIMIT: Duration = Duration::from_millis(500);

/// Name and family of the installation that a launcher belongs to; nothing if it is none we know.
pub(super) fn identify(compiler: &Path, launcher: &Path, folder: &Path) -> Option<(String, Kind)> {
    let mut command = Command::new(launcher);
    let finished = process::run(command.arg("--version"), "the version", folder).ok()?;
    let (compiler, launcher) = (compiler.to_owned(), launcher.to_owned());
    let (name, is_open_mpi) = parse_version(&finished.output)?;
    Some((
        name,
        match is_open_mpi {
            true => Kind::OpenMpi { compiler, launcher },
            false => Kind::Mpich { compiler, launcher },
        },
    ))
}

/// Name and version in what `mpirun --version` prints, and whether it is Open MPI.
pub(super) fn parse_version(text: &str) -> Option<(String, bool)> {
    // Called by another name than mpirun, Open MPI 4 gives the name of its run-time layer instead.
    let open_mpi = ["(Open MPI)", "(OpenRTE)"].iter().find_map(|label| version_after(text, label));
    if let Some(version) = open_mpi {
        return Some((format!("Open MPI {version}"), true));
    }
    let version = text.contains("HYDRA").then(|| version_after(text, "Version:")).flatten()?;
    Some((format!("MPICH {version}"), false))
}

/// Compiles the program into `folder`.
pub(super) fn compile(compiler: &Path, folder: &Path) -> Result<(), String> {
    compile_files(compiler, &SOURCES, "mpi", &[], folder)
}

/// Writes files to `folder`, and compiles those of C to a program there, with some libraries.
pub(super) fn compile_files(
    compiler: &Path,
    files: &[(&str, &str)],
    program: &str,
    libraries: &[OsString],
    folder: &Path,
) -> Result<(), String> {
    let mut command = Command::new(compiler);
    command.arg("-O2").arg("-o").arg(folder.join(program));
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::write(&path, text)
            .map_err(|e| format!("the program could not be written to {}: {e}", path.display()))?;
        if name.ends_with(".c") {
            command.arg(path);
        }
    }
    command.args(libraries);
    process::run(&mut command, &format!("compiling with {}", compiler.display()), folder)?;
    Ok(())
}

/// The launcher with all options that place `ranks` on the machine, and the program in `folder`; the tests are
/// still to be added.
pub(super) fn launch(kind: &Kind, machine: &Machine, ranks: usize, program: &str, folder: &Path) -> Command {
    let cores_suffice = ranks <= machine.cores;
    let cpus_suffice = ranks <= machine.cpus.len();
    let (launcher, placement): (&Path, &[&str]) = match kind {
        Kind::OpenMpi { launcher, .. } if cores_suffice => (launcher, &["--bind-to", "core"]),
        Kind::OpenMpi { launcher, .. } if cpus_suffice => (launcher, &["--use-hwthread-cpus", "--bind-to", "hwthread"]),
        Kind::OpenMpi { launcher, .. } => (launcher, &["--oversubscribe"]),
        Kind::Mpich { launcher, .. } if cores_suffice => (launcher, &["-bind-to", "core"]),
        Kind::Mpich { launcher, .. } if cpus_suffice => (launcher, &["-bind-to", "hwthread"]),
        Kind::Mpich { launcher, .. } => (launcher, &[]),
        Kind::Ucx { perftest } => (perftest, &[]),
    };
    start(launcher, ranks, placement, program, folder)
}

/// The same for ranks that have several threads: a core would be too little for each.
pub(super) fn launch_unbound(kind: &Kind, ranks: usize, program: &str, folder: &Path) -> Command {
    let (launcher, placement): (&Path, &[&str]) = match kind {
        Kind::OpenMpi { launcher, .. } => (launcher, &["--bind-to", "none", "--oversubscribe"]),
        Kind::Mpich { launcher, .. } => (launcher, &["-bind-to", "none"]),
        Kind::Ucx { perftest } => (perftest, &[]),
    };
    start(launcher, ranks, placement, program, folder)
}

fn start(launcher: &Path, ranks: usize, placement: &[&str], program: &str, folder: &Path) -> Command {
    let mut command = Command::new(launcher);
    command.arg("-n").arg(ranks.to_string()).args(placement).arg(folder.join(program));
    // Files that a stopped run leaves behind go away with the folder.
    command.env("TMPDIR", folder);
    // Open MPI does not run for root unless told twice that this is meant.
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    // A transport for networks; within one machine all it does is to sleep for a second at start.
    command.env("OMPI_MCA_btl", "^ofi");
    command
}

/// How often a test is repeated in one run of the program.
pub(super) fn repetitions(request: &Request) -> usize {
    if request.brief { REPETITIONS_BRIEF } else { REPETITIONS }
}

/// Runs some tests and returns the values of their repetitions, as far as they came.
pub(super) fn measure(
    mut command: Command,
    requests: &[Request],
    repetitions: impl Fn(&Request) -> usize,
    folder: &Path,
) -> Values {
    command.args(requests.iter().map(|it| format!("{}:{}:{}", it.test.name(), it.bytes, repetitions(it))));
    let finished = match process::Running::start(&mut command, folder) {
        Ok(running) => running.finish(limit(BATCH_LIMIT, requests.first().map_or(0, |request| request.ranks))),
        Err(error) => return (Vec::new(), Some(error)),
    };
    let (values, wrong) = parse_lines(&finished.output, requests);
    let missing = requests.iter().find(|request| !values.iter().any(|(measured, _)| measured == *request));
    let step = match missing.or(requests.last()) {
        Some(request) => format!("the {} test with {} ranks", request.test.name(), request.ranks),
        None => "the program".into(),
    };
    let silent = missing.map(|_| format!("{step} gave no figures; {}", finished.last_lines()));
    // What fails after its last figure has failed too.
    let failed = finished.success(&step).err();
    (values, failed.or(wrong).or(silent))
}

/// The time from before the launcher's start to after its end, in milliseconds.
pub(super) fn measure_start(mut command: Command, ranks: usize, folder: &Path) -> Result<f64, String> {
    let running = process::Running::start(&mut command, folder)?;
    let finished = running.finish(limit(process::LIMIT, ranks)).success("the start test")?;
    Ok(finished.elapsed.as_secs_f64() * 1e3)
}

fn limit(usual: Duration, ranks: usize) -> Duration {
    usual + RANK_LIMIT * ranks as u32
}

#[derive(Deserialize)]
struct Line {
    test: String,
    bytes: usize,
    ranks: usize,
    value: f64,
    unit: String,
}

/// The values in the program's output. Launchers may print lines of their own, which do not count;
/// a line that answers another question than was asked is an error.
pub(super) fn parse_lines(text: &str, requests: &[Request]) -> Values {
    let mut values: Vec<(Request, Vec<f64>)> = Vec::new();
    for text in text.lines().filter(|line| line.starts_with('{')) {
        let line: Line = match serde_json::from_str(text) {
            Ok(line) => line,
            Err(e) => return (values, Some(format!("it printed '{text}': {e}"))),
        };
        let answers = |request: &&Request| {
            let Request { test, bytes, ranks, .. } = **request;
            (test.name(), bytes, ranks, test.unit().name()) == (&*line.test, line.bytes, line.ranks, &*line.unit)
        };
        let Some(request) = requests.iter().find(answers).filter(|_| line.value.is_finite()) else {
            return (values, Some(format!("it printed '{text}', which was not asked")));
        };
        add(&mut values, *request, &[line.value]);
    }
    (values, None)
}
