//! Two ranks on two hosts.

use super::bare::{Bare, exchange};
use super::sleeper::Sleeper;
use super::{Round, limit};
use crate::bench::plan::{Figures, Kind, median};
use hikyaku::message::Messages;
use hikyaku::spi::{Loss, Packet, Posted, Sink, Token, Transport, udp};
use hikyaku::{By, Error, Job, Result, Symmetric, Until};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Each test is run once in each, so that a slow moment of the machine hits all alike. They are many and short: where others
/// use the machine too, some are left undisturbed.
const REPETITIONS: usize = 15;
const ROUND_TRIPS: u64 = 1_000;
/// Round trips of long messages.
const LONG_ROUND_TRIPS: u64 = 12;
const LONG: usize = 1 << 20;
/// Pushes to a rank that computes, and how far apart.
const LANDINGS: usize = 12;
const PAUSE: Duration = Duration::from_millis(3);
/// The word in which a rank hears that the other one's packets were delivered.
const SETTLED: usize = 8;
/// How long a rank waits for nothing.
const IDLE: Duration = Duration::from_secs(1);

/// Measures everything between two ranks on two hosts. Rank 0 gives the figures.
pub fn measure(job: &Job) -> Result<Figures> {
    let mut figures = Figures::default();
    if job.size() != 2 {
        return Err(Error::Invalid("two ranks on two hosts, please".into()));
    }
    let mut pair = Pair::new(job)?;
    for repetition in 0..=REPETITIONS {
        let mut round = Round { figures: &mut figures, ranks: 2, counts: repetition > 0 };
        round.note(Kind::HostsLimitUdp, 8, pair.bare.datagrams(job, ROUND_TRIPS)?);
        round.note(Kind::HostsPush, 8, pair.push()?);
        round.note(Kind::HostsPacket, 8, pair.packet()?);
        round.note(Kind::HostsSend, 8, pair.send(1, ROUND_TRIPS)?.as_nanos() as f64 / (2 * ROUND_TRIPS) as f64);
        round.note(Kind::HostsLimitTcp, LONG, pair.bare.stream(job, LONG, LONG_ROUND_TRIPS)?);
        round.note(Kind::HostsLimitTrains, LONG, pair.bare.trains(job, &pair.words, LONG, LONG_ROUND_TRIPS)?);
        let time = pair.send(LONG / 8, LONG_ROUND_TRIPS)?.as_secs_f64();
        round.note(Kind::HostsBandwidth, LONG, (2 * LONG as u64 * LONG_ROUND_TRIPS) as f64 / time / 1e9);
        let bare = pair.sleeper.ask(job, &pair.words, LANDINGS, PAUSE)?;
        let ours = pair.landing()?;
        for (times, usual, most) in [
            (bare, Kind::HostsLimitLanding, Kind::HostsLimitLandingMost),
            (ours, Kind::HostsLanding, Kind::HostsLandingMost),
        ] {
            round.note(usual, 8, median(&times));
            round.note(most, 8, times.iter().copied().fold(0.0, f64::max));
        }
    }
    let mut round = Round { figures: &mut figures, ranks: 2, counts: true };
    round.note(Kind::HostsIdle, 0, pair.idle()?);
    Ok(figures)
}

/// What the tests use.
struct Pair<'a> {
    job: &'a Job,
    words: Symmetric<u64>,
    messages: Messages<'a>,
    /// To send from and to receive into.
    private: [Vec<u64>; 2],
    bare: Bare,
    sleeper: Sleeper,
    /// The transport alone, beside that of the job.
    transport: udp::Endpoint,
    /// Packets it has carried each way.
    carried: u64,
}

impl<'a> Pair<'a> {
    fn new(job: &'a Job) -> Result<Pair<'a>> {
        let words = job.symmetric(64)?;
        let messages = job.messages(4)?;
        let bare = Bare::new(job, &words)?;
        let sleeper = Sleeper::new(job, &words)?;
        let bound = udp::Bound::new(udp::Config::new(
            SocketAddr::new(hikyaku::spi::address_of_this_host()?, 0),
            [5; udp::SECRET_BYTES],
        ))?;
        let peer = exchange(job, &words, bound.address()?)?;
        let mut addresses = vec![None, None];
        addresses[1 - job.rank()] = Some(peer);
        let transport = bound.start(job.rank(), addresses)?;
        let private = [limit::large_vector(LONG / 8), limit::large_vector(LONG / 8)];
        Ok(Pair { job, words, messages, private, bare, sleeper, transport, carried: 0 })
    }

    fn peer(&self) -> usize {
        1 - self.job.rank()
    }

    /// Ping-pong of a word of data and a flag: half of the round trip, ns.
    fn push(&self) -> Result<f64> {
        let (job, area, peer) = (self.job, &self.words, self.peer());
        area.set(1, 0);
        job.barrier()?;
        let begin = Instant::now();
        for round in 1..=ROUND_TRIPS {
            for turn in 0..2 {
                if turn == job.rank() {
                    job.push_notify(area.at(peer, 0), &[round * 3], area.at(peer, 1), round)?;
                } else {
                    job.wait_from(By::Rank(peer), area.here(1), Until::Equal(round))?;
                    assert_eq!(area.get(0), round * 3, "data after its flag");
                }
            }
        }
        let time = begin.elapsed();
        job.barrier()?;
        Ok(time.as_nanos() as f64 / (2 * ROUND_TRIPS) as f64)
    }

    /// Ping-pong of a packet of the transport with a body of 8 bytes: half of the round trip, ns.
    fn packet(&mut self) -> Result<f64> {
        let (job, peer) = (self.job, self.peer());
        job.barrier()?;
        let begin = Instant::now();
        for _ in 0..ROUND_TRIPS {
            let number = self.carried + 1;
            for turn in 0..2 {
                if turn == job.rank() {
                    let packet = Packet { address: number, ..Packet::default() };
                    let body = number.to_le_bytes();
                    let posted = self.transport.post_copy(peer, &packet, &body)?;
                    assert_eq!(posted, Posted::Done, "there is room for one");
                } else {
                    let mut last = Last(self.carried, None);
                    while last.0 < number {
                        self.transport.poll(&mut last);
                        if let Some(why) = &last.1 {
                            return Err(why.error(peer));
                        }
                    }
                }
            }
            self.carried = number;
        }
        let time = begin.elapsed();
        self.settle()?;
        Ok(time.as_nanos() as f64 / (2 * ROUND_TRIPS) as f64)
    }

    /// Polls the transport until both ranks know that all was delivered: nobody else does so, and the last packet is acknowledged
    /// later.
    fn settle(&self) -> Result<()> {
        let (job, area, number) = (self.job, &self.words, self.carried);
        let mut told = false;
        while !told || area.get(SETTLED) != number {
            self.transport.poll(&mut Last(0, None));
            if !told && self.transport.drained() {
                job.word(area.at(self.peer(), SETTLED), number)?;
                told = true;
            }
            job.progress();
        }
        job.barrier()
    }

    /// The time of so many round trips of a message from and to private memory.
    fn send(&mut self, words: usize, round_trips: u64) -> Result<Duration> {
        let (job, peer) = (self.job, self.peer());
        let [out, into] = self.private.each_mut().map(|private| &mut private[..words]);
        job.barrier()?;
        let begin = Instant::now();
        for round in 1..=round_trips {
            out[0] = round;
            if job.rank() == 0 {
                self.messages.send(out, peer, 0)?;
                self.messages.recv(into, peer, 0)?;
            } else {
                self.messages.recv(into, peer, 0)?;
                self.messages.send(out, peer, 0)?;
            }
            assert_eq!(into[0], round, "messages in order");
        }
        let time = begin.elapsed();
        super::check_whole(into, "received");
        job.barrier()?;
        Ok(time)
    }

    /// Pushes to rank 1, which calls nothing of the library until it sees them: from each push to the answer, us.
    fn landing(&self) -> Result<Vec<f64>> {
        let (job, area, peer) = (self.job, &self.words, self.peer());
        area.set(1, 0);
        job.barrier()?;
        let mut times = Vec::new();
        for round in 1..=LANDINGS as u64 {
            if job.rank() == 0 {
                std::thread::sleep(PAUSE);
                let begin = Instant::now();
                job.push_notify(area.at(peer, 0), &[round * 3], area.at(peer, 1), round)?;
                job.wait_from(By::Rank(peer), area.here(1), Until::Equal(round))?;
                times.push(begin.elapsed().as_nanos() as f64 / 1e3);
            } else {
                while area.get(1) != round {
                    std::hint::spin_loop();
                }
                assert_eq!(area.get(0), round * 3, "data after its flag");
                job.word(area.at(peer, 1), round)?;
            }
        }
        job.barrier()?;
        Ok(times)
    }

    /// What rank 0 takes of its core while it waits, %.
    fn idle(&self) -> Result<f64> {
        let (job, area, peer) = (self.job, &self.words, self.peer());
        area.set(1, 0);
        job.barrier()?;
        if job.rank() == 1 {
            std::thread::sleep(IDLE);
            job.word(area.at(peer, 1), 1)?;
            job.barrier()?;
            return Ok(0.0);
        }
        let (begin, before) = (Instant::now(), processor_time());
        job.wait_from(By::Rank(peer), area.here(1), Until::Equal(1))?;
        let share = (processor_time() - before).as_secs_f64() / begin.elapsed().as_secs_f64();
        job.barrier()?;
        Ok(share * 100.0)
    }
}

/// What all threads of this process have taken.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The number of the last packet, and why there are no more.
struct Last(u64, Option<Loss>);

impl Sink for Last {
    fn message(&mut self, _: usize, packet: &Packet, payload: &[u8]) {
        assert_eq!(packet.address.to_le_bytes(), payload, "a packet was damaged");
        self.0 = packet.address;
    }
    fn completed(&mut self, _: Token) {}
    fn lost(&mut self, _: usize, why: Loss) {
        self.1 = Some(why);
    }
}
