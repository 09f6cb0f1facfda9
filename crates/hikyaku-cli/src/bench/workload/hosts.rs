//! Two ranks on two hosts, beside bare sockets.

use super::Round;
use super::bare::{Bare, FRAME, exchange};
use super::hosts_parts::Parts;
use super::pair::{LANDINGS, LONG, LONG_ROUND_TRIPS, PAUSE, Pair, REPETITIONS, ROUND_TRIPS};
use super::sleeper::Sleeper;
use crate::bench::plan::{Figures, Kind, median};
use hikyaku::spi::{Loss, Packet, Posted, Sink, Token, Transport, udp};
use hikyaku::{Error, Job, Result};
use std::net::SocketAddr;
use std::time::Instant;

/// The word in which a rank hears that the other one's packets were delivered.
const SETTLED: usize = 8;

/// Measures everything between two ranks on two hosts. Rank 0 gives the figures.
pub fn measure(job: &Job) -> Result<Figures> {
    let mut figures = Figures::default();
    if job.size() != 2 {
        return Err(Error::Invalid("two ranks on two hosts, please".into()));
    }
    let mut pair = Sockets::new(job)?;
    for repetition in 0..=REPETITIONS {
        let mut round = Round { figures: &mut figures, ranks: 2, counts: repetition > 0 };
        round.note(Kind::HostsLimitUdp, 8, pair.bare.datagrams(job, ROUND_TRIPS)?);
        round.note(Kind::HostsCalls, FRAME, pair.bare.frames(job, ROUND_TRIPS)?);
        round.note(Kind::HostsPush, 8, pair.ours.push()?);
        round.note(Kind::HostsPacket, 8, pair.packet()?);
        round.note(Kind::HostsSend, 8, pair.ours.send_short()?);
        round.note(Kind::HostsLimitTcp, LONG, pair.bare.stream(job, LONG, LONG_ROUND_TRIPS)?);
        round.note(Kind::HostsLimitTrains, LONG, pair.bare.trains(job, &pair.ours.words, LONG, LONG_ROUND_TRIPS)?);
        round.note(Kind::HostsBandwidth, LONG, pair.ours.send_long()?);
        pair.parts.measure(job, &mut round)?;
        let bare = pair.sleeper.ask(job, &pair.ours.words, LANDINGS, PAUSE)?;
        let ours = pair.ours.landing()?;
        for (times, usual, most) in [
            (bare, Kind::HostsLimitLanding, Kind::HostsLimitLandingMost),
            (ours, Kind::HostsLanding, Kind::HostsLandingMost),
        ] {
            round.note(usual, 8, median(&times));
            round.note(most, 8, times.iter().copied().fold(0.0, f64::max));
        }
    }
    let mut round = Round { figures: &mut figures, ranks: 2, counts: true };
    round.note(Kind::HostsIdle, 0, pair.ours.idle()?);
    Ok(figures)
}

/// What the tests use.
struct Sockets<'a> {
    ours: Pair<'a>,
    parts: Parts,
    bare: Bare,
    sleeper: Sleeper,
    /// The transport alone, beside that of the job.
    transport: udp::Endpoint,
    /// Packets it has carried each way.
    carried: u64,
}

impl<'a> Sockets<'a> {
    fn new(job: &'a Job) -> Result<Sockets<'a>> {
        let ours = Pair::new(job)?;
        let words = &ours.words;
        let bare = Bare::new(job, words)?;
        let sleeper = Sleeper::new(job, words)?;
        let bound = udp::Bound::new(udp::Config::new(
            SocketAddr::new(hikyaku::spi::address_of_this_host()?, 0),
            [5; udp::SECRET_BYTES],
        ))?;
        let peer = exchange(job, words, bound.address()?)?;
        let mut addresses = vec![None, None];
        addresses[1 - job.rank()] = Some(peer);
        let transport = bound.start(job.rank(), addresses)?;
        Ok(Sockets { ours, parts: Parts::new(job)?, bare, sleeper, transport, carried: 0 })
    }

    /// Ping-pong of a packet of the transport with a body of 8 bytes: half of the round trip, ns.
    fn packet(&mut self) -> Result<f64> {
        let (job, peer) = (self.ours.job, self.ours.peer());
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
        let (job, area, number) = (self.ours.job, &self.ours.words, self.carried);
        let mut told = false;
        while !told || area.get(SETTLED) != number {
            self.transport.poll(&mut Last(0, None));
            if !told && self.transport.drained() {
                job.word(area.at(self.ours.peer(), SETTLED), number)?;
                told = true;
            }
            job.progress();
        }
        job.barrier()
    }
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
