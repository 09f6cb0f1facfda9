//! Message passing by slots: FMPL. Send and receive without queues and searches.
//!
//! Rests on: `job`. Leaves out: groups of ranks and collective operations.
//!
//! A slot is an exclusive place per (sender, receiver, index), so a message needs no matching: its line is the one the
//! receiver looks at. Short messages travel in that line; longer ones through a bounce buffer in memory that both
//! map; long ones are copied once, from the sender's buffer into the receiver's, by both sides at the same time.
//!
//! Each folder or file uses only those above it in this list.
//!
//! | | what is in it |
//! |---|---|
//! | `wire` | the words that two ranks meet on, and where they lie |
//! | `buffer` | buffers of the program, and copying between them |
//! | `state` | what a rank keeps to itself |
//! | `near` | messages between ranks of one host |
//! | `far` | messages between ranks of different hosts |
//! | `pair` | this rank and a member: near or far, asked once per act |
//! | `messages` | the messages of a job, or of some of its ranks |
//! | `operation` | what the program asks for, at once or under way |

pub(crate) mod buffer;
mod far;
mod messages;
mod near;
pub(crate) mod operation;
mod pair;
mod state;
pub(crate) mod wire;

pub(crate) use operation::carrier::Carrier;

pub use messages::{Messages, Mode, SLOTS_MAX};
pub use operation::columns::Columns;
pub use operation::prepared::{PreparedReceive, PreparedSend};
pub use operation::receive::Received;
pub use operation::scope::{ReceiveHandle, Scope, SendHandle};
pub use operation::spool::SpoolReport;
pub use wire::layout::EAGER_MAX;
