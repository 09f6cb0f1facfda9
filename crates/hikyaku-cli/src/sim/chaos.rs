//! `hikyaku sim chaos`: random programs on a simulated machine where random things go wrong.

use hikyaku_workloads::chaos::{Failure, Plan, Report, Workload, run_plan};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Run random programs on a simulated machine where random things go wrong, and check what the library promises.
#[derive(clap::Args)]
pub struct Arguments {
    /// How many runs.
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The seed of the first one.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Run only this seed, as printed with a failure.
    #[arg(long, conflicts_with_all = ["seeds", "first"])]
    seed: Option<u64>,
    /// What the ranks do, instead of what the seed chooses: memory, active, slots, together, revoked, locks, mixture, matching.
    #[arg(long, value_parser = workload)]
    workload: Option<Workload>,
    /// How many to run at the same time; as many as there are cores if not given.
    #[arg(long)]
    jobs: Option<usize>,
    /// Print what each seed runs.
    #[arg(long, short)]
    verbose: bool,
}

fn workload(name: &str) -> Result<Workload, String> {
    let names = || Workload::ALL.map(Workload::name).join(", ");
    Workload::ALL.into_iter().find(|known| known.name() == name).ok_or_else(|| format!("one of {}", names()))
}

/// Figures of all runs of a workload.
#[derive(Default)]
struct Sum {
    runs: u64,
    events: u64,
    resent: u64,
    elapsed: Duration,
}

impl Sum {
    fn add(&mut self, report: &Report) {
        self.runs += 1;
        self.events += report.events;
        self.resent += report.resent;
        self.elapsed += report.elapsed;
    }
}

/// What all workers find.
#[derive(Default)]
struct Findings {
    sums: BTreeMap<Workload, Sum>,
    failures: Vec<Failure>,
}

/// Failures after which the rest is not worth the time.
const FAILURES_MAX: usize = 10;

/// Does it.
pub fn run(arguments: Arguments) -> Result<ExitCode, String> {
    let begin = Instant::now();
    let (first, count) = arguments.seed.map_or((arguments.first, arguments.seeds), |seed| (seed, 1));
    let jobs = arguments.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let bar = ProgressBar::new(count);
    let style = "{bar:40} {pos}/{len} seeds, {per_sec}, {eta} to go";
    bar.set_style(ProgressStyle::with_template(style).map_err(|error| error.to_string())?);
    let (next, findings) = (AtomicU64::new(0), Mutex::new(Findings::default()));
    let work = || {
        while let Some(seed) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < count) {
            let plan = Plan::parted(first.wrapping_add(seed), arguments.workload);
            if arguments.verbose {
                bar.suspend(|| say!("{plan}"));
            }
            let ran = run_plan(plan);
            let mut findings = findings.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            match ran {
                Ok(report) => findings.sums.entry(report.workload).or_default().add(&report),
                Err(failure) => findings.failures.push(failure),
            }
            if findings.failures.len() >= FAILURES_MAX {
                next.store(count, Ordering::Relaxed);
            }
            bar.inc(1);
        }
    };
    std::thread::scope(|scope| (0..jobs.max(1)).for_each(|_| drop(scope.spawn(work))));
    bar.finish_and_clear();
    let Findings { sums, mut failures } = findings.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    print_table(&sums);
    failures.sort_by_key(|failure| failure.plan.seed);
    for failure in &failures {
        let forced = arguments.workload.map(|workload| format!(" --workload {}", workload.name())).unwrap_or_default();
        say!("\nFAILED {failure}");
        say!("  again: hikyaku sim chaos --seed {}{forced} --verbose", failure.plan.seed);
    }
    let ran = sums.values().map(|sum| sum.runs).sum::<u64>() + failures.len() as u64;
    let stopped =
        if ran < count { format!(" of {count}, stopped after {FAILURES_MAX} failures") } else { String::new() };
    let seconds = begin.elapsed().as_secs_f64();
    say!("\n{ran} seeds from {first}{stopped}: {} failed, {seconds:.1} s", failures.len());
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print_table(sums: &BTreeMap<Workload, Sum>) {
    say!("{:<10} {:>8} {:>12} {:>12} {:>14}", "workload", "runs", "events", "resent", "virtual time");
    for (workload, sum) in sums {
        let Sum { runs, events, resent, elapsed } = sum;
        say!("{:<10} {runs:>8} {events:>12} {resent:>12} {:>12.3} s", workload.name(), elapsed.as_secs_f64());
    }
}
