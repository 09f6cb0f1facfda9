//! Transfers whose description never changes: set up once, started many times.

use super::entry::with_fmpl;
use super::error::{Outcome, Trouble};
use super::job::Fmpl;
use super::message::TAG_ANY;
use crate::entry::{give, required, source, target};
use core_hikyaku::Error;
use std::ffi::{c_int, c_void};

/// `fmpl_request`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Handle {
    pub id: c_int,
}

/// Names none.
const NO_REQUEST: Handle = Handle { id: -1 };

/// What is done again and again.
#[derive(Clone, Copy, Debug)]
pub struct Request {
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
}

impl Fmpl {
    #[inline(always)]
    fn request(&self, request: Handle) -> Outcome<Request> {
        self.requests.borrow().get(request.id).copied().ok_or(Trouble::Request(request.id))
    }

    /// Checks and keeps a description.
    fn prepare(&self, request: Request) -> Outcome<Handle> {
        let comm = self.comm(request.comm)?;
        let (rank, size) = (request.peer as usize, comm.group.size());
        if rank >= size {
            return Err(Error::NoSuchRank { rank, size }.into());
        }
        let slot = request.mai as usize;
        if slot >= self.slots && (request.mai, request.way) != (TAG_ANY, Way::In) {
            return Err(Error::NoSuchSlot { slot, slots: self.slots }.into());
        }
        let id = self.requests.borrow_mut().add(request).ok_or(Trouble::Full("prepared transfers"))?;
        Ok(Handle { id })
    }

    fn ended(&self, request: Request) -> Outcome<bool> {
        let comm = self.comm(request.comm)?;
        match request.way {
            Way::Out => Ok(comm.messages.isend_test(request.peer as usize, request.mai as usize)?),
            Way::In => comm.test_receive(self, request.peer, request.mai),
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
        // SAFETY: the caller's to read.
        unsafe { source(buf, size)? };
        let request = Request { way: Way::Out, buf: buf.cast_mut(), size, peer: dst, mai, comm };
        let handle = fmpl.prepare(request)?;
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
        // SAFETY: the caller's to write.
        unsafe { target(buf, size)? };
        let handle = fmpl.prepare(Request { way: Way::In, buf, size, peer: src, mai, comm })?;
        // SAFETY: not null, and the caller's to write.
        unsafe { give(req, handle) };
        Ok(())
    })
}

/// Starts a prepared transfer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_start(req: Handle) -> c_int {
    with_fmpl(|fmpl| {
        let Request { way, buf, size, peer, mai, comm } = fmpl.request(req)?;
        let comm = fmpl.comm(comm)?;
        // SAFETY: the buffer is the transfer's until it has ended, as the caller promised.
        unsafe {
            match way {
                Way::Out => comm.start_send(buf, size, peer, mai),
                Way::In => comm.start_receive(buf, size, peer, mai),
            }
        }
    })
}

/// Waits for a prepared transfer.
#[unsafe(no_mangle)]
pub extern "C" fn fmpl_wait(req: Handle) -> c_int {
    with_fmpl(|fmpl| {
        let request = fmpl.request(req)?;
        let comm = fmpl.comm(request.comm)?;
        match request.way {
            Way::Out => Ok(comm.messages.isend_wait(request.peer as usize, request.mai as usize)?),
            Way::In => comm.wait_receive(fmpl, request.peer, request.mai),
        }
    })
}

/// Whether a prepared transfer has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_test(req: Handle, flag: *mut c_int) -> c_int {
    with_fmpl(|fmpl| {
        required(flag, "the flag to be given")?;
        let ended = fmpl.ended(fmpl.request(req)?)?;
        // SAFETY: not null, and the caller's to write.
        unsafe { give(flag, ended as c_int) };
        Ok(())
    })
}

/// Gives a description back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_request_free(req: *mut Handle) -> c_int {
    with_fmpl(|fmpl| {
        required(req, "the request")?;
        // SAFETY: not null, and the caller's to read.
        let handle = unsafe { req.read() };
        let request = fmpl.request(handle)?;
        // What belongs to a group that is gone has ended.
        if fmpl.comm(request.comm).is_ok() && !fmpl.ended(request)? {
            return Err(Trouble::UnderWay("fmpl_request_free"));
        }
        fmpl.requests.borrow_mut().remove(handle.id);
        // SAFETY: not null, and the caller's to write.
        unsafe { give(req, NO_REQUEST) };
        Ok(())
    })
}
