//! What cases need: errors to expect, conditions to wait for.

use hikyaku::{Arguments, Job};

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

/// Looks again and again, outside the library: meanwhile this rank runs no handlers.
pub fn spin_until(mut met: impl FnMut() -> bool) {
    while !met() {
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

/// Does each work in a thread of its own while this one does `here`. The threads are joined one by one: a scope that
/// waits for them by itself does so inside the standard library, where ThreadSanitizer does not see it.
pub fn beside<W: FnOnce() + Send>(works: impl IntoIterator<Item = W>, here: impl FnOnce()) {
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
/// in its wait, so then it has nothing left to look at.
pub fn await_asleep(thread: u64) {
    spin_until(|| {
        let stat = std::fs::read_to_string(format!("/proc/{thread}/stat")).unwrap_or_default();
        // The state follows the name, which is in brackets and may hold anything.
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('S'))
    });
}
