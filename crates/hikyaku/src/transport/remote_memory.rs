//! What a transport may offer besides packets: reaching the memory of a far rank without its program, as a network interface card
//! does that reads and writes host memory by itself.
//!
//! ```text
//!   owner:      register(memory) -> key ---- the key travels as any bytes do ----> initiator
//!   initiator:  put(place, bytes, then a word, an event) ... get(place) ... change(place)
//!               Sink::completed(token) | Sink::fetched(token, before) | Sink::failed(token, why)
//!   owner:      its memory has changed; Sink::landed(from), if the put came with an event
//! ```
//! A transport that has it says so by [`Transport::remote_memory`](super::core::Transport::remote_memory). Where there is none, the
//! network interface does all this by packets, so nothing here is needed for a transport to work.
//! [`loopback`](super::loopback) has the smallest version.
//!
//! Rules that hold for every version:
//! * One-sided: the owner of the memory does nothing for it, and need not poll. Only [`Sink::landed`](super::core::Sink::landed)
//!   comes where it polls.
//! * A token of an operation that was started comes back exactly once: by `completed`, `fetched` or `failed`. It comes when the
//!   operation is *done at its target*: whoever looks there from then on sees it.
//! * Operations of one pair may pass each other, and the bytes of one may arrive in any order, with three exceptions: a put's word is
//!   written whole, after all bytes of the put, and its event comes after the word; an operation with a *fence* begins when
//!   everything that was started before it towards that rank is done; and packets follow puts where
//!   [`RemoteLimits::packets_follow`] says so. Whether an operation passes packets that were posted before it is never promised.
//! * A key that was never given out or was taken back, and bytes outside of what it stands for, are [`RemoteFailure::Refused`];
//!   nothing is written or read anywhere then.
//! * When a rank is lost, everything under way to it is [`RemoteFailure::Lost`], after `Sink::lost` or before it.
//! * [`Transport::drained`](super::core::Transport::drained) covers what was started here.
//!
//! A version may leave out a part ([`RemoteLimits`]): words that puts take along, changes of words, short transfers, memory that is
//! deregistered while peers use it. The interface does those by packets. `hikyaku-ofi` leaves out all of them.
//!
//! # By libfabric
//! Each demand as calls of libfabric (manual pages `fi_mr`, `fi_rma`, `fi_atomic`, `fi_endpoint`, `fi_cq`), without a copy:
//!
//! | here | there |
//! |---|---|
//! | `register` | `fi_mr_reg` with `FI_REMOTE_READ` and `FI_REMOTE_WRITE`; the key is `fi_mr_key`, and the base is the address of the memory under `FI_MR_VIRT_ADDR`, else 0. Providers that register for one endpoint (`FI_MR_ENDPOINT`) bind and enable it here. Under `FI_MR_ALLOCATED` the memory must have its pages and keep them ([`RemoteLimits::pins`]): a provider without on-demand paging takes pages for all of it, and goes on using those after they were given back |
//! | `deregister` | `fi_close` of the region: what peers try from then on fails at the peer |
//! | `put` of few bytes | `fi_writemsg` with `FI_INJECT` and `FI_DELIVERY_COMPLETE`: the source is free at once, the completion comes when it is there. [`RemoteLimits::inject_max`] is `inject_size` |
//! | `put` | `fi_writemsg` with `FI_DELIVERY_COMPLETE`; the source is lent until the completion. Under `FI_MR_LOCAL` the descriptor of the region that it lies in, or of one made for the time of the operation |
//! | a put's word | after it `fi_atomicmsg` of one `FI_UINT64` with `FI_ATOMIC_WRITE`, which alone promises that it is written whole, and `FI_FENCE`, which can be left out where `FI_ORDER_WAW` covers atomic operations after writes. One token stands for both: it is completed with the second |
//! | a put's event | `FI_REMOTE_CQ_DATA` on the last of them (`fi_writedata`), or an empty write with it: `fi_atomic` carries none; the target's completion queue is what wakes its service thread |
//! | `get` | `fi_readmsg`; done when the bytes are here |
//! | `change` | `fi_fetch_atomicmsg` with `FI_SUM`, `FI_ATOMIC_WRITE` (swap), `FI_BAND`, `FI_BOR`, `FI_BXOR`, and `fi_compare_atomicmsg` with `FI_CSWAP`, each asked for by `fi_fetch_atomicvalid`; results go to registered words of the transport, by token |
//! | a fence | `FI_FENCE` |
//! | [`Start::Busy`] | `-FI_EAGAIN` |
//! | `in_order` | `FI_ORDER_WAW`, `FI_ORDER_RAW` and their versions for atomic operations, for any number of bytes (`max_order_waw_size`) |
//! | `packets_follow` | `FI_ORDER_SAW` in the message order of both ends |
//! | `atomics_are_shared` | not promised by libfabric: true only for providers that perform atomic operations by the processor, or on PCIe atomics |
//! | `failed` | an entry read by `fi_cq_readerr`: `FI_EKEYREJECTED`, `FI_EACCES` and the like are refusals, everything else a loss |

use super::core::Token;
use crate::error::Result;
pub use crate::memory::atomic::Atomic;

/// Reaches memory of far ranks without their programs. The rules are above.
pub trait RemoteMemory: Send + Sync {
    /// What it promises.
    fn limits(&self) -> RemoteLimits;

    /// Lets peers that have the key write and read some bytes, until they are deregistered.
    ///
    /// # Errors
    /// When the network cannot reach this memory; then packets do it.
    ///
    /// # Safety
    /// The bytes stay where they are until they are deregistered, and everybody accesses them as memory that changes at any
    /// moment: by racing copies, words by atomic operations.
    unsafe fn register(&self, start: *mut u8, bytes: usize) -> Result<Registration>;

    /// When this returns, nothing reaches that memory any more by its key.
    fn deregister(&self, registration: &Registration);

    /// Writes bytes to a rank, and then a word.
    ///
    /// # Errors
    /// When there is no such rank, or it is lost: then the token is not used.
    ///
    /// # Safety
    /// The source can be read during the call and, if it is longer than [`RemoteLimits::inject_max`], until the token comes back
    /// or [`RemoteMemory::reclaim`] has returned. Others may write to it meanwhile: then it is undefined which bytes arrive.
    unsafe fn put(&self, to: usize, put: &Put, token: Token) -> Result<Start>;

    /// Reads bytes of a rank.
    ///
    /// # Errors
    /// As for [`RemoteMemory::put`].
    ///
    /// # Safety
    /// The bytes can be written, and nobody else uses them, until the token comes back or [`RemoteMemory::reclaim`] has returned.
    unsafe fn get(&self, from: usize, get: &Get, token: Token) -> Result<Start>;

    /// Changes a word of a rank; its value from before comes back by [`Sink::fetched`](super::core::Sink::fetched).
    ///
    /// # Errors
    /// As for [`RemoteMemory::put`].
    fn change(&self, at: usize, change: &Change, token: Token) -> Result<Start>;

    /// Takes back the bytes lent to an operation that is under way: when this returns, they are neither read nor written any more.
    /// What arrives of the operation is undefined. Its token comes back all the same. It may wait for the network, but not for
    /// programs: on a card that cannot cancel, until the completion is there.
    fn reclaim(&self, token: Token);
}

/// What a version promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteLimits {
    /// Puts of up to so many bytes have been read when [`RemoteMemory::put`] returns.
    pub inject_max: usize,
    /// Operations of a pair are done in the order of starting, where they concern the same bytes, so that fences cost nothing.
    pub in_order: bool,
    /// A packet is handed out after everything that was put to its target before it was posted. If not, the interface posts none
    /// while puts to that rank are under way.
    pub packets_follow: bool,
    /// A word may be changed by [`RemoteMemory::change`] and by atomic instructions of its host's processor at the same time. If
    /// not, the interface asks its owner by packets.
    pub atomics_are_shared: bool,
    /// Transfers of fewer bytes are done sooner by packets, so the interface asks for longer ones alone.
    pub transfer_min: usize,
    /// Puts take a word along. If not, the interface sends it by a packet, after the bytes are there.
    pub carries_words: bool,
    /// Memory can be deregistered while peers reach it. If not, the interface registers only what lives as long as the job, and
    /// deregisters it when it needs the transport no more.
    pub revokes: bool,
    /// Memory is reached by the pages that it had when it was registered. If so, the interface registers areas alone, which keep
    /// theirs, and not symmetric memory: that is mostly address space, whose pages come and go.
    pub pins: bool,
}

impl RemoteLimits {
    /// Of a network that is best at transfers of all lengths, and promises nothing but what every version does.
    pub const fn new(inject_max: usize) -> RemoteLimits {
        RemoteLimits {
            inject_max,
            in_order: false,
            packets_follow: false,
            atomics_are_shared: false,
            transfer_min: 0,
            carries_words: true,
            revokes: true,
            pins: false,
        }
    }
}

/// Memory that peers can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registration {
    /// Which one it is, to the transport.
    pub handle: u64,
    /// What a peer needs to reach it.
    pub key: RemoteKey,
}

/// What a peer needs to reach some bytes of a rank. It travels as three words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteKey {
    /// What the network adds to offsets.
    pub base: u64,
    /// What the network knows the memory by.
    pub key: u64,
    /// How many bytes there are.
    pub bytes: u64,
}

/// Some bytes of a rank, from an offset on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemotePlace {
    /// In which memory.
    pub key: RemoteKey,
    /// Where in it.
    pub offset: u64,
}

/// Bytes to be written.
#[derive(Clone, Copy, Debug)]
pub struct Put {
    /// From where. Memory that is registered is used as it is; for other memory the transport does what its network needs.
    pub from: *const u8,
    /// How many; there may be none.
    pub bytes: usize,
    /// To where.
    pub to: RemotePlace,
    /// A word that is written whole, after the bytes, at a multiple of 8.
    pub then: Option<(RemotePlace, u64)>,
    /// The target is told when everything is there, by [`Sink::landed`](super::core::Sink::landed).
    pub event: bool,
    /// Everything that was started before towards that rank is done first.
    pub fence: bool,
}

/// Bytes to be read.
#[derive(Clone, Copy, Debug)]
pub struct Get {
    /// From where.
    pub from: RemotePlace,
    /// To where.
    pub into: *mut u8,
    /// How many.
    pub bytes: usize,
    /// Everything that was started before towards that rank is done first.
    pub fence: bool,
}

/// A word to be changed.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// Where, at a multiple of 8.
    pub at: RemotePlace,
    /// How.
    pub operation: Atomic,
    /// The target is told when it is done.
    pub event: bool,
    /// Everything that was started before towards that rank is done first.
    pub fence: bool,
}

/// Whether an operation was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Its token will come back.
    Started,
    /// There is no room now, and nothing was done. Try again after a poll.
    Busy,
}

/// Why an operation was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemoteFailure {
    /// The key is not known there, or does not reach so far.
    Refused,
    /// The rank is lost, or is about to be: it may be done or not.
    Lost,
    /// The network has given it up, and packets are to do it again. Only transfers whose bytes were lent end so, and no put with a
    /// word.
    Withdrawn,
}

/// What became of an operation: the word from before, if one was changed.
pub(crate) type End = std::result::Result<u64, RemoteFailure>;
