//! Where the answers to a port's pulls arrive: long places are read in pieces, with several requests under way.
//!
//! ```text
//!   port                                             engine (one thread at a time)
//!   open the desk: where the bytes go
//!   request, request, request ... at most WINDOW     each answer says which piece it is: copied to its place, under
//!   arrived, acquired: ask for more                  the desk's lock; arrived += 1, released
//!   all there, refused or given up: close the desk   an answer that comes later finds it closed
//! ```
//! Whoever has closed the desk knows that nobody writes to the place any more.

use crate::error::{Error, Refusal, Result};
use crate::memory::copy;
use crate::ni::wire::token;
use crate::planted::{Bug, planted};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Requests of one pull under way.
pub(in crate::ni) const WINDOW: usize = 16;

/// Where the answers to the pulls of one port arrive.
#[derive(Debug, Default)]
pub(crate) struct PullDesk {
    order: Mutex<Order>,
    /// Pieces that have come for the order that is open.
    arrived: AtomicU64,
}

/// What is being read.
#[derive(Debug)]
struct Order {
    /// 0 when the desk is closed.
    token: u64,
    /// Orders so far.
    number: u64,
    rank: usize,
    into: *mut u8,
    bytes: usize,
    piece: usize,
    trouble: Option<Trouble>,
}

#[derive(Clone, Copy, Debug)]
enum Trouble {
    Refused(u64),
    Nonsense,
}

// SAFETY: the address is followed only under the lock, while the desk is open: then whoever opened it waits for it.
unsafe impl Send for Order {}

impl Default for Order {
    fn default() -> Order {
        Order { token: 0, number: 0, rank: 0, into: std::ptr::null_mut(), bytes: 0, piece: 1, trouble: None }
    }
}

impl PullDesk {
    fn order(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Opens it.
    ///
    /// # Safety
    /// So many bytes can be written at `into` until the desk is closed.
    pub unsafe fn open(&self, port: usize, rank: usize, into: *mut u8, bytes: usize, piece: usize) -> Open<'_> {
        let mut order = self.order();
        let number = order.number + 1;
        let token = token::pulled(port, number);
        *order = Order { token, number, rank, into, bytes, piece, trouble: None };
        self.arrived.store(0, Ordering::Relaxed);
        Open { desk: self, token }
    }

    /// An answer has come: the piece at `position`.
    pub fn take(&self, token: u64, source: usize, position: u64, piece: &[u8]) {
        let mut order = self.order();
        if order.token != token || order.rank != source {
            return;
        }
        let at = usize::try_from(position).ok().filter(|at| *at < order.bytes && at.is_multiple_of(order.piece));
        match at.filter(|at| piece.len() == order.piece.min(order.bytes - at)) {
            // SAFETY: inside the place, which stays while the desk is open.
            Some(at) => unsafe {
                let at = if planted(Bug::PullMisplaced) { 0 } else { at };
                copy::copy(order.into.add(at), piece.as_ptr(), piece.len());
            },
            None => order.trouble = Some(Trouble::Nonsense),
        }
        self.arrived.fetch_add(1, Ordering::Release);
    }

    /// A request was refused.
    pub fn refuse(&self, token: u64, source: usize, reason: u64) {
        let mut order = self.order();
        if order.token == token && order.rank == source {
            order.trouble.get_or_insert(Trouble::Refused(reason));
            self.arrived.fetch_add(1, Ordering::Release);
        }
    }
}

/// An open desk; closed when dropped.
pub(crate) struct Open<'d> {
    desk: &'d PullDesk,
    /// Of its requests.
    pub token: u64,
}

impl Open<'_> {
    /// How many pieces have come, or why no more should.
    pub fn arrived(&self) -> Result<usize> {
        let arrived = self.desk.arrived.load(Ordering::Acquire) as usize;
        let order = self.desk.order();
        match order.trouble {
            None => Ok(arrived),
            Some(Trouble::Refused(code)) => Err(Error::Refused { rank: order.rank, reason: Refusal::from_u64(code) }),
            Some(Trouble::Nonsense) => {
                Err(Error::PeerMisbehaved { rank: order.rank, what: "an answer of the wrong size" })
            }
        }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.desk.order().token = 0;
    }
}
