//! A barrier that one rank counts, in two halves: whoever has arrived goes on, and waits later until all have.
//!
//! Rests on: [`crate::job`]. Leaves out: groups, whose barriers are in `collective`.
//!
//! **How it works.** One rank is the manager. In its memory every rank has a word that says how often it has arrived, and there is a
//! counter of all arrivals. Whoever shares memory with the manager writes and counts there by itself. Whoever does not sends one packet,
//! for which it does not wait, and the manager's interface writes and counts. Whoever has counted the last one, a rank or the interface,
//! tells everybody by a word in each one's own memory, by one packet to each other host (`ni::reach::arrival`). The manager's program does
//! nothing, and no rank need be in a call for the others to get on.
//!
//! **Some ranks.** Barriers of some ranks each are made by all ranks together, so they lie at one place of every heap, and each manager has
//! the words of its own. Beside the counter it says who takes part: whoever tells the others looks there. Who takes part is nobody's
//! secret, and what a program writes over it is the wrong ranks being told.
//!
//! **Order.** What a rank has pushed is there before it arrives: it waits for that, if for nothing else.
//!
//! **The dead.** If the last one dies before it has told everybody, the counter has it all the same: whoever waits looks there from time
//! to time. If a rank dies before it has arrived, its word at the manager says so, and those who wait fail.
//!
//! **The end.** Words that tell of a barrier may be on their way when its memory is freed. So all ranks meet first; then the count says how
//! many such words each rank gets, and it waits for those.

mod barrier;
#[cfg(test)]
mod tests;

pub use barrier::{CountingBarrier, RawCountingBarrier};
