//! Messages in packets that a full receiver refuses: the message exchange of DIMMnet-1 as its paper has it.
//!
//! Rests on: `ni` (active messages), [`crate::matching`] (keys). Leaves out: groups, operations under way.
//!
//! | file | concept |
//! |---|---|
//! | `wire` | what ranks tell each other |
//! | `incoming` | what one rank has sent: the next packet, the message that it belongs to, messages that are kept |
//! | `inbox` | receives that wait, and where a message lands |
//! | `outgoing` | messages that their receivers do not have yet |
//! | `mover` | what handlers do when something comes, and the program's thread when it has time |
//! | `face` | what the program sees: [`Packets`] |
//!
//! **How it works.** A sender copies a message, cuts it into packets, and sends them without asking: each is an active message with a number.
//! The handler at the receiver, which stands for the interface of the paper, decides with a message's first packet where it lands. If a
//! receive waits for it, that is the program's buffer: the pointer was swapped. Otherwise it is the system buffer, of which each sender has
//! a part. If that is full, the handler refuses the packet and drops it, and all that come behind it. When a message is whole, it
//! acknowledges it, once, and the sender forgets its copy.
//!
//! **Refused.** A sender goes back to the packet that was refused, and sends nothing more until the receiver asks for it again: when there is
//! room, or a receive that takes it. So it backs off for as long as it must, without a clock, and no packet is refused over and over.
//!
//! **Order.** Active messages of a port arrive in order. A handler takes only the packet whose number it expects, so what was sent behind one
//! that it has refused is dropped, whatever it is, and comes again behind it.
//!
//! **Bounded.** A rank keeps of a sender what [`Buffers`] says, and a megabyte while it waits, or asks again and again: what it waits for may be behind messages
//! that nobody wants yet. A message that a receive gives up in its middle is refused after all, if there is no room for it. A message whose receive waits needs no room. A sender keeps 256 KB for a receiver, or one message; then its sends wait.
//!
//! **The dead.** What has not come whole of a sender that has ended is forgotten: a receive from that rank fails, one from any rank waits for
//! another message. What came whole is received, also after its sender's end. A send to a rank that has ended fails, and what was sent to it before is forgotten.
//!
//! It is there to be compared: [`Exchange`](crate::exchange::Exchange) knows the room, so nothing is refused, and runs no handlers.

mod face;
mod inbox;
mod incoming;
mod mover;
mod outgoing;
#[cfg(test)]
mod tests;
mod wire;

pub use crate::exchange::Buffers;
pub use face::Packets;
pub use mover::Traffic;
