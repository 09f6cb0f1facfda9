//! The sending direction of a link: holds every message until it is acknowledged, and decides what is sent again.

use super::serial::Serial;
use super::{Settings, Time};
use crate::planted::{Bug, planted};
use std::collections::VecDeque;

/// The sending direction.
#[derive(Debug)]
pub struct Sender {
    settings: Settings,
    /// Number of the first message held.
    oldest: Serial,
    /// Messages that are not acknowledged, at most a window.
    held: VecDeque<Held>,
    /// How many of them have been on the wire.
    sent: usize,
    /// How many of those go there again.
    again: usize,
    /// When to send again without being asked. Set while something sent is not acknowledged.
    deadline: Option<Time>,
    /// Timeouts since something was acknowledged.
    backoff: u32,
    /// Timeouts since the peer was heard.
    silence: u32,
}

#[derive(Debug)]
struct Held {
    message: Box<[u8]>,
    again: bool,
    answer: bool,
}

/// A message for the wire.
#[derive(Debug)]
pub struct Outgoing<'a> {
    pub serial: Serial,
    pub message: &'a [u8],
    pub answer: bool,
    /// Not for the first time.
    pub again: bool,
}

impl Sender {
    pub fn new(settings: Settings) -> Sender {
        Sender {
            settings,
            oldest: Serial::FIRST,
            held: VecDeque::new(),
            sent: 0,
            again: 0,
            deadline: None,
            backoff: 0,
            silence: 0,
        }
    }

    /// Messages that are not acknowledged.
    #[cfg(test)]
    pub fn held(&self) -> usize {
        self.held.len()
    }

    pub fn is_full(&self) -> bool {
        self.held.len() >= self.settings.window && !planted(Bug::WindowIgnored)
    }

    /// Takes a message; the caller has seen that there is room.
    pub fn push(&mut self, message: Box<[u8]>) {
        self.held.push_back(Held { message, again: false, answer: false });
    }

    /// What goes on the wire next: what is sent again first, as the peer can take nothing before it.
    pub fn next(&mut self, now: Time) -> Option<Outgoing<'_>> {
        let again = self.again > 0;
        let index = if again {
            self.again -= 1;
            self.held.iter().position(|held| held.again)?
        } else if self.sent < self.held.len() {
            self.sent += 1;
            self.sent - 1
        } else {
            return None;
        };
        self.deadline.get_or_insert(now.saturating_add(timeout(&self.settings, self.backoff)));
        let held = &mut self.held[index];
        held.again = false;
        let answer = core::mem::take(&mut held.answer);
        let message = if planted(Bug::CopyGivenUpEarly) && again { &[] } else { &held.message[..] };
        Some(Outgoing { serial: self.oldest.plus(index), message, answer, again })
    }

    /// A frame of the peer came: it is alive.
    pub fn hear(&mut self) {
        if !planted(Bug::SlownessTakenForSilence) {
            self.silence = 0;
        }
    }

    /// The peer waits for `next`: copies of everything before are given up. False if that was never sent.
    pub fn acknowledge(&mut self, now: Time, next: Serial) -> bool {
        let Ok(count) = usize::try_from(next.after(self.oldest)) else {
            if planted(Bug::OldAcknowledgementsBelieved) {
                self.drop_oldest(now, self.sent);
            }
            return true; // Overtaken by a later one.
        };
        if count > self.sent {
            return false;
        }
        if count > 0 {
            self.drop_oldest(now, count);
        }
        true
    }

    fn drop_oldest(&mut self, now: Time, count: usize) {
        self.again -= self.held.drain(..count).filter(|held| held.again).count();
        self.oldest = self.oldest.plus(count);
        self.sent -= count;
        self.silence = 0;
        if !planted(Bug::BackoffKept) {
            self.backoff = 0;
        }
        self.deadline = (self.sent > 0).then(|| now.saturating_add(timeout(&self.settings, self.backoff)));
    }

    /// The peer lacks `count` messages from `first` on. What it asks for beyond what was sent is ignored.
    pub fn resend(&mut self, first: Serial, count: u32) {
        if planted(Bug::RequestsIgnored) {
            return;
        }
        for index in 0..self.sent {
            let is_requested = u32::try_from(self.oldest.plus(index).after(first)).is_ok_and(|place| place < count);
            if is_requested {
                self.mark(index);
            }
        }
    }

    fn mark(&mut self, index: usize) {
        self.again += usize::from(!core::mem::replace(&mut self.held[index].again, true));
    }

    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// Sends again if it is time to; true if it was. The oldest, since the peer waits for it, and the newest, since it
    /// shows the peer all that is missing before it.
    pub fn tick(&mut self, now: Time) -> bool {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return false;
        }
        self.backoff = self.backoff.saturating_add(1);
        self.silence = self.silence.saturating_add(1);
        self.deadline = Some(now.saturating_add(timeout(&self.settings, self.backoff)));
        if !planted(Bug::TimeoutsIgnored) {
            self.mark(0);
            self.mark(self.sent - 1);
            self.held[self.sent - 1].answer = true;
        }
        true
    }

    /// The peer was silent for longer than the settings allow.
    pub fn is_peer_lost(&self) -> bool {
        self.silence > self.settings.attempts_max && !planted(Bug::SilenceIgnored)
    }
}

/// The timeout after `backoff` of them.
fn timeout(settings: &Settings, backoff: u32) -> Time {
    let factor = 1u64.checked_shl(backoff).unwrap_or(u64::MAX);
    settings.timeout_ps.saturating_mul(factor).min(settings.timeout_max_ps)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: Settings = Settings {
        window: 4,
        message_bytes_max: 8,
        timeout_ps: 100,
        timeout_max_ps: 350,
        attempts_max: 3,
        acknowledge_delay_ps: 10,
    };

    /// A sender that has put four messages on the wire at time 0.
    fn sender() -> Sender {
        let mut sender = Sender::new(SETTINGS);
        for byte in 0..4 {
            assert!(!sender.is_full());
            sender.push(Box::new([byte]));
        }
        assert!(sender.is_full());
        assert_eq!(wire(&mut sender, 0), [(0, false), (1, false), (2, false), (3, false)]);
        sender
    }

    /// What the sender puts on the wire: which message, and whether it wants an answer.
    fn wire(sender: &mut Sender, now: Time) -> Vec<(u8, bool)> {
        let mut frames = Vec::new();
        while let Some(outgoing) = sender.next(now) {
            assert_eq!(outgoing.serial, Serial::FIRST.plus(outgoing.message[0].into()));
            frames.push((outgoing.message[0], outgoing.answer));
        }
        frames
    }

    #[test]
    fn timeouts_double_up_to_the_longest_and_begin_anew_with_progress() {
        let mut sender = sender();
        let mut now = 0;
        for wait in [100, 200, 350, 350] {
            now += wait;
            assert_eq!(sender.deadline(), Some(now));
            assert!(!sender.tick(now - 1));
            assert!(sender.tick(now));
            assert_eq!(wire(&mut sender, now), [(0, false), (3, true)]);
        }
        assert!(sender.acknowledge(now, Serial::FIRST.plus(1)));
        assert_eq!(sender.deadline(), Some(now + 100));
        assert!(sender.acknowledge(now, Serial::FIRST.plus(4)));
        assert_eq!((sender.deadline(), sender.held()), (None, 0));
    }

    #[test]
    fn a_peer_is_lost_after_too_many_timeouts_without_a_sign_of_it() {
        let mut sender = sender();
        let timeouts = |count: u32, sender: &mut Sender| {
            for _ in 0..count {
                let deadline = sender.deadline().unwrap();
                sender.tick(deadline);
            }
        };
        timeouts(3, &mut sender);
        assert!(!sender.is_peer_lost());
        sender.hear();
        timeouts(3, &mut sender);
        assert!(!sender.is_peer_lost());
        timeouts(1, &mut sender);
        assert!(sender.is_peer_lost());
    }

    #[test]
    fn what_is_requested_is_sent_once_more_and_nothing_else() {
        let mut sender = sender();
        sender.resend(Serial::FIRST.plus(1), 2);
        sender.resend(Serial::FIRST.plus(2), 1);
        assert_eq!(wire(&mut sender, 1), [(1, false), (2, false)]);
        sender.resend(Serial::FIRST.plus(3), u32::MAX);
        sender.resend(Serial::FIRST.plus(1000), 10);
        assert_eq!(wire(&mut sender, 1), [(3, false)]);
        sender.resend(Serial::FIRST.plus(1), 1);
        assert!(sender.acknowledge(1, Serial::FIRST.plus(2)));
        assert_eq!(wire(&mut sender, 1), [], "acknowledged meanwhile");
    }

    #[test]
    fn acknowledgements_of_what_was_never_sent_change_nothing() {
        let mut sender = sender();
        assert!(!sender.acknowledge(1, Serial::FIRST.plus(5)));
        assert!(sender.acknowledge(1, Serial::FIRST.plus(2)));
        assert!(sender.acknowledge(1, Serial::FIRST), "an old one is no offence");
        assert_eq!(sender.held(), 2);
        sender.push(Box::new([4]));
        assert!(!sender.acknowledge(1, Serial::FIRST.plus(5)), "held, but not sent yet");
        assert_eq!(sender.held(), 3);
    }
}
