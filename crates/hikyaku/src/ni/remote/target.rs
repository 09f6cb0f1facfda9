//! Where a remote operation works: some bytes of a rank, named so that its owner can check them.

use crate::error::Refusal;
use crate::ni::Ni;
use crate::ni::area::Opened;
use crate::planted::{Bug, planted};
use crate::sync::barrier::STEP_COUNT;
use crate::transport::remote_memory::RemoteKey;
use crate::transport::shm::layout::Hearing;

/// Bytes of a rank from an offset on, as its network interface finds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub rank: usize,
    pub space: Space,
    pub offset: u64,
}

/// A part of a rank's memory with offsets of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Space {
    /// An area of the rank, or [`HEAP`], [`MEETING`] or [`WINDOW`].
    id: u32,
    /// What only those know who may use it: the key of an area, the name of a window, else the number of the job.
    key: u64,
    /// How the network reaches it by itself: an area of which its owner has told that. Symmetric memory has one key for all.
    reach: Option<RemoteKey>,
}

/// The words on which ranks meet in a collective call of the job.
const MEETING: u32 = u32::MAX;
/// A window of the rank.
const WINDOW: u32 = u32::MAX - 1;
/// The heap of the rank.
const HEAP: u32 = u32::MAX - 2;

impl Target {
    pub fn in_window(rank: usize, name: u64, offset: usize) -> Target {
        Target { rank, space: Space { id: WINDOW, key: name, reach: None }, offset: offset as u64 }
    }

    /// At an offset of the rank's heap.
    pub fn in_heap(ni: &Ni, rank: usize, offset: usize) -> Target {
        Target { rank, space: Space { id: HEAP, key: ni.job, reach: None }, offset: offset as u64 }
    }

    /// What the rank hears in a step of a collective call of the job.
    pub fn hearing(ni: &Ni, rank: usize, turn: usize, step: usize) -> Target {
        let offset = (turn * STEP_COUNT + step) * size_of::<Hearing>();
        Target { rank, space: Space { id: MEETING, key: ni.job, reach: None }, offset: offset as u64 }
    }

    pub fn in_area(area: &Opened, offset: usize) -> Target {
        Target {
            rank: area.rank,
            space: Space { id: area.id, key: area.key, reach: area.reach },
            offset: offset as u64,
        }
    }

    /// An area of a rank of which only the number is known.
    pub fn of_unknown_area(rank: usize, id: u32) -> Target {
        Target { rank, space: Space { id, key: 0, reach: None }, offset: 0 }
    }

    pub fn plus(self, bytes: usize) -> Target {
        Target { offset: self.offset + bytes as u64, ..self }
    }

    /// The first words of a packet.
    pub fn encode(&self) -> [u64; 3] {
        [self.space.id as u64, self.space.key, self.offset]
    }

    /// What a peer has said of this rank's memory; none of it is believed.
    pub fn decode(rank: usize, [id, key, offset]: [u64; 3]) -> Option<Target> {
        Some(Target { rank, space: Space { id: u32::try_from(id).ok()?, key, reach: None }, offset })
    }

    /// Whether it is in a window, which is looked up in a table of its own.
    pub fn is_window(&self) -> bool {
        self.space.id == WINDOW
    }

    /// Whether it is in the rank's heap.
    pub fn is_heap(&self) -> bool {
        self.space.id == HEAP
    }

    /// The number of the area it is in, if it is in one.
    pub fn area(&self) -> Option<u32> {
        (self.space.id < HEAP).then_some(self.space.id)
    }

    /// How the network reaches the area it is in, if it does.
    pub fn reach(&self) -> Option<RemoteKey> {
        self.space.reach
    }

    /// The key of the area or the name of the window.
    pub fn key(&self) -> u64 {
        self.space.key
    }

    /// Where words that follow a push lie: on the meeting place for a push there, else in the heap.
    pub fn beside(&self, ni: &Ni, offset: u64) -> Target {
        let id = if self.space.id == MEETING { MEETING } else { HEAP };
        Target { space: Space { id, key: ni.job, reach: None }, offset, ..*self }
    }
}

impl Ni {
    /// Bytes in the heap or the meeting place of a rank that is near.
    pub(super) fn common_bytes(&self, at: &Target, bytes: u64) -> Option<*mut u8> {
        match at.space.id {
            HEAP => self.near_bytes(at.rank, at.offset, bytes).filter(|_| self.is_near(at.rank)),
            MEETING => {
                let hearings = &self.near_block(at.rank)?.hearings;
                let end = at.offset.checked_add(bytes)?;
                let start = hearings.as_ptr() as *mut u8;
                // Made of atomics, so it may be written though it is shared.
                (end <= size_of_val(hearings) as u64).then(|| start.wrapping_add(at.offset as usize))
            }
            _ => None,
        }
    }

    /// Whether a target is memory that all ranks of this host have mapped.
    pub(super) fn is_common(&self, at: &Target) -> bool {
        at.space.id >= HEAP && !at.is_window() && self.is_near(at.rank)
    }

    /// Bytes of this rank that a peer named, outside of windows.
    pub(super) fn own_target(&self, at: &Target, bytes: u64) -> Result<*mut u8, Refusal> {
        let Some(id) = at.area() else {
            let found = self.common_bytes(at, bytes).filter(|_| at.key() == self.job);
            return found.ok_or(Refusal::OutOfBounds);
        };
        let area = self.look_up(self.rank, id).map_err(|_| Refusal::UnknownArea)?;
        if area.key != at.key() && !planted(Bug::KeyUnread) {
            return Err(Refusal::UnknownArea);
        }
        let inside = at.offset.checked_add(bytes).is_some_and(|end| end <= area.bytes as u64);
        let found = if inside { area.pointer(self, at.offset as usize) } else { None };
        found.ok_or(Refusal::OutOfBounds)
    }
}
