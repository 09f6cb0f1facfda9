//! Receiving from far ranks. What concerns memory alone is done when it comes; messages wait here for whoever runs handlers,
//! which may take long: meanwhile others are still served.

use super::backlog::{Backlog, Kept, Spare};
use super::dispatch::{Done, dispatch};
use super::outbox::{Outbox, SPILL_MAX};
use super::relay::refuse_lost;
use super::unhandled::Unhandled;
use crate::ni::base::Base;
use crate::sync::brief::{lock, lock_now};
use crate::transport::core::{Loss, Sink, Token, Transport};
use crate::transport::packet::{AWAITED, kind};
use crate::transport::remote_memory::RemoteFailure;
use crate::transport::shm::ring::Packet;
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The receiving side of one rank for all far ones.
pub(crate) struct Intake {
    desk: Mutex<Desk>,
    /// Messages for handlers, in the order they came.
    messages: Backlog,
    /// How many operations were put off. Every look of the rank reads it.
    put_off_count: AtomicUsize,
    /// Something is to be sent when there is room.
    unsent: AtomicBool,
}

/// Held by whoever receives.
struct Desk {
    /// Answers.
    outbox: Outbox,
    /// Operations that cannot be answered now, and what must not pass them.
    put_off: Vec<Kept>,
}

impl Default for Intake {
    fn default() -> Intake {
        Intake {
            desk: Mutex::new(Desk { outbox: Outbox::new(None), put_off: Vec::new() }),
            messages: Backlog::default(),
            put_off_count: AtomicUsize::new(0),
            unsent: AtomicBool::new(false),
        }
    }
}

impl Intake {
    /// Takes what has come; whether there was anything. `None` if another thread is at it.
    pub fn receive(&self, ni: &Base, far: &dyn Transport) -> Option<bool> {
        let mut desk = lock_now(&self.desk)?;
        let sent = desk.has_more() && desk.go_on(ni, self);
        let waited = !desk.put_off.is_empty();
        let mut sink = Receiving { desk: &mut desk, intake: self, ni, worked: false };
        let came = far.poll(&mut sink) || sink.worked;
        // What found no room may have it now, and nothing else may come for long.
        let sent = self.send_rest(ni, &mut desk) || sent;
        Some(came || sent || waited)
    }

    /// Sends what found no room before.
    fn send_rest(&self, ni: &Base, desk: &mut Desk) -> bool {
        if !ni.relays.is_empty() && ni.departures() != 0 {
            refuse_lost(ni, &mut desk.outbox);
        }
        let sent = desk.has_more() && desk.go_on(ni, self);
        ni.drive_stalled();
        self.unsent.store(desk.outbox.is_waiting(), Ordering::Relaxed);
        sent
    }

    /// The same where the transport has room again or a rank was lost, and nobody else receives.
    pub fn go_on(&self, ni: &Base) {
        self.send_rest(ni, &mut lock(&self.desk));
    }

    /// Takes one packet, where nobody else receives.
    pub fn take(&self, ni: &Base, source: usize, packet: &Packet, payload: &[u8]) {
        let mut desk = lock(&self.desk);
        desk.take(ni, self, source, packet, payload);
        self.unsent.store(desk.outbox.is_waiting(), Ordering::Relaxed);
    }

    /// Tells far ranks what is done, before this rank leaves, and how many of their messages were `handled`.
    pub fn answer_unasked(&self, ni: &Base, handled: Vec<(usize, u64)>) {
        let mut desk = lock(&self.desk);
        desk.outbox.answer_unasked(ni);
        for (rank, count) in handled {
            let credit = Packet { kind: kind::CREDIT, handler: AWAITED, address: count, ..Packet::default() };
            // Whoever has ended needs none.
            let _ = desk.outbox.send(ni, rank, credit, &[], SPILL_MAX);
        }
    }

    /// Messages that have come and that nobody has taken.
    pub fn count_unhandled(&self, unhandled: &mut Unhandled) {
        lock(&self.desk).put_off.iter().for_each(|kept| unhandled.add(kept.source, &kept.packet));
        self.messages.for_each(|kept| unhandled.add(kept.source, &kept.packet));
    }

    /// Whether something waits that cannot be done now.
    pub fn has_put_off(&self) -> bool {
        self.put_off_count.load(Ordering::Relaxed) > 0 || !self.messages.is_empty()
    }

    /// Whether something waits for room to be sent.
    pub fn has_unsent(&self, ni: &Base) -> bool {
        self.unsent.load(Ordering::Relaxed) || self.put_off_count.load(Ordering::Relaxed) > 0 || ni.is_stalled()
    }

    /// Puts the messages that have come into `batch`, which is empty, and takes spare memory for others.
    pub(super) fn take_messages(&self, batch: &mut VecDeque<Kept>, spare: &mut Spare) {
        self.messages.take(batch, spare);
    }
}

impl Desk {
    fn take(&mut self, ni: &Base, intake: &Intake, source: usize, packet: &Packet, payload: &[u8]) {
        // No such rank. One of this host may be the sender, where a network reaches all ranks at once.
        if source >= ni.memory.layout.size {
            return;
        }
        let keep = || Kept { source, packet: *packet, payload: payload.into() };
        if !self.put_off.is_empty() {
            let kept = keep();
            if self.put_off.iter().any(|earlier| kept.waits_behind(earlier)) {
                return self.put_off(intake, kept);
            }
        }
        if packet.is_message() {
            return intake.messages.add(source, packet, payload);
        }
        if matches!(dispatch(ni, source, packet, payload, &mut [], &mut self.outbox), Done::Later) {
            self.put_off(intake, keep());
        }
    }

    fn put_off(&mut self, intake: &Intake, kept: Kept) {
        self.put_off.push(kept);
        intake.put_off_count.store(self.put_off.len(), Ordering::Relaxed);
    }

    /// Whether answers are waiting, or operations that were put off.
    #[inline(always)]
    fn has_more(&self) -> bool {
        self.outbox.is_waiting() || !self.put_off.is_empty()
    }

    /// Sends answers that are waiting, and tries operations again that were put off; whether anything was done.
    #[cold]
    fn go_on(&mut self, ni: &Base, intake: &Intake) -> bool {
        let sent = self.outbox.is_waiting() && self.outbox.flush(ni);
        let before = self.put_off.len();
        if before > 0 {
            intake.put_off_count.store(0, Ordering::Relaxed);
            for Kept { source, packet, payload } in std::mem::take(&mut self.put_off) {
                self.take(ni, intake, source, &packet, &payload);
            }
        }
        sent || self.put_off.len() < before
    }
}

/// What a transport hands things to.
struct Receiving<'i> {
    desk: &'i mut Desk,
    intake: &'i Intake,
    ni: &'i Base,
    worked: bool,
}

impl Sink for Receiving<'_> {
    fn message(&mut self, from: usize, packet: &Packet, payload: &[u8]) {
        self.worked = true;
        self.desk.take(self.ni, self.intake, from, packet, payload);
    }

    /// Of a body that was lent, or of an operation of the network itself.
    fn completed(&mut self, token: Token) {
        self.worked = true;
        if !self.ni.end_loan(token) {
            self.fetched(token, 0);
        }
    }

    fn lost(&mut self, rank: usize, why: Loss) {
        self.worked = true;
        self.ni.lose(rank, why);
    }

    fn fetched(&mut self, token: Token, before: u64) {
        self.worked = true;
        self.ni.complete(token, Ok(before));
    }

    fn failed(&mut self, token: Token, why: RemoteFailure) {
        self.worked = true;
        self.ni.complete(token, Err(why));
    }

    fn landed(&mut self, _: usize) {
        // Whoever sleeps is woken by whoever receives.
        self.worked = true;
    }
}
