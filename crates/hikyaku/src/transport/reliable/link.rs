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
use super::receiver::{Arrival, Receiver};
use super::sender::Sender;
use super::{Settings, Time};
use crate::planted::{Bug, planted};

/// Both directions between this rank and one peer.
#[derive(Debug)]
pub struct Link {
    settings: Settings,
    epoch: u64,
    sender: Sender,
    receiver: Receiver,
    counters: Counters,
    broken: bool,
}

/// A message that was not taken, for the caller to keep.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused {
    /// Why.
    pub reason: Refusal,
    /// The message.
    pub message: Box<[u8]>,
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

impl Link {
    /// A link at its beginning. Both ends have the same settings and epoch; a link that is set up anew, after its peer was
    /// unreachable or started again, has an epoch of its own, so that frames still under way from before are known as such.
    ///
    /// # Panics
    /// With a window of nothing or more than [`Settings::WINDOW_MAX`], with messages of 4 GiB, with a timeout of nothing,
    /// or with one that does not leave time for the acknowledgement.
    pub fn new(settings: Settings, epoch: u64) -> Link {
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
        }
    }

    /// Takes a message for the peer.
    pub fn send(&mut self, message: Box<[u8]>) -> Result<(), Refused> {
        let reason = if self.broken {
            Refusal::Broken
        } else if message.len() > self.settings.message_bytes_max {
            Refusal::TooLong
        } else if self.sender.is_full() {
            Refusal::Full
        } else {
            self.sender.push(message);
            return Ok(());
        };
        Err(Refused { reason, message })
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
        if frame.epoch != self.epoch && !planted(Bug::EpochUnread) || !self.sender.acknowledge(now, frame.acknowledged)
        {
            self.counters.strays += 1;
            return;
        }
        self.sender.hear();
        match frame.body {
            Body::Data { message, .. } if message.len() > self.settings.message_bytes_max => self.counters.strays += 1,
            Body::Data { serial, answer, message } => match self.receiver.arrive(now, serial, answer, message) {
                Arrival::New => (),
                Arrival::Duplicate => self.counters.duplicates += 1,
                Arrival::Stray => self.counters.strays += 1,
            },
            Body::Acknowledgement => (),
            Body::Request { first, count } => self.sender.resend(first, count),
        }
    }

    /// The next message from the peer, in the order of sending. The peer's window moves on when it is taken.
    pub fn next_message(&mut self) -> Option<Box<[u8]>> {
        self.receiver.take()
    }

    /// The next frame for the wire. Requests first: the peer can do something while we send.
    pub fn next_frame(&mut self, now: Time) -> Option<Vec<u8>> {
        if self.broken {
            return None;
        }
        let body = if let Some((first, count)) = self.receiver.next_request() {
            self.counters.requests += 1;
            Body::Request { first, count }
        } else if let Some(data) = self.sender.next(now) {
            *(if data.again { &mut self.counters.resent } else { &mut self.counters.sent }) += 1;
            Body::Data { serial: data.serial, answer: data.answer, message: data.message }
        } else if self.receiver.must_tell() {
            self.counters.acknowledgements += 1;
            Body::Acknowledgement
        } else {
            return None;
        };
        Some(Frame { epoch: self.epoch, acknowledged: self.receiver.tell(), body }.encode())
    }

    /// When to call [`Link::tick`], once [`Link::next_frame`] has nothing more to say.
    pub fn next_timeout(&self) -> Option<Time> {
        if self.broken {
            return None;
        }
        self.sender.deadline().into_iter().chain(self.receiver.deadline()).min()
    }

    /// Does what is due at this time; calling too early or too often does no harm.
    pub fn tick(&mut self, now: Time) {
        if self.broken {
            return;
        }
        self.receiver.tick(now);
        self.counters.timeouts += u64::from(self.sender.tick(now));
        self.broken = self.sender.is_peer_lost();
    }

    /// The peer was silent for so long that it is taken for unreachable. What it had sent can still be taken; nothing more
    /// goes out or comes in. Only a link that has something to send can notice.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Everything sent was acknowledged, so the peer's caller has taken it. The link must stay until the peer's is settled
    /// too: it may have to repeat an acknowledgement that was lost.
    #[cfg(test)]
    pub fn is_settled(&self) -> bool {
        self.sender.held() == 0
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
