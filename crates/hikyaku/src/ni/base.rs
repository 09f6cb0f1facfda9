//! What a rank's network interface has, besides what it receives with.

use super::state::account::Account;
use super::state::background::Workplaces;
use super::state::call::CallSlot;
use super::state::credit::Credit;
use super::state::direct::Direct;
use super::state::failure::Failure;
use super::state::kept::Kept;
use super::state::lane::Lane;
use super::state::loan::Loans;
use super::state::lookout::Lookout;
use super::state::lost::Lost;
use super::state::own_areas::OwnAreas;
use super::state::owner::OwnerPage;
use super::state::pace::Pace;
use super::state::party::Parties;
use super::state::pins::Pins;
use super::state::relay::Relays;
use super::state::routes::Routes;
use super::state::transfer::TransferDesk;
use super::state::window::Windows;
use super::wire::message::{HANDLER_COUNT, LIBRARY_HANDLERS};
use super::wire::target::Target;
use crate::error::{Error, Result};
use crate::memory::heap::Heap;
use crate::memory::span::Span;
use crate::sync::brief::lock;
use crate::sync::fence::Fences;
use crate::sync::places::Places;
use crate::transport::core::Transport;
use crate::transport::environment::Environment;
use crate::transport::hardware::Hardware;
use crate::transport::shm::layout::{Block, JobMemory, Local};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The port of the network interface itself: what handlers send goes through it.
pub(crate) const NI_PORT: usize = 0;

/// In place of the process of a rank whose private memory cannot be reached directly.
pub(super) const UNREACHED: i32 = -1;

/// What a rank's network interface has, besides what it receives with ([`Ni`](super::interface::Ni)). So handlers may use it too.
pub(crate) struct Base {
    /// What the ranks of this host share.
    pub memory: Arc<JobMemory>,
    pub rank: usize,
    /// How each rank is reached: a remote reference is a pointer by one load.
    pub routes: Routes,
    /// The ranks of other hosts.
    pub(super) parties: Parties,
    /// The own number on this host.
    pub local: Local,
    /// Where the host's heaps begin.
    pub(super) heaps: *mut u8,
    /// What tells places of different jobs of this process apart: the same, unless simulated jobs follow from the same seed.
    pub ground: u64,
    pub fences: Fences,
    pace: Pace,
    /// That of a rank with more threads than cores.
    packed_pace: Pace,
    /// Cores that threads of this rank have for themselves.
    cores: u32,
    /// There are more ranks than cores.
    pub crowded: bool,
    /// Groups use what is best where there are not: for tests on small machines. Orders nothing.
    pub assumes_own_cores: AtomicBool,
    /// The ranks of this host are threads of one process: private memory is a pointer too.
    pub threads: bool,
    /// How ranks of other hosts are reached. `None`: there are none.
    pub far: Option<Arc<dyn Transport>>,
    /// What the network does for all ranks at once.
    pub hardware: Option<Arc<dyn Hardware>>,
    /// Of a simulated rank.
    pub environment: Option<Arc<dyn Environment>>,
    /// How often somebody has looked for what has come from far ranks.
    pub polls: AtomicU64,
    /// Ranks that cannot be reached any more.
    pub lost: Lost,
    /// Per rank of a job over several hosts: messages that may be sent to it.
    pub credits: Box<[Credit]>,
    owner: OwnerPage,
    pub lookout: Lookout,
    /// Panics of handlers that could not go on where they happened.
    pub failure: Failure,
    /// Where layers above have something under way.
    pub workplaces: Workplaces,
    /// Runs of each handler so far: released by the engine, acquired by whoever waits for them.
    pub handled: Box<[AtomicU64]>,
    /// Which ports are in use. What is kept per port is whoever's has it.
    ports: Places,
    /// Where replies to each port's calls arrive.
    pub calls: Box<[CallSlot]>,
    /// Each port's sending ends while nobody has it open.
    lanes: Box<[Mutex<Option<Lane>>]>,
    /// What each port transfers in pieces.
    pub transfers: Box<[TransferDesk]>,
    /// Some piece of a transfer found no room. Read by whoever receives, who tries again; orders nothing.
    pub stalled: AtomicBool,
    /// What was sent on for others.
    pub relays: Relays,
    /// What each port has routed.
    pub accounts: Box<[Account]>,
    /// What the network itself does on memory of far ranks, if it can.
    pub direct: Option<Direct>,
    pub windows: Arc<Windows>,
    /// What the transport reads of the program's memory.
    pub loans: Loans,
    /// Per rank of this host: its process, as it said when all had joined; 0 before.
    pub(super) processes: Box<[AtomicI32]>,
    /// Per rank of this host: the process in which its private memory can be reached directly, [`UNREACHED`], or 0 while that is not
    /// known. Kept here, since what a peer says of its process may change at any moment.
    pub(super) cross: Box<[AtomicI32]>,
    /// This rank's areas.
    pub own_areas: OwnAreas,
    /// Which of them peers have pinned.
    pub pins: Pins,
    /// What this rank has pinned by ports that have ended, and what is still to be released.
    pub left_pins: Mutex<Vec<Target>>,
    /// The own half of this rank's heap.
    pub own_heap: Mutex<Heap>,
    /// What is kept of it for messages to come.
    pub kept_nodes: Kept,
    /// A rank whose messages made no sense, plus 1. Only told to the user: nothing is ordered by it.
    pub misbehaved: AtomicU64,
}

// SAFETY: the pointer leads into the segment, which `memory` keeps mapped; all access goes through raw copies and
// atomics.
unsafe impl Send for Base {}
// SAFETY: as above.
unsafe impl Sync for Base {}

/// What whoever starts a rank tells its interface.
pub(crate) struct Settings {
    pub rank: usize,
    pub job: u64,
    pub fences: Fences,
    pub crowded: bool,
    /// Cores that threads of this rank have for themselves, with those of others on the machine in mind; at least 1.
    pub cores: usize,
    pub threads: bool,
    /// How the ranks of this host reach all others.
    pub routes: Routes,
    /// Of a job with several hosts.
    pub far: Option<Arc<dyn Transport>>,
    pub hardware: Option<Arc<dyn Hardware>>,
    pub environment: Option<Arc<dyn Environment>>,
}

impl Base {
    pub fn new(memory: Arc<JobMemory>, settings: Settings) -> Result<Base> {
        let layout = memory.layout;
        let local = settings.routes.to(settings.rank).local;
        // SAFETY: inside the segment.
        let heaps = unsafe { memory.segment.base().add(layout.heap(Local(0))) };
        let heap = settings.routes.to(settings.rank).heap;
        Ok(Base {
            heaps,
            direct: Direct::new(settings.far.as_ref(), &memory, heap),
            rank: settings.rank,
            local,
            routes: settings.routes,
            ground: settings.environment.as_ref().map_or(settings.job, |environment| environment.run()),
            fences: settings.fences,
            pace: Pace::new(settings.crowded),
            packed_pace: Pace::new(settings.crowded).packed(),
            cores: settings.cores as u32,
            crowded: settings.crowded,
            assumes_own_cores: AtomicBool::new(false),
            threads: settings.threads,
            owner: OwnerPage::new(layout.size)?,
            lookout: Lookout::new(memory.source_count()),
            lost: Lost::default(),
            credits: (0..if settings.far.is_some() { layout.size } else { 0 }).map(|_| Credit::default()).collect(),
            failure: Failure::default(),
            workplaces: Workplaces::default(),
            handled: (0..HANDLER_COUNT + LIBRARY_HANDLERS).map(|_| AtomicU64::new(0)).collect(),
            ports: Places::new(layout.ports, NI_PORT + 1),
            calls: (0..layout.ports).map(|_| CallSlot::default()).collect(),
            transfers: (0..layout.ports).map(|_| TransferDesk::default()).collect(),
            stalled: AtomicBool::new(false),
            relays: Relays::default(),
            parties: Parties::default(),
            lanes: (0..layout.ports).map(|_| Mutex::default()).collect(),
            accounts: (0..layout.ports).map(|_| Account::default()).collect(),
            windows: Arc::default(),
            loans: Loans::default(),
            processes: (0..layout.count).map(|_| AtomicI32::new(0)).collect(),
            cross: (0..layout.count).map(|_| AtomicI32::new(0)).collect(),
            own_areas: OwnAreas::new(layout.ports),
            pins: Pins::default(),
            left_pins: Mutex::default(),
            own_heap: Mutex::new(Heap::new(layout.heap_half_bytes, layout.heap_half_bytes)),
            kept_nodes: Kept::new(layout.heap_half_bytes),
            misbehaved: AtomicU64::new(0),
            far: settings.far,
            hardware: settings.hardware,
            polls: AtomicU64::new(0),
            environment: settings.environment,
            memory,
        })
    }

    /// Number of ranks; 0 in a forked child, so that every rank is out of range there and no check is needed on
    /// the paths that work.
    #[inline(always)]
    pub fn size(&self) -> usize {
        self.owner.size()
    }

    /// Fails for a rank that does not exist, and always in a forked child.
    #[inline(always)]
    pub fn check_rank(&self, rank: usize) -> Result<()> {
        if rank < self.size() { Ok(()) } else { Err(self.bad_rank(rank)) }
    }

    /// Whether this process is a fork of the rank.
    pub fn is_forked(&self) -> bool {
        self.size() == 0
    }

    /// Whether `rank` exists and its memory is mapped here. None is in a forked child.
    #[inline(always)]
    pub fn is_near(&self, rank: usize) -> bool {
        self.near_heap(rank).is_some()
    }

    /// Where the heap of `rank` is mapped, if it exists and is near. None is in a forked child.
    #[inline(always)]
    pub fn near_heap(&self, rank: usize) -> Option<*mut u8> {
        if rank >= self.size() {
            return None;
        }
        // SAFETY: the job has such a rank.
        let heap = unsafe { self.routes.to_unchecked(rank) }.heap;
        (!heap.is_null()).then_some(heap)
    }

    /// The control block of `rank`, which exists, if it is near.
    #[inline(always)]
    pub fn near_block(&self, rank: usize) -> Option<&Block> {
        self.routes.block_of(rank)
    }

    /// The number of `rank`, which is near, on this host.
    pub fn local_of(&self, rank: usize) -> Local {
        self.routes.to(rank).local
    }

    /// Whether some ranks are on other hosts.
    pub fn spans_hosts(&self) -> bool {
        !self.routes.are_all_near()
    }

    #[cold]
    fn bad_rank(&self, rank: usize) -> Error {
        match self.size() {
            0 => Error::ForkedChild,
            size => Error::NoSuchRank { rank, size },
        }
    }

    /// The address of some bytes in the heap of `rank`, which exists, if it is near; an offset outside of it is nobody's. Also in
    /// a forked child, which drops what it has of its parent's: the memory is mapped there too, and whoever would change it
    /// asks first whether this is a fork.
    #[inline]
    pub fn near_bytes(&self, rank: usize, offset: u64, bytes: u64) -> Option<*mut u8> {
        let heap = self.routes.to(rank).heap;
        let end = offset.checked_add(bytes).filter(|_| !heap.is_null())?;
        // SAFETY: inside the heap.
        (end <= self.memory.layout.heap_bytes() as u64).then(|| unsafe { heap.add(offset as usize) })
    }

    /// As [`Base::near_bytes`], with the proof that they are there.
    #[inline]
    pub fn near_span(&self, rank: usize, offset: u64, bytes: u64) -> Option<Span<'_>> {
        let start = NonNull::new(self.near_bytes(rank, offset, bytes)?)?;
        // SAFETY: inside a heap of the segment, which `memory` keeps mapped; all access goes through raw copies and atomics.
        Some(unsafe { Span::new(start, bytes as usize) })
    }

    /// Some bytes of the own heap.
    #[inline]
    pub fn own_memory(&self, offset: usize, bytes: usize) -> Span<'_> {
        self.memory.segment.span(self.own_span(offset, bytes), bytes)
    }

    /// Writes a status word of the own heap, and wakes whoever waits for it.
    pub fn set_status(&self, word: usize, value: u64) {
        let word: &AtomicU64 = self.own_memory(word, 8).at(0);
        word.store(value, Ordering::Release);
        self.notify(self.rank, self.watch_of(word.as_ptr().cast()));
    }

    /// Where an address in the own heap is in it.
    pub fn own_offset(&self, address: *const u8) -> usize {
        address.addr() - self.routes.to(self.rank).heap.addr()
    }

    /// The first byte of some in the own heap.
    pub fn own_bytes(&self, offset: usize, bytes: usize) -> *mut u8 {
        self.own_span(offset, bytes);
        // SAFETY: inside the heap.
        unsafe { self.routes.to(self.rank).heap.add(offset) }
    }

    /// Where some bytes of the own heap lie in the segment.
    #[inline]
    pub fn own_span(&self, offset: usize, bytes: usize) -> usize {
        let heap_bytes = self.memory.layout.heap_bytes();
        assert!(offset <= heap_bytes && bytes <= heap_bytes - offset, "a part of the own heap");
        self.memory.layout.heap(self.local) + offset
    }

    /// The control block of this rank.
    #[inline]
    pub fn mine(&self) -> &Block {
        self.memory.block(self.local)
    }

    /// Tells `rank` that `what` has changed there. Of a far rank its own interface does.
    #[inline(always)]
    pub fn notify(&self, rank: usize, what: u64) {
        if let Some(block) = self.near_block(rank) {
            block.bell.ring(self.fences, what);
        }
    }

    /// The time, as waits of this rank see it.
    pub fn now(&self) -> Instant {
        self.environment.as_ref().map_or_else(Instant::now, |environment| environment.now())
    }

    /// The program looks at its memory outside of a wait.
    #[inline(always)]
    pub fn look(&self) {
        if let Some(environment) = &self.environment {
            environment.look();
        }
    }

    /// Lets others run, in a loop that waits for them.
    #[cold]
    pub fn relax(&self) {
        match &self.environment {
            Some(environment) => environment.look(),
            None => rustix::thread::sched_yield(),
        }
    }

    /// How many times handler `id` has run.
    pub fn runs_of(&self, id: u16) -> u64 {
        self.handled.get(id as usize).map_or(0, |count| count.load(Ordering::Acquire))
    }

    /// Takes a free port.
    pub fn take_port(&self) -> Result<usize> {
        let port = self.ports.take().ok_or(Error::NoPort { max: self.ports.count() })?;
        self.at_work(port);
        Ok(port)
    }

    /// Somebody works with this port: whoever watches the job counts on it.
    pub fn at_work(&self, port: usize) {
        // A forked child works with none.
        if !self.is_forked() {
            self.mine().life.ports.fetch_or(1 << port, Ordering::Relaxed);
        }
    }

    /// Whether this rank has more threads than cores now.
    #[inline(always)]
    pub fn is_packed(&self) -> bool {
        self.mine().life.ports.load(Ordering::Relaxed).count_ones() > self.cores
    }

    /// How a wait of this rank goes.
    #[inline(always)]
    pub fn pace(&self, is_long: bool) -> Pace {
        match (self.is_packed(), is_long) {
            (false, _) => self.pace,
            (true, false) => self.packed_pace,
            (true, true) => self.packed_pace.without_spin(),
        }
    }

    /// Nobody works with this port: whoever watches the job does not wonder what it does.
    pub fn stand_by(&self, port: usize) {
        // What a forked child drops, its parent still has.
        if !self.is_forked() {
            self.mine().life.ports.fetch_and(!(1 << port), Ordering::Relaxed);
        }
    }

    pub fn give_port(&self, port: usize) {
        self.stand_by(port);
        self.ports.give(port);
    }

    /// What a port sends through. The positions in the rings stay with its index: whoever opens it next goes on from there.
    pub fn take_lane(&self, port: usize) -> Lane {
        let kept = lock(&self.lanes[port]).take();
        kept.unwrap_or_else(|| Lane::fresh(port))
    }

    pub fn give_lane(&self, port: usize, lane: Lane) {
        lock(&self.lanes[port]).replace(lane);
    }
}
