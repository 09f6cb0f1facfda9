//! Groups: some ranks with slots of their own, numbered from 0.

use super::entry::{count, with_comm, with_fmpl};
use super::error::{Outcome, Trouble};
use super::job::{Fmpl, WORLD, refuse_in_fork};
use super::pending::AnyReceive;
use super::table::who_is_full;
use crate::entry::{give, required};
use core_hikyaku::Group;
use core_hikyaku::collective::Scope;
use core_hikyaku::message::{Messages, Mode};
use std::cell::RefCell;
use std::ffi::c_int;
use std::rc::Rc;

/// `FMPL_COMM_NULL`: no group.
pub const NO_COMM: c_int = -1;
/// `FMPL_COLOR_NONE`: joins no group.
const NO_COLOR: c_int = -1;

/// One group.
pub struct Comm {
    /// Non-blocking calls. They refer to the group, which is dropped after them.
    pub calls: Scope<'static, 'static>,
    /// Stays where it is when this moves.
    pub group: Rc<Group<'static>>,
    pub messages: Messages<'static>,
    /// Receives under way that are for any slot: one per source at most.
    pub any: RefCell<Vec<AnyReceive>>,
    /// Sources whose receives of any slot belong to a prepared one.
    pub any_kept: RefCell<Vec<c_int>>,
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
    /// Makes the slots of a group, together with the other members, of which each has room for it or none gets it.
    pub fn new(group: Group<'static>, slots: usize, is_full: bool) -> Outcome<Comm> {
        if let Some(member) = who_is_full(&group, is_full)? {
            let rank = group.world_rank(member).unwrap_or(member);
            group.free()?;
            return Err(Trouble::NoRoom(rank));
        }
        match group.messages(slots) {
            Ok(messages) => {
                let group = Rc::new(group);
                // SAFETY: `calls` goes before `group`, so the group outlives whatever refers to it.
                let lasting: &'static Group<'static> = unsafe { &*Rc::as_ptr(&group) };
                // SAFETY: the group is not moved; it and the scope stay until all calls were waited for (`is_idle`), as the
                // program has promised of the buffers.
                let calls = unsafe { core_hikyaku::ffi::open_scope(lasting) };
                Ok(Comm { calls, group, messages, any: RefCell::default(), any_kept: RefCell::default() })
            }
            Err(error) => {
                // All members have the same trouble; the first error tells more.
                let _ = group.free();
                Err(error.into())
            }
        }
    }

    /// Gives the slots and the group back, together with the other members.
    pub fn free(self) -> Outcome<()> {
        let Comm { calls, group, messages, .. } = self;
        drop(calls);
        group.free_messages(messages)?;
        Ok(Rc::into_inner(group).expect("nobody else has it").free()?)
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.messages.is_idle() && self.any.borrow().is_empty() && self.calls.is_idle()
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
        let made = fmpl.job.group(key != 0)?;
        // SAFETY: not null, and the caller's to write; no group of the table is held here.
        unsafe { give(comm, fmpl.enter(made)?) };
        Ok(())
    })
}

/// Makes groups of the members that give the same color. All members call it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fmpl_comm_split(comm: c_int, color: c_int, key: c_int, part: *mut c_int) -> c_int {
    with_fmpl(|fmpl| {
        required(part, "the group to be given")?;
        // SAFETY: not null, and the caller's to write.
        unsafe { give(part, NO_COMM) };
        let color = match color {
            NO_COLOR => None,
            color => Some(count(color, "the color")? as u64),
        };
        let made = fmpl.comm(comm)?.group.split(color, key.into())?;
        // SAFETY: not null, and the caller's to write; no group of the table is held here.
        unsafe { give(part, fmpl.enter(made)?) };
        Ok(())
    })
}

impl Fmpl {
    /// Makes the slots of a group that this rank joins, if it does; gives the group's number.
    ///
    /// # Safety
    /// The caller holds no group of the table.
    unsafe fn enter(&self, group: Option<Group<'static>>) -> Outcome<c_int> {
        let Some(group) = group else { return Ok(NO_COMM) };
        let made = Comm::new(group, self.slots, self.comms().is_full())?;
        made.set_sending(self.sending.get())?;
        // SAFETY: the caller's promise.
        Ok(unsafe { self.change_comms(|comms| comms.add(made)) }.expect("there is room"))
    }
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
        fmpl.orphan_transfers(number);
        // SAFETY: not null, and the caller's to write.
        unsafe { give(comm, NO_COMM) };
        freed.free()
    })
}
