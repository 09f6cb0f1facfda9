//! Messages between ranks of one host, which map each other's part of job memory.
//!
//! | file | concept |
//! |---|---|
//! | `pair` | this rank and a near member; the other files are what they do |
//! | `short` | what fits a line: sent and received in place |
//! | `bounce` | what fits a buffer that both map |
//! | `chain` | messages behind one that was not taken yet |
//! | `place` | where the buffers of a long message are |
//! | `send`, `receive` | the two sides of everything else |
//! | `withdraw` | sends that are withdrawn: they go on from a copy |
//! | `spoiled` | long messages that could not be copied |

mod bounce;
mod chain;
pub(super) mod pair;
mod place;
mod receive;
mod send;
mod short;
mod spoiled;
mod withdraw;
