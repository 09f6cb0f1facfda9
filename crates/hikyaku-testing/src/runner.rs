//! Runs cases on every kind of job: as threads, as processes of one host or of several, and simulated.
//!
//! All cases run, also after one has failed; then all that failed are told together.

use crate::registry::Case;
use crate::watchdog::watched;
use hikyaku::launch::{Launcher, Outcome};
use hikyaku::sim::Sim;
use hikyaku::{Config, Job};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// A kind of job. What makes one is told the number of ranks, and how many jobs there were before, as a seed.
pub enum Kind<'a> {
    /// Ranks are threads.
    Threads(Config),
    /// Ranks are threads, and groups use what is best where each has a core of its own.
    ThreadsWithCores(Config),
    /// Ranks are simulated.
    Simulated(&'a dyn Fn(usize, u64) -> Sim),
    /// Ranks are processes, of the program `conformance`.
    Processes(&'a dyn Fn(usize, u64) -> Launcher),
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

/// Runs cases one after the other, those that do not mind with each number of ranks in `any`.
///
/// # Panics
/// In the end, if any has failed.
pub fn check<'c>(what: &str, kind: &Kind<'_>, cases: impl IntoIterator<Item = &'c Case>, any: &[usize]) {
    let begin = Instant::now();
    let (mut count, mut slowest, mut failed) = (0, (Duration::ZERO, String::new()), Vec::new());
    for case in cases.into_iter().filter(|case| kind.leaves_out(case).is_none()) {
        for ranks in case.sizes(any) {
            let (name, started) = (format!("{} with {ranks} ranks, {what}", case.name), Instant::now());
            if let Err(why) = watched(&name, || kind.run(case, ranks, count)) {
                failed.push(format!("{name}, job {count}: {why}"));
            }
            slowest = slowest.max((started.elapsed(), name));
            count += 1;
        }
    }
    println!("{what}: {count} jobs in {:?}, the slowest {slowest:?}", begin.elapsed());
    assert!(failed.is_empty(), "{what}: {} of {count} failed\n{}", failed.len(), failed.join("\n"));
}
