//! Whom an answer is for. A token travels with an operation and comes back with its answer; what comes back is a peer's word and
//! is checked.
//!
//! ```text
//!   63..11 number   10 counted   9 answered only if refused   8 a transfer   7..0 port
//! ```
//! The number is above the rest so that small ones make small tokens, which packets carry in few bytes.
//! The token of a call has none of the three bits, that of a question for a key the first and the third; 0 is no token.

/// In place of the token of an operation that nobody answers.
pub(in crate::ni) const QUIET: u64 = 0;

const COUNTED: u64 = 1 << 10;
const LAZY: u64 = 1 << 9;
const TRANSFERRED: u64 = 1 << 8;
/// Of the question by which key a rank's symmetric memory is reached.
pub(in crate::ni) const KEY: u64 = COUNTED | TRANSFERRED;
/// Below it are the kind and the port.
const NUMBER_SHIFT: u32 = 11;

/// Of a call.
pub(in crate::ni) fn called(port: usize, number: u64) -> u64 {
    number << NUMBER_SHIFT | port as u64
}

/// Of a counted operation; `lazy` if its end is asked for later.
pub(in crate::ni) fn counted(port: usize, number: u64, lazy: bool) -> u64 {
    COUNTED | if lazy { LAZY } else { 0 } | number << NUMBER_SHIFT | port as u64
}

/// Of the requests of a transfer.
pub(in crate::ni) fn transferred(port: usize, number: u64) -> u64 {
    TRANSFERRED | number << NUMBER_SHIFT | port as u64
}

/// Whether the initiator wants to hear when it is done.
pub(in crate::ni) fn is_answered(token: u64) -> bool {
    token != QUIET && token & LAZY == 0
}

/// Whether its answer tells of all counted operations before it.
pub(in crate::ni) fn is_counted(token: u64) -> bool {
    token & KEY == COUNTED
}

/// Whether the end of it is asked for later.
pub(in crate::ni) fn is_lazy(token: u64) -> bool {
    token & LAZY != 0
}

/// The token of a lazy operation, for an answer that nobody has asked for.
pub(in crate::ni) fn as_answered(token: u64) -> u64 {
    token & !LAZY
}

/// Whether the initiator wants to hear of a refusal.
pub(in crate::ni) fn is_refused(token: u64) -> bool {
    token != QUIET
}

/// The number in a token; a peer's word.
pub(in crate::ni) fn number_of(token: u64) -> u64 {
    token >> NUMBER_SHIFT
}

/// What kind of operation a token is of. The number of the port is a peer's word.
pub(in crate::ni) enum Asked {
    Call { port: usize },
    Counted { port: usize, number: u64 },
    Transfer { port: usize },
    Key,
}

/// What has been asked with a token.
pub(in crate::ni) fn asked(token: u64) -> Asked {
    let (port, number) = ((token & 0xff) as usize, number_of(token));
    match token & (COUNTED | TRANSFERRED) {
        0 => Asked::Call { port },
        KEY => Asked::Key,
        TRANSFERRED => Asked::Transfer { port },
        _ => Asked::Counted { port, number },
    }
}
