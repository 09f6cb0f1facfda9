//! A barrier that one rank counts, in two halves: whoever has arrived goes on, and waits later until all have.
//!
//! Rests on: [`crate::job`]. Leaves out: groups, whose barriers are in `collective`.
//!
//! **How it works.** Whoever arrives writes how often it has into a word of its own at one rank, the manager, and adds one to a counter
//! there. Whoever finds that it was the last tells everybody by a word in each one's own memory. All of that are remote operations:
//! the manager's program does nothing, and no rank need be in a call for the others to get on.
//!
//! **The dead.** If the last one dies before it has told everybody, the counter has it all the same: whoever waits looks there from time
//! to time. If a rank dies before it has arrived, its word at the manager says so, and those who wait fail.

mod barrier;
#[cfg(test)]
mod tests;

pub use barrier::{CountingBarrier, RawCountingBarrier};
