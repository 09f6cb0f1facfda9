//! What a rank keeps to itself.
//!
//! | file | concept |
//! |---|---|
//! | `link` | the members a rank exchanges messages with, near and far |
//! | `far_link` | what is kept about a far member, and what it is owed |
//! | `header` | what a receive has told its far sender, and what remains of it when the receive is given up |
//! | `peer` | per member and slot: how many messages were sent and taken, and what is under way |
//! | `table` | a place per slot, of which most are never used |
//! | `pool` | short nodes of chains that are used again |

pub(super) mod far_link;
pub(super) mod header;
pub(super) mod link;
pub(super) mod peer;
pub(super) mod pool;
pub(super) mod table;
