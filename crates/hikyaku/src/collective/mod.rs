//! Groups of ranks, and what their members do together: barrier, broadcast, reduction, gathering and scattering.
//!
//! Rests on: `message`.
//!
//! On one host every member has a part of its own memory that all members map. The collective calls of a group are numbered; in
//! call `n` each member writes what it asks for, and a short contribution beside it, into entry `n` of its part, and
//! reads the entries of those it needs something from. Longer contributions lie in a buffer of the part, long ones are
//! read from where they are. Entries and buffers are used in turn, so that nobody waits for slow readers of the last
//! call, and most calls wait once or not at all.
//!
//! A [`Group`] is data: which ranks, where their parts are, how far its calls have come. Its protocols are methods of a `NearGroup`,
//! whose members are all mapped, or of a `FarGroup`; `reach` asks which it is, once per call.
//!
//! | file | concept |
//! |---|---|
//! | `group` | which ranks, and where their parts are |
//! | `part` | the words and buffers of one member |
//! | `words` | the words by which members follow each other |
//! | `label` | what a member asks for, to be compared with the others |
//! | `round` | one call of a member |
//! | `choice` | which version is used for what |
//! | `operation` | what numbers are combined by |
//! | `room` | aligned private memory |
//! | `slots`, `binomial` | what trees of messages need |
//! | `near/` | all calls where members are on one host |
//! | `far/` | all calls where members are on several hosts |
//! | `reach` | near or far |
//! | `trouble` | groups of no use |
//! | `membership` | making, splitting and freeing groups |
//! | `world` | the group of all ranks, which the job keeps |
//! | `formation` | groups of some ranks, made and given up without the others |
//! | `endpoint` | messages and groups of several threads of a rank |
//! | `open_endpoint` | the same for other languages |
//! | `spread` | where the blocks of the members lie in a buffer |
//! | `barrier`, `broadcast`, `reduce`, `exchange`, `uneven` | the calls of the program, which check their arguments |
//! | `element` | reductions of elements whose type is known only when the program runs |
//! | `messages` | slots between the members |
//! | `pending`, `queue`, `turns` | calls that go on while the program does something else, one after the other |

mod barrier;
mod binomial;
mod broadcast;
mod choice;
mod element;
mod endpoint;
mod exchange;
mod far;
mod formation;
mod group;
mod label;
mod membership;
mod messages;
mod near;
pub(crate) mod open_endpoint;
mod operation;
mod part;
pub(crate) mod pending;
mod queue;
mod reach;
mod reduce;
mod room;
mod round;
mod slots;
mod spread;
mod trouble;
mod turns;
mod uneven;
mod words;
mod world;

pub use crate::job::choice::{Call, Choices, Version};
pub use crate::job::tune::{Machine, Tuned};
pub use element::Elements;
pub use endpoint::{Endpoint, Worker};
pub use formation::{Formation, FormationChannel, Retired};
pub use group::Group;
pub use operation::{
    AbsMax, AbsMin, And, BitAnd, BitOr, BitXor, Complex32, Complex64, Max, Min, Operation, Or, Product, Sum, Xor,
};
pub use pending::{Handle, Scope};
pub use spread::Blocks;
