//! `libhikyaku_blacs.so`: the BLACS, on which ScaLAPACK is built, with their interfaces for C and Fortran 77.
//!
//! Rests on the Rust library alone: messages by slots for what goes from one process to another and for named
//! topologies, groups for everything else. A program brings the names it knows from Netlib's BLACS; nothing of MPI is
//! needed.
//!
//! | file | concept |
//! |---|---|
//! | `symbols` | the table of names that programs call |
//! | `process` | the one [`Blacs`] of a process |
//! | `abort` | saying what is wrong, and ending the job |
//! | `blacs` | contexts: making and leaving grids |
//! | `handle` | system handles: what grids are made of |
//! | `mpi` | communicators of an MPI library as system handles |
//! | `grid` | rows and columns of processes, and what they talk through |
//! | `scope` | the processes of a row, of a column, all |
//! | `matrix` | the part of a matrix a call is about, as a stream of elements |
//! | `channel` | streams between two processes, in order, without waiting |
//! | `topology` | the ways messages take through a scope |
//! | `point` | send and receive |
//! | `broadcast` | from one to all of a scope |
//! | `combine` | sums and extremes |
//! | `element` | the five types |
//! | `settings` | what a program can ask for and set by number |
//! | `takeover` | the BLACS that a program opens while it runs lead here |
//! | `unused` | programs that have BLACS of their own |
//! | `object` | which functions a loaded library has |
//! | `jump` | a jump in the place of a function |
//! | `error` | what can go wrong |

mod abort;
mod blacs;
mod broadcast;
mod channel;
mod combine;
mod element;
mod error;
mod grid;
mod handle;
mod jump;
mod matrix;
mod mpi;
mod object;
mod point;
mod process;
mod scope;
mod settings;
mod symbols;
mod takeover;
mod topology;
mod unused;

pub use blacs::{Blacs, NOT_IN_CONTEXT, Order};
pub use combine::{Coordinates, Operation};
pub use element::Element;
pub use error::{Outcome, Trouble};
pub use grid::{Grid, Position};
pub use handle::Handles;
pub use matrix::{Matrix, Shape};
pub use scope::Scope;
pub use settings::Answer;
pub use topology::{Settings, Topology};
