//! What the endpoint's lock guards: the port, its frames, and all links.

use crate::frames::Frames;
use crate::head::{Encoded, HEAD_BYTES_MAX, Head, Kind, Marks};
use crate::lent::Frame;
use crate::library::Library;
use crate::link::{Link, Taken, UNHEARD_MAX};
use crate::memory::Memory;
use crate::port::{Completion, Port, Refused};
use crate::sleep::Sleep;
use hikyaku::spi::{Loss, PACKET_BYTES_MAX, RemoteFailure, Token};
use hikyaku::{Error, Result};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// Bytes of the longest body.
pub const PAYLOAD_MAX: usize = 56 << 10;
/// Bytes of the longest message.
pub const MESSAGE_MAX: usize = HEAD_BYTES_MAX + PACKET_BYTES_MAX + PAYLOAD_MAX;
/// Bytes of a short one.
const SHORT_MAX: usize = 512;
/// Bytes of packets that wait at most: with them most messages are still short.
const PATIENT_MAX: usize = 256;
/// Short and long messages that may be under way, and those that may come before this rank looks.
pub const SHORT_COUNT: usize = 256;
pub const LONG_COUNT: usize = 32;
pub const RECEIVE_COUNT: usize = 64;

/// What there is for the interface.
pub enum Ready {
    /// A message of data from a rank: so many bytes of the frame, head and all.
    Message { from: usize, frame: Frame, bytes: usize },
    /// A rank is lost.
    Lost { rank: usize, why: Loss },
    /// A transfer has ended.
    Ended(Token, std::result::Result<(), RemoteFailure>),
}

/// All of it.
pub struct State {
    pub(crate) me: u32,
    pub(crate) marks: Marks,
    /// Of all ranks; empty where this transport is not used.
    addresses: Vec<Box<[u8]>>,
    /// Of those that were talked to.
    pub(crate) links: BTreeMap<u32, Link>,
    /// What ranks reach of each other's memory.
    pub(crate) memory: Memory,
    /// What one sleeps on.
    pub(crate) sleep: Arc<Sleep>,
    short: Frames,
    long: Frames,
    pub(crate) ready: VecDeque<Ready>,
    completions: Vec<Completion>,
    /// Ranks for which packets wait.
    patient: Vec<u32>,
    /// Frames to receive into, which libfabric did not take.
    unposted: Vec<Frame>,
    /// This rank wants to leave.
    in_a_hurry: bool,
    /// Messages that were not of this job, or made no sense.
    pub refused: u64,
    /// When the clock was read last.
    pub looked_at: Instant,
    /// Last: frames go before what they are registered with.
    pub port: Port,
}

impl State {
    /// For an endpoint whose peers have these addresses.
    ///
    /// # Errors
    /// When libfabric takes no frames.
    pub fn new(port: Port, me: usize, addresses: Vec<Box<[u8]>>, secret: &[u8; 32]) -> Result<State> {
        let sleep = Arc::new(Sleep::new()?);
        sleep.add(port.descriptor())?;
        let mut state = State {
            me: me as u32,
            marks: Marks::new(secret),
            addresses,
            links: BTreeMap::new(),
            memory: Memory::default(),
            sleep,
            short: Frames::new(SHORT_MAX, SHORT_COUNT),
            long: Frames::new(MESSAGE_MAX, LONG_COUNT),
            ready: VecDeque::new(),
            completions: Vec::new(),
            patient: Vec::new(),
            unposted: Vec::new(),
            in_a_hurry: false,
            refused: 0,
            looked_at: Instant::now(),
            port,
        };
        for _ in 0..RECEIVE_COUNT {
            let frame = state.port.frame(MESSAGE_MAX)?;
            state.receive_into(frame);
        }
        Ok(state)
    }

    /// The link to a rank, which is made when it is first needed.
    pub(crate) fn link(&mut self, rank: usize) -> Result<&mut Link> {
        let (me, size) = (self.me, self.addresses.len());
        let address = self.addresses.get(rank).filter(|address| !address.is_empty());
        let address = address.ok_or(Error::NoSuchRank { rank, size })?;
        match self.links.entry(rank as u32) {
            std::collections::btree_map::Entry::Occupied(entry) => Ok(entry.into_mut()),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let marks = (self.marks.of(me, rank as u32), self.marks.of(rank as u32, me));
                Ok(entry.insert(Link::new(self.port.insert(address)?, marks, Instant::now())))
            }
        }
    }

    /// Sends a packet of so many bytes, which `fill` writes, together with those that wait for one; false when there is no room now.
    ///
    /// # Errors
    /// When there is no such rank, or it is lost.
    pub fn send(&mut self, to: usize, bytes: usize, fill: impl FnOnce(&mut [u8])) -> Result<bool> {
        let link = self.link(to)?;
        if let Some(why) = &link.loss {
            return Err(why.error(to));
        }
        if !link.is_open() {
            return Ok(false);
        }
        let mut before = std::mem::take(&mut link.patient);
        if before.len() + bytes > MESSAGE_MAX - HEAD_BYTES_MAX {
            // Two messages.
            link.patient = before;
            if !self.send_patient(to as u32)? {
                return Ok(false);
            }
            before = Vec::new();
        }
        let sent = self.send_data(to, before.len() + bytes, |place| {
            let (first, second) = place.split_at_mut(before.len());
            first.copy_from_slice(&before);
            fill(second);
        });
        if let Some(link) = self.links.get_mut(&(to as u32)).filter(|link| link.is_open()) {
            if let Ok(true) = sent {
                before.clear();
            }
            link.patient = before;
        }
        sent
    }

    /// Has a packet wait for another one to travel with, or for the moment when there is nothing else to do; false if it must be sent.
    pub fn keep(&mut self, to: usize, bytes: usize, fill: impl FnOnce(&mut [u8])) -> Result<bool> {
        let link = self.link(to)?;
        let before = link.patient.len();
        if !link.is_open() || before + bytes > PATIENT_MAX {
            return Ok(false);
        }
        link.patient.resize(before + bytes, 0);
        fill(&mut link.patient[before..]);
        // Packets that have travelled with others have left their rank here.
        if before == 0 && !self.patient.contains(&(to as u32)) {
            self.patient.push(to as u32);
        }
        Ok(true)
    }

    /// Sends what has waited long enough; whether all of it.
    fn send_all_patient(&mut self) -> bool {
        let mut ranks = std::mem::take(&mut self.patient);
        // Of a rank that is lost by this, nothing is left.
        ranks.retain(|rank| matches!(self.send_patient(*rank), Ok(false)));
        // Meanwhile nobody has kept any.
        self.patient = ranks;
        self.patient.is_empty()
    }

    /// The same of one rank.
    fn send_patient(&mut self, rank: u32) -> Result<bool> {
        let Some(link) = self.links.get_mut(&rank).filter(|link| !link.patient.is_empty()) else { return Ok(true) };
        let mut packets = std::mem::take(&mut link.patient);
        let sent = self.send_data(rank as usize, packets.len(), |place| place.copy_from_slice(&packets));
        if let Some(link) = self.links.get_mut(&rank).filter(|link| link.is_open()) {
            if let Ok(true) = sent {
                packets.clear();
            }
            link.patient = packets;
        }
        sent
    }

    /// Sends a message of data of so many bytes behind its head, which `fill` writes; false when there is no room now.
    fn send_data(&mut self, to: usize, bytes: usize, fill: impl FnOnce(&mut [u8])) -> Result<bool> {
        let me = self.me;
        let link = self.link(to)?;
        let (head, address, is_full) = (link.head(me, Kind::Data), link.to, link.unheard() >= UNHEARD_MAX);
        let sent = !is_full && self.send_message(to, address, (&head, Kind::Data), bytes, fill)?;
        let link = self.links.get_mut(&(to as u32)).expect("it was there before");
        match sent {
            true => link.note_sent(),
            false => link.is_busy = true,
        }
        if link.due.ask {
            self.say(to as u32, Kind::Ask);
        }
        Ok(sent)
    }

    fn send_message(
        &mut self,
        rank: usize,
        to: u64,
        (head, kind): (&Encoded, Kind),
        bytes: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<bool> {
        let total = head.len() + bytes;
        let fill = |place: &mut [u8]| {
            let (before, behind) = place.split_at_mut(head.len());
            before.copy_from_slice(head);
            fill(behind);
        };
        // What is injected has no completion, and may still lie here. After a farewell the endpoint is closed, so that one has a frame.
        if kind != Kind::Leave && total <= self.port.offer().inject_max().min(SHORT_MAX) {
            let mut message = [0; SHORT_MAX];
            fill(&mut message[..total]);
            return match self.port.inject(&message[..total], to) {
                Ok(sent) => Ok(sent),
                Err(code) => {
                    self.fail(rank, code);
                    Ok(false)
                }
            };
        }
        let frames = if total <= self.short.bytes() { &mut self.short } else { &mut self.long };
        let Some(mut frame) = frames.take(&self.port)? else { return Ok(false) };
        fill(&mut frame.bytes_mut()[..total]);
        match self.port.send(frame, total, to) {
            Ok(()) => Ok(true),
            Err(Refused::Again(frame)) => {
                self.give_back(frame);
                Ok(false)
            }
            Err(Refused::Never(frame, code)) => {
                self.give_back(frame);
                self.fail(rank, code);
                Ok(false)
            }
        }
    }

    /// A frame that was sent, or was to be.
    fn give_back(&mut self, frame: Frame) {
        match frame.bytes().len() == self.short.bytes() {
            true => self.short.give_back(frame),
            false => self.long.give_back(frame),
        }
    }

    /// Libfabric does not send to a rank any more.
    #[cold]
    pub(crate) fn fail(&mut self, rank: usize, code: isize) {
        let why = || Library::get().map_or_else(|_| code.to_string(), |library| library.error_text(code));
        if let Some(link) = self.links.get_mut(&(rank as u32)) {
            link.break_off(Instant::now(), why);
        }
    }

    fn lose(&mut self, rank: usize, why: Loss) {
        let Some(link) = self.links.get_mut(&(rank as u32)).filter(|link| link.loss.is_none()) else { return };
        let early: Vec<_> = link.lose(why.clone()).collect();
        early.into_iter().for_each(|frame| self.receive_into(frame));
        self.give_up_all(rank as u32);
        if let Loss::Unreachable(_) = why {
            self.port.note_cut();
        }
        self.ready.push_back(Ready::Lost { rank, why });
    }

    /// Has libfabric receive into a frame.
    pub fn receive_into(&mut self, frame: Frame) {
        if let Err(Refused::Again(frame) | Refused::Never(frame, _)) = self.port.receive(frame) {
            self.unposted.push(frame);
        }
    }

    /// What waits for the interface.
    pub fn next(&mut self) -> Option<Ready> {
        self.ready.pop_front()
    }

    /// Takes what has completed.
    pub fn look(&mut self) {
        let mut completions = std::mem::take(&mut self.completions);
        self.port.completions(&mut completions);
        self.look_at_transfers();
        if !completions.is_empty() {
            let now = Instant::now();
            self.looked_at = now;
            completions.drain(..).for_each(|completion| self.take(now, completion));
            self.say_due();
        } else if !self.patient.is_empty() {
            // In a conversation they ride on what this rank says next; here it has nothing to say.
            self.send_all_patient();
        }
        self.completions = completions;
        if let Some(frame) = self.unposted.pop() {
            self.receive_into(frame);
        }
    }

    fn take(&mut self, now: Instant, completion: Completion) {
        match completion {
            Completion::Sent(frame) => self.give_back(frame),
            Completion::Received(frame, bytes) => self.hear(now, frame, bytes),
            Completion::Failed { frame, is_receive: true, .. } => {
                self.refused += 1;
                self.receive_into(frame);
            }
            Completion::Failed { frame, is_receive: false, code } => {
                let head = Head::decode(frame.bytes()).map(|(head, _)| head);
                self.give_back(frame);
                let is_its = |link: &Link| head.is_some_and(|head| head.mark == link.marks.0);
                let rank = self.links.iter().find(|(_, link)| is_its(link)).map(|(rank, _)| *rank as usize);
                if let Some(rank) = rank {
                    self.fail(rank, code);
                }
            }
        }
    }

    /// Takes a message; nothing of it is believed.
    fn hear(&mut self, now: Instant, frame: Frame, bytes: usize) {
        let head = Head::decode(&frame.bytes()[..bytes]).map(|(head, _)| head);
        let rank = head.map_or(usize::MAX, |head| head.from as usize);
        let (Some(head), Ok(link)) = (head, self.link(rank)) else { return self.refuse(frame) };
        if head.mark != link.marks.1 {
            return self.refuse(frame);
        }
        if link.loss.is_some() {
            return self.receive_into(frame);
        }
        link.note(now, &head);
        match head.kind {
            Kind::Data => match link.take(head.number, frame, bytes) {
                Taken::Next(frame, bytes) => {
                    let mut next = Some((frame, bytes));
                    while let Some((frame, bytes)) = next {
                        self.ready.push_back(Ready::Message { from: rank, frame, bytes });
                        next = self.links.get_mut(&head.from).and_then(Link::next_early);
                    }
                }
                Taken::Early => return,
                Taken::Repeated(frame) => return self.refuse(frame),
            },
            Kind::Ask => {
                link.due.answer = true;
                self.receive_into(frame);
            }
            Kind::Answer => self.receive_into(frame),
            Kind::Leave => {
                link.note_leave(head.number);
                self.receive_into(frame);
            }
        }
        if self.links.get(&head.from).is_some_and(Link::has_left) {
            self.lose(rank, Loss::Left);
        }
    }

    fn refuse(&mut self, frame: Frame) {
        self.refused += 1;
        self.receive_into(frame);
    }

    /// Says what remains to be said, as far as there is room.
    fn say_due(&mut self) {
        let ranks: Vec<u32> = self.links.iter().filter(|(_, link)| link.due.any()).map(|(rank, _)| *rank).collect();
        for rank in ranks {
            for kind in [Kind::Answer, Kind::Ask, Kind::Leave] {
                self.say(rank, kind);
            }
        }
    }

    fn say(&mut self, rank: u32, kind: Kind) {
        let me = self.me;
        let Some(link) = self.links.get_mut(&rank) else { return };
        if !link.due.of(kind).is_some_and(|due| *due) {
            return;
        }
        let (head, to) = (link.head(me, kind), link.to);
        // It stays due while there is no room. To a rank that cannot be sent to any more, nothing is due.
        if let Ok(true) = self.send_message(rank as usize, to, (&head, kind), 0, |_| {})
            && let Some(due) = self.links.get_mut(&rank).and_then(|link| link.due.of(kind))
        {
            *due = false;
        }
    }

    /// Sees to the time. Whether anybody's silence means anything, and whether something remains to be said.
    pub fn tick(&mut self, now: Instant) -> (bool, bool) {
        self.looked_at = now;
        self.look_at_all_reaches();
        let in_a_hurry = self.in_a_hurry;
        let lost = |(rank, link): (&u32, &mut Link)| Some((*rank as usize, link.tick(now, in_a_hurry)?));
        let lost: Vec<_> = self.links.iter_mut().filter_map(lost).collect();
        lost.into_iter().for_each(|(rank, why)| self.lose(rank, why));
        self.say_due();
        let has_due = !self.send_all_patient() || self.links.values().any(|link| link.due.any());
        (self.links.values().any(Link::is_expecting), has_due)
    }

    /// Whether something waits for the interface.
    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Whether one may sleep; if not, something may have come.
    pub fn may_sleep(&mut self) -> bool {
        self.port.may_sleep() && self.may_reaches_sleep()
    }

    /// From now on the silence of a rank is noticed.
    pub fn watch(&mut self, rank: usize) {
        if let Ok(link) = self.link(rank) {
            link.is_watched = true;
            link.due.ask |= link.is_open();
        }
        self.say_due();
    }

    /// Whether everything that was sent was heard, or never will be: its rank is lost, or has ended. From now on peers are asked
    /// at once.
    pub fn is_settled(&mut self, has_ended: &dyn Fn(usize) -> bool) -> bool {
        self.in_a_hurry = true;
        self.send_all_patient();
        self.links.iter().all(|(rank, link)| link.is_settled() || has_ended(*rank as usize))
    }

    /// This rank leaves.
    pub fn leave(&mut self) {
        self.send_all_patient();
        self.links.values_mut().filter(|link| link.is_open()).for_each(|link| link.due.leave = true);
        self.say_due();
    }

    /// Whether libfabric has sent everything, and nothing remains to be said. Version 2 says so of what it keeps, so what peers have not
    /// heard may still be here, and a farewell behind it.
    pub fn has_sent_all(&mut self) -> bool {
        self.look();
        self.say_due();
        let is_over = |link: &Link| !link.is_open() || !link.due.leave && link.unheard() == 0;
        self.short.under_way() + self.long.under_way() == 0 && self.links.values().all(is_over)
    }
}
