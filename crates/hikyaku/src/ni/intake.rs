//! Receiving from far ranks. What concerns memory alone is done when it comes; messages wait here for whoever runs handlers,
//! which may take long: meanwhile others are still served.

use super::Ni;
use super::engine::{Done, Outbox, dispatch};
use crate::planted::{Bug, planted};
use crate::transport::core::{Loss, Sink, Token, Transport};
use crate::transport::shm::ring::Packet;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, TryLockError};

/// The receiving side of one rank for all far ones.
pub(crate) struct Intake {
    desk: Mutex<Desk>,
    /// Messages for handlers, in the order they came.
    messages: Mutex<VecDeque<Kept>>,
}

/// Held by whoever receives.
struct Desk {
    /// Answers.
    outbox: Outbox,
    /// Operations that cannot be answered now, and what must not pass them.
    put_off: Vec<Kept>,
}

/// A packet of a far rank that is kept.
#[derive(Debug)]
pub(crate) struct Kept {
    pub source: usize,
    pub packet: Packet,
    pub payload: Box<[u8]>,
}

impl Kept {
    /// Whether it is not taken before an earlier one: a message after everything its sender did before, but what concerns
    /// memory alone not after a message, whose handler may wait for just that.
    pub fn waits_behind(&self, earlier: &Kept) -> bool {
        earlier.source == self.source && (self.packet.is_message() || !earlier.packet.is_message())
    }
}

impl Default for Intake {
    fn default() -> Intake {
        Intake { desk: Mutex::new(Desk { outbox: Outbox::new(None), put_off: Vec::new() }), messages: Mutex::default() }
    }
}

impl Intake {
    /// Takes what has come; whether there was anything. `None` if another thread is at it.
    pub fn receive(&self, ni: &Ni, far: &dyn Transport) -> Option<bool> {
        let mut desk = match self.desk.try_lock() {
            Ok(desk) => desk,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let sent = desk.outbox.is_waiting() && desk.outbox.flush(ni);
        let again = std::mem::take(&mut desk.put_off);
        let waited = !again.is_empty();
        for Kept { source, packet, payload } in again {
            desk.take(ni, self, source, &packet, &payload);
        }
        let mut sink = Receiving { desk: &mut desk, intake: self, ni, worked: false };
        let came = far.poll(&mut sink) || sink.worked;
        // Answers that found no room may have it now, and nothing else may come for long.
        let sent = desk.outbox.is_waiting() && desk.outbox.flush(ni) || sent;
        Some(came || sent || waited)
    }

    /// Takes one packet, where nobody else receives.
    pub fn take(&self, ni: &Ni, source: usize, packet: &Packet, payload: &[u8]) {
        lock(&self.desk).take(ni, self, source, packet, payload);
    }

    /// Whether something waits that cannot be done now.
    pub fn has_put_off(&self) -> bool {
        !lock(&self.desk).put_off.is_empty() || !lock(&self.messages).is_empty()
    }

    /// The messages that have come.
    pub fn take_messages(&self) -> VecDeque<Kept> {
        std::mem::take(&mut lock(&self.messages))
    }
}

impl Desk {
    fn take(&mut self, ni: &Ni, intake: &Intake, source: usize, packet: &Packet, payload: &[u8]) {
        // No such rank. One of this host may be the sender, where a network reaches all ranks at once.
        if source >= ni.memory.layout.size {
            return;
        }
        let keep = || Kept { source, packet: *packet, payload: payload.into() };
        if !self.put_off.is_empty() {
            let kept = keep();
            if self.put_off.iter().any(|earlier| kept.waits_behind(earlier)) {
                return self.put_off.push(kept);
            }
        }
        if packet.is_message() {
            let mut messages = lock(&intake.messages);
            let at = if planted(Bug::MessagesDisordered) { 0 } else { messages.len() };
            return messages.insert(at, keep());
        }
        if matches!(dispatch(ni, source, packet, payload, &mut [], &mut self.outbox), Done::Later) {
            self.put_off.push(keep());
        }
    }
}

/// What a transport hands things to.
struct Receiving<'i> {
    desk: &'i mut Desk,
    intake: &'i Intake,
    ni: &'i Ni,
    worked: bool,
}

impl Sink for Receiving<'_> {
    fn message(&mut self, from: usize, packet: &Packet, payload: &[u8]) {
        self.worked = true;
        self.desk.take(self.ni, self.intake, from, packet, payload);
    }

    fn completed(&mut self, _: Token) {
        // Nothing is posted with a token.
    }

    fn lost(&mut self, rank: usize, why: Loss) {
        self.worked = true;
        self.ni.lose(rank, why);
    }
}

/// Nothing of the program runs while one of these locks is held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
