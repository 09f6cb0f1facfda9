//! Shared regions: memory of which every rank that subscribes has a copy, and of which all copies get what anyone writes.
//!
//! Rests on: [`crate::job`]. Leaves out: who writes when. Ranks that write different elements need not know of each other; those that
//! write the same ones use a lock or a barrier.
//!
//! | file | concept |
//! |---|---|
//! | `words` | the words of a region: the directory of its sharers, and how each rank takes part |
//! | `share` | one rank's part in it, and joining and leaving |
//! | `update` | writing: to the home, then to all that the directory has |
//! | `subscription` | what the program sees: [`Region`], [`Subscription`] |
//!
//! **How it works.** One rank, the home, has a copy from the beginning, and a directory: a word for each rank that shares the region, and a
//! number that moves on whenever one of them changes. Every sharer keeps the directory too. Whoever writes does so at the home first, then
//! looks at that number, and if it has moved reads the directory again. Then it writes to all others, by one multicast. All of that are
//! remote operations: the home's program does nothing.
//!
//! **Joining loses nothing.** Whoever joins enters the directory, moves the number on, and then copies the home's memory. A writer that
//! did not see it in the directory had written to the home before, so the copy has that. A writer that did see it asks, by adding one
//! to a word of the joiner, how far it is. If its copy is there, the writer writes to it. If not, the writer leaves it alone, and
//! the joiner sees by the count that it has to copy once more. For this second copy it asks writers to wait, so it comes to an end
//! however much is written.
//!
//! **The dead.** A sharer that has ended is taken out of the directory by the next who writes. A writer that dies may have reached some
//! and not others, so each writer says at the home that it is in the middle of it, and if it never says that it is done, the others join
//! anew. Without the home nothing can be written, and everyone keeps the copy it has.

mod share;
mod subscription;
#[cfg(test)]
mod tests;
mod update;
mod words;

pub use share::RawRegion;
pub use subscription::{Region, Subscription};
