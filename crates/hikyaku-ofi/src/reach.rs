//! Reaching memory of another rank, one transfer at a time, by an endpoint of its own: closing it proves that libfabric is not at the
//! bytes that were lent to the transfer any more, and concerns no other.
//!
//! It shares the table of addresses and the queue of completions with the port.

use crate::lent::{Context, Purpose, Transfer};
use crate::object::{Object, Region};
use crate::port::{Port, endpoint, is_again};
use crate::sys::{
    Ep, FI_COMPLETION, FI_DELIVERY_COMPLETE, FI_READ, FI_REMOTE_READ, FI_REMOTE_WRITE, FI_WRITE, MsgRma, RmaIov,
};
use hikyaku::Result;
use hikyaku::spi::{RemotePlace, Token};
use std::ffi::c_void;
use std::ptr::null_mut;

/// The endpoint, and what is under way by it.
pub struct Reach {
    ep: Object<Ep>,
    /// What libfabric calls the rank.
    to: u64,
    pub rank: u32,
    pub under_way: Option<Token>,
}

// SAFETY: it was opened for use by any thread (`FI_THREAD_SAFE`).
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
    /// There is no room now.
    Busy,
    /// Libfabric cannot do it.
    No,
}

impl Reach {
    /// Opens one to a rank.
    ///
    /// # Errors
    /// When libfabric says so.
    pub fn open(port: &Port, to: u64, rank: u32) -> Result<Reach> {
        let ep = endpoint(&port.device.domain, port.offer(), &port.av, &port.cq)?;
        Ok(Reach { ep, to, rank, under_way: None })
    }

    /// Starts a transfer, while none is under way.
    ///
    /// # Safety
    /// The own bytes can be read or written until the transfer is over, or this is closed.
    pub unsafe fn start(&mut self, port: &mut Port, way: Way, bytes: usize, at: &RemotePlace, token: Token) -> Started {
        let (start, access) = match way {
            Way::Put(start) => (start, FI_WRITE),
            Way::Get(start) => (start.cast_const(), FI_READ),
        };
        let region = match port.offer().must_register() {
            false => None,
            // SAFETY: the caller's promise; it is closed when the transfer is over.
            true => match unsafe { Region::new(&port.device, start, bytes, access, 0) } {
                Ok(region) => Some(region),
                Err(_) => return Started::No,
            },
        };
        let mut description = region.as_ref().map_or(null_mut(), Region::description);
        let transfer = Transfer { context: Context::new(Purpose::Transfer), region, token, rank: self.rank };
        let lent = port.transfers.lend(Box::new(transfer));
        let here = libc::iovec { iov_base: start.cast_mut().cast::<c_void>(), iov_len: bytes };
        let there = RmaIov { addr: at.key.base.wrapping_add(at.offset), len: bytes, key: at.key.key };
        let message = MsgRma {
            msg_iov: &here,
            desc: &mut description,
            iov_count: 1,
            addr: self.to,
            rma_iov: &there,
            rma_iov_count: 1,
            context: lent.as_ptr().cast(),
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
        if code == 0 {
            self.under_way = Some(token);
            return Started::Yes;
        }
        // SAFETY: libfabric has not taken it.
        drop(unsafe { port.transfers.back(lent) });
        if is_again(code) { Started::Busy } else { Started::No }
    }

    /// Closes the endpoint: what is under way does not end any more, and libfabric is not at its bytes. False if it refuses, and may go
    /// on.
    pub fn close(&mut self) -> bool {
        self.ep.close()
    }
}

/// Access of peers to memory.
pub const BY_PEERS: u64 = FI_REMOTE_READ | FI_REMOTE_WRITE;
