//! Several threads of each of two ranks: ours, by Rust and by C, and MPI take turns, with one number of threads after the other.

use super::part::Part;
use super::peers::{Ompl, Peer, Request, Test, add, summarize};
use super::plan::{Figure, Kind};
use super::{Results, launcher, rows, step, workload};
use hikyaku::Config;
use indicatif::ProgressBar;

/// How often each has its turn.
const ROUNDS: usize = 2;

/// As many as a rank can have: one for each thread, and some.
const PORTS: usize = 64;

/// Measures all numbers of threads. What is missing becomes a note.
pub fn measure(results: &mut Results, peers: &mut [Peer], progress: &ProgressBar) -> Result<(), String> {
    let mut peers: Vec<&mut Peer> = peers.iter_mut().filter(|peer| peer.has_threads()).collect();
    peers.retain_mut(|peer| peer.prepare_threads().map_err(|error| results.notes.push(error)).is_ok());
    let ompl = Ompl::prepare().map_err(|error| results.notes.push(error)).ok();
    let mut measured: Vec<Vec<(Request, Vec<f64>)>> = vec![Vec::new(); peers.len()];
    progress.inc_length((ROUNDS * workload::THREADS.len() * (2 + peers.len())) as u64);
    for round in 1..=ROUNDS {
        for threads in workload::THREADS {
            let what = format!("{threads} threads, round {round} of {ROUNDS}");
            step(progress, &format!("hikyaku: {what}"));
            ours(results, threads)?;
            let requests = requests(threads);
            step(progress, &format!("hikyaku, ompl.h: {what}"));
            if let Some(ompl) = &ompl {
                by_ompl(results, ompl, threads, &requests);
            }
            for (peer, measured) in peers.iter().zip(&mut measured) {
                step(progress, &format!("{}: {what}", peer.name));
                let (values, error) = peer.measure_threads(threads, &requests);
                values.iter().for_each(|(request, values)| add(measured, *request, values));
                results.notes.extend(error.map(|error| format!("{threads} threads: {error}")));
            }
        }
    }
    for (peer, measured) in peers.iter().zip(measured) {
        let samples = measured.into_iter().map(|(request, values)| summarize(&peer.name, request, values));
        results.peers.extend(samples);
    }
    Ok(())
}

fn ours(results: &mut Results, threads: usize) -> Result<(), String> {
    let config = Config { ports: PORTS, ..Config::default() };
    let launcher = launcher(&[Part::Threads], 2)?.config(config);
    let figures = super::run_job(launcher.env(workload::THREADS_VARIABLE, threads.to_string()), 2)?;
    figures.0.into_iter().for_each(|figure| results.ours.add(figure));
    Ok(())
}

/// The pushes, by the C interface.
fn by_ompl(results: &mut Results, ompl: &Ompl, threads: usize, requests: &[Request]) {
    let kind = |test| match test {
        Test::ThreadsPut => Some(Kind::OmplPut),
        Test::ThreadsPutRate => Some(Kind::OmplPutRate),
        Test::ThreadsPutBandwidth => Some(Kind::OmplPutBandwidth),
        _ => None,
    };
    let (values, error) = ompl.measure(threads, PORTS, requests);
    for (Request { test, bytes, ranks, .. }, values) in values {
        kind(test).into_iter().for_each(|kind| results.ours.add(Figure { kind, bytes, ranks, values: values.clone() }));
    }
    results.notes.extend(error.map(|error| format!("{threads} threads: {error}")));
}

/// What the rows of that many threads are compared with.
fn requests(threads: usize) -> Vec<Request> {
    let ours = rows::rows(Part::Threads, 0).into_iter().filter(|row| row.ranks == 2 * threads);
    let asked = |row: rows::Row| {
        Some(Request { test: row.kind.counterpart()?, bytes: row.bytes, ranks: row.ranks, brief: false })
    };
    let mut requests: Vec<Request> = Vec::new();
    for request in ours.filter_map(asked) {
        // Two rows may be compared with the same.
        if !requests.contains(&request) {
            requests.push(request);
        }
    }
    requests
}
