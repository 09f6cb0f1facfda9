//! What will happen when, in the order of time; and a checksum of what has.

use super::course::Time;
use crate::transport::Parcel;
use crate::transport::shm::layout::State;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// See above.
pub(super) struct Agenda {
    events: BinaryHeap<Reverse<Event>>,
    /// Events planned so far: those of the same time happen in the order of their making.
    planned: u64,
    happened: u64,
    hash: u64,
}

struct Event {
    time: Time,
    number: u64,
    what: What,
}

/// Something that happens.
pub(super) enum What {
    /// A frame arrives at the other end of a link.
    Frame {
        from: usize,
        to: usize,
        bytes: Box<[u8]>,
    },
    /// The end `here` of a link to `there` has waited long enough.
    Tick {
        here: usize,
        there: usize,
    },
    /// A rank dies.
    Crash {
        rank: usize,
    },
    Alarm {
        rank: usize,
        sleep: u64,
    },
    Arrival {
        to: usize,
        /// Elsewhere, since events are moved about.
        parcel: Box<Parcel>,
    },
    /// All ranks have come to the network's barrier of this color.
    Passed {
        color: u64,
    },
    /// A rank that waits for room looks again.
    Room {
        rank: usize,
    },
    /// An interface tries again what a handler put off.
    Retry {
        rank: usize,
    },
    /// All hosts learn that a rank has ended.
    Departure {
        rank: usize,
        state: State,
        arrivals: u64,
    },
    /// A rank of the same host has rung.
    Rung {
        rank: usize,
    },
    /// A network interface sends a piece of an operation on remote memory.
    Piece {
        number: u64,
        piece: u64,
    },
    /// An operation on remote memory has ended.
    Finished {
        number: u64,
    },
    /// A rank learns that another cannot be reached.
    Lost {
        here: usize,
        there: usize,
    },
}

impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Event {}
impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    fn cmp(&self, other: &Event) -> std::cmp::Ordering {
        (self.time, self.number).cmp(&(other.time, other.number))
    }
}

impl Default for Agenda {
    fn default() -> Agenda {
        // The beginning of FNV-1a.
        Agenda { events: BinaryHeap::new(), planned: 0, happened: 0, hash: 0xcbf2_9ce4_8422_2325 }
    }
}

impl Agenda {
    pub fn plan(&mut self, time: Time, what: What) {
        self.planned += 1;
        self.events.push(Reverse(Event { time, number: self.planned, what }));
    }

    /// The next event and its time; one that concerns nobody any more is none.
    pub fn next(&mut self, concerns_nobody: impl Fn(&What) -> bool) -> Option<(Time, What)> {
        loop {
            let Reverse(event) = self.events.pop()?;
            if !concerns_nobody(&event.what) {
                self.note(&event);
                return Some((event.time, event.what));
            }
        }
    }

    /// (events so far, a checksum of all of them)
    pub fn summary(&self) -> (u64, u64) {
        (self.happened, self.hash)
    }

    /// Adds an event to the checksum (FNV-1a).
    fn note(&mut self, event: &Event) {
        self.happened += 1;
        let mut add = |bytes: &[u8]| {
            for byte in bytes {
                self.hash = (self.hash ^ *byte as u64).wrapping_mul(0x100_0000_01b3);
            }
        };
        add(&event.time.to_le_bytes());
        let rank = |rank: usize| (rank as u32).to_le_bytes();
        match &event.what {
            What::Alarm { rank: who, .. } | What::Crash { rank: who } => add(&rank(*who)),
            What::Room { rank: who } | What::Retry { rank: who } | What::Rung { rank: who } => add(&rank(*who)),
            What::Passed { color: number } | What::Finished { number } => add(&number.to_le_bytes()),
            What::Piece { number, piece } => add(&[number.to_le_bytes(), piece.to_le_bytes()].concat()),
            What::Tick { here, there } | What::Lost { here, there } => add(&[rank(*here), rank(*there)].concat()),
            What::Departure { rank: who, state, .. } => {
                add(&rank(*who));
                add(&[*state as u8]);
            }
            What::Frame { from, to, bytes } => {
                add(&[rank(*from), rank(*to)].concat());
                add(&bytes[..bytes.len().min(64)]);
            }
            What::Arrival { to, parcel } => {
                add(&[rank(parcel.source), rank(*to)].concat());
                add(&parcel.packet.handler.to_le_bytes());
                parcel.packet.arguments.iter().for_each(|word| add(&word.to_le_bytes()));
                add(&parcel.payload[..parcel.payload.len().min(64)]);
            }
        }
    }
}
