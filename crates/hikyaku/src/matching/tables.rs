//! The receives that wait for messages, and the messages that wait for receives.
//!
//! Both sides are found by labels, so it does not matter how many there are. A receive is listed once, under the label of its pattern.
//! A message is listed under its label for every shape of pattern that receives have had, and besides in the order of its coming.
//!
//! The last receive and the last message are not listed before there is another one: mostly each is found, and gone, before.

use super::arrival::{Arrival, Content, Envelope};
use super::buffer::Room;
use super::chains::{Chain, Chains};
use super::index::Index;
use super::keys::{Pattern, Shape};
use super::wire::Offer;
use crate::error::{Error, Result};
use crate::planted::{Bug, planted};
use std::collections::VecDeque;

/// Everything that handlers and the program both touch.
#[derive(Debug)]
pub(super) struct Tables {
    receives: Chains<Receive, 1>,
    /// Those that wait, by the shapes of their patterns.
    waiting: Vec<Index>,
    /// The last one, if it waits and is not listed.
    last_receive: Option<u32>,
    arrivals: Chains<Arrival, ARRIVAL_CHAINS>,
    /// The last one, if it is not listed.
    last_arrival: Option<u32>,
    in_order: Chain,
    /// The same, by the shapes of the patterns that were asked for.
    listed: Vec<Index>,
    /// Of the next message or receive; never used again.
    next: u64,
    tasks: Tasks,
    /// What each rank has sent unasked and is to be told of: that there is room for it again.
    owed: Vec<u32>,
    streams: Vec<Stream>,
    /// Ranks that have begun to write to their lanes, which are not read yet.
    begun: Vec<usize>,
    /// Nobody receives any more.
    is_closed: bool,
}

/// What has come of one rank, in two ways: by its lane, and told by active messages.
#[derive(Debug, Default)]
struct Stream {
    /// How many lines of the lane were taken, and how many messages that came otherwise.
    lines: u64,
    told: u64,
    /// Told, but after lines that were not taken yet: after how many, the key and the message. Mostly there is nothing.
    #[expect(clippy::box_collection, reason = "a word for each of many ranks of which nothing waits")]
    behind: Option<Box<VecDeque<(u64, u64, Content)>>>,
}

/// One for the order of coming, the others by shapes.
const ARRIVAL_CHAINS: usize = 5;

/// Shapes of which no receive waits are forgotten when there are more than so many.
const SHAPES_KEPT: usize = 8;

/// What a rank may send unasked to another one: bytes of messages, each with [`OVERHEAD`].
pub(super) const BUDGET: u32 = 1 << 20;
const OVERHEAD: u32 = 64;
/// When it is told that there is room again.
const DUE: u32 = BUDGET / 4;

/// What an unasked message takes of that.
pub(super) fn cost(bytes: usize) -> u32 {
    bytes as u32 + OVERHEAD
}

/// A receive, by its number and order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReceiveId {
    number: u32,
    order: u64,
}

#[derive(Debug)]
struct Receive {
    pattern: Pattern,
    room: Room,
    state: State,
}

#[derive(Debug)]
enum State {
    /// For a message.
    Waits,
    /// The message is long, and on its way.
    Moves {
        arrival: Arrival,
        order: u64,
    },
    Ended(Result<Envelope>),
}

/// What only the program's own thread can do.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    /// Receives whose long messages are to be moved.
    pub matched: Vec<ReceiveId>,
    /// Offers of this rank that are called: by whom, which, into which slot.
    pub called: Vec<(usize, u64, usize)>,
    /// Credit that came.
    pub credit: Vec<(usize, u64)>,
    /// Ranks that are owed much.
    pub due: Vec<usize>,
}

impl Tasks {
    pub fn is_empty(&self) -> bool {
        self.matched.is_empty() && self.called.is_empty() && self.credit.is_empty() && self.due.is_empty()
    }
}

/// A long message to be moved.
pub(super) struct Transfer {
    pub source: usize,
    pub offer: Offer,
    pub start: *mut u8,
    pub bytes: usize,
}

impl Tables {
    /// Of a rank of a job with `size` ranks. `first` begins the orders, which no other tables have.
    pub fn new(size: usize, first: u64) -> Tables {
        Tables {
            receives: Chains::default(),
            waiting: vec![Index::new(Shape::EXACT, 0)],
            last_receive: None,
            arrivals: Chains::default(),
            last_arrival: None,
            in_order: Chain::EMPTY,
            listed: vec![Index::new(Shape::EXACT, 1)],
            next: first,
            tasks: Tasks::default(),
            owed: vec![0; size],
            streams: (0..size).map(|_| Stream::default()).collect(),
            begun: Vec::new(),
            is_closed: false,
        }
    }

    fn order(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Nobody receives any more: what waits is dropped, and what comes.
    pub fn close(&mut self) {
        self.is_closed = true;
        self.arrivals = Chains::default();
        self.last_arrival = None;
        self.in_order = Chain::EMPTY;
        self.listed = vec![Index::new(Shape::EXACT, 1)];
        self.streams.iter_mut().for_each(|stream| stream.behind = None);
    }

    /// Whether the program's thread has something to do.
    #[inline(always)]
    pub fn has_tasks(&self) -> bool {
        !self.tasks.is_empty() || !self.begun.is_empty()
    }

    pub fn take_tasks(&mut self, into: &mut Tasks) {
        into.matched.append(&mut self.tasks.matched);
        into.called.append(&mut self.tasks.called);
        into.credit.append(&mut self.tasks.credit);
        into.due.append(&mut self.tasks.due);
    }

    pub fn call(&mut self, by: usize, which: u64, slot: usize) {
        if !self.is_closed {
            self.tasks.called.push((by, which, slot));
        }
    }

    pub fn credit(&mut self, from: usize, bytes: u64) {
        if !self.is_closed {
            self.tasks.credit.push((from, bytes));
        }
    }

    /// What a rank is owed.
    pub fn owed(&self, rank: usize) -> u32 {
        self.owed[rank]
    }

    /// It was told of so much.
    pub fn pay(&mut self, rank: usize, bytes: u32) {
        self.owed[rank] -= bytes;
        if self.owed[rank] >= DUE {
            self.tasks.due.push(rank);
        }
    }

    /// An unasked message does not wait any more.
    fn owe(&mut self, rank: u32, bytes: usize) {
        let owed = &mut self.owed[rank as usize];
        let before = *owed;
        // A peer that sends more than it may is told of as much as can be counted.
        *owed = before.saturating_add(cost(bytes));
        if before < DUE && *owed >= DUE {
            self.tasks.due.push(rank as usize);
        }
    }
}

/// What comes, in the order in which each rank has sent it.
impl Tables {
    /// A message has come with its bytes, which was sent after so many lines of the lane.
    #[inline]
    pub fn hear_message(&mut self, source: usize, key: u64, data: &[u8], after: u64) {
        match self.has_lines(source, after) {
            true => {
                self.bring(source, key, data);
                self.streams[source].told += 1;
            }
            false => self.put_behind(source, after, key, Content::of(data)),
        }
    }

    /// A message is offered, which was sent after so many lines of the lane.
    pub fn hear_offer(&mut self, source: usize, key: u64, offer: Offer, after: u64) {
        match self.has_lines(source, after) {
            true => {
                self.offer(source, key, offer);
                self.streams[source].told += 1;
            }
            false => self.put_behind(source, after, key, Content::Offered(offer)),
        }
    }

    /// A rank has begun to write to its lane.
    pub fn hear_lane(&mut self, source: usize) {
        if !self.is_closed {
            self.begun.push(source);
        }
    }

    /// Ranks that have begun to write to their lanes since this was asked.
    pub fn take_begun(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.begun)
    }

    /// Whether so many lines of a rank were taken.
    #[inline(always)]
    fn has_lines(&self, source: usize, count: u64) -> bool {
        self.streams[source].lines >= count || planted(Bug::LaneOvertaken)
    }

    #[cold]
    fn put_behind(&mut self, source: usize, after: u64, key: u64, content: Content) {
        if !self.is_closed {
            self.streams[source].behind.get_or_insert_default().push_back((after, key, content));
        }
    }

    /// Whether so many messages of a rank were taken that did not come by its lane.
    #[inline(always)]
    pub fn has_told(&self, source: usize, count: u64) -> bool {
        self.streams[source].told >= count
    }

    /// Takes the next frame of a rank, of so many lines. Everything that was told before it has been taken ([`Tables::has_told`]).
    #[inline]
    pub fn take_frame(&mut self, source: usize, key: u64, data: &[u8], lines: u64) {
        self.streams[source].lines += lines;
        self.bring(source, key, data);
        self.take_behind(source);
    }

    /// Takes what was told of a rank and is not behind any frame any more.
    #[inline]
    fn take_behind(&mut self, source: usize) {
        while self.streams[source].behind.is_some() && self.take_first_behind(source) {}
    }

    #[cold]
    fn take_first_behind(&mut self, source: usize) -> bool {
        let Stream { lines, behind, told } = &mut self.streams[source];
        let Some(queue) = behind.as_deref_mut().filter(|queue| queue.front().is_none_or(|(after, ..)| after <= lines))
        else {
            return false;
        };
        let Some((_, key, content)) = queue.pop_front() else {
            *behind = None;
            return false;
        };
        *told += 1;
        match content {
            Content::Short(bytes, data) => self.bring(source, key, &data[..bytes as usize]),
            Content::Long(data) => self.bring(source, key, &data),
            Content::Offered(offer) => self.offer(source, key, offer),
        }
        true
    }
}

/// Messages.
impl Tables {
    /// A message has come with its bytes.
    #[inline]
    pub fn bring(&mut self, source: usize, key: u64, data: &[u8]) {
        if self.is_closed {
            return;
        }
        let source = source as u32;
        match self.first_waiting(source, key) {
            Some(number) => {
                self.unlist_receive(number);
                self.deliver(number, source, key, data);
            }
            None => {
                let order = self.order();
                self.keep(order, Arrival { source, key, content: Content::of(data) });
            }
        }
    }

    /// A message is offered.
    pub fn offer(&mut self, source: usize, key: u64, offer: Offer) {
        if !self.is_closed {
            let order = self.order();
            self.match_offered(order, Arrival { source: source as u32, key, content: Content::Offered(offer) });
        }
    }

    fn match_offered(&mut self, order: u64, arrival: Arrival) {
        match self.first_waiting(arrival.source, arrival.key) {
            Some(number) => {
                self.unlist_receive(number);
                self.move_to(number, order, arrival);
            }
            None => self.keep(order, arrival),
        }
    }

    /// The first of the receives that take a message.
    #[inline]
    fn first_waiting(&self, source: u32, key: u64) -> Option<u32> {
        let takes = |receive: &Receive| receive.pattern.matches(source, key);
        let last = || self.last_receive.filter(|number| self.receives.get(*number).is_some_and(takes));
        match planted(Bug::LaterReceiveFirst) {
            true => last().or_else(|| self.first_listed(source, key)),
            false => self.first_listed(source, key).or_else(last),
        }
    }

    #[inline]
    fn first_listed(&self, source: u32, key: u64) -> Option<u32> {
        if let [exact] = &self.waiting[..] {
            return exact.first(exact.shape.label(source, key));
        }
        let filled = self.waiting.iter().filter(|index| !index.is_empty());
        let found = filled.filter_map(|index| index.first(index.shape.label(source, key)));
        match planted(Bug::LaterReceiveFirst) {
            true => found.max_by_key(|number| self.receives.order(*number)),
            false => found.min_by_key(|number| self.receives.order(*number)),
        }
    }

    fn keep(&mut self, order: u64, arrival: Arrival) {
        let number = self.arrivals.add(order, arrival);
        // One that comes back may be before others.
        let newest = self.last_arrival.or(self.in_order.last());
        let is_last = newest.is_none_or(|newest| self.arrivals.order(newest) < order);
        let listed = if is_last { self.last_arrival.replace(number) } else { Some(number) };
        if let Some(number) = listed {
            self.list_arrival(number);
        }
    }

    fn list_arrival(&mut self, number: u32) {
        let Some(&Arrival { source, key, .. }) = self.arrivals.get(number) else { return };
        self.arrivals.link(&mut self.in_order, 0, number);
        for index in &mut self.listed {
            let label = index.shape.label(source, key);
            index.add(&mut self.arrivals, label, number);
        }
    }

    /// Takes the first message out that a pattern takes, with its order.
    #[inline]
    fn take(&mut self, pattern: Pattern) -> Option<(u64, Arrival)> {
        let number = self.first_arrival(pattern)?;
        let order = self.arrivals.order(number);
        if self.last_arrival == Some(number) {
            self.last_arrival = None;
        } else {
            self.unlist_arrival(number);
        }
        self.arrivals.remove(number).map(|arrival| (order, arrival))
    }

    fn unlist_arrival(&mut self, number: u32) {
        let Some(&Arrival { source, key, .. }) = self.arrivals.get(number) else { return };
        self.arrivals.unlink(&mut self.in_order, 0, number);
        for index in &mut self.listed {
            let label = index.shape.label(source, key);
            index.remove(&mut self.arrivals, label, number);
        }
    }

    #[inline]
    fn first_arrival(&mut self, pattern: Pattern) -> Option<u32> {
        let last = self.last_arrival;
        // All that are listed came before it.
        let has_listed = self.arrivals.len() > usize::from(last.is_some());
        if has_listed && let Some(listed) = self.first_listed_arrival(pattern) {
            return Some(listed);
        }
        let matches = |arrival: &Arrival| pattern.matches(arrival.source, arrival.key);
        last.filter(|number| self.arrivals.get(*number).is_some_and(matches))
    }

    fn first_listed_arrival(&mut self, pattern: Pattern) -> Option<u32> {
        match self.list_by(pattern.shape()) {
            Some(index) => index.first(pattern.label()),
            None => {
                let mut all = self.arrivals.walk(&self.in_order, 0);
                all.find(|(_, arrival)| pattern.matches(arrival.source, arrival.key)).map(|(number, _)| number)
            }
        }
    }

    /// The messages by the labels of a shape, from now on if it is a new one; `None` if there are too many shapes.
    #[inline]
    fn list_by(&mut self, shape: Shape) -> Option<&Index> {
        match self.listed.iter().position(|index| index.shape == shape) {
            Some(place) => self.listed.get(place),
            None => self.list_anew(shape),
        }
    }

    #[cold]
    fn list_anew(&mut self, shape: Shape) -> Option<&Index> {
        if self.listed.len() + 1 == ARRIVAL_CHAINS {
            return None;
        }
        let mut index = Index::new(shape, self.listed.len() + 1);
        let label = |(number, arrival): (u32, &Arrival)| (number, shape.label(arrival.source, arrival.key));
        let all: Vec<_> = self.arrivals.walk(&self.in_order, 0).map(label).collect();
        all.into_iter().for_each(|(number, label)| index.add(&mut self.arrivals, label, number));
        self.listed.push(index);
        self.listed.last()
    }

    /// What is known of the first message that a pattern takes.
    pub fn probe(&mut self, pattern: Pattern) -> Option<Envelope> {
        let number = self.first_arrival(pattern)?;
        self.arrivals.get(number).map(Arrival::envelope)
    }
}

/// Receives.
impl Tables {
    /// A receive begins; whether it has ended when this returns.
    #[inline]
    pub fn post(&mut self, pattern: Pattern, room: Room) -> (ReceiveId, bool) {
        let order = self.order();
        let number = self.receives.add(order, Receive { pattern, room, state: State::Waits });
        let id = ReceiveId { number, order };
        let Some((order, arrival)) = self.take(pattern) else {
            if let Some(before) = self.last_receive.replace(number) {
                self.list_receive(before);
            }
            return (id, false);
        };
        match &arrival.content {
            Content::Short(bytes, data) => {
                self.deliver(number, arrival.source, arrival.key, &data[..*bytes as usize]);
            }
            Content::Long(data) => self.deliver(number, arrival.source, arrival.key, data),
            Content::Offered(_) => {
                self.move_to(number, order, arrival);
                return (id, false);
            }
        }
        (id, true)
    }

    #[inline]
    fn list_receive(&mut self, number: u32) {
        let Some(pattern) = self.receives.get(number).map(|receive| receive.pattern) else { return };
        let place = self.waiting.iter().position(|index| index.shape == pattern.shape()).unwrap_or_else(|| {
            if self.waiting.len() > SHAPES_KEPT {
                self.waiting.retain(|index| !index.is_empty() || index.shape == Shape::EXACT);
            }
            self.waiting.push(Index::new(pattern.shape(), 0));
            self.waiting.len() - 1
        });
        self.waiting[place].add(&mut self.receives, pattern.label(), number);
    }

    #[inline]
    fn unlist_receive(&mut self, number: u32) {
        if self.last_receive == Some(number) {
            self.last_receive = None;
            return;
        }
        let Some(pattern) = self.receives.get(number).map(|receive| receive.pattern) else { return };
        if let Some(index) = self.waiting.iter_mut().find(|index| index.shape == pattern.shape()) {
            index.remove(&mut self.receives, pattern.label(), number);
        }
    }

    #[inline]
    fn deliver(&mut self, number: u32, source: u32, key: u64, data: &[u8]) {
        self.owe(source, data.len());
        let Some(receive) = self.receives.get_mut(number) else { return };
        let envelope = Envelope { source: source as usize, key, bytes: data.len() };
        let ended = receive.room.fill(data).and_then(|fits| match fits {
            true => Ok(envelope),
            false => Err(overlong(envelope, receive.room.bytes())),
        });
        receive.state = State::Ended(ended);
    }

    fn move_to(&mut self, number: u32, order: u64, arrival: Arrival) {
        let id = ReceiveId { number, order: self.receives.order(number) };
        let Some(receive) = self.receives.get_mut(number) else { return };
        receive.state = State::Moves { arrival, order };
        self.tasks.matched.push(id);
    }

    fn get(&mut self, id: ReceiveId) -> Option<&mut Receive> {
        self.receives.get(id.number).filter(|_| self.receives.order(id.number) == id.order)?;
        self.receives.get_mut(id.number)
    }

    /// What is to be moved for a receive, if it still is.
    pub fn transfer(&mut self, id: ReceiveId) -> Option<Transfer> {
        let Receive { room, state, .. } = self.get(id)?;
        let State::Moves { arrival: Arrival { source, content: Content::Offered(offer), .. }, .. } = state else {
            return None;
        };
        Some(Transfer { source: *source as usize, offer: *offer, start: room.start(), bytes: room.bytes() })
    }

    /// The long message of a receive was called into a slot.
    pub fn called(&mut self, id: ReceiveId, into: usize) {
        let Some(Receive { state: State::Moves { arrival, .. }, .. }) = self.get(id) else { return };
        if let Content::Offered(offer) = &mut arrival.content {
            offer.slot = Some(into);
        }
    }

    /// The long message of a receive has come, or has failed to.
    pub fn end(&mut self, id: ReceiveId, result: Result<usize>) {
        let Some(receive) = self.get(id) else { return };
        let State::Moves { arrival, .. } = &receive.state else { return };
        let envelope = arrival.envelope();
        receive.state = State::Ended(match result {
            Ok(bytes) => receive.room.finish(bytes).map(|()| Envelope { bytes, ..envelope }),
            Err(Error::Truncated { .. }) => Err(overlong(envelope, receive.room.bytes())),
            Err(error) => Err(error),
        });
    }

    /// How a receive has ended, if it has. Then it is forgotten.
    #[inline]
    pub fn ended(&mut self, id: ReceiveId) -> Option<Result<Envelope>> {
        let State::Ended(_) = self.get(id)?.state else { return None };
        match self.receives.remove(id.number)?.state {
            State::Ended(result) => Some(result),
            State::Waits | State::Moves { .. } => None,
        }
    }

    /// Forgets a receive, for which nothing is moved any more; how it has ended, if it has. A message that was on its way waits for
    /// another one, if its sender is one that can still send it.
    pub fn withdraw(&mut self, id: ReceiveId, can_send: impl Fn(usize) -> bool) -> Option<Result<Envelope>> {
        if let State::Waits = self.get(id)?.state {
            self.unlist_receive(id.number);
        }
        match self.receives.remove(id.number)?.state {
            State::Ended(result) => return Some(result),
            State::Moves { arrival, order }
                if !self.is_closed && can_send(arrival.source as usize) && !planted(Bug::WithdrawnMessageLost) =>
            {
                self.match_offered(order, arrival);
            }
            State::Waits | State::Moves { .. } => {}
        }
        None
    }
}

fn overlong(envelope: Envelope, room: usize) -> Error {
    let Envelope { source: from, key, bytes } = envelope;
    Error::Overlong { from, key, bytes, room }
}
