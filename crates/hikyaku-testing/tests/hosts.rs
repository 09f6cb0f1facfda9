//! Jobs of processes over hosts: the conformance suite, messages and collectives, with ranks in mixed order over network
//! namespaces, and over a wire with faults. Near ranks share memory; far ones reach each other by datagrams.

use hikyaku::launch::Launcher;
use hikyaku_testing::netns::Network;
use hikyaku_testing::runner::{self, Kind};
use hikyaku_testing::{Suite, suite};

const FAULTS: &str = "HIKYAKU_UDP_FAULTS";

/// Ranks one after the other over `hosts` hosts of the network.
fn launcher(network: &Network, hosts: usize, ranks: usize) -> Launcher {
    let host_of: Vec<_> = (0..ranks).map(|rank| rank % hosts).collect();
    network.launcher(env!("CARGO_BIN_EXE_conformance"), env!("CARGO_BIN_EXE_afar"), &host_of)
}

/// All cases of a suite, one after the other in jobs of as many ranks as they need.
fn together(network: &Network, which: Suite, hosts: usize, any: usize) {
    let launcher = |ranks, _| launcher(network, hosts, ranks);
    runner::check_together(&format!("over {hosts} hosts"), &launcher, suite(which), &[any]);
}

/// Over a wire that loses, doubles and reorders frames.
fn with_faults(network: &Network, hosts: usize, ranks: usize, seed: u64) -> Launcher {
    launcher(network, hosts, ranks).env(FAULTS, format!("loss=0.02,double=0.02,reorder=0.02,seed={seed}"))
}

#[test]
fn every_case_over_two_hosts() {
    let Some(network) = Network::new(2) else { return };
    let kind = Kind::Processes(&|ranks, _| launcher(&network, 2, ranks));
    runner::check("over 2 hosts", &kind, suite(Suite::Conformance), &[]);
}

#[test]
fn every_case_over_three_hosts_and_a_wire_with_faults() {
    let Some(network) = Network::new(3) else { return };
    let launcher = |ranks, seed| with_faults(&network, 3, ranks, seed);
    let what = "over 3 hosts and a wire with faults";
    runner::check(what, &Kind::Processes(&launcher), suite(Suite::Conformance), &[]);
}

#[test]
fn messages_over_two_hosts() {
    let Some(network) = Network::new(2) else { return };
    together(&network, Suite::Messages, 2, 2);
}

/// What is lost of a message is sent again as it was, whatever its sender does with the buffer afterwards.
#[test]
fn long_messages_over_two_hosts_and_a_wire_that_loses_much() {
    let Some(network) = Network::new(2) else { return };
    let launcher = |ranks, seed| launcher(&network, 2, ranks).env(FAULTS, format!("loss=0.1,seed={seed}"));
    let cases = suite(Suite::Messages).filter(|case| case.name.starts_with("a_buffer_is_its_owners"));
    let cases: Vec<_> = cases.collect();
    assert_eq!(cases.len(), 1);
    runner::check("over 2 hosts and a wire that loses much", &Kind::Processes(&launcher), cases, &[]);
}

#[test]
fn collectives_over_hosts() {
    let Some(network) = Network::new(3) else { return };
    // Both alone; two near and one far; some hosts with more ranks than others.
    for (ranks, hosts) in [(2, 2), (3, 2), (7, 3)] {
        together(&network, Suite::Collectives, hosts, ranks);
    }
}

/// Everything that the tests above leave out: all layers over two and over three hosts, with faults and without.
#[test]
#[ignore = "takes minutes: scripts/hosts runs it"]
fn every_layer_over_two_and_three_hosts() {
    let Some(network) = Network::new(3) else { return };
    for hosts in [2, 3] {
        let any = [2 * hosts];
        let plain = |ranks, _| launcher(&network, hosts, ranks);
        let faulty = |ranks, seed| with_faults(&network, hosts, ranks, seed);
        for which in [Suite::Conformance, Suite::Messages, Suite::Collectives] {
            runner::check(&format!("over {hosts} hosts"), &Kind::Processes(&plain), suite(which), &any);
            let what = format!("over {hosts} hosts and a wire with faults");
            runner::check(&what, &Kind::Processes(&faulty), suite(which), &any);
        }
    }
}
