//! A link: both directions between this rank and one peer.
//!
//! After each call of [`Link::send`], [`Link::receive`] or [`Link::tick`] the caller takes messages until there are none,
//! and puts frames on the wire until there are none:
//!
//! ```text
//!   caller ---- send ------->  Link  ---- next_frame ---> wire
//!   caller <-- next_message -- Link  <--- receive ------- wire
//!                               ^
//!                               tick(now) at next_timeout()
//! ```

use super::frame::{Body, Frame};
use super::path::Path;
use super::receiver::{Arrival, Receiver};
use super::sender::Sender;
use super::serial::Serial;
use super::{Settings, Time};
use crate::planted::{Bug, planted};

/// Both directions between this rank and one peer. What it holds of a message until it is acknowledged, or until it is its turn, is
/// the caller's choice; the methods for boxed bytes also read and write frames.
#[derive(Debug)]
pub struct Link<M = Box<[u8]>> {
    settings: Settings,
    epoch: u64,
    sender: Sender<M>,
    receiver: Receiver<M>,
    counters: Counters,
    broken: bool,
    /// When the peer was last heard.
    heard_at: Time,
    /// Since when it owes a sign of life.
    asked_at: Option<Time>,
    /// Signs of life asked for since it was heard.
    probes: u32,
    /// Ask for one now.
    probe_now: bool,
    /// What goes on the wire wants a sign of life.
    asks: bool,
}

/// A message that was not taken, for the caller to keep.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused<M = Box<[u8]>> {
    /// Why.
    pub reason: Refusal,
    /// The message.
    pub message: M,
}

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A window of messages is not acknowledged: try again when some are.
    Full,
    /// Longer than the settings allow.
    TooLong,
    /// The peer is unreachable.
    Broken,
}

/// What happened on a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Messages put on the wire for the first time.
    pub sent: u64,
    /// Messages put there again.
    pub resent: u64,
    /// Acknowledgements sent on their own.
    pub acknowledgements: u64,
    /// Requests sent.
    pub requests: u64,
    /// Timeouts of the sender.
    pub timeouts: u64,
    /// Messages that came again and were dropped.
    pub duplicates: u64,
    /// Frames that were damaged.
    pub corrupt: u64,
    /// Frames that were whole but not for this life of the link, or not what a peer sends.
    pub strays: u64,
}

impl std::ops::AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        self.sent += other.sent;
        self.resent += other.resent;
        self.acknowledgements += other.acknowledgements;
        self.requests += other.requests;
        self.timeouts += other.timeouts;
        self.duplicates += other.duplicates;
        self.corrupt += other.corrupt;
        self.strays += other.strays;
    }
}

impl<M> Link<M> {
    /// A link at its beginning. Both ends have the same settings and epoch; a link that is set up anew, after its peer was
    /// unreachable or started again, has an epoch of its own, so that frames still under way from before are known as such.
    ///
    /// # Panics
    /// With a window of nothing or more than [`Settings::WINDOW_MAX`], with messages of 4 GiB, with a timeout of nothing,
    /// or with one that does not leave time for the acknowledgement.
    pub fn new(settings: Settings, epoch: u64) -> Link<M> {
        assert!((1..=Settings::WINDOW_MAX).contains(&settings.window), "a window of {} messages", settings.window);
        assert!(settings.message_bytes_max <= u32::MAX as usize, "messages of {} bytes", settings.message_bytes_max);
        assert!(
            settings.acknowledge_delay_ps < settings.timeout_ps && settings.timeout_ps <= settings.timeout_max_ps,
            "not in rising order: delay of acknowledgements {}, timeout {}, longest timeout {}",
            settings.acknowledge_delay_ps,
            settings.timeout_ps,
            settings.timeout_max_ps
        );
        Link {
            settings,
            epoch,
            sender: Sender::new(settings),
            receiver: Receiver::new(settings),
            counters: Counters::default(),
            broken: false,
            heard_at: 0,
            asked_at: None,
            probes: 0,
            probe_now: false,
            asks: false,
        }
    }

    /// Takes a message for the peer that is so long on the wire.
    #[inline]
    pub fn push(&mut self, message: M, bytes: usize) -> Result<(), Refused<M>> {
        let reason = if self.broken {
            Refusal::Broken
        } else if bytes > self.settings.message_bytes_max {
            Refusal::TooLong
        } else if self.sender.is_full() {
            Refusal::Full
        } else {
            self.sender.push(message, bytes);
            return Ok(());
        };
        Err(Refused { reason, message })
    }

    /// How many messages [`Link::push`] would take now.
    pub fn room(&self) -> usize {
        self.sender.room()
    }

    /// Messages that were on the wire and are not acknowledged.
    pub fn under_way(&self) -> usize {
        self.sender.under_way()
    }

    /// The last message pushed while it was not on the wire, to add to it; [`Link::grown`] tells its length then.
    pub fn newest_unsent(&mut self) -> Option<&mut M> {
        self.sender.newest_unsent()
    }

    /// Whether there are messages that were never on the wire.
    pub fn has_unsent(&self) -> bool {
        self.sender.has_unsent()
    }

    /// Whether the peer waits for something: what it lacks or asked for, what this end lacks, or to hear that so many of its
    /// messages were taken.
    pub fn is_pressed(&self, untold_max: usize) -> bool {
        self.probe_now || self.sender.has_again() || self.receiver.is_pressed(untold_max)
    }

    /// How long the last message pushed has become.
    pub fn grown(&mut self, bytes: usize) {
        self.sender.set_newest_bytes(bytes);
    }

    /// Takes what a frame says. `answers` is whether the peer had heard this end since it was asked: one that only talks may be
    /// deaf. A message that is new goes to `keep`, with whether it is the next in order: what that returns is kept for
    /// [`Link::next_message`]; nothing, which only the next may be, counts as taken. [`Link::settle`] is to follow, before the next tick.
    #[inline]
    pub fn hear<'a>(
        &mut self,
        now: Time,
        acknowledged: Serial,
        body: Body<&'a [u8]>,
        answers: bool,
        keep: impl FnOnce(&'a [u8], bool) -> Option<M>,
    ) -> Option<Arrival> {
        if self.broken {
            return None;
        }
        if !self.sender.acknowledge(now, acknowledged) {
            self.counters.strays += 1;
            return None;
        }
        self.heard_at = now;
        if answers {
            self.sender.hear();
            (self.asked_at, self.probes) = (None, 0);
        }
        match body {
            Body::Data { message, .. } if message.len() > self.settings.message_bytes_max => self.counters.strays += 1,
            Body::Data { serial, answer, message } => {
                let arrival = self.receiver.arrive(now, serial, answer, |next| keep(message, next));
                match arrival {
                    Arrival::Passed | Arrival::Kept => (),
                    Arrival::Duplicate => self.counters.duplicates += 1,
                    Arrival::Stray => self.counters.strays += 1,
                }
                return Some(arrival);
            }
            Body::Acknowledgement { answer: false } => (),
            Body::Acknowledgement { answer: true } => self.receiver.asked(),
            Body::Request { first, count } => self.sender.resend(first, count),
        }
        None
    }

    /// Lets go of messages that are acknowledged: they go to `free`.
    #[inline]
    pub fn settle(&mut self, now: Time, free: &mut dyn FnMut(M)) {
        self.sender.settle(now, free);
    }

    /// How many messages [`Link::settle`] would let go of.
    pub fn behind(&self) -> usize {
        self.sender.behind()
    }

    /// The next message kept, in the order of sending. The peer's window moves on when it is taken.
    pub fn next_message(&mut self) -> Option<M> {
        self.receiver.take()
    }

    /// Whether [`Link::next_message`] would give one.
    pub fn has_message(&self) -> bool {
        self.receiver.has_next()
    }

    /// What the next frame for the wire says: what is acknowledged, the rest, and whether that was on the wire before. Requests
    /// first: the peer can do something while we send. [`Link::went`] follows when they have been sent.
    #[inline]
    pub fn next(&mut self) -> Option<(Serial, Body<&mut M>, bool)> {
        if self.broken {
            return None;
        }
        if let Some((first, count)) = self.receiver.next_request() {
            self.counters.requests += 1;
            return Some((self.receiver.tell(), Body::Request { first, count }, false));
        }
        if let Some(data) = self.sender.next() {
            *(if data.again { &mut self.counters.resent } else { &mut self.counters.sent }) += 1;
            self.asks = true;
            let body = Body::Data { serial: data.serial, answer: data.answer, message: data.message };
            return Some((self.receiver.tell(), body, data.again));
        }
        let answer = core::mem::take(&mut self.probe_now);
        if !answer && !self.receiver.must_tell() {
            return None;
        }
        self.counters.acknowledgements += 1;
        self.asks |= answer;
        Some((self.receiver.tell(), Body::Acknowledgement { answer }, false))
    }

    /// What [`Link::next`] gave has gone to the wire by now.
    #[inline]
    pub fn went(&mut self, now: Time) {
        self.sender.went(now);
        if core::mem::take(&mut self.asks) && self.asked_at.is_none() {
            self.asked_at = Some(now);
        }
    }

    /// When to call [`Link::tick`], once there are no more frames to send.
    pub fn next_timeout(&self) -> Option<Time> {
        if self.broken {
            return None;
        }
        let probe = self.sender.deadline().is_none().then(|| self.probe_at()).flatten();
        self.sender.deadline().into_iter().chain(self.receiver.deadline()).chain(probe).min()
    }

    /// When the peer is asked for a sign of life, unless something is under way that does so.
    fn probe_at(&self) -> Option<Time> {
        let pause = self.settings.keep_alive_ps;
        (pause < Time::MAX).then(|| self.heard_at.saturating_add(pause.saturating_mul(u64::from(self.probes) + 1)))
    }

    /// Does what is due at this time; calling too early or too often does no harm.
    pub fn tick(&mut self, now: Time) {
        if self.broken {
            return;
        }
        self.excuse(now);
        self.receiver.tick(now);
        self.counters.timeouts += u64::from(self.sender.tick(now));
        if self.sender.deadline().is_none() && self.probe_at().is_some_and(|at| at <= now) {
            self.probes += 1;
            self.probe_now = true;
        }
        let silent_for = self.asked_at.map_or(0, |at| now.saturating_sub(at));
        let attempts = self.sender.silence() + self.probes;
        self.broken =
            self.sender.is_peer_lost() || silent_for >= self.settings.silence_max_ps && attempts >= ATTEMPTS_MIN;
    }

    /// Time in which nobody looked after the link is not the peer's silence: this process was stopped, or the whole machine, and what
    /// the peer has said may still lie here.
    fn excuse(&mut self, now: Time) {
        let late = self.next_timeout().map_or(0, |due| now.saturating_sub(due));
        if late > self.settings.silence_max_ps / 4 {
            self.heard_at = now.min(self.heard_at.saturating_add(late));
            self.asked_at = self.asked_at.map(|at| now.min(at.saturating_add(late)));
        }
    }

    /// The link is there from now on: silence counts from here.
    pub fn begin(&mut self, now: Time) {
        self.heard_at = now;
    }

    /// Asks for a sign of life now.
    pub fn probe(&mut self) {
        self.probe_now = true;
    }

    /// The peer was silent for so long that it is taken for unreachable. What it had sent can still be taken; nothing more
    /// goes out or comes in. Only a link that has something to send can notice.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Ends the link; what is not acknowledged goes to `free`.
    pub fn give_up(&mut self, free: &mut dyn FnMut(M)) {
        self.broken = true;
        self.sender.clear(free);
    }

    /// Everything sent was acknowledged, so the peer's caller has taken it. The link must stay until the peer's is settled
    /// too: it may have to repeat an acknowledgement that was lost.
    pub fn is_settled(&self) -> bool {
        self.sender.held() == 0
    }

    /// Timeouts in a row without anything acknowledged.
    pub fn backoff(&self) -> u32 {
        self.sender.backoff()
    }

    /// What is known of the path.
    pub fn path(&mut self) -> &mut Path {
        self.sender.path()
    }

    /// When the peer was last heard.
    pub fn heard_at(&self) -> Time {
        self.heard_at
    }

    /// Messages held here now, for either direction; at most two windows.
    #[cfg(test)]
    pub fn held(&self) -> usize {
        self.sender.held() + self.receiver.held()
    }

    /// What has happened so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}

/// Timeouts and probes that a peer must have been silent for, however long it was: this end may have been off its core itself.
const ATTEMPTS_MIN: u32 = 3;

impl Link {
    /// Takes a message for the peer.
    pub fn send(&mut self, message: Box<[u8]>) -> Result<(), Refused> {
        let bytes = message.len();
        self.push(message, bytes)
    }

    /// Takes a frame from the wire. It may be anything.
    pub fn receive(&mut self, now: Time, frame: &[u8]) {
        if self.broken {
            return;
        }
        let Ok(frame) = Frame::decode(frame) else {
            self.counters.corrupt += 1;
            return;
        };
        if frame.epoch != self.epoch && !planted(Bug::EpochUnread) {
            self.counters.strays += 1;
            return;
        }
        self.hear(now, frame.acknowledged, frame.body, true, |message, _| Some(message.into()));
        self.settle(now, &mut drop);
    }

    /// The next frame for the wire.
    pub fn next_frame(&mut self, now: Time) -> Option<Vec<u8>> {
        let epoch = self.epoch;
        let (acknowledged, body, again) = self.next()?;
        let body = match body {
            Body::Data { .. } if planted(Bug::CopyGivenUpEarly) && again => {
                let Body::Data { serial, answer, .. } = body else { return None };
                Body::Data { serial, answer, message: &[][..] }
            }
            Body::Data { serial, answer, message } => Body::Data { serial, answer, message: &message[..] },
            Body::Acknowledgement { answer } => Body::Acknowledgement { answer },
            Body::Request { first, count } => Body::Request { first, count },
        };
        let frame = Frame { epoch, acknowledged, body }.encode();
        self.went(now);
        Some(frame)
    }
}
