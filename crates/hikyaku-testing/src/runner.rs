//! Runs cases on every kind of job: as threads, as processes of one host or of several, and simulated.
//!
//! All cases run, also after one has failed; then all that failed are told together.

use crate::registry::Case;
use crate::support::lock;
use crate::watchdog::watched;
use hikyaku::launch::{Launcher, Outcome};
use hikyaku::sim::Sim;
use hikyaku::{Config, Job};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A kind of job. What makes one is told the number of ranks, and how many jobs there were before, as a seed.
pub enum Kind<'a> {
    /// Ranks are threads.
    Threads(Config),
    /// Ranks are threads, and groups use what is best where each has a core of its own.
    ThreadsWithCores(Config),
    /// Ranks are simulated.
    Simulated(&'a (dyn Fn(usize, u64) -> Sim + Sync)),
    /// Ranks are processes, of the program `conformance`.
    Processes(&'a (dyn Fn(usize, u64) -> Launcher + Sync)),
}

/// What a process prints when it has come through.
pub const PASSED: &str = "passed";

impl Kind<'_> {
    /// Runs one case; tells what went wrong.
    fn run(&self, case: &Case, ranks: usize, number: u64) -> Result<(), String> {
        match self {
            Kind::Threads(config) => unpanicked(|| hikyaku::local_with(ranks, *config, |job| case.run(job))),
            Kind::ThreadsWithCores(config) => unpanicked(|| {
                hikyaku::local_with(ranks, *config, |job: &Job| {
                    job.assume_own_cores();
                    case.run(job);
                })
            }),
            Kind::Simulated(sim) => unpanicked(|| sim(ranks, number).run(|job| case.run(job))),
            Kind::Processes(launcher) => {
                let launcher = launcher(ranks, number).arg(case.name).capture(true);
                processes(launcher).map_err(|error| error.to_string())
            }
        }
    }

    /// Why a case is not for this kind of job, if it is not.
    fn leaves_out(&self, case: &Case) -> Option<&'static str> {
        OUTSIDE
            .iter()
            .find(|(name, _)| *name == case.name)
            .filter(|_| matches!(self, Kind::Simulated(_)))
            .map(|(_, why)| *why)
    }
}

/// Whether a case can be simulated.
pub fn has_virtual_time(case: &Case) -> bool {
    OUTSIDE.iter().all(|(outside, _)| *outside != case.name)
}

const THREADS: &str = "what several threads of a rank do at once, and a simulated rank has one";
const DESCRIPTOR: &str = "a descriptor for an event loop, whose time is not virtual";
/// What virtual time has no place for, and why.
const OUTSIDE: [(&str, &str); 8] = [
    ("areas::a_new_area_survives_the_end_of_the_old", THREADS),
    ("messages::handlers_run_one_at_a_time", THREADS),
    ("pressure::a_handler_runs_once_though_its_reply_waits", THREADS),
    ("ports::a_port_moves_to_another_thread", THREADS),
    ("waiting::two_threads_sleep_for_different_words", THREADS),
    ("event::a_descriptor_becomes_readable", DESCRIPTOR),
    ("event::every_kind_of_arrival_signals", DESCRIPTOR),
    ("event::a_cleared_descriptor_stays_unreadable", DESCRIPTOR),
];

fn unpanicked<R>(run: impl FnOnce() -> hikyaku::Result<R>) -> Result<(), String> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        // What it says was printed.
        Err(_) => Err("a panic".into()),
    }
}

/// Runs a job of processes to its end: all must have joined, come through and ended well.
pub fn processes(launcher: Launcher) -> Result<(), String> {
    let outcome = launcher.run().map_err(|error| error.to_string())?;
    let through = |printed: &[u8]| printed.strip_suffix(b"\n").is_some_and(|rest| rest.ends_with(PASSED.as_bytes()));
    let passed = outcome.output.iter().all(|output| through(&output.output));
    let good = outcome.status() == 0 && outcome.joined.iter().all(|joined| *joined) && passed;
    if good { Ok(()) } else { Err(said(&outcome)) }
}

/// What ranks printed, and how they ended: the first that complains may only have noticed the end of another.
fn said(outcome: &Outcome) -> String {
    let mut text = format!("{:?} {:?}, joined {:?}", outcome.first_failure, outcome.remarks, outcome.joined);
    for (rank, output) in outcome.output.iter().enumerate() {
        let (out, err) = (String::from_utf8_lossy(&output.output), String::from_utf8_lossy(&output.errors));
        text += &format!("\n  rank {rank} ended by {:?} and said: {out}{err}", outcome.endings[rank]);
    }
    text
}

/// Runs cases as processes, all of a number of ranks in one job: starting processes takes longer than most cases. If it fails, each
/// runs in a job of its own, which tells which it is.
///
/// # Panics
/// If any has failed.
pub fn check_together<'c>(
    what: &str,
    launcher: &(dyn Fn(usize, u64) -> Launcher + Sync),
    cases: impl IntoIterator<Item = &'c Case>,
    any: &[usize],
) {
    let cases: Vec<_> = cases.into_iter().collect();
    let mut sizes: Vec<_> = cases.iter().flat_map(|case| case.sizes(any)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for ranks in sizes {
        let of_size: Vec<_> = cases.iter().filter(|case| case.sizes(any).contains(&ranks)).copied().collect();
        let names: Vec<_> = of_size.iter().map(|case| case.name).collect();
        let (name, begin) = (format!("{} cases with {ranks} ranks, {what}", names.len()), Instant::now());
        let ran = watched(&name, || processes(launcher(ranks, 0).args(&names).capture(true)));
        println!("{name}: {:?}", begin.elapsed());
        if let Err(why) = ran {
            check(what, &Kind::Processes(launcher), of_size, &[ranks]);
            panic!("{name}, one after the other: {why}");
        }
    }
}

/// The environment variable that says how many ranks a case gets at most that does not mind: where everything takes many times as
/// long, more ranks take most of the time.
pub const RANKS_MAX: &str = "HIKYAKU_TEST_RANKS_MAX";

/// Those of the numbers that are not above the limit, or the limit.
fn at_most(any: &[usize]) -> Vec<usize> {
    let limit = std::env::var(RANKS_MAX).map_or(usize::MAX, |text| text.parse().expect(RANKS_MAX));
    let few: Vec<_> = any.iter().copied().filter(|ranks| *ranks <= limit).collect();
    if few.is_empty() && !any.is_empty() { vec![limit] } else { few }
}

/// Runs cases, those that do not mind with each number of ranks in `any`. Simulated ones run on all cores, since their time is
/// their own; others one after the other.
///
/// # Panics
/// In the end, if any has failed.
pub fn check<'c>(what: &str, kind: &Kind<'_>, cases: impl IntoIterator<Item = &'c Case>, any: &[usize]) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    check_at_once(if matches!(kind, Kind::Simulated(_)) { cores } else { 1 }, what, kind, cases, any);
}

/// [`check`] of so many jobs at once.
///
/// # Panics
/// As there.
pub fn check_at_once<'c>(
    at_once: usize,
    what: &str,
    kind: &Kind<'_>,
    cases: impl IntoIterator<Item = &'c Case>,
    any: &[usize],
) {
    let (begin, any) = (Instant::now(), at_most(any));
    let cases = cases.into_iter().filter(|case| kind.leaves_out(case).is_none());
    let jobs: Vec<_> = cases.flat_map(|case| case.sizes(&any).into_iter().map(move |ranks| (case, ranks))).collect();
    let (next, failed, slowest) = (AtomicUsize::new(0), Mutex::new(Vec::new()), Mutex::default());
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some((case, ranks)) = jobs.get(number) else { break };
            let (name, started) = (format!("{} with {ranks} ranks, {what}", case.name), Instant::now());
            if let Err(why) = watched(&name, || kind.run(case, *ranks, number as u64)) {
                lock(&failed).push(format!("{name}, job {number}: {why}"));
            }
            let mut slowest = lock(&slowest);
            *slowest = std::cmp::max(std::mem::take(&mut *slowest), (started.elapsed(), name));
        }
    };
    match at_once.min(jobs.len()) {
        0 | 1 => work(),
        threads => std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work)))),
    }
    let slowest: (Duration, String) = slowest.into_inner().unwrap();
    println!("{what}: {} jobs in {:?}, the slowest {slowest:?}", jobs.len(), begin.elapsed());
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{what}: {} of {} failed\n{}", failed.len(), jobs.len(), failed.join("\n"));
}
