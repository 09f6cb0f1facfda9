//! Codes: those of `hikyaku.h`, under names of their own, and with the calls of `ompl.h` in their texts.

use crate::error::{self as base, Failure, codes};
use crate::given::exported;
use std::ffi::{c_char, c_int};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

// The same list as in the header, with the values of `hikyaku.h`; a test compares them.
codes! {
    c"no code of OMPL";
    OMPL_SUCCESS = 0, c"all is well";
    OMPL_ERR_PEER_DEAD = -1, c"a rank died";
    OMPL_ERR_PEER_LEFT = -2, c"a rank has left the job";
    OMPL_ERR_PEER_MISBEHAVED = -3, c"a rank sent something impossible";
    OMPL_ERR_REFUSED = -4, c"a rank refused an operation";
    OMPL_ERR_RANK = -6, c"no such rank";
    OMPL_ERR_BOUNDS = -7, c"the access passes the end of the global area";
    OMPL_ERR_ALIGNMENT = -8, c"a flag lies at a multiple of 8";
    OMPL_ERR_IN_HANDLER = -16, c"a handler, or a function that combines, may not wait";
    OMPL_ERR_FORKED = -17, c"this process is a fork of a rank";
    OMPL_ERR_MISMATCH = -18, c"ranks disagree on the size of the global area, or on what they do together";
    OMPL_ERR_PORTS = -19, c"all ports of this rank are in use";
    OMPL_ERR_INVALID = -20, c"an argument makes no sense";
    OMPL_ERR_NOT_STARTED = -21, c"before ompl_init or after ompl_finalize";
    OMPL_ERR_STARTED = -22, c"ompl_init was called already";
    OMPL_ERR_THREAD = -23, c"this thread may not do that";
    OMPL_ERR_MEMORY = -24, c"not enough memory";
    OMPL_ERR_START = -25, c"the job cannot be joined";
    OMPL_ERR_SYSTEM = -26, c"a system call failed";
    OMPL_ERR_INTERNAL = -27, c"a mistake inside the library";
    OMPL_ERR_UNREACHABLE = -28, c"a rank cannot be reached any more";
}

/// A failure in the words of `ompl.h`.
struct Told<'f>(&'f Failure);

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Failure::NotStarted => f.write_str("call ompl_init first, and nothing after ompl_finalize"),
            Failure::Started => f.write_str("ompl_init was called already"),
            Failure::Thread => f.write_str("only the thread that joined the job may do this"),
            Failure::Overlap => f.write_str("both ranges lie in this rank's own part, and overlap"),
            other => other.fmt(f),
        }
    }
}

/// Runs an entry point: no panic passes it, and every error becomes a code.
#[inline(always)]
pub fn guarded(body: impl FnOnce() -> Result<c_int, Failure>) -> c_int {
    let to_code = || body().unwrap_or_else(|failure| record(&failure));
    catch_unwind(AssertUnwindSafe(to_code)).unwrap_or_else(|panic| base::record_panic(&*panic))
}

#[cold]
fn record(failure: &Failure) -> c_int {
    base::keep(&Told(failure), failure.rank());
    failure.code()
}

exported! {
    /// What a code means in general.
    pub fn ompl_strerror(code: c_int) -> *const c_char {
        describe(code).as_ptr()
    }

    /// The last error of this thread, in full.
    pub fn ompl_last_error() -> *const c_char {
        crate::thread::error_text()
    }
}
