//! Codes, and the last error of a thread.

use crate::given::exported;
use crate::thread::{self, ERROR_BYTES};
use core_hikyaku::Error;
use std::any::Any;
use std::ffi::{c_char, c_int};
use std::fmt::{self, Write};

/// The codes of a header, and what each means in general; the last text is that of a number that is none.
macro_rules! codes {
    ($unknown:literal; $($name:ident = $value:literal, $text:literal;)*) => {
        $(pub const $name: std::ffi::c_int = $value;)*

        pub fn describe(code: std::ffi::c_int) -> &'static std::ffi::CStr {
            match code {
                $($name => $text,)*
                _ => $unknown,
            }
        }
    };
}
pub(crate) use codes;

// The same list as in the header; a test compares them.
codes! {
    c"no code of this library";
    HK_SUCCESS = 0, c"all is well";
    HK_BUSY = 1, c"the peer does not keep up, or another rank has the lock; try again";
    HK_ERR_PEER_DEAD = -1, c"a rank died";
    HK_ERR_PEER_LEFT = -2, c"a rank has left the job";
    HK_ERR_PEER_MISBEHAVED = -3, c"a rank sent something impossible";
    HK_ERR_REFUSED = -4, c"a rank refused an operation";
    HK_ERR_TIMEOUT = -5, c"timed out";
    HK_ERR_RANK = -6, c"no such rank, or the area is not of that rank";
    HK_ERR_BOUNDS = -7, c"the access passes the end of the area";
    HK_ERR_ALIGNMENT = -8, c"not the place of an aligned word, or of aligned elements";
    HK_ERR_HANDLE = -9, c"the handle names no area, lock, barrier, recipients or request";
    HK_ERR_NOT_MINE = -10, c"own memory is needed here";
    HK_ERR_UNKNOWN_AREA = -11, c"the rank has no area of that id";
    HK_ERR_REVOKED = -12, c"the area was revoked by its owner";
    HK_ERR_AREA_ID = -13, c"the area id is taken or beyond the table";
    HK_ERR_HANDLER_ID = -14, c"the handler id is taken, beyond the table, or not registered";
    HK_ERR_PAYLOAD = -15, c"the payload is too long for an active message";
    HK_ERR_IN_HANDLER = -16, c"a handler, or a function that combines, may not wait";
    HK_ERR_FORKED = -17, c"this process is a fork of a rank";
    HK_ERR_MISMATCH = -18, c"ranks disagree on a collective call";
    HK_ERR_PORTS = -19, c"all ports of this rank are in use";
    HK_ERR_INVALID = -20, c"an argument makes no sense";
    HK_ERR_NOT_STARTED = -21, c"there is no job: before hk_init or after hk_finalize";
    HK_ERR_STARTED = -22, c"hk_init was called already";
    HK_ERR_THREAD = -23, c"this thread may not do that";
    HK_ERR_MEMORY = -24, c"not enough memory";
    HK_ERR_START = -25, c"the job cannot be joined";
    HK_ERR_SYSTEM = -26, c"a system call failed";
    HK_ERR_INTERNAL = -27, c"a mistake inside the library";
    HK_ERR_UNREACHABLE = -28, c"a rank cannot be reached any more";
    HK_ERR_TRUNCATED = -29, c"a message is longer than the buffer of its receive";
    HK_ERR_PINNED = -30, c"another rank has pinned some of the area";
}

/// Why a call failed: what the Rust library said, or what only C can do wrong.
#[derive(Debug)]
pub enum Failure {
    Library(Error),
    /// A handle that names no area.
    Handle(u64),
    /// An area of one rank, used with another.
    Owner {
        owner: usize,
        rank: usize,
    },
    /// The handle names an area, but not of the kind needed.
    Kind(&'static str),
    Null(&'static str),
    Size(usize),
    /// Not at a multiple of the alignment of its elements.
    Misaligned(&'static str),
    /// Two buffers that may not overlap do.
    Overlap,
    /// Elements of a type that an operation is not for.
    Unlike {
        operation: &'static str,
        elements: &'static str,
    },
    /// An enumeration has no such value.
    Choice {
        what: &'static str,
        value: i64,
    },
    NotStarted,
    Started,
    /// Only for the init thread.
    Thread,
    /// The thread is ending and has given its port back.
    Ending,
    /// Not the context of the handler that runs on this thread.
    Context,
    /// The table of handles is full.
    Handles(usize),
    /// A number that names no lock.
    Mutex(u64),
    /// A number that names no recipients.
    Recipients(u64),
    /// A number that names no barrier.
    Barrier(u64),
    /// A number that names no region.
    Region(u64),
    /// The number of no queue.
    Queue(u64),
    /// A number that names no request.
    Request(u64),
    /// The lock is another rank's.
    Held,
}

impl From<Error> for Failure {
    #[inline(always)]
    fn from(error: Error) -> Failure {
        Failure::Library(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // What was negative in C.
            Failure::Library(Error::NoSuchRank { rank, size }) if *rank > i32::MAX as usize => {
                write!(f, "rank {} does not exist: the job has {size} ranks (0 to {})", *rank as i64, size - 1)
            }
            Failure::Library(error) => error.fmt(f),
            Failure::Handle(handle) => {
                write!(f, "handle {handle:#x} names no area; it was freed, closed or revoked, or never was one")
            }
            Failure::Owner { owner, rank } => {
                write!(f, "this area is one of rank {owner}, not of rank {}", *rank as i64)
            }
            Failure::Kind(needed) => write!(f, "this handle does not name {needed}"),
            Failure::Null(what) => write!(f, "{what}: a null pointer"),
            Failure::Size(bytes) => write!(f, "{bytes} bytes are more than any memory has"),
            Failure::Misaligned(what) => write!(f, "{what} does not lie at a multiple of its element's alignment"),
            Failure::Overlap => f.write_str("the two buffers overlap"),
            Failure::Unlike { operation, elements } => write!(f, "{operation} cannot combine elements of {elements}"),
            Failure::Choice { what, value } => write!(f, "{value} is no {what}"),
            Failure::NotStarted => f.write_str("there is no job: call hk_init first, and nothing after hk_finalize"),
            Failure::Started => f.write_str("hk_init was called already"),
            Failure::Thread => f.write_str("only the thread that called hk_init may do this"),
            Failure::Ending => f.write_str("this thread is ending and has given its port back"),
            Failure::Context => f.write_str("a context is valid only inside its handler, on the handler's thread"),
            Failure::Mutex(number) => write!(f, "{number} names no lock; it was freed, or never was one"),
            Failure::Recipients(number) => {
                write!(f, "{number} names no recipients; they were freed, or never were any")
            }
            Failure::Barrier(number) => write!(f, "{number} names no barrier; it was freed, or never was one"),
            Failure::Region(number) => write!(f, "{number} names no region; it was freed, or never was one"),
            Failure::Queue(number) => write!(f, "{number} names no queue; it was freed, or never was one"),
            Failure::Request(number) => {
                write!(f, "{number} names no request; it has ended, or never was one")
            }
            Failure::Held => f.write_str("another rank has the lock, or waits for it"),
            Failure::Handles(max) => write!(f, "all {max} handles are in use; close or free some areas"),
        }
    }
}

impl Failure {
    pub fn code(&self) -> c_int {
        match self {
            Failure::Library(error) => code_of(error),
            Failure::Handle(_) | Failure::Kind(_) => HK_ERR_HANDLE,
            Failure::Mutex(_)
            | Failure::Barrier(_)
            | Failure::Recipients(_)
            | Failure::Region(_)
            | Failure::Queue(_)
            | Failure::Request(_) => HK_ERR_HANDLE,
            Failure::Held => HK_BUSY,
            Failure::Owner { .. } => HK_ERR_RANK,
            Failure::Misaligned(_) => HK_ERR_ALIGNMENT,
            Failure::Null(_)
            | Failure::Size(_)
            | Failure::Overlap
            | Failure::Unlike { .. }
            | Failure::Choice { .. }
            | Failure::Context => HK_ERR_INVALID,
            Failure::NotStarted => HK_ERR_NOT_STARTED,
            Failure::Started => HK_ERR_STARTED,
            Failure::Thread | Failure::Ending => HK_ERR_THREAD,
            Failure::Handles(_) => HK_ERR_MEMORY,
        }
    }

    pub fn rank(&self) -> c_int {
        let rank = match self {
            Failure::Library(error) => error.rank(),
            Failure::Owner { rank, .. } => Some(*rank),
            _ => None,
        };
        rank.and_then(|rank| c_int::try_from(rank).ok()).unwrap_or(-1)
    }
}

fn code_of(error: &Error) -> c_int {
    match error {
        Error::PeerDead { .. } => HK_ERR_PEER_DEAD,
        Error::PeerLeft { .. } => HK_ERR_PEER_LEFT,
        Error::Unreachable { .. } => HK_ERR_UNREACHABLE,
        Error::PeerMisbehaved { .. } => HK_ERR_PEER_MISBEHAVED,
        Error::Refused { .. } => HK_ERR_REFUSED,
        Error::Timeout { .. } => HK_ERR_TIMEOUT,
        Error::Busy { .. } => HK_BUSY,
        Error::NoSuchRank { .. } | Error::NotAtTarget { .. } => HK_ERR_RANK,
        Error::OutOfBounds { .. } => HK_ERR_BOUNDS,
        Error::Misaligned { .. } | Error::WrongElement { .. } => HK_ERR_ALIGNMENT,
        Error::ForeignArea => HK_ERR_HANDLE,
        Error::NotMine { .. } => HK_ERR_NOT_MINE,
        Error::UnknownArea { .. } => HK_ERR_UNKNOWN_AREA,
        Error::AreaRevoked { .. } => HK_ERR_REVOKED,
        Error::AreaPinned { .. } => HK_ERR_PINNED,
        Error::AreaIdTaken { .. } => HK_ERR_AREA_ID,
        Error::HandlerTaken { .. } | Error::UnknownHandler { .. } => HK_ERR_HANDLER_ID,
        Error::PayloadTooLong { .. } | Error::ReplyTooLong { .. } => HK_ERR_PAYLOAD,
        Error::Overlong { .. } | Error::Truncated { .. } => HK_ERR_TRUNCATED,
        Error::InHandler | Error::InFunction => HK_ERR_IN_HANDLER,
        Error::ForkedChild => HK_ERR_FORKED,
        Error::Mismatch { .. } => HK_ERR_MISMATCH,
        Error::NoPort { .. } => HK_ERR_PORTS,
        Error::Invalid(_) | Error::NoSuchSlot { .. } | Error::Setting { .. } => HK_ERR_INVALID,
        Error::NoMemory { .. } => HK_ERR_MEMORY,
        Error::StartTimeout { .. } | Error::Launcher { .. } | Error::CannotStart { .. } => HK_ERR_START,
        Error::System { .. } => HK_ERR_SYSTEM,
        // The library may learn to fail in new ways before this file does.
        _ => HK_ERR_INTERNAL,
    }
}

/// Keeps an error for `hk_last_error` and gives its code. Being busy is no error and costs nothing.
#[cold]
pub fn record(failure: &Failure) -> c_int {
    let code = failure.code();
    if code < 0 {
        keep(failure, failure.rank());
    }
    code
}

/// Keeps what a panic says for `hk_last_error` and gives the code of panics.
#[cold]
pub fn record_panic(panic: &(dyn Any + Send)) -> c_int {
    let said = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    keep(&format_args!("a mistake inside the library: {}", said.unwrap_or("a panic")), -1);
    HK_ERR_INTERNAL
}

/// Keeps the text of an error, and the rank it is about.
pub fn keep(text: &dyn fmt::Display, rank: c_int) {
    thread::keep_error(rank, |buffer| {
        let mut writer = Writer { buffer, used: 0 };
        // Too long a text is cut.
        let _ = write!(writer, "{text}");
        let end = writer.used;
        writer.buffer[end] = 0;
    });
}

/// Fills a buffer and leaves room for the final zero.
struct Writer<'a> {
    buffer: &'a mut [u8; ERROR_BYTES],
    used: usize,
}

impl Write for Writer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes().filter(|byte| *byte != 0) {
            if self.used + 1 == self.buffer.len() {
                return Err(fmt::Error);
            }
            self.buffer[self.used] = byte;
            self.used += 1;
        }
        Ok(())
    }
}

exported! {
    /// What a code means in general.
    pub fn hk_strerror(code: c_int) -> *const c_char {
        describe(code).as_ptr()
    }

    /// The last error of this thread, in full.
    pub fn hk_last_error() -> *const c_char {
        thread::error_text()
    }

    /// The rank it is about.
    pub fn hk_error_rank() -> c_int {
        thread::error_rank()
    }

    /// The version of this library.
    pub fn hk_version() -> *const c_char {
        concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
    }
}
