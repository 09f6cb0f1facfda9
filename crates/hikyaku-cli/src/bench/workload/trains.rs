//! Bare datagrams that carry much: frames as long as ours, cut and joined by the kernel as ours are, straight from one buffer into the
//! other. There are no heads, no numbers and no acknowledgements: the answer is what tells that all has come.

use super::bare::{exchange, failed};
use crate::bench::limit::use_trains;
use hikyaku::{Job, Result, Symmetric};
use std::io::ErrorKind;
use std::net::{IpAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Bytes of a train at most: a datagram's, as the kernel counts it.
const TRAIN_BYTES_MAX: usize = 65_000;
/// Frames of a train at most.
const TRAIN_FRAMES_MAX: usize = 64;
/// What the kernel is asked to keep: some messages.
const BUFFER_BYTES: usize = 8 << 20;
/// How long one waits before one asks for everything again: bare datagrams may be lost.
const PATIENCE: Duration = Duration::from_millis(100);
/// The word in which rank 1 hears that its last message has come.
const DONE: usize = 9;
/// The heads of IP and UDP.
const HEADS_BYTES: u32 = 28;
/// Bytes of a frame that passes everywhere, where the kernel does not say more.
const FRAME_BYTES_SAFE: usize = 1232;

/// A socket to the other rank.
pub struct Trains {
    socket: UdpSocket,
    train_bytes: usize,
    /// Messages so far, of both ranks; a datagram that asks for one again names it.
    turn: u64,
}

impl Trains {
    /// Both ranks call this.
    pub fn new(job: &Job, words: &Symmetric<u64>, here: IpAddr) -> Result<Trains> {
        let socket = UdpSocket::bind((here, 0)).map_err(failed)?;
        socket.connect(exchange(job, words, socket.local_addr().map_err(failed)?)?).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        // Where more is not allowed, less will do.
        let _ = rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, BUFFER_BYTES);
        let _ = rustix::net::sockopt::set_socket_send_buffer_size(&socket, BUFFER_BYTES);
        let path = if here.is_ipv4() { rustix::net::sockopt::ip_mtu(&socket).ok() } else { None };
        let frame_bytes = path.map_or(FRAME_BYTES_SAFE, |mtu| mtu.saturating_sub(HEADS_BYTES) as usize);
        let frame_bytes = frame_bytes.clamp(FRAME_BYTES_SAFE, TRAIN_BYTES_MAX);
        let frames = if use_trains(&socket, frame_bytes) { TRAIN_BYTES_MAX / frame_bytes } else { 1 };
        Ok(Trains { socket, train_bytes: frame_bytes * frames.clamp(1, TRAIN_FRAMES_MAX), turn: 0 })
    }

    /// Ping-pong of so many bytes: the bytes by half of the round trip, GB/s.
    pub fn ping_pong(&mut self, job: &Job, words: &Symmetric<u64>, bytes: usize, round_trips: u64) -> Result<f64> {
        let (out, mut into) = (vec![7; bytes], vec![0; bytes]);
        job.barrier()?;
        let begin = Instant::now();
        for _ in 0..round_trips {
            for rank in 0..2 {
                self.turn += 1;
                if rank == job.rank() { self.send(&out)? } else { self.receive(&mut into, &out)? }
            }
        }
        let time = begin.elapsed();
        assert!(into == out, "what came by datagrams");
        // The last message may be asked for again.
        if job.rank() == 0 {
            job.word(words.at(1, DONE), self.turn)?;
        }
        while job.rank() == 1 && words.get(DONE) != self.turn {
            self.take(&mut [0; 8], &out)?;
            job.progress();
        }
        job.barrier()?;
        Ok((2 * round_trips as usize * bytes) as f64 / time.as_secs_f64() / 1e9)
    }

    fn send(&self, bytes: &[u8]) -> Result<()> {
        for train in bytes.chunks(self.train_bytes) {
            while !again(self.socket.send(train))? {}
        }
        Ok(())
    }

    /// Receives the message of this turn. The one before, which the other rank has asked for again, was `mine`.
    fn receive(&self, into: &mut [u8], mine: &[u8]) -> Result<()> {
        let (mut begin, mut come) = (Instant::now(), 0);
        for look in 1u32.. {
            come += self.take(&mut into[come..], mine)?;
            if come == into.len() {
                break;
            }
            // The clock costs as much as a look.
            if look.is_multiple_of(1024) && begin.elapsed() > PATIENCE {
                (begin, come) = (Instant::now(), 0);
                again(self.socket.send(&self.turn.to_le_bytes()))?;
            }
        }
        Ok(())
    }

    /// Takes a datagram, or a train of them, and answers it if it asks for the last message of this rank again. How many bytes of
    /// this turn's message have come.
    fn take(&self, into: &mut [u8], mine: &[u8]) -> Result<usize> {
        let bytes = match self.socket.recv(into) {
            Ok(bytes) => bytes,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Ok(0),
            Err(error) => return Err(failed(error)),
        };
        if bytes != size_of::<u64>() {
            return Ok(bytes);
        }
        // It is at its turn's message, if it has not got that: mine, of this turn where I wait for nothing, else of the one before.
        let asked = into[..bytes].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        if asked == self.turn || asked + 1 == self.turn {
            self.send(mine)?;
        }
        Ok(0)
    }
}

/// Whether it was done; not where there was no room.
fn again(result: std::io::Result<usize>) -> Result<bool> {
    match result {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
        Err(error) => Err(failed(error)),
    }
}
