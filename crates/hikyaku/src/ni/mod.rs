//! The network interface of a rank: it executes remote operations on the rank's memory on behalf of others.
//!
//! Rests on: [`crate::transport`]. Leaves out: how ranks are started and named (that is [`crate::job`]).
//!
//! Every remote reference resolves here, either to a pointer (mapped memory: the operation is loads, stores and
//! atomics compiled in place) or to a route (private memory of another process: a system call, or a message to its
//! network interface). Nothing above knows which it was.
//!
//! | file | concept |
//! |---|---|
//! | `place` | (rank, area, index): where an operation goes; symmetric areas |
//! | `area` | areas of one rank, by id: allocated or registered; opened by peers; revoked |
//! | `table` | the own areas, as the rank itself knows them |
//! | `block` | memory that peers map, without an id |
//! | `port` | one independent way into the interface |
//! | `operation` | push, pull, word, atomics, notification, flush |
//! | `prepared` | pushes that are set up once and started many times |
//! | `route` | the same operations where there is no pointer |
//! | `window` | private buffers opened to a far peer for one message |
//! | `account` | routed operations under way, and what was refused |
//! | `message` | active messages: sending, calling |
//! | `call` | where the answers to a port's calls arrive |
//! | `engine` | receiving them: handlers, one at a time |
//! | `failure` | panics of handlers, and how they reach the program |
//! | `lookout` | whether there is anything to receive, at the cost of a few loads |
//! | `wait` | spin, yield, sleep |
//! | `background` | what layers above have under way, moved on by every wait |
//! | `coroutine` | work with a stack of its own, suspended where it would wait |
//! | `thread` | progress without the host program; a descriptor for event loops |
//! | `owner` | noticing that this process is a fork |

pub(crate) mod account;
pub(crate) mod area;
pub(crate) mod background;
pub(crate) mod block;
pub(crate) mod call;
pub(crate) mod coroutine;
pub(crate) mod engine;
pub(crate) mod failure;
pub(crate) mod lookout;
pub(crate) mod message;
pub(crate) mod operation;
pub(crate) mod owner;
pub(crate) mod place;
pub(crate) mod port;
pub(crate) mod prepared;
pub(crate) mod route;
pub(crate) mod table;
pub(crate) mod thread;
pub(crate) mod wait;
pub(crate) mod window;

use crate::error::{Error, Result};
use crate::memory::heap::Heap;
use crate::sync::fence::Fences;
use crate::transport::Transport;
use crate::transport::shm::layout::{Block, JobMemory};
use crate::transport::shm::ring;
use crate::transport::{Interface, Parcel};
use account::Account;
use call::CallSlot;
use engine::{Done, Engine};
use failure::{Failure, Hold};
use lookout::Lookout;
use message::HANDLER_COUNT;
use owner::OwnerPage;
use port::Lane;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use table::OwnAreas;
use window::Windows;

/// The port of the network interface itself: what handlers send goes through it.
pub(crate) const NI_PORT: usize = 0;

/// In place of the process of a rank whose private memory cannot be reached directly.
const UNREACHED: i32 = -1;

/// One rank's network interface, as the rank itself holds it.
pub(crate) struct Ni {
    pub memory: Arc<JobMemory>,
    pub rank: usize,
    /// Where rank 0's heap is mapped, and how far the heaps lie apart: a remote reference is a pointer by one
    /// multiplication.
    heaps: *mut u8,
    heap_stride: usize,
    /// A random number that tells places of different jobs apart.
    pub job: u64,
    pub fences: Fences,
    pub pace: wait::Pace,
    /// There are more ranks than cores.
    pub crowded: bool,
    /// Ranks are threads of one process: private memory is a pointer too.
    pub threads: bool,
    /// How ranks are reached that are not mapped here. `None`: all are.
    pub far: Option<Arc<dyn Transport>>,
    /// The first rank that is mapped here.
    near_start: usize,
    owner: OwnerPage,
    engine: Mutex<Engine>,
    pub lookout: Lookout,
    /// Panics of handlers that could not go on where they happened.
    pub failure: Failure,
    /// Where layers above have something under way.
    pub workplaces: background::Workplaces,
    /// Runs of each handler so far: released by the engine, acquired by whoever waits for them.
    pub handled: Box<[AtomicU64]>,
    /// One bit per port in use: a lock each. Released when given back, acquired when taken, for what is kept per port.
    ports_used: AtomicU64,
    /// Where replies to each port's calls arrive.
    pub calls: Box<[CallSlot]>,
    /// Each port's sending ends while nobody has it open.
    pub lanes: Box<[Mutex<Option<Lane>>]>,
    /// What each port has routed.
    pub accounts: Box<[Account]>,
    pub windows: Windows,
    /// Per peer: its process, as it said when all had joined; 0 before.
    processes: Box<[AtomicI32]>,
    /// Per peer: the process in which its private memory can be reached directly, [`UNREACHED`], or 0 while that is not
    /// known. Kept here, since what a peer says of its process may change at any moment.
    cross: Box<[AtomicI32]>,
    /// This rank's areas.
    pub own_areas: OwnAreas,
    /// The own half of this rank's heap.
    pub own_heap: Mutex<Heap>,
    /// A rank whose messages made no sense, plus 1. Only told to the user: nothing is ordered by it.
    pub misbehaved: AtomicU64,
}

// SAFETY: the pointer leads into the segment, which `memory` keeps mapped; all access goes through raw copies and
// atomics.
unsafe impl Send for Ni {}
// SAFETY: as above.
unsafe impl Sync for Ni {}

/// What whoever starts a rank tells its interface.
pub(crate) struct Settings {
    pub rank: usize,
    pub job: u64,
    pub fences: Fences,
    pub crowded: bool,
    pub threads: bool,
    /// Of a rank that has no other mapped.
    pub far: Option<Arc<dyn Transport>>,
}

impl Interface for Ni {
    fn take(&self, parcel: &Parcel) -> bool {
        let done = self.engine().take(self, parcel);
        match done {
            Done::Now => true,
            Done::Later => false,
            Done::Panicked(panic) => {
                let _hold = Hold::as_interface();
                self.failure.go_on(panic)
            }
        }
    }

    fn progress(&self) {
        let _hold = Hold::as_interface();
        Ni::progress(self);
    }
}

impl Ni {
    pub fn new(memory: Arc<JobMemory>, settings: Settings) -> Result<Arc<Ni>> {
        let layout = memory.layout;
        let own_start = layout.heap(settings.rank) + layout.heap_half_bytes;
        // SAFETY: inside the segment.
        let heaps = unsafe { memory.segment.base().add(layout.heap(0)) };
        let (near_start, near_count, ring_count) = match settings.far {
            None => (0, layout.size, layout.size * layout.ports),
            Some(_) => (settings.rank, 1, 0),
        };
        let ni = Ni {
            heaps,
            heap_stride: 2 * layout.heap_half_bytes,
            rank: settings.rank,
            job: settings.job,
            fences: settings.fences,
            pace: wait::Pace::new(settings.crowded),
            crowded: settings.crowded,
            threads: settings.threads,
            near_start,
            owner: OwnerPage::new(layout.size, near_count)?,
            engine: Mutex::new(Engine::new(&layout)),
            lookout: Lookout::new(ring_count),
            failure: Failure::default(),
            workplaces: background::Workplaces::default(),
            handled: (0..HANDLER_COUNT).map(|_| AtomicU64::new(0)).collect(),
            ports_used: AtomicU64::new(1 << NI_PORT),
            calls: (0..layout.ports).map(|_| CallSlot::default()).collect(),
            lanes: (0..layout.ports).map(|_| Mutex::default()).collect(),
            accounts: (0..layout.ports).map(|_| Account::default()).collect(),
            windows: Windows::default(),
            processes: (0..layout.size).map(|_| AtomicI32::new(0)).collect(),
            cross: (0..layout.size).map(|_| AtomicI32::new(0)).collect(),
            own_areas: OwnAreas::new(layout.ports),
            own_heap: Mutex::new(Heap::new(own_start, layout.heap_half_bytes)),
            misbehaved: AtomicU64::new(0),
            far: settings.far,
            memory,
        };
        Ok(Arc::new(ni))
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
        rank.wrapping_sub(self.near_start) < self.owner.near_count()
    }

    #[cold]
    fn bad_rank(&self, rank: usize) -> Error {
        match self.size() {
            0 => Error::ForkedChild,
            size => Error::NoSuchRank { rank, size },
        }
    }

    /// The address of `offset` in the heap of `rank`.
    ///
    /// # Safety
    /// `rank` is in range and `offset` inside its heap.
    #[inline(always)]
    pub unsafe fn heap_address(&self, rank: usize, offset: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { self.heaps.add(rank * self.heap_stride + offset) }
    }

    /// The control block of this rank.
    #[inline]
    pub fn mine(&self) -> &Block {
        self.memory.block(self.rank)
    }

    /// Tells `rank` that `what` has changed there.
    #[inline(always)]
    pub fn notify(&self, rank: usize, what: u64) {
        self.memory.block(rank).bell.ring(self.fences, what);
    }

    /// Runs the handlers of messages that have arrived. `None` if another thread is doing so right now, else
    /// whether there was anything to do.
    #[inline]
    pub fn progress(&self) -> Option<bool> {
        if let Some(far) = &self.far {
            return if far.has_arrived() || self.lookout.has_spilled() { self.enter_engine() } else { Some(false) };
        }
        let arrived = |source, position| ring::arrived(self.memory.ring(self.rank, source), position);
        let attached = |word| self.memory.attached(self.rank, word).load(Ordering::Relaxed);
        if self.lookout.anything(arrived, attached) { self.enter_engine() } else { Some(false) }
    }

    fn enter_engine(&self) -> Option<bool> {
        if self.size() == 0 {
            // The messages are the parent's, not a forked child's.
            return Some(false);
        }
        let mut engine = self.try_engine()?;
        let (worked, panic) = engine.run(self);
        drop(engine);
        if worked {
            // Other threads of this rank may sleep until one of these handlers has run.
            self.notify(self.rank, crate::sync::bell::ANY);
        }
        if let Some(panic) = panic {
            self.failure.go_on(panic);
            // Threads of this rank that sleep have something to raise.
            self.mine().bell.ring_all();
        }
        Some(worked)
    }

    fn try_engine(&self) -> Option<MutexGuard<'_, Engine>> {
        match self.engine.try_lock() {
            Ok(engine) => Some(engine),
            // Handlers do not panic through the engine.
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The engine, waiting for whoever runs handlers right now. Never called from a handler.
    pub fn engine(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Takes a free port.
    pub fn take_port(&self) -> Result<usize> {
        let max = self.memory.layout.ports;
        loop {
            let used = self.ports_used.load(Ordering::Relaxed);
            let free = (!used).trailing_zeros() as usize;
            if free >= max {
                return Err(Error::NoPort { max });
            }
            let taken = used | 1 << free;
            if self.ports_used.compare_exchange(used, taken, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return Ok(free);
            }
        }
    }

    pub fn give_port(&self, port: usize) {
        self.ports_used.fetch_and(!(1 << port), Ordering::Release);
    }
}
