//! What can be done with what an interface has ([`Base`](super::base::Base)) at once, without waiting for anybody: finding memory
//! and ranks, writing what is mapped here, sending packets.
//!
//! | file | concept |
//! |---|---|
//! | `liveness` | how the other ranks are, as this one sees it |
//! | `opened` | areas of one rank, as those know them who operate on them |
//! | `place` | (rank, area, index): where an operation goes, and how it is reached |
//! | `heap` | parts of the own heap: taken, given back |
//! | `crossing` | private memory of another process of this host, by a system call |
//! | `common` | finding the bytes that a target names |
//! | `follow` | following pointers and chains of commands to the bytes they lead to |
//! | `perform` | doing an operation on memory that is mapped here |
//! | `arrival` | counting arrivals at a barrier, and who is told of the last |
//! | `post` | sending packets, now or not at all |
//! | `attempt` | operations that nobody answers, now or not at all |
//! | `transfer` | the pieces of pulls and pushes under way, as far as there is room |

pub(crate) mod arrival;
pub(crate) mod attempt;
pub(crate) mod common;
pub(crate) mod crossing;
pub(crate) mod follow;
pub(crate) mod heap;
pub(crate) mod liveness;
pub(crate) mod opened;
pub(crate) mod perform;
pub(crate) mod place;
pub(crate) mod post;
pub(crate) mod transfer;
