//! Blocking send and receive, and the spare buffer of sends that have waited long enough.

use super::comm::Sending;
use super::entry::{count, with_comm, with_fmpl};
use super::error::Trouble;
use crate::given::{Out, Source, Target, apart, exported};
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

    /// Sends and receives at the same time.
    pub fn fmpl_sendrecv(
        buf: Source<'_>,
        size: usize,
        dst: c_int,
        mai: c_int,
        into: Target<'_>,
        room: usize,
        src: c_int,
        from_mai: c_int,
        comm: c_int,
    ) -> c_int {
        with_comm(comm, |fmpl, comm| {
            let (data, into) = apart(buf, size, into, room)?;
            let (from, from_slot) = (src as usize, from_mai as usize);
            let bytes = comm.messages.sendrecv(data, dst as usize, mai as usize, into, from, from_slot)?;
            fmpl.received(bytes, from, from_slot);
            Ok(())
        })
    }

    /// Sends and receives in place.
    pub fn fmpl_sendrecv_replace(
        buf: Target<'_>,
        size: usize,
        dst: c_int,
        mai: c_int,
        src: c_int,
        from_mai: c_int,
        comm: c_int,
    ) -> c_int {
        with_comm(comm, |fmpl, comm| {
            let (from, from_slot) = (src as usize, from_mai as usize);
            let data = buf.bytes(size)?;
            let bytes = comm.messages.sendrecv_replace(data, dst as usize, mai as usize, from, from_slot)?;
            fmpl.received(bytes, from, from_slot);
            Ok(())
        })
    }

    /// Receives from a slot for at most so long.
    pub fn fmpl_recv_for(
        buf: Target<'_>,
        size: usize,
        src: c_int,
        mai: c_int,
        ms: c_int,
        comm: c_int,
    ) -> c_int {
        with_comm(comm, |fmpl, comm| {
            let timeout = Duration::from_millis(count(ms, "the time to wait")? as u64);
            let bytes = comm.messages.recv_for(buf.bytes(size)?, src as usize, mai as usize, timeout)?;
            fmpl.received(bytes, src as usize, mai as usize);
            Ok(())
        })
    }

    /// Waits for a message, and tells its length.
    pub fn fmpl_probe(src: c_int, mai: c_int, comm: c_int, bytes: Out<'_, usize>) -> c_int {
        with_comm(comm, |_, comm| {
            bytes.required("the length to be given")?;
            bytes.give(comm.messages.probe(src as usize, mai as usize)?);
            Ok(())
        })
    }

    /// Looks for one.
    pub fn fmpl_iprobe(src: c_int, mai: c_int, comm: c_int, flag: Out<'_, c_int>, bytes: Out<'_, usize>) -> c_int {
        with_comm(comm, |_, comm| {
            flag.required("the flag to be given")?;
            let found = comm.messages.try_probe(src as usize, mai as usize)?;
            flag.give(found.is_some() as c_int);
            if let Some(found) = found {
                bytes.give(found);
            }
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
