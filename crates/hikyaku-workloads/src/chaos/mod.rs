//! Chaos: random programs on a simulated machine where random things go wrong, all from one seed.
//!
//! Each workload knows what must come out of it, and says so when something else does. Where nobody dies, every call
//! succeeds, every promise is kept and all memory comes back; where a rank is killed, every call of the others ends, and
//! fails only because of a rank that is gone; where ranks lose each other, every call ends, too, and only those on two sides
//! of a cut find each other unreachable.
//!
//! | file | concept |
//! |---|---|
//! | `plan` | what a seed stands for: ranks, their hosts, what the network can do, workload, faults |
//! | `verdict` | whether what the ranks report is what was promised |
//! | `trouble` | what a rank reports |
//! | `memory` | pushes, pulls, words and atomic operations against a model |
//! | `copied` | copies between ranks, started by any |
//! | `active` | active messages and calls: exactly once, in order |
//! | `slots` | messages in slots, of all sizes and modes |
//! | `matched` | messages that are matched by keys |
//! | `together` | collective calls; barriers never pass early |
//! | `revoked` | areas that come and go: nobody writes after a revocation |
//! | `started` | pushes and pulls that go on beside the program |
//! | `workers` | endpoints: messages and groups of several threads' own |
//! | `regions` | regions that ranks join and leave while others write |
//! | `multicast` | parts of memory, for one rank or several: strides, bitmaps, changes |
//! | `locks` | locks of remote atomic operations: exclusive and fair |

mod active;
mod copied;
mod locks;
mod matched;
mod memory;
mod multicast;
mod plan;
mod regions;
mod revoked;
mod slots;
mod started;
mod together;
mod trouble;
mod verdict;
mod workers;

use hikyaku::sim::Sim;
pub use memory::changed;
pub use plan::{Plan, Workload};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// What a run took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What ran.
    pub workload: Workload,
    /// Events of the simulation.
    pub events: u64,
    /// Messages that links had to send again.
    pub resent: u64,
    /// Virtual time.
    pub elapsed: Duration,
    /// A checksum of all events.
    pub hash: u64,
}

/// A promise was broken.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What was run.
    pub plan: Box<Plan>,
    /// What broke.
    pub message: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.plan, self.message)
    }
}

/// Virtual time after which a call counts as one that never ends: many times what the slowest seeds take.
const LIMIT: Duration = Duration::from_secs(5);

/// Runs what a seed stands for.
pub fn run(seed: u64) -> Result<Report, Failure> {
    run_plan(Plan::new(seed, None))
}

/// Runs a plan.
pub fn run_plan(plan: Plan) -> Result<Report, Failure> {
    let mut sim = Sim::new(plan.machine(), plan.ranks, plan.seed)
        .heap_bytes(1 << 24)
        .stack_bytes(256 * 1024)
        .hosts(|rank| plan.hosts[rank])
        .faults(plan.faults.clone())
        .time_limit(LIMIT);
    if let Some(order) = plan.nics {
        sim = sim.remote_memory(order);
    }
    let ran = catch_unwind(AssertUnwindSafe(|| sim.run_mortal(|job| plan.workload.run(job, plan.seed))));
    let judged = match ran {
        Err(panic) => Err(format!("a panic: {}", text_of(&*panic))),
        Ok(Err(error)) => Err(error.to_string()),
        Ok(Ok(run)) => verdict::judge(&plan, &run.results).map(|()| Report {
            workload: plan.workload,
            events: run.events,
            resent: run.links.resent,
            elapsed: run.elapsed,
            hash: run.hash,
        }),
    };
    judged.map_err(|message| Failure { plan: Box::new(plan), message })
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("of no words")
}
