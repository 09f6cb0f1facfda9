//! What a rank keeps to itself.
//!
//! | file | concept |
//! |---|---|
//! | `core` | everything together |
//! | `link` | the members a rank exchanges messages with, near and far |
//! | `far_link` | what is kept about a far member, and what it is owed |
//! | `header` | what a receive has told its far sender, and what remains of it when the receive is given up |
//! | `peer` | per member and slot: how many messages were sent and taken, and what is under way |
//! | `op` | an operation that was begun |
//! | `pending` | the operations under way |
//! | `spool` | sends that go on by themselves |
//! | `table` | a place per slot, of which most are never used |
//! | `pool` | short nodes of chains that are used again |

pub(super) mod core;
pub(super) mod far_link;
pub(super) mod header;
pub(super) mod link;
pub(super) mod op;
pub(super) mod peer;
pub(super) mod pending;
pub(super) mod pool;
pub(super) mod spool;
pub(super) mod table;
