//! What a rank's interface keeps. Each file can be read alone: none of them knows the interface that it is a part of.
//!
//! | file | concept |
//! |---|---|
//! | `routes` | how each rank is reached |
//! | `party` | the ranks of other hosts, host by host |
//! | `owner` | noticing that this process is a fork |
//! | `lost` | ranks that cannot be reached any more |
//! | `own_areas` | the own areas, as the rank itself knows them |
//! | `pins` | which of them peers have pinned
//! | `kept` | how much of the heap layers above keep, to use it again |
//! | `window` | private buffers opened to a far peer for one message |
//! | `loan` | what of the program's bytes a transport reads in place |
//! | `lane` | what one port sends through |
//! | `account` | counted operations under way, and what was refused |
//! | `call` | where the answers to a port's calls arrive |
//! | `form` | what a transfer moves, and how it is cut into pieces |
//! | `packed` | parts of the program's memory, packed for a push that goes on by itself |
//! | `transfer` | a port's pulls and pushes in pieces, and where their answers arrive |
//! | `relay` | what was sent on for others |
//! | `direct` | what the network itself does on memory of far ranks: keys, order, ends |
//! | `under_way` | tables of that |
//! | `credit` | how many messages may be unhandled at a far rank |
//! | `lookout` | whether there is anything to receive, at the cost of a few loads |
//! | `inside` | whether a thread is in a handler, where nothing may wait |
//! | `failure` | panics of handlers, and how they reach the program |
//! | `background` | what layers above have under way, moved on by every wait |
//! | `coroutine` | work with a stack of its own, suspended where it would wait |
//! | `awaited` | what a wait is for, and who is to bring it about |
//! | `pace` | spin, yield, sleep: the course of one wait |
//! | `stay` | which call of the program a port is in, and for how long |
//! | `random` | numbers that nobody guesses |

pub(crate) mod account;
pub(crate) mod awaited;
pub(crate) mod background;
pub(crate) mod call;
pub(crate) mod coroutine;
pub(crate) mod credit;
pub(crate) mod direct;
pub(crate) mod failure;
pub(crate) mod form;
pub(crate) mod inside;
pub(crate) mod kept;
pub(crate) mod lane;
pub(crate) mod loan;
pub(crate) mod lookout;
pub(crate) mod lost;
pub(crate) mod own_areas;
pub(crate) mod owner;
pub(crate) mod pace;
pub(crate) mod packed;
pub(crate) mod party;
pub(crate) mod pins;
pub(crate) mod random;
pub(crate) mod relay;
pub(crate) mod routes;
pub(crate) mod stay;
pub(crate) mod transfer;
pub(crate) mod under_way;
pub(crate) mod window;
