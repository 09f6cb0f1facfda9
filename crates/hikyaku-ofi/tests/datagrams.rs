//! What is promised of datagram endpoints alone, over libfabric's `udp` on this machine: losses, strangers, deaths, and memory. The rules
//! of all transports are in `transport.rs`.

use hikyaku::spi::{Loss, Members, Opened, Packet, Posted, Sink, Token, Transport};
use std::net::UdpSocket;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SECRET: [u8; 32] = [7; 32];

/// Endpoints of a job on this machine, and their addresses.
fn endpoints(count: usize) -> (Vec<Arc<dyn Transport>>, Vec<Vec<u8>>) {
    let network = hikyaku_ofi::datagrams();
    let opened: Vec<_> = (0..count).map(|_| network.open([127, 0, 0, 1].into()).unwrap()).collect();
    let addresses: Vec<_> = opened.iter().map(|opened| opened.address().unwrap()).collect();
    let connect = |(rank, opened): (usize, Box<dyn Opened>)| connect(opened, rank, &addresses);
    (opened.into_iter().enumerate().map(connect).collect(), addresses)
}

fn connect(opened: Box<dyn Opened>, rank: usize, addresses: &[Vec<u8>]) -> Arc<dyn Transport> {
    let addresses = addresses.iter().map(|address| Some(&address[..])).collect();
    opened.connect(&Members { rank, addresses, secret: &SECRET }).unwrap()
}

/// The port of an endpoint.
fn port(address: &[u8]) -> u16 {
    let address = String::from_utf8(address.to_vec()).unwrap();
    let digits = address.strip_prefix("udp(datagram)/").unwrap();
    // A socket address: its family, and the port.
    u16::from_str_radix(&digits[4..8], 16).unwrap()
}

/// Counts what comes, posts an answer to each packet that asks for one, and polls within.
struct Answering<'e> {
    end: &'e Arc<dyn Transport>,
    taken: Vec<u64>,
    lost: Vec<(usize, Loss)>,
    owed: Vec<(usize, u64)>,
}

/// Packets from here on are answers.
const ANSWERS: u64 = 1 << 32;

impl<'e> Answering<'e> {
    fn new(end: &'e Arc<dyn Transport>) -> Answering<'e> {
        Answering { end, taken: Vec::new(), lost: Vec::new(), owed: Vec::new() }
    }

    fn poll(&mut self) {
        let end = self.end;
        end.poll(self);
        while let Some((to, address)) = self.owed.first().copied() {
            if post(end, to, address, &[]) == Posted::Busy {
                break;
            }
            self.owed.remove(0);
        }
    }
}

impl Sink for Answering<'_> {
    fn message(&mut self, from: usize, packet: &Packet, payload: &[u8]) {
        assert!(payload.iter().all(|byte| *byte == packet.address as u8), "the bytes of {}", packet.address);
        self.taken.push(packet.address);
        if packet.address < ANSWERS {
            let answer = ANSWERS + packet.address;
            let is_first = self.owed.is_empty();
            if !is_first || post(self.end, from, answer, &[]) == Posted::Busy {
                self.owed.push((from, answer));
            }
        }
        struct Nobody;
        impl Sink for Nobody {
            fn message(&mut self, _: usize, _: &Packet, _: &[u8]) {
                panic!("a poll inside a poll has found something");
            }
            fn completed(&mut self, _: Token) {}
            fn lost(&mut self, _: usize, _: Loss) {}
        }
        assert!(!self.end.poll(&mut Nobody));
    }
    fn completed(&mut self, _: Token) {
        panic!("no body is lent");
    }
    fn lost(&mut self, rank: usize, why: Loss) {
        self.lost.push((rank, why));
    }
}

fn post(from: &Arc<dyn Transport>, to: usize, address: u64, body: &[u8]) -> Posted {
    from.post_copy(to, &Packet { address, ..Packet::default() }, body).unwrap()
}

/// Every packet is answered by the sink that takes it, which polls, too.
fn converse(packets: u64) {
    let (ends, _) = endpoints(2);
    let [mut one, mut other] = [Answering::new(&ends[0]), Answering::new(&ends[1])];
    let begin = Instant::now();
    let (mut sent, body) = (0, |address: u64| vec![address as u8; [0, 40, 1_500, 30_000][address as usize % 4]]);
    while one.taken.len() < packets as usize || !ends.iter().all(|end| end.drained()) {
        while sent < packets && post(&ends[0], 1, sent, &body(sent)) != Posted::Busy {
            sent += 1;
        }
        one.poll();
        other.poll();
        assert!(begin.elapsed() < Duration::from_secs(60), "{} of {packets} answers", one.taken.len());
    }
    assert!(other.taken.iter().copied().eq(0..packets), "once each, in order");
    assert!(one.taken.iter().copied().eq(ANSWERS..ANSWERS + packets), "as are the answers");
    assert!(one.lost.is_empty() && other.lost.is_empty());
    if std::env::var(FAULTS).is_ok() {
        assert!(ends[0].refused() + ends[1].refused() > 0, "frames that came twice, or damaged");
    } else {
        assert_eq!(ends[0].refused() + ends[1].refused(), 0);
    }
}

const FAULTS: &str = "HIKYAKU_UDP_FAULTS";

#[test]
fn a_sink_may_post_and_poll() {
    converse(2_000);
}

/// The wrapper around a wire that udp has, for this one: a process of its own reads what it is to do.
#[test]
fn what_is_lost_doubled_reordered_and_damaged_on_the_way_arrives() {
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "a_sink_may_post_and_poll"]);
    again.env(FAULTS, "loss=0.05,double=0.05,reorder=0.05,damage=0.05,seed=7");
    let output = again.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// Noise, frames of another job and frames that come again change nothing.
#[test]
fn strangers_change_nothing() {
    let (ends, addresses) = endpoints(2);
    let [mut one, mut other] = [Answering::new(&ends[0]), Answering::new(&ends[1])];
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    let target = ("127.0.0.1", port(&addresses[0]));
    let mut seed = 1u64;
    for number in 0..1_000 {
        let mut bytes = vec![0; number % 3_000];
        bytes.iter_mut().for_each(|byte| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = (seed >> 33) as u8;
        });
        // The beginning of a frame that claims to be of rank 1.
        if number % 2 == 0 && bytes.len() > 60 {
            bytes[16..20].copy_from_slice(&[b'h', b'u', 1, 0]);
            bytes[20..24].copy_from_slice(&1u32.to_le_bytes());
            let data = bytes.len() as u32 - 56;
            bytes[52..56].copy_from_slice(&data.to_le_bytes());
        }
        stranger.send_to(&bytes, target).unwrap();
        if number % 100 == 0 {
            assert_ne!(post(&ends[1], 0, number as u64, &[]), Posted::Busy);
        }
        one.poll();
        other.poll();
    }
    let begin = Instant::now();
    while one.taken.len() < 10 || other.taken.len() < 10 {
        one.poll();
        other.poll();
        assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", one.taken);
    }
    assert!(one.taken.iter().copied().eq((0..1_000).step_by(100)), "{:?}", one.taken);
    assert!(ends[0].refused() >= 500, "{}", ends[0].refused());
    assert!(one.lost.is_empty());
}

/// A rank that ends without a word is lost after all it sent, when it was silent for as long as a peer may be.
#[test]
fn a_rank_that_dies_is_lost_after_all_it_sent() {
    let (mut ends, _) = endpoints(2);
    let dying = ends.pop().unwrap();
    // More would wait for company.
    for number in 0..4 {
        assert_ne!(post(&dying, 0, number, &[number as u8; 1_000]), Posted::Busy);
    }
    drop(dying);
    let mut one = Answering::new(&ends[0]);
    let begin = Instant::now();
    while one.lost.is_empty() {
        // Its answers are not heard.
        one.poll();
        assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", one.taken);
    }
    assert!(one.taken.iter().copied().eq(0..4), "{:?}", one.taken);
    assert!(begin.elapsed() > Duration::from_secs(2), "{:?}", begin.elapsed());
    let [(1, Loss::Unreachable(why))] = &one.lost[..] else { panic!("{:?}", one.lost) };
    assert!(why.contains("no answer from its datagrams by libfabric's udp for"), "{why}");
    assert!(ends[0].drained());
    assert!(matches!(ends[0].post_copy(1, &Packet::default(), &[]), Err(hikyaku::Error::Unreachable { rank: 1, .. })));
}
