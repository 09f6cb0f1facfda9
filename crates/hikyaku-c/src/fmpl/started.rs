//! Collective calls that go on while the program does something else. A call is named by a request until the program has
//! heard that it has ended.

use super::comm::Comm;
use super::entry::with_comm;
use super::error::{Outcome, Trouble};
use super::function;
use super::job::Fmpl;
use super::request::Handle;
use crate::given::{Out, Source, Target, apart, exported};
use core_hikyaku::collective;
use std::ffi::{c_int, c_void};

/// Requests of calls have numbers from here on.
pub const FIRST_CALL: c_int = 1 << 30;

/// A call under way.
#[derive(Debug)]
pub struct Call {
    comm: c_int,
    handle: collective::Handle<'static>,
}

/// Starts a call on a group, and gives its request to the program.
pub fn start(
    comm: c_int,
    req: Out<'_, Handle>,
    call: impl FnOnce(&Fmpl, &Comm) -> Outcome<collective::Handle<'static>>,
) -> c_int {
    with_comm(comm, |fmpl, group| {
        req.required("the request to be given")?;
        // A call that has begun must have a name.
        if fmpl.calls.borrow().is_full() {
            return Err(Trouble::Full("collective calls under way"));
        }
        let handle = call(fmpl, group)?;
        let number = fmpl.calls.borrow_mut().add(Call { comm, handle }).expect("there is room");
        req.give(Handle { id: FIRST_CALL + number });
        Ok(())
    })
}

impl Fmpl {
    /// Waits for a call, whose request names nothing any more.
    pub fn end_call(&self, request: Handle) -> Outcome<()> {
        let call = self.calls.borrow_mut().remove(request.id - FIRST_CALL).ok_or(Trouble::Request(request.id))?;
        Ok(self.comm(call.comm)?.calls().wait(call.handle)?)
    }

    /// Whether a call has ended; its request then names nothing any more.
    pub fn test_call(&self, request: Handle) -> Outcome<bool> {
        let ended = self.has_ended(request)?;
        if ended {
            self.end_call(request)?;
        }
        Ok(ended)
    }

    /// Forgets a call that has ended, whatever became of it; false if it has not.
    pub fn forget_call(&self, request: Handle) -> Outcome<bool> {
        let ended = self.has_ended(request)?;
        if ended {
            let _ = self.end_call(request);
        }
        Ok(ended)
    }

    /// Moves a call on; whether it has ended, in success or failure.
    fn has_ended(&self, request: Handle) -> Outcome<bool> {
        // What combines inside makes no calls, so nobody else changes the table.
        let calls = self.calls.borrow();
        let call = calls.get(request.id - FIRST_CALL).ok_or(Trouble::Request(request.id))?;
        Ok(!matches!(self.comm(call.comm)?.calls().test(&call.handle), Ok(false)))
    }
}

exported! {
    /// Starts `fmpl_barrier`.
    pub fn fmpl_ibarrier(comm: c_int, req: Out<'_, Handle>) -> c_int {
        start(comm, req, |_, comm| Ok(comm.calls().ibarrier()?))
    }

    /// Starts `fmpl_bcast`.
    pub fn fmpl_ibcast(
        buf: Target<'static>,
        size: usize,
        root: c_int,
        comm: c_int,
        req: Out<'_, Handle>,
    ) -> c_int {
        start(comm, req, |_, comm| {
            let root = comm.root(root)?;
            Ok(comm.calls().ibroadcast(buf.bytes(size)?, root)?)
        })
    }

    /// Starts `fmpl_reduce`.
    pub fn fmpl_ireduce(
        buf: Target<'static>,
        count: c_int,
        func: function::Handle,
        root: c_int,
        comm: c_int,
        _work: *mut c_void,
        req: Out<'_, Handle>,
    ) -> c_int {
        start(comm, req, |fmpl, comm| {
            let (data, by) = fmpl.numbers(buf, count, func)?;
            let root = comm.root(root)?;
            let combine = move |total: &mut [u8], input: &[u8]| by.combine(total, input);
            Ok(comm.calls().ireduce_elements(data, by.elements, combine, root)?)
        })
    }

    /// Starts `fmpl_allreduce`.
    pub fn fmpl_iallreduce(
        buf: Target<'static>,
        count: c_int,
        func: function::Handle,
        comm: c_int,
        _work: *mut c_void,
        req: Out<'_, Handle>,
    ) -> c_int {
        start(comm, req, |fmpl, comm| {
            let (data, by) = fmpl.numbers(buf, count, func)?;
            let combine = move |total: &mut [u8], input: &[u8]| by.combine(total, input);
            Ok(comm.calls().iallreduce_elements(data, by.elements, combine)?)
        })
    }

    /// Starts `fmpl_scan`.
    pub fn fmpl_iscan(
        buf: Target<'static>,
        count: c_int,
        func: function::Handle,
        comm: c_int,
        _work: *mut c_void,
        req: Out<'_, Handle>,
    ) -> c_int {
        start(comm, req, |fmpl, comm| {
            let (data, by) = fmpl.numbers(buf, count, func)?;
            let combine = move |total: &mut [u8], input: &[u8]| by.combine(total, input);
            Ok(comm.calls().iscan_elements(data, by.elements, combine)?)
        })
    }

    /// Starts `fmpl_exscan`.
    pub fn fmpl_iexscan(
        buf: Target<'static>,
        count: c_int,
        func: function::Handle,
        comm: c_int,
        _work: *mut c_void,
        req: Out<'_, Handle>,
    ) -> c_int {
        start(comm, req, |fmpl, comm| {
            let (data, by) = fmpl.numbers(buf, count, func)?;
            let combine = move |total: &mut [u8], input: &[u8]| by.combine(total, input);
            Ok(comm.calls().iexscan_elements(data, by.elements, combine)?)
        })
    }

    /// Starts `fmpl_gather`.
    pub fn fmpl_igather(
        mine: Source<'static>,
        size: usize,
        all: Target<'static>,
        root: c_int,
        comm: c_int,
        req: Out<'_, Handle>,
    ) -> c_int {
        start(comm, req, |_, comm| {
            let (root, bytes) = comm.blocks_at(root, size)?;
            let (mine, all) = apart(mine, size, all, bytes)?;
            Ok(comm.calls().igather(mine, all, root)?)
        })
    }

    /// Starts `fmpl_allgather`.
    pub fn fmpl_iallgather(
        mine: Source<'static>,
        size: usize,
        all: Target<'static>,
        comm: c_int,
        req: Out<'_, Handle>,
    ) -> c_int {
        start(comm, req, |_, comm| {
            let (mine, all) = apart(mine, size, all, comm.blocks(size)?)?;
            Ok(comm.calls().iallgather(mine, all)?)
        })
    }

    /// Starts `fmpl_scatter`.
    pub fn fmpl_iscatter(
        all: Source<'static>,
        size: usize,
        mine: Target<'static>,
        root: c_int,
        comm: c_int,
        req: Out<'_, Handle>,
    ) -> c_int {
        start(comm, req, |_, comm| {
            let (root, bytes) = comm.blocks_at(root, size)?;
            let (all, mine) = apart(all, bytes, mine, size)?;
            Ok(comm.calls().iscatter(all, mine, root)?)
        })
    }

    /// Starts `fmpl_alltoall`.
    pub fn fmpl_ialltoall(
        blocks: Source<'static>,
        size: usize,
        into: Target<'static>,
        comm: c_int,
        req: Out<'_, Handle>,
    ) -> c_int {
        start(comm, req, |_, comm| {
            let bytes = comm.blocks(size)?;
            let (blocks, into) = apart(blocks, bytes, into, bytes)?;
            Ok(comm.calls().ialltoall(blocks, into)?)
        })
    }
}
