//! What is known of one peer: what was sent and heard, and since when an answer is missing.

use crate::head::{Encoded, Head, Kind};
use crate::lent::Frame;
use hikyaku::spi::Loss;
use std::time::{Duration, Instant};

/// A peer from which something is expected is asked after so long a silence, and again.
pub const ASK_AFTER: Duration = Duration::from_millis(500);
/// A peer that was silent for so long is lost. The promise is 5 s from when it fell silent: that may be found out up to half a second
/// later, when somebody looks, and is told after that; and on a busy machine all of this takes a while.
pub const SILENCE_MAX: Duration = Duration::from_millis(3_500);
/// A peer to which libfabric cannot send any more is told to be lost after so long: before that its last words may come, or the
/// launcher's word that it has died.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How soon a peer is asked what it has heard, when this rank wants to leave.
const HURRIED_ASK_AFTER: Duration = Duration::from_millis(2);

/// Messages of data that a peer may not have heard: libfabric keeps what is injected, however much it is.
pub const UNHEARD_MAX: u32 = 16 << 10;

/// One peer.
pub struct Link {
    /// What libfabric calls it.
    pub to: u64,
    /// Of messages to it, and from it.
    pub marks: (u64, u64),
    /// Messages of data that were sent, and how many of them it has heard.
    pub sent: u32,
    pub acknowledged: u32,
    /// Messages of data that were heard in order.
    pub heard: u32,
    /// Those that came before others which are still under way: their numbers and bytes.
    early: Vec<(u32, Frame, usize)>,
    /// It leaves, after so many messages.
    leaves_after: Option<u32>,
    /// Transfers with its memory that are under way.
    pub transfers: u32,
    /// Somebody waits for this rank.
    pub is_watched: bool,
    /// Something could not be sent.
    pub is_busy: bool,
    /// Since when something is expected.
    since: Option<Instant>,
    heard_at: Instant,
    asked_at: Instant,
    /// When somebody looked after it last.
    ticked_at: Instant,
    /// What remains to be said.
    pub due: Due,
    /// Packets that wait for others to travel with.
    pub patient: Vec<u8>,
    /// Since when nothing can be sent to it any more, and why.
    broken: Option<(Instant, String)>,
    /// Why it is lost.
    pub loss: Option<Loss>,
}

/// What remains to be said to a peer besides data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Due {
    pub ask: bool,
    pub answer: bool,
    pub leave: bool,
}

impl Due {
    /// What is kept of a kind of message; there is nothing of data.
    pub fn of(&mut self, kind: Kind) -> Option<&mut bool> {
        match kind {
            Kind::Ask => Some(&mut self.ask),
            Kind::Answer => Some(&mut self.answer),
            Kind::Leave => Some(&mut self.leave),
            Kind::Data => None,
        }
    }

    /// Whether there is anything.
    pub fn any(self) -> bool {
        self.ask || self.answer || self.leave
    }
}

/// What became of a message of data.
pub enum Taken {
    /// It is the next one.
    Next(Frame, usize),
    /// It is kept until those before it have come.
    Early,
    /// It has come before.
    Repeated(Frame),
}

impl Link {
    pub fn new(to: u64, marks: (u64, u64), now: Instant) -> Link {
        Link {
            to,
            marks,
            sent: 0,
            acknowledged: 0,
            heard: 0,
            early: Vec::new(),
            leaves_after: None,
            transfers: 0,
            is_watched: false,
            is_busy: false,
            since: None,
            heard_at: now,
            asked_at: now,
            ticked_at: now,
            due: Due::default(),
            patient: Vec::new(),
            broken: None,
            loss: None,
        }
    }

    /// The head of the next message to it.
    pub fn head(&self, me: u32, kind: Kind) -> Encoded {
        Head { mark: self.marks.0, from: me, number: self.sent as u16, heard: self.heard, kind }.encode()
    }

    /// It is there, and says how much it has heard.
    pub fn note(&mut self, now: Instant, head: &Head) {
        self.heard_at = now;
        self.is_busy = false;
        // Messages pass each other, so this may be old news; or none that can be true.
        let newly = head.heard.wrapping_sub(self.acknowledged);
        if newly <= self.unheard() {
            self.acknowledged = head.heard;
        }
    }

    /// Another message of data was sent; in a long row of them the peer is asked now and then how far it has come.
    pub fn note_sent(&mut self) {
        self.sent = self.sent.wrapping_add(1);
        // It tells what was heard, too.
        self.due.answer = false;
        self.due.ask |= self.unheard().is_multiple_of(UNHEARD_MAX / 4);
    }

    /// Messages of data that it may not have heard.
    pub fn unheard(&self) -> u32 {
        self.sent.wrapping_sub(self.acknowledged)
    }

    /// Takes a message of data.
    pub fn take(&mut self, number: u16, frame: Frame, bytes: usize) -> Taken {
        let ahead = self.ahead(number);
        if ahead == 0 {
            self.heard = self.heard.wrapping_add(1);
            return Taken::Next(frame, bytes);
        }
        let number = self.heard.wrapping_add(u32::from(ahead));
        if ahead > u16::MAX / 2 || self.early.iter().any(|(early, ..)| *early == number) {
            return Taken::Repeated(frame);
        }
        self.early.push((number, frame, bytes));
        Taken::Early
    }

    /// How many messages of data come before the one of this number.
    fn ahead(&self, number: u16) -> u16 {
        number.wrapping_sub(self.heard as u16)
    }

    /// A message that came early, and whose turn it is.
    pub fn next_early(&mut self) -> Option<(Frame, usize)> {
        let at = self.early.iter().position(|(number, ..)| *number == self.heard)?;
        self.heard = self.heard.wrapping_add(1);
        let (_, frame, bytes) = self.early.swap_remove(at);
        Some((frame, bytes))
    }

    /// It leaves.
    pub fn note_leave(&mut self, number: u16) {
        self.leaves_after = Some(self.heard.wrapping_add(u32::from(self.ahead(number))));
    }

    /// Whether it has left: everything that it sent before was heard.
    pub fn has_left(&self) -> bool {
        self.leaves_after == Some(self.heard)
    }

    /// Whether everything that was sent was heard, or never will be.
    pub fn is_settled(&self) -> bool {
        let has_said_all = self.patient.is_empty() && !self.due.leave;
        !self.is_open() || self.acknowledged == self.sent && self.transfers == 0 && has_said_all
    }

    /// Whether its silence means anything.
    pub fn is_expecting(&self) -> bool {
        let is_owed = self.acknowledged != self.sent || self.transfers > 0 || !self.early.is_empty();
        let is_owed = is_owed || self.is_watched || self.is_busy || self.broken.is_some();
        is_owed && self.loss.is_none()
    }

    /// Sees to the time: asks a silent peer, and says why it is lost if it is. In a hurry, it asks soon.
    pub fn tick(&mut self, now: Instant, in_a_hurry: bool) -> Option<Loss> {
        self.excuse(now);
        if !self.is_expecting() {
            self.since = None;
            return None;
        }
        if let Some((since, why)) = &self.broken {
            let is_over = now.saturating_duration_since(*since) >= LAST_WORDS;
            return is_over.then(|| Loss::Unreachable(format!("libfabric cannot send to it: {why}")));
        }
        let since = *self.since.get_or_insert(now);
        let last = since.max(self.heard_at);
        let silence = now.saturating_duration_since(last);
        if silence >= SILENCE_MAX {
            let what = if self.is_busy { "libfabric takes no message for it" } else { "it does not answer" };
            return Some(Loss::Unreachable(format!("{what} for {} ms", silence.as_millis())));
        }
        let patience = if in_a_hurry { HURRIED_ASK_AFTER } else { ASK_AFTER };
        let last = last.max(self.asked_at);
        if now.saturating_duration_since(last) >= patience {
            self.asked_at = now;
            self.due.ask = true;
        }
        None
    }

    /// Time in which nobody looked after the link is not the peer's silence: this process was stopped, or the whole machine, and what
    /// the peer has said may still lie here.
    fn excuse(&mut self, now: Instant) {
        let unattended = now.saturating_duration_since(std::mem::replace(&mut self.ticked_at, now));
        if unattended > SILENCE_MAX / 4 {
            // What was heard meanwhile was heard then.
            self.heard_at = now.min(self.heard_at + unattended);
            self.since = self.since.map(|since| now.min(since + unattended));
        }
    }

    /// Whether it can be sent to.
    pub fn is_open(&self) -> bool {
        self.loss.is_none() && self.broken.is_none()
    }

    /// Nothing can be sent to it any more: one message is missing, so none can follow.
    pub fn break_off(&mut self, now: Instant, why: impl FnOnce() -> String) {
        if self.is_open() {
            self.broken = Some((now, why()));
            self.due = Due::default();
            self.patient.clear();
        }
    }

    /// Gives up what waits.
    pub fn lose(&mut self, why: Loss) -> impl Iterator<Item = Frame> {
        self.loss = Some(why);
        self.due = Due::default();
        self.patient.clear();
        std::mem::take(&mut self.early).into_iter().map(|(_, frame, _)| frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lent::{Context, Inner, Purpose};

    const LOOK: Duration = Duration::from_millis(400);

    /// What is promised.
    const PROMISE: Duration = Duration::from_secs(5);

    #[test]
    fn silence_is_told_of_within_the_promise_though_nobody_looks_but_when_a_peer_is_asked() {
        let latest = SILENCE_MAX + ASK_AFTER;
        assert!(latest + ASK_AFTER <= PROMISE, "{latest:?}");
    }

    /// Looks after the link now and then until the peer is lost, from `now` on; gives how long that took.
    fn time_to_loss(link: &mut Link, now: Instant) -> Duration {
        let looks = (0u32..).map(|looks| now + LOOK * looks);
        looks.take(100).find(|at| link.tick(*at, false).is_some()).expect("it is lost at last") - now
    }

    #[test]
    fn messages_are_told_apart_by_the_lower_bits_of_their_numbers() {
        let frame = || {
            let (context, bytes) = (Context::new(Purpose::Receive), vec![0; 8].into());
            Frame(Box::new(Inner { context, region: None, bytes }))
        };
        for heard in [0, 65_535, 65_536, u32::MAX - 1] {
            let mut link = Link::new(0, (0, 0), Instant::now());
            link.heard = heard;
            let number = |ahead: u32| heard.wrapping_add(ahead) as u16;
            assert!(matches!(link.take(number(1), frame(), 5), Taken::Early));
            assert!(matches!(link.take(number(1), frame(), 5), Taken::Repeated(_)));
            assert!(link.next_early().is_none());
            link.note_leave(number(2));
            assert!(matches!(link.take(number(0), frame(), 5), Taken::Next(..)) && !link.has_left());
            assert!(link.next_early().is_some() && link.has_left());
            assert!(matches!(link.take(number(0), frame(), 5), Taken::Repeated(_)));
            assert_eq!(link.heard, heard.wrapping_add(2));
        }
    }

    #[test]
    fn a_peer_has_as_much_time_as_ever_after_this_rank_was_stopped() {
        let start = Instant::now();
        let mut link = Link::new(0, (0, 0), start);
        link.is_watched = true;
        let bound = SILENCE_MAX..SILENCE_MAX + 2 * LOOK;
        assert!(bound.contains(&time_to_loss(&mut link, start)));
        let mut link = Link::new(0, (0, 0), start);
        link.is_watched = true;
        assert_eq!(link.tick(start, false), None);
        let took = time_to_loss(&mut link, start + 3 * SILENCE_MAX);
        assert!(bound.contains(&took), "{took:?}");
        // Nobody had a reason to look, and something has come.
        let mut link = Link::new(0, (0, 0), start);
        let later = start + 10 * SILENCE_MAX;
        link.heard_at = later - LOOK;
        link.is_watched = true;
        let took = time_to_loss(&mut link, later);
        assert!(bound.contains(&took), "{took:?}");
    }
}
