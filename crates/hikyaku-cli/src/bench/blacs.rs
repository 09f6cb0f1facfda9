//! The BLACS, and whole ScaLAPACK programs: hikyaku and the peers take turns at the same program.

use super::part::Part;
use super::peers::{Peer, Program, Request, Runner, Values, add, batches, runners, summarize};
use super::plan::{Figure, Kind};
use super::{Results, rows, step};
use indicatif::ProgressBar;

/// How often each has its turn.
const ROUNDS: usize = 3;

/// Measures what is wanted of the two parts. What is missing becomes a note.
pub fn measure(results: &mut Results, peers: &[Peer], progress: &ProgressBar) {
    for (part, program) in [(Part::Blacs, Program::Blacs), (Part::Scalapack, Program::Scalapack)] {
        if results.parts.contains(&part) {
            step(progress, &format!("{}: compiling", part.heading()));
            let (runners, notes) = runners(program, peers);
            results.notes.extend(notes);
            measure_part(results, part, &runners, progress);
        }
    }
}

fn measure_part(results: &mut Results, part: Part, runners: &[Runner], progress: &ProgressBar) {
    let work = work(part);
    let batches = batches(requests(&work), |_| part == Part::Scalapack);
    // Of each that runs: what it has measured.
    let mut measured: Vec<Vec<(Request, Vec<f64>)>> = vec![Vec::new(); runners.len()];
    progress.inc_length((ROUNDS * batches.len() * runners.len()) as u64);
    for round in 1..=ROUNDS {
        for batch in &batches {
            for (runner, measured) in runners.iter().zip(&mut measured) {
                let Request { test, ranks, .. } = batch[0];
                let what = if batch.len() == 1 { test.name() } else { part.heading() };
                step(progress, &format!("{}: {what}, {ranks} ranks, round {round} of {ROUNDS}", runner.name));
                let batch: Vec<Request> = batch.iter().copied().filter(|request| runner.supports(*request)).collect();
                if !batch.is_empty() {
                    let (values, error): Values = runner.measure(&batch);
                    values.iter().for_each(|(request, values)| add(measured, *request, values));
                    results.notes.extend(error);
                }
            }
        }
    }
    for (runner, measured) in runners.iter().zip(measured) {
        for (request, values) in measured {
            match work.iter().find(|(_, known)| *known == request) {
                Some((kind, _)) if runner.is_ours() => {
                    results.ours.add(Figure { kind: *kind, bytes: request.bytes, ranks: request.ranks, values });
                }
                _ => results.peers.push(summarize(&runner.name, request, values)),
            }
        }
    }
}

/// The rows of a part, as ours and as what is asked of the program.
fn work(part: Part) -> Vec<(Kind, Request)> {
    let asked = |row: rows::Row| {
        Some((row.kind, Request { test: row.kind.counterpart()?, bytes: row.bytes, ranks: row.ranks, brief: false }))
    };
    rows::rows(part, 0).into_iter().filter_map(asked).collect()
}

fn requests(work: &[(Kind, Request)]) -> impl Iterator<Item = Request> {
    work.iter().map(|(_, request)| *request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::peers::Test;

    #[test]
    fn one_start_does_all_of_a_number_of_ranks_but_each_factorization_alone() {
        let blacs = work(Part::Blacs);
        let by_ranks = batches(requests(&blacs), |_| false);
        assert_eq!(by_ranks.iter().map(|batch| batch[0].ranks).collect::<Vec<_>>(), [2, 4]);
        assert_eq!(by_ranks.concat().len(), blacs.len());
        let programs = batches(requests(&work(Part::Scalapack)), |_| true);
        assert!(programs.iter().all(|batch| batch.len() == 1));
        assert_eq!(programs.len(), 8);
    }

    #[test]
    fn rounds_add_up() {
        let request = Request { test: Test::Lu, bytes: 2000, ranks: 2, brief: false };
        let mut measured = Vec::new();
        add(&mut measured, request, &[1.0]);
        add(&mut measured, Request { ranks: 4, ..request }, &[2.0]);
        add(&mut measured, request, &[3.0]);
        assert_eq!(measured[0], (request, vec![1.0, 3.0]));
        assert_eq!(measured[1].1, [2.0]);
    }
}
