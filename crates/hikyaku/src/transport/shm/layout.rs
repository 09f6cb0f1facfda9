//! What lies where in a job's segment.
//!
//! ```text
//!   | header | control block of rank 0 | ... | heap of rank 0: symmetric half, own half | heap of rank 1 ...
//!              block, attached bits, rings
//! ```
//! All places follow from four numbers (ranks, ports, heap size, format version), so nothing read from the
//! segment is ever used to find a place in it.

use super::ring::Ring;
use crate::error::{Error, Result};
use crate::memory::limits;
use crate::memory::segment::{PAGE_BYTES, Segment};
use crate::sync::Shared;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::barrier::{Counter, Flags, STEP_COUNT};
use crate::sync::bell::{Bell, CELL_COUNT};
use crate::sync::departure::depart;
use crate::sync::entry::Entry;
use crate::sync::guard::Guard;
use crate::sync::line::Line;

/// Moves on with every change of this file or of what it lays out; ranks of different formats do not join.
pub const FORMAT: u64 = 6;
/// Area ids per rank.
pub const AREA_COUNT: usize = 256;
/// Ports a rank may have; port 0 is the network interface's own.
pub const PORT_COUNT_MAX: usize = CELL_COUNT;

/// Words of the table of choices.
pub const CHOICE_WORDS: usize = 24;

/// What all ranks share.
#[derive(Debug)]
#[repr(C)]
pub struct Header {
    /// Moves on whenever a rank leaves or dies. Read in every wait, hardly ever written.
    pub departures: Line<AtomicU64>,
    /// How many of them have died.
    pub deaths: Line<AtomicU64>,
    /// The barrier for crowded cores.
    pub counter: Counter,
    /// Which version of a collective is used; see `job::choice`. Written before any rank joins.
    pub choices: [AtomicU64; CHOICE_WORDS],
}

// SAFETY: atomics in a fixed layout.
unsafe impl Shared for Header {}

/// What belongs to one rank.
#[derive(Debug)]
#[repr(C)]
pub struct Block {
    /// Who and in which state.
    pub life: Line<Life>,
    /// Where its threads sleep.
    pub bell: Bell,
    /// Its flags of the butterfly barrier.
    pub flags: Flags,
    /// What it asks for in a collective call, two in turn: one barrier is enough to compare them.
    pub proposals: [Line<Proposal>; 2],
    /// What far ranks have told it in each step of a collective call, in turn.
    pub hearings: [[Hearing; STEP_COUNT]; 2],
    /// One mark per port: inside an operation on somebody's area.
    pub guards: [Guard; PORT_COUNT_MAX],
    /// Its areas by id: kind, start (offset in the segment, or address in private memory), bytes.
    pub areas: [Line<Entry>; AREA_COUNT],
}

// SAFETY: atomics in a fixed layout.
unsafe impl Shared for Block {}

/// Who a rank is and how it is.
#[derive(Debug)]
#[repr(C)]
pub struct Life {
    /// A [`State`]. Written by the rank itself, and by whoever watches it when it ends.
    pub state: AtomicU64,
    /// Its process.
    pub process: AtomicU64,
    /// Address, in that process, of a private word that holds `probe_value`: whoever can read it there
    /// reaches the rank's private memory.
    pub probe_address: AtomicU64,
    /// A random number.
    pub probe_value: AtomicU64,
    /// Not 0 once the launcher has nothing to do with its socket any more. Written by the launcher.
    pub welcomed: AtomicU64,
    /// Barriers it has arrived at: a rank that left may have done its part of a barrier that is still under way.
    pub arrivals: AtomicU64,
    /// Not 0 once its process is about to end properly. Written by the rank; whoever sees the process end tells the others.
    pub farewell: AtomicU64,
}

// SAFETY: atomics in a fixed layout.
unsafe impl Shared for Life {}

/// What a far rank has told: its first word is the last to be written.
pub type Hearing = Line<[AtomicU64; 8]>;

/// Where far ranks write in a control block.
const MEETING_START: usize = std::mem::offset_of!(Block, hearings);
const MEETING_BYTES: usize = size_of::<[[Hearing; STEP_COUNT]; 2]>();

/// The state of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum State {
    /// Started, has not joined yet.
    Starting = 0,
    /// Takes part.
    Joined = 1,
    /// Has ended its part properly.
    Left = 2,
    /// Is dead.
    Dead = 3,
}

impl Life {
    /// The state; an impossible value counts as dead.
    #[inline]
    pub fn state(&self) -> State {
        match self.state.load(Ordering::Acquire) {
            0 => State::Starting,
            1 => State::Joined,
            2 => State::Left,
            _ => State::Dead,
        }
    }
}

/// What a rank asks for in a collective call.
#[derive(Debug)]
#[repr(C)]
pub struct Proposal {
    /// Which call.
    pub operation: AtomicU64,
    /// Its argument (a size in bytes).
    pub argument: AtomicU64,
    /// 0, or why this rank cannot.
    pub failure: AtomicU64,
}

// SAFETY: atomics in a fixed layout.
unsafe impl Shared for Proposal {}

/// Where an area's bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum AreaKind {
    /// In the owner's heap, mapped by everyone.
    Mapped = 1,
    /// In the owner's private memory.
    Private = 2,
}

/// The four numbers, and the places that follow from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Ranks.
    pub size: usize,
    /// Ports per rank.
    pub ports: usize,
    /// Bytes of either half of a rank's heap.
    pub heap_half_bytes: usize,
    control_bytes: usize,
    rings_start: usize,
    heaps_start: usize,
    total_bytes: usize,
}

const HEADER_BYTES: usize = size_of::<Header>().next_multiple_of(PAGE_BYTES);
const RING_BYTES: usize = size_of::<Ring>().next_multiple_of(PAGE_BYTES);
/// Address space one job may reserve.
const RESERVATION_MAX: u64 = 1 << 43;

impl Layout {
    /// Lays a job out; `heap_half_bytes` 0 means as much as the machine has memory.
    pub fn new(size: usize, ports: usize, heap_half_bytes: u64) -> Result<Layout> {
        Layout::with_rings(size, ports, heap_half_bytes, true)
    }

    /// The same without rings: for ranks that are all far from each other.
    pub fn of_far_ranks(size: usize, ports: usize, heap_half_bytes: u64) -> Result<Layout> {
        Layout::with_rings(size, ports, heap_half_bytes, false)
    }

    fn with_rings(size: usize, ports: usize, heap_half_bytes: u64, rings: bool) -> Result<Layout> {
        let invalid = |text: String| Err(Error::Invalid(text));
        if size == 0 || size > 1 << 16 {
            return invalid(format!("a job on one host has 1 to {} ranks, not {size}", 1 << 16));
        }
        if !(2..=PORT_COUNT_MAX).contains(&ports) {
            return invalid(format!("a rank has 2 to {PORT_COUNT_MAX} ports, not {ports}"));
        }
        let ring_count = if rings { size * ports } else { 0 };
        let attached_bytes = ring_count.div_ceil(64) * 8;
        let rings_start = (size_of::<Block>() + attached_bytes).next_multiple_of(PAGE_BYTES);
        let control_bytes = rings_start + ring_count * RING_BYTES;
        let heaps_start = HEADER_BYTES + size * control_bytes;
        let budget = RESERVATION_MAX.min(limits::address_space());
        let room = budget.saturating_sub(heaps_start as u64) / (2 * size as u64);
        let half = match heap_half_bytes {
            0 => limits::machine_total().min(room),
            asked if asked > room => {
                return Err(Error::NoMemory {
                    needed: asked.saturating_mul(2 * size as u64).saturating_add(heaps_start as u64),
                    available: budget,
                    limit: "address space for the job's memory (ask for a smaller heap)",
                });
            }
            asked => asked,
        };
        let heap_half_bytes = (half as usize / PAGE_BYTES).max(1) * PAGE_BYTES;
        let total_bytes = heaps_start + 2 * heap_half_bytes * size;
        Ok(Layout { size, ports, heap_half_bytes, control_bytes, rings_start, heaps_start, total_bytes })
    }

    /// The size of the segment.
    pub fn total_bytes(&self) -> usize {
        self.total_bytes
    }

    /// Where the heap of `rank` starts; its own half follows after `heap_half_bytes`.
    #[inline(always)]
    pub fn heap(&self, rank: usize) -> usize {
        self.heaps_start + rank * 2 * self.heap_half_bytes
    }

    fn block(&self, rank: usize) -> usize {
        HEADER_BYTES + rank * self.control_bytes
    }

    /// Where a rank hears what a far one tells it in a step of a collective call.
    pub fn hearing(&self, rank: usize, turn: usize, step: usize) -> usize {
        self.block(rank) + MEETING_START + (turn * STEP_COUNT + step) * size_of::<Hearing>()
    }

    /// Whether bytes of the segment are what far ranks may operate on in the memory of `rank`: its heap, and the words
    /// of its control block that it meets them on.
    pub fn is_part_of(&self, rank: usize, offset: u64, bytes: u64) -> bool {
        let within = |start: usize, length: usize| {
            let inside = offset.checked_sub(start as u64).and_then(|distance| distance.checked_add(bytes));
            inside.is_some_and(|end| end <= length as u64)
        };
        within(self.heap(rank), 2 * self.heap_half_bytes) || within(self.block(rank) + MEETING_START, MEETING_BYTES)
    }
}

/// A segment together with its layout.
#[derive(Debug)]
pub struct JobMemory {
    /// The mapped bytes.
    pub segment: Segment,
    /// What lies where.
    pub layout: Layout,
}

impl JobMemory {
    /// Makes the memory of a new job; control blocks are committed, so that using them cannot fail later.
    pub fn create(layout: Layout, choices: [u64; CHOICE_WORDS]) -> Result<JobMemory> {
        let memory = JobMemory { segment: Segment::create(layout.total_bytes)?, layout };
        memory.segment.commit(0, HEADER_BYTES)?;
        for (word, choice) in memory.header().choices.iter().zip(choices) {
            word.store(choice, Ordering::Relaxed);
        }
        for rank in 0..layout.size {
            memory.segment.commit(layout.block(rank), layout.rings_start)?;
        }
        Ok(memory)
    }

    /// What all ranks share.
    #[inline]
    pub fn header(&self) -> &Header {
        self.overlay(0)
    }

    /// The control block of `rank`, which must be in range.
    #[inline(always)]
    pub fn block(&self, rank: usize) -> &Block {
        debug_assert!(rank < self.layout.size);
        self.overlay(self.layout.block(rank))
    }

    /// Word `index` of the bits that say which rings into `rank` are in use.
    #[inline]
    pub fn attached(&self, rank: usize, index: usize) -> &AtomicU64 {
        assert!(index < self.attached_words());
        self.overlay(self.layout.block(rank) + size_of::<Block>() + 8 * index)
    }

    /// Number of those words.
    #[inline]
    pub fn attached_words(&self) -> usize {
        (self.layout.size * self.layout.ports).div_ceil(64)
    }

    /// The ring from source `source` (rank * ports + port) into `rank`.
    #[inline]
    pub fn ring(&self, rank: usize, source: usize) -> &Ring {
        assert!(rank < self.layout.size && source < self.layout.size * self.layout.ports);
        self.overlay(self.layout.block(rank) + self.layout.rings_start + source * RING_BYTES)
    }

    /// Tells everyone that `rank` has ended, and wakes whoever sleeps.
    pub fn mark_departed(&self, rank: usize, state: State) {
        self.note_death(state);
        let bells = (0..self.layout.size).map(|peer| &self.block(peer).bell);
        depart(&self.header().departures, &self.block(rank).life.state, state as u64, bells);
    }

    /// The same where somebody else wakes them.
    pub fn note_departed(&self, rank: usize, state: State) {
        self.note_death(state);
        depart(&self.header().departures, &self.block(rank).life.state, state as u64, std::iter::empty());
    }

    /// Before it is known which rank it is.
    fn note_death(&self, state: State) {
        if state == State::Dead {
            self.header().deaths.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[inline(always)]
    fn overlay<T: Shared>(&self, offset: usize) -> &T {
        debug_assert!(offset + size_of::<T>() <= self.segment.bytes() && offset.is_multiple_of(align_of::<T>()));
        // SAFETY: `offset` is computed from the layout alone, so it lies in the segment and is aligned; `T` is made
        // of atomics, so any bytes are valid and others may write them; the segment lives as long as `self`.
        unsafe { &*(self.segment.base().add(offset) as *const T) }
    }
}
