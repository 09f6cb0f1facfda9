//! Receives that wait, and where a message lands.

use super::incoming::{Incoming, Kept, Landing, OVERHEAD, Place, Refused};
use super::wire::{Answer, Packet};
use crate::error::{Error, Result};
use crate::exchange::Buffers;
use crate::matching::{Keys, Matched, Source};
use crate::memory::copy;
use crate::planted::{Bug, planted};

/// So much of a sender is kept while this rank waits: what it waits for may be behind it.
const WAITING_MAX: usize = 1 << 20;

/// What has come, and who waits for something.
#[derive(Debug)]
pub(super) struct Inbox {
    sources: Vec<Option<Box<Incoming>>>,
    /// Receives that wait, in order.
    posted: Vec<Posted>,
    next: u64,
    buffers: Buffers,
    /// Calls of this rank that wait.
    waiting: usize,
    /// Nobody receives any more: what comes is taken, and thrown away.
    is_closed: bool,
    /// Where the next search for a message of any rank begins, so that none is always first.
    turn: usize,
    /// How many packets were refused.
    pub refusals: u64,
    /// Senders of those that were not asked for them again.
    uncalled: usize,
    /// What senders are to be told by the program's thread.
    calls: Vec<(usize, Answer)>,
}

/// A receive, and its place in the program's memory.
#[derive(Debug)]
struct Posted {
    number: u64,
    source: Source,
    tags: Keys,
    room: Room,
    state: State,
}

/// The buffer of a receive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    start: *mut u8,
    pub bytes: usize,
}

// SAFETY: whoever has it may write there, whatever the thread.
unsafe impl Send for Room {}

#[derive(Debug)]
enum State {
    Waits,
    /// A message lands there.
    Lands,
    Ended(Result<Matched>),
}

impl Room {
    /// # Safety
    /// The memory stays, and nobody else uses it, until the receive has ended or is withdrawn.
    pub unsafe fn new(start: *mut u8, bytes: usize) -> Room {
        Room { start, bytes }
    }

    /// Writes a part of a message that fits.
    fn fill(self, from: usize, data: &[u8]) {
        assert!(from <= self.bytes && data.len() <= self.bytes - from);
        if !data.is_empty() {
            // SAFETY: it fits, and the memory is this one's.
            unsafe { copy::copy(self.start.add(from), data.as_ptr(), data.len()) };
        }
    }

    /// What has landed there.
    fn read(self, bytes: usize) -> Vec<u8> {
        assert!(bytes <= self.bytes);
        let mut data = vec![0; bytes];
        if bytes > 0 {
            // SAFETY: it is there, and the memory is this one's.
            unsafe { copy::copy(data.as_mut_ptr(), self.start, bytes) };
        }
        data
    }
}

impl Posted {
    fn waits_for(&self, source: usize, tag: u64) -> bool {
        let is_source = match self.source {
            Source::Rank(rank) => rank == source,
            Source::Any => true,
        };
        is_source && self.tags.matches(tag) && matches!(self.state, State::Waits)
    }

    fn end(&mut self, rank: usize, tag: u64, bytes: usize) {
        let room = self.room.bytes;
        self.state = State::Ended(match bytes <= room {
            true => Ok(Matched { rank, key: tag, len: bytes }),
            false => Err(Error::Overlong { from: rank, key: tag, bytes, room }),
        });
    }
}

impl Inbox {
    pub fn new(size: usize, buffers: Buffers) -> Inbox {
        Inbox {
            sources: std::iter::repeat_with(|| None).take(size).collect(),
            posted: Vec::new(),
            next: 0,
            buffers,
            waiting: 0,
            is_closed: false,
            turn: 0,
            refusals: 0,
            uncalled: 0,
            calls: Vec::new(),
        }
    }

    /// A packet has come. What its sender is told.
    pub fn take_packet(&mut self, source: usize, packet: Packet<'_>) -> Option<Answer> {
        let incoming = self.sources.get_mut(source)?.get_or_insert_default();
        if incoming.spoilt.is_some() {
            return None;
        }
        if packet.number != incoming.expected && !planted(Bug::PacketBehindRefused) {
            // It is behind one that was refused, and comes again.
            return None;
        }
        let is_first = incoming.landing.is_none();
        if is_first && packet.from != 0 {
            self.spoil(source, "a message that begins in its middle");
            return None;
        }
        if is_first {
            let Some(place) = self.place_for(source, packet.tag, packet.whole) else {
                self.refusals += 1;
                if planted(Bug::RefusedTaken) {
                    self.sources[source].as_mut()?.expected += 1;
                }
                self.note_refused(source, packet.tag, packet.whole);
                return Some(Answer::Refused(packet.number));
            };
            self.land(source, packet, place);
        }
        self.continue_landing(source, packet)
    }

    /// Where a message of a rank would land; `None` if there is no room for it.
    fn place_for(&self, source: usize, tag: u64, whole: usize) -> Option<Place> {
        if self.is_closed {
            return Some(Place::Nowhere);
        }
        if let Some(posted) = self.posted.iter().find(|posted| posted.waits_for(source, tag)) {
            return Some(Place::Posted(posted.number));
        }
        let (cost, count) = self.sources[source].as_ref().map_or((0, 0), |it| (it.cost, it.kept.len()));
        let needed = whole.saturating_add(OVERHEAD);
        let fits = match self.waiting {
            0 => count < self.buffers.messages && needed <= self.buffers.bytes.saturating_sub(cost),
            _ => needed <= WAITING_MAX.max(self.buffers.bytes).saturating_sub(cost),
        };
        (fits || planted(Bug::RefusesNothing)).then(|| Place::Kept(Vec::new()))
    }

    fn note_refused(&mut self, source: usize, tag: u64, whole: usize) {
        let Some(incoming) = &mut self.sources[source] else { return };
        let before = incoming.refused.replace(Refused { tag, whole, is_called: false });
        self.uncalled += usize::from(before.is_none_or(|before| before.is_called));
    }

    fn forget_refused(&mut self, source: usize) {
        let Some(incoming) = &mut self.sources[source] else { return };
        let refused = incoming.refused.take();
        self.uncalled -= usize::from(refused.is_some_and(|refused| !refused.is_called));
    }

    /// A message begins to come.
    fn land(&mut self, source: usize, packet: Packet<'_>, mut place: Place) {
        let Packet { number: first, tag, whole, .. } = packet;
        self.forget_refused(source);
        if let Place::Posted(number) = place
            && let Some(posted) = self.posted.iter_mut().find(|posted| posted.number == number)
        {
            match whole <= posted.room.bytes {
                true => posted.state = State::Lands,
                false => {
                    posted.end(source, tag, whole);
                    place = Place::Nowhere;
                }
            }
        }
        let Some(incoming) = &mut self.sources[source] else { return };
        if let Place::Kept(_) = place {
            incoming.cost += whole + OVERHEAD;
        }
        incoming.landing = Some(Landing { tag, whole, first, arrived: 0, place });
    }

    /// The next packet of the message that lands.
    fn continue_landing(&mut self, source: usize, packet: Packet<'_>) -> Option<Answer> {
        let incoming = self.sources[source].as_mut()?;
        let landing = incoming.landing.as_mut()?;
        if (packet.tag, packet.whole, packet.from) != (landing.tag, landing.whole, landing.arrived) {
            self.spoil(source, "parts of a message that do not belong together");
            return None;
        }
        match &mut landing.place {
            Place::Posted(number) => {
                let posted = self.posted.iter().find(|posted| posted.number == *number);
                posted?.room.fill(packet.from, packet.data);
            }
            Place::Kept(data) => data.extend_from_slice(packet.data),
            Place::Nowhere => {}
        }
        landing.arrived += packet.data.len();
        incoming.expected += 1;
        if landing.arrived < landing.whole {
            return None;
        }
        let taken = Answer::Taken(incoming.expected);
        let Landing { tag, whole, place, .. } = incoming.landing.take()?;
        match place {
            Place::Posted(number) => {
                let posted = self.posted.iter_mut().find(|posted| posted.number == number)?;
                posted.end(source, tag, whole);
            }
            Place::Kept(data) => {
                let posted = self.posted.iter_mut().find(|posted| posted.waits_for(source, tag));
                let Some(posted) = posted else {
                    incoming.kept.push_back(Kept { tag, data });
                    return Some(taken);
                };
                // The receive came when a part of it was there already.
                incoming.cost -= whole + OVERHEAD;
                if whole <= posted.room.bytes {
                    posted.room.fill(0, &data);
                }
                posted.end(source, tag, whole);
            }
            Place::Nowhere => {}
        }
        Some(taken)
    }

    #[cold]
    fn spoil(&mut self, source: usize, what: &'static str) {
        let Some(incoming) = &mut self.sources[source] else { return };
        incoming.spoilt = Some(what);
        let landing = incoming.landing.take();
        for posted in &mut self.posted {
            let lands = landing.as_ref().is_some_and(|landing| landing.place == Place::Posted(posted.number));
            let waits = posted.source == Source::Rank(source) && matches!(posted.state, State::Waits);
            if lands || waits {
                posted.state = State::Ended(Err(Error::PeerMisbehaved { rank: source, what }));
            }
        }
    }

    /// The ranks whose messages a receive takes, in the order in which they are looked at.
    fn of(&self, source: Source) -> impl Iterator<Item = usize> + use<> {
        let (first, count) = match source {
            Source::Rank(rank) => (rank, 1),
            Source::Any => (self.turn, self.sources.len()),
        };
        let size = self.sources.len();
        (0..count).map(move |step| (first + step) % size)
    }

    /// Takes a message that is there.
    pub fn take(&mut self, source: Source, tags: Keys, room: Room) -> Option<Result<Matched>> {
        for rank in self.of(source) {
            let Some(incoming) = &mut self.sources[rank] else { continue };
            if let Some(Kept { tag, data }) = incoming.take(tags) {
                self.turn = (rank + 1) % self.sources.len();
                self.call_refused();
                if data.len() > room.bytes {
                    return Some(Err(Error::Overlong { from: rank, key: tag, bytes: data.len(), room: room.bytes }));
                }
                room.fill(0, &data);
                return Some(Ok(Matched { rank, key: tag, len: data.len() }));
            }
            if source == Source::Rank(rank)
                && let Err(error) = incoming.check(rank)
            {
                return Some(Err(error));
            }
        }
        None
    }

    /// Tells of a message that may not have come whole, or was refused.
    pub fn probe(&self, source: Source, tags: Keys) -> Option<Result<Matched>> {
        self.of(source).find_map(|rank| {
            let incoming = self.sources[rank].as_ref()?;
            if let Some((key, len)) = incoming.find(tags) {
                return Some(Ok(Matched { rank, key, len }));
            }
            incoming.check(rank).err().filter(|_| source == Source::Rank(rank)).map(Err)
        })
    }

    /// Begins a receive, for which nothing is there; its number.
    pub fn post(&mut self, source: Source, tags: Keys, room: Room) -> u64 {
        self.next += 1;
        self.posted.push(Posted { number: self.next, source, tags, room, state: State::Waits });
        self.next
    }

    /// How a receive has ended, if it has. Then it is forgotten.
    pub fn ended(&mut self, number: u64) -> Option<Result<Matched>> {
        let is_over = |posted: &Posted| posted.number == number && matches!(posted.state, State::Ended(_));
        let at = self.posted.iter().position(is_over)?;
        match self.posted.remove(at).state {
            State::Ended(result) => Some(result),
            State::Waits | State::Lands => None,
        }
    }

    /// Ends a receive; how it has ended if it was over before. What has landed there of a message is kept, if there is room for the message, or
    /// else the message is refused after all, and comes again from its begin.
    pub fn withdraw(&mut self, number: u64) -> Option<Result<Matched>> {
        if let Some(ended) = self.ended(number) {
            return Some(ended);
        }
        let at = self.posted.iter().position(|posted| posted.number == number)?;
        let Posted { room, .. } = self.posted.remove(at);
        let source = self.landing_in(number)?;
        let Landing { tag, whole, first, arrived, .. } = self.sources[source].as_mut()?.landing.take()?;
        match self.place_for(source, tag, whole) {
            Some(Place::Kept(_)) => {
                let place = Place::Kept(room.read(arrived));
                let incoming = self.sources[source].as_mut()?;
                incoming.cost += whole + OVERHEAD;
                incoming.landing = Some(Landing { tag, whole, first, arrived, place });
            }
            // Another receive waits for it, or there is no room.
            Some(Place::Posted(_) | Place::Nowhere) | None => {
                self.sources[source].as_mut()?.expected = first;
                self.calls.push((source, Answer::Refused(first)));
                self.note_refused(source, tag, whole);
                self.call_refused();
            }
        }
        None
    }

    /// Whose message lands in the buffer of a receive.
    fn landing_in(&self, number: u64) -> Option<usize> {
        let lands = |incoming: &Incoming| incoming.landing.as_ref().is_some_and(|it| it.place == Place::Posted(number));
        self.sources.iter().position(|incoming| incoming.as_deref().is_some_and(lands))
    }

    /// Ranks of whose messages more must come.
    pub fn unfinished(&self) -> Vec<usize> {
        let is_unfinished = |rank: &usize| self.sources[*rank].as_deref().is_some_and(Incoming::is_unfinished);
        (0..self.sources.len()).filter(is_unfinished).collect()
    }

    /// A rank has ended: what has not come of it never will. A receive from any rank in whose buffer a message landed waits for another one.
    pub fn bury(&mut self, source: usize) {
        self.forget_refused(source);
        let Some(incoming) = &mut self.sources[source] else { return };
        let Some(Landing { whole, place, .. }) = incoming.landing.take() else { return };
        match place {
            Place::Kept(_) => incoming.cost -= whole + OVERHEAD,
            Place::Nowhere => {}
            Place::Posted(number) => {
                let Some(posted) = self.posted.iter_mut().find(|posted| posted.number == number) else { return };
                posted.state = State::Waits;
                let (from, tags, room) = (posted.source, posted.tags, posted.room);
                let there = if from == Source::Any { self.take(from, tags, room) } else { None };
                if let Some(result) = there
                    && let Some(posted) = self.posted.iter_mut().find(|posted| posted.number == number)
                {
                    posted.state = State::Ended(result);
                }
                self.call_refused();
            }
        }
    }

    /// A call of this rank begins to wait, or has ended.
    pub fn wait(&mut self, begins: bool) {
        match begins {
            true => {
                self.waiting += 1;
                self.call_refused();
            }
            false => self.waiting -= 1,
        }
    }

    /// Nothing is received any more.
    pub fn close(&mut self) {
        self.is_closed = true;
        self.sources.iter_mut().flatten().for_each(|incoming| incoming.kept.clear());
        self.call_refused();
    }

    /// Notes who is to be asked again for what was refused, because there is room for it now.
    pub fn call_refused(&mut self) {
        if self.uncalled == 0 {
            return;
        }
        for source in 0..self.sources.len() {
            let Some(incoming) = &self.sources[source] else { continue };
            let Some(refused) = incoming.refused.filter(|refused| !refused.is_called) else { continue };
            let number = incoming.expected;
            if self.place_for(source, refused.tag, refused.whole).is_some() && !planted(Bug::RefusedForgotten) {
                self.calls.push((source, Answer::Again(number)));
                self.uncalled -= 1;
                self.sources[source].as_mut().into_iter().for_each(|incoming| {
                    incoming.refused = Some(Refused { is_called: true, ..refused });
                });
            }
        }
    }

    /// What senders are to be told.
    pub fn take_calls(&mut self, into: &mut Vec<(usize, Answer)>) {
        into.append(&mut self.calls);
    }

    /// What is kept of a rank, in bytes.
    #[cfg(test)]
    pub fn cost(&self, source: usize) -> usize {
        self.sources[source].as_ref().map_or(0, |incoming| incoming.cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::wire;
    use proptest::prelude::*;

    const BUFFERS: Buffers = Buffers { messages: 3, bytes: 500 };

    proptest! {
        /// Whatever peers send, and whenever: nothing is written outside of a receive, nothing is kept without bound, and what a correct
        /// sender has sent comes whole and in order.
        #[test]
        fn nonsense_harms_nobody_else(
            steps in proptest::collection::vec((0u8..7, 0u64..4, 0u64..3, 0usize..700, 0usize..700, 0usize..300), 1..200),
        ) {
            let mut inbox = Inbox::new(2, BUFFERS);
            let mut buffer = vec![7u8; 400];
            let (mut sent, mut received, mut post) = (0u8, 0u8, None);
            let mut refused = false;
            for (step, number, tag, whole, from, len) in steps {
                let data = vec![1; len];
                // SAFETY: inside the buffer, which stays, and is only looked at between steps.
                let room = unsafe { Room::new(buffer[100..].as_mut_ptr(), 200) };
                match step {
                    // A hostile rank.
                    0 | 1 => {
                        let packet = Packet { number, tag, whole, from, data: &data };
                        let (address, arguments, payload) = packet.words();
                        if let Some(wire::Told::Packet(packet)) = wire::read(address, &arguments, payload) {
                            inbox.take_packet(0, packet);
                        }
                    }
                    // A correct one, whose messages have one packet each.
                    2 | 3 => {
                        let mut calls = Vec::new();
                        inbox.take_calls(&mut calls);
                        refused &= !calls.iter().any(|(rank, _)| *rank == 1);
                        if !refused {
                            let packet = Packet { number: u64::from(sent), tag: 9, whole: 100, from: 0, data: &[sent; 100] };
                            match inbox.take_packet(1, packet) {
                                Some(Answer::Taken(next)) => {
                                    sent += 1;
                                    prop_assert_eq!(next, u64::from(sent));
                                }
                                Some(Answer::Refused(which)) => {
                                    refused = true;
                                    prop_assert_eq!(which, u64::from(sent));
                                }
                                other => prop_assert!(false, "{:?}", other),
                            }
                        }
                    }
                    4 if post.is_none() => match inbox.take(Source::Rank(1), Keys::from(9), room) {
                        Some(taken) => {
                            prop_assert_eq!(taken.unwrap().len, 100);
                            prop_assert!(buffer[100..200].iter().all(|byte| *byte == received));
                            received += 1;
                        }
                        None => {
                            post = Some(inbox.post(Source::Rank(1), Keys::from(9), room));
                            inbox.wait(true);
                        }
                    },
                    5 => if let Some(number) = post.take() {
                        inbox.wait(false);
                        if let Some(ended) = inbox.withdraw(number) {
                            prop_assert_eq!(ended.unwrap().len, 100);
                            prop_assert!(buffer[100..200].iter().all(|byte| *byte == received));
                            received += 1;
                        }
                    },
                    // Of the hostile one, too.
                    6 if post.is_none() => {
                        let number = inbox.post(Source::Rank(0), Keys::ANY, room);
                        let packet = Packet { number: 0, tag, whole: len, from: 0, data: &data };
                        inbox.take_packet(0, packet);
                        let _ = inbox.withdraw(number);
                    }
                    _ => {}
                }
                prop_assert!(buffer[..100].iter().chain(&buffer[300..]).all(|byte| *byte == 7));
                prop_assert!(inbox.cost(0) <= WAITING_MAX && inbox.cost(1) <= WAITING_MAX);
            }
        }
    }
}
