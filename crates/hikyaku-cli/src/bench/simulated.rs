//! The benchmark on a simulated machine, in virtual time.

use super::part::Part;
use super::plan::Figures;
use super::workload::{Effort, measure};
use super::{Results, rows};
use hikyaku::sim::{Machine, Sim};

/// What figures were measured on.
#[derive(serde::Serialize)]
pub struct Simulated {
    /// The short name of the machine.
    pub machine: String,
    title: String,
    seed: u64,
}

impl std::fmt::Display for Simulated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Simulated { machine, title, seed } = self;
        write!(f, "on a simulated {machine}, in virtual time, seed {seed}\n{title}")
    }
}

/// Measures the given parts, all of them if none is given, and prints the tables of [`super::run`].
pub fn simulate(machine: &Machine, ranks: usize, seed: u64, only: &[Part], json: bool) -> Result<(), String> {
    let possible = |part: &Part| matches!(part, Part::Remote | Part::Messages | Part::Collectives);
    let wanted = |part: &Part| possible(part) && (only.is_empty() || only.contains(part));
    let parts: Vec<Part> = Part::ALL.into_iter().filter(wanted).collect();
    if parts.is_empty() {
        return Err("only remote operations, messages and collectives are simulated; try --only messages".into());
    }
    let mut ours = Figures::default();
    for size in rows::collective_ranks(ranks).into_iter().filter(|size| *size <= ranks) {
        let of_this_size = |part: &Part| size == 2 || *part == Part::Collectives;
        let parts: Vec<Part> = parts.iter().copied().filter(of_this_size).collect();
        if !parts.is_empty() {
            figures(machine, size, seed, &parts)?.0.into_iter().for_each(|figure| ours.add(figure));
        }
    }
    let simulated = Simulated { machine: machine.name.clone(), title: machine.title.clone(), seed };
    let results = Results {
        version: env!("CARGO_PKG_VERSION"),
        simulated: Some(simulated),
        cores: machine.host.cores,
        parts,
        crowd: ranks,
        ours,
        peers: Vec::new(),
        notes: Vec::new(),
    };
    super::show(&results, json)
}

fn figures(machine: &Machine, ranks: usize, seed: u64, parts: &[Part]) -> Result<Figures, String> {
    let text = |error: hikyaku::Error| format!("{ranks} ranks on {}: {error}", machine.name);
    let run = Sim::new(machine.clone(), ranks, seed).run(|job| measure(job, parts, Effort::SIMULATED)).map_err(text)?;
    let all = run.results.into_iter().collect::<hikyaku::Result<Vec<_>>>().map_err(text)?;
    all.into_iter().next().ok_or_else(|| "a job has at least one rank".into())
}
