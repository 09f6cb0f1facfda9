//! Jobs of processes over hosts that reach each other by libfabric: the conformance suite, messages and collectives, with ranks in
//! mixed order over network namespaces.

use hikyaku::launch::Launcher;
use hikyaku_testing::netns::Network;
use hikyaku_testing::runner::{self, Kind};
use hikyaku_testing::{Suite, suite};

/// Ranks one after the other over `hosts` hosts of the network.
fn launcher(network: &Network, hosts: usize, ranks: usize) -> Launcher {
    let host_of: Vec<_> = (0..ranks).map(|rank| rank % hosts).collect();
    let launcher = network.launcher(env!("CARGO_BIN_EXE_conformance"), env!("CARGO_BIN_EXE_afar"), &host_of);
    launcher.env("HIKYAKU_TRANSPORT", "ofi")
}

fn together(network: &Network, which: Suite, hosts: usize, any: usize) {
    let launcher = |ranks, _| launcher(network, hosts, ranks);
    runner::check_together(&format!("over {hosts} hosts by libfabric"), &launcher, suite(which), &[any]);
}

#[test]
fn every_case_over_two_hosts_by_libfabric() {
    let Some(network) = Network::new(2) else { return };
    let kind = Kind::Processes(&|ranks, _| launcher(&network, 2, ranks));
    runner::check("over 2 hosts by libfabric", &kind, suite(Suite::Conformance), &[]);
}

#[test]
fn messages_over_two_hosts_by_libfabric() {
    let Some(network) = Network::new(2) else { return };
    together(&network, Suite::Messages, 2, 2);
}

#[test]
fn collectives_over_hosts_by_libfabric() {
    let Some(network) = Network::new(4) else { return };
    for (ranks, hosts) in [(2, 2), (7, 3), (4, 4)] {
        together(&network, Suite::Collectives, hosts, ranks);
    }
}
