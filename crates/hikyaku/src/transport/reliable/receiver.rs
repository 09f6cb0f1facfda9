//! The receiving direction of a link: puts messages in order, drops those it had, and decides what to tell the sender.

use super::serial::Serial;
use super::{Settings, Time};
use crate::planted::{Bug, planted};
use std::collections::VecDeque;

/// The receiving direction.
#[derive(Debug)]
pub struct Receiver {
    settings: Settings,
    /// Number of the message that the caller takes next.
    next: Serial,
    /// What is known of that and later messages, up to the latest that came; at most a window.
    places: VecDeque<Place>,
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
enum Place {
    Missing { requested: bool },
    Here(Box<[u8]>),
}

/// What a data frame turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    New,
    Duplicate,
    /// No sender that keeps to the window sends it.
    Stray,
}

impl Receiver {
    pub fn new(settings: Settings) -> Receiver {
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

    /// A data frame has come.
    pub fn arrive(&mut self, now: Time, serial: Serial, answer: bool, message: &[u8]) -> Arrival {
        let arrival = match usize::try_from(serial.after(self.next)) {
            Ok(index) if index >= self.settings.window => return Arrival::Stray,
            Ok(index) => self.fill(index, message),
            Err(_) => self.repeat(message),
        };
        if arrival == Arrival::New {
            self.tell_at.get_or_insert(now.saturating_add(self.settings.acknowledge_delay_ps));
        }
        if answer && !planted(Bug::AnswersForgotten) {
            self.tell_now = true;
            self.request_all_missing();
        }
        arrival
    }

    fn fill(&mut self, index: usize, message: &[u8]) -> Arrival {
        match self.places.get(index) {
            Some(Place::Here(_)) => return Arrival::Duplicate,
            Some(Place::Missing { requested }) => self.unrequested -= usize::from(!requested),
            None if planted(Bug::GapsSkipped) => {
                self.next = self.next.plus(index - self.places.len());
                self.places.push_back(Place::Here(message.into()));
                return Arrival::New;
            }
            None => {
                self.unrequested += index - self.places.len();
                self.places.resize_with(index + 1, || Place::Missing { requested: false });
            }
        }
        self.places[index] = Place::Here(message.into());
        Arrival::New
    }

    fn repeat(&mut self, message: &[u8]) -> Arrival {
        if planted(Bug::DuplicatesTaken) {
            self.places.push_front(Place::Here(message.into()));
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

    /// The next message in order.
    pub fn take(&mut self) -> Option<Box<[u8]>> {
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
    pub fn next_request(&mut self) -> Option<(Serial, u32)> {
        let is_unrequested = |place: &Place| matches!(place, Place::Missing { requested: false });
        if self.unrequested == 0 || planted(Bug::NothingRequested) {
            return None;
        }
        let first = self.places.iter().position(is_unrequested)?;
        let run = self.places.range_mut(first..).take_while(|place| is_unrequested(place));
        let count = run.map(|place| *place = Place::Missing { requested: true }).count();
        self.unrequested -= count;
        Some((self.next.plus(first), count as u32))
    }

    /// Whether the sender should hear now what was taken, even if no other frame goes there.
    pub fn must_tell(&self) -> bool {
        let untold = usize::try_from(self.next.after(self.told)).unwrap_or(0);
        let is_due = self.tell_at.is_none() || untold >= self.settings.window.div_ceil(4);
        (self.tell_now || untold > 0 && is_due) && !planted(Bug::NeverAcknowledgedAlone)
    }

    /// The acknowledgement for a frame that goes to the sender now.
    pub fn tell(&mut self) -> Serial {
        self.told = self.next;
        self.tell_at = None;
        self.tell_now = false;
        if planted(Bug::GapsAcknowledged) { self.next.plus(self.places.len()) } else { self.next }
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
    };

    fn arrive(receiver: &mut Receiver, number: u8, answer: bool) -> Arrival {
        receiver.arrive(0, Serial::FIRST.plus(number.into()), answer, &[number])
    }

    fn take_all(receiver: &mut Receiver) -> Vec<u8> {
        core::iter::from_fn(|| receiver.take()).map(|message| message[0]).collect()
    }

    fn requests(receiver: &mut Receiver) -> Vec<(i32, u32)> {
        core::iter::from_fn(|| receiver.next_request())
            .map(|(first, count)| (first.after(Serial::FIRST), count))
            .collect()
    }

    #[test]
    fn messages_are_taken_in_order_and_once() {
        let mut receiver = Receiver::new(SETTINGS);
        for (number, arrival) in [(1, Arrival::New), (3, Arrival::New), (1, Arrival::Duplicate), (8, Arrival::Stray)] {
            assert_eq!(arrive(&mut receiver, number, false), arrival);
        }
        assert_eq!(take_all(&mut receiver), []);
        assert_eq!(arrive(&mut receiver, 0, false), Arrival::New);
        assert_eq!(take_all(&mut receiver), [0, 1]);
        assert_eq!(arrive(&mut receiver, 0, false), Arrival::Duplicate);
        assert_eq!(arrive(&mut receiver, 2, false), Arrival::New);
        assert_eq!(take_all(&mut receiver), [2, 3]);
        assert_eq!(arrive(&mut receiver, 8, false), Arrival::New, "the window has moved");
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
}
