//! What can go wrong, in the words a program's user sees.

use hikyaku::Error;
use std::fmt;

/// Why a call cannot be done. Whoever makes it for a program prints this and ends the job.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// No such context.
    Context(i32),
    /// A context that is left does not exist.
    Exit(i32),
    /// A grid that cannot be.
    Grid {
        /// Rows asked for.
        rows: i32,
        /// Columns asked for.
        columns: i32,
        /// Processes there are.
        size: usize,
    },
    /// An entry of a map that names no process, or one that was named before.
    Map {
        /// The entry.
        entry: i32,
        /// Processes there are.
        size: usize,
    },
    /// No such system handle.
    Handle(i32),
    /// A system handle made of a communicator that cannot be used.
    Communicator(&'static str),
    /// Another process makes a grid of another shape.
    Shape {
        /// Its rank in the job.
        rank: usize,
        /// Rows and columns that this process asks for.
        mine: (u32, u32),
        /// Those that the other one asks for.
        theirs: (u32, u32),
    },
    /// Another process makes a grid of other processes.
    Members {
        /// Its rank in the job.
        rank: usize,
    },
    /// A matrix that cannot be.
    Dimensions {
        /// Its rows.
        m: i32,
        /// Its columns.
        n: i32,
    },
    /// A scope other than row, column and all.
    Scope(u8),
    /// A topology there is not.
    Topology(u8),
    /// A row or column of a process outside the grid.
    Place {
        /// `RDEST`, `CDEST`, `RSRC` or `CSRC`.
        what: &'static str,
        /// Its value.
        value: i32,
        /// Rows or columns of the grid.
        limit: usize,
    },
    /// A broadcast that a process wants to receive from itself.
    OwnBroadcast,
    /// A message longer than the matrix it is received into.
    Long {
        /// Bytes of the message, if that is known.
        bytes: Option<u64>,
        /// Bytes of the matrix.
        room: usize,
    },
    /// Calls from a thread other than that of the first call.
    Thread,
    /// The BLACS of a library that the program has opened cannot be replaced.
    Takeover {
        /// The library.
        library: String,
        /// What prevents it.
        why: String,
    },
    /// What the library says.
    Library(Error),
}

/// The result of a call.
pub type Outcome<T> = Result<T, Trouble>;

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::Library(error)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Context(context) => write!(f, "Invalid context handle: {context}"),
            Trouble::Exit(context) => write!(f, "Trying to exit non-existent context {context}"),
            Trouble::Grid { rows, columns, size } => write!(f, "Illegal grid ({rows} x {columns}), #procs={size}"),
            Trouble::Map { entry, size } => {
                write!(f, "Illegal process {entry} in the map of a grid: not one of {size}, or there twice")
            }
            Trouble::Handle(handle) => {
                write!(f, "No system context corresponding to BLACS system context handle {handle}")
            }
            Trouble::Communicator(why) => write!(f, "Cannot define a BLACS system handle: {why}"),
            Trouble::Shape { rank, mine, theirs } => write!(
                f,
                "Process {rank} makes this grid with {} x {} processes, and this process with {} x {}",
                theirs.0, theirs.1, mine.0, mine.1
            ),
            Trouble::Members { rank } => {
                write!(
                    f,
                    "Process {rank} makes this grid of other processes than this process does, or in another order"
                )
            }
            Trouble::Dimensions { m, n } => write!(f, "Illegal dimensions of a matrix: M={m}, N={n}"),
            Trouble::Scope(scope) => write!(f, "Unknown scope '{}'", *scope as char),
            Trouble::Topology(topology) => write!(f, "Unknown topology '{}'", *topology as char),
            Trouble::Place { what, value, limit } => {
                let limits = if what.starts_with('R') { "NPROW" } else { "NPCOL" };
                write!(f, "{what} out of range; {what}={value}, {limits}={limit}")
            }
            Trouble::OwnBroadcast => write!(f, "Node tries to recv its own broadcast"),
            Trouble::Long { bytes: Some(bytes), room } => {
                write!(f, "A message of {bytes} bytes is longer than the {room} bytes it is received into")
            }
            Trouble::Long { bytes: None, room } => {
                write!(f, "A message is longer than the {room} bytes it is received into")
            }
            Trouble::Thread => write!(f, "One thread of a process calls the BLACS, the one that called them first"),
            Trouble::Takeover { library, why } => write!(
                f,
                "The BLACS in {library} cannot be replaced ({why}); link the program with -lhikyaku_blacs and ScaLAPACK instead of opening it"
            ),
            Trouble::Library(error) => write!(f, "{error}"),
        }
    }
}
