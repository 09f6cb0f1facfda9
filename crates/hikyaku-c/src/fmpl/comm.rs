//! Groups: some ranks with slots of their own, numbered from 0.

use super::entry::{with_comm, with_fmpl};
use super::error::{Outcome, Trouble};
use super::job::{WORLD, refuse_in_fork};
use super::pending::AnyReceive;
use crate::entry::{give, required};
use core_hikyaku::Group;
use core_hikyaku::message::{Messages, Mode};
use std::cell::RefCell;
use std::ffi::c_int;

/// `FMPL_COMM_NULL`: no group.
pub const NO_COMM: c_int = -1;

/// One group.
pub struct Comm {
    pub group: Group<'static>,
    pub messages: Messages<'static>,
    /// Receives under way that are for any slot: one per source at most.
    pub any: RefCell<Vec<AnyReceive>>,
}

/// How sends wait, the same for all groups.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    pub mode: Mode,
    /// Bytes of the spare buffer of each group.
    pub spare: usize,
}

impl Default for Sending {
    fn default() -> Sending {
        Sending { mode: Mode::Standard, spare: 0 }
    }
}

impl Comm {
    /// Makes the slots of a group.
    pub fn new(group: Group<'static>, slots: usize) -> Outcome<Comm> {
        match group.messages(slots) {
            Ok(messages) => Ok(Comm { group, messages, any: RefCell::default() }),
            Err(error) => {
                // All members have the same trouble; the first error tells more.
                let _ = group.free();
                Err(error.into())
            }
        }
    }

    /// Gives the slots and the group back, together with the other members.
    pub fn free(self) -> Outcome<()> {
        let Comm { group, messages, .. } = self;
        group.free_messages(messages)?;
        Ok(group.free()?)
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.messages.is_idle() && self.any.borrow().is_empty()
    }

    pub fn set_sending(&self, sending: Sending) -> Outcome<()> {
        self.messages.set_spare(sending.spare)?;
        self.messages.set_mode(sending.mode);
        Ok(())
    }
}

/// This rank's number in a group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_comm_rank(comm: c_int, rank: *mut c_int) -> c_int {
    with_comm(comm, |_, comm| {
        required(rank, "the rank to be given")?;
        // SAFETY: not null, and the caller's to write.
        unsafe { give(rank, comm.group.rank() as c_int) };
        Ok(())
    })
}

/// The number of members of a group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_comm_size(comm: c_int, size: *mut c_int) -> c_int {
    with_comm(comm, |_, comm| {
        required(size, "the size to be given")?;
        // SAFETY: not null, and the caller's to write.
        unsafe { give(size, comm.group.size() as c_int) };
        Ok(())
    })
}

/// Makes a group of those ranks whose key is not 0. All ranks call it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_comm_create(comm: *mut c_int, key: c_int) -> c_int {
    with_fmpl(|fmpl| {
        required(comm, "the group to be given")?;
        // SAFETY: not null, and the caller's to write.
        unsafe { give(comm, NO_COMM) };
        let Some(group) = fmpl.job.group(key != 0)? else { return Ok(()) };
        let made = Comm::new(group, fmpl.slots)?;
        made.set_sending(fmpl.sending.get())?;
        // SAFETY: no group of the table is held here.
        let number = unsafe { fmpl.change_comms(|comms| comms.add(made)) }.ok_or(Trouble::Full("groups"))?;
        // SAFETY: not null, and the caller's to write.
        unsafe { give(comm, number) };
        Ok(())
    })
}

/// Frees a group. All its members call it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_comm_free(comm: *mut c_int) -> c_int {
    with_fmpl(|fmpl| {
        required(comm, "the group")?;
        // SAFETY: not null, and the caller's to read.
        let number = unsafe { comm.read() };
        if number == WORLD {
            return Err(Trouble::World);
        }
        refuse_in_fork()?;
        if !fmpl.comm(number)?.is_idle() {
            return Err(Trouble::UnderWay("fmpl_comm_free"));
        }
        // SAFETY: no group of the table is held here.
        let freed = unsafe { fmpl.change_comms(|comms| comms.remove(number)) }.ok_or(Trouble::Comm(number))?;
        // SAFETY: not null, and the caller's to write.
        unsafe { give(comm, NO_COMM) };
        freed.free()
    })
}
