//! Remote operations as data, for memory without a pointer: private memory of another process, any memory of a far rank.
//!
//! An [`Operation`](super::wire::operation::Operation) says where ([`Target`](super::wire::target::Target)) and what
//! ([`Act`](super::wire::operation::Act)). This is the one way it takes, whatever it is; here is the initiator's side of it, the
//! owner's is in [`super::receive`]:
//!
//! ```text
//!   initiator                                              owner of the target
//!   Operation
//!     mapped here:  found, performed in place
//!     the network reaches it (`onesided`): put, get or change, and nobody acts at the target
//!     else:         encoded, sent by ring or transport --> decoded: an Operation again
//!                                                          found: nothing that a peer says is believed
//!                                                          performed, by the same code as in place
//!     taken        <-- answered or refused, if wanted ---
//! ```
//!
//! What one hears of its end is the initiator's choice:
//! * *quiet*: nothing. For protocols whose other side answers in its own way.
//! * *counted*: that it was refused. That it is done is asked for by [`Initiator::settle`](initiator::Initiator::settle), for all
//!   operations of a port at once: operations of one port on one rank are performed in order. A push with a status word is
//!   answered by itself.
//! * *asked*: its answer, for which the initiator waits. Transfers have several requests under way.
//!
//! Pushes and pulls of private memory of a process on this host do not come here where a system call does it
//! ([`super::reach::crossing`]). The owner must make progress for what comes here: between hosts it has a thread that does.
//!
//! | file | what is there |
//! |---|---|
//! | `initiator` | one port's ways out, and what it has under way |
//! | `submit` | sending messages and operations, waiting for room |
//! | `settle` | waiting until what was started is done |
//! | `handled` | waiting until the messages that were sent are handled |
//! | `onesided` | operations that the network itself does |
//! | `initiate` | operations by packets: quiet, counted, asked |
//! | `loan` | long bytes that the transport reads in place |
//! | `transfer` | pulls and pushes in pieces, with several requests under way; those that go on beside the program |
//! | `copy` | copies between two far ranks |
//! | `access` | operations on areas: by a pointer, by a system call, or by one of the above |
//! | `partial` | pushes and pulls of some parts of a range |
//! | `indirect` | operations that follow a pointer |
//! | `pin` | pins of areas |

pub(crate) mod access;
pub(crate) mod copy;
pub(crate) mod handled;
pub(crate) mod indirect;
pub(crate) mod initiate;
pub(crate) mod initiator;
pub(crate) mod loan;
mod onesided;
pub(crate) mod partial;
mod pin;
pub(crate) mod settle;
pub(crate) mod submit;
pub(crate) mod transfer;
