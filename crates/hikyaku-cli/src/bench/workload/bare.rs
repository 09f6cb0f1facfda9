//! Bare sockets between two ranks: what the network and the kernel allow without a library. They are polled, as ours are.

use super::trains::Trains;
use hikyaku::{By, Error, Job, Result, Symmetric, Until};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// How long a datagram is waited for: bare ones may be lost.
const PATIENCE: Duration = Duration::from_millis(100);

/// Bytes of the frame of a push of 8 bytes with a word: two heads, the data and the word.
pub const FRAME: usize = 136;

/// Sockets to the other rank.
pub struct Bare {
    datagrams: UdpSocket,
    /// As the transport has them: one that takes what comes from anybody, one that sends to the peer alone.
    inbox: UdpSocket,
    outbox: UdpSocket,
    trains: Trains,
    stream: TcpStream,
}

impl Bare {
    /// Both ranks call this.
    pub fn new(job: &Job, words: &Symmetric<u64>) -> Result<Bare> {
        let here = hikyaku::spi::address_of_this_host()?;
        let datagrams = UdpSocket::bind((here, 0)).map_err(failed)?;
        let listener = TcpListener::bind((here, 0)).map_err(failed)?;
        let peer = exchange(job, words, datagrams.local_addr().map_err(failed)?)?;
        datagrams.connect(peer).map_err(failed)?;
        datagrams.set_nonblocking(true).map_err(failed)?;
        let inbox = UdpSocket::bind((here, 0)).map_err(failed)?;
        inbox.set_nonblocking(true).map_err(failed)?;
        let peer = exchange(job, words, inbox.local_addr().map_err(failed)?)?;
        let outbox = UdpSocket::bind((here, 0)).map_err(failed)?;
        outbox.connect(peer).map_err(failed)?;
        let trains = Trains::new(job, words, here)?;
        let peer = exchange(job, words, listener.local_addr().map_err(failed)?)?;
        let stream = match job.rank() {
            0 => TcpStream::connect(peer),
            _ => listener.accept().map(|(stream, _)| stream),
        };
        let stream = stream.map_err(failed)?;
        stream.set_nodelay(true).and_then(|()| stream.set_nonblocking(true)).map_err(failed)?;
        Ok(Bare { datagrams, inbox, outbox, trains, stream })
    }

    /// Ping-pong of 8 bytes: half of the round trip, ns.
    pub fn datagrams(&self, job: &Job, round_trips: u64) -> Result<f64> {
        ping_pong::<8>(job, &self.datagrams, &self.datagrams, round_trips)
    }

    /// Ping-pong of datagrams as long as the frame of a short push, by the calls that the transport makes: half of the round trip, ns.
    pub fn frames(&self, job: &Job, round_trips: u64) -> Result<f64> {
        ping_pong::<FRAME>(job, &self.outbox, &self.inbox, round_trips)
    }

    /// Ping-pong of so many bytes by trains of datagrams: the bytes by half of the round trip, GB/s.
    pub fn trains(&mut self, job: &Job, words: &Symmetric<u64>, bytes: usize, round_trips: u64) -> Result<f64> {
        self.trains.ping_pong(job, words, bytes, round_trips)
    }

    /// Ping-pong of so many bytes: the bytes by half of the round trip, GB/s.
    pub fn stream(&mut self, job: &Job, bytes: usize, round_trips: u64) -> Result<f64> {
        let (out, mut into) = (vec![7; bytes], vec![0; bytes]);
        job.barrier()?;
        let begin = Instant::now();
        for _ in 0..round_trips {
            if job.rank() == 0 {
                self.write(&out)?;
                self.read(&mut into)?;
            } else {
                self.read(&mut into)?;
                self.write(&out)?;
            }
        }
        let time = begin.elapsed();
        assert!(into == out, "what came by the stream");
        job.barrier()?;
        Ok((2 * round_trips as usize * bytes) as f64 / time.as_secs_f64() / 1e9)
    }

    fn write(&mut self, mut rest: &[u8]) -> Result<()> {
        while !rest.is_empty() {
            rest = &rest[again(self.stream.write(rest))?..];
        }
        Ok(())
    }

    fn read(&mut self, into: &mut [u8]) -> Result<()> {
        let mut done = 0;
        while done < into.len() {
            done += again(self.stream.read(&mut into[done..]))?;
        }
        Ok(())
    }
}

/// Ping-pong of datagrams of so many bytes that begin with the number of their round.
fn ping_pong<const BYTES: usize>(job: &Job, out: &UdpSocket, into: &UdpSocket, round_trips: u64) -> Result<f64> {
    job.barrier()?;
    let begin = Instant::now();
    for round in 1..=round_trips {
        if job.rank() == 0 {
            send::<BYTES>(out, round)?;
            await_datagram::<BYTES>(out, into, job.rank(), round)?;
        } else {
            await_datagram::<BYTES>(out, into, job.rank(), round)?;
            send::<BYTES>(out, round)?;
        }
    }
    let time = begin.elapsed();
    job.barrier()?;
    Ok(time.as_nanos() as f64 / (2 * round_trips) as f64)
}

fn send<const BYTES: usize>(out: &UdpSocket, round: u64) -> Result<()> {
    let mut bytes = [0; BYTES];
    bytes[..8].copy_from_slice(&round.to_le_bytes());
    out.send(&bytes).map(drop).map_err(failed)
}

/// Waits for the datagram of a round. Where none comes, the last one of this rank is sent again.
fn await_datagram<const BYTES: usize>(out: &UdpSocket, into: &UdpSocket, rank: usize, round: u64) -> Result<()> {
    let (mut begin, mut bytes) = (Instant::now(), [0; BYTES]);
    for turn in 1u32.. {
        match into.recv(&mut bytes) {
            Ok(count) if count == BYTES && bytes[..8] == round.to_le_bytes() => break,
            Ok(_) => (),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => (),
            Err(error) => return Err(failed(error)),
        }
        // The clock costs as much as a look.
        if turn % 1024 == 0 && begin.elapsed() > PATIENCE {
            begin = Instant::now();
            send::<BYTES>(out, if rank == 0 { round } else { round - 1 })?;
        }
    }
    Ok(())
}

/// Nothing was done where there was nothing to do.
fn again(result: std::io::Result<usize>) -> Result<usize> {
    match result {
        Ok(0) => Err(failed(ErrorKind::UnexpectedEof.into())),
        Ok(bytes) => Ok(bytes),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(0),
        Err(error) => Err(failed(error)),
    }
}

/// Tells the other rank an address, and hears its.
pub fn exchange(job: &Job, words: &Symmetric<u64>, mine: SocketAddr) -> Result<SocketAddr> {
    let peer = 1 - job.rank();
    let ip = match mine.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    let bits = ip.to_bits();
    job.barrier()?;
    words.set(3, 0);
    job.barrier()?;
    let told = [(bits >> 64) as u64, bits as u64, mine.port().into()];
    job.push_notify(words.at(peer, 0), &told, words.at(peer, 3), 1)?;
    job.wait_from(By::Rank(peer), words.here(3), Until::Equal(1))?;
    let ip = Ipv6Addr::from_bits(u128::from(words.get(0)) << 64 | u128::from(words.get(1)));
    Ok(SocketAddr::new(ip.to_canonical(), words.get(2) as u16))
}

pub fn failed(error: std::io::Error) -> Error {
    Error::Invalid(format!("bare sockets between the hosts: {error}"))
}
