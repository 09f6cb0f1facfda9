//! The receiving direction of a link: puts messages in order, drops those it had, and decides what to tell the sender.

use super::serial::Serial;
use super::{Settings, Time};
use crate::planted::{Bug, planted};
use std::collections::VecDeque;

/// The receiving direction.
#[derive(Debug)]
pub struct Receiver<M> {
    settings: Settings,
    /// Number of the message that the caller takes next.
    next: Serial,
    /// What is known of that and later messages, up to the latest that came; at most a window.
    places: VecDeque<Place<M>>,
    /// How many of them are to be requested.
    unrequested: usize,
    /// What `next` was when the sender was last told.
    told: Serial,
    /// When to tell it at the latest. Set while messages come; an acknowledgement that finds none set goes at once.
    tell_at: Option<Time>,
    /// Tell it now, even if there is nothing new.
    tell_now: bool,
}

#[derive(Debug)]
enum Place<M> {
    Missing { requested: bool },
    Here(M),
}

/// What a data frame turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The next one in order; the caller has taken it already.
    Passed,
    /// Kept until it is taken.
    Kept,
    Duplicate,
    /// No sender that keeps to the window sends it.
    Stray,
}

impl<M> Receiver<M> {
    pub fn new(settings: Settings) -> Receiver<M> {
        Receiver {
            settings,
            next: Serial::FIRST,
            places: VecDeque::new(),
            unrequested: 0,
            told: Serial::FIRST,
            tell_at: None,
            tell_now: false,
        }
    }

    /// Messages kept, and gaps between them.
    #[cfg(test)]
    pub fn held(&self) -> usize {
        self.places.len()
    }

    /// A data frame has come. A message that is new goes to `keep`, with whether it is the next in order: what that returns is
    /// kept; nothing, which only the next may be, has been taken already.
    #[inline]
    pub fn arrive(&mut self, now: Time, serial: Serial, answer: bool, keep: impl FnOnce(bool) -> Option<M>) -> Arrival {
        let arrival = match usize::try_from(serial.after(self.next)) {
            Ok(index) if index >= self.settings.window => return Arrival::Stray,
            Ok(index) => self.fill(index, keep),
            Err(_) => self.repeat(keep),
        };
        if matches!(arrival, Arrival::Passed | Arrival::Kept) {
            self.tell_at.get_or_insert(now.saturating_add(self.settings.acknowledge_delay_ps));
        }
        if answer && !planted(Bug::AnswersForgotten) {
            self.tell_now = true;
            self.request_all_missing();
        }
        arrival
    }

    #[inline]
    fn fill(&mut self, index: usize, keep: impl FnOnce(bool) -> Option<M>) -> Arrival {
        if matches!(self.places.get(index), Some(Place::Here(_))) {
            return Arrival::Duplicate;
        }
        let kept = keep(index == 0);
        debug_assert!(kept.is_some() || index == 0);
        match (self.places.get(index), kept) {
            (Some(Place::Missing { requested }), kept) => {
                self.unrequested -= usize::from(!requested);
                match kept {
                    Some(message) => self.places[index] = Place::Here(message),
                    None => {
                        self.places.pop_front();
                        self.next = self.next.plus(1);
                        return Arrival::Passed;
                    }
                }
            }
            (_, None) => {
                self.next = self.next.plus(1);
                return Arrival::Passed;
            }
            (_, Some(message)) if planted(Bug::GapsSkipped) => {
                self.next = self.next.plus(index - self.places.len());
                self.places.push_back(Place::Here(message));
            }
            (_, Some(message)) => {
                self.unrequested += index - self.places.len();
                self.places.resize_with(index, || Place::Missing { requested: false });
                self.places.push_back(Place::Here(message));
            }
        }
        Arrival::Kept
    }

    fn repeat(&mut self, keep: impl FnOnce(bool) -> Option<M>) -> Arrival {
        if planted(Bug::DuplicatesTaken) {
            self.places.extend(keep(false).map(Place::Here));
            self.places.rotate_right(1);
            self.next = Serial(self.next.0.wrapping_sub(1));
        }
        Arrival::Duplicate
    }

    /// Earlier requests were of no avail.
    fn request_all_missing(&mut self) {
        for place in &mut self.places {
            if let Place::Missing { requested } = place {
                self.unrequested += usize::from(core::mem::replace(requested, false));
            }
        }
    }

    pub fn has_next(&self) -> bool {
        matches!(self.places.front(), Some(Place::Here(_)))
    }

    /// The next message in order.
    pub fn take(&mut self) -> Option<M> {
        match self.places.pop_front()? {
            Place::Here(message) => {
                self.next = self.next.plus(1);
                Some(message)
            }
            missing => {
                self.places.push_front(missing);
                None
            }
        }
    }

    /// Messages to request from the sender: the first of them and how many in a row.
    #[inline]
    pub fn next_request(&mut self) -> Option<(Serial, u32)> {
        let is_unrequested = |place: &Place<M>| matches!(place, Place::Missing { requested: false });
        if self.unrequested == 0 || planted(Bug::NothingRequested) {
            return None;
        }
        let first = self.places.iter().position(is_unrequested)?;
        let run = self.places.range_mut(first..).take_while(|place| is_unrequested(place));
        let count = run.map(|place| *place = Place::Missing { requested: true }).count();
        self.unrequested -= count;
        Some((self.next.plus(first), count as u32))
    }

    /// Whether the sender waits for an answer or a request, or has not been told of so many messages.
    pub fn is_pressed(&self, untold_max: usize) -> bool {
        self.tell_now || self.unrequested > 0 || self.untold() >= untold_max
    }

    /// Messages that were taken since the sender was told.
    fn untold(&self) -> usize {
        usize::try_from(self.next.after(self.told)).unwrap_or(0)
    }

    /// Whether the sender should hear now what was taken, even if no other frame goes there.
    pub fn must_tell(&self) -> bool {
        let untold = self.untold();
        let is_due = self.tell_at.is_none() || untold >= self.settings.acknowledge_every;
        (self.tell_now || untold > 0 && is_due) && !planted(Bug::NeverAcknowledgedAlone)
    }

    /// The acknowledgement for a frame that goes to the sender now.
    #[inline]
    pub fn tell(&mut self) -> Serial {
        self.told = self.next;
        self.tell_at = None;
        self.tell_now = false;
        if planted(Bug::GapsAcknowledged) { self.next.plus(self.places.len()) } else { self.next }
    }

    /// The peer wants to know what was taken.
    pub fn asked(&mut self) {
        self.tell_now = true;
    }

    pub fn deadline(&self) -> Option<Time> {
        self.tell_at
    }

    /// Lets an acknowledgement wait no longer.
    pub fn tick(&mut self, now: Time) {
        self.tell_at = self.tell_at.filter(|tell_at| now < *tell_at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: Settings = Settings {
        window: 8,
        message_bytes_max: 8,
        timeout_ps: 100,
        timeout_max_ps: 350,
        attempts_max: 3,
        acknowledge_delay_ps: 10,
        acknowledge_every: 2,
        ..Settings::for_round_trip(25)
    };

    fn arrive(receiver: &mut Receiver<[u8; 1]>, number: u8, answer: bool) -> Arrival {
        receiver.arrive(0, Serial::FIRST.plus(number.into()), answer, |_| Some([number]))
    }

    fn take_all(receiver: &mut Receiver<[u8; 1]>) -> Vec<u8> {
        core::iter::from_fn(|| receiver.take()).map(|message| message[0]).collect()
    }

    fn requests(receiver: &mut Receiver<[u8; 1]>) -> Vec<(i32, u32)> {
        core::iter::from_fn(|| receiver.next_request())
            .map(|(first, count)| (first.after(Serial::FIRST), count))
            .collect()
    }

    #[test]
    fn messages_are_taken_in_order_and_once() {
        let mut receiver = Receiver::new(SETTINGS);
        for (number, arrival) in [(1, Arrival::Kept), (3, Arrival::Kept), (1, Arrival::Duplicate), (8, Arrival::Stray)]
        {
            assert_eq!(arrive(&mut receiver, number, false), arrival);
        }
        assert_eq!(take_all(&mut receiver), []);
        assert_eq!(arrive(&mut receiver, 0, false), Arrival::Kept);
        assert_eq!(take_all(&mut receiver), [0, 1]);
        assert_eq!(arrive(&mut receiver, 0, false), Arrival::Duplicate);
        assert_eq!(arrive(&mut receiver, 2, false), Arrival::Kept);
        assert_eq!(take_all(&mut receiver), [2, 3]);
        assert_eq!(arrive(&mut receiver, 8, false), Arrival::Kept, "the window has moved");
    }

    #[test]
    fn a_gap_is_requested_once_and_again_when_the_sender_wants_an_answer() {
        let mut receiver = Receiver::new(SETTINGS);
        arrive(&mut receiver, 2, false);
        arrive(&mut receiver, 5, false);
        assert_eq!(requests(&mut receiver), [(0, 2), (3, 2)]);
        arrive(&mut receiver, 6, false);
        assert_eq!(requests(&mut receiver), []);
        arrive(&mut receiver, 3, false);
        arrive(&mut receiver, 6, true);
        assert_eq!(requests(&mut receiver), [(0, 2), (4, 1)]);
        arrive(&mut receiver, 6, true);
        arrive(&mut receiver, 0, false);
        assert_eq!(requests(&mut receiver), [(1, 1), (4, 1)], "what came meanwhile is not requested");
    }

    #[test]
    fn acknowledgements_wait_for_company_but_not_for_long() {
        let mut receiver = Receiver::new(SETTINGS);
        arrive(&mut receiver, 0, false);
        assert!(!receiver.must_tell(), "nothing taken");
        take_all(&mut receiver);
        assert!(!receiver.must_tell(), "something may come to ride on");
        assert_eq!(receiver.deadline(), Some(10));
        receiver.tick(9);
        assert!(!receiver.must_tell());
        receiver.tick(10);
        assert!(receiver.must_tell());
        assert_eq!(receiver.tell(), Serial::FIRST.plus(1));
        assert!(!receiver.must_tell() && receiver.deadline().is_none());

        arrive(&mut receiver, 1, false);
        arrive(&mut receiver, 2, false);
        receiver.take();
        assert!(!receiver.must_tell());
        receiver.take();
        assert!(receiver.must_tell(), "a quarter of the window");
        receiver.tell();

        arrive(&mut receiver, 3, false);
        receiver.tick(10);
        assert!(!receiver.must_tell());
        receiver.take();
        assert!(receiver.must_tell(), "the caller was slow: the delay is over already");
        receiver.tell();

        arrive(&mut receiver, 0, false);
        assert!(!receiver.must_tell(), "a duplicate may be the doing of the wire");
        arrive(&mut receiver, 0, true);
        assert!(receiver.must_tell(), "the sender has waited for too long");
    }

    #[test]
    fn the_next_in_order_passes_without_being_kept() {
        let mut receiver = Receiver::<[u8; 1]>::new(SETTINGS);
        let pass = |receiver: &mut Receiver<[u8; 1]>, number: usize| {
            receiver.arrive(0, Serial::FIRST.plus(number), false, |next| (!next).then_some([number as u8]))
        };
        assert_eq!(pass(&mut receiver, 0), Arrival::Passed);
        assert_eq!(pass(&mut receiver, 0), Arrival::Duplicate);
        assert_eq!(pass(&mut receiver, 3), Arrival::Kept);
        assert_eq!(requests(&mut receiver), [(1, 2)]);
        assert_eq!(pass(&mut receiver, 1), Arrival::Passed);
        assert_eq!((receiver.held(), receiver.take()), (2, None));
        assert_eq!(pass(&mut receiver, 2), Arrival::Passed);
        assert_eq!(take_all(&mut receiver), [3]);
        assert_eq!(pass(&mut receiver, 4), Arrival::Passed);
        assert_eq!(receiver.tell(), Serial::FIRST.plus(5));
    }
}
