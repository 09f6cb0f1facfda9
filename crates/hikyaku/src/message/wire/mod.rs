//! The words that two ranks meet on, and where they lie. Nothing here knows who waits for what.
//!
//! | file | concept |
//! |---|---|
//! | `slot` | the words two near ranks meet on |
//! | `deal` | who copies which part of a long message, and how either side gives it up |
//! | `node` | the words of a chain: messages behind one that was not taken yet, which the receiver finds by itself |
//! | `search` | finding a message when the receive does not say from where |
//! | `far` | the words two far ranks meet on |
//! | `layout` | where all of them lie |
//! | `roster` | which ranks the members are, and where their parts of job memory lie |

pub(crate) mod deal;
pub(super) mod far;
pub(super) mod layout;
pub(super) mod node;
pub(super) mod roster;
pub(super) mod search;
pub(crate) mod slot;
