//! Codes, and what only these calls can do wrong.

use crate::error::{self as base, Failure, codes};
use crate::given::exported;
use core_hikyaku::Error;
use core_hikyaku::message::SLOTS_MAX;
use std::ffi::{c_char, c_int};
use std::fmt;

// The same list as in the headers; a test compares them.
codes! {
    c"no code of FMPL";
    FMPL_SUCCESS = 0, c"all is well";
    FMPL_ERR_PEER_DEAD = -1, c"a rank died";
    FMPL_ERR_PEER_LEFT = -2, c"a rank has left the job";
    FMPL_ERR_PEER_MISBEHAVED = -3, c"a rank sent something impossible";
    FMPL_ERR_REFUSED = -4, c"a rank could not do its part";
    FMPL_ERR_RANK = -5, c"the group has no such rank";
    FMPL_ERR_INDEX = -6, c"there is no such slot index";
    FMPL_ERR_BUSY = -7, c"the slot is in use by an operation that has not ended";
    FMPL_ERR_TRUNCATED = -8, c"the message is longer than the receive's buffer; nothing was written";
    FMPL_ERR_COMM = -9, c"the number names no group that this rank belongs to";
    FMPL_ERR_FUNC = -10, c"the handle names no function";
    FMPL_ERR_REQUEST = -11, c"the handle names no request";
    FMPL_ERR_INVALID = -12, c"an argument makes no sense";
    FMPL_ERR_UNDER_WAY = -13, c"an operation is under way that has to end first";
    FMPL_ERR_INSIDE = -14, c"a handler or a combining function may not communicate";
    FMPL_ERR_FORKED = -15, c"this process is a fork of a rank";
    FMPL_ERR_MISMATCH = -16, c"members of the group disagree on a collective call";
    FMPL_ERR_NOT_STARTED = -17, c"before fmpl_init or after fmpl_finalize";
    FMPL_ERR_STARTED = -18, c"fmpl_init was called already";
    FMPL_ERR_THREAD = -19, c"this thread may not make this call";
    FMPL_ERR_MEMORY = -20, c"not enough memory";
    FMPL_ERR_START = -21, c"the job cannot be joined";
    FMPL_ERR_SYSTEM = -22, c"a system call failed";
    FMPL_ERR_INTERNAL = -23, c"a mistake inside the library";
    FMPL_ERR_UNREACHABLE = -24, c"a rank cannot be reached any more";
    FMPL_ERR_TIMEOUT = -25, c"the time given has passed";
}

/// Why a call failed.
#[derive(Debug)]
pub enum Trouble {
    Base(Failure),
    Comm(c_int),
    World,
    Func(c_int),
    Request(c_int),
    /// A number of slots.
    Slots(c_int),
    Negative(&'static str, i64),
    /// More than fits a Fortran integer.
    Large(usize),
    Patience(c_int),
    UnderWay(&'static str),
    AnyUnderWay(c_int),
    InFunction,
    Foreign,
    Full(&'static str),
    /// This rank has too many groups.
    NoRoom(usize),
    /// A call on another thread than that of `fmpl_init`.
    OnlyInit(&'static str),
    InitThread,
    ThreadStarted,
    NoThreads,
    /// A number of a thread, and how many there are.
    NoNumber(c_int, usize),
    NumberTaken(c_int),
    NumberUsed(c_int),
    /// Threads of these numbers, some of which have ended.
    Inside {
        inside: Vec<usize>,
        ended: Vec<usize>,
    },
}

pub type Outcome<T> = Result<T, Trouble>;

impl From<Failure> for Trouble {
    #[cold]
    #[inline(never)]
    fn from(failure: Failure) -> Trouble {
        Trouble::Base(failure)
    }
}

impl From<Error> for Trouble {
    // Kept away from the calls, which would otherwise prepare for it in many places.
    #[cold]
    #[inline(never)]
    fn from(error: Error) -> Trouble {
        Trouble::Base(Failure::Library(error))
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Base(Failure::NotStarted) => f.write_str("call fmpl_init first, and nothing after fmpl_finalize"),
            Trouble::Base(Failure::Started) => f.write_str("fmpl_init was called already"),
            Trouble::Base(Failure::Thread) => f.write_str(
                "only the thread that called fmpl_init may make calls, and others that called fmpl_thread_init",
            ),
            // What was negative in C.
            Trouble::Base(Failure::Library(Error::NoSuchSlot { slot, slots })) => {
                write!(f, "slot {} does not exist: there are {slots} (0 to {})", *slot as i64, slots - 1)
            }
            Trouble::Base(Failure::Library(Error::NoSuchRank { rank, size })) => {
                write!(f, "rank {} does not exist: the group has {size} (0 to {})", *rank as i64, size - 1)
            }
            Trouble::Base(failure) => failure.fmt(f),
            Trouble::Comm(comm) => write!(f, "{comm} names no group that this rank belongs to; was it freed?"),
            Trouble::World => f.write_str("FMPL_COMM_WORLD is freed by fmpl_finalize"),
            Trouble::Func(id) => write!(f, "{id} names no function that can be combined by; was it freed?"),
            Trouble::Request(id) => write!(f, "{id} names no such request; was it freed, or waited for?"),
            Trouble::Slots(count) => write!(f, "1 to {SLOTS_MAX} slots per pair, not {count}"),
            Trouble::Negative(what, value) => write!(f, "{what}: {value} is negative"),
            Trouble::Large(bytes) => write!(f, "{bytes} is more than this integer holds; use a longer one"),
            Trouble::Patience(value) => {
                write!(f, "{value} is no time to wait: milliseconds, FMPL_SYNC (-1) or FMPL_STANDARD (-2)")
            }
            Trouble::UnderWay(what) => write!(f, "{what} while operations are under way; wait for them first"),
            Trouble::AnyUnderWay(source) => {
                write!(f, "a receive of any slot from rank {source} is under way already; wait for it first")
            }
            Trouble::InFunction => f.write_str("a function that combines may not communicate"),
            Trouble::Foreign => f.write_str("this memory is not from fmpl_malloc, or was freed; nothing was done"),
            Trouble::Full(what) => write!(f, "there are too many {what}; free some"),
            Trouble::NoRoom(rank) => {
                write!(f, "rank {rank} has too many groups, so no member gets this one; free some there")
            }
            Trouble::OnlyInit(call) => write!(f, "only the thread that called fmpl_init may call {call}"),
            Trouble::InitThread => f.write_str("the thread that called fmpl_init makes calls without fmpl_thread_init"),
            Trouble::ThreadStarted => f.write_str("this thread called fmpl_thread_init already"),
            Trouble::NoThreads => f.write_str("call fmpl_threads first, on the thread that called fmpl_init"),
            Trouble::NoNumber(number, 0) => write!(f, "there is no thread {number}: fmpl_threads was called for 0"),
            Trouble::NoNumber(number, count) => {
                write!(f, "there is no thread {number}: fmpl_threads was called for {count} (0 to {})", count - 1)
            }
            Trouble::NumberTaken(number) => write!(f, "another thread is thread {number} now"),
            Trouble::NumberUsed(number) => {
                write!(f, "a thread was thread {number} before; call fmpl_threads again when all threads have left")
            }
            Trouble::Inside { inside, ended } => {
                let list = |numbers: &[usize]| numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
                match &inside[..] {
                    [one] => write!(f, "1 thread has not called fmpl_thread_finalize: number {one}")?,
                    all => {
                        write!(f, "{} threads have not called fmpl_thread_finalize: numbers {}", all.len(), list(all))?
                    }
                }
                match &ended[..] {
                    [] => f.write_str("; they have to do that first"),
                    [one] => write!(f, "; number {one} has ended without it"),
                    several => write!(f, "; numbers {} have ended without it", list(several)),
                }
            }
        }
    }
}

impl Trouble {
    fn code(&self) -> c_int {
        match self {
            Trouble::Base(Failure::Library(error)) => code_of(error),
            Trouble::Base(Failure::NotStarted) => FMPL_ERR_NOT_STARTED,
            Trouble::Base(Failure::Started) => FMPL_ERR_STARTED,
            Trouble::Base(Failure::Thread | Failure::Ending) => FMPL_ERR_THREAD,
            Trouble::Comm(_) | Trouble::World => FMPL_ERR_COMM,
            Trouble::Func(_) => FMPL_ERR_FUNC,
            Trouble::Request(_) => FMPL_ERR_REQUEST,
            Trouble::UnderWay(_) | Trouble::Inside { .. } => FMPL_ERR_UNDER_WAY,
            Trouble::OnlyInit(_)
            | Trouble::InitThread
            | Trouble::ThreadStarted
            | Trouble::NoThreads
            | Trouble::NumberTaken(_)
            | Trouble::NumberUsed(_) => FMPL_ERR_THREAD,
            Trouble::AnyUnderWay(_) => FMPL_ERR_BUSY,
            Trouble::InFunction => FMPL_ERR_INSIDE,
            Trouble::Full(_) | Trouble::NoRoom(_) => FMPL_ERR_MEMORY,
            Trouble::Base(_)
            | Trouble::Slots(_)
            | Trouble::Negative(..)
            | Trouble::Large(_)
            | Trouble::Patience(_)
            | Trouble::NoNumber(..)
            | Trouble::Foreign => FMPL_ERR_INVALID,
        }
    }

    fn rank(&self) -> c_int {
        match self {
            Trouble::Base(failure) => failure.rank(),
            _ => -1,
        }
    }
}

fn code_of(error: &Error) -> c_int {
    match error {
        Error::PeerDead { .. } => FMPL_ERR_PEER_DEAD,
        Error::PeerLeft { .. } => FMPL_ERR_PEER_LEFT,
        Error::Unreachable { .. } => FMPL_ERR_UNREACHABLE,
        Error::Timeout { .. } => FMPL_ERR_TIMEOUT,
        Error::PeerMisbehaved { .. } => FMPL_ERR_PEER_MISBEHAVED,
        Error::Refused { .. } => FMPL_ERR_REFUSED,
        Error::NoSuchRank { .. } => FMPL_ERR_RANK,
        Error::NoSuchSlot { .. } => FMPL_ERR_INDEX,
        Error::SlotBusy { .. } => FMPL_ERR_BUSY,
        Error::Truncated { .. } => FMPL_ERR_TRUNCATED,
        Error::Invalid(_) | Error::Setting { .. } | Error::PartElement { .. } | Error::BadBuffer { .. } => {
            FMPL_ERR_INVALID
        }
        Error::InHandler | Error::InFunction => FMPL_ERR_INSIDE,
        Error::ForkedChild => FMPL_ERR_FORKED,
        Error::Mismatch { .. } => FMPL_ERR_MISMATCH,
        Error::NoMemory { .. } | Error::NoPort { .. } => FMPL_ERR_MEMORY,
        Error::StartTimeout { .. } | Error::Launcher { .. } | Error::CannotStart { .. } => FMPL_ERR_START,
        Error::System { .. } => FMPL_ERR_SYSTEM,
        // The library may learn to fail in new ways before this file does.
        _ => FMPL_ERR_INTERNAL,
    }
}

/// Keeps what went wrong for `fmpl_last_error`, and gives its code.
#[cold]
pub fn record(trouble: &Trouble) -> c_int {
    base::keep(trouble, trouble.rank());
    trouble.code()
}

exported! {
    /// What a code means in general.
    pub fn fmpl_strerror(code: c_int) -> *const c_char {
        describe(code).as_ptr()
    }

    /// The last error of this thread, in full.
    pub fn fmpl_last_error() -> *const c_char {
        crate::thread::error_text()
    }
}
