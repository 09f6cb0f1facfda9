//! Jobs of processes over hosts that reach each other by libfabric: the conformance suite, messages and collectives, with ranks in
//! mixed order over network namespaces. By connections, and by datagrams; of those of messages some are lost.

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

/// The same by datagrams.
fn by_datagrams(network: &Network, hosts: usize, ranks: usize) -> Launcher {
    launcher(network, hosts, ranks).env("HIKYAKU_OFI_ENDPOINT", "datagram")
}

fn together(network: &Network, which: Suite, hosts: usize, any: usize) {
    let launcher = |ranks, _| launcher(network, hosts, ranks);
    runner::check_together(&format!("over {hosts} hosts by libfabric"), &launcher, suite(which), &[any]);
}

#[test]
fn messages_and_collectives_over_three_hosts_by_datagrams_of_libfabric() {
    let Some(network) = Network::new(3) else { return };
    let faults = "loss=0.01,double=0.01,reorder=0.01,seed=7";
    for (which, ranks, faults) in [(Suite::Messages, 3, faults), (Suite::Collectives, 4, "")] {
        let launcher = |ranks, _| by_datagrams(&network, 3, ranks).env("HIKYAKU_UDP_FAULTS", faults);
        runner::check_together("over 3 hosts by datagrams of libfabric", &launcher, suite(which), &[ranks]);
    }
}

#[test]
#[ignore = "takes more than a minute: scripts/hosts runs it"]
fn every_case_over_two_hosts_by_libfabric() {
    let Some(network) = Network::new(2) else { return };
    let kind = Kind::Processes(&|ranks, _| launcher(&network, 2, ranks));
    // Starting libfabric takes most of the time, in which it sleeps.
    runner::check_at_once(3, "over 2 hosts by libfabric", &kind, suite(Suite::Conformance), &[]);
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
