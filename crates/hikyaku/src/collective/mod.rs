//! Groups of ranks, and what their members do together: barrier, broadcast, reduction, gathering and scattering.
//!
//! Rests on: `message`.
//!
//! On one host every member has a part of its own memory that all members map. The collective calls of a group are numbered; in
//! call `n` each member writes what it asks for, and a short contribution beside it, into entry `n` of its part, and
//! reads the entries of those it needs something from. Longer contributions lie in a buffer of the part, long ones are
//! read from where they are. Entries and buffers are used in turn, so that nobody waits for slow readers of the last
//! call, and most calls wait once or not at all.
//!
//! | file | concept |
//! |---|---|
//! | `group` | which ranks, and where their parts are; splitting and freeing |
//! | `formation` | groups of some ranks, made and given up without the others |
//! | `part` | the words and buffers of one member |
//! | `words` | the words by which members follow each other |
//! | `label` | what a member asks for, to be compared with the others |
//! | `round` | the course of one call: enter, publish, await, finish |
//! | `pieces` | contributions that are read while they are written |
//! | `trouble` | calls that do not fit together, members that end |
//! | `barrier` | waiting for everyone |
//! | `broadcast` | from one to all |
//! | `direct` | the same, where the root's buffer is read in place |
//! | `stage` | the same, through two larger buffers |
//! | `source` | a long buffer where it is |
//! | `operation` | what numbers are combined by |
//! | `reduce` | reduce, allreduce, scan, exscan |
//! | `short` | allreduce of a few numbers |
//! | `element` | the same for elements whose type is known only when the program runs |
//! | `messages` | slots between the members |
//! | `share` | long reductions, where the buffers are |
//! | `tree` | the same as trees of messages |
//! | `choice` | which version is used for what |
//! | `room` | aligned private memory |
//! | `exchange` | gather, allgather, scatter, alltoall |
//! | `far/` | all calls where members are on several hosts |
//! | `pending` | calls that go on while the program does something else |
//! | `queue` | those of a group, one after the other |

mod barrier;
mod broadcast;
mod choice;
mod direct;
mod element;
mod exchange;
mod far;
mod formation;
mod group;
mod label;
mod messages;
mod operation;
mod part;
pub(crate) mod pending;
mod pieces;
mod queue;
mod reduce;
mod room;
mod round;
mod share;
mod short;
mod source;
mod stage;
mod tree;
mod trouble;
mod words;

pub use crate::job::choice::{Call, Choices, Version};
pub use crate::job::tune::{Machine, Tuned};
pub use element::Elements;
pub use formation::{Formation, FormationChannel, Retired};
pub use group::Group;
pub use operation::{
    AbsMax, AbsMin, And, BitAnd, BitOr, BitXor, Complex32, Complex64, Max, Min, Operation, Or, Product, Sum, Xor,
};
pub use pending::{Handle, Scope};
