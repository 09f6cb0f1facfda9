//! Remote operations as data, for memory without a pointer: private memory of another process, any memory of a far rank.
//!
//! An [`operation::Operation`] says where ([`Target`]) and what ([`operation::Act`]). Here is the one way it takes, whatever it is:
//!
//! ```text
//!   initiator                                              owner of the target
//!   Operation
//!     mapped here:  found, performed in place
//!     the network reaches it (`direct`): put, get or change, and nobody acts at the target
//!     else:         encoded, sent by ring or transport --> decoded: an Operation again
//!                                                          found: nothing that a peer says is believed
//!                                                          performed, by the same code as in place
//!     taken        <-- answered or refused, if wanted ---
//! ```
//!
//! What one hears of its end is the initiator's choice:
//! * *quiet*: nothing. For protocols whose other side answers in its own way.
//! * *counted*: that it was refused. That it is done is asked for by [`Port::settle`](super::port::Port::settle), for all
//!   operations of a port at once: operations of one port on one rank are performed in order. A push with a status word is
//!   answered by itself.
//! * *asked*: its answer, for which the initiator waits. Pulls have several requests under way.
//!
//! Pushes and pulls of private memory of a process on this host do not come here where a system call does it
//! ([`super::crossing`]). The owner must make progress for what comes here: between hosts it has a thread that does.
//!
//! | file | what is there |
//! |---|---|
//! | `target` | where: spaces of a rank's memory, how they are found |
//! | `operation` | what: operations, their form in a packet |
//! | `perform` | doing them on memory that is mapped here |
//! | `serve` | the owner's side: decode, find, perform, answer |
//! | `initiate` | the initiator's side: quiet, counted and asked operations; settling |
//! | `direct` | what the network itself does where it reaches memory: keys, order, ends |
//! | `under_way` | tables of that |
//! | `onesided` | starting that, and waiting for it |
//! | `pull` | reading long places, with several requests under way |
//! | `token` | whom an answer is for |

pub(crate) mod direct;
pub(crate) mod initiate;
mod onesided;
pub(crate) mod operation;
pub(crate) mod perform;
pub(crate) mod pull;
pub(crate) mod serve;
pub(crate) mod target;
pub(crate) mod token;
mod under_way;

pub(crate) use operation::Data;
pub(crate) use target::Target;
