//! The network interface of a rank: it executes remote operations on the rank's memory on behalf of others.
//!
//! Rests on: [`crate::transport`]. Leaves out: how ranks are started and named (that is [`crate::job`]).
//!
//! Every remote reference resolves here, either to a pointer (mapped memory: the operation is loads, stores and
//! atomics compiled in place) or to a route (private memory of another process: a system call, or a message to its
//! network interface; any memory of a rank of another host: a packet to it). Nothing above knows which it was.
//!
//! | file | concept |
//! |---|---|
//! | `place` | (rank, area, index): where an operation goes; symmetric areas |
//! | `area` | areas of one rank, by id: allocated or registered; opened by peers; revoked |
//! | `table` | the own areas, as the rank itself knows them |
//! | `block` | memory that peers map, without an id |
//! | `port` | one independent way into the interface |
//! | `routes` | how each rank is reached |
//! | `liveness` | how the other ranks are, as this one sees it |
//! | `operation` | push, pull, word, atomics, notification, flush |
//! | `raw` | the same on addresses, for other languages |
//! | `prepared` | pushes that are set up once and started many times |
//! | `access` | operations on areas: by a pointer, by a system call, or by the owner's interface |
//! | `crossing` | private memory of another process of this host, by a system call |
//! | `remote` | operations as data, performed by the owner's interface |
//! | `window` | private buffers opened to a far peer for one message |
//! | `loan` | long bytes that the transport reads in place until they are acknowledged |
//! | `account` | counted operations under way, and what was refused |
//! | `message` | active messages: sending, calling |
//! | `call` | where the answers to a port's calls arrive |
//! | `credit` | how many messages may be unhandled at a far rank |
//! | `engine` | receiving them: handlers, one at a time |
//! | `outbox` | what handlers send, and answers: kept for a while where there is no room |
//! | `intake` | receiving from far ranks: memory operations are done at once, messages kept for handlers |
//! | `failure` | panics of handlers, and how they reach the program |
//! | `lookout` | whether there is anything to receive, at the cost of a few loads |
//! | `wait` | spin, yield, sleep |
//! | `rest` | waiting for whoever is in the middle of a copy |
//! | `background` | what layers above have under way, moved on by every wait |
//! | `coroutine` | work with a stack of its own, suspended where it would wait |
//! | `service` | a thread that serves ranks of other hosts while this one computes |
//! | `thread` | progress without the host program; a descriptor for event loops |
//! | `owner` | noticing that this process is a fork |

pub(crate) mod access;
pub(crate) mod account;
pub(crate) mod area;
pub(crate) mod background;
pub(crate) mod block;
pub(crate) mod call;
pub(crate) mod coroutine;
pub(crate) mod credit;
pub(crate) mod crossing;
pub(crate) mod engine;
pub(crate) mod failure;
pub(crate) mod intake;
pub(crate) mod liveness;
pub(crate) mod loan;
pub(crate) mod lookout;
pub(crate) mod message;
pub(crate) mod operation;
pub(crate) mod outbox;
pub(crate) mod owner;
pub(crate) mod place;
pub(crate) mod port;
pub(crate) mod prepared;
pub(crate) mod raw;
pub(crate) mod remote;
pub(crate) mod rest;
pub(crate) mod routes;
pub(crate) mod service;
pub(crate) mod table;
pub(crate) mod thread;
pub(crate) mod wait;
pub(crate) mod window;

use crate::error::{Error, Result};
use crate::memory::heap::Heap;
use crate::memory::span::Span;
use crate::sync::fence::Fences;
use crate::transport::Interface;
use crate::transport::core::{Loss, Token, Transport};
use crate::transport::environment::Environment;
use crate::transport::hardware::Hardware;
use crate::transport::remote_memory::End;
use crate::transport::shm::layout::{Block, JobMemory, Local};
use crate::transport::shm::ring::{self, Packet};
use account::Account;
use call::CallSlot;
use credit::Credit;
use engine::Engine;
use failure::{Failure, Hold};
use intake::Intake;
use liveness::Lost;
use lookout::Lookout;
use message::HANDLER_COUNT;
use owner::OwnerPage;
use port::Lane;
use remote::direct::Direct;
use remote::pull::PullDesk;
use routes::Routes;
use std::ptr::NonNull;
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
    /// What the ranks of this host share.
    pub memory: Arc<JobMemory>,
    pub rank: usize,
    /// How each rank is reached: a remote reference is a pointer by one load.
    pub routes: Routes,
    /// The own number on this host.
    pub local: Local,
    /// Where the host's heaps begin.
    heaps: *mut u8,
    /// A random number of the job, by which packets are known to be its own.
    pub job: u64,
    /// What tells places of different jobs of this process apart: the same, unless simulated jobs follow from the same seed.
    pub ground: u64,
    pub fences: Fences,
    pub pace: wait::Pace,
    /// There are more ranks than cores.
    pub crowded: bool,
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
    /// What has come from far ranks.
    pub intake: Intake,
    /// Per rank of a job over several hosts: messages that may be sent to it.
    pub credits: Box<[Credit]>,
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
    /// Where the answers to each port's pulls arrive.
    pub pulls: Box<[PullDesk]>,
    /// What each port has routed.
    pub accounts: Box<[Account]>,
    /// What the network itself does on memory of far ranks, if it can.
    pub direct: Option<Direct>,
    pub windows: Windows,
    pub loans: loan::Loans,
    /// Per rank of this host: its process, as it said when all had joined; 0 before.
    processes: Box<[AtomicI32]>,
    /// Per rank of this host: the process in which its private memory can be reached directly, [`UNREACHED`], or 0 while that is not
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
    /// How the ranks of this host reach all others.
    pub routes: Routes,
    /// Of a job with several hosts.
    pub far: Option<Arc<dyn Transport>>,
    pub hardware: Option<Arc<dyn Hardware>>,
    pub environment: Option<Arc<dyn Environment>>,
}

impl Interface for Ni {
    fn take(&self, from: usize, packet: &Packet, payload: &[u8]) -> bool {
        self.intake.take(self, from, packet, payload);
        if packet.is_message() {
            let _hold = Hold::as_interface();
            Ni::progress(self);
        }
        self.has_put_off()
    }

    fn lose(&self, rank: usize, tried: &str) {
        Ni::lose(self, rank, Loss::Unreachable(tried.to_owned()));
    }

    fn progress(&self) -> bool {
        let _hold = Hold::as_interface();
        Ni::progress(self);
        self.has_put_off()
    }

    fn complete(&self, token: Token, end: End) {
        Ni::complete(self, token, end);
    }

    fn landed(&self) {
        self.notify(self.rank, crate::sync::bell::ANY);
    }
}

impl Ni {
    pub fn new(memory: Arc<JobMemory>, settings: Settings) -> Result<Arc<Ni>> {
        let layout = memory.layout;
        let local = settings.routes.to(settings.rank).local;
        // SAFETY: inside the segment.
        let heaps = unsafe { memory.segment.base().add(layout.heap(Local(0))) };
        let heap = settings.routes.to(settings.rank).heap;
        let ni = Ni {
            heaps,
            direct: Direct::new(settings.far.as_ref(), &memory, heap),
            rank: settings.rank,
            local,
            routes: settings.routes,
            job: settings.job,
            ground: settings.environment.as_ref().map_or(settings.job, |environment| environment.run()),
            fences: settings.fences,
            pace: wait::Pace::new(settings.crowded),
            crowded: settings.crowded,
            threads: settings.threads,
            owner: OwnerPage::new(layout.size)?,
            engine: Mutex::new(Engine::new(&layout)),
            lookout: Lookout::new(memory.source_count()),
            lost: Lost::default(),
            intake: Intake::default(),
            credits: (0..if settings.far.is_some() { layout.size } else { 0 }).map(|_| Credit::default()).collect(),
            failure: Failure::default(),
            workplaces: background::Workplaces::default(),
            handled: (0..HANDLER_COUNT).map(|_| AtomicU64::new(0)).collect(),
            ports_used: AtomicU64::new(1 << NI_PORT),
            calls: (0..layout.ports).map(|_| CallSlot::default()).collect(),
            pulls: (0..layout.ports).map(|_| PullDesk::default()).collect(),
            lanes: (0..layout.ports).map(|_| Mutex::default()).collect(),
            accounts: (0..layout.ports).map(|_| Account::default()).collect(),
            windows: Windows::default(),
            loans: loan::Loans::default(),
            processes: (0..layout.count).map(|_| AtomicI32::new(0)).collect(),
            cross: (0..layout.count).map(|_| AtomicI32::new(0)).collect(),
            own_areas: OwnAreas::new(layout.ports),
            own_heap: Mutex::new(Heap::new(layout.heap_half_bytes, layout.heap_half_bytes)),
            misbehaved: AtomicU64::new(0),
            far: settings.far,
            hardware: settings.hardware,
            polls: AtomicU64::new(0),
            environment: settings.environment,
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
        // SAFETY: null, or the block of a rank of this host, whose memory stays mapped; it is made of atomics.
        unsafe { self.routes.to(rank).block.as_ref() }
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
    pub fn near_bytes(&self, rank: usize, offset: u64, bytes: u64) -> Option<*mut u8> {
        let heap = self.routes.to(rank).heap;
        let end = offset.checked_add(bytes).filter(|_| !heap.is_null())?;
        // SAFETY: inside the heap.
        (end <= self.memory.layout.heap_bytes() as u64).then(|| unsafe { heap.add(offset as usize) })
    }

    /// As [`Ni::near_bytes`], with the proof that they are there.
    pub fn near_span(&self, rank: usize, offset: u64, bytes: u64) -> Option<Span<'_>> {
        let start = NonNull::new(self.near_bytes(rank, offset, bytes)?)?;
        // SAFETY: inside a heap of the segment, which `memory` keeps mapped; all access goes through raw copies and atomics.
        Some(unsafe { Span::new(start, bytes as usize) })
    }

    /// Some bytes of the own heap.
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

    /// Runs the handlers of messages that have arrived. `None` if another thread is doing so right now, else
    /// whether there was anything to do.
    #[inline]
    pub fn progress(&self) -> Option<bool> {
        let arrived = |source, position| ring::arrived(self.memory.ring(self.local, source), position);
        let attached = |word| self.memory.attached(self.local, word).load(Ordering::Relaxed);
        let far = || self.far.as_ref().is_some_and(|far| far.has_arrived() || self.intake.has_put_off());
        let is_busy = self.lookout.anything(arrived, attached);
        if is_busy || far() { self.enter_engine(is_busy) } else { Some(false) }
    }

    /// Looks for what far ranks have sent, and runs the engine: if there is something for it, or it is known to be `busy`.
    fn enter_engine(&self, is_busy: bool) -> Option<bool> {
        if self.size() == 0 {
            // The messages are the parent's, not a forked child's.
            return Some(false);
        }
        if self.far.is_some() {
            // Lost counts do no harm: that it changes is what matters.
            self.polls.store(self.polls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
        let received = self.receive() == Some(true);
        if !is_busy && !received && !self.intake.has_put_off() {
            return Some(false);
        }
        let mut engine = self.try_engine()?;
        let (worked, panic) = engine.run(self);
        drop(engine);
        let worked = worked || received;
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

    /// Does what far ranks ask for, as far as no handler of the program must run for it; whether there was anything to do.
    /// `None` if another thread is at it.
    pub fn serve_far(&self) -> Option<bool> {
        let worked = self.receive();
        if worked == Some(true) {
            self.notify(self.rank, crate::sync::bell::ANY);
        }
        worked
    }

    fn receive(&self) -> Option<bool> {
        self.far.as_ref().and_then(|far| self.intake.receive(self, &**far))
    }

    /// Tells everybody which of their operations are done here, before this rank leaves: nobody can ask then.
    pub fn answer_unasked(&self) {
        if let Some(mut engine) = self.try_engine() {
            engine.answer_unasked(self);
        }
        if self.far.is_some() {
            self.intake.answer_unasked(self);
        }
    }

    /// Whether packets of far ranks wait for something.
    fn has_put_off(&self) -> bool {
        self.lookout.has_put_off() || self.intake.has_put_off()
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
