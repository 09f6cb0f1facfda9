//! What comes from other ranks: operations on this one's memory, messages, answers.
//!
//! | file | concept |
//! |---|---|
//! | `unhandled` | messages that are left when a rank leaves |
//! | `outbox` | what handlers send, and answers: kept for a while where there is no room |
//! | `answer` | what has become of this rank's own operations and calls |
//! | `serve` | operations of others: decode, find, perform, answer |
//! | `relay` | copies between two other ranks: parts of them are sent on |
//! | `dispatch` | what a packet asks for: a handler, or something that the interface does by itself |
//! | `backlog` | messages of far ranks that wait for whoever runs handlers |
//! | `intake` | receiving from far ranks: memory operations are done at once, messages kept for handlers |
//! | `engine` | receiving from near ranks, and running handlers, one at a time |

mod answer;
mod backlog;
pub(crate) mod dispatch;
pub(crate) mod engine;
pub(crate) mod intake;
mod outbox;
mod relay;
mod serve;
pub(crate) mod unhandled;
