//! Message exchange: each rank has a buffer at every other one for what it sends there, through a pointer that advances.
//!
//! Rests on: `queue` (lanes), [`crate::message`] (long messages), [`crate::matching`] (keys). Leaves out: groups, operations
//! under way.
//!
//! | file | concept |
//! |---|---|
//! | `frame` | what a message begins with |
//! | `buffers` | where the buffers of all pairs lie, and how large they are |
//! | `outgoing` | sending to one rank: room, bytes, frame |
//! | `incoming` | what one rank has sent: looking at it, taking it, giving its room back |
//! | `kept` | messages that were looked at and are for another receive |
//! | `face` | what the program sees: [`Exchange`] |
//!
//! **How it works.** It follows the message exchange by remote indirect write of DIMMnet-1. The system buffer of a sender is, in the
//! receiver's memory, a lane of frames of one line each, and a ring of bytes. A message of up to 40 bytes is in its frame, so one line goes
//! from core to core, and a receive that waits looks at that very line. A longer one is in the ring of bytes, which is written before the
//! frame. The longest are only announced by a frame, and move through a slot (`message`) from buffer to buffer, without a copy between: for
//! those a receive swaps in the program's buffer. For short ones that would take a round trip, or one more line; they are copied from the
//! line that they came on.
//!
//! **Tags.** A receive looks at the frames of its source in their order. What is of another tag it sets aside, in private memory, and room
//! and line are the sender's again. A sender may have a megabyte set aside: what comes after that stays in the buffer, where receives find
//! it all the same, and soon the sender waits. So memory stays bounded, whatever is sent. A long message that is only announced takes none
//! before it comes, and of announcements there are few: who sends more than fit its slots is not heard any more.
//!
//! **Room.** A sender knows how much it has written, and by a word in its own memory how many frames the receiver has given back; which bytes
//! were theirs it has noted itself. So it never sends what there is no room for: it keeps the message and tries again when that word changes.
//! Between hosts too nothing is sent in vain, refused and sent again; the word is the acknowledgement, for a quarter of a buffer at a time.
//! A send that waits for room sets aside what has come for its own rank meanwhile: ranks that all send first do not wait for each other
//! until that is a megabyte.
//!
//! **Sequence numbers.** The stamp of a frame is its number, so a frame that is lost or doubled is not taken for another.
//!
//! **Who writes what.** Frames and bytes of a buffer: its sender. The word of acknowledgements, in the sender's memory: the receiver. Where the
//! next bytes of a message are, both reckon for themselves from the lengths, which a receiver checks; a sender that writes nonsense spoils
//! its own messages, and is found out. An acknowledgement is compared with what was sent.
//!
//! **The dead.** A sender that dies before its frame is stamped has sent nothing; one that dies while a long message moves ends that receive
//! with an error. What came whole is received, also after its sender's end. A send to a rank that has ended fails.

mod buffers;
mod face;
mod frame;
mod incoming;
mod kept;
mod outgoing;
#[cfg(test)]
pub(crate) mod tests;

pub use buffers::Buffers;
pub use face::Exchange;
