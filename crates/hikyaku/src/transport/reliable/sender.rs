//! The sending direction of a link: holds every message until it is acknowledged, and decides what is sent again.

use super::path::Path;
use super::serial::Serial;
use super::{Settings, Time};
use crate::planted::{Bug, planted};
use std::collections::VecDeque;

/// The sending direction.
#[derive(Debug)]
pub struct Sender<M> {
    settings: Settings,
    path: Path,
    /// Number of the first message held.
    oldest: Serial,
    /// Messages that are not acknowledged, at most a window.
    held: VecDeque<Held<M>>,
    /// How many of them have been on the wire.
    sent: usize,
    /// Of how many of those it is known when they went there.
    timed: usize,
    /// How many of those are acknowledged, but not let go of yet, and since when.
    acknowledged: usize,
    acknowledged_at: Time,
    /// Bytes of those.
    under_way_bytes: u64,
    /// How many of those go there again.
    again: usize,
    /// None before this place does.
    again_from: usize,
    /// When to send again without being asked. Set while something sent is not acknowledged.
    deadline: Option<Time>,
    /// Timeouts since something was acknowledged.
    backoff: u32,
    /// Timeouts since the peer was heard.
    silence: u32,
    /// The window that something was lost in ends with this number: no other loss in it counts.
    window_end: Option<Serial>,
}

#[derive(Debug)]
struct Held<M> {
    message: M,
    bytes: u64,
    again: bool,
    answer: bool,
    /// When it was sent first; `None` once it was sent twice.
    sent_at: Option<Time>,
}

/// A message for the wire.
#[derive(Debug)]
pub struct Outgoing<'a, M> {
    pub serial: Serial,
    pub message: &'a mut M,
    pub answer: bool,
    /// Not for the first time.
    pub again: bool,
}

impl<M> Sender<M> {
    pub fn new(settings: Settings) -> Sender<M> {
        Sender {
            settings,
            path: Path::new(settings),
            oldest: Serial::FIRST,
            held: VecDeque::new(),
            sent: 0,
            timed: 0,
            acknowledged: 0,
            acknowledged_at: 0,
            under_way_bytes: 0,
            again: 0,
            again_from: 0,
            deadline: None,
            backoff: 0,
            silence: 0,
            window_end: None,
        }
    }

    /// Messages that are not acknowledged.
    pub fn held(&self) -> usize {
        self.held.len() - self.acknowledged
    }

    /// Messages that were on the wire and are not acknowledged.
    pub fn under_way(&self) -> usize {
        self.sent - self.acknowledged
    }

    pub fn is_full(&self) -> bool {
        self.room() == 0 && !planted(Bug::WindowIgnored)
    }

    /// Messages that fit.
    pub fn room(&self) -> usize {
        self.settings.window.saturating_sub(self.held.len())
    }

    /// Takes a message; the caller has seen that there is room.
    #[inline]
    pub fn push(&mut self, message: M, bytes: usize) {
        self.held.push_back(Held { message, bytes: bytes as u64, again: false, answer: false, sent_at: None });
    }

    pub fn has_unsent(&self) -> bool {
        self.sent < self.held.len()
    }

    /// Whether something goes on the wire again.
    pub fn has_again(&self) -> bool {
        self.again > 0
    }

    /// The newest message, while it was never on the wire.
    pub fn newest_unsent(&mut self) -> Option<&mut M> {
        if self.sent == self.held.len() {
            return None;
        }
        self.held.back_mut().map(|held| &mut held.message)
    }

    /// That message has so many bytes now.
    pub fn set_newest_bytes(&mut self, bytes: usize) {
        if let Some(held) = self.held.back_mut() {
            held.bytes = bytes as u64;
        }
    }

    /// What goes on the wire next: what is sent again first, as the peer can take nothing before it. [`Sender::went`] follows.
    #[inline]
    pub fn next(&mut self) -> Option<Outgoing<'_, M>> {
        let again = self.again > 0;
        let index = if again {
            self.again -= 1;
            let from = self.again_from;
            let index = from + self.held.range(from..).position(|held| held.again)?;
            self.again_from = index + 1;
            index
        } else {
            let bytes = self.held.get(self.sent)?.bytes;
            if !self.path.has_room(self.under_way_bytes, bytes) {
                return None;
            }
            self.under_way_bytes += bytes;
            self.sent += 1;
            self.sent - 1
        };
        let held = &mut self.held[index];
        held.again = false;
        held.sent_at = None;
        let answer = core::mem::take(&mut held.answer);
        Some(Outgoing { serial: self.oldest.plus(index), message: &mut held.message, answer, again })
    }

    /// What goes on the wire has gone there by now.
    #[inline]
    pub fn went(&mut self, now: Time) {
        while self.timed < self.sent {
            self.held[self.timed].sent_at = Some(now);
            self.timed += 1;
        }
        if self.sent > 0 && self.deadline.is_none() {
            self.deadline = Some(now.saturating_add(self.path.timeout(self.backoff)));
        }
    }

    /// A frame of the peer came: it is alive.
    pub fn hear(&mut self) {
        if !planted(Bug::SlownessTakenForSilence) {
            self.silence = 0;
        }
    }

    /// The peer waits for `next`: [`Sender::settle`] lets go of everything before. False if that was never sent.
    #[inline]
    pub fn acknowledge(&mut self, now: Time, next: Serial) -> bool {
        let count = match usize::try_from(next.after(self.oldest)) {
            Ok(count) => count,
            Err(_) if planted(Bug::OldAcknowledgementsBelieved) => self.sent,
            Err(_) => return true, // Overtaken by a later one.
        };
        if count > self.sent {
            return false;
        }
        if count > self.acknowledged {
            for index in self.acknowledged..count {
                self.under_way_bytes -= self.held[index].bytes;
            }
            (self.acknowledged, self.acknowledged_at) = (count, now);
        }
        true
    }

    /// How many messages are acknowledged and not let go of yet.
    pub fn behind(&self) -> usize {
        self.acknowledged
    }

    /// Gives everything that is acknowledged to `free`.
    #[inline]
    pub fn settle(&mut self, now: Time, free: &mut dyn FnMut(M)) {
        if self.acknowledged > 0 {
            self.drop_acknowledged(now, free);
        }
    }

    fn drop_acknowledged(&mut self, now: Time, free: &mut dyn FnMut(M)) {
        let count = core::mem::take(&mut self.acknowledged);
        let (mut bytes, mut latest) = (0, None);
        let mut once = true;
        for _ in 0..count {
            let Some(held) = self.held.pop_front() else { break };
            self.again -= usize::from(held.again);
            bytes += held.bytes;
            latest = held.sent_at;
            once &= held.sent_at.is_some();
            free(held.message);
        }
        if let Some(sent_at) = latest.filter(|_| once) {
            self.path.measured(self.acknowledged_at.saturating_sub(sent_at));
        }
        self.path.carried(bytes);
        self.again_from = self.again_from.saturating_sub(count);
        self.oldest = self.oldest.plus(count);
        self.sent -= count;
        self.timed = self.timed.saturating_sub(count);
        self.window_end = self.window_end.filter(|end| end.after(self.oldest) > 0);
        self.silence = 0;
        if !planted(Bug::BackoffKept) {
            self.backoff = 0;
        }
        self.deadline = (self.sent > 0).then(|| now.saturating_add(self.path.timeout(self.backoff)));
    }

    /// The peer lacks `count` messages from `first` on. What it asks for beyond what was sent is ignored.
    pub fn resend(&mut self, first: Serial, count: u32) {
        if planted(Bug::RequestsIgnored) {
            return;
        }
        let start = i64::from(first.after(self.oldest));
        let end = (start + i64::from(count)).clamp(0, self.sent as i64) as usize;
        let start = start.clamp(0, self.sent as i64) as usize;
        for index in start..end {
            self.mark(index);
        }
        if start < end && self.window_end.is_none() {
            self.window_end = Some(self.oldest.plus(self.sent));
            self.path.lost();
        }
    }

    fn mark(&mut self, index: usize) {
        self.again += usize::from(!core::mem::replace(&mut self.held[index].again, true));
        self.again_from = self.again_from.min(index);
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
        if self.backoff == 2 {
            self.path.stalled();
        }
        self.deadline = Some(now.saturating_add(self.path.timeout(self.backoff)));
        if !planted(Bug::TimeoutsIgnored) {
            self.mark(0);
            self.mark(self.sent - 1);
            self.held[self.sent - 1].answer = true;
        }
        true
    }

    /// Timeouts since the peer was heard.
    pub fn silence(&self) -> u32 {
        self.silence
    }

    /// Timeouts since something was acknowledged.
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// The peer was silent for more timeouts than the settings allow.
    pub fn is_peer_lost(&self) -> bool {
        self.silence > self.settings.attempts_max && !planted(Bug::SilenceIgnored)
    }

    pub fn path(&mut self) -> &mut Path {
        &mut self.path
    }

    /// Gives everything up.
    pub fn clear(&mut self, free: &mut dyn FnMut(M)) {
        self.held.drain(..).for_each(|held| free(held.message));
        (self.sent, self.timed, self.acknowledged, self.again) = (0, 0, 0, 0);
        (self.under_way_bytes, self.deadline) = (0, None);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Fit;
    use super::*;

    const SETTINGS: Settings = Settings {
        window: 4,
        message_bytes_max: 8,
        timeout_ps: 100,
        timeout_max_ps: 350,
        attempts_max: 3,
        acknowledge_delay_ps: 10,
        ..Settings::for_round_trip(25)
    };

    /// A sender that has put four messages on the wire at time 0.
    fn sender() -> Sender<[u8; 1]> {
        let mut sender = Sender::new(SETTINGS);
        for byte in 0..4 {
            assert!(!sender.is_full());
            sender.push([byte], 1);
        }
        assert!(sender.is_full());
        assert_eq!(wire(&mut sender, 0), [(0, false), (1, false), (2, false), (3, false)]);
        sender
    }

    /// What the sender puts on the wire: which message, and whether it wants an answer.
    fn wire(sender: &mut Sender<[u8; 1]>, now: Time) -> Vec<(u8, bool)> {
        let mut frames = Vec::new();
        while let Some(outgoing) = sender.next() {
            assert_eq!(outgoing.serial, Serial::FIRST.plus(outgoing.message[0].into()));
            frames.push((outgoing.message[0], outgoing.answer));
        }
        sender.went(now);
        frames
    }

    fn acknowledge(sender: &mut Sender<[u8; 1]>, now: Time, next: Serial) -> bool {
        let is_believed = sender.acknowledge(now, next);
        sender.settle(now, &mut drop);
        is_believed
    }

    #[test]
    fn what_is_acknowledged_and_not_let_go_of_is_neither_under_way_nor_sent_again() {
        let mut sender = sender();
        assert!(sender.acknowledge(7, Serial::FIRST.plus(3)) && sender.behind() == 3);
        assert_eq!((sender.held(), sender.under_way(), sender.room()), (1, 1, 0));
        assert!(!sender.acknowledge(8, Serial::FIRST.plus(5)) && sender.acknowledge(8, Serial::FIRST.plus(1)));
        let mut freed = Vec::new();
        sender.settle(50, &mut |[number]| freed.push(number));
        assert_eq!((freed, sender.behind(), sender.room()), (vec![0, 1, 2], 0, 3));
        assert_eq!((sender.path().round_trip(), sender.deadline()), (Some(7), Some(150)));
        sender.push([4], 1);
        assert_eq!(wire(&mut sender, 60), [(4, false)]);
        assert!(acknowledge(&mut sender, 67, Serial::FIRST.plus(5)) && sender.deadline().is_none());
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
        assert!(acknowledge(&mut sender, now, Serial::FIRST.plus(1)));
        assert_eq!(sender.deadline(), Some(now + 100));
        assert!(acknowledge(&mut sender, now, Serial::FIRST.plus(4)));
        assert_eq!((sender.deadline(), sender.held()), (None, 0));
    }

    #[test]
    fn a_peer_is_lost_after_too_many_timeouts_without_a_sign_of_it() {
        let mut sender = sender();
        let timeouts = |count: u32, sender: &mut Sender<[u8; 1]>| {
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
        assert!(acknowledge(&mut sender, 1, Serial::FIRST.plus(2)));
        assert_eq!(wire(&mut sender, 1), [], "acknowledged meanwhile");
    }

    #[test]
    fn acknowledgements_of_what_was_never_sent_change_nothing() {
        let mut sender = sender();
        assert!(!acknowledge(&mut sender, 1, Serial::FIRST.plus(5)));
        assert!(acknowledge(&mut sender, 1, Serial::FIRST.plus(2)));
        assert!(acknowledge(&mut sender, 1, Serial::FIRST), "an old one is no offence");
        assert_eq!(sender.held(), 2);
        sender.push([4], 1);
        assert!(!acknowledge(&mut sender, 1, Serial::FIRST.plus(5)), "held, but not sent yet");
        assert_eq!(sender.held(), 3);
    }

    #[test]
    fn a_loss_halves_the_window_once_and_resent_messages_measure_nothing() {
        let fit = Fit { timeout_min_ps: 1, frame_bytes: 1, window_bytes_first: 16, window_bytes_max: 16 };
        let settings = Settings { window: 64, fit: Some(fit), ..SETTINGS };
        let mut sender = Sender::new(settings);
        (0..32).for_each(|byte| sender.push([byte], 1));
        assert_eq!(wire(&mut sender, 0).len(), 16, "the congestion window");
        sender.resend(Serial::FIRST, 1);
        sender.resend(Serial::FIRST.plus(2), 1);
        assert_eq!(wire(&mut sender, 5), [(0, false), (2, false)]);
        assert!(acknowledge(&mut sender, 30, Serial::FIRST.plus(10)));
        assert_eq!(sender.path().round_trip(), None);
        assert_eq!(wire(&mut sender, 30).len(), 3, "eight and what was acknowledged since, less the six under way");
        assert!(acknowledge(&mut sender, 40, Serial::FIRST.plus(16)));
        assert_eq!(sender.path().round_trip(), Some(40));
    }
}
