//! The transport: one endpoint per rank.

use super::batch::Inbox;
use super::clock::Clock;
use super::faults::{FaultRates, Faults};
use super::head::{HEAD_BYTES, is_acknowledgement};
use super::inbound::{Inbound, Joiner};
use super::line::{Heard, Myself};
use super::state::{COMPANY_TIME, Event, State, Which};
use super::wire::{Source, Wire};
use super::{Config, Counters};
use crate::error::{Error, Result};
use crate::sync::brief::{Brief, lock};
use crate::transport::core::{Armed, Body, Capabilities, Posted, Sink, Token, Transport};
use crate::transport::packet::{self, PACKET_BYTES_MAX};
use crate::transport::reliable::Time;
use crate::transport::shm::ring::Packet;
use crate::transport::sleep_timer::SleepTimer;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Bytes of the longest datagram, somewhat less than there may be.
const FRAME_BYTES_MAX: usize = 65_000;
/// How often in a row a poll asks the kernel for more.
const ROUNDS_MAX: usize = 4;

/// Whoever posts so many bytes listens for acknowledgements, if much is under way: it costs a part of that.
const LISTEN_BYTES: usize = 16 << 10;

/// Looks that find nothing between two at the clock: it costs as much as a part of one.
const CLOCK_LOOKS: u32 = 8;

/// One rank's end of all its links.
pub struct Endpoint {
    capabilities: Capabilities,
    clock: Clock,
    /// When that began.
    epoch: Instant,
    source: Arc<dyn Source>,
    timer: Arc<SleepTimer>,
    state: Mutex<State>,
    /// Held by whoever polls. Nobody waits for it.
    inbound: Brief<Inbound>,
    /// Something that may wait was not sent. Written with the state's lock held.
    has_left: AtomicBool,
}

impl Endpoint {
    /// The endpoint of a rank of `size`, over what carries its frames.
    ///
    /// # Errors
    /// When there is no randomness, or the environment asks for faults that there are not.
    pub fn new(
        config: Config,
        rank: usize,
        size: usize,
        wire: Box<dyn Wire>,
        source: Arc<dyn Source>,
    ) -> Result<Endpoint> {
        // Frames hold at least their head and a packet, and find room in a batch.
        let frame_max = config.frame_max.clamp(HEAD_BYTES + PACKET_BYTES_MAX + 8, FRAME_BYTES_MAX);
        let config = Config { frame_max, ..config };
        let mut life = [0; super::LIFE_BYTES];
        rustix::rand::getrandom(&mut life, rustix::rand::GetRandomFlags::empty())
            .map_err(|errno| Error::system("getrandom", errno))?;
        let me = Myself { rank: rank as u32, life: u64::from_le_bytes(life), secret: config.secret };
        let faults = match config.faults {
            Some(faults) => Some(faults),
            None => FaultRates::from_environment()?,
        };
        let wire: Box<dyn Wire> = match faults {
            Some(rates) => Box::new(Faults::new(wire, rates, rank)),
            None => wire,
        };
        let (payload_max, clock) = (config.payload_max, Clock::start());
        let timer = Arc::new(SleepTimer::new()?);
        let inbound = Inbound { looks: 0, inbox: Inbox::new(), joiner: Joiner::new(payload_max, size) };
        Ok(Endpoint {
            capabilities: Capabilities { lent_min: config.lent_min, ..Capabilities::new(payload_max) },
            clock,
            epoch: Instant::now(),
            state: Mutex::new(State::new(me, clock, config, size, wire, source.keeps_bytes(), timer.clone())),
            timer,
            inbound: Brief::new(inbound),
            has_left: AtomicBool::new(false),
            source,
        })
    }

    /// A panic of a sink is no reason to stop: it is never called with this lock.
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Whether a look that finds nothing has to do more: to send what was left, or to see to the timers, now and then.
    fn has_more_to_do(&self, looks: &mut u32) -> bool {
        *looks = looks.wrapping_add(1);
        looks.is_multiple_of(CLOCK_LOOKS) || self.has_left.load(Ordering::Relaxed)
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

    /// Takes an acknowledgement of this rank, if that is what has come: whoever posts much, one after the other, does not look
    /// meanwhile, and frames that are free are used again while they are in the caches. There is nobody to hear of it then.
    fn listen(&self, to: usize) {
        let Some(mut inbound) = self.inbound.try_lock() else { return };
        let mut state = self.state();
        if !state.is_filling(to) {
            return;
        }
        let is_wanted = |frame: &[u8]| is_acknowledgement(frame, to as u32);
        if let Some(frame) = self.source.receive_short(&mut inbound.inbox, &is_wanted) {
            state.hear(self.clock.now(), frame);
            // What it has made room for.
            state.flush(Which::Urgent);
        }
        self.has_left.store(state.has_dirty(), Ordering::Relaxed);
    }

    /// Hands out data that came early and whose turn it is.
    #[cold]
    fn take_early(&self, joiner: &mut Joiner, from: u32, sink: &mut dyn Sink) {
        loop {
            let Some((data, part)) = self.state().next_early(from) else { return };
            let result = joiner.take(from, part, &data, sink);
            let mut state = self.state();
            if result.is_err() {
                state.malformed();
            }
            state.give_back(from, data);
        }
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

/// Takes the datagrams of one look. The lock is held over all that have nothing for the sink.
struct Taking<'e> {
    endpoint: &'e Endpoint,
    now: Time,
    state: Option<MutexGuard<'e, State>>,
    /// Nothing was left to do when the lock was let go.
    is_quiet: bool,
    any: bool,
}

impl Taking<'_> {
    fn state(&mut self) -> &mut State {
        self.is_quiet = false;
        self.state.get_or_insert_with(|| self.endpoint.state())
    }

    /// Lets go of the lock, before the sink is called.
    fn let_go(&mut self) {
        if let Some(state) = self.state.take() {
            self.is_quiet = state.is_quiet(self.now);
            self.endpoint.has_left.store(state.has_dirty(), Ordering::Relaxed);
        }
    }

    /// Takes a datagram and hands out what is complete with it.
    fn take(&mut self, joiner: &mut Joiner, frame: &[u8], sink: &mut dyn Sink) {
        let now = self.now;
        let (from, heard) = self.state().hear(now, frame);
        let Heard::Data { part, early } = heard else { return };
        self.any = true;
        let data = &frame[HEAD_BYTES..];
        let taken = if part {
            joiner.add_part(from, data).map(|is_whole| {
                if is_whole {
                    self.let_go();
                    joiner.hand_out(from, sink);
                }
            })
        } else {
            self.let_go();
            joiner.take_whole(from, data, sink)
        };
        if taken.is_err() {
            self.state().malformed();
        }
        if early {
            self.let_go();
            self.endpoint.take_early(joiner, from, sink);
            self.is_quiet = false;
        }
    }
}

impl Transport for Endpoint {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn refused(&self) -> u64 {
        let Counters { strangers, forged, replayed, strays, malformed, .. } = self.counters();
        strangers + forged + replayed + strays + malformed
    }

    unsafe fn post(&self, to: usize, packet: &Packet, body: Body, token: Option<Token>) -> Result<Posted> {
        if body.len() > self.capabilities.payload_max {
            return Err(Error::PayloadTooLong { bytes: body.len(), max: self.capabilities.payload_max });
        }
        let is_patient = packet::is_patient(packet);
        let packet = packet::encode(packet, body.len() as u32);
        let mut state = self.state();
        let line = state.line(to)?;
        if let Some(why) = &line.loss {
            return Err(why.error(to));
        }
        line.hurry(is_patient);
        let posted = match token.filter(|_| body.len() >= self.capabilities.lent_min) {
            Some(token) => line.lend(packet, body, token),
            // SAFETY: the caller's promise.
            None => unsafe { line.copy(&packet, &body) },
        };
        let is_patient = is_patient || line.is_patient();
        let is_filling = body.len() >= LISTEN_BYTES && line.is_filling();
        state.mark(to as u32);
        if is_patient {
            let now = self.clock.now();
            state.look_by(now, now + COMPANY_TIME);
        } else {
            state.flush(Which::Urgent);
        }
        self.has_left.store(state.has_dirty(), Ordering::Relaxed);
        drop(state);
        if is_filling {
            self.listen(to);
        }
        Ok(posted)
    }

    fn recall(&self, to: usize, token: Token) -> bool {
        self.state().recall(to, token)
    }

    fn poll(&self, sink: &mut dyn Sink) -> bool {
        let Some(mut inbound) = self.inbound.try_lock() else { return false };
        let Inbound { inbox, joiner, looks } = &mut *inbound;
        let (mut any, mut has_events) = (false, false);
        for _ in 0..ROUNDS_MAX {
            let (count, is_more) = self.source.receive(inbox);
            if count == 0 && !self.has_more_to_do(looks) {
                break;
            }
            let now = self.clock.now();
            let mut taking = Taking { endpoint: self, now, state: None, is_quiet: false, any: false };
            for index in 0..count {
                inbox.datagrams(index).for_each(|frame| taking.take(joiner, frame, sink));
            }
            any |= taking.any;
            let is_last = !is_more || count == 1 && !inbox.is_long();
            if taking.is_quiet {
                // A hop of a conversation. Timers, and answers that may wait, are seen to when this rank looks again.
                if is_last {
                    break;
                }
                continue;
            }
            let mut state = taking.state.unwrap_or_else(|| self.state());
            if !is_more {
                // Only now is known who is silent.
                state.tick(now);
                state.pass();
                state.idle.drain(..).for_each(|rank| joiner.rest(rank));
            }
            // In the middle of a conversation answers ride on what this rank says next; they go alone when it looks again.
            state.flush(if count == 0 { Which::All } else { Which::Urgent });
            has_events = !state.events.is_empty();
            self.has_left.store(state.has_dirty(), Ordering::Relaxed);
            // Whoever waits for room may sleep.
            any |= std::mem::take(&mut state.has_room_again);
            if is_last {
                break;
            }
        }
        has_events && self.hand_out(joiner, sink) || any
    }

    fn has_arrived(&self) -> bool {
        true
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.source.descriptor())
    }

    fn arm(&self) -> Armed {
        let (now, mut state) = (self.clock.now(), self.state());
        state.flush(Which::All);
        let has_event = !state.events.is_empty();
        match state.due {
            Some(due) if now < due && !has_event && self.source.may_sleep() => {
                let due = due / 1000 + 1;
                self.timer.sleep_until(due);
                Armed::Until(Some(self.epoch + Duration::from_nanos(due)))
            }
            _ => Armed::Ready,
        }
    }

    fn timer(&self) -> Option<BorrowedFd<'_>> {
        Some(self.timer.descriptor())
    }

    fn watch(&self, rank: usize) {
        let mut state = self.state();
        let Ok(line) = state.line(rank) else { return };
        line.link.probe();
        state.mark(rank as u32);
        state.flush(Which::All);
    }

    fn leave(&self) {
        self.state().farewell();
    }

    fn drained_but(&self, has_ended: &dyn Fn(usize) -> bool) -> bool {
        self.state().is_settled(has_ended)
    }
}
