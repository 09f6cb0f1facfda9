//! Blocking send and receive, and the spare buffer of sends that have waited long enough.

use super::comm::Sending;
use super::entry::{with_comm, with_fmpl};
use super::error::Trouble;
use crate::given::{Out, Source, Target, exported};
use core_hikyaku::message::Mode;
use std::ffi::{c_int, c_void};
use std::time::Duration;

/// `FMPL_TAG_ANY`: whatever slot.
pub const TAG_ANY: c_int = -1;
/// `FMPL_SYNC`: a send returns when its receive is there.
const SYNC: c_int = -1;
/// `FMPL_STANDARD`: a send of a short message returns at once.
const STANDARD: c_int = -2;

exported! {
    /// Sends to a slot.
    pub fn fmpl_send(buf: Source<'_>, size: usize, dst: c_int, mai: c_int, comm: c_int) -> c_int {
        with_comm(comm, |_, comm| {
            let data = buf.bytes(size)?;
            Ok(comm.messages.send(data, dst as usize, mai as usize)?)
        })
    }

    /// Receives from a slot, or from any.
    pub fn fmpl_recv(buf: Target<'_>, size: usize, src: c_int, mai: c_int, comm: c_int) -> c_int {
        with_comm(comm, |fmpl, comm| {
            let into = buf.bytes(size)?;
            if mai == TAG_ANY {
                let got = comm.messages.recv_any_slot(into, src as usize)?;
                fmpl.received(got.len, got.rank, got.slot);
                return Ok(());
            }
            let bytes = comm.messages.recv(into, src as usize, mai as usize)?;
            fmpl.received(bytes, src as usize, mai as usize);
            Ok(())
        })
    }

    /// Sends to a rank that receives from any.
    pub fn fmpl_send_any(buf: Source<'_>, size: usize, dst: c_int, mai: c_int, comm: c_int) -> c_int {
        with_comm(comm, |_, comm| {
            let data = buf.bytes(size)?;
            Ok(comm.messages.send_any(data, dst as usize, mai as usize)?)
        })
    }

    /// Receives from whomever.
    pub fn fmpl_recv_any(buf: Target<'_>, size: usize, mai: c_int, comm: c_int) -> c_int {
        with_comm(comm, |fmpl, comm| {
            let into = buf.bytes(size)?;
            let got = comm.messages.recv_any(into, mai as usize)?;
            fmpl.received(got.len, got.rank, got.slot);
            Ok(())
        })
    }

    /// The bytes of the last receive.
    pub fn fmpl_get_count(bytes: Out<'_, usize>) -> c_int {
        with_fmpl(|fmpl| {
            bytes.required("the count to be given")?;
            bytes.give(fmpl.last.get().bytes);
            Ok(())
        })
    }

    /// The sender of its message.
    pub fn fmpl_get_source(src: Out<'_, c_int>) -> c_int {
        with_fmpl(|fmpl| {
            src.required("the source to be given")?;
            src.give(fmpl.last.get().source);
            Ok(())
        })
    }

    /// The slot of its message.
    pub fn fmpl_get_index(mai: Out<'_, c_int>) -> c_int {
        with_fmpl(|fmpl| {
            mai.required("the index to be given")?;
            mai.give(fmpl.last.get().index);
            Ok(())
        })
    }

    /// Sets when sends return.
    pub fn fmpl_sendbuf_set(_buf: *mut c_void, size: usize, ipara: c_int) -> c_int {
        with_fmpl(|fmpl| {
            let mode = match ipara {
                SYNC => Mode::Synchronous,
                STANDARD => Mode::Standard,
                0.. => Mode::Spool(Duration::from_millis(ipara as u64)),
                _ => return Err(Trouble::Patience(ipara)),
            };
            let (old, new) = (fmpl.sending.get(), Sending { mode, spare: size });
            let set = fmpl.comms.all().try_for_each(|comm| comm.set_sending(new));
            if set.is_err() {
                // Each group took the old setting before.
                let _ = fmpl.comms.all().try_for_each(|comm| comm.set_sending(old));
                return set;
            }
            fmpl.sending.set(new);
            Ok(())
        })
    }

    /// Moves sends out of the spare buffer; tells how many have left it and how many remain.
    pub fn fmpl_sendbuf_check(nsend: Out<'_, c_int>, nspool: Out<'_, c_int>) -> c_int {
        with_fmpl(|fmpl| {
            let (mut moved, mut remaining) = (0, 0);
            for comm in fmpl.comms.all() {
                let report = comm.messages.check_spool()?;
                (moved, remaining) = (moved + report.moved, remaining + report.remaining);
            }
            nsend.give(c_int::try_from(moved).unwrap_or(c_int::MAX));
            nspool.give(c_int::try_from(remaining).unwrap_or(c_int::MAX));
            Ok(())
        })
    }
}
