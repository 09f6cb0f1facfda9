//! The rules of a transport, over libfabric's `tcp` on this machine and over datagrams of its `udp`, or over `verbs` (`scripts/rdma`).

mod support;

use hikyaku::Result;
use hikyaku::spi::{Armed, Loss, Network, Packet, Posted, Sink, Token, Transport, is_patient};
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SECRET: [u8; 32] = [7; 32];

/// Both kinds of endpoints; with adapters, or a provider that the environment names, the reliable ones.
fn networks() -> Vec<&'static dyn Network> {
    match [support::HOSTS, "HIKYAKU_OFI_PROVIDER"].iter().any(|name| std::env::var_os(name).is_some()) {
        true => vec![hikyaku_ofi::network()],
        false => vec![hikyaku_ofi::network(), hikyaku_ofi::datagrams()],
    }
}

/// Endpoints of a job, with a secret for each.
fn endpoints(network: &dyn Network, secrets: &[[u8; 32]]) -> Vec<Arc<dyn Transport>> {
    support::endpoints(network, secrets).0
}

#[derive(Default)]
struct Taken {
    messages: Vec<(usize, u64, Vec<u8>)>,
    lost: Vec<(usize, Loss)>,
}

impl Sink for Taken {
    fn message(&mut self, from: usize, packet: &Packet, payload: &[u8]) {
        self.messages.push((from, packet.address, payload.to_vec()));
    }
    fn completed(&mut self, _: Token) {
        panic!("no body is lent");
    }
    fn lost(&mut self, rank: usize, why: Loss) {
        self.lost.push((rank, why));
    }
}

fn try_post(from: &Arc<dyn Transport>, to: usize, address: u64, body: &[u8]) -> Result<Posted> {
    from.post_copy(to, &Packet { address, ..Packet::default() }, body)
}

/// Polls all until something is so.
fn until(ends: &[Arc<dyn Transport>], taken: &mut [Taken], is_so: impl Fn(&[Taken]) -> bool) {
    let begin = Instant::now();
    while !is_so(taken) {
        for (end, taken) in ends.iter().zip(&mut *taken) {
            end.poll(taken);
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "it never came");
    }
}

fn post(ends: &[Arc<dyn Transport>], taken: &mut [Taken], (from, to): (usize, usize), address: u64, body: &[u8]) {
    let begin = Instant::now();
    while try_post(&ends[from], to, address, body).unwrap() == Posted::Busy {
        for (end, taken) in ends.iter().zip(&mut *taken) {
            end.poll(taken);
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "there is never room");
    }
}

/// Short messages are sent at once, longer ones by a second way; none passes another.
#[test]
fn packets_of_all_lengths_arrive_once_in_order() {
    networks().into_iter().for_each(check_packets_of_all_lengths_arrive_once_in_order);
}

fn check_packets_of_all_lengths_arrive_once_in_order(network: &dyn Network) {
    let ends = endpoints(network, &[SECRET; 2]);
    let mut taken = [Taken::default(), Taken::default()];
    let body: Vec<u8> = (0..ends[0].capabilities().payload_max).map(|at| at as u8).collect();
    let lengths = |number: u64| [0, 8, 300, 5_000, 40_000, body.len()][number as usize % 6];
    for number in 0..600 {
        post(&ends, &mut taken, (0, 1), number, &body[..lengths(number)]);
        post(&ends, &mut taken, (1, 0), number, &body[..lengths(number + 3)]);
    }
    until(&ends, &mut taken, |taken| taken.iter().all(|taken| taken.messages.len() == 600));
    for (rank, taken) in taken.iter().enumerate() {
        for (number, (from, address, payload)) in taken.messages.iter().enumerate() {
            assert_eq!((*from, *address), (1 - rank, number as u64));
            assert!(payload[..] == body[..lengths(*address + 3 * (1 - rank as u64))], "the bytes of {address}");
        }
        assert!(taken.lost.is_empty());
    }
    until(&ends, &mut taken, |_| ends.iter().all(|end| end.drained()));
}

/// More than the numbers on the wire can tell apart.
#[test]
fn very_many_packets_arrive_in_order() {
    const COUNT: u64 = 140_000;
    let ends = endpoints(hikyaku_ofi::network(), &[SECRET; 2]);
    let mut taken = [Taken::default(), Taken::default()];
    for number in 0..COUNT {
        post(&ends, &mut taken, (0, 1), number, &[]);
    }
    until(&ends, &mut taken, |taken| taken[1].messages.len() as u64 == COUNT);
    assert!(taken[1].messages.iter().zip(0..).all(|((_, address, _), number)| *address == number));
    until(&ends, &mut taken, |_| ends.iter().all(|end| end.drained()));
    ends[0].leave();
    until(&ends, &mut taken, |taken| taken[1].lost == [(0, Loss::Left)]);
}

/// Packets that may wait travel with the next one, or when there is nothing else to do; the order is kept.
#[test]
fn what_may_wait_is_neither_passed_nor_forgotten() {
    networks().into_iter().for_each(check_what_may_wait_is_neither_passed_nor_forgotten);
}

fn check_what_may_wait_is_neither_passed_nor_forgotten(network: &dyn Network) {
    let ends = endpoints(network, &[SECRET; 2]);
    let mut taken = [Taken::default(), Taken::default()];
    let kind = (0..=u8::MAX).find(|kind| is_patient(&Packet { kind: *kind, ..Packet::default() })).unwrap();
    let patient = |address| Packet { address, kind, ..Packet::default() };
    let body = vec![7; ends[0].capabilities().payload_max];
    let mut sent = 0;
    for round in 0..200 {
        // More than wait at most, too.
        for _ in 0..round % 7 {
            while ends[0].post_copy(1, &patient(sent), &[]).unwrap() == Posted::Busy {
                ends[0].poll(&mut taken[0]);
                ends[1].poll(&mut taken[1]);
            }
            sent += 1;
        }
        let urgent = [None, Some(0), Some(8), Some(body.len())][round % 4];
        if let Some(bytes) = urgent {
            post(&ends, &mut taken, (0, 1), sent, &body[..bytes]);
            sent += 1;
        }
        if round % 5 == 0 {
            until(&ends, &mut taken, |taken| taken[1].messages.len() as u64 == sent);
        }
    }
    until(&ends, &mut taken, |taken| taken[1].messages.len() as u64 == sent);
    assert!(taken[1].messages.iter().zip(0..).all(|((_, address, _), number)| *address == number));
    // What waits is not delivered.
    ends[0].post_copy(1, &patient(sent), &[]).unwrap();
    until(&ends, &mut taken, |_| ends[0].drained());
    assert_eq!(taken[1].messages.len() as u64, sent + 1);
}

#[test]
fn what_can_never_be_sent_is_refused() {
    networks().into_iter().for_each(check_what_can_never_be_sent_is_refused);
}

fn check_what_can_never_be_sent_is_refused(network: &dyn Network) {
    let ends = endpoints(network, &[SECRET; 2]);
    let max = ends[0].capabilities().payload_max;
    assert!(matches!(try_post(&ends[0], 2, 0, &[]), Err(hikyaku::Error::NoSuchRank { rank: 2, size: 2 })));
    assert!(matches!(try_post(&ends[0], 1, 0, &vec![0; max + 1]), Err(hikyaku::Error::PayloadTooLong { .. })));
}

/// An endpoint that nobody polls does not take more and more memory of its peer.
#[test]
fn a_peer_that_does_not_look_makes_one_busy() {
    networks().into_iter().for_each(check_a_peer_that_does_not_look_makes_one_busy);
}

fn check_a_peer_that_does_not_look_makes_one_busy(network: &dyn Network) {
    let ends = endpoints(network, &[SECRET; 2]);
    let mut taken = [Taken::default(), Taken::default()];
    post(&ends, &mut taken, (0, 1), 0, &[]);
    until(&ends, &mut taken, |taken| taken[1].messages.len() == 1);
    let mut count = 1;
    // What libfabric takes at once, too.
    for body in [0, ends[0].capabilities().payload_max].map(|bytes| vec![1; bytes]) {
        let first = count;
        while try_post(&ends[0], 1, count, &body).unwrap() != Posted::Busy {
            ends[0].poll(&mut taken[0]);
            count += 1;
            assert!(count - first < 100_000, "it is never busy");
        }
        until(&ends, &mut taken, |taken| taken[1].messages.len() as u64 == count);
    }
    post(&ends, &mut taken, (0, 1), count, &[]);
}

#[test]
fn a_rank_that_leaves_is_lost_after_all_it_sent() {
    networks().into_iter().for_each(check_a_rank_that_leaves_is_lost_after_all_it_sent);
}

fn check_a_rank_that_leaves_is_lost_after_all_it_sent(network: &dyn Network) {
    let mut ends = endpoints(network, &[SECRET; 3]);
    let mut taken = [Taken::default(), Taken::default(), Taken::default()];
    for number in 0..10 {
        post(&ends, &mut taken, (2, 0), number, &[number as u8; 9_000]);
    }
    until(&ends, &mut taken, |_| ends[2].drained());
    ends[2].leave();
    drop(ends.pop());
    until(&ends, &mut taken[..2], |taken| !taken[0].lost.is_empty());
    assert_eq!((taken[0].messages.len(), &taken[0].lost[..]), (10, &[(2, Loss::Left)][..]));
    assert!(matches!(try_post(&ends[0], 2, 0, &[]), Err(hikyaku::Error::PeerLeft { rank: 2 })));
    // Rank 1 has never heard of it, and finds out when it asks.
    ends[1].watch(2);
    until(&ends, &mut taken[..2], |taken| !taken[1].lost.is_empty());
    assert!(matches!(&taken[1].lost[..], [(2, Loss::Unreachable(_))]), "{:?}", taken[1].lost);
}

/// The last words of a rank that leaves while its peer does not look yet, and the way there is full, come all the same.
#[test]
fn a_farewell_waits_behind_what_is_still_here() {
    let mut ends = endpoints(hikyaku_ofi::network(), &[SECRET; 2]);
    let mut taken = [Taken::default(), Taken::default()];
    post(&ends, &mut taken, (1, 0), 0, &[]);
    until(&ends, &mut taken, |taken| taken[0].messages.len() == 1);
    let leaving = ends.pop().unwrap();
    // Short, so that libfabric takes them at once and keeps them.
    let mut count = 1;
    while try_post(&leaving, 0, count, &[]).unwrap() != Posted::Busy {
        count += 1;
    }
    let begin = Instant::now();
    let thread = std::thread::spawn(move || leaving.leave());
    std::thread::sleep(Duration::from_millis(100));
    until(&ends, &mut taken[..1], |taken| !taken[0].lost.is_empty());
    thread.join().unwrap();
    assert_eq!((taken[0].messages.len() as u64, &taken[0].lost[..]), (count, &[(1, Loss::Left)][..]));
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
}

/// A rank that ends without a word breaks its connections: it is lost a moment later, and what was meant for it waits till then.
#[test]
fn a_rank_that_dies_is_lost_after_a_moment_and_keeps_nobody() {
    let mut ends = endpoints(hikyaku_ofi::network(), &[SECRET; 2]);
    let mut taken = [Taken::default(), Taken::default()];
    post(&ends, &mut taken, (0, 1), 0, b"hello");
    post(&ends, &mut taken, (1, 0), 0, b"hello");
    until(&ends, &mut taken, |taken| taken.iter().all(|taken| taken.messages.len() == 1));
    until(&ends, &mut taken, |_| ends.iter().all(|end| end.drained()));
    drop(ends.pop());
    let start = std::time::Instant::now();
    while !matches!(try_post(&ends[0], 1, 1, &[2; 9_000]), Err(hikyaku::Error::Unreachable { rank: 1, .. })) {
        ends[0].poll(&mut taken[0]);
        assert!(ends[0].drained_but(&|rank| rank == 1));
        assert!(start.elapsed() < std::time::Duration::from_secs(60), "{:?}", taken[0].lost);
    }
    assert!(start.elapsed() >= std::time::Duration::from_millis(900), "{:?}", start.elapsed());
    until(&ends, &mut taken[..1], |taken| !taken[0].lost.is_empty());
    assert!(matches!(&taken[0].lost[..], [(1, Loss::Unreachable(_))]), "{:?}", taken[0].lost);
    assert!(ends[0].drained());
}

/// Whoever does not know the secret is not heard, whatever rank it claims to be.
#[test]
fn strangers_are_refused() {
    networks().into_iter().for_each(check_strangers_are_refused);
}

fn check_strangers_are_refused(network: &dyn Network) {
    let ends = endpoints(network, &[SECRET, SECRET, [8; 32]]);
    let mut taken = [Taken::default(), Taken::default(), Taken::default()];
    for number in 0..5 {
        post(&ends, &mut taken, (2, 0), number, b"let me in");
        post(&ends, &mut taken, (1, 0), number, b"hello");
    }
    until(&ends, &mut taken, |taken| taken[0].messages.len() == 5 && ends[0].refused() >= 5);
    assert!(taken[0].messages.iter().all(|(from, ..)| *from == 1));
}

/// Whoever connects to the port and says anything changes nothing, and keeps nobody from being heard.
#[test]
fn hostile_connections_change_nothing() {
    let (ends, addresses) = support::endpoints(hikyaku_ofi::network(), &[SECRET; 2]);
    if support::has_adapter(&addresses) {
        return eprintln!("not tested: what connects to an adapter is a packet, and its kernel's matter");
    }
    let mut taken = [Taken::default(), Taken::default()];
    let address = String::from_utf8(addresses[0].clone()).unwrap();
    let digits = address.split('/').next_back().unwrap();
    // A socket address: its family, and the port.
    let port = u16::from_str_radix(&digits[4..8], 16).unwrap();
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    post(&ends, &mut taken, (1, 0), 0, b"hello");
    until(&ends, &mut taken, |taken| taken[0].messages.len() == 1);
    let before = descriptors();
    let mut seed = 1u64;
    for number in 1..=1_000 {
        if let Ok(mut stranger) = TcpStream::connect(("127.0.0.1", port)) {
            let mut bytes = vec![0; number % 600];
            bytes.iter_mut().for_each(|byte| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                *byte = (seed >> 33) as u8;
            });
            // It may be cut off.
            let _ = stranger.write_all(&bytes);
        }
        if number % 100 == 0 {
            post(&ends, &mut taken, (1, 0), number as u64, b"hello");
            until(&ends, &mut taken, |taken| taken[0].messages.len() == 1 + number / 100);
        }
    }
    assert!(taken[0].messages.iter().all(|(from, _, payload)| *from == 1 && payload == b"hello"));
    assert!(taken.iter().all(|taken| taken.lost.is_empty()));
    // What strangers leave behind is closed.
    let begin = Instant::now();
    while descriptors() > before + 50 {
        ends.iter().zip(&mut taken).for_each(|(end, taken)| _ = end.poll(taken));
        assert!(begin.elapsed() < Duration::from_secs(60), "{} descriptors, {before} before", descriptors());
    }
}

/// A service thread sleeps until something comes, and takes nothing of the processor.
#[test]
fn an_idle_endpoint_sleeps_until_something_comes() {
    networks().into_iter().for_each(check_an_idle_endpoint_sleeps_until_something_comes);
}

fn check_an_idle_endpoint_sleeps_until_something_comes(network: &dyn Network) {
    let ends = endpoints(network, &[SECRET; 2]);
    let mut taken = [Taken::default(), Taken::default()];
    post(&ends, &mut taken, (0, 1), 0, &[]);
    until(&ends, &mut taken, |taken| taken[1].messages.len() == 1);
    until(&ends, &mut taken, |_| ends[0].drained());
    let (sleeper, waker) = (ends[1].clone(), ends[0].clone());
    let thread = std::thread::spawn(move || {
        let (begin, mut rounds, mut taken) = (Instant::now(), 0, Taken::default());
        while taken.messages.is_empty() {
            if let Armed::Until(_) = sleeper.arm() {
                let descriptor = sleeper.descriptor().unwrap();
                let mut polled = [rustix::event::PollFd::new(&descriptor, rustix::event::PollFlags::IN)];
                let time = rustix::event::Timespec { tv_sec: 10, tv_nsec: 0 };
                rustix::event::poll(&mut polled, Some(&time)).unwrap();
            }
            sleeper.poll(&mut taken);
            rounds += 1;
        }
        (begin.elapsed(), rounds)
    });
    std::thread::sleep(Duration::from_millis(300));
    let begin = Instant::now();
    while try_post(&waker, 1, 1, &[5; 100]).unwrap() == Posted::Busy {
        waker.poll(&mut taken[0]);
    }
    // Libfabric goes on where it is polled.
    while !thread.is_finished() && begin.elapsed() < Duration::from_secs(20) {
        waker.poll(&mut taken[0]);
    }
    let (slept, rounds) = thread.join().unwrap();
    assert!(slept >= Duration::from_millis(290) && slept < Duration::from_secs(5), "{slept:?}");
    assert!(rounds < 50, "{rounds} rounds in {slept:?}");
}
