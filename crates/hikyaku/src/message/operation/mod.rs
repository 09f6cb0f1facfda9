//! What the program asks for: operations, at once or under way.
//!
//! | file | concept |
//! |---|---|
//! | `send` | sending: eager, offered, synchronous |
//! | `receive` | receiving: from a slot, from any slot of a rank, from any rank |
//! | `columns` | long messages from and into columns |
//! | `eager` | short messages that leave nothing under way |
//! | `exchange` | sending and receiving in one call |
//! | `look` | what there is, without taking it |
//! | `pending` | operations that go on while the program does something else |
//! | `waiting` | those of them that receive short messages |
//! | `scope` | operations under way in safe code |
//! | `raw` | operations under way for other language faces |
//! | `carrier` | slots for a layer above |
//! | `prepared` | transfers that are set up once and started many times |
//! | `spool` | the spare buffer of sends that have waited long enough |
//! | `quiet` | when nothing is under way any more |

pub(crate) mod carrier;
pub(super) mod columns;
mod eager;
mod exchange;
mod look;
pub(super) mod pending;
pub(super) mod prepared;
mod quiet;
pub(crate) mod raw;
pub(super) mod receive;
pub(super) mod scope;
pub(super) mod send;
pub(super) mod spool;
pub(super) mod waiting;
