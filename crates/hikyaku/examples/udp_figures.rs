//! Figures of the udp transport beside bare sockets, in one run.
//!
//! ```text
//! udp_figures [ADDRESS]                 two threads, over lo (127.0.0.1) unless told otherwise
//! udp_figures serve HERE THERE PORT     one end, for ...
//! udp_figures to HERE THERE PORT        ... the other, in another process or network namespace
//! udp_figures alone ADDRESS             both ends in one thread, by the time it has a core
//! ```
//! `FRAME` and `WINDOW` set bytes of a frame and under way, `TRAINS=0` does without trains.
//!
//! Ping-pongs are half round trips in microseconds. Bandwidth is that of transfers of 1 MB, each answered by a message when it is there,
//! in GB/s. All take turns in rounds; of each the best round counts, because other load only makes them worse.

use hikyaku::spi::udp::{Bound, Config, Endpoint};
use hikyaku::spi::{Body, Loss, Packet, Posted, Sink, Token, Transport};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

const SECRET: [u8; 32] = [9; 32];
const ROUNDS: usize = 30;
const PINGS: usize = 1000;
const LONG_BYTES: usize = 1 << 20;
const LONGS: usize = 30;
/// Looks in vain after which the core is left to others.
const LOOKS_MAX: u32 = 1000;
const PAYLOAD: [u8; 8] = [1; 8];

/// Counts what comes.
#[derive(Default)]
struct Count {
    messages: usize,
    bytes: usize,
}

impl Sink for Count {
    fn message(&mut self, _: usize, _: &Packet, payload: &[u8]) {
        self.messages += 1;
        self.bytes += payload.len();
    }
    fn completed(&mut self, _: Token) {}
    fn lost(&mut self, rank: usize, why: Loss) {
        // The other end may have finished before this one.
        assert!(why == Loss::Left, "rank {rank} is lost: {why:?}");
    }
}

/// One end of everything that is measured.
struct End {
    bare: UdpSocket,
    tcp: TcpStream,
    sealed: Endpoint,
    open: Endpoint,
    peer: usize,
}

impl End {
    /// Ports from `port` on: bare, tcp, sealed, open.
    fn new(here: IpAddr, there: IpAddr, first: bool, port: u16) -> End {
        let (mine, theirs) = if first { (port, port + 10) } else { (port + 10, port) };
        let bare = UdpSocket::bind((here, mine)).expect("bind");
        bare.set_nonblocking(true).expect("nonblocking");
        bare.connect((there, theirs)).expect("connect");
        let endpoint = |offset: u16, secret| {
            let mut config = Config::new(SocketAddr::new(here, mine + offset), SECRET);
            config.secret = secret;
            config.silence = Duration::from_secs(60);
            let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
            config.frame_max = number("FRAME").unwrap_or(config.frame_max);
            config.window_max = number("WINDOW").unwrap_or(config.window_max);
            config.trains = number("TRAINS") != Some(0);
            let bound = Bound::new(config).expect("bind");
            let (me, peer) = (usize::from(!first), usize::from(first));
            let mut addresses = vec![None; 2];
            addresses[me] = Some(SocketAddr::new(here, mine + offset));
            addresses[peer] = Some(SocketAddr::new(there, theirs + offset));
            bound.start(me, addresses).expect("start")
        };
        let (sealed, open) = (endpoint(2, Some(SECRET)), endpoint(3, None));
        let tcp = if first {
            TcpListener::bind((here, port + 1)).expect("listen").accept().expect("accept").0
        } else {
            let start = Instant::now();
            loop {
                match TcpStream::connect((there, port + 1)) {
                    Ok(tcp) => break tcp,
                    Err(error) if start.elapsed() > Duration::from_secs(10) => panic!("{error}"),
                    Err(_) => std::thread::sleep(Duration::from_millis(20)),
                }
            }
        };
        tcp.set_nodelay(true).expect("nodelay");
        End { bare, tcp, sealed, open, peer: usize::from(first) }
    }

    fn send_bare(&self) {
        self.bare.send(&PAYLOAD).expect("send");
    }

    fn receive_bare(&self) {
        let mut buffer = [0; 64];
        let mut looks = 0;
        while self.bare.recv(&mut buffer).is_err() {
            wait(&mut looks);
        }
    }

    fn post(&self, endpoint: &Endpoint, body: &[u8], token: Option<Token>, count: &mut Count) -> Posted {
        loop {
            // SAFETY: bodies are static, or live until their tokens are completed.
            match unsafe { endpoint.post(self.peer, &Packet::default(), Body::of(body), token) }.expect("post") {
                Posted::Busy => drop(endpoint.poll(count)),
                posted => return posted,
            }
        }
    }

    fn await_messages(&self, endpoint: &Endpoint, count: &mut Count, messages: usize) {
        let mut looks = 0;
        while count.messages < messages {
            if endpoint.poll(count) {
                looks = 0;
            } else {
                wait(&mut looks);
            }
        }
    }

    /// Half a round trip of bare datagrams in microseconds; `first` begins.
    fn ping_bare(&self, first: bool) -> f64 {
        half_round_trip(first, || self.send_bare(), || self.receive_bare())
    }

    fn ping(&self, endpoint: &Endpoint, first: bool) -> f64 {
        let count = std::cell::RefCell::new(Count::default());
        half_round_trip(
            first,
            || assert!(self.post(endpoint, &PAYLOAD, None, &mut count.borrow_mut()) == Posted::Done),
            || {
                let mut count = count.borrow_mut();
                let next = count.messages + 1;
                self.await_messages(endpoint, &mut count, next);
            },
        )
    }

    /// GB/s of transfers of 1 MB.
    fn stream(&self, endpoint: &Endpoint, first: bool, data: &[u8]) -> f64 {
        let mut count = Count::default();
        let pieces = data.len().div_ceil(endpoint.capabilities().payload_max);
        let start = Instant::now();
        for round in 1..=LONGS {
            if first {
                for piece in data.chunks(endpoint.capabilities().payload_max) {
                    self.post(endpoint, piece, Some(Token(1)), &mut count);
                    endpoint.poll(&mut count);
                }
                self.await_messages(endpoint, &mut count, round);
            } else {
                self.await_messages(endpoint, &mut count, round * pieces);
                self.post(endpoint, &[], None, &mut count);
            }
        }
        let rate = rate(start);
        // The other end repeats its last word until it is acknowledged, and nobody looks after this.
        let end = Instant::now();
        while end.elapsed() < Duration::from_millis(1) {
            endpoint.poll(&mut count);
        }
        rate
    }

    fn stream_tcp(&self, first: bool, data: &mut [u8]) -> f64 {
        let start = Instant::now();
        let mut tcp = &self.tcp;
        for _ in 0..LONGS {
            if first {
                tcp.write_all(data).expect("write");
                tcp.read_exact(&mut [0]).expect("read");
            } else {
                tcp.read_exact(data).expect("read");
                tcp.write_all(&[1]).expect("write");
            }
        }
        rate(start)
    }

    /// Everything, in turns; the first end tells.
    fn run(self, first: bool) {
        let mut data = vec![5; LONG_BYTES];
        let mut figures: [Vec<f64>; 6] = Default::default();
        for _ in 0..ROUNDS {
            figures[0].push(self.ping_bare(first));
            figures[1].push(self.ping(&self.sealed, first));
            figures[2].push(self.ping(&self.open, first));
            figures[3].push(self.stream_tcp(first, &mut data));
            figures[4].push(self.stream(&self.sealed, first, &data));
            figures[5].push(self.stream(&self.open, first, &data));
        }
        if first {
            let [bare, sealed, open] = [0, 1, 2].map(|figure| best(&figures[figure], f64::min));
            let [tcp, sealed_rate, open_rate] = [3, 4, 5].map(|figure| best(&figures[figure], f64::max));
            println!(
                "8 bytes one way    bare udp {bare:.2} us  sealed {sealed:.2} us ({:.2} x)  not sealed {open:.2} us ({:.2} x)",
                sealed / bare,
                open / bare
            );
            println!(
                "1 MB               bare tcp {tcp:.2} GB/s  sealed {sealed_rate:.2} GB/s ({:.2} x)  not sealed {open_rate:.2} GB/s ({:.2} x)",
                sealed_rate / tcp,
                open_rate / tcp
            );
            println!("{:?}", self.sealed.counters());
        }
    }
}

/// Both ends in this thread, by the time that it has a core: what others do to the machine does not count.
fn run_alone(here: IpAddr, port: u16) {
    let ends = std::thread::scope(|scope| {
        let other = scope.spawn(move || End::new(here, here, false, port));
        [End::new(here, here, true, port), other.join().expect("the other end")]
    });
    let mut data = vec![5; LONG_BYTES];
    let mut figures: [Vec<f64>; 6] = Default::default();
    for _ in 0..ROUNDS {
        figures[0].push(alone(|| {
            for end in [&ends[0], &ends[1]].into_iter().cycle().take(2 * PINGS) {
                end.send_bare();
                ends[1 - usize::from(end.peer == 0)].receive_bare();
            }
        }));
        for (figure, is_sealed) in [(1, true), (2, false)] {
            let endpoint = |end: usize| if is_sealed { &ends[end].sealed } else { &ends[end].open };
            let mut counts = [Count::default(), Count::default()];
            figures[figure].push(alone(|| {
                for from in [0, 1].into_iter().cycle().take(2 * PINGS) {
                    ends[from].post(endpoint(from), &PAYLOAD, None, &mut counts[from]);
                    let next = counts[1 - from].messages + 1;
                    ends[1 - from].await_messages(endpoint(1 - from), &mut counts[1 - from], next);
                }
            }));
            let payload_max = endpoint(0).capabilities().payload_max;
            figures[figure + 3].push(alone(|| {
                for _ in 0..LONGS {
                    for piece in data.chunks(payload_max) {
                        ends[0].post(endpoint(0), piece, Some(Token(1)), &mut counts[0]);
                        let next = counts[1].messages + 1;
                        ends[1].await_messages(endpoint(1), &mut counts[1], next);
                        endpoint(0).poll(&mut counts[0]);
                    }
                }
            }));
        }
        figures[3].push(alone(|| {
            for _ in 0..LONGS {
                for piece in data.chunks_mut(56 << 10) {
                    (&ends[0].tcp).write_all(piece).expect("write");
                    (&ends[1].tcp).read_exact(piece).expect("read");
                }
            }
        }));
    }
    let [bare, sealed, open, tcp, sealed_long, open_long] = figures.map(|figure| best(&figure, f64::min));
    let micro = |nanoseconds: f64| nanoseconds / 1e3 / (2 * PINGS) as f64;
    let each = |nanoseconds: f64| nanoseconds / (LONGS * LONG_BYTES) as f64;
    println!(
        "8 bytes one way, time of a core    bare udp {:.2} us  sealed {:.2} us ({:.2} x)  not sealed {:.2} us ({:.2} x)",
        micro(bare),
        micro(sealed),
        sealed / bare,
        micro(open),
        open / bare
    );
    println!(
        "1 MB, time of both cores per byte  bare tcp {:.2} ns  sealed {:.2} ns ({:.2} x)  not sealed {:.2} ns ({:.2} x)",
        each(tcp),
        each(sealed_long),
        sealed_long / tcp,
        each(open_long),
        open_long / tcp
    );
}

/// Nanoseconds that this thread has a core for `act`.
fn alone(act: impl FnOnce()) -> f64 {
    let clock = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let nanoseconds = |time: rustix::time::Timespec| time.tv_sec as f64 * 1e9 + time.tv_nsec as f64;
    let start = clock();
    act();
    nanoseconds(clock()) - nanoseconds(start)
}

fn half_round_trip(first: bool, send: impl Fn(), receive: impl Fn()) -> f64 {
    let start = Instant::now();
    for _ in 0..PINGS {
        if first {
            send();
            receive();
        } else {
            receive();
            send();
        }
    }
    start.elapsed().as_secs_f64() * 1e6 / (2 * PINGS) as f64
}

/// Others need the cores too.
fn wait(looks: &mut u32) {
    *looks += 1;
    if looks.is_multiple_of(LOOKS_MAX) {
        std::thread::yield_now();
    }
}

fn rate(start: Instant) -> f64 {
    (LONGS * LONG_BYTES) as f64 / start.elapsed().as_secs_f64() / 1e9
}

fn best(values: &[f64], better: impl Fn(f64, f64) -> f64) -> f64 {
    values.iter().copied().reduce(better).unwrap_or_default()
}

fn free_port() -> u16 {
    20_000 + (std::process::id() % 10_000) as u16
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ip = |text: &str| text.parse().expect("an address");
    match words[..] {
        ["serve", here, there, port] => End::new(ip(here), ip(there), false, port.parse().expect("a port")).run(false),
        ["to", here, there, port] => End::new(ip(here), ip(there), true, port.parse().expect("a port")).run(true),
        ["alone", here] => run_alone(ip(here), free_port()),
        _ => {
            let here = ip(words.first().unwrap_or(&"127.0.0.1"));
            let port = free_port();
            std::thread::scope(|scope| {
                scope.spawn(move || End::new(here, here, false, port).run(false));
                End::new(here, here, true, port).run(true);
            });
        }
    }
}
