//! The operations under way: a table, and the names of those that need no place in it.

use super::op::{ReceiveOp, SendOp};
use crate::error::{Error, Result};
use crate::message::buffer::spot::Buffer;

/// The operations under way.
#[derive(Default)]
pub(in crate::message) struct Pending {
    /// Empty ones are used again.
    pub flights: Vec<Flight>,
    pub empty: Vec<usize>,
    /// Where the next short round begins.
    pub turn: usize,
    /// The receives that are not in the table.
    pub waiting: Names,
}

impl Pending {
    /// Lets go of what others may still read, without giving its memory back.
    pub fn leak(self) {
        let is_under_way = |flight: &Flight| matches!(flight, Flight::Send(_) | Flight::Receive(_));
        self.flights.into_iter().filter(is_under_way).for_each(std::mem::forget);
    }

    /// Adds a receive that is not in the table: its place in the list.
    #[inline(always)]
    pub fn add_name(&mut self, name: Name) -> u32 {
        let place = self.waiting.list.len();
        if place == self.waiting.list.capacity() {
            self.make_room();
        }
        self.waiting.list.push(name);
        place as u32
    }

    /// Every receive in the list may get into the table. Which of them do is a matter of time, and must not decide about
    /// allocations.
    #[cold]
    fn make_room(&mut self) {
        self.waiting.list.reserve(8);
        let count = self.waiting.list.capacity();
        self.flights.reserve(count);
        self.empty.reserve(self.flights.capacity() - self.empty.len());
    }

    pub fn add(&mut self, flight: Flight) -> Ticket {
        let index = self.empty.pop().unwrap_or_else(|| {
            self.flights.push(Flight::Empty);
            self.flights.len() - 1
        });
        self.flights[index] = flight;
        Ticket(std::num::NonZeroU32::new(index as u32 + 1).expect("at least 1"))
    }

    /// The result of an operation that has ended, which is forgotten here.
    pub fn take(&mut self, ticket: Ticket) -> Option<Result<usize>> {
        let index = ticket.index();
        match std::mem::replace(&mut self.flights[index], Flight::Empty) {
            Flight::Ended(result) => {
                self.empty.push(index);
                Some(result.map_err(|error| *error))
            }
            under_way => {
                self.flights[index] = under_way;
                None
            }
        }
    }

    pub fn is_idle(&self) -> bool {
        self.flights.len() == self.empty.len() && self.waiting.is_empty()
    }
}

/// An operation in the table.
pub(in crate::message) enum Flight {
    Empty,
    Send(SendOp),
    Receive(ReceiveOp),
    /// Ended, and not yet asked for: bytes that came.
    Ended(std::result::Result<usize, Box<Error>>),
}

impl Flight {
    pub fn ended(result: Result<usize>) -> Flight {
        Flight::Ended(result.map_err(Box::new))
    }
}

/// What is under way in a slot, in one direction.
#[derive(Clone, Copy, Debug)]
pub(in crate::message) enum UnderWay {
    Waiting(Waiting),
    Flight(Ticket),
}

/// The name of an operation in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::message) struct Ticket(std::num::NonZeroU32);

impl Ticket {
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Which operation of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::message) enum Way {
    Out,
    In,
}

/// What a slot remembers of a receive that waits in it for a short message.
#[derive(Clone, Copy, Debug)]
pub(in crate::message) struct Waiting {
    pub start: *mut u8,
    pub bytes: u32,
    /// Where its name is in the list.
    pub place: u32,
}

impl Waiting {
    pub fn buffer(self) -> Buffer {
        Buffer::whole(self.start, self.bytes as usize)
    }
}

/// Which slots have such a receive.
#[derive(Default)]
pub(in crate::message) struct Names {
    pub list: Vec<Name>,
    /// Where the last short round has come to.
    pub turn: usize,
}

/// Members and slots are fewer than a `u32` counts.
#[derive(Clone, Copy)]
pub(in crate::message) struct Name {
    pub member: u32,
    pub entry: u32,
}

impl Name {
    pub fn slot(self) -> (usize, usize) {
        (self.member as usize, self.entry as usize)
    }
}

impl Names {
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// (member, entry) of each.
    pub fn slots(&self) -> impl Iterator<Item = (usize, usize)> {
        self.list.iter().map(|name| name.slot())
    }
}

/// What was started in a scope; `None` where it has ended.
pub(in crate::message) type Started = Vec<Option<StartedOp>>;

/// An operation, by its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::message) struct StartedOp {
    pub member: u32,
    pub slot: u32,
    /// Its scope: handles may outlive theirs.
    pub scope: u32,
    /// Its place in the list of the scope.
    pub place: u32,
    pub way: Way,
}

impl StartedOp {
    /// (member, slot, way)
    #[inline(always)]
    pub fn name(self) -> (usize, usize, Way) {
        (self.member as usize, self.slot as usize, self.way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of those that wait may get into the table, and leave it, without an allocation.
    #[test]
    fn there_is_room_for_all_that_wait() {
        let mut pending = Pending::default();
        for count in [1, 2, 9, 30] {
            while pending.waiting.list.len() < count {
                let place = pending.waiting.list.len() as u32;
                assert_eq!(pending.add_name(Name { member: 0, entry: place }), place);
            }
            let capacities = |pending: &Pending| (pending.flights.capacity(), pending.empty.capacity());
            let before = capacities(&pending);
            let tickets: Vec<_> = (0..count).map(|bytes| pending.add(Flight::ended(Ok(bytes)))).collect();
            for (ticket, bytes) in tickets.into_iter().zip(0..) {
                assert_eq!(pending.take(ticket).unwrap().unwrap(), bytes);
            }
            assert_eq!(capacities(&pending), before);
        }
    }
}
