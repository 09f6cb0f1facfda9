//! Transfers whose description never changes: set up once, started many times. The slot of one belongs to it until it is
//! freed; to a receive of any slot belong all receives of any slot from its source.

use super::comm::{Comm, NO_COMM};
use super::entry::with_fmpl;
use super::error::{Outcome, Trouble};
use super::job::Fmpl;
use super::message::TAG_ANY;
use super::request::Handle;
use super::under_way::{LentSource, LentTarget, ReservedReceive, ReservedSend};
use crate::given::{Out, Source, Target, exported};
use core_hikyaku::Error;
use std::cell::Ref;
use std::ffi::c_int;

/// What is done again and again.
#[derive(Debug)]
pub struct Transfer {
    way: Way,
    peer: c_int,
    mai: c_int,
    comm: c_int,
}

#[derive(Debug)]
enum Way {
    Out(ReservedSend),
    In(ReservedReceive),
    /// In from any slot.
    InAny(LentTarget),
}

impl Fmpl {
    #[inline(always)]
    pub fn transfer(&self, request: Handle) -> Outcome<Ref<'_, Transfer>> {
        let found = Ref::filter_map(self.transfers.borrow(), |transfers| transfers.get(request.id));
        found.map_err(|_| Trouble::Request(request.id))
    }

    /// Keeps a description whose slot `reserve` takes.
    fn prepare(
        &self,
        (peer, mai, comm): (c_int, c_int, c_int),
        reserve: impl FnOnce(&Comm) -> Outcome<Way>,
    ) -> Outcome<Handle> {
        if self.transfers.borrow().is_full() {
            return Err(Trouble::Full("prepared transfers"));
        }
        let way = reserve(self.comm(comm)?)?;
        let id = self.transfers.borrow_mut().add(Transfer { way, peer, mai, comm }).expect("there is room");
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
        let comm = self.comm(transfer.comm);
        if comm.is_ok() && !transfer.test(self)? {
            return Ok(false);
        }
        drop(transfer);
        let freed = self.transfers.borrow_mut().remove(request.id);
        if let (Some(transfer), Ok(comm)) = (freed, comm) {
            transfer.release(comm)?;
        }
        Ok(true)
    }
}

impl Transfer {
    fn release(self, comm: &Comm) -> Outcome<()> {
        match self.way {
            Way::Out(reserved) => Ok(reserved.release(&comm.messages)?),
            Way::In(reserved) => Ok(reserved.release(&comm.messages)?),
            Way::InAny(_) => {
                comm.release_any(self.peer);
                Ok(())
            }
        }
    }

    fn start(&self, comm: &Comm) -> Outcome<()> {
        match &self.way {
            Way::Out(reserved) => Ok(reserved.start(&comm.messages)?),
            Way::In(reserved) => Ok(reserved.start(&comm.messages)?),
            Way::InAny(into) => comm.start_any(*into, self.peer),
        }
    }

    pub fn wait(&self, fmpl: &Fmpl) -> Outcome<()> {
        let comm = fmpl.comm(self.comm)?;
        match self.way {
            Way::Out(_) => comm.wait_send(self.peer, self.mai),
            Way::In(_) | Way::InAny(_) => comm.wait_receive(fmpl, self.peer, self.mai),
        }
    }

    pub fn test(&self, fmpl: &Fmpl) -> Outcome<bool> {
        let comm = fmpl.comm(self.comm)?;
        match self.way {
            Way::Out(_) => comm.test_send(self.peer, self.mai),
            Way::In(_) | Way::InAny(_) => comm.test_receive(fmpl, self.peer, self.mai),
        }
    }
}

exported! {
    /// Prepares sends.
    pub fn fmpl_send_init(
        buf: Source<'static>,
        size: usize,
        dst: c_int,
        mai: c_int,
        comm: c_int,
        req: Out<'_, Handle>,
    ) -> c_int {
        with_fmpl(|fmpl| {
            req.required("the request to be given")?;
            let data = LentSource::new(buf, size)?;
            let handle = fmpl.prepare((dst, mai, comm), |comm| {
                Ok(Way::Out(comm.messages.reserve_send(data, dst as usize, mai as usize)?))
            })?;
            req.give(handle);
            Ok(())
        })
    }

    /// Prepares receives.
    pub fn fmpl_recv_init(
        buf: Target<'static>,
        size: usize,
        src: c_int,
        mai: c_int,
        comm: c_int,
        req: Out<'_, Handle>,
    ) -> c_int {
        with_fmpl(|fmpl| {
            req.required("the request to be given")?;
            let into = LentTarget::new(buf, size)?;
            let handle = fmpl.prepare((src, mai, comm), |comm| {
                if mai != TAG_ANY {
                    return Ok(Way::In(comm.messages.reserve_recv(into, src as usize, mai as usize)?));
                }
                let (rank, size) = (src as usize, comm.group().size());
                if rank >= size {
                    return Err(Error::NoSuchRank { rank, size }.into());
                }
                comm.keep_any(src)?;
                Ok(Way::InAny(into))
            })?;
            req.give(handle);
            Ok(())
        })
    }

    /// Starts a prepared transfer.
    pub fn fmpl_start(req: Handle) -> c_int {
        with_fmpl(|fmpl| {
            let transfer = fmpl.transfer(req)?;
            transfer.start(fmpl.comm(transfer.comm)?)
        })
    }
}
