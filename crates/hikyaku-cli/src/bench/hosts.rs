//! Between two hosts: ours, with and without authentication, and Open MPI over TCP take turns.

use super::part::Part;
use super::peers::{Between, Peer, Request, Test, add, summarize};
use super::plan::{Figure, Figures};
use super::{Results, launcher, step};
use crate::this_program;
use hikyaku::launch::Hosts;
use hikyaku_workloads::netns::{AGENT, Network};
use indicatif::ProgressBar;

/// How often each has its turn.
pub const ROUNDS: usize = 3;

/// What MPI does, and under which name it is kept.
const WORK: [(Test, Test, usize); 2] =
    [(Test::Send, Test::HostsSend, 8), (Test::Bandwidth, Test::HostsBandwidth, 1 << 20)];

/// Where ranks are, and how they get there.
pub struct Place {
    hosts: String,
    agent: Option<String>,
    variables: Vec<(&'static str, &'static str)>,
    between: Option<Between>,
    /// Kept while it is used.
    pub network: Option<Network>,
}

/// Measures between the hosts that are named with their agent, or else between namespaces of this machine. What is missing becomes
/// a note.
pub fn measure(
    results: &mut Results,
    peers: &mut [Peer],
    named: Option<(&str, Option<&str>)>,
    progress: &ProgressBar,
) -> Result<(), String> {
    let place = place(results, named)?;
    let mut turns = Turns::new(results, peers, &place, None);
    progress.inc_length((ROUNDS * (2 + turns.len())) as u64);
    for round in 1..=ROUNDS {
        for is_sealed in [true, false] {
            let (how, seal) = if is_sealed { ("", "on") } else { (", not authenticated", "off") };
            step(progress, &format!("hikyaku: between two hosts{how}, round {round} of {ROUNDS}"));
            for figure in ours(&place, Part::Hosts, ("HIKYAKU_UDP_SEAL", seal))?.0 {
                let kind = if is_sealed { Some(figure.kind) } else { figure.kind.without_seal() };
                kind.into_iter().for_each(|kind| results.ours.add(Figure { kind, ..figure.clone() }));
            }
        }
        turns.take(results, &place, round, progress);
    }
    turns.end(results);
    Ok(())
}

/// The turns of MPI.
pub struct Turns<'p> {
    peers: Vec<&'p mut Peer>,
    provider: Option<String>,
    measured: Vec<Vec<(Request, Vec<f64>)>>,
}

impl<'p> Turns<'p> {
    /// Of Open MPI, and if a provider of libfabric is named, of an MPICH that can use it.
    pub fn new(results: &mut Results, peers: &'p mut [Peer], place: &Place, provider: Option<&str>) -> Turns<'p> {
        let mut peers: Vec<&mut Peer> = peers.iter_mut().filter(|peer| peer.is_for_hosts(provider)).collect();
        if place.between.is_none() {
            results.notes.push("MPI is measured between namespaces of this machine only".into());
            peers.clear();
        }
        peers.retain_mut(|peer| peer.prepare().map_err(|error| results.notes.push(error)).is_ok());
        let measured = vec![Vec::new(); peers.len()];
        Turns { peers, provider: provider.map(str::to_owned), measured }
    }

    pub fn len(&self) -> usize {
        self.peers.len()
    }

    /// One turn of each.
    pub fn take(&mut self, results: &mut Results, place: &Place, round: usize, progress: &ProgressBar) {
        for (peer, measured) in self.peers.iter().zip(&mut self.measured) {
            step(progress, &format!("{}: between two hosts, round {round} of {ROUNDS}", peer.name));
            let requests = WORK.map(|(test, _, bytes)| Request { test, bytes, ranks: 2, brief: false });
            let Some(between) = &place.between else { continue };
            let (values, error) = peer.measure_between(between, self.provider.as_deref(), &requests);
            values.iter().for_each(|(request, values)| add(measured, *request, values));
            results.notes.extend(error);
        }
    }

    /// What came of them.
    pub fn end(self, results: &mut Results) {
        for (peer, measured) in self.peers.iter().zip(self.measured) {
            for (request, values) in measured {
                let kept = WORK.iter().find(|(done, ..)| *done == request.test);
                let test = kept.map_or(request.test, |(_, kept, _)| *kept);
                results.peers.push(summarize(&peer.name, Request { test, ..request }, values));
            }
        }
    }
}

/// Where it is measured.
pub fn place(results: &mut Results, named: Option<(&str, Option<&str>)>) -> Result<Place, String> {
    if let Some((hosts, agent)) = named {
        let names: Vec<&str> = hosts.split(',').map(str::trim).collect();
        let [one, other] = names[..] else { return Err(format!("--hosts {hosts}: two hosts, as in a,b")) };
        let hosts = format!("{one}:1,{other}:1");
        return Ok(Place {
            hosts,
            agent: agent.map(str::to_owned),
            variables: Vec::new(),
            between: None,
            network: None,
        });
    }
    match Network::pair() {
        Ok(network) => {
            let (hosts, agent) = (network.list(&[(0, 1), (1, 1)]), Some(AGENT.to_owned()));
            let between = Between::Namespaces([0, 1].map(|host| network.host(host).to_owned()), network.address(0));
            Ok(Place { hosts, agent, variables: Vec::new(), between: Some(between), network: Some(network) })
        }
        Err(why) => {
            let without = "two network namespaces joined by a link could not be made, so this is loopback";
            results.notes.push(format!("{without}: {why}; needed are root's rights and `ip` (iproute2)"));
            // An agent needs a place for the name of its host, and this one is as good as any.
            let agent = Some("env HIKYAKU_BENCH_HOST={host}".to_owned());
            let variables = vec![("HIKYAKU_ADDRESS", "127.0.0.1")];
            Ok(Place {
                hosts: "one:1,other:1".into(),
                agent,
                variables,
                between: Some(Between::Loopback),
                network: None,
            })
        }
    }
}

/// Runs this program as two ranks on two hosts, with a variable, and reads the figures rank 0 prints.
pub fn ours(place: &Place, part: Part, (name, value): (&str, &str)) -> Result<Figures, String> {
    let text = |error: hikyaku::Error| error.to_string();
    let hosts = Hosts::parse(&place.hosts).map_err(text)?;
    let mut launcher = launcher(&[part], 2)?.hosts(hosts).agent_program(this_program()?);
    if let Some(agent) = &place.agent {
        launcher = launcher.agent(agent);
    }
    for (name, value) in &place.variables {
        launcher = launcher.env(name, value);
    }
    let outcome = launcher.env(name, value).run().map_err(text)?;
    if let Some(rank) = outcome.first_failure {
        let errors = String::from_utf8_lossy(&outcome.output[rank].errors).trim().to_owned();
        return Err(format!("rank {rank} on {} failed: {errors}", place.hosts));
    }
    serde_json::from_slice(&outcome.output[0].output).map_err(|error| format!("figures of two hosts: {error}"))
}
