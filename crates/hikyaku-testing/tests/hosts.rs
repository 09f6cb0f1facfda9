//! Jobs of processes over hosts: the conformance suite, messages and collectives, with ranks in mixed order over network
//! namespaces, and over a wire with faults. Near ranks share memory; far ones reach each other by datagrams.

#[path = "../../hikyaku/tests/message/cases.rs"]
#[allow(dead_code)]
mod cases;
#[path = "../../hikyaku/tests/collective/cases.rs"]
#[allow(missing_docs, dead_code)]
mod collective;

use hikyaku::launch::{Launcher, Outcome};
use hikyaku_testing::netns::Network;
use hikyaku_testing::watchdog::watched;
use std::time::{Duration, Instant};

const AGENT: &str = env!("CARGO_BIN_EXE_afar");
const FAULTS: &str = "HIKYAKU_UDP_FAULTS";

/// One job: what it runs, and how it is called when it fails.
struct Run {
    name: String,
    launcher: Launcher,
}

/// `ranks` ranks of `program`, one after the other over all hosts of the network.
fn run(network: &Network, hosts: usize, program: &str, case: &str, ranks: usize) -> Run {
    let host_of: Vec<_> = (0..ranks).map(|rank| rank % hosts).collect();
    let launcher = network.launcher(program, AGENT, &host_of).arg(case);
    Run { name: format!("{case}, {ranks} ranks on {hosts} hosts"), launcher }
}

/// Runs all, one by one; then tells of all that failed, and of how long they took.
fn check(what: &str, runs: impl Iterator<Item = Run>) {
    let begin = Instant::now();
    let (mut count, mut slowest, mut failed) = (0, (Duration::ZERO, String::new()), Vec::new());
    for Run { name, launcher } in runs {
        let started = Instant::now();
        match watched(&name, || launcher.run()) {
            Ok(outcome) if outcome.status() == 0 && outcome.joined.iter().all(|joined| *joined) => {}
            Ok(outcome) => failed.push(format!("{name}: {}", said(&outcome))),
            Err(error) => failed.push(format!("{name}: {error}")),
        }
        slowest = slowest.max((started.elapsed(), name));
        count += 1;
    }
    println!("{what}: {count} jobs in {:?}, the slowest {slowest:?}", begin.elapsed());
    assert!(failed.is_empty(), "{what}: {} of {count} failed\n{}", failed.len(), failed.join("\n"));
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

fn conformance<'a>(network: &'a Network, hosts: usize) -> impl Iterator<Item = Run> + 'a {
    let program = env!("CARGO_BIN_EXE_conformance");
    hikyaku_testing::cases().iter().map(move |case| run(network, hosts, program, case.name, case.ranks))
}

/// Over a wire that loses, doubles and reorders frames.
fn with_faults((seed, run): (usize, Run)) -> Run {
    let faults = format!("loss=0.02,double=0.02,reorder=0.02,seed={seed}");
    Run { name: format!("{}, seed {seed}", run.name), launcher: run.launcher.env(FAULTS, faults) }
}

fn messages(network: &Network, hosts: usize) -> impl Iterator<Item = Run> + '_ {
    let program = env!("CARGO_BIN_EXE_layers");
    cases::CASES.iter().map(move |(name, ranks, _)| run(network, hosts, program, name, *ranks))
}

/// With each number of ranks and hosts.
fn collectives<'a>(network: &'a Network, shapes: &'a [(usize, usize)]) -> impl Iterator<Item = Run> + 'a {
    let program = env!("CARGO_BIN_EXE_layers");
    let runs = collective::CASES.iter().flat_map(move |(name, _)| shapes.iter().map(move |shape| (name, *shape)));
    runs.map(move |(name, (ranks, hosts))| run(network, hosts, program, name, ranks))
}

#[test]
fn every_case_over_two_hosts() {
    let Some(network) = Network::new(2) else { return };
    check("conformance", conformance(&network, 2));
}

#[test]
fn every_case_over_three_hosts_and_a_wire_with_faults() {
    let Some(network) = Network::new(3) else { return };
    check("conformance with faults", conformance(&network, 3).enumerate().map(with_faults));
}

#[test]
fn messages_over_two_hosts() {
    let Some(network) = Network::new(2) else { return };
    check("messages", messages(&network, 2));
}

#[test]
fn collectives_over_hosts() {
    let Some(network) = Network::new(3) else { return };
    // Both alone; two near and one far; some hosts with more ranks than others.
    check("collectives", collectives(&network, &[(2, 2), (3, 2), (7, 3)]));
}

/// Everything that the tests above leave out: all layers over two and over three hosts, with faults and without.
#[test]
#[ignore = "takes minutes: scripts/hosts runs it"]
fn every_layer_over_two_and_three_hosts() {
    let Some(network) = Network::new(3) else { return };
    check("conformance, 3 hosts", conformance(&network, 3));
    check("conformance with faults, 2 hosts", conformance(&network, 2).enumerate().map(with_faults));
    check("messages, 3 hosts", messages(&network, 3));
    for hosts in [2, 3] {
        check("messages with faults", messages(&network, hosts).enumerate().map(with_faults));
        let shape = [(2 * hosts, hosts)];
        check("collectives", collectives(&network, &shape));
        check("collectives with faults", collectives(&network, &shape).enumerate().map(with_faults));
    }
}
