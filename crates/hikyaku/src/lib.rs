//! **hikyaku** (飛脚, the relay couriers of Edo Japan): communication built on remote memory operations.
//!
//! A job is a set of ranks, which are processes or threads. Each rank can read and write memory of the others. A [`Place`] names such
//! memory by rank, area and index. On one host the memory is mapped, and an operation takes a few instructions; between hosts it is a
//! packet that the other rank's network interface serves. Messages and collective operations build on that.
//!
//! ```
//! use hikyaku::Until;
//!
//! hikyaku::local(2, |job| {
//!     let data = job.symmetric::<f64>(1000)?;
//!     let flag = job.symmetric::<u64>(1)?;
//!     if job.rank() == 0 {
//!         // The word arrives after the data.
//!         job.push_notify(data.at(1, 0), &[1.5; 1000], flag.at(1, 0), 1)?;
//!     } else {
//!         job.wait(flag.here(0), Until::Equal(1))?;
//!         assert_eq!(data.get(999), 1.5);
//!     }
//!     hikyaku::Result::Ok(())
//! })
//! .unwrap();
//! ```
//!
//! `local` runs the ranks as threads. To run them as processes, call [`Job::start`] instead and start the program with `hikyaku run -n 4`
//! or `mpirun -n 4`. Everything else is the same. The [`guide`] explains it all; if you know MPI or OpenSHMEM, read [`coming_from_mpi`].
//!
//! | to | use |
//! |---|---|
//! | have memory on every rank | [`Job::symmetric`] |
//! | have memory on one rank, by id | [`Port::area`], [`Port::register`], [`Port::open_area`] |
//! | have memory that messages move without a system call | [`Port::block`] |
//! | move data | [`Port::push`], [`Port::pull`], [`Port::push_notify`], [`Port::push_notify_add`] |
//! | move parts of a range: columns, marked or changed elements | [`Port::push_stride`], [`Port::push_bitmap`], [`Port::push_diff`], and their pulls; [`Port::push_parts_notify`] |
//! | keep an area while a peer uses it | [`Port::pin`], [`Port::wait_unpinned`] |
//! | write the same to several ranks | [`Port::recipients`], [`Port::multicast`] |
//! | copy between two other ranks | [`Port::copy`], [`Port::copy_notify`] |
//! | move data while computing | [`Port::scope`], [`TransferScope::start_pull`], [`TransferScope::start_push`], [`TransferScope::start_push_parts`] |
//! | set and wait for flags | [`Port::word`], [`Port::wait`], [`Port::wait_any`] |
//! | change a word atomically | [`Port::atomic`], [`Port::fetch_add`], [`Port::compare_swap`] |
//! | run code at a peer | [`Port::register_handler`], [`Port::send`], [`Port::call`], [`Port::call_with`] |
//! | serve peers while computing | [`Port::start_ni_thread`] |
//! | communicate from several threads | [`Port::open`] |
//! | send to whoever receives by key, as MPI does by tag | [`Job::matching`], [`matching::Matching`] |
//! | send to whoever receives by tag, through a buffer at each receiver | [`Job::exchange`], [`exchange::Exchange`] |
//! | the same by packets that a full receiver refuses, to compare | [`Job::packets`], [`packets::Packets`] |
//! | let one rank at a time do something | [`Job::mutex`] |
//! | collect items of all ranks at one | [`Job::queue`], [`Queue`] |
//! | run tasks when their inputs are there, on several threads | [`Job::tasks`], [`task::Data`], [`task::when`] |
//! | await words, messages, barriers and locks in any executor | [`Port::events`], [`task::Awaits`] |
//! | wait for everyone | [`Job::barrier`], [`Group::barrier`], [`Job::counting_barrier`] |
//! | do something together with some or all ranks | [`Job::world`], [`Job::new_world`], [`Job::group`], [`Group`] |

#![cfg_attr(loom, allow(dead_code, unused_imports))]

// Pages for users, which are documentation of modules so that docs.rs has them and that their examples are tests. Their links to each other
// are defined here first, since the first definition of a link counts.
#[cfg(any(doc, doctest))]
#[doc = "[coming]: crate::coming_from_mpi"]
#[doc = ""]
#[doc = include_str!("../docs/guide.md")]
pub mod guide {}

#[cfg(any(doc, doctest))]
#[doc = "[guide]: crate::guide"]
#[doc = ""]
#[doc = include_str!("../docs/coming-from-mpi.md")]
pub mod coming_from_mpi {}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

/// The tests of a module may be those of a program that uses the library.
#[cfg(all(test, not(loom)))]
extern crate self as hikyaku;

#[cfg(not(loom))]
pub mod collective;
#[cfg(not(loom))]
mod counting;
#[cfg(not(loom))]
mod error;
#[cfg(not(loom))]
pub mod exchange;
#[cfg(all(test, not(loom)))]
mod fuzz;
#[cfg(not(loom))]
mod job;
#[cfg(not(loom))]
pub mod launch;
#[cfg(not(loom))]
mod lock;
#[cfg(not(loom))]
pub mod matching;
#[cfg(not(loom))]
mod memory;
#[cfg(not(loom))]
pub mod message;
#[cfg(not(loom))]
mod ni;
#[cfg(not(loom))]
pub mod packets;
#[cfg(not(loom))]
pub mod passing;
/// For tests of tests.
#[cfg(hikyaku_planted)]
#[doc(hidden)]
pub mod planted;
#[cfg(not(hikyaku_planted))]
mod planted;
#[cfg(not(loom))]
mod queue;
#[cfg(not(loom))]
mod region;
/// What the environment can say.
#[cfg(not(loom))]
pub mod settings;
#[doc(hidden)]
pub mod sync;
#[cfg(not(loom))]
pub mod task;
#[cfg(not(loom))]
mod transport;

/// Jobs in virtual time, on models of machines.
#[cfg(not(loom))]
pub mod sim {
    pub use crate::job::{Run, Sim};
    pub use crate::transport::reliable::Counters;
    pub use crate::transport::sim::faults::{Crash, Faults, Partition, Slow};
    pub use crate::transport::sim::machine::*;
    pub use crate::transport::sim::nic::NicOrder;
    pub use crate::transport::sim::passage::Passage;
}

/// What interfaces to other languages need, which cannot promise what Rust's types do: operations and messages by addresses. Programs
/// in Rust need none of it.
#[cfg(not(loom))]
pub mod ffi {
    pub use crate::collective::open_endpoint::OpenEndpoint;
    pub use crate::collective::pending::open_scope;
    pub use crate::counting::RawCountingBarrier;
    pub use crate::lock::RawMutex;
    pub use crate::matching::{Changes, Parts, RawMatching, Request, pack_changes};
    pub use crate::memory::copy::copy_out;
    pub use crate::message::operation::raw::RawMessages;
    pub use crate::ni::{
        ByteParts, Namer, RawIndirect, RawMulticast, RawParts, RawPath, RawPins, RawPort, RawStartedParts,
        RawTransfers, RawWord, Units, at_work, name_calls_by, port_count, stand_by,
    };
    pub use crate::queue::{Popped, RawQueue};
    pub use crate::region::RawRegion;
}

/// For crates that bring another network between hosts: what a transport must do, and those there are.
///
/// A transport is a [`Transport`](spi::Transport): it takes packets, hands out those that come, and says on what one may sleep. A
/// [`Network`](spi::Network) opens it for a job, once a program has [installed](spi::install) it. What the network can do besides, it offers as
/// [`RemoteMemory`](spi::RemoteMemory). [`loopback`](spi::loopback) is the smallest one, to copy from; a network that has only datagrams,
/// and loses some, brings a [`udp::Wire`](spi::udp::Wire) and uses the links of [`udp`](spi::udp).
///
/// ```
/// use hikyaku::spi::{Members, Network, Opened, Transport};
/// use std::{net::IpAddr, sync::Arc};
///
/// struct Pigeons;
/// struct Loft;
///
/// impl Network for Pigeons {
///     fn name(&self) -> &'static str {
///         "pigeons"
///     }
///     fn open(&self, _host: IpAddr) -> hikyaku::Result<Box<dyn Opened>> {
///         Ok(Box::new(Loft))
///     }
/// }
///
/// impl Opened for Loft {
///     fn address(&self) -> hikyaku::Result<Vec<u8>> {
///         Ok(b"the roof".to_vec())
///     }
///     fn connect(self: Box<Self>, members: &Members<'_>) -> hikyaku::Result<Arc<dyn Transport>> {
///         // Another network stands in for them here.
///         let mut all = hikyaku::spi::loopback::endpoints(members.addresses.len())?;
///         Ok(Arc::new(all.swap_remove(members.rank)))
///     }
/// }
///
/// // From here on HIKYAKU_TRANSPORT=pigeons asks for it.
/// hikyaku::spi::install(&Pigeons);
/// ```
///
/// Items may still change with the library's minor versions.
#[cfg(not(loom))]
pub mod spi {
    pub use crate::job::address_of_this_host;
    pub use crate::memory::limits::want_descriptors;
    pub use crate::sync::signals::without_signals;
    pub use crate::transport::core::{Armed, Body, Capabilities, Loss, Posted, Sink, Token, Transport};
    pub use crate::transport::loopback;
    pub use crate::transport::network::{Members, Network, Opened, SECRET_BYTES, install};
    pub use crate::transport::packet::{PACKET_BYTES_MAX, decode, encode, is_patient};
    pub use crate::transport::remote_memory::{
        Change, Get, Put, Registration, RemoteFailure, RemoteKey, RemoteLimits, RemoteMemory, RemotePlace, Start,
    };
    pub use crate::transport::shm::ring::Packet;
    pub use crate::transport::sleep_timer::SleepTimer;
    pub use crate::transport::udp;
}

/// Under the model checker only the protocols exist.
#[cfg(loom)]
#[doc(hidden)]
pub mod collective {
    pub mod words;
}
#[cfg(loom)]
mod memory {
    pub mod copy {}
}
#[cfg(loom)]
#[doc(hidden)]
pub mod message {
    pub mod wire {
        pub mod deal;
        pub mod node;
        pub mod search;
        pub mod slot;
    }
}
#[cfg(loom)]
#[doc(hidden)]
pub mod ni {
    pub mod state {
        pub mod account;
        pub mod call;
        pub mod lookout;
    }
    pub mod wire {
        pub mod token;
    }
}
#[cfg(loom)]
#[doc(hidden)]
pub mod transport {
    pub mod shm {
        pub mod ring;
    }
}

/// Element types are plain data in the sense of this crate: `bytemuck::Pod`.
#[cfg(not(loom))]
pub use bytemuck;

#[cfg(not(loom))]
pub use self::{
    collective::Group,
    counting::CountingBarrier,
    error::{Error, Refusal, Result},
    job::{Config, Job, at_exit, local, local_with, parse_bytes},
    lock::{Mutex, MutexGuard},
    memory::atomic::{Atomic, AtomicNumber},
    ni::{
        ARGUMENT_COUNT, Area, Arguments, Bitmap, Block, By, Chain, Commands, Common, Context, Event, HANDLER_COUNT,
        LentPort, Message, NiThread, PAYLOAD_MAX, Parts, Pinned, Place, Pointer, Port, PortPool, PreparedPush,
        PushPath, Recipients, Register, RemoteArea, RemoteAreas, Stride, Symmetric, Through, Transfer, TransferScope,
        Twin, Until,
    },
    queue::{Item, Items, Queue},
    region::{Region, Subscription},
};
