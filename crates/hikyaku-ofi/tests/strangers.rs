//! Somebody who does not belong to the job holds many connections to a rank. A test of its own, because the limit of descriptors is that
//! of the process.

mod support;

use hikyaku::spi::{Loss, Packet, Posted, Sink, Token, Transport};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What most systems give a program at first.
const DESCRIPTORS: u64 = 1024;
const HELD: usize = 1000;

#[derive(Default)]
struct Count(usize);

impl Sink for Count {
    fn message(&mut self, _: usize, _: &Packet, _: &[u8]) {
        self.0 += 1;
    }
    fn completed(&mut self, _: Token) {}
    fn lost(&mut self, rank: usize, why: Loss) {
        panic!("rank {rank} is lost: {why:?}");
    }
}

/// The port of an address that `tcp` gives: a provider, and digits of what the system calls an address.
fn port(address: &[u8]) -> u16 {
    let digits = std::str::from_utf8(address).unwrap().rsplit_once('/').unwrap().1;
    u16::from_str_radix(&digits[4..8], 16).unwrap()
}

#[test]
fn a_thousand_held_connections_keep_nobody_from_the_job() {
    let before = getrlimit(Resource::Nofile);
    assert!(before.maximum.is_none_or(|maximum| maximum > 4 * DESCRIPTORS), "this system gives no more descriptors");
    setrlimit(Resource::Nofile, Rlimit { current: Some(DESCRIPTORS), ..before }).unwrap();
    let (ends, addresses): (Vec<Arc<dyn Transport>>, _) = support::endpoints(hikyaku_ofi::network(), &[[7; 32]; 2]);
    if support::has_adapter(&addresses) {
        return;
    }
    let held: Vec<_> =
        (0..HELD).map(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, port(&addresses[1]))).unwrap()).collect();
    let (mut sent, mut taken, begin) = (false, Count::default(), Instant::now());
    while taken.0 == 0 {
        sent = sent || ends[0].post_copy(1, &Packet::default(), &[1; 100]).unwrap() != Posted::Busy;
        ends[0].poll(&mut Count::default());
        ends[1].poll(&mut taken);
        assert!(begin.elapsed() < Duration::from_secs(60), "the packet never comes");
    }
    drop(held);
}
