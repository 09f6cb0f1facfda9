//! Reaching memory of other ranks, one transfer at a time, by an endpoint of its own: closing it proves that libfabric is not at the
//! bytes that were lent to the transfer any more, and concerns no other.
//!
//! The endpoint has connections to all ranks that it was used for, so one is enough while each transfer is waited for before the next.
//! It costs much: with `tcp`, libfabric needs 64 MB for its buffers, and tens of milliseconds to open it.
//!
//! It shares the table of addresses with the port, and has a queue of completions of its own.

use crate::lent::{Context, Lent, Purpose, Transfer};
use crate::object::{Device, Object, Queue, Region};
use crate::port::{endpoint, is_again};
use crate::sleep::Sleep;
use crate::sys::{
    CqMsgEntry, Ep, FI_COMPLETION, FI_DELIVERY_COMPLETE, FI_EAVAIL, FI_READ, FI_REMOTE_READ, FI_REMOTE_WRITE, FI_WRITE,
    MsgRma, RmaIov,
};
use hikyaku::Result;
use hikyaku::spi::{RemotePlace, Token};
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

/// Completions that the queue has room for.
const QUEUE_SIZE: usize = 16;

/// The endpoint, and what is under way by it. Fields are closed in their order.
pub struct Reach {
    ep: Object<Ep>,
    queue: Queue,
    /// What libfabric has; freed when the endpoint is closed, and never if it cannot be.
    lent: Lent<Transfer>,
    device: Arc<Device>,
    /// Where the queue's descriptor is slept on.
    sleep: Arc<Sleep>,
    under_way: Option<UnderWay>,
    /// Ranks that it has connections to, or will have soon.
    known: BTreeSet<u32>,
    /// Libfabric has refused to close it: it is not used any more.
    is_given_up: bool,
}

/// A transfer that libfabric has.
struct UnderWay {
    rank: u32,
    token: Token,
    transfer: NonNull<Transfer>,
}

/// A transfer that is over: with which rank, and whether it is done, or what libfabric says.
pub struct Over {
    pub rank: u32,
    pub token: Token,
    pub end: std::result::Result<(), isize>,
}

// SAFETY: it was opened for use by any thread (`FI_THREAD_SAFE`), and owns what it points to.
unsafe impl Send for Reach {}

/// Bytes of this rank, and which way they go.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// From here to there.
    Put(*const u8),
    /// From there to here.
    Get(*mut u8),
}

/// Whether a transfer was started.
pub enum Started {
    Yes,
    /// There is no connection yet, or no room.
    Busy,
    /// Libfabric cannot do it.
    No,
}

impl Reach {
    /// Opens one.
    ///
    /// # Errors
    /// When libfabric says so.
    pub fn open(device: Arc<Device>, sleep: Arc<Sleep>) -> Result<Reach> {
        let queue = Queue::open(&device.domain, QUEUE_SIZE)?;
        let ep = endpoint(&device, &queue)?;
        sleep.add(queue.descriptor())?;
        let (lent, known) = (Lent::default(), BTreeSet::new());
        Ok(Reach { ep, queue, lent, device, sleep, under_way: None, known, is_given_up: false })
    }

    /// Whether a transfer can be started.
    pub fn is_idle(&self) -> bool {
        self.under_way.is_none() && !self.is_given_up
    }

    /// Whether it has a connection to a rank, or will have soon.
    pub fn knows(&self, rank: u32) -> bool {
        self.known.contains(&rank)
    }

    /// The rank and the token of the transfer that is under way.
    pub fn under_way(&self) -> Option<(u32, Token)> {
        self.under_way.as_ref().map(|it| (it.rank, it.token))
    }

    /// Starts a transfer with a rank, which libfabric calls `to`, while none is under way.
    ///
    /// # Safety
    /// The own bytes can be read or written until the transfer is over, or this is closed.
    pub unsafe fn start(
        &mut self,
        (rank, to): (u32, u64),
        (way, bytes): (Way, usize),
        at: &RemotePlace,
        token: Token,
    ) -> Started {
        let (start, access) = match way {
            Way::Put(start) => (start, FI_WRITE),
            Way::Get(start) => (start.cast_const(), FI_READ),
        };
        let region = match self.device.offer.must_register() {
            false => None,
            // SAFETY: the caller's promise; it is closed when the transfer is over.
            true => match unsafe { Region::new(&self.device, start, bytes, access, 0) } {
                Ok(region) => Some(region),
                Err(_) => return Started::No,
            },
        };
        let mut description = region.as_ref().map_or(null_mut(), Region::description);
        let transfer = Transfer { context: Context::new(Purpose::Transfer), region, token, rank };
        let transfer = self.lent.lend(Box::new(transfer));
        let here = libc::iovec { iov_base: start.cast_mut().cast::<c_void>(), iov_len: bytes };
        let there = RmaIov { addr: at.key.base.wrapping_add(at.offset), len: bytes, key: at.key.key };
        let message = MsgRma {
            msg_iov: &here,
            desc: &mut description,
            iov_count: 1,
            addr: to,
            rma_iov: &there,
            rma_iov_count: 1,
            context: transfer.as_ptr().cast(),
            data: 0,
        };
        let ep = self.ep.get();
        // SAFETY: a live endpoint and a message as the headers say, whose parts live during the call; the context until it is back.
        let code = unsafe {
            let ops = (*ep).rma;
            match way {
                Way::Put(_) => ((*ops).writemsg)(ep, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE),
                Way::Get(_) => ((*ops).readmsg)(ep, &message, FI_COMPLETION),
            }
        };
        if code == 0 || is_again(code) {
            self.known.insert(rank);
        }
        if code == 0 {
            self.under_way = Some(UnderWay { rank, token, transfer });
            return Started::Yes;
        }
        // SAFETY: libfabric has not taken it.
        drop(unsafe { self.lent.back(transfer) });
        if is_again(code) { Started::Busy } else { Started::No }
    }

    /// Lets libfabric go on with what is under way: connections, and the transfer, which this gives if it is over.
    pub fn look(&mut self) -> Option<Over> {
        if self.is_given_up {
            return None;
        }
        let mut entry = [CqMsgEntry { op_context: null_mut(), flags: 0, len: 0 }];
        let (context, end) = match self.queue.read(&mut entry) {
            1 => (entry[0].op_context, Ok(())),
            code if code == -FI_EAVAIL => self.queue.read_error().map(|(context, code)| (context, Err(code)))?,
            _ => return None,
        };
        let UnderWay { rank, token, transfer } =
            self.under_way.take_if(|it| it.transfer.as_ptr().cast::<c_void>() == context)?;
        // SAFETY: libfabric gives the context of each operation back once, when it is over.
        drop(unsafe { self.lent.back(transfer) });
        Some(Over { rank, token, end })
    }

    /// Whether one may sleep; if not, something may have happened.
    pub fn may_sleep(&mut self) -> bool {
        self.is_given_up || self.queue.may_sleep(&self.device)
    }

    /// Closes the endpoint: what is under way does not end any more, and libfabric is not at its bytes. False if it refuses, and may go
    /// on.
    pub fn close(&mut self) -> bool {
        if !self.ep.is_closed() {
            self.sleep.remove(self.queue.descriptor());
        }
        // Nobody asks its queue any more.
        self.is_given_up = true;
        self.ep.close()
    }
}

impl Drop for Reach {
    fn drop(&mut self) {
        if !self.close() {
            // What libfabric may go on to use stays where it is.
            std::mem::forget(std::mem::take(&mut self.lent));
        }
    }
}

/// Access of peers to memory.
pub const BY_PEERS: u64 = FI_REMOTE_READ | FI_REMOTE_WRITE;
