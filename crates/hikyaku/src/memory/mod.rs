//! Memory that several ranks reach: made, sealed, laid out, copied.
//!
//! Rests on: [`crate::sync`] for what lives in it.
//! Leaves out: who may reach which part of it (that is [`crate::ni`]).
//!
//! | file | concept |
//! |---|---|
//! | `atomic` | changing a word that others may change at the same moment |
//! | `cache` | how much the caches hold |
//! | `copy` | moving bytes that a peer may be writing at the same moment |
//! | `parts/` | copying some of many units: blocks, marked units, changed ones |
//! | `memcheck` | what valgrind is told of it |
//! | `segment` | an unnamed, sealed, mapped file |
//! | `span` | some bytes of a segment, checked to be inside |
//! | `heap` | handing out parts of a segment, the same way on every rank |
//! | `limits` | what this machine can give, asked before it is taken |
//! | `cgroup` | what control groups grant |
//! | `turn` | taking it one after the other, where there may not be enough for all |

pub mod atomic;
pub mod cache;
mod cgroup;
pub mod copy;
pub mod heap;
pub mod limits;
pub mod memcheck;
pub mod parts;
pub mod segment;
pub mod span;
mod turn;
