//! Messages between ranks of different hosts, which do not map each other's memory.
//!
//! ```text
//!   sender                                              receiver
//!   up to EAGER_MAX, not synchronous:
//!     data into the slot's line or a bounce buffer,
//!     with a notice of the message           --->       looks at its notice, copies, says that it was taken
//!
//!   longer, or synchronous, as in FMPL (F2):
//!                                            <---       header: names a window to the receive's buffer
//!     looks at its post, data into the
//!     window, with the number of the message --->       looks at what has landed: the data are where they belong
//!
//!   and if the header does not come soon:
//!     notice of an offer                     --->       so that receives of any slot or rank find the message, and
//!                                                       one that is too small is refused; then as above
//! ```
//! Each arrow is one packet, which arrives whole and in order, so one word that is stored last tells of the rest.
//! Everything is looked at in one's own memory. A message that landed needs no answer: the next one can land only where
//! the next header says, and a notice has a place of its own.
//!
//! Nothing waits in here: what finds no room on its way is tried again when the operation is poked next.
//!
//! | file | concept |
//! |---|---|
//! | `pair` | this rank and a far member; the other files are what they do |
//! | `send`, `receive` | the two sides |
//!
//! The words they meet on are in `wire::far`, what is kept about a far member in `state::far_link` and `state::header`.

pub(super) mod pair;
mod receive;
mod send;
