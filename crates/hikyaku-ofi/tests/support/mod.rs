//! Where the tests run: over `tcp` on this machine, or where `scripts/rdma` says, over what adapters there are.

use hikyaku::spi::{Members, Network, Opened, Transport};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// The variable that names hosts.
pub const HOSTS: &str = "HIKYAKU_TEST_HOSTS";

/// Addresses of hosts, by their adapters; `127.0.0.1` if the environment names none.
fn hosts() -> Vec<IpAddr> {
    let Ok(named) = std::env::var(HOSTS) else { return vec![Ipv4Addr::LOCALHOST.into()] };
    named.split(',').map(|address| address.parse().expect("an address")).collect()
}

/// Endpoints of a job, on each host in turn, with a secret for each; and their addresses.
pub fn endpoints(network: &dyn Network, secrets: &[[u8; 32]]) -> (Vec<Arc<dyn Transport>>, Vec<Vec<u8>>) {
    let hosts = hosts();
    let opened: Vec<_> = (0..secrets.len()).map(|rank| network.open(hosts[rank % hosts.len()]).unwrap()).collect();
    let addresses: Vec<_> = opened.iter().map(|opened| opened.address().unwrap()).collect();
    let connect = |(rank, opened): (usize, Box<dyn Opened>)| {
        let addresses = addresses.iter().map(|address| Some(&address[..])).collect();
        opened.connect(&Members { rank, addresses, secret: &secrets[rank] }).unwrap()
    };
    let ends = opened.into_iter().enumerate().map(connect).collect();
    (ends, addresses)
}

/// Whether the provider of these endpoints works by an adapter: memory is reached though nobody polls there.
pub fn has_adapter(addresses: &[Vec<u8>]) -> bool {
    addresses[0].starts_with(b"verbs")
}
