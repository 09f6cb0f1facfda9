//! For tests: two links, the callers at both ends, and between them a wire with every fault there is, in virtual time. A run
//! is decided by its [`Plan`] alone, and is checked at every step.

use super::frame::{Body, Frame};
use super::{Counters, Fit, Link, Settings, Time};
use crate::transport::sim::chance::Chance;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// How long a frame takes when nothing delays it.
pub const LATENCY_PS: Time = 1_000_000;
pub const ROUND_TRIP_PS: Time = 2 * LATENCY_PS;
/// Time between looks of a caller that is slow: longer than a timeout.
const SLOW_PS: Time = 20 * LATENCY_PS;
const EPOCH: u64 = 7;

/// Everything about a run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub seed: u64,
    pub window: usize,
    pub message_bytes_max: usize,
    /// Messages that each end sends.
    pub messages: [usize; 2],
    /// Whether the caller at each end looks for messages only now and then.
    pub is_slow: [bool; 2],
    /// Whether timeout and window follow the path.
    pub is_fitted: bool,
    pub faults: Faults,
}

/// What the wire does to frames; numbers are in percent, and each fault happens on its own.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    pub loss: u64,
    pub duplication: u64,
    /// A frame is overtaken by those of the next few latencies.
    pub reordering: u64,
    /// A frame comes so late that it was sent again meanwhile.
    pub delay: u64,
    /// Up to eight bits are flipped.
    pub corruption: u64,
    /// A frame of the link's former life with the same number comes too.
    pub ghosts: u64,
    /// When everything that an end sends is lost.
    pub cuts: [Range<Time>; 2],
    /// The wire is perfect from here on.
    pub until: Time,
}

impl Plan {
    pub fn settings(&self) -> Settings {
        Settings {
            window: self.window,
            message_bytes_max: self.message_bytes_max,
            // Nobody gives up: whatever happens, the wire is perfect some day.
            attempts_max: u32::MAX - 1,
            acknowledge_every: self.window.div_ceil(4),
            fit: self.is_fitted.then_some(Fit {
                timeout_min_ps: 2 * ROUND_TRIP_PS,
                frame_bytes: self.message_bytes_max as u64,
                window_bytes_first: 4 * self.message_bytes_max as u64,
                window_bytes_max: (self.window * self.message_bytes_max) as u64,
            }),
            ..Settings::for_round_trip(ROUND_TRIP_PS)
        }
    }

    /// When everything must be done: once the wire is perfect, the longest timeout finds out all that is missing at both
    /// ends, and then a window goes over in each round trip or look of the slow; one that was fitted to a bad wire may be two
    /// messages.
    fn limit(&self) -> Time {
        let settings = self.settings();
        let window = if self.is_fitted { self.window.min(2) } else { self.window };
        let windows = (self.messages[0].max(self.messages[1]) / window + 2) as Time;
        let pace =
            ROUND_TRIP_PS + settings.acknowledge_delay_ps + if self.is_slow.contains(&true) { SLOW_PS } else { 0 };
        self.faults.until
            + settings.timeout_max_ps
            + 4 * settings.timeout_ps
            + windows * pace
            + if self.is_fitted { settings.timeout_max_ps } else { 0 }
    }
}

/// The message of this number: bytes that follow from it, and often enough none at all.
fn message(plan: &Plan, end: usize, number: usize) -> Box<[u8]> {
    let mut chance = Chance::new(plan.seed ^ (end as u64) << 63 ^ number as u64);
    let bytes = chance.below(plan.message_bytes_max as u64 + 1);
    (0..bytes).map(|_| chance.below(256) as u8).collect()
}

struct End {
    link: Link,
    sent: usize,
    taken: usize,
    looks_at: Time,
}

/// When it arrives, tie-breaker, at which end, bytes.
type Flight = Reverse<(Time, u64, usize, Vec<u8>)>;

struct Run<'a> {
    plan: &'a Plan,
    chance: Chance,
    now: Time,
    ends: [End; 2],
    flights: BinaryHeap<Flight>,
    flight_count: u64,
}

/// Runs the plan until everything has arrived and nothing is under way. Says what happened, or which promise was broken.
pub fn run(plan: &Plan) -> Result<[Counters; 2], String> {
    let end = || End { link: Link::new(plan.settings(), EPOCH), sent: 0, taken: 0, looks_at: 0 };
    let mut run = Run {
        plan,
        chance: Chance::new(plan.seed),
        now: 0,
        ends: [end(), end()],
        flights: BinaryHeap::new(),
        flight_count: 0,
    };
    while !run.step()? {}
    Ok(run.ends.map(|end| end.link.counters()))
}

impl Run<'_> {
    fn happens(&mut self, percent: u64) -> bool {
        self.chance.below(100) < percent
    }

    /// Lets everybody act, then goes to the next moment something happens. True when all is done.
    fn step(&mut self) -> Result<bool, String> {
        for end in 0..2 {
            self.act(end)?;
        }
        let next = self.next_event();
        let is_done = |end: usize| {
            self.ends[end].link.is_settled()
                && self.ends[end].sent == self.plan.messages[end]
                && self.ends[1 - end].taken == self.plan.messages[end]
        };
        if self.flights.is_empty() && is_done(0) && is_done(1) {
            return Ok(true);
        }
        self.now = next.ok_or("stalled: nothing will ever happen again")?;
        if self.now > self.plan.limit() {
            return Err(format!("not settled in time: {:?}", self.ends.each_ref().map(|end| end.link.counters())));
        }
        while self.flights.peek().is_some_and(|Reverse((at, ..))| *at <= self.now) {
            let Some(Reverse((_, _, to, bytes))) = self.flights.pop() else { break };
            self.ends[to].link.receive(self.now, &bytes);
        }
        for end in &mut self.ends {
            end.link.tick(self.now);
        }
        Ok(false)
    }

    fn next_event(&self) -> Option<Time> {
        let flight = self.flights.peek().map(|Reverse((at, ..))| *at);
        // What is settled was taken: then nobody need look.
        let is_settled = self.ends.iter().all(|end| end.link.is_settled());
        let looks = (0..2).filter(|end| self.plan.is_slow[*end] && !is_settled).map(|end| self.ends[end].looks_at);
        let timeouts = self.ends.iter().filter_map(|end| end.link.next_timeout());
        flight.into_iter().chain(looks).chain(timeouts).min()
    }

    /// What the caller at this end does: takes, sends, and puts frames on the wire.
    fn act(&mut self, end: usize) -> Result<(), String> {
        let plan = self.plan;
        let this = &mut self.ends[end];
        if this.looks_at <= self.now {
            while let Some(taken) = this.link.next_message() {
                if this.taken == plan.messages[1 - end] || taken != message(plan, 1 - end, this.taken) {
                    return Err(format!("end {end} took {} bytes as message {}", taken.len(), this.taken));
                }
                this.taken += 1;
            }
            this.looks_at = self.now + if plan.is_slow[end] { SLOW_PS } else { 0 };
        }
        while this.sent < plan.messages[end] && this.link.send(message(plan, end, this.sent)).is_ok() {
            this.sent += 1;
        }
        if this.link.held() > 2 * plan.window {
            return Err(format!("end {end} holds {} messages", this.link.held()));
        }
        if this.link.is_broken() {
            return Err(format!("end {end} gave up"));
        }
        // One call may make it send a window, and a window again, and ask for half of one.
        for _ in 0..3 * plan.window + 1 {
            match self.ends[end].link.next_frame(self.now) {
                Some(frame) => self.transmit(end, frame),
                None => return Ok(()),
            }
        }
        Err(format!("end {end} floods the wire"))
    }

    fn transmit(&mut self, from: usize, frame: Vec<u8>) {
        let faults = &self.plan.faults;
        if self.now >= faults.until {
            return self.fly(from, LATENCY_PS, frame);
        }
        if self.happens(faults.ghosts) {
            let ghost = ghost(&frame, &mut self.chance);
            self.fly(from, LATENCY_PS, ghost);
        }
        let copies = 1 + u64::from(self.happens(faults.duplication));
        for _ in 0..copies {
            let mut frame = frame.clone();
            if faults.cuts[from].contains(&self.now) || self.happens(faults.loss) {
                continue;
            }
            let mut latency = LATENCY_PS;
            if self.happens(faults.reordering) {
                latency += self.chance.below(4 * LATENCY_PS);
            }
            if self.happens(faults.delay) {
                latency += self.chance.below(40 * LATENCY_PS);
            }
            if self.happens(faults.corruption) {
                for _ in 0..1 + self.chance.below(8) {
                    let bit = self.chance.below(8 * frame.len() as u64) as usize;
                    frame[bit / 8] ^= 1 << (bit % 8);
                }
            }
            self.fly(from, latency, frame);
        }
    }

    fn fly(&mut self, from: usize, latency: Time, frame: Vec<u8>) {
        self.flight_count += 1;
        self.flights.push(Reverse((self.now + latency, self.flight_count, 1 - from, frame)));
    }
}

/// The frame that had this number in the link's former life.
fn ghost(frame: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut frame = Frame::decode(frame).expect("links send whole frames");
    frame.epoch -= 1;
    let other: Vec<u8> = (0..chance.below(20)).map(|_| chance.below(256) as u8).collect();
    if let Body::Data { message, .. } = &mut frame.body {
        *message = &other;
    }
    frame.encode()
}
