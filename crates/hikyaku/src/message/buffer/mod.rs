//! Buffers of the program, and copying between them.
//!
//! | file | concept |
//! |---|---|
//! | `shape` | how the bytes of a buffer lie: in one piece, or in columns |
//! | `spot` | where a buffer is, seen from two processes; copying between them |
//! | `chunk` | a long buffer in pieces that both sides copy |
//! | `own` | where the buffers of messages to oneself are |

pub(crate) mod chunk;
pub(super) mod own;
pub(super) mod shape;
pub(super) mod spot;
