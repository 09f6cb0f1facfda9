//! A bare program whose target computes: a thread of it sleeps on a socket, and tells the thread that computes of what came. So long
//! it takes the system to give such a thread a core; ours is one, too.

use super::bare::{exchange, failed};
use hikyaku::{Job, Result, Symmetric};
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long an answer is waited for before one asks again: bare datagrams may be lost.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long the thread sleeps at most before it sees that it is no longer needed.
const NAP: Duration = Duration::from_millis(20);
/// The word in which rank 1 hears that all was answered.
const DONE: usize = 10;

/// A socket to the other rank, on which a thread can sleep.
pub struct Sleeper {
    socket: UdpSocket,
    /// Questions so far.
    asked: u64,
}

impl Sleeper {
    /// Both ranks call this.
    pub fn new(job: &Job, words: &Symmetric<u64>) -> Result<Sleeper> {
        let socket = UdpSocket::bind((hikyaku::spi::address_of_this_host()?, 0)).map_err(failed)?;
        socket.connect(exchange(job, words, socket.local_addr().map_err(failed)?)?).map_err(failed)?;
        Ok(Sleeper { socket, asked: 0 })
    }

    /// Rank 0 asks so many times, with a pause before each, and gives how long the answers took, us.
    pub fn ask(&mut self, job: &Job, words: &Symmetric<u64>, count: usize, pause: Duration) -> Result<Vec<f64>> {
        let last = self.asked + count as u64;
        let mut times = Vec::new();
        job.barrier()?;
        if job.rank() == 0 {
            // It is polled, as ours is.
            self.socket.set_nonblocking(true).map_err(failed)?;
            for number in self.asked + 1..=last {
                std::thread::sleep(pause);
                times.push(self.question(number)?.as_nanos() as f64 / 1e3);
            }
            job.word(words.at(1, DONE), last)?;
        } else {
            self.answer(|| words.get(DONE) == last)?;
        }
        self.asked = last;
        job.barrier()?;
        Ok(times)
    }

    fn question(&self, number: u64) -> Result<Duration> {
        let (begin, mut asked_at, mut bytes) = (Instant::now(), Instant::now(), [0; 8]);
        self.socket.send(&number.to_le_bytes()).map_err(failed)?;
        for turn in 1u32.. {
            if self.socket.recv(&mut bytes).is_ok() && u64::from_le_bytes(bytes) == number {
                break;
            }
            if turn % 1024 == 0 && asked_at.elapsed() > PATIENCE {
                asked_at = Instant::now();
                self.socket.send(&number.to_le_bytes()).map_err(failed)?;
            }
        }
        Ok(begin.elapsed())
    }

    /// Answers, while this thread does nothing but look at a word that another thread writes.
    fn answer(&self, is_done: impl Fn() -> bool) -> Result<()> {
        let (heard, ends) = (AtomicU64::new(0), AtomicBool::new(false));
        self.socket.set_read_timeout(Some(NAP)).map_err(failed)?;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut bytes = [0; 8];
                while !ends.load(Ordering::Relaxed) {
                    if self.socket.recv(&mut bytes).is_ok() {
                        heard.store(u64::from_le_bytes(bytes), Ordering::Release);
                    }
                }
            });
            let mut result = Ok(());
            while !is_done() && result.is_ok() {
                std::hint::spin_loop();
                let number = heard.load(Ordering::Acquire);
                if number != 0 {
                    heard.store(0, Ordering::Relaxed);
                    result = self.socket.send(&number.to_le_bytes()).map(drop).map_err(failed);
                }
            }
            ends.store(true, Ordering::Relaxed);
            result
        })
    }
}
