//! What peers cost that nobody talks to any more, with datagram endpoints: libfabric's memory and the library's, as the C library counts
//! it. A test of its own, which has the process to itself.

use hikyaku::spi::{Loss, Members, Packet, Posted, Sink, Token, Transport};
use std::sync::Arc;
use std::time::{Duration, Instant};

const PEERS: usize = 200;
/// What docs/cluster.md promises.
const IDLE_BYTES_MAX: usize = 4 << 10;
const SECRET: [u8; 32] = [7; 32];

/// Bytes that this process has of its heap.
fn heap() -> usize {
    // SAFETY: it only counts.
    let info = unsafe { libc::mallinfo2() };
    info.uordblks + info.hblkhd
}

/// Lets this process have as many descriptors as it may.
fn want_descriptors() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit lives during the calls.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit), 0);
        limit.rlim_cur = limit.rlim_max;
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &limit), 0);
    }
}

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

/// An endpoint of rank 0 in a job of so many, which talks to nobody.
fn alone(size: usize) -> Arc<dyn Transport> {
    let opened = hikyaku_ofi::datagrams().open([127, 0, 0, 1].into()).unwrap();
    let address = opened.address().unwrap();
    let addresses = vec![Some(&address[..]); size];
    opened.connect(&Members { rank: 0, addresses, secret: &SECRET }).unwrap()
}

/// A rank and all from rank 2 on send each other so many bytes, one after the other.
fn talk(ends: &[Arc<dyn Transport>], hub: usize, body: &[u8]) {
    let (mut at_hub, mut at_others) = (Count::default(), Count::default());
    let begin = Instant::now();
    for (rank, end) in ends.iter().enumerate().skip(2) {
        assert_ne!(ends[hub].post_copy(rank, &Packet::default(), body).unwrap(), Posted::Busy);
        assert_ne!(end.post_copy(hub, &Packet::default(), body).unwrap(), Posted::Busy);
        while at_hub.0 < rank - 1 || at_others.0 < rank - 1 || !end.drained() || !ends[hub].drained() {
            ends[hub].poll(&mut at_hub);
            end.poll(&mut at_others);
            assert!(begin.elapsed() < Duration::from_secs(60));
        }
        look(ends);
    }
}

/// All look, so that nobody is silent.
fn look(ends: &[Arc<dyn Transport>]) {
    ends.iter().for_each(|end| _ = end.poll(&mut Count::default()));
}

#[test]
fn idle_peers_cost_little_memory() {
    want_descriptors();
    // Ranks that are never talked to.
    let _first = alone(2);
    let before = heap();
    let _few = alone(1_000);
    let between = heap();
    let _many = alone(11_000);
    let silent = (heap() - between).saturating_sub(between - before) / 10_000;

    let opened: Vec<_> =
        (0..PEERS + 2).map(|_| hikyaku_ofi::datagrams().open([127, 0, 0, 1].into()).unwrap()).collect();
    let addresses: Vec<_> = opened.iter().map(|opened| opened.address().unwrap()).collect();
    let addresses: Vec<_> = addresses.iter().map(|address| Some(&address[..])).collect();
    let ends = opened.into_iter().enumerate();
    let members = |rank| Members { rank, addresses: addresses.clone(), secret: &SECRET };
    let ends: Vec<_> = ends.map(|(rank, opened)| opened.connect(&members(rank)).unwrap()).collect();
    // What the endpoints themselves need when they are first used is not the question.
    talk(&ends, 0, &[1; 56 << 10]);
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(3) {
        look(&ends);
    }
    let before = heap();
    talk(&ends, 1, &[1; 8]);
    // What a link costs is at both of its ends.
    let for_each = || heap().saturating_sub(before) / (2 * PEERS);
    let short = for_each();
    talk(&ends, 1, &[1; 56 << 10]);
    let long = for_each();
    // What is kept for the next messages is let go after a second without any.
    let begin = Instant::now();
    while for_each() > IDLE_BYTES_MAX && begin.elapsed() < Duration::from_secs(30) {
        look(&ends);
    }
    let idle = for_each();
    println!(
        "bytes for a peer never talked to {silent}, after short messages {short}, long ones {long}, when idle {idle}"
    );
    assert!((1..=100).contains(&silent), "{silent} bytes for each rank that is never talked to");
    assert!((1..=2 * IDLE_BYTES_MAX).contains(&short), "{short} bytes for each peer");
    assert!(idle <= IDLE_BYTES_MAX, "{idle} bytes for each idle peer");
}
