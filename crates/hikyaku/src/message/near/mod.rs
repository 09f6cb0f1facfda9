//! Messages between ranks of one host, which map each other's part of job memory.
//!
//! | file | concept |
//! |---|---|
//! | `short` | what fits a line: sent and received in place |
//! | `bounce` | what fits a buffer that both map |
//! | `chain` | messages behind one that was not taken yet |
//! | `recall` | sends that are given up: they go on from a copy |
//! | `spoiled` | long messages that could not be copied |

mod bounce;
pub(super) mod chain;
mod recall;
pub(super) mod short;
mod spoiled;
