//! A job over hosts, and somebody on its network who does not know its secret: random bytes, frames of the job that are sent again,
//! cut, or damaged, and connections to its ports. The job comes to the right end, its memory does not grow, and nobody is let in.
//! What is sent to agents and launchers is in `crates/hikyaku-cli/tests/hosts_trouble.rs`: they have no port.

use hikyaku::launch::Outcome;
use hikyaku_testing::chance::Chance;
use hikyaku_testing::netns::Network;
use hikyaku_testing::patience::eventually;
use hikyaku_testing::watchdog::watched;
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, sockopt};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const AFAR: &str = env!("CARGO_BIN_EXE_afar");
/// Two ranks on each of two hosts.
const HOST_OF: [usize; 4] = [0, 1, 0, 1];
/// The third host of the network has no rank.
const ATTACKER: usize = 2;
/// Datagrams and connections to each port.
const ATTACKS: usize = 1000;
/// Frames that are kept of each rank.
const KEPT: usize = 64;
/// What a rank may have more after the siege than before it.
const GROWTH_MAX: u64 = 2 << 20;

/// Frames of the job, by where they went.
type Captured = BTreeMap<SocketAddrV4, Vec<Vec<u8>>>;

/// What passes the switch, until there are enough frames to every rank.
fn capture() -> Captured {
    // Others are not seen where a bridge takes them.
    let all = rustix::net::RawProtocol::new((libc::ETH_P_ALL as u16).to_be().into()).expect("a number");
    let (family, kind) = (AddressFamily::PACKET, SocketType::DGRAM);
    let socket = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, Some(Protocol::from_raw(all))).unwrap();
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(Duration::from_millis(100))).unwrap();
    let (mut captured, mut buffer) = (Captured::new(), vec![0; 1 << 17]);
    eventually("no frames pass", || {
        let bytes = rustix::io::read(&socket, &mut buffer).unwrap_or(0);
        if let Some((to, frame)) = datagram(&buffer[..bytes]) {
            let frames = captured.entry(to).or_default();
            if frames.len() < KEPT {
                frames.push(frame.to_vec());
            }
        }
        (captured.len() == HOST_OF.len() && captured.values().all(|frames| frames.len() == KEPT)).then_some(())
    });
    captured
}

/// The datagram in an IPv4 packet, and where it goes.
fn datagram(packet: &[u8]) -> Option<(SocketAddrV4, &[u8])> {
    let header = usize::from(packet.first()? & 15) * 4;
    let address: [u8; 4] = packet.get(16..20)?.try_into().ok()?;
    let port = u16::from_be_bytes(packet.get(header + 2..header + 4)?.try_into().ok()?);
    let is_datagram = packet[0] >> 4 == 4 && packet[9] == libc::IPPROTO_UDP as u8;
    is_datagram.then(|| Some((SocketAddrV4::new(address.into(), port), packet.get(header + 8..)?)))?
}

/// One hostile datagram for `port`, whose frames are among those captured.
fn hostile(chance: &mut Chance, captured: &Captured, port: &SocketAddrV4) -> Vec<u8> {
    let own = chance.pick(&captured[port].iter().collect::<Vec<_>>()).clone();
    match chance.below(6) {
        0 => (0..chance.pick(&[0, 1, 60, 200, 1400, 60_000])).map(|_| chance.number() as u8).collect(),
        1 => own,
        2 => {
            let mut damaged = own;
            for _ in 0..1 + chance.below(3) {
                let at = chance.below(damaged.len());
                damaged[at] ^= 1 << chance.below(8);
            }
            damaged
        }
        3 => own[..chance.below(own.len())].to_vec(),
        4 => [own, vec![chance.number() as u8; 1 + chance.below(1000)]].concat(),
        // Of another rank.
        _ => chance.pick(&captured.values().flatten().collect::<Vec<_>>()).clone(),
    }
}

/// Sends to every port, as fast as the receivers may take it.
fn besiege(captured: &Captured, seed: u64) {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    let mut chance = Chance::new(seed, 0);
    for attack in 0..ATTACKS {
        for port in captured.keys() {
            let bytes = hostile(&mut chance, captured, port);
            // What is longer than a datagram may be was captured as several in one.
            match socket.send_to(&bytes[..bytes.len().min(65_000)], port) {
                Ok(_) => {}
                Err(error) => assert!(matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::EAGAIN)), "{error}"),
            }
        }
        if attack % 20 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Nobody answers at these ports; gives how many connections were refused.
fn connect(captured: &Captured) -> usize {
    let mut refused = 0;
    for port in captured.keys() {
        for _ in 0..ATTACKS {
            let error = TcpStream::connect(port).expect_err("somebody answers");
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
            refused += 1;
        }
    }
    refused
}

/// Sockets on which somebody on this host waits for connections, but for the doors of launchers: no other host reaches those, and whoever
/// comes there must be of the same user and know the job's key (ARCHITECTURE.md).
fn listening() -> Vec<String> {
    const LISTENS: &str = "0A";
    const ACCEPTS: u32 = 1 << 16;
    let rows = |name: &str| std::fs::read_to_string(Path::new("/proc/thread-self/net").join(name)).unwrap();
    let tcp = ["tcp", "tcp6"].map(rows).concat();
    let tcp = tcp.lines().filter(|line| line.split_whitespace().nth(3) == Some(LISTENS)).map(str::to_owned);
    let flags = |line: &str| u32::from_str_radix(line.split_whitespace().nth(3)?, 16).ok();
    let unix = rows("unix");
    let unix = unix.lines().filter(|line| flags(line).is_some_and(|flags| flags & ACCEPTS != 0)).map(str::to_owned);
    tcp.chain(unix.filter(|line| !line.contains(" @hikyaku/door/"))).collect()
}

fn number(outcome: &Outcome, rank: usize, word: &str) -> u64 {
    let text = String::from_utf8_lossy(&outcome.output[rank].output);
    let found = text.lines().find_map(|line| line.strip_prefix(word)?.trim().parse().ok());
    found.unwrap_or_else(|| panic!("no {word} of rank {rank}: {text}"))
}

#[test]
fn strangers_change_nothing() {
    let Some(network) = Network::new(3) else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("siege {}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let launcher = network.launcher(AFAR, AFAR, &HOST_OF).arg("besieged").arg(&folder);
    let over = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        let attack = scope.spawn(|| {
            let ready = |rank: usize| folder.join(format!("ready {rank}")).exists();
            eventually("they work", || (over.load(Ordering::Relaxed) || (0..HOST_OF.len()).all(ready)).then_some(()));
            let captured = network.on(None, capture);
            let addresses: Vec<_> = captured.keys().map(|port| *port.ip()).collect();
            assert!((0..2).all(|host| addresses.contains(&network.address(host))), "{addresses:?}");
            for host in [0, 1] {
                assert_eq!(network.on(Some(host), listening), [""; 0], "host {host}");
            }
            // From a host of nobody, and from one of the job's.
            network.on(Some(ATTACKER), || besiege(&captured, 1));
            network.on(Some(0), || besiege(&captured, 2));
            let refused = network.on(Some(ATTACKER), || connect(&captured));
            assert_eq!(refused, ATTACKS * HOST_OF.len());
        });
        let job = scope.spawn(|| watched("siege", || launcher.run().unwrap()));
        let attacked = attack.join();
        // Also if that failed: the job must end.
        std::fs::write(folder.join("enough"), "").unwrap();
        let outcome = job.join().unwrap();
        over.store(true, Ordering::Relaxed);
        attacked.unwrap();
        outcome
    });
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(outcome.status(), 0, "{outcome:?}");
    for rank in 0..HOST_OF.len() {
        let [before, after, refused, rounds] =
            ["before", "after", "refused", "rounds"].map(|word| number(&outcome, rank, word));
        println!("rank {rank}: {refused} frames refused in {rounds} rounds, {before} bytes before, {after} after");
        assert!(after < before + GROWTH_MAX, "rank {rank}: {before} bytes before, {after} after");
        // All but what a socket had no room for.
        assert!(refused > ATTACKS as u64, "rank {rank}: {refused}");
    }
}
