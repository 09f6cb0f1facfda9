//! What lies where in the memory that the ranks of one host share.
//!
//! ```text
//!   | header | control block of local 0 | ... | heap of local 0: symmetric half, own half | heap of local 1 ...
//!              block, attached bits, rings
//!   | news of ranks of other hosts
//! ```
//! Ranks have a number on their host ([`Local`]), by which they are found here. All places follow from five numbers (ranks of
//! the host, ranks of the job, ports, heap size, format version), so nothing read from the segment is ever used to find a
//! place in it.

use super::ring::Ring;
use super::waiting::Waiting;
use crate::error::{Error, Result};
use crate::memory::limits;
use crate::memory::segment::{PAGE_BYTES, Segment};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::barrier::{Counter, Flags, STEP_COUNT};
use crate::sync::bell::{Bell, CELL_COUNT};
use crate::sync::departure::depart;
use crate::sync::entry::Entry;
use crate::sync::guard::Guard;
use crate::sync::line::Line;
use crate::sync::{Shared, shared};

/// Moves on with every change of this file or of what it lays out; ranks of different formats do not join.
pub const FORMAT: u64 = 10;
/// Area ids per rank.
pub const AREA_COUNT: usize = 256;
/// Registers of a rank. One cache line.
pub const REGISTER_COUNT: usize = 8;
/// Ports a rank may have; port 0 is the network interface's own.
pub const PORT_COUNT_MAX: usize = CELL_COUNT;

/// Words of the table of choices.
pub const CHOICE_WORDS: usize = 48;

shared! {
    /// What all ranks share.
    #[derive(Debug)]
    pub struct Header {
        /// Moves on whenever a rank leaves or dies. Read in every wait, hardly ever written.
        pub departures: Line<AtomicU64>,
        /// How many of them have died, or left after they had lost another.
        pub deaths: Line<AtomicU64>,
        /// `!` of the fewest barriers that one of them had come to; 0 while all take part. Whoever waits at an earlier one misses nobody.
        pub shortfall: Line<AtomicU64>,
        /// The barrier for crowded cores.
        pub counter: Counter,
        /// Which version of a collective is used; see `job::choice`. Written before any rank joins.
        pub choices: [AtomicU64; CHOICE_WORDS],
    }
}

shared! {
    /// What belongs to one rank.
    #[derive(Debug)]
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
        /// Its registers: pointers that peers name by a number.
        pub registers: Line<[AtomicU64; REGISTER_COUNT]>,
        /// What each port waits for, once that has taken a while.
        pub waits: [Waiting; PORT_COUNT_MAX],
    }
}

shared! {
    /// Who a rank is and how it is.
    #[derive(Debug)]
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
        /// One bit per port that is open. Written by the rank, for whoever watches it.
        pub ports: AtomicU64,
        /// Which rank's end has failed its latest call that failed by one, as [`Blame`] writes it. Written by the rank, read by
        /// the launcher, which tells the first cause from those who followed.
        pub blame: AtomicU64,
    }
}

/// What a far rank has told: its first word is the last to be written.
pub type Hearing = Line<[AtomicU64; 8]>;

/// Bits of a word of news that say how many barriers the rank had come to.
const ARRIVALS_BITS: u32 = 56;
const ARRIVALS_MASK: u64 = (1 << ARRIVALS_BITS) - 1;

/// Whose end has failed a call of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blame {
    /// The rank that had ended.
    pub rank: usize,
    /// It was dead; otherwise it had left, or could not be reached, and may have run on.
    pub was_dead: bool,
}

impl Blame {
    /// As a word that is not 0.
    pub fn word(self) -> u64 {
        ((self.rank as u64 + 1) << 1) | self.was_dead as u64
    }

    /// What the word of a rank says, if it names one of `size` ranks.
    pub fn from_word(word: u64, size: usize) -> Option<Blame> {
        let rank = usize::try_from((word >> 1).checked_sub(1)?).ok()?;
        (rank < size).then_some(Blame { rank, was_dead: word & 1 == 1 })
    }
}

/// The state of a rank, as another sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u64)]
pub enum State {
    /// Started, has not joined yet.
    Starting = 0,
    /// Takes part.
    Joined = 1,
    /// Has ended its part properly.
    Left = 2,
    /// Has ended its part, after a call of it had failed because it could not reach another rank. What others expect of it may be
    /// missing, so whoever waits for anyone waits no longer.
    Parted = 3,
    /// Is dead.
    Dead = 4,
    /// Cannot be reached any more, though it may run on. Each rank finds that out for itself, or the launcher does, of all ranks of a host.
    Unreachable = 5,
}

impl State {
    /// What is told in shared memory; an impossible value counts as dead.
    pub fn told(word: u64) -> State {
        match word {
            0 => State::Starting,
            1 => State::Joined,
            2 => State::Left,
            3 => State::Parted,
            _ => State::Dead,
        }
    }

    /// What is told of a rank of another host.
    fn told_from_afar(word: u64) -> State {
        if word == State::Unreachable as u64 { State::Unreachable } else { State::told(word) }
    }

    /// Whether the rank has ended its part by itself.
    pub fn has_left(self) -> bool {
        matches!(self, State::Left | State::Parted)
    }

    /// Whether the rank takes part no more.
    pub fn is_over(self) -> bool {
        self >= State::Left
    }
}

impl Life {
    /// The state.
    #[inline]
    pub fn state(&self) -> State {
        State::told(self.state.load(Ordering::Acquire))
    }
}

shared! {
    /// What a rank asks for in a collective call.
    #[derive(Debug)]
    pub struct Proposal {
        /// Which call.
        pub operation: AtomicU64,
        /// Its argument (a size in bytes).
        pub argument: AtomicU64,
        /// 0, or why this rank cannot.
        pub failure: AtomicU64,
    }
}

/// Where an area's bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum AreaKind {
    /// In the owner's heap, mapped by everyone.
    Mapped = 1,
    /// In the owner's private memory.
    Private = 2,
}

/// The number of a rank on its host: by it the rank's block, rings and heap are found in the host's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local(pub u32);

/// Five numbers, and the places that follow from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Ranks of the job, on all hosts.
    pub size: usize,
    /// Ranks of this host.
    pub count: usize,
    /// Ports per rank.
    pub ports: usize,
    /// Bytes of either half of a rank's heap.
    pub heap_half_bytes: usize,
    control_bytes: usize,
    rings_start: usize,
    heaps_start: usize,
    news_start: usize,
    total_bytes: usize,
}

const HEADER_BYTES: usize = size_of::<Header>().next_multiple_of(PAGE_BYTES);
const RING_BYTES: usize = size_of::<Ring>().next_multiple_of(PAGE_BYTES);
/// Address space one job may reserve.
const RESERVATION_MAX: u64 = 1 << 43;

impl Layout {
    /// Lays out the memory of a job of `size` ranks on one host; `heap_half_bytes` 0 means as much as the machine has memory.
    pub fn new(size: usize, ports: usize, heap_half_bytes: u64) -> Result<Layout> {
        Layout::of_host(size, size, ports, heap_half_bytes)
    }

    /// Lays out the memory of a host with `count` of the `size` ranks of a job.
    pub fn of_host(size: usize, count: usize, ports: usize, heap_half_bytes: u64) -> Result<Layout> {
        let invalid = |text: String| Err(Error::Invalid(text));
        if size == 0 || size > 1 << 16 || count == 0 || count > size {
            return invalid(format!(
                "a job has 1 to {} ranks, and a host some of them, not {count} of {size}",
                1 << 16
            ));
        }
        if !(2..=PORT_COUNT_MAX).contains(&ports) {
            return invalid(format!("a rank has 2 to {PORT_COUNT_MAX} ports, not {ports}"));
        }
        let ring_count = count * ports;
        let attached_bytes = ring_count.div_ceil(64) * 8;
        let rings_start = (size_of::<Block>() + attached_bytes).next_multiple_of(PAGE_BYTES);
        let control_bytes = rings_start + ring_count * RING_BYTES;
        let heaps_start = HEADER_BYTES + count * control_bytes;
        let news_bytes = if size > count { (8 * size).next_multiple_of(PAGE_BYTES) } else { 0 };
        let budget = RESERVATION_MAX.min(limits::address_space());
        let room = budget.saturating_sub((heaps_start + news_bytes) as u64) / (2 * count as u64);
        let half = match heap_half_bytes {
            0 => limits::machine_total().min(room),
            asked if asked > room => {
                return Err(Error::NoMemory {
                    needed: asked.saturating_mul(2 * count as u64).saturating_add(heaps_start as u64),
                    available: budget,
                    limit: "address space for the job's memory (ask for a smaller heap)",
                });
            }
            asked => asked,
        };
        let heap_half_bytes = (half as usize / PAGE_BYTES).max(1) * PAGE_BYTES;
        let news_start = heaps_start + 2 * heap_half_bytes * count;
        let total_bytes = news_start + news_bytes;
        Ok(Layout {
            size,
            count,
            ports,
            heap_half_bytes,
            control_bytes,
            rings_start,
            heaps_start,
            news_start,
            total_bytes,
        })
    }

    /// The size of the segment.
    pub fn total_bytes(&self) -> usize {
        self.total_bytes
    }

    /// Where the heap of a rank starts; its own half follows after `heap_half_bytes`.
    #[inline(always)]
    pub fn heap(&self, local: Local) -> usize {
        self.heaps_start + local.0 as usize * 2 * self.heap_half_bytes
    }

    /// Bytes of a heap.
    pub fn heap_bytes(&self) -> usize {
        2 * self.heap_half_bytes
    }

    fn block(&self, local: Local) -> usize {
        HEADER_BYTES + local.0 as usize * self.control_bytes
    }

    /// All ranks of this host.
    pub fn locals(&self) -> impl Iterator<Item = Local> + use<> {
        (0..self.count as u32).map(Local)
    }
}

/// The memory of one host, with its layout.
#[derive(Debug)]
pub struct JobMemory {
    /// The mapped bytes.
    pub segment: Segment,
    /// What lies where.
    pub layout: Layout,
}

impl JobMemory {
    /// Makes the memory of a host; control blocks are committed, so that using them cannot fail later.
    pub fn create(layout: Layout, choices: [u64; CHOICE_WORDS]) -> Result<JobMemory> {
        JobMemory::prepare(Segment::create(layout.total_bytes)?, layout, choices)
    }

    /// Makes the memories of several hosts within one segment.
    pub fn create_many(layouts: &[Layout], choices: [u64; CHOICE_WORDS]) -> Result<Vec<JobMemory>> {
        let largest = layouts.iter().map(|layout| layout.total_bytes).max().unwrap_or(PAGE_BYTES);
        let segments = Segment::create(largest * layouts.len())?.cut(layouts.len());
        segments
            .into_iter()
            .zip(layouts)
            .map(|(segment, layout)| JobMemory::prepare(segment, *layout, choices))
            .collect()
    }

    fn prepare(segment: Segment, layout: Layout, choices: [u64; CHOICE_WORDS]) -> Result<JobMemory> {
        let memory = JobMemory { segment, layout };
        memory.segment.commit(0, HEADER_BYTES)?;
        for (word, choice) in memory.header().choices.iter().zip(choices) {
            word.store(choice, Ordering::Relaxed);
        }
        for local in layout.locals() {
            memory.segment.commit(layout.block(local), layout.rings_start)?;
        }
        // News must not fail for want of memory.
        memory.segment.commit(layout.news_start, layout.total_bytes - layout.news_start)?;
        Ok(memory)
    }

    /// Puts memory behind a part of the segment, which other ranks may do at the same time.
    pub fn commit(&self, start: usize, bytes: usize) -> Result<()> {
        self.segment.commit_among(start, bytes, self.layout.count)
    }

    /// What all ranks share.
    #[inline]
    pub fn header(&self) -> &Header {
        self.overlay(0)
    }

    /// The control block of a rank of this host.
    #[inline(always)]
    pub fn block(&self, local: Local) -> &Block {
        debug_assert!((local.0 as usize) < self.layout.count);
        self.overlay(self.layout.block(local))
    }

    /// Word `index` of the bits that say which rings into a rank are in use.
    #[inline]
    pub fn attached(&self, local: Local, index: usize) -> &AtomicU64 {
        assert!(index < self.attached_words());
        self.overlay(self.layout.block(local) + size_of::<Block>() + 8 * index)
    }

    /// Number of those words.
    #[inline]
    pub fn attached_words(&self) -> usize {
        self.source_count().div_ceil(64)
    }

    /// Ports of this host that may send to one of its ranks.
    #[inline]
    pub fn source_count(&self) -> usize {
        self.layout.count * self.layout.ports
    }

    /// The number of a port among them.
    #[inline]
    pub fn source(&self, local: Local, port: usize) -> usize {
        local.0 as usize * self.layout.ports + port
    }

    /// The ring from a source into a rank.
    #[inline]
    pub fn ring(&self, local: Local, source: usize) -> &Ring {
        assert!((local.0 as usize) < self.layout.count && source < self.source_count());
        self.overlay(self.layout.block(local) + self.layout.rings_start + source * RING_BYTES)
    }

    /// Tells everyone here that a rank of this host has ended, and wakes whoever sleeps.
    pub fn mark_departed(&self, local: Local, state: State) {
        self.mark_departed_waking(local, state, self.bells());
    }

    /// As [`JobMemory::mark_departed`], in a simulation, which wakes ranks by itself.
    pub fn mark_departed_silently(&self, local: Local, state: State) {
        self.mark_departed_waking(local, state, std::iter::empty());
    }

    fn mark_departed_waking<'a>(&'a self, local: Local, state: State, bells: impl Iterator<Item = &'a Bell>) {
        let life = &self.block(local).life;
        self.note_end(state, life.arrivals.load(Ordering::Acquire));
        depart(&self.header().departures, &life.state, state as u64, bells);
    }

    /// Tells everyone here that a rank of another host has ended, after it had come to so many barriers.
    pub fn tell_of(&self, rank: usize, state: State, arrivals: u64) {
        self.tell_of_waking(rank, state, arrivals, self.bells());
    }

    /// As [`JobMemory::tell_of`], in a simulation, which wakes ranks by itself.
    pub fn tell_of_silently(&self, rank: usize, state: State, arrivals: u64) {
        self.tell_of_waking(rank, state, arrivals, std::iter::empty());
    }

    fn tell_of_waking<'a>(&'a self, rank: usize, state: State, arrivals: u64, bells: impl Iterator<Item = &'a Bell>) {
        let Some(word) = self.news_word(rank) else { return };
        let arrivals = arrivals & ARRIVALS_MASK;
        self.note_end(state, arrivals);
        // The state counts more: a higher one stays.
        depart(&self.header().departures, word, (state as u64) << ARRIVALS_BITS | arrivals, bells);
    }

    /// What is known of a rank of another host: its state, and how many barriers it had come to.
    pub fn news_of(&self, rank: usize) -> (State, u64) {
        let word = self.news_word(rank).map_or(0, |word| word.load(Ordering::Acquire));
        match word >> ARRIVALS_BITS {
            0 => (State::Joined, 0),
            state => (State::told_from_afar(state), word & ARRIVALS_MASK),
        }
    }

    fn news_word(&self, rank: usize) -> Option<&AtomicU64> {
        let is_there = self.layout.size > self.layout.count && rank < self.layout.size;
        is_there.then(|| self.overlay(self.layout.news_start + 8 * rank))
    }

    fn bells(&self) -> impl Iterator<Item = &Bell> {
        self.layout.locals().map(|local| &self.block(local).bell)
    }

    /// Before it is known which rank it is.
    fn note_end(&self, state: State, arrivals: u64) {
        self.header().shortfall.fetch_max(!arrivals, Ordering::SeqCst);
        if state != State::Left {
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
