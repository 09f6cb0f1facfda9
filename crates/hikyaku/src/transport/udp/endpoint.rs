//! The transport: one endpoint per rank.

use super::batch::Inbox;
use super::faults::{FaultRates, Faults};
use super::inbound::{Inbound, Joiner};
use super::line::{Heard, Myself};
use super::socket::Socket;
use super::state::{Event, State, picoseconds};
use super::wire::Wire;
use super::{Config, Counters};
use crate::error::{Error, Result};
use crate::transport::core::{Armed, Body, Capabilities, Posted, Sink, Token, Transport, lock_now};
use crate::transport::packet;
use crate::transport::reliable::Time;
use crate::transport::shm::ring::Packet;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often in a row a poll asks the kernel for more.
const ROUNDS_MAX: usize = 4;

/// A socket that waits to hear where the others are.
pub struct Bound {
    config: Config,
    socket: Socket,
    faults: Option<FaultRates>,
}

impl Bound {
    /// Opens the socket.
    ///
    /// # Errors
    /// When the address cannot be used, or the environment asks for faults that there are not.
    pub fn new(config: Config) -> Result<Bound> {
        let faults = match config.faults {
            Some(faults) => Some(faults),
            None => FaultRates::from_environment()?,
        };
        Ok(Bound { socket: Socket::bind(config.bind, config.trains)?, config, faults })
    }

    /// Where it listens: others need to know.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn address(&self) -> Result<SocketAddr> {
        self.socket.address()
    }

    /// With the job's secret, which may be known only now.
    pub fn with_secret(mut self, secret: [u8; super::SECRET_BYTES]) -> Bound {
        self.config.secret = Some(secret);
        self
    }

    /// The endpoint of this rank; `addresses` are those of all ranks, `None` where this transport is not used.
    ///
    /// # Errors
    /// When there is no randomness.
    pub fn start(self, rank: usize, addresses: Vec<Option<SocketAddr>>) -> Result<Endpoint> {
        let mut life = [0; super::LIFE_BYTES];
        rustix::rand::getrandom(&mut life, rustix::rand::GetRandomFlags::empty())
            .map_err(|errno| Error::system("getrandom", errno))?;
        let me = Myself { rank: rank as u32, life: u64::from_le_bytes(life), secret: self.config.secret };
        let socket = Arc::new(self.socket);
        let wire: Box<dyn Wire> = match self.faults {
            Some(rates) => Box::new(Faults::new(socket.clone(), rates, rank)),
            None => Box::new(socket.clone()),
        };
        let payload_max = self.config.payload_max;
        let inbound = Inbound { inbox: Inbox::new(), joiner: Joiner::new(payload_max) };
        Ok(Endpoint {
            capabilities: Capabilities { lent_min: self.config.lent_min, ..Capabilities::new(payload_max) },
            epoch: Instant::now(),
            state: Mutex::new(State::new(me, self.config, socket.clone(), wire, addresses)),
            inbound: Mutex::new(inbound),
            socket,
        })
    }
}

/// One rank's end of all its links.
pub struct Endpoint {
    capabilities: Capabilities,
    /// Where time begins.
    epoch: Instant,
    socket: Arc<Socket>,
    state: Mutex<State>,
    /// Held by whoever polls.
    inbound: Mutex<Inbound>,
}

impl Endpoint {
    fn now(&self) -> Time {
        picoseconds(self.epoch.elapsed())
    }

    /// A panic of a sink is no reason to stop: it is never called with this lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies a body that was posted with this token, so that its owner has it back; false if it is completed, or will be by the
    /// next poll. The token is not completed any more if this is true.
    pub fn recall(&self, to: usize, token: Token) -> bool {
        self.state().recall(to, token)
    }

    /// What has happened so far.
    pub fn counters(&self) -> Counters {
        self.state().counters()
    }

    /// Links that were made.
    #[cfg(test)]
    pub(super) fn link_count(&self) -> usize {
        self.state().link_count()
    }

    /// Takes a datagram and hands out what is complete with it.
    fn take(&self, now: Time, joiner: &mut Joiner, frame: &[u8], sink: &mut dyn Sink) -> bool {
        let (from, heard) = self.state().hear(now, frame);
        let Heard::Data { part, mut early } = heard else { return false };
        let mut result = joiner.take(from, part, &frame[super::head::HEAD_BYTES..], sink);
        while early || result.is_err() {
            let mut state = self.state();
            if result.is_err() {
                state.malformed();
            }
            let Some((data, part)) = state.next_early(from) else { break };
            drop(state);
            result = joiner.take(from, part, &data, sink);
            early = true;
            self.state().give_back(from, data);
        }
        true
    }

    /// Hands out what is completed and lost.
    fn hand_out(&self, joiner: &mut Joiner, sink: &mut dyn Sink) -> bool {
        let mut any = false;
        while let Some(event) = { self.state().events.pop_front() } {
            any = true;
            match event {
                Event::Completed(token) => sink.completed(token),
                Event::Lost(rank, why) => {
                    joiner.forget(rank);
                    sink.lost(rank as usize, why);
                }
            }
        }
        any
    }
}

impl Transport for Endpoint {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    unsafe fn post(&self, to: usize, packet: &Packet, body: Body, token: Option<Token>) -> Result<Posted> {
        if body.len() > self.capabilities.payload_max {
            return Err(Error::PayloadTooLong { bytes: body.len(), max: self.capabilities.payload_max });
        }
        let packet = packet::encode(packet, body.len() as u32);
        let now = self.now();
        let mut state = self.state();
        let line = state.line(now, to)?;
        if let Some(why) = &line.loss {
            return Err(why.error(to));
        }
        let posted = match token.filter(|_| body.len() >= self.capabilities.lent_min) {
            Some(token) => line.lend(packet, body, token),
            // SAFETY: the caller's promise.
            None => unsafe { line.copy(&packet, &body) },
        };
        let is_patient = line.is_patient();
        state.mark(to as u32);
        if !is_patient {
            state.flush(now);
        }
        Ok(posted)
    }

    fn poll(&self, sink: &mut dyn Sink) -> bool {
        let Some(mut inbound) = lock_now(&self.inbound) else { return false };
        let Inbound { inbox, joiner } = &mut *inbound;
        let (mut any, mut has_events) = (false, false);
        for _ in 0..ROUNDS_MAX {
            let (count, is_more) = self.socket.receive(inbox);
            let now = self.now();
            for index in 0..count {
                for frame in inbox.datagrams(index) {
                    any |= self.take(now, joiner, frame, sink);
                }
            }
            let mut state = self.state();
            if !is_more {
                // Only now is known who is silent.
                state.tick(now);
                state.pass();
            }
            state.flush(now);
            has_events = !state.events.is_empty();
            // Whoever waits for room may sleep.
            any |= std::mem::take(&mut state.has_room_again);
            if !is_more || count == 1 {
                break;
            }
        }
        has_events && self.hand_out(joiner, sink) || any
    }

    fn has_arrived(&self) -> bool {
        true
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.descriptor())
    }

    fn arm(&self) -> Armed {
        let (now, mut state) = (self.now(), self.state());
        state.flush(now);
        let has_event = !state.events.is_empty();
        match state.due {
            Some(due) if now < due && !has_event => {
                Armed::Until(Some(self.epoch + Duration::from_nanos(due / 1000 + 1)))
            }
            _ => Armed::Ready,
        }
    }

    fn watch(&self, rank: usize) {
        let (now, mut state) = (self.now(), self.state());
        let Ok(line) = state.line(now, rank) else { return };
        line.link.probe();
        state.mark(rank as u32);
        state.flush(now);
    }

    fn leave(&self) {
        self.state().farewell();
    }

    fn drained(&self) -> bool {
        self.state().is_settled()
    }
}
