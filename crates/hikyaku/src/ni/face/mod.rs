//! What the program sees: its [`Port`](port::Port), and the memory it shares.
//!
//! | file | concept |
//! |---|---|
//! | `symmetric` | memory that every rank has alike |
//! | `port` | one independent way into the interface |
//! | `pool` | ports that threads share |
//! | `raw` | operations on addresses, for other languages: the ground of those on slices |
//! | `operation` | push, pull, word, notification, flush |
//! | `path` | pushes by a path of the caller's choice |
//! | `partial` | pushes and pulls of some elements of a range |
//! | `stride`, `bitmap`, `twin` | which elements: blocks at a distance, marked ones, changed ones |
//! | `parts` | any of those as a value: operations that are started, and that tell of themselves |
//! | `multicast` | the same for several ranks at once |
//! | `recipients` | who they are, and what each has |
//! | `copy` | copies between any two ranks |
//! | `indirect` | operations through pointers and registers at their target |
//! | `chain` | commands that say where bytes belong that come through a pointer |
//! | `transfer` | pulls and pushes that go on beside the program |
//! | `any_transfer` | waiting for whichever of several of them ends first |
//! | `transfer_end` | the end of transfers, by their tokens |
//! | `atomic` | atomic operations on numbers |
//! | `silent` | words of layers above: without waking anybody, without asking whether they arrive |
//! | `prepared` | pushes that are set up once and started many times |
//! | `wait` | waiting for words and handlers |
//! | `message` | active messages: handlers, sending, calling |
//! | `library` | active messages of layers above |
//! | `area` | memory of one rank that peers reach under an id |
//! | `pin` | areas that stay as long as a peer uses them |
//! | `block` | memory that peers map, without an id |
//! | `thread` | progress without the host program; a descriptor for event loops |

mod any_transfer;
pub(crate) mod area;
pub(crate) mod atomic;
pub(crate) mod bitmap;
pub(crate) mod block;
pub(crate) mod chain;
mod copy;
pub(crate) mod indirect;
pub(crate) mod library;
pub(crate) mod message;
pub(crate) mod multicast;
pub(crate) mod operation;
pub(crate) mod partial;
pub(crate) mod parts;
pub(crate) mod path;
pub(crate) mod pin;
pub(crate) mod pool;
pub(crate) mod port;
pub(crate) mod prepared;
pub(crate) mod raw;
pub(crate) mod recipients;
mod silent;
pub(crate) mod stride;
pub(crate) mod symmetric;
pub(crate) mod thread;
pub(crate) mod transfer;
mod transfer_end;
pub(crate) mod twin;
pub(crate) mod wait;
