//! Reliable links between all ranks, over a wire with faults: what was sent arrives once and in order.

use super::agenda::What;
use super::course::{Course, Time};
use super::faults::Faults;
use super::wire::{Load, Wire};
use crate::transport::packet::{self, PACKET_BYTES_MAX};
use crate::transport::reliable::{Counters, Link, Refusal, Settings};
use crate::transport::{Parcel, TAIL_BYTES_MAX};
use std::collections::{HashMap, HashSet, VecDeque};

/// Payload of a packet at most: one that is lost is sent again as a whole.
pub(super) const PAYLOAD_MAX: usize = 32 * 1024;

/// All links, by (this end, other end).
pub(super) struct Mesh {
    pub faults: Faults,
    settings: Settings,
    /// How long a frame is held up, if the faults do not say.
    delay: Time,
    lines: HashMap<(usize, usize), Line>,
    /// (who, whom) it cannot reach any more: neither sends to the other, nor listens to it.
    lost: HashSet<(usize, usize)>,
    /// Of links that are gone.
    past: Counters,
}

/// One end of a link.
struct Line {
    link: Link,
    /// What does not fit its window.
    backlog: VecDeque<Box<[u8]>>,
    /// When it is woken, if that is planned.
    alarm: Option<Time>,
    /// Packets sent here that have not arrived.
    under_way: usize,
}

impl Mesh {
    /// Over ways that take at most `way`.
    pub fn new(faults: Faults, way: Time) -> Mesh {
        let longest = if faults.delay.is_zero() { 10 * way } else { super::faults::picoseconds(faults.delay) };
        let message_bytes_max = PACKET_BYTES_MAX + PAYLOAD_MAX + TAIL_BYTES_MAX;
        let settings = Settings { message_bytes_max, ..Settings::for_round_trip(2 * (way + longest)) };
        Mesh {
            faults,
            settings,
            delay: longest,
            lines: HashMap::new(),
            lost: HashSet::new(),
            past: Counters::default(),
        }
    }

    /// What has happened on all links.
    pub fn counters(&self) -> Counters {
        let mut all = self.past;
        self.lines.values().for_each(|line| all += line.link.counters());
        all
    }

    fn line(&mut self, here: usize, there: usize) -> &mut Line {
        let settings = &self.settings;
        self.lines.entry((here, there)).or_insert_with(|| Line {
            link: Link::new(*settings, 1),
            backlog: VecDeque::new(),
            alarm: None,
            under_way: 0,
        })
    }
}

impl Course {
    /// Whether a rank has found out that it cannot reach another.
    pub(super) fn has_lost(&self, here: usize, there: usize) -> bool {
        self.mesh.as_ref().is_some_and(|mesh| mesh.lost.contains(&(here, there)))
    }

    /// A rank has found out that it cannot reach another, and does not listen to it any more. False if it knew.
    pub(super) fn note_lost(&mut self, here: usize, there: usize) -> bool {
        self.forget_link(here, there);
        self.mesh.as_mut().is_some_and(|mesh| mesh.lost.insert((here, there)))
    }

    /// Gives a packet to the link to its target.
    pub(super) fn post(&mut self, wire: &Wire, to: usize, start: Time, parcel: &Parcel) {
        let from = parcel.source;
        let mesh = self.mesh.as_mut().expect("a wire with faults");
        let line = mesh.line(from, to);
        line.backlog.push_back(encode(parcel));
        line.under_way += 1;
        self.pump(wire, from, to, start);
    }

    /// Puts on the wire what a link has to send.
    fn pump(&mut self, wire: &Wire, here: usize, there: usize, start: Time) {
        let now = self.now;
        loop {
            let mesh = self.mesh.as_mut().expect("a wire with faults");
            let delay = mesh.delay;
            let line = mesh.line(here, there);
            while let Some(message) = line.backlog.pop_front() {
                if let Err(refused) = line.link.send(message) {
                    assert!(refused.reason != Refusal::TooLong, "packets are cut to size");
                    line.backlog.push_front(refused.message);
                    break;
                }
            }
            let Some(mut frame) = line.link.next_frame(now) else { break };
            let load = Load { bytes: frame.len(), at_hand: false, kept: false, handling: 0 };
            let arrival = wire.arrival(start, here, there, load, &mut self.stages);
            let mesh = self.mesh.as_ref().expect("a wire with faults");
            let fate = mesh.faults.fate(&mut self.chance, here, there, start, delay);
            if let Some(bit) = fate.damage {
                let bit = bit as usize % (frame.len() * 8);
                frame[bit / 8] ^= 1 << (bit % 8);
            }
            for later in fate.copies {
                self.trace(here, there, "frame", frame.len(), start, arrival + later);
                self.plan(arrival + later, What::Frame { from: here, to: there, bytes: frame.as_slice().into() });
            }
        }
        self.set_alarm(here, there);
    }

    fn set_alarm(&mut self, here: usize, there: usize) {
        let line = self.mesh.as_mut().expect("a wire with faults").line(here, there);
        let Some(next) = line.link.next_timeout() else { return };
        if line.alarm.is_none_or(|planned| next < planned) {
            line.alarm = Some(next);
            self.plan(next, What::Tick { here, there });
        }
    }

    /// The time of a link has come; false if its other end cannot be reached any more.
    pub(super) fn tick(&mut self, wire: &Wire, here: usize, there: usize) -> bool {
        let (now, dead) = (self.now, self.ranks[here].dead);
        let line = self.mesh.as_mut().and_then(|mesh| mesh.lines.get_mut(&(here, there)));
        let Some(line) = line.filter(|_| !dead) else { return true };
        if line.alarm == Some(now) {
            line.alarm = None;
        }
        line.link.tick(now);
        if line.link.is_broken() {
            return false;
        }
        self.pump(wire, here, there, now);
        true
    }

    /// A frame has come; gives the packets that are complete now.
    pub(super) fn receive_frame(&mut self, wire: &Wire, from: usize, to: usize, bytes: &[u8]) -> Vec<Parcel> {
        let now = self.now;
        let Some(mesh) = self.mesh.as_mut().filter(|_| !self.ranks[to].dead && !self.ranks[from].forgotten) else {
            return Vec::new();
        };
        if mesh.lost.contains(&(to, from)) {
            return Vec::new();
        }
        let line = mesh.line(to, from);
        line.link.receive(now, bytes);
        let messages: Vec<_> = std::iter::from_fn(|| line.link.next_message()).collect();
        self.pump(wire, to, from, now);
        if let Some(line) = self.mesh.as_mut().and_then(|mesh| mesh.lines.get_mut(&(from, to))) {
            line.under_way -= messages.len().min(line.under_way);
        }
        messages.iter().filter_map(|message| decode(from, message)).collect()
    }

    /// A rank is known to be dead: nobody sends to it any more.
    pub(super) fn forget_links(&mut self, rank: usize) {
        let Some(mesh) = &mut self.mesh else { return };
        let mut waiting: Vec<_> =
            mesh.lines.keys().copied().filter(|(here, there)| *here == rank || *there == rank).collect();
        waiting.sort_unstable();
        waiting.into_iter().for_each(|(here, there)| self.forget_link(here, there));
    }

    /// What `here` has to send to `there` is lost.
    pub(super) fn forget_link(&mut self, here: usize, there: usize) {
        let Some(mesh) = &mut self.mesh else { return };
        let Some(line) = mesh.lines.remove(&(here, there)) else { return };
        mesh.past += line.link.counters();
        self.ranks[here].under_way -= line.under_way;
        self.depart_when_quiet(here);
    }
}

fn encode(parcel: &Parcel) -> Box<[u8]> {
    let head = packet::encode(&parcel.packet, parcel.payload.len() as u32);
    [&head[..], &parcel.payload].concat().into()
}

/// The inverse; `None` for what is none.
fn decode(source: usize, bytes: &[u8]) -> Option<Parcel> {
    let (packet, payload_bytes, payload) = packet::decode(bytes)?;
    (payload.len() == payload_bytes).then(|| Parcel { source, packet, payload: payload.into() })
}
