//! The job of this process: starting and ending it, and what its ranks do together.
//!
//! The lock here is taken when threads come and go, never by an operation.

use crate::entry::{guarded, with_everyone, with_port};
use crate::error::Failure;
use crate::given::exported;
use crate::{handle, thread};
use core_hikyaku::{Error, Job, NiThread, Port};
use std::ffi::c_int;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, Once};
use std::time::Duration;

/// The number of the job that runs now, or one of the two below. Written by `hk_init`, `hk_finalize` and in a forked
/// child; read by every call.
static EPOCH: AtomicU64 = AtomicU64::new(NO_JOB);
const NO_JOB: u64 = u64::MAX;
const FORKED: u64 = u64::MAX - 1;

/// See [`ports_given`].
static GIVEN: AtomicU64 = AtomicU64::new(0);

static RUNNING: Mutex<State> = Mutex::new(State { running: None, jobs: 0 });

pub struct State {
    running: Option<Running>,
    /// Jobs started so far.
    jobs: u64,
}

/// What belongs to the process while a job runs.
pub struct Running {
    job: MainJob,
    /// The interfaces by which the program has joined, as bits.
    interfaces: u8,
    /// A spare port, from which the ports of other threads are opened: the main port belongs to the init thread. When
    /// no other port is left, this one is handed out too.
    door: Option<Port>,
    /// Why there is no port, once there was none.
    no_port: Error,
    pub ni_thread: Option<NiThread>,
    pub events: Option<NiThread>,
}

/// How a program joins the job: by one of these, or by several; it leaves when it has left by all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Interface {
    Hikyaku = 1,
    Fmpl = 2,
    Ompl = 4,
}

/// The job. Only the init thread follows the pointer.
struct MainJob(NonNull<Job>);

// SAFETY: a `Job` may be moved between threads; the pointer is followed by the init thread alone.
unsafe impl Send for MainJob {}

#[inline(always)]
pub fn epoch() -> u64 {
    EPOCH.load(Ordering::Acquire)
}

/// What stands against a call when the process is in this state, if anything.
pub fn why_not(epoch: u64) -> Option<Failure> {
    match epoch {
        NO_JOB => Some(Failure::NotStarted),
        FORKED => Some(Error::ForkedChild.into()),
        _ => None,
    }
}

fn lock() -> MutexGuard<'static, State> {
    RUNNING.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Looks at or changes what runs.
pub fn with_running<R>(look: impl FnOnce(&mut Running) -> Result<R, Failure>) -> Result<R, Failure> {
    look(lock().running.as_mut().ok_or(Failure::NotStarted)?)
}

/// A port for a thread.
pub fn take_port() -> Result<Port, Failure> {
    with_running(|running| match running.door.as_ref().map(Port::open) {
        Some(Ok(port)) => Ok(port),
        Some(Err(error @ Error::NoPort { .. })) => {
            running.no_port = error.clone();
            let door = running.door.take().ok_or(error)?;
            core_hikyaku::ffi::at_work(&door);
            Ok(door)
        }
        Some(Err(error)) => Err(error.into()),
        None => Err(running.no_port.clone().into()),
    })
}

/// How many ports threads have given back: while it stays, one that found none need not ask again.
pub fn ports_given() -> u64 {
    GIVEN.load(Ordering::Acquire)
}

/// Takes back the port of a thread that ends.
pub fn give_port(port: Port, epoch: u64) {
    if EPOCH.load(Ordering::Acquire) == FORKED {
        // It is the parent's.
        std::mem::forget(port);
        return;
    }
    let mut state = lock();
    let same_job = EPOCH.load(Ordering::Acquire) == epoch;
    match state.running.as_mut().filter(|running| same_job && running.door.is_none()) {
        Some(running) => {
            core_hikyaku::ffi::stand_by(&port);
            running.door = Some(port);
        }
        None => {
            // What it has under way may take a while to end.
            drop(state);
            drop(port);
        }
    }
    GIVEN.fetch_add(1, Ordering::Release);
}

impl Running {
    /// Opens something that takes a port, and gives up the spare one if there is no other.
    pub fn open<R>(&mut self, open: impl Fn() -> core_hikyaku::Result<R>) -> Result<R, Failure> {
        match open() {
            Err(error @ Error::NoPort { .. }) if self.door.is_some() => {
                self.no_port = error;
                self.door = None;
                Ok(open()?)
            }
            other => Ok(other?),
        }
    }

    /// A port has become free: keeps it as the spare one if there is none.
    pub fn mend_door(&mut self, port: &Port) {
        if self.door.is_none() {
            self.door = port.open().ok();
        }
    }
}

/// Has a forked child know that it is one. The job of the parent is not the child's to use or to end.
fn watch_forks() {
    extern "C" fn in_child() {
        if EPOCH.load(Ordering::Relaxed) != NO_JOB {
            EPOCH.store(FORKED, Ordering::Relaxed);
        }
    }
    static ONCE: Once = Once::new();
    // SAFETY: the function stays, and does nothing that a forked child may not do. Should there be no memory for the
    // entry, the Rust library still refuses operations in a fork.
    ONCE.call_once(|| unsafe {
        libc::pthread_atfork(None, None, Some(in_child));
    });
}

/// Joins the job by an interface; the second one finds it joined.
pub fn join(interface: Interface) -> Result<(), Failure> {
    thread::refuse_in_handler()?;
    match epoch() {
        NO_JOB => start(interface),
        FORKED => Err(Error::ForkedChild.into()),
        _ => {
            let joined = |running: &mut Running| Ok(running.interfaces & interface as u8 != 0);
            if with_running(joined)? {
                return Err(Failure::Started);
            }
            // One thread for all.
            thread::job()?;
            with_running(|running| {
                running.interfaces |= interface as u8;
                Ok(())
            })
        }
    }
}

fn start(interface: Interface) -> Result<(), Failure> {
    // Giving a port back takes the lock.
    thread::leave_old_job();
    let mut state = lock();
    if state.running.is_some() {
        return Err(Failure::Started);
    }
    watch_forks();
    handle::prepare();
    hikyaku_ofi::install();
    let job = Box::new(Job::start()?);
    core_hikyaku::ffi::name_calls_by(crate::current::call);
    let (door, no_port) = match job.open() {
        Ok(port) => {
            core_hikyaku::ffi::stand_by(&port);
            (Some(port), Error::NoPort { max: 0 })
        }
        Err(error) => (None, error),
    };
    state.jobs += 1;
    let epoch = state.jobs;
    thread::adopt(epoch, &job);
    let job = MainJob(NonNull::from(Box::leak(job)));
    let interfaces = interface as u8;
    state.running = Some(Running { job, interfaces, door, no_port, ni_thread: None, events: None });
    EPOCH.store(epoch, Ordering::Release);
    Ok(())
}

/// Leaves the job by an interface, and ends this rank's part if it was the last.
pub fn leave(interface: Interface) -> Result<(), Failure> {
    // On the init thread, while a job runs.
    thread::job()?;
    thread::refuse_in_handler()?;
    let mut state = lock();
    let running = state.running.as_mut().ok_or(Failure::NotStarted)?;
    if running.interfaces & interface as u8 == 0 {
        return Err(Failure::NotStarted);
    }
    running.interfaces &= !(interface as u8);
    match (running.interfaces, interface) {
        (0, _) => {}
        (_, Interface::Fmpl | Interface::Ompl) => return Ok(()),
        (_, Interface::Hikyaku) => {
            let threads = (running.ni_thread.take(), running.events.take());
            drop(state);
            drop(threads);
            handle::clear();
            crate::lock::clear();
            crate::counting::clear();
            crate::matching::clear();
            crate::multicast::clear();
            crate::region::clear();
            crate::queue::clear();
            crate::exchange::clear();
            crate::passing::clear();
            return Ok(());
        }
    }
    let epoch = EPOCH.swap(NO_JOB, Ordering::AcqRel);
    let running = state.running.take().ok_or(Failure::NotStarted)?;
    // Without the lock: threads that end here give their ports back.
    drop(state);
    drop((running.ni_thread, running.events));
    handle::clear();
    crate::lock::clear();
    crate::counting::clear();
    crate::matching::clear();
    crate::multicast::clear();
    crate::region::clear();
    crate::queue::clear();
    crate::exchange::clear();
    crate::passing::clear();
    thread::forsake(epoch);
    drop(running.door);
    // SAFETY: leaked by `start`; the init thread was the only one to use it, and has just let go of it.
    drop(unsafe { Box::from_raw(running.job.0.as_ptr()) });
    Ok(())
}

exported! {
    /// Joins the job.
    pub fn hk_init() -> c_int {
        guarded(|| join(Interface::Hikyaku))
    }

    /// Ends this rank's part.
    pub fn hk_finalize() -> c_int {
        guarded(|| leave(Interface::Hikyaku))
    }

    /// This rank.
    pub fn hk_rank() -> c_int {
        with_port(|port| Ok(port.rank()))
    }

    /// The number of ranks.
    pub fn hk_size() -> c_int {
        with_port(|port| Ok(port.size()))
    }

    /// Waits for everyone.
    pub fn hk_barrier() -> c_int {
        with_everyone(|job| Ok(job.barrier()?))
    }

    /// Waits for everyone for at most so long.
    pub fn hk_barrier_for(timeout_ms: c_int) -> c_int {
        with_everyone(|job| match u64::try_from(timeout_ms) {
            Ok(ms) => Ok(job.barrier_for(Duration::from_millis(ms))?),
            Err(_) => Ok(job.barrier()?),
        })
    }

    /// Whether a rank is alive and has not left.
    pub fn hk_is_present(rank: c_int) -> c_int {
        with_port(|port| Ok(port.is_present(rank as usize)?))
    }

    /// Whether there are more ranks than cores.
    pub fn hk_is_crowded() -> c_int {
        with_port(|port| Ok(port.is_crowded()))
    }

    /// Whether registered memory of a rank is reached without its help.
    pub fn hk_reaches_private_memory(rank: c_int) -> c_int {
        with_port(|port| Ok(port.reaches_private_memory(rank as usize)?))
    }
}
