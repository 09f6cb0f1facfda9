//! Groups whose members are all on one host, and map each other's parts.
//!
//! | file | concept |
//! |---|---|
//! | `group` | such a group: the other files are what it does |
//! | `course` | the course of one call: enter, publish, await, finish |
//! | `contribution` | what members contribute and take, also while it is written |
//! | `alarm` | calls that do not fit together, members that end |
//! | `barrier` | waiting for everyone |
//! | `broadcast` | from one to all |
//! | `direct`, `stage` | long broadcasts: the root's buffer is read in place, or goes through two larger ones |
//! | `fold` | reduce, allreduce, scan |
//! | `short`, `share` | allreduce of a few numbers; long reductions, where the buffers are |
//! | `blocks` | gather, allgather, scatter, alltoall |
//! | `tree` | barrier, broadcast and reductions as trees of messages |
//! | `source` | a long buffer where it is |

mod alarm;
mod barrier;
mod blocks;
mod broadcast;
mod contribution;
mod course;
mod direct;
mod fold;
pub(super) mod group;
mod share;
mod short;
mod source;
mod stage;
mod tree;
