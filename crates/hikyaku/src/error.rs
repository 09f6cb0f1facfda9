//! What can go wrong, in one type: each error names the peer, the limit that was passed, and what to do.

use std::fmt;

/// The result of every call.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed.
///
/// Both `{}` and `{:?}` print the sentence for the user, so that `fn main() -> hikyaku::Result<()>` and `unwrap` show it; `{:#?}`
/// prints the variant and its fields, for logs.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    // A peer is gone or misbehaves.
    /// The rank's process died (or, among threads, its closure panicked).
    #[error("rank {rank} died")]
    PeerDead {
        /// The dead rank.
        rank: usize,
    },
    /// The rank cannot be reached any more. It may run on where it is.
    #[error("rank {rank} cannot be reached any more: {tried}")]
    Unreachable {
        /// The rank.
        rank: usize,
        /// What was tried, and for how long.
        tried: String,
    },
    /// The rank ended its part of the job while this call still needed it.
    #[error("rank {rank} has left the job, but this call still waits for it")]
    PeerLeft {
        /// The rank that left.
        rank: usize,
    },
    /// The rank sent something no correct program sends.
    #[error("rank {rank} sent something impossible ({what}); its messages are no longer read")]
    PeerMisbehaved {
        /// The sender.
        rank: usize,
        /// What was wrong.
        what: &'static str,
    },
    /// The rank refused an operation this rank had started.
    #[error("rank {rank} refused an operation: {reason}")]
    Refused {
        /// The rank that refused.
        rank: usize,
        /// Its reason.
        reason: Refusal,
    },
    /// The deadline given by the caller has passed.
    #[error("timed out after {} ms", .after.as_millis())]
    Timeout {
        /// How long the call waited.
        after: std::time::Duration,
    },
    /// Nothing could be done now without waiting; the same call may succeed later.
    #[error("rank {rank} does not keep up; try again")]
    Busy {
        /// The rank whose queue is full.
        rank: usize,
    },

    // The call itself is wrong.
    /// No such rank.
    #[error("rank {rank} does not exist: the job has {size} ranks (0 to {})", .size - 1)]
    NoSuchRank {
        /// The rank named.
        rank: usize,
        /// The size of the job.
        size: usize,
    },
    /// The access does not lie within the area.
    #[error("{count} elements at index {index} go past the end of an area of {len} elements")]
    OutOfBounds {
        /// First element accessed.
        index: usize,
        /// Elements accessed.
        count: usize,
        /// Elements in the area.
        len: usize,
    },
    /// A word or atomic operation needs an address that is a multiple of 8.
    #[error("there is no aligned 8-byte word at index {index}")]
    Misaligned {
        /// The index named.
        index: usize,
    },
    /// The place belongs to another job.
    #[error("this place belongs to another job")]
    ForeignArea,
    /// The call needs a word of this rank's own memory, to wait for it, to look at it or as a status word.
    #[error("this call needs a word of this rank's own memory, not of rank {rank}")]
    NotMine {
        /// The rank the word belongs to.
        rank: usize,
    },
    /// A push with notification names a word of another rank than the one that gets the data.
    #[error("the data go to rank {target}, so the word that tells of them must be there too, not at rank {rank}")]
    NotAtTarget {
        /// The rank the word belongs to.
        rank: usize,
        /// The rank that gets the data.
        target: usize,
    },
    /// The rank has no area of that id.
    #[error("rank {rank} has no area {id}; register it there first, then synchronise")]
    UnknownArea {
        /// The rank asked.
        rank: usize,
        /// The area id.
        id: u32,
    },
    /// The area was revoked by its owner.
    #[error("area {id} of rank {rank} was revoked by its owner")]
    AreaRevoked {
        /// The owner.
        rank: usize,
        /// The area id.
        id: u32,
    },
    /// A rank has pinned some of the area, and has not released it yet.
    #[error("rank {rank} has pinned some of area {id}, which can be taken away when it has released that")]
    AreaPinned {
        /// The rank that has the pin.
        rank: usize,
        /// The area id.
        id: u32,
    },
    /// This rank already uses that area id, or the id is beyond the table.
    #[error("area id {id} is taken or beyond the table (ids 0 to {})", .max - 1)]
    AreaIdTaken {
        /// The area id.
        id: u32,
        /// Number of ids there are.
        max: u32,
    },
    /// The area's size is not a whole number of the elements named.
    #[error("an area of {bytes} bytes does not hold whole elements of {element} bytes at that alignment")]
    WrongElement {
        /// The area's size.
        bytes: usize,
        /// The element's size.
        element: usize,
    },
    /// The handler id is beyond the table or in use.
    #[error("handler id {id} is taken or beyond the table (ids 0 to {})", .max - 1)]
    HandlerTaken {
        /// The id.
        id: u16,
        /// Number of ids there are.
        max: u16,
    },
    /// No handler of that id is registered on this rank.
    #[error("no handler {id} is registered on this rank")]
    UnknownHandler {
        /// The id.
        id: u16,
    },
    /// A payload longer than an active message carries.
    #[error("a payload of {bytes} bytes is more than the {max} that an active message carries; use push for bulk data")]
    PayloadTooLong {
        /// The payload.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// No such slot.
    #[error("slot {slot} does not exist: there are {slots} (0 to {})", .slots - 1)]
    NoSuchSlot {
        /// The slot named.
        slot: usize,
        /// The number of slots.
        slots: usize,
    },
    /// The slot is in use by another operation of the same direction.
    #[error(
        "slot {slot} between this rank and rank {rank} is in use by an operation that has not ended; wait for it first"
    )]
    SlotBusy {
        /// The peer.
        rank: usize,
        /// The slot.
        slot: usize,
    },
    /// A message was longer than the receive's buffer; nothing was written.
    #[error(
        "a message of {bytes} bytes from rank {from} in slot {slot} does not fit the receive of rank {to}; nothing was written"
    )]
    Truncated {
        /// The sender.
        from: usize,
        /// The receiver.
        to: usize,
        /// The slot.
        slot: usize,
        /// The size of the message.
        bytes: usize,
    },
    /// A reply was longer than the caller's buffer for it; nothing was written.
    #[error("rank {rank} replied {bytes} bytes, more than the {room} of the buffer for them; nothing was written")]
    ReplyTooLong {
        /// The rank that was called.
        rank: usize,
        /// The reply.
        bytes: usize,
        /// The buffer.
        room: usize,
    },
    /// A message was no whole number of the receive's elements; its bytes are in the buffer.
    #[error(
        "a message of {bytes} bytes from rank {from} in slot {slot} is not a whole number of elements of {element} bytes: is it of another type?"
    )]
    PartElement {
        /// The sender.
        from: usize,
        /// The slot.
        slot: usize,
        /// The size of the message.
        bytes: usize,
        /// The size of an element of the receive.
        element: usize,
    },
    /// A message was longer than the buffer of the receive that it matched. It is gone.
    #[error(
        "a message of {bytes} bytes from rank {from} with key {key} does not fit the receive that it matched, which has room for {room}; it is lost"
    )]
    Overlong {
        /// The sender.
        from: usize,
        /// Its key.
        key: u64,
        /// The size of the message.
        bytes: usize,
        /// The size of the buffer.
        room: usize,
    },
    /// A message was no whole number of the elements of the receive that it matched; its bytes are in the buffer.
    #[error(
        "a message of {bytes} bytes from rank {from} with key {key} is not a whole number of elements of {element} bytes: is it of another type?"
    )]
    Uneven {
        /// The sender.
        from: usize,
        /// Its key.
        key: u64,
        /// The size of the message.
        bytes: usize,
        /// The size of an element of the receive.
        element: usize,
    },
    /// A long message could not be copied: the kernel refused a part of the sender's or the receiver's buffer. What the
    /// receive's buffer holds is undefined.
    #[error(
        "a message from rank {from} in slot {slot} could not be copied to rank {to}: a part of one of their buffers cannot be reached (a bad pointer, or memory that was unmapped?)"
    )]
    BadBuffer {
        /// The sender.
        from: usize,
        /// The receiver.
        to: usize,
        /// The slot.
        slot: usize,
    },
    /// A call that waits was made inside a handler.
    #[error("a handler may not wait: send a message instead, and continue in its handler")]
    InHandler,
    /// A call that waits was made by a function that combines, in the middle of the call that needs it.
    #[error("a function of a reduction may not wait or make collective calls: it runs inside another call")]
    InFunction,
    /// The calling process is a fork of a rank, not a rank.
    #[error("this process is a fork of a rank; only the rank itself may communicate")]
    ForkedChild,
    /// Ranks called the same collective with different arguments.
    #[error("{}", disagreement(.rank, .my_call, .their_call))]
    Mismatch {
        /// The collective.
        operation: &'static str,
        /// A rank that disagrees.
        rank: usize,
        /// What this rank asked for.
        mine: u64,
        /// What that rank asked for.
        theirs: u64,
        /// The call of this rank, as `allreduce(sum, 10 x f64)`.
        my_call: String,
        /// The call of that rank; the same text if they differ in an earlier one.
        their_call: String,
    },
    /// All ports of this rank are in use.
    #[error("all {max} ports of this rank are in use; close one, or start the job with more ports")]
    NoPort {
        /// The number of ports.
        max: usize,
    },
    /// An argument that makes no sense.
    #[error("{0}")]
    Invalid(String),

    // The machine or the start of the job.
    /// Not enough memory, found before it was touched.
    #[error("{needed} bytes are needed, but the {limit} leaves {available}")]
    NoMemory {
        /// Bytes needed.
        needed: u64,
        /// Bytes available.
        available: u64,
        /// Which limit was met.
        limit: &'static str,
    },
    /// Ranks did not join in time.
    #[error("ranks {missing:?} did not join the job within {} s", .after.as_secs())]
    StartTimeout {
        /// The missing ranks.
        missing: Vec<usize>,
        /// The time allowed.
        after: std::time::Duration,
    },
    /// The launcher cannot be talked to.
    #[error("cannot join the job: {reason}")]
    Launcher {
        /// Why.
        reason: String,
    },
    /// A setting of the environment that cannot be read; [`crate::settings`] lists them all.
    #[error("{name}={value} cannot be read; accepted is {accepted}")]
    Setting {
        /// The variable.
        name: &'static str,
        /// What it is set to.
        value: String,
        /// What it may be.
        accepted: &'static str,
    },
    /// The program of a job's ranks cannot be started.
    #[error("cannot start {program}: {reason}")]
    CannotStart {
        /// The program.
        program: String,
        /// Why.
        reason: String,
        /// Whether there is such a program at all.
        exists: bool,
    },
    /// A host of the job does not do its part.
    #[error("host {host}: {reason}")]
    Host {
        /// Its name.
        host: String,
        /// Why.
        reason: String,
    },
    /// A system call failed.
    #[error("{call}: {}", std::io::Error::from_raw_os_error(*.errno))]
    System {
        /// The system call.
        call: &'static str,
        /// Its error number.
        errno: i32,
    },
}

fn disagreement(rank: &usize, mine: &str, theirs: &str) -> String {
    match mine == theirs {
        true => format!("rank {rank} and this rank both call {mine}, but a call before it was not the same on both"),
        false => format!("rank {rank} calls {theirs}, this rank {mine}; all ranks must make the same call"),
    }
}

/// Why a rank refused an operation on its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
#[non_exhaustive]
pub enum Refusal {
    /// No handler of that id is registered there.
    UnknownHandler = 1,
    /// The area is unknown or was revoked.
    UnknownArea = 2,
    /// The access does not lie within the area.
    OutOfBounds = 3,
    /// It has not enough memory for its part.
    OutOfMemory = 4,
    /// The handler panicked there before it answered.
    HandlerPanicked = 5,
    /// It cannot be reached by the rank that was to write there.
    Unreached = 6,
    /// The pointer there leads nowhere.
    NoPointer = 7,
    /// The chain of commands there loops, or has something in it that is no command.
    BadChain = 8,
    /// The chain of commands there is not for so many bytes.
    ChainTooShort = 9,
}

impl Refusal {
    /// The refusal behind a number that came from a peer.
    pub(crate) fn from_u64(value: u64) -> Refusal {
        match value {
            1 => Refusal::UnknownHandler,
            3 => Refusal::OutOfBounds,
            4 => Refusal::OutOfMemory,
            5 => Refusal::HandlerPanicked,
            6 => Refusal::Unreached,
            7 => Refusal::NoPointer,
            8 => Refusal::BadChain,
            9 => Refusal::ChainTooShort,
            _ => Refusal::UnknownArea,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::UnknownHandler => "no such handler is registered there",
            Refusal::UnknownArea => "the area is unknown or was revoked",
            Refusal::OutOfBounds => "the access is not within the area",
            Refusal::OutOfMemory => "it does not have enough memory for its part",
            Refusal::HandlerPanicked => "the handler panicked there before it answered",
            Refusal::Unreached => "the rank that was to write there cannot reach it",
            Refusal::NoPointer => "the pointer there leads nowhere",
            Refusal::BadChain => "the chain of commands there loops, or has something in it that is no command",
            Refusal::ChainTooShort => "the chain of commands there is not for so many bytes",
        })
    }
}

/// Writes the variant and its fields; one that is missing here does not compile.
macro_rules! structure {
    ($error:expr, $f:expr; $($name:ident { $($field:ident),* })*) => {
        match $error {
            $(Error::$name { $($field),* } => {
                $f.debug_struct(stringify!($name))$(.field(stringify!($field), $field))*.finish()
            })*
            Error::Invalid(reason) => $f.debug_tuple("Invalid").field(reason).finish(),
        }
    };
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return fmt::Display::fmt(self, f);
        }
        structure! { self, f;
            PeerDead { rank }
            Unreachable { rank, tried }
            PeerLeft { rank }
            PeerMisbehaved { rank, what }
            Refused { rank, reason }
            Timeout { after }
            Busy { rank }
            NoSuchRank { rank, size }
            OutOfBounds { index, count, len }
            Misaligned { index }
            ForeignArea { }
            NotMine { rank }
            NotAtTarget { rank, target }
            UnknownArea { rank, id }
            AreaRevoked { rank, id }
            AreaPinned { rank, id }
            AreaIdTaken { id, max }
            WrongElement { bytes, element }
            HandlerTaken { id, max }
            UnknownHandler { id }
            PayloadTooLong { bytes, max }
            ReplyTooLong { rank, bytes, room }
            NoSuchSlot { slot, slots }
            SlotBusy { rank, slot }
            Truncated { from, to, slot, bytes }
            BadBuffer { from, to, slot }
            PartElement { from, slot, bytes, element }
            Overlong { from, key, bytes, room }
            Uneven { from, key, bytes, element }
            InHandler { }
            InFunction { }
            ForkedChild { }
            Mismatch { operation, rank, mine, theirs, my_call, their_call }
            NoPort { max }
            NoMemory { needed, available, limit }
            StartTimeout { missing, after }
            Launcher { reason }
            Setting { name, value, accepted }
            CannotStart { program, reason, exists }
            Host { host, reason }
            System { call, errno }
        }
    }
}

impl Error {
    /// A failed system call.
    pub(crate) fn system(call: &'static str, errno: rustix::io::Errno) -> Error {
        Error::System { call, errno: errno.raw_os_error() }
    }

    /// A thread that could not be started.
    pub(crate) fn thread(error: &std::io::Error) -> Error {
        Error::System { call: "pthread_create", errno: error.raw_os_error().unwrap_or(libc::EAGAIN) }
    }

    /// The peer this error is about, if it is about one.
    pub fn rank(&self) -> Option<usize> {
        match self {
            Error::PeerDead { rank }
            | Error::Unreachable { rank, .. }
            | Error::PeerLeft { rank }
            | Error::PeerMisbehaved { rank, .. }
            | Error::Refused { rank, .. }
            | Error::Busy { rank }
            | Error::NoSuchRank { rank, .. }
            | Error::NotMine { rank }
            | Error::NotAtTarget { rank, .. }
            | Error::UnknownArea { rank, .. }
            | Error::AreaRevoked { rank, .. }
            | Error::AreaPinned { rank, .. }
            | Error::ReplyTooLong { rank, .. }
            | Error::Mismatch { rank, .. } => Some(*rank),
            _ => None,
        }
    }

    /// True when a peer is the cause: it died, left, cannot be reached, or sent nonsense. The caller's program may be right.
    pub fn is_peer_fault(&self) -> bool {
        self.is_end_of_peer() || matches!(self, Error::PeerMisbehaved { .. })
    }

    /// True when a peer takes part no more, as far as this rank knows: it died, left, or cannot be reached.
    pub fn is_end_of_peer(&self) -> bool {
        matches!(self, Error::PeerDead { .. } | Error::PeerLeft { .. } | Error::Unreachable { .. })
    }
}
