//! Non-blocking send and receive: one per slot and direction, named by its slot.
//!
//! A receive of any slot is kept here until it is asked for; then it takes the message that is there. Not earlier: in the
//! midst of another wait it might take a message from a blocking receive of that slot, which nothing marks as under way.

use super::comm::Comm;
use super::entry::with_comm;
use super::error::{Outcome, Trouble};
use super::job::Fmpl;
use super::message::TAG_ANY;
use super::under_way::{LentSource, LentTarget};
use crate::given::{Out, Source, Target, exported};
use std::ffi::c_int;

/// A receive of any slot.
#[derive(Clone, Copy, Debug)]
pub struct AnyReceive {
    source: c_int,
    into: LentTarget,
}

exported! {
    /// Starts a send.
    pub fn fmpl_isend(buf: Source<'static>, size: usize, dst: c_int, mai: c_int, comm: c_int) -> c_int {
        with_comm(comm, |_, comm| comm.start_send(LentSource::new(buf, size)?, dst, mai))
    }

    /// Starts a receive.
    pub fn fmpl_irecv(buf: Target<'static>, size: usize, src: c_int, mai: c_int, comm: c_int) -> c_int {
        with_comm(comm, |_, comm| comm.start_receive(LentTarget::new(buf, size)?, src, mai))
    }

    /// Waits for a send.
    pub fn fmpl_isend_wait(dst: c_int, mai: c_int, comm: c_int) -> c_int {
        with_comm(comm, |_, comm| comm.wait_send(dst, mai))
    }

    /// Waits for a receive.
    pub fn fmpl_irecv_wait(src: c_int, mai: c_int, comm: c_int) -> c_int {
        with_comm(comm, |fmpl, comm| comm.wait_receive(fmpl, src, mai))
    }

    /// Whether a send has ended.
    pub fn fmpl_isend_test(dst: c_int, mai: c_int, comm: c_int, flag: Out<'_, c_int>) -> c_int {
        with_comm(comm, |_, comm| {
            flag.required("the flag to be given")?;
            let ended = comm.test_send(dst, mai)?;
            flag.give(ended as c_int);
            Ok(())
        })
    }

    /// Whether a receive has ended.
    pub fn fmpl_irecv_test(src: c_int, mai: c_int, comm: c_int, flag: Out<'_, c_int>) -> c_int {
        with_comm(comm, |fmpl, comm| {
            flag.required("the flag to be given")?;
            let ended = comm.test_receive(fmpl, src, mai)?;
            flag.give(ended as c_int);
            Ok(())
        })
    }
}

impl Comm {
    pub fn start_send(&self, data: LentSource, dst: c_int, mai: c_int) -> Outcome<()> {
        Ok(self.messages.isend(data, dst as usize, mai as usize)?)
    }

    pub fn start_receive(&self, into: LentTarget, src: c_int, mai: c_int) -> Outcome<()> {
        if mai != TAG_ANY {
            return Ok(self.messages.irecv(into, src as usize, mai as usize)?);
        }
        self.check_any(src)?;
        if self.any_kept.borrow().contains(&src) {
            return Err(Trouble::AnyUnderWay(src));
        }
        self.start_any(into, src)
    }

    /// Starts a receive of any slot.
    pub fn start_any(&self, into: LentTarget, src: c_int) -> Outcome<()> {
        self.check_any(src)?;
        self.any.borrow_mut().push(AnyReceive { source: src, into });
        Ok(())
    }

    /// Whether there is such a rank, and no receive of any slot under way from it.
    fn check_any(&self, src: c_int) -> Outcome<()> {
        self.messages.waiting_slot(src as usize)?;
        self.any_under_way(src).map_or(Ok(()), |_| Err(Trouble::AnyUnderWay(src)))
    }

    /// Keeps receives of any slot from a rank for a prepared one.
    pub fn keep_any(&self, src: c_int) -> Outcome<()> {
        self.check_any(src)?;
        let mut kept = self.any_kept.borrow_mut();
        if kept.contains(&src) {
            return Err(Trouble::AnyUnderWay(src));
        }
        kept.push(src);
        Ok(())
    }

    /// The prepared one is gone.
    pub fn release_any(&self, src: c_int) {
        self.any_kept.borrow_mut().retain(|kept| *kept != src);
    }

    /// Waits for a send.
    pub fn wait_send(&self, dst: c_int, mai: c_int) -> Outcome<()> {
        Ok(self.messages.isend_wait(dst as usize, mai as usize)?)
    }

    /// Whether a send has ended.
    pub fn test_send(&self, dst: c_int, mai: c_int) -> Outcome<bool> {
        Ok(self.messages.isend_test(dst as usize, mai as usize)?)
    }

    /// Waits for a receive, and notes what it got.
    pub fn wait_receive(&self, fmpl: &Fmpl, src: c_int, mai: c_int) -> Outcome<()> {
        if mai == TAG_ANY {
            return self.take_any(fmpl, src);
        }
        let bytes = self.messages.irecv_wait(src as usize, mai as usize)?;
        fmpl.received(bytes, src as usize, mai as usize);
        Ok(())
    }

    /// Whether a receive has ended; notes what it got.
    pub fn test_receive(&self, fmpl: &Fmpl, src: c_int, mai: c_int) -> Outcome<bool> {
        if mai == TAG_ANY {
            let is_there = self.any_under_way(src).is_none() || self.messages.waiting_slot(src as usize)?.is_some();
            if is_there {
                self.take_any(fmpl, src)?;
            }
            return Ok(is_there);
        }
        let ended = self.messages.irecv_test(src as usize, mai as usize)?;
        let Some(bytes) = ended else { return Ok(false) };
        fmpl.received(bytes, src as usize, mai as usize);
        Ok(true)
    }

    fn any_under_way(&self, src: c_int) -> Option<usize> {
        self.any.borrow().iter().position(|receive| receive.source == src)
    }

    /// Does a receive of any slot that was kept.
    fn take_any(&self, fmpl: &Fmpl, src: c_int) -> Outcome<()> {
        let Some(index) = self.any_under_way(src) else {
            fmpl.received(0, src as usize, TAG_ANY as usize);
            return Ok(());
        };
        let AnyReceive { into, .. } = self.any.borrow_mut().swap_remove(index);
        let got = self.messages.recv_any_slot_into(into, src as usize)?;
        fmpl.received(got.len, got.rank, got.slot);
        Ok(())
    }
}
