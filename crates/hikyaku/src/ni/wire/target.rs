//! Where a remote operation works: some bytes of a rank, named so that its owner can check them.

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
    /// An area of the rank, or [`HEAP`], [`MEETING`], [`WINDOW`], [`POINTED`] or [`REGISTERS`], or [`HEAPS`] and whose.
    id: u32,
    /// What only those know who may use it: the key of an area, the name of a window; else 0.
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
/// Where a pointer leads whose word is the offset.
const POINTED: u32 = u32::MAX - 3;
/// The registers of the rank: pointers with numbers.
const REGISTERS: u32 = u32::MAX - 4;

/// What is added to the number of a space for a packet, so that those with names are small there, and take few bytes: the numbers wrap.
const NAMED: u32 = 6;

/// The heaps of several ranks of one host, of which any may write for all. The bits below say whose: those of [`Locals`].
const HEAPS: u32 = 1 << 30;
const TURN_SHIFT: u32 = LOCALS_MAX as u32;
/// So many ranks of a host can be named at once.
pub(crate) const LOCALS_MAX: usize = 24;
/// And so many times.
pub(crate) const LOCALS_TURNS: u32 = 1 << 6;

/// Some ranks of a host, by their numbers on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Locals {
    /// Of how many times [`LOCALS_MAX`] numbers they are.
    pub turn: u32,
    /// A bit for each.
    pub bits: u32,
}

impl Locals {
    /// Their numbers.
    pub fn numbers(self) -> impl Iterator<Item = usize> {
        let is_set = move |bit: &usize| self.bits >> bit & 1 == 1;
        (0..LOCALS_MAX).filter(is_set).map(move |bit| self.turn as usize * LOCALS_MAX + bit)
    }
}

impl Target {
    pub fn in_window(rank: usize, name: u64, offset: usize) -> Target {
        Target { rank, space: Space { id: WINDOW, key: name, reach: None }, offset: offset as u64 }
    }

    /// At an offset of the rank's heap.
    pub fn in_heap(rank: usize, offset: usize) -> Target {
        Target { rank, space: Space { id: HEAP, key: 0, reach: None }, offset: offset as u64 }
    }

    /// What the rank hears in a step of a collective call of the job.
    pub fn hearing(rank: usize, turn: usize, step: usize) -> Target {
        let offset = (turn * STEP_COUNT + step) * size_of::<Hearing>();
        Target { rank, space: Space { id: MEETING, key: 0, reach: None }, offset: offset as u64 }
    }

    /// Where a pointer of the rank leads.
    pub fn pointed(rank: usize, word: u64) -> Target {
        Target { rank, space: Space { id: POINTED, key: 0, reach: None }, offset: word }
    }

    /// A register of the rank.
    pub fn register(rank: usize, number: usize) -> Target {
        let offset = (number * size_of::<u64>()) as u64;
        Target { rank, space: Space { id: REGISTERS, key: 0, reach: None }, offset }
    }

    /// In an area of the rank, by its key, and by how the network reaches it, if it does.
    pub fn in_area(rank: usize, id: u32, key: u64, reach: Option<RemoteKey>, offset: usize) -> Target {
        Target { rank, space: Space { id, key, reach }, offset: offset as u64 }
    }

    /// An area of a rank of which only the number is known.
    pub fn of_unknown_area(rank: usize, id: u32) -> Target {
        Target { rank, space: Space { id, key: 0, reach: None }, offset: 0 }
    }

    /// In the heaps of several ranks of its host, instead of that of its rank, which writes for all. `None` if they cannot be named.
    pub fn of_several(self, Locals { turn, bits }: Locals) -> Option<Target> {
        let can_be = self.is_heap() && turn < LOCALS_TURNS && bits >> LOCALS_MAX == 0;
        let id = HEAPS | turn << TURN_SHIFT | bits;
        can_be.then_some(Target { space: Space { id, ..self.space }, ..self })
    }

    /// Whose heaps it is in, if those are several.
    pub fn several(&self) -> Option<Locals> {
        let below = self.space.id.checked_sub(HEAPS).filter(|below| *below < LOCALS_TURNS << TURN_SHIFT)?;
        Some(Locals { turn: below >> TURN_SHIFT, bits: below & !(u32::MAX << TURN_SHIFT) })
    }

    pub fn plus(self, bytes: usize) -> Target {
        Target { offset: self.offset + bytes as u64, ..self }
    }

    /// The first words of a packet.
    pub fn encode(&self) -> [u64; 3] {
        [self.space.id.wrapping_add(NAMED) as u64, self.space.key, self.offset]
    }

    /// What a peer has said of this rank's memory; none of it is believed.
    pub fn decode(rank: usize, [id, key, offset]: [u64; 3]) -> Option<Target> {
        let id = u32::try_from(id).ok()?.wrapping_sub(NAMED);
        let has_key = id < HEAPS || id == WINDOW;
        (has_key || key == 0).then_some(Target { rank, space: Space { id, key, reach: None }, offset })
    }

    /// Whether it is in a window, which is looked up in a table of its own.
    pub fn is_window(&self) -> bool {
        self.space.id == WINDOW
    }

    /// Whether it is in memory that every rank has: the heap, or the meeting place.
    pub fn is_shared(&self) -> bool {
        self.space.id >= HEAP && !self.is_window()
    }

    /// The word of a pointer that leads there, if that is all that is known.
    pub fn pointer_word(&self) -> Option<u64> {
        (self.space.id == POINTED).then_some(self.offset)
    }

    /// Whether it is a register.
    pub fn is_register(&self) -> bool {
        self.space.id == REGISTERS
    }

    /// Whether it is on the meeting place.
    pub fn is_meeting(&self) -> bool {
        self.space.id == MEETING
    }

    /// Whether it is in the rank's heap.
    pub fn is_heap(&self) -> bool {
        self.space.id == HEAP
    }

    /// The number of the area it is in, if it is in one.
    pub fn area(&self) -> Option<u32> {
        (self.space.id < HEAPS).then_some(self.space.id)
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
    pub fn beside(&self, offset: u64) -> Target {
        let id = if self.space.id == MEETING { MEETING } else { HEAP };
        Target { space: Space { id, key: 0, reach: None }, offset, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_with_names_are_small_in_packets() {
        let named = [
            Target::hearing(3, 0, 0),
            Target::in_window(3, 5, 0),
            Target::in_heap(3, 0),
            Target::pointed(3, 0),
            Target::register(3, 0),
        ];
        assert_eq!(named.map(|at| at.encode()[0]), [5, 4, 3, 2, 1]);
        for id in [0, 1, 255, HEAPS - 1] {
            let area = Target::of_unknown_area(3, id);
            assert_eq!(area.encode()[0], u64::from(id) + 6);
            assert_eq!(Target::decode(3, area.encode()), Some(area));
        }
        assert!(named.iter().all(|at| Target::decode(3, at.encode()) == Some(*at)));
        assert_eq!(Target::decode(3, [1 << 32, 0, 0]), None);
        assert_eq!([5, 3, 2, 1].map(|id| Target::decode(3, [id, 1, 0])), [None; 4], "a key where there is none");
    }

    #[test]
    fn several_ranks_are_named_by_their_numbers_on_the_host() {
        let at = Target::in_heap(3, 8);
        for locals in [Locals { turn: 0, bits: 1 }, Locals { turn: 63, bits: (1 << LOCALS_MAX) - 1 }] {
            let several = at.of_several(locals).unwrap();
            let decoded = Target::decode(3, several.encode()).unwrap();
            assert_eq!((decoded.several(), decoded.offset), (Some(locals), 8));
            assert!(decoded.area().is_none() && !decoded.is_shared() && !decoded.is_window());
        }
        assert_eq!(Locals { turn: 2, bits: 0b101 }.numbers().collect::<Vec<_>>(), [48, 50]);
        assert_eq!(at.of_several(Locals { turn: 64, bits: 1 }), None);
        assert_eq!(at.of_several(Locals { turn: 0, bits: 1 << LOCALS_MAX }), None);
        assert_eq!(at.several(), None);
        assert_eq!(Target::of_unknown_area(0, 255).several(), None);
    }
}
