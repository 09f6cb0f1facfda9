//! The transport: one endpoint of libfabric per rank, which talks to all far ranks.

use crate::head::head_bytes;
use crate::lent::Frame;
use crate::link::ASK_AFTER;
use crate::sleep::Sleep;
use crate::state::{PAYLOAD_MAX, Ready, State};
use hikyaku::spi::{
    Armed, Body, Capabilities, Packet, Posted, RemoteMemory, Sink, SleepTimer, Token, Transport, decode, encode,
    is_patient,
};
use hikyaku::{Error, Result};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// Messages that a poll hands out at most.
const MESSAGES_MAX: usize = 256;
/// Looks that find nothing between two at the clock.
const CLOCK_LOOKS: u32 = 16;
/// Libfabric takes one connection at a time, when it is asked whether one may sleep. Else it does so every 10 ms, as long as completions
/// are asked for: too slow where strangers come in crowds. It is asked so often: each time it takes its signal down, which it then raises
/// again with the next message, and both are system calls.
const WELCOME_AFTER: Duration = Duration::from_micros(200);
/// How soon one tries again to say what libfabric did not take.
const RETRY_AFTER: Duration = Duration::from_millis(1);
/// How long a packet waits for others to travel with, if this rank says nothing and does not look.
const COMPANY_TIME: Duration = Duration::from_micros(100);
/// How long a rank that leaves tries to say so.
const LEAVE_MAX: Duration = Duration::from_millis(500);

/// One rank's end.
pub struct Endpoint {
    state: Mutex<State>,
    /// Held by whoever polls.
    polling: Mutex<Polling>,
    sleep: Arc<Sleep>,
    timer: SleepTimer,
    /// Where its time begins.
    epoch: Instant,
    reaches_memory: bool,
}

#[derive(Default)]
struct Polling {
    looks: u32,
    /// When libfabric was asked to take connections.
    welcomed_at: Option<Instant>,
    /// The message of which packets are handed out: the sink may have panicked at one.
    message: Option<Message>,
}

/// A message with packets from a rank, and how far it was read.
struct Message {
    from: usize,
    frame: Frame,
    at: usize,
    bytes: usize,
}

impl Message {
    /// The next packet with its payload; nothing for what makes no sense.
    fn next(&mut self) -> Option<(Packet, &[u8])> {
        let rest = &self.frame.bytes()[self.at..self.bytes];
        self.at = self.bytes;
        let (packet, length, rest) = decode(rest)?;
        let payload = rest.get(..length)?;
        self.at -= rest.len() - length;
        Some((packet, payload))
    }
}

impl Endpoint {
    /// Of a state.
    ///
    /// # Errors
    /// When there is no descriptor left.
    pub fn new(state: State) -> Result<Endpoint> {
        let (sleep, reaches_memory) = (state.sleep.clone(), state.port.offer().reaches_memory());
        Ok(Endpoint {
            state: Mutex::new(state),
            polling: Mutex::default(),
            sleep,
            timer: SleepTimer::new()?,
            epoch: Instant::now(),
            reaches_memory,
        })
    }

    /// A sink is never called with this lock, so nobody panics with it but by mistake of libfabric.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the timer counts.
    fn nanoseconds(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.epoch).as_nanos() as u64
    }

    /// Somebody looks after this time at the latest, though all sleep or compute. It counts from when this endpoint has read the clock
    /// last: too early does no harm, and reading it takes as long as much of the rest.
    fn look_within(&self, state: &State, time: Duration) {
        let now = state.looked_at;
        self.timer.due(self.nanoseconds(now), self.nanoseconds(now + time));
    }

    fn polling(&self) -> Option<MutexGuard<'_, Polling>> {
        match self.polling.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Hands out all that is left of the last message: nobody else looks for it before another one comes. Whether there was anything.
    fn hand_out(&self, polling: &mut Polling, sink: &mut dyn Sink) -> bool {
        let mut any = false;
        while let Some(message) = polling.message.as_mut().filter(|message| message.at < message.bytes) {
            any = true;
            let from = message.from;
            match message.next() {
                Some((packet, payload)) => sink.message(from, &packet, payload),
                None => self.state().refused += 1,
            }
        }
        any
    }

    /// What there is for the interface, with the frame of the last message given back. If nothing waits, one looks at the network, but not
    /// if there was `any`: it takes a system call, and whoever polls may have been waiting for what there was.
    fn next(&self, polling: &mut Polling, any: bool) -> Option<Ready> {
        let mut state = self.state();
        if any && !state.is_ready() {
            return None;
        }
        if let Some(message) = polling.message.take() {
            state.receive_into(message.frame);
        }
        if !state.is_ready() {
            state.look();
        }
        let ready = state.next();
        if ready.is_none() {
            polling.looks = polling.looks.wrapping_add(1);
            if polling.looks.is_multiple_of(CLOCK_LOOKS) {
                let now = Instant::now();
                state.tick(now);
                if polling.welcomed_at.is_none_or(|at| now.saturating_duration_since(at) >= WELCOME_AFTER) {
                    polling.welcomed_at = Some(now);
                    state.may_sleep();
                }
            }
        }
        ready
    }
}

impl Transport for Endpoint {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new(PAYLOAD_MAX)
    }

    unsafe fn post(&self, to: usize, packet: &Packet, body: Body, _: Option<Token>) -> Result<Posted> {
        if body.len() > PAYLOAD_MAX {
            return Err(Error::PayloadTooLong { bytes: body.len(), max: PAYLOAD_MAX });
        }
        let can_wait = is_patient(packet);
        let packet = encode(packet, body.len() as u32);
        let bytes = packet.len() + body.len();
        let fill = |place: &mut [u8]| {
            let (before, behind) = place.split_at_mut(packet.len());
            before.copy_from_slice(&packet);
            // SAFETY: the caller says that the body can be read; there is room for it.
            unsafe { body.copy(0, behind) };
        };
        let mut state = self.state();
        let is_kept = can_wait && state.keep(to, bytes, fill)?;
        let sent = is_kept || state.send(to, bytes, fill)?;
        self.look_within(&state, if is_kept { COMPANY_TIME } else { ASK_AFTER });
        Ok(if sent { Posted::Done } else { Posted::Busy })
    }

    fn poll(&self, sink: &mut dyn Sink) -> bool {
        let Some(mut polling) = self.polling() else { return false };
        let mut any = false;
        for _ in 0..MESSAGES_MAX {
            any |= self.hand_out(&mut polling, sink);
            let Some(ready) = self.next(&mut polling, any) else { return any };
            any = true;
            match ready {
                Ready::Lost { rank, why } => sink.lost(rank, why),
                Ready::Ended(token, Ok(())) => sink.completed(token),
                Ready::Ended(token, Err(why)) => sink.failed(token, why),
                Ready::Message { from, frame, bytes } => {
                    polling.message = Some(Message { from, frame, at: head_bytes(from as u32), bytes });
                }
            }
        }
        self.hand_out(&mut polling, sink) || any
    }

    fn has_arrived(&self) -> bool {
        true
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.sleep.as_fd())
    }

    fn arm(&self) -> Armed {
        let mut state = self.state();
        let now = Instant::now();
        let (is_expecting, has_due) = state.tick(now);
        if state.is_ready() || !state.may_sleep() {
            return Armed::Ready;
        }
        let until = match (has_due, is_expecting) {
            (true, _) => Some(now + RETRY_AFTER),
            (false, true) => Some(now + ASK_AFTER),
            (false, false) => None,
        };
        self.timer.sleep_until(until.map_or(u64::MAX, |until| self.nanoseconds(until)));
        Armed::Until(until)
    }

    fn timer(&self) -> Option<BorrowedFd<'_>> {
        Some(self.timer.descriptor())
    }

    fn watch(&self, rank: usize) {
        let mut state = self.state();
        state.watch(rank);
        self.look_within(&state, RETRY_AFTER);
    }

    fn leave(&self) {
        let end = Instant::now() + LEAVE_MAX;
        self.state().leave();
        while !self.state().has_sent_all() && Instant::now() < end {
            std::thread::yield_now();
        }
    }

    fn refused(&self) -> u64 {
        self.state().refused
    }

    fn remote_memory(&self) -> Option<&dyn RemoteMemory> {
        self.reaches_memory.then_some(self)
    }

    fn drained_but(&self, has_ended: &dyn Fn(usize) -> bool) -> bool {
        let mut state = self.state();
        if state.is_settled(has_ended) {
            return true;
        }
        state.tick(Instant::now());
        state.is_settled(has_ended)
    }
}
