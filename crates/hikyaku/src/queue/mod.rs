//! Remote queues: many ranks push items, one rank pops them where they have landed.
//!
//! Rests on: [`crate::job`]. Leaves out: what items mean; several consumers.
//!
//! | file | concept |
//! |---|---|
//! | `lane` | a ring of items from one rank to another, in the memory of the one that reads |
//! | `doorbell` | which lanes the consumer looks at, and how the others make themselves heard |
//! | `raw` | one rank's part in a queue, without types |
//! | `face` | what the program sees: [`Queue`], [`Item`], [`Items`] |
//!
//! **How it works.** The owner has a lane for each rank: a ring of slots, into which that rank alone writes. A slot is an item and its
//! stamp, which is the number of the item and is written last. So the consumer looks at the very line that the item arrives on, and one
//! line goes from core to core. Producers never touch a word that another one writes.
//!
//! ```text
//!   producer                                          owner
//!   room left? (own count, refreshed from             stamp of the next slot is its number?
//!     a word of its own memory when it runs out)      the program reads the item where it is
//!   item into the slot                                every quarter of the ring: tells the producer,
//!   stamp of the slot, released                         in that word, how far it has read
//! ```
//! The ring has a third more slots than the program asks for, so a rank always has room for as many items as it was promised, though the
//! last quarter that was read may not be told yet.
//!
//! **Who writes what.** Slots and stamps of a lane: its producer. The word in a producer's memory: the owner. A word of 64 bits at the owner,
//! for 64 producers, which they set and the owner clears (`doorbell`). All positions are kept privately by each side. What one side reads
//! of the other is compared, never used as an index: a stamp is the expected number or the item is not there, and a count of items read is
//! not more than were written, or the producer is told that the owner misbehaves. An item is bytes, which the program copies out; a rank
//! that writes over its own items while they are read spoils those alone.
//!
//! **The dead.** A producer that dies before the stamp is written has written nothing: the consumer reads what is whole and goes on with
//! the others. The wait of a consumer ends with an error when nobody is left who could push. When the owner has ended, a push fails.
//!
//! **What speaks against it.** Stamps take 8 bytes beside each item: a word that counts the items of a lane would take none, and is a
//! second line that goes from core to core with each item. A lane for each rank takes memory at the owner for ranks that never push: its
//! pages are the owner's alone, and one ring that all producers share would have them wait for each other, and for whoever dies in between.

mod doorbell;
mod face;
pub(crate) mod lane;
mod raw;
#[cfg(test)]
mod tests;

pub use face::{Item, Items, Queue};
pub use raw::{Popped, RawQueue};
