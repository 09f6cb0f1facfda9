//! What cases need: errors to expect, conditions to wait for.

use hikyaku::{Arguments, Error, Job, Refusal, Result};
pub use hikyaku_workloads::chaos::changed;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

/// The error of a call that must fail, which must be of the given form.
macro_rules! expect_error {
    ($call:expr, $($pattern:tt)+) => {
        match $call {
            Err(error) => assert!(
                matches!(error, $($pattern)+),
                "{} gave {error:?} instead of {}", stringify!($call), stringify!($($pattern)+)
            ),
            Ok(_) => panic!("{} succeeded instead of {}", stringify!($call), stringify!($($pattern)+)),
        }
    };
}
pub(crate) use expect_error;

/// Locks. It never sleeps inside the standard library, where the thread sanitizer does not see how that orders things.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    loop {
        match mutex.try_lock() {
            Ok(guard) => return guard,
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            Err(TryLockError::Poisoned(_)) => panic!("whoever had the lock has panicked"),
        }
    }
}

/// The arguments of a message about one number.
pub fn words(first: u64) -> Arguments {
    [first, 0, 0, 0, 0, 0]
}

/// A value that tells who wrote where.
pub fn tag(rank: usize, index: usize) -> u64 {
    (rank as u64 + 1) << 32 | index as u64
}

/// Bytes that differ with the seed.
pub fn bytes(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (seed * 37 + i * 7 + i / 251) as u8).collect()
}

/// Looks again and again, outside the library: meanwhile this rank runs no handlers. In virtual time only looks at own
/// memory, handlers, ranks or the clock let time go on.
pub fn spin_until(mut met: impl FnMut() -> bool) {
    // Where others want the processors, each time that one is given away takes longer than all the looks; in virtual time there may be
    // thousands of them.
    const LOOKS: usize = 256;
    while !(0..LOOKS).any(|_| met()) {
        std::thread::yield_now();
    }
}

/// Waits until the middle of an area changes that peers overwrite again and again: then one is half done.
pub fn await_half_a_push(job: &Job, middle: impl Fn() -> u64) {
    let before = middle();
    while middle() == before {
        job.progress();
    }
}

/// What becomes of a push or a word to area `id` of `rank`: the error, once the area is revoked. A far owner refuses what
/// reaches it afterwards, of which a flush tells.
pub fn push_outcome(job: &Job, rank: usize, id: u32, started: Result<()>) -> Result<()> {
    if job.is_mapped(rank)? {
        return started;
    }
    started?;
    job.flush(rank).map_err(|error| match error {
        Error::Refused { rank, reason: Refusal::UnknownArea } => Error::AreaRevoked { rank, id },
        other => other,
    })
}

/// Whether operations on private memory of `rank` wait until it makes progress. The interface of a far rank does them by
/// itself.
pub fn needs_progress_of(job: &Job, rank: usize) -> bool {
    job.is_mapped(rank).unwrap() && !job.reaches_private_memory(rank).unwrap()
}

/// Does each work in a thread of its own while this one does `here`. The threads are joined one by one: a scope that
/// waits for them by itself does so inside the standard library, where ThreadSanitizer does not see it.
///
/// A simulated rank has one thread: there they follow each other.
pub fn beside<W: FnOnce() + Send>(job: &Job, works: impl IntoIterator<Item = W>, here: impl FnOnce()) {
    if job.is_simulated() {
        works.into_iter().for_each(|work| work());
        return here();
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = works.into_iter().map(|work| scope.spawn(work)).collect();
        here();
        for thread in threads {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
}

/// The other rank of two.
pub fn other(job: &Job) -> usize {
    1 - job.rank()
}

/// The calling thread's number, by which any process finds it.
pub fn thread_number() -> u64 {
    rustix::thread::gettid().as_raw_nonzero().get() as u64
}

/// Waits until a thread of this host sleeps in the kernel. A thread in the library spins or yields until it sleeps
/// in its wait, so then it has nothing left to look at. In virtual time whoever has nothing to do sleeps at once.
pub fn await_asleep(job: &Job, thread: u64) {
    if job.is_simulated() {
        let enough = job.now() + Duration::from_millis(1);
        return spin_until(|| job.now() >= enough);
    }
    spin_until(|| {
        let stat = std::fs::read_to_string(format!("/proc/{thread}/stat")).unwrap_or_default();
        // The state follows the name, which is in brackets and may hold anything.
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('S'))
    });
}
