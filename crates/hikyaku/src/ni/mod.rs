//! The network interface of a rank: it executes remote operations on the rank's memory on behalf of others.
//!
//! Rests on: [`crate::transport`]. Leaves out: how ranks are started and named (that is [`crate::job`]).
//!
//! Every remote reference resolves here, either to a pointer (mapped memory: the operation is loads, stores and
//! atomics compiled in place) or to a route (private memory of another process: a system call, or a message to its
//! network interface; any memory of a rank of another host: a packet to it). Nothing above knows which it was.
//!
//! Each folder or file uses only those above it in this list, and the `mod.rs` of a folder lists its files.
//!
//! | | what is in it |
//! |---|---|
//! | `wire` | what travels between interfaces, as data: targets, operations, tokens |
//! | `state` | what an interface keeps, each part by itself |
//! | `base` | all of it together: [`Base`](base::Base) |
//! | `reach` | what can be done with that at once: finding memory and ranks, writing what is mapped here, sending packets |
//! | `receive` | what comes from others: handlers, operations on this rank's memory, answers |
//! | `interface` | the interface itself: [`Ni`], which is `Base` and what it receives with |
//! | `progress` | waiting, and serving others meanwhile |
//! | `remote` | starting operations on memory that is not mapped here: the [`Initiator`](remote::initiator::Initiator) of a port |
//! | `face` | what the program sees: [`Port`](face::port::Port), areas, places |

mod base;
pub(crate) mod face;
mod interface;
mod progress;
mod reach;
pub(crate) mod receive;
mod remote;
pub(crate) mod state;
mod wire;

pub use face::area::{Area, RemoteArea};
pub use face::bitmap::Bitmap;
pub use face::block::Block;
pub use face::chain::{Chain, Commands};
pub use face::indirect::{RawIndirect, Register, Through};
pub use face::multicast::{RawMulticast, RawWord};
pub use face::partial::{RawParts, Units};
pub use face::parts::{ByteParts, Parts, RawStartedParts};
pub use face::path::{PushPath, RawPath};
pub use face::pin::{Pinned, RawPins};
pub use face::pool::{LentPort, PortPool};
pub use face::port::Port;
pub use face::prepared::PreparedPush;
pub use face::raw::RawPort;
pub use face::recipients::{Common, Recipients, RemoteAreas};
pub use face::stride::Stride;
pub use face::symmetric::Symmetric;
pub use face::thread::NiThread;
pub use face::transfer::{RawTransfers, Transfer, TransferScope};
pub use face::twin::Twin;
pub use face::wait::{Event, at_work, port_count, stand_by};
pub use reach::place::Place;
pub use receive::dispatch::{Context, Message};
pub use state::awaited::{By, Until};
pub use wire::message::{ARGUMENT_COUNT, Arguments, HANDLER_COUNT, PAYLOAD_MAX};
pub use wire::pointer::Pointer;

// For the layers above.
pub(crate) use base::Settings;
pub(crate) use face::partial::{COMPARED, changed_units, check_units, copy_units};
pub(crate) use interface::Ni;
pub(crate) use progress::rest::Rest;
pub(crate) use progress::service::Service;
pub(crate) use reach::arrival;
pub(crate) use reach::heap::no_room;
pub(crate) use receive::unhandled::sent_in_vain;
pub(crate) use remote::loan::Loan;
pub(crate) use state::awaited::{Awaited, Wait};
pub(crate) use state::background::{self, Background};
pub(crate) use state::coroutine::{self, Coroutine};
pub(crate) use state::failure::Hold;
pub(crate) use state::inside::{InFunction, refuse_in_handler};
pub(crate) use state::kept::Kept;
pub(crate) use state::random::random;
pub(crate) use state::routes::Routes;
pub use state::stay::{Namer, name_calls_by};
pub(crate) use state::window::Window;
pub(crate) use wire::message::LibraryHandler;
pub(crate) use wire::target::Target;
