//! Transfers whose description never changes: set up once, started many times. The slot of one belongs to it until it is
//! freed; to a receive of any slot belong all receives of any slot from its source.

use super::comm::{Comm, NO_COMM};
use super::entry::with_fmpl;
use super::error::{Outcome, Trouble};
use super::job::Fmpl;
use super::message::TAG_ANY;
use super::request::Handle;
use crate::entry::{give, place, required};
use core_hikyaku::Error;
use core_hikyaku::ffi::RawMessages;
use std::ffi::{c_int, c_void};

/// What is done again and again.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    way: Way,
    buf: *mut c_void,
    size: usize,
    peer: c_int,
    mai: c_int,
    comm: c_int,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Out,
    In,
    /// In from any slot.
    InAny,
}

impl Fmpl {
    #[inline(always)]
    pub fn transfer(&self, request: Handle) -> Outcome<Transfer> {
        self.transfers.borrow().get(request.id).copied().ok_or(Trouble::Request(request.id))
    }

    /// Keeps a description, and its slot.
    fn prepare(&self, transfer: Transfer) -> Outcome<Handle> {
        if self.transfers.borrow().is_full() {
            return Err(Trouble::Full("prepared transfers"));
        }
        transfer.reserve(self.comm(transfer.comm)?)?;
        let id = self.transfers.borrow_mut().add(transfer).expect("there is room");
        Ok(Handle { id })
    }

    /// A group is gone, whose number may one day name another one: its transfers belong to none.
    pub fn orphan_transfers(&self, comm: c_int) {
        let mut transfers = self.transfers.borrow_mut();
        transfers.all_mut().filter(|transfer| transfer.comm == comm).for_each(|transfer| transfer.comm = NO_COMM);
    }

    /// Forgets a description; false if the transfer is under way.
    pub fn free_transfer(&self, request: Handle) -> Outcome<bool> {
        let transfer = self.transfer(request)?;
        // What belongs to a group that is gone has ended.
        if let Ok(comm) = self.comm(transfer.comm) {
            if !transfer.test(self)? {
                return Ok(false);
            }
            transfer.release(comm)?;
        }
        self.transfers.borrow_mut().remove(request.id);
        Ok(true)
    }
}

impl Transfer {
    /// Peer and slot.
    #[inline(always)]
    fn place(&self) -> (usize, usize) {
        (self.peer as usize, self.mai as usize)
    }

    fn reserve(&self, comm: &Comm) -> Outcome<()> {
        let ((rank, slot), size) = (self.place(), comm.group.size());
        match self.way {
            Way::Out => Ok(comm.messages.reserve_send(rank, slot)?),
            Way::In => Ok(comm.messages.reserve_recv(rank, slot)?),
            Way::InAny if rank < size => comm.keep_any(self.peer),
            Way::InAny => Err(Error::NoSuchRank { rank, size }.into()),
        }
    }

    fn release(&self, comm: &Comm) -> Outcome<()> {
        let (rank, slot) = self.place();
        match self.way {
            // SAFETY: reserved above.
            Way::Out => unsafe { comm.messages.release_send(rank, slot).map_err(Trouble::from) },
            // SAFETY: as above.
            Way::In => unsafe { comm.messages.release_recv(rank, slot).map_err(Trouble::from) },
            Way::InAny => {
                comm.release_any(self.peer);
                Ok(())
            }
        }
    }

    /// # Safety
    /// The buffer is the transfer's until it has ended.
    unsafe fn start(&self, comm: &Comm) -> Outcome<()> {
        let (rank, slot) = self.place();
        // SAFETY: the caller's promise.
        unsafe {
            match self.way {
                Way::Out => {
                    Ok(comm.messages.isend_reserved(self.buf.cast_const().cast::<u8>(), self.size, rank, slot)?)
                }
                Way::In => Ok(comm.messages.irecv_reserved(self.buf.cast::<u8>(), self.size, rank, slot)?),
                Way::InAny => comm.start_any(self.buf, self.size, self.peer),
            }
        }
    }

    pub fn wait(&self, fmpl: &Fmpl) -> Outcome<()> {
        let comm = fmpl.comm(self.comm)?;
        match self.way {
            Way::Out => comm.wait_send(self.peer, self.mai),
            Way::In | Way::InAny => comm.wait_receive(fmpl, self.peer, self.mai),
        }
    }

    pub fn test(&self, fmpl: &Fmpl) -> Outcome<bool> {
        let comm = fmpl.comm(self.comm)?;
        match self.way {
            Way::Out => comm.test_send(self.peer, self.mai),
            Way::In | Way::InAny => comm.test_receive(fmpl, self.peer, self.mai),
        }
    }
}

/// Prepares sends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_send_init(
    buf: *const c_void,
    size: usize,
    dst: c_int,
    mai: c_int,
    comm: c_int,
    req: *mut Handle,
) -> c_int {
    with_fmpl(|fmpl| {
        required(req, "the request to be given")?;
        place(buf, size)?;
        let handle = fmpl.prepare(Transfer { way: Way::Out, buf: buf.cast_mut(), size, peer: dst, mai, comm })?;
        // SAFETY: not null, and the caller's to write.
        unsafe { give(req, handle) };
        Ok(())
    })
}

/// Prepares receives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_recv_init(
    buf: *mut c_void,
    size: usize,
    src: c_int,
    mai: c_int,
    comm: c_int,
    req: *mut Handle,
) -> c_int {
    with_fmpl(|fmpl| {
        required(req, "the request to be given")?;
        place(buf, size)?;
        let way = if mai == TAG_ANY { Way::InAny } else { Way::In };
        let handle = fmpl.prepare(Transfer { way, buf, size, peer: src, mai, comm })?;
        // SAFETY: not null, and the caller's to write.
        unsafe { give(req, handle) };
        Ok(())
    })
}

/// Starts a prepared transfer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_start(req: Handle) -> c_int {
    with_fmpl(|fmpl| {
        let transfer = fmpl.transfer(req)?;
        // SAFETY: as the caller promised when it was prepared.
        unsafe { transfer.start(fmpl.comm(transfer.comm)?) }
    })
}
