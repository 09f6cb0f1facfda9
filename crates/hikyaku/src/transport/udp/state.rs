//! What an endpoint's lock guards: the lines to all peers, and what is on its way to the socket and to the sink.

use super::batch::Batch;
use super::clock::Clock;
use super::head::Head;
use super::line::{FRAME_BYTES_SAFE, Heard, Line, Myself};
use super::wire::{Trouble, Wire};
use super::{Config, Counters};
use crate::error::{Error, Result};
use crate::planted::{Bug, planted};
use crate::transport::core::{Loss, Token};
use crate::transport::reliable::{Fit, Settings, Time};
use crate::transport::sleep_timer::SleepTimer;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

const MICROSECOND: Time = 1_000_000;
/// How long what may wait for company does so, if this rank says nothing and does not look.
pub(super) const COMPANY_TIME: Time = 100 * MICROSECOND;
/// Bytes of the longest datagram there is: the peer's frames may be longer than ours.
const DATAGRAM_BYTES_MAX: usize = 65_507;
/// Pieces under way in a link; more than the longest message has on the narrowest path.
const WINDOW: usize = 1024;
/// How long an acknowledgement waits for a frame to ride on.
const ACKNOWLEDGE_DELAY: Time = 100 * MICROSECOND;
/// The timeout before a round trip was measured, the shortest and the longest.
const TIMEOUT_FIRST: Time = 20_000 * MICROSECOND;
const TIMEOUT_MIN: Time = 2_000 * MICROSECOND;
const TIMEOUT_MAX: Time = 200_000 * MICROSECOND;
/// Bytes under way in a new link.
const WINDOW_BYTES_FIRST: u64 = 64 << 10;
/// Timeouts in a row, where nothing was ever acknowledged, from which on the socket of a line is suspected to be filtered.
const FILTERED_MIN: u32 = 2;
/// Timeouts in a row from which on the path is suspected to swallow long frames.
const SWALLOWED_MIN: u32 = 4;

/// See above.
pub struct State {
    pub me: Myself,
    clock: Clock,
    config: Config,
    timer: Arc<SleepTimer>,
    wire: Box<dyn Wire>,
    /// Bytes that may be under way to a peer.
    window_max: usize,
    batch: Batch,
    lines: Box<[Option<Box<Line>>]>,
    /// Ranks that have lines.
    open: Vec<u32>,
    /// Ranks whose lines may have something to send.
    dirty: Vec<u32>,
    /// Ranks whose lines send now.
    flushed: Vec<u32>,
    /// For the sink.
    pub events: VecDeque<Event>,
    /// There is room again for somebody who found none.
    pub has_room_again: bool,
    /// No line has anything due before.
    pub due: Option<Time>,
    /// Ranks of whose messages no parts need to be kept: they are idle.
    pub idle: Vec<u32>,
    counters: Counters,
}

/// Which lines send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    All,
    /// Those that cannot wait for something to ride on.
    Urgent,
}

/// Something for the sink.
#[derive(Debug)]
pub enum Event {
    Completed(Token),
    Lost(u32, Loss),
}

impl State {
    pub fn new(
        me: Myself,
        clock: Clock,
        config: Config,
        size: usize,
        wire: Box<dyn Wire>,
        keeps_bytes: usize,
        timer: Arc<SleepTimer>,
    ) -> State {
        State {
            me,
            clock,
            batch: Batch::new(wire.takes_trains()),
            // The kernel counts what surrounds frames too, twice what it was asked for.
            window_max: config.window_max.min(keeps_bytes / 2),
            config,
            timer,
            wire,
            lines: (0..size).map(|_| None).collect(),
            open: Vec::new(),
            dirty: Vec::new(),
            flushed: Vec::new(),
            events: VecDeque::new(),
            has_room_again: false,
            due: None,
            idle: Vec::new(),
            counters: Counters::default(),
        }
    }

    /// The line to a rank, which is made if there is none.
    #[inline]
    pub fn line(&mut self, rank: usize) -> Result<&mut Line> {
        if self.lines.get(rank).is_none_or(Option::is_none) {
            self.open_line(self.clock.now(), rank)?;
        }
        let size = self.lines.len();
        let Some(line) = self.lines[rank].as_deref_mut() else { return Err(Error::NoSuchRank { rank, size }) };
        Ok(line)
    }

    #[cold]
    fn open_line(&mut self, now: Time, rank: usize) -> Result<()> {
        let size = self.lines.len();
        if rank >= size {
            return Err(Error::NoSuchRank { rank, size });
        }
        if !self.wire.reaches(rank) {
            return Err(Error::Invalid(format!("rank {rank} is not reached by datagrams")));
        }
        let way = self.wire.open(rank)?;
        let frame_max = self.wire.frame_max(way).unwrap_or(FRAME_BYTES_SAFE).min(self.config.frame_max);
        let settings = self.settings(frame_max);
        let mut line = Line::new(&self.me, rank as u32, way, frame_max, settings);
        line.link.begin(now);
        self.lines[rank] = Some(Box::new(line));
        self.open.push(rank as u32);
        // What is due in which line is looked at anew.
        self.due = Some(now);
        Ok(())
    }

    fn settings(&self, frame_max: usize) -> Settings {
        let silence = picoseconds(self.config.silence);
        Settings {
            window: WINDOW,
            message_bytes_max: DATAGRAM_BYTES_MAX,
            timeout_ps: TIMEOUT_FIRST,
            timeout_max_ps: TIMEOUT_MAX.min(silence / 16).max(TIMEOUT_FIRST),
            attempts_max: u32::MAX,
            acknowledge_delay_ps: ACKNOWLEDGE_DELAY,
            acknowledge_every: 2,
            // Together less than the silence that was asked for: it begins when the peer was last heard.
            silence_max_ps: silence / 10 * 7,
            keep_alive_ps: silence / 10 * 2,
            fit: Some(Fit {
                timeout_min_ps: TIMEOUT_MIN,
                frame_bytes: frame_max as u64,
                window_bytes_first: WINDOW_BYTES_FIRST,
                window_bytes_max: self.window_max as u64,
            }),
        }
    }

    /// A rank's line may have something to send.
    #[inline]
    pub fn mark(&mut self, rank: u32) {
        if let Some(line) = self.lines[rank as usize].as_deref_mut()
            && !std::mem::replace(&mut line.is_dirty, true)
        {
            self.dirty.push(rank);
        }
    }

    /// Sends what lines have to send: all of them, or those for which it would be late otherwise.
    #[inline]
    pub fn flush(&mut self, which: Which) {
        let mut index = 0;
        while let Some(rank) = self.dirty.get(index).copied() {
            let line = self.lines[rank as usize].as_deref_mut();
            if which == Which::Urgent && line.as_ref().is_some_and(|line| line.can_wait()) {
                index += 1;
                continue;
            }
            self.dirty.swap_remove(index);
            let Some(line) = line else { continue };
            line.is_dirty = false;
            self.flushed.push(rank);
            loop {
                // A piece may have been made for a longer frame than the path takes now.
                if self.batch.is_full(self.config.frame_max) {
                    self.send();
                }
                let Some(line) = self.lines[rank as usize].as_deref_mut() else { break };
                if !line.stage(&self.me, &mut self.batch) || line.has_said_all() {
                    break;
                }
            }
        }
        self.send();
        if !self.flushed.is_empty() {
            self.see_to_flushed();
        }
    }

    /// Peers have what they wait for: now there is time, also to look at the clock.
    fn see_to_flushed(&mut self) {
        let now = self.clock.now();
        while let Some(rank) = self.flushed.pop() {
            if let Some(line) = self.lines[rank as usize].as_deref_mut() {
                line.went(now);
                self.due = earlier(self.due, line.link.next_timeout());
            }
        }
        if let Some(due) = self.due {
            self.look_by(now, due);
        }
    }

    /// Somebody looks at this time at the latest, though all sleep or compute.
    pub fn look_by(&self, now: Time, at: Time) {
        self.timer.due(now / 1000, at / 1000);
    }

    /// See [`Line::is_filling`].
    pub fn is_filling(&self, rank: usize) -> bool {
        self.lines[rank].as_deref().is_some_and(Line::is_filling)
    }

    /// Whether nothing is to be done but what can wait until somebody looks and finds nothing.
    #[inline]
    pub fn is_quiet(&self, now: Time) -> bool {
        let can_wait = |rank: &u32| self.lines[*rank as usize].as_deref().is_none_or(Line::can_wait);
        self.events.is_empty()
            && !self.has_room_again
            && self.due.is_some_and(|due| now < due)
            && self.dirty.iter().all(can_wait)
    }

    /// Whether lines may have something to send.
    pub fn has_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    #[inline]
    fn send(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let State { wire, batch, lines, config, .. } = self;
        wire.send(batch, &mut |rank, trouble| {
            let Some(line) = lines[rank as usize].as_deref_mut() else { return };
            match trouble {
                // Others of the same batch were made before this was known.
                Trouble::TooLong { bytes, .. } if bytes > line.frame_max() => (),
                Trouble::TooLong { known, .. } => {
                    let fallback =
                        if line.frame_max() > FRAME_BYTES_SAFE { FRAME_BYTES_SAFE } else { line.frame_max() / 2 };
                    let known = known.filter(|bytes| *bytes < line.frame_max()).unwrap_or(fallback);
                    line.set_frame_max(known.min(config.frame_max));
                }
                Trouble::Refused(code) => line.refused = Some(code),
            }
        });
        batch.clear();
        batch.has_trains = wire.takes_trains();
    }

    /// Lets what is held up on the way go on.
    pub fn pass(&mut self) {
        self.wire.pass();
    }

    /// Takes a datagram; from whom it is, and what became of it.
    #[inline]
    pub fn hear(&mut self, now: Time, frame: &[u8]) -> (u32, Heard) {
        let nothing = (0, Heard::Nothing);
        let Some(head) = Head::read(frame) else {
            self.counters.strangers += 1;
            return nothing;
        };
        let rank = head.from as usize;
        if rank >= self.lines.len() || head.from == self.me.rank {
            self.counters.strangers += 1;
            return nothing;
        }
        if self.lines[rank].is_none() {
            if !self.wire.reaches(rank) {
                self.counters.strangers += 1;
                return nothing;
            }
            if !self.is_authentic(&head, frame) && !planted(Bug::LinksForStrangers) {
                self.counters.forged += 1;
                return nothing;
            }
            if self.open_line(now, rank).is_err() {
                return nothing;
            }
        }
        let State { me, lines, events, has_room_again, counters, .. } = self;
        let Some(line) = lines[rank].as_deref_mut() else { return nothing };
        if !line.admits(me, &head, frame, counters) {
            return nothing;
        }
        if line.loss.is_some() && !planted(Bug::LostHeardAgain) {
            counters.strays += 1;
            return nothing;
        }
        let heard = line.hear(now, &head, frame, &mut |token| events.push_back(Event::Completed(token)));
        *has_room_again |= line.has_room_again();
        self.mark(head.from);
        if heard == Heard::Farewell {
            self.lose(head.from, Loss::Left);
        }
        (head.from, heard)
    }

    /// Whether a rank of the job made a frame: links are not made for others.
    fn is_authentic(&self, head: &Head, frame: &[u8]) -> bool {
        let mut seal = super::seal::Seal::new(self.me.secret.as_ref(), head.from, self.me.rank, head.life);
        super::head::is_sealed(frame, head.number, &mut seal)
    }

    /// Data of this rank that came early, and whose turn it is.
    pub fn next_early(&mut self, rank: u32) -> Option<(Vec<u8>, bool)> {
        self.lines[rank as usize].as_deref_mut()?.next_early()
    }

    pub fn give_back(&mut self, rank: u32, frame: Vec<u8>) {
        if let Some(line) = self.lines[rank as usize].as_deref_mut() {
            line.give_back(frame);
        }
    }

    pub fn malformed(&mut self) {
        self.counters.malformed += 1;
    }

    /// Does what is due in all lines.
    pub fn tick(&mut self, now: Time) {
        if self.due.is_some_and(|due| now < due) {
            return;
        }
        let mut due = None;
        for index in 0..self.open.len() {
            let rank = self.open[index];
            let Some(line) = self.lines[rank as usize].as_deref_mut().filter(|line| line.loss.is_none()) else {
                continue;
            };
            line.settle(now, &mut |token| self.events.push_back(Event::Completed(token)));
            if line.link.next_timeout().is_some_and(|at| at <= now) {
                line.link.tick(now);
                if line.link.backoff() >= FILTERED_MIN && line.link.path().round_trip().is_none() {
                    self.wire.suspect(line.way);
                }
                if line.link.backoff() >= SWALLOWED_MIN && line.frame_max() > FRAME_BYTES_SAFE {
                    line.set_frame_max(FRAME_BYTES_SAFE);
                }
                if line.link.is_broken() {
                    let why = Loss::Unreachable(self.tried(now, rank));
                    self.lose(rank, why);
                    continue;
                }
                if line.rest(now, picoseconds(self.config.silence) / 10 * 2) {
                    self.idle.push(rank);
                }
                self.mark(rank);
            }
            due = earlier(due, self.lines[rank as usize].as_deref().and_then(|line| line.link.next_timeout()));
        }
        let due = due.unwrap_or_else(|| now.saturating_add(picoseconds(self.config.silence)));
        self.due = Some(due);
        self.look_by(now, due);
    }

    /// What was done to reach a rank that cannot be reached.
    fn tried(&mut self, now: Time, rank: u32) -> String {
        let Some(line) = self.lines[rank as usize].as_deref_mut() else { return String::new() };
        let counters = line.link.counters();
        let seconds = now.saturating_sub(line.link.heard_at()) as f64 / 1e12;
        let way = self.wire.describe(line.way);
        let round_trip = line.link.path().round_trip().map_or_else(
            || "never heard".to_string(),
            |round_trip| format!("a round trip took {:.0} us before", round_trip as f64 / 1e6),
        );
        let refused = line.refused.map_or_else(String::new, |code| format!("; {}", self.wire.explain(code)));
        format!(
            "no answer from {way} for {seconds:.1} s: {} messages sent, {} of them again, {} acknowledgements and questions; {round_trip}{refused}",
            counters.sent, counters.resent, counters.acknowledgements,
        )
    }

    /// A rank is lost: the sink hears of it, and then that all it was lent is free.
    pub fn lose(&mut self, rank: u32, why: Loss) {
        let State { lines, events, counters, .. } = self;
        let Some(line) = lines[rank as usize].as_deref_mut().filter(|line| line.loss.is_none()) else { return };
        counters.links += line.link.counters();
        events.push_back(Event::Lost(rank, why.clone()));
        line.give_up(why, &mut |token| events.push_back(Event::Completed(token)));
    }

    /// Whether nothing is left to be acknowledged by those that have not ended.
    pub fn is_settled(&self, has_ended: &dyn Fn(usize) -> bool) -> bool {
        let is_settled = |line: &Line| line.loss.is_some() || line.link.is_settled();
        let mut ranks = self.open.iter().map(|rank| *rank as usize);
        ranks.all(|rank| self.lines[rank].as_deref().is_none_or(is_settled) || has_ended(rank))
    }

    #[cfg(test)]
    pub fn link_count(&self) -> usize {
        self.open.len()
    }

    fn live(&self) -> impl Iterator<Item = &Line> {
        self.open.iter().filter_map(|rank| self.lines[*rank as usize].as_deref()).filter(|line| line.loss.is_none())
    }

    /// Tells all peers that this rank leaves, more than once: nobody acknowledges it.
    pub fn farewell(&mut self) {
        for _ in 0..3 {
            for index in 0..self.open.len() {
                if self.batch.is_full(self.config.frame_max) {
                    self.send();
                }
                let State { me, lines, batch, open, .. } = self;
                let line = lines[open[index] as usize].as_deref_mut().filter(|line| line.loss.is_none());
                line.into_iter().for_each(|line| line.stage_farewell(me, batch));
            }
            self.send();
        }
    }

    /// A body that is lent is copied; false if it was not. Nothing points to it any more: frames are made and sent within one hold
    /// of the lock, and those that a panic has left behind are forgotten.
    pub fn recall(&mut self, rank: usize, token: Token) -> bool {
        self.batch.clear();
        self.lines.get_mut(rank).and_then(Option::as_deref_mut).is_some_and(|line| line.recall(token))
    }

    pub fn counters(&self) -> Counters {
        let mut counters = self.counters;
        self.live().for_each(|line| counters.links += line.link.counters());
        counters
    }
}

/// The earlier of two times, of which there may be none.
fn earlier(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    one.into_iter().chain(other).min()
}

pub fn picoseconds(duration: Duration) -> Time {
    Time::try_from(duration.as_nanos()).unwrap_or(Time::MAX).saturating_mul(1000)
}
