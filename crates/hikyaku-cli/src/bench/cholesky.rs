//! The Cholesky factorisation by tiles: ours, on tasks and with barriers, and the same with MPI and threads take turns.

use super::part::Part;
use super::peers::{Peer, Request, Test, add, summarize};
use super::{Results, launcher, step, workload};
use crate::run::library_beside;
use hikyaku::Config;
use indicatif::ProgressBar;

/// How often each has its turn.
const ROUNDS: usize = 5;

/// The kernels of all programs, for those of C.
const KERNELS: &str = "libhikyaku_workloads.so";

/// Measures all numbers of ranks and threads. What is missing becomes a note.
pub fn measure(results: &mut Results, peers: &mut [Peer], progress: &ProgressBar) -> Result<(), String> {
    let mut peers: Vec<&mut Peer> = peers.iter_mut().filter(|peer| peer.has_threads()).collect();
    match library_beside(KERNELS) {
        Ok(kernels) => {
            peers.retain_mut(|peer| peer.prepare_cholesky(&kernels).map_err(|error| results.notes.push(error)).is_ok())
        }
        Err(error) => {
            if !peers.is_empty() {
                results.notes.push(format!("MPI was not measured: {error}; try `cargo build --release --workspace`"));
            }
            peers.clear();
        }
    }
    let mut measured: Vec<Vec<(Request, Vec<f64>)>> = vec![Vec::new(); peers.len()];
    progress.inc_length((ROUNDS * workload::CREWS.len() * (1 + peers.len())) as u64);
    for round in 1..=ROUNDS {
        for (ranks, threads) in workload::CREWS {
            let what = format!("{ranks} ranks x {threads}, round {round} of {ROUNDS}");
            step(progress, &format!("hikyaku: {what}"));
            ours(results, ranks, threads)?;
            for (peer, measured) in peers.iter().zip(&mut measured) {
                step(progress, &format!("{}: {what}", peer.name));
                if !peer.has_room(ranks) {
                    continue;
                }
                let (values, error) = peer.measure_cholesky(ranks, threads, &requests(ranks * threads));
                values.iter().for_each(|(request, values)| add(measured, *request, values));
                results.notes.extend(error.map(|error| format!("{ranks} ranks x {threads}: {error}")));
            }
        }
    }
    for (peer, measured) in peers.iter().zip(measured) {
        let samples = measured.into_iter().map(|(request, values)| summarize(&peer.name, request, values));
        results.peers.extend(samples);
    }
    Ok(())
}

fn ours(results: &mut Results, ranks: usize, threads: usize) -> Result<(), String> {
    let config = Config { ports: threads.max(Config::default().ports), ..Config::default() };
    let launcher = launcher(&[Part::Cholesky], ranks)?.config(config);
    let figures = super::run_job(launcher.env(workload::THREADS_VARIABLE, threads.to_string()), ranks)?;
    figures.0.into_iter().for_each(|figure| results.ours.add(figure));
    Ok(())
}

/// All shapes, for so many threads of all ranks.
fn requests(threads: usize) -> Vec<Request> {
    let asked =
        |(_, size)| Request { test: Test::Tiles, bytes: workload::tile_bytes(size), ranks: threads, brief: false };
    workload::SHAPES.into_iter().map(asked).collect()
}
