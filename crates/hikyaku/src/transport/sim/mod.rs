//! A transport in virtual time: all ranks in one thread, every remote operation a packet whose way costs what a model of a
//! machine says.
//!
//! Time, chance and the order of ranks come from one seed, so the same seed gives the same run. A rank is a [`fiber`];
//! where it waits, another one runs, and when all wait, time goes on to the next event. Network interfaces act in
//! between, when packets arrive.
//!
//! ```text
//!   rank (fiber)              world: events in the order of time             network interface of the target
//!   push: starts, costs ----> [t + way] packet arrives --------------------> writes, answers
//!   wait: sleeps              [t + way] answer arrives: rank is ready
//! ```
//!
//! | file | concept |
//! |---|---|
//! | `machine` | what operations cost: a model, read from a file |
//! | `world` | what happens next, to whom |
//! | `course` | time, how far each rank is, what waits and what is planned |
//! | `agenda` | what will happen when |
//! | `wire` | the way of a packet: when it leaves and arrives |
//! | `endpoint` | one rank's view of it: the transport |
//! | `fiber` | a rank's program with a stack of its own |
//! | `hardware` | what the network does for all at once |
//! | `faults` | what goes wrong |
//! | `nic` | network interfaces that reach memory by themselves: what is under way |
//! | `landing` | what they do with what arrives |
//! | `mesh` | reliable links between ranks where it does |
//! | `passage` | what went from where to where |
//! | `chance` | random numbers from the seed |

mod agenda;
pub(crate) mod chance;
mod course;
pub(crate) mod endpoint;
pub mod faults;
pub(crate) mod fiber;
mod hardware;
mod landing;
pub mod machine;
mod mesh;
pub mod nic;
pub mod passage;
mod wire;
pub(crate) mod world;
