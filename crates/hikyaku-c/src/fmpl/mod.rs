//! FMPL: messages by slots, groups and what their members do together, for C (`include/fmpl.h`) and Fortran
//! (`include/fmpl.f90`, `include/fmplf.h`).
//!
//! Rests on the job of this process, which it shares with the calls of `hikyaku.h`. A thread that makes calls has an
//! [`Fmpl`] of its own, so nothing here is locked: it finds it in one of its four words (`crate::current`), where threads
//! that may make no calls find null.
//!
//! | file | concept |
//! |---|---|
//! | `entry` | what every call passes through |
//! | `error` | codes |
//! | `job` | beginning and ending |
//! | `threads` | the same for other threads |
//! | `origin` | what a thread's calls rest on |
//! | `table` | numbers that stand for things |
//! | `comm` | groups |
//! | `message` | blocking send and receive, the spare buffer |
//! | `pending` | non-blocking send and receive |
//! | `prepared` | transfers set up once and started many times |
//! | `request` | the names of those, and of collective calls under way |
//! | `function` | what reductions combine by |
//! | `collective` | barrier, broadcast, reductions, blocks |
//! | `uneven` | blocks of different lengths, reductions whose result is shared out |
//! | `started`, `uneven_started` | the same without blocking |
//! | `under_way` | buffers that the program lends to what goes on after a call |
//! | `memory` | memory that all ranks of the host map |
//! | `fortran` | the same calls for Fortran |

mod collective;
mod comm;
mod entry;
mod error;
mod fortran;
mod function;
mod job;
mod memory;
mod message;
mod origin;
mod pending;
mod prepared;
mod request;
mod started;
mod table;
mod threads;
mod under_way;
mod uneven;
mod uneven_started;

pub use job::Fmpl;
