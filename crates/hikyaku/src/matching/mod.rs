//! Messages that are matched by the receiver: a receive names a source and a key, or leaves either open.
//!
//! Rests on: [`crate::message`]. Leaves out: groups, collective calls.
//!
//! | file | concept |
//! |---|---|
//! | `keys` | which messages a receive takes |
//! | `buffer` | buffers of operations under way |
//! | `parts` | parts of a range as one message |
//! | `chains`, `index` | values by label, in order |
//! | `wire` | what ranks tell each other |
//! | `lane` | short messages between ranks of one host |
//! | `arrival` | messages that wait for their receives |
//! | `tables` | receives that wait for messages, messages that wait for receives |
//! | `mover` | what handlers do when something comes, and the program's thread when it has time |
//! | `outgoing` | sends |
//! | `incoming` | long messages into their receives |
//! | `messages` | what the program sees: [`Matching`] |
//! | `under_way` | beginning operations, waiting for them, taking them back |
//! | `scope` | operations under way in safe code |
//! | `forms` | both, with parts of a range |
//! | `raw` | operations under way for other languages |
//!
//! **How it works.** A send is an active message to the receiver, whose handler looks for a receive that takes it. A short message comes
//! with its bytes, which are copied to where the receive wants them; if there is none yet, they wait in private memory. On one host the
//! shortest need no handler: they are written to a lane, at which the receiver's own thread looks while it waits. A long message
//! is only offered, and put into a slot of its own (`message::Carrier`). Whoever comes later finds the other: if the receive is there, both
//! sides copy, and if the send was there, the receive pulls. Either way the bytes are copied once, from buffer to buffer.
//!
//! **Bounded.** A rank may send another one a megabyte unasked (`tables::BUDGET`). What goes beyond is offered, whatever its size,
//! and waits with its sender. If a sender has no slot left for an offer, the receiver calls the message into one of its own when it
//! wants it, so messages that nobody wants do not hold up others, unless 16 of a sender were called and then given up by their receives.
//!
//! **Order.** Active messages of a port arrive in order, a lane has its own, each says how much of the other was sent before it, and a slot
//! is for one message at a time. So messages of one sender that a
//! receive takes are taken in the order in which they were sent, and receives that take a message get it in the order in which they
//! were begun.

mod arrival;
mod buffer;
mod chains;
mod forms;
mod incoming;
mod index;
mod keys;
mod lane;
mod messages;
mod mover;
mod outgoing;
mod parts;
mod raw;
mod scope;
mod tables;
#[cfg(test)]
mod tests;
mod under_way;
mod wire;

pub use keys::{Keys, Source};
pub use messages::{Matched, Matching};
pub use parts::{Changes, Parts, pack_changes};
pub use raw::{RawMatching, Request};
pub use scope::{ReceiveHandle, Scope, SendHandle};
