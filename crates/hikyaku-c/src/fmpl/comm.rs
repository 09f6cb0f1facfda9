//! Groups: some ranks with slots of their own, numbered from 0.

use super::entry::{count, with_comm, with_fmpl_alone};
use super::error::{Outcome, Trouble};
use super::job::{Fmpl, WORLD, refuse_in_fork};
use super::pending::AnyReceive;
use super::table::who_is_full;
use super::under_way::{Members, Slots};
use crate::given::{InOut, Out, exported};
use core_hikyaku::Group;
use core_hikyaku::collective::Scope;
use core_hikyaku::message::Mode;
use std::cell::RefCell;
use std::ffi::c_int;

/// `FMPL_COMM_NULL`: no group.
pub const NO_COMM: c_int = -1;
/// `FMPL_COLOR_NONE`: joins no group.
const NO_COLOR: c_int = -1;

/// One group.
pub struct Comm {
    members: Members,
    pub messages: Slots,
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
            Ok(messages) => Ok(Comm {
                members: Members::new(group),
                messages: Slots::new(messages),
                any: RefCell::default(),
                any_kept: RefCell::default(),
            }),
            Err(error) => {
                // All members have the same trouble; the first error tells more.
                let _ = group.free();
                Err(error.into())
            }
        }
    }

    /// Gives the slots and the group back, together with the other members.
    pub fn free(self) -> Outcome<()> {
        let Comm { members, messages, .. } = self;
        let group = members.into_group();
        group.free_messages(messages.into_inner())?;
        Ok(group.free()?)
    }

    #[inline(always)]
    pub fn group(&self) -> &Group<'static> {
        self.members.group()
    }

    /// Where collective calls are started that do not block.
    #[inline(always)]
    pub fn calls(&self) -> &Scope<'static, 'static> {
        self.members.calls()
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.messages.is_idle() && self.any.borrow().is_empty() && self.calls().is_idle()
    }

    pub fn set_sending(&self, sending: Sending) -> Outcome<()> {
        self.messages.set_spare(sending.spare)?;
        self.messages.set_mode(sending.mode);
        Ok(())
    }
}

exported! {
    /// This rank's number in a group.
    pub fn fmpl_comm_rank(comm: c_int, rank: Out<'_, c_int>) -> c_int {
        with_comm(comm, |_, comm| {
            rank.required("the rank to be given")?;
            rank.give(comm.group().rank() as c_int);
            Ok(())
        })
    }

    /// The number of members of a group.
    pub fn fmpl_comm_size(comm: c_int, size: Out<'_, c_int>) -> c_int {
        with_comm(comm, |_, comm| {
            size.required("the size to be given")?;
            size.give(comm.group().size() as c_int);
            Ok(())
        })
    }

    /// Makes a group of those ranks whose key is not 0. All ranks call it.
    pub fn fmpl_comm_create(comm: Out<'_, c_int>, key: c_int) -> c_int {
        with_fmpl_alone(|fmpl| {
            comm.required("the group to be given")?;
            comm.give(NO_COMM);
            let made = fmpl.origin.group(key != 0)?;
            comm.give(fmpl.enter(made)?);
            Ok(())
        })
    }

    /// Makes groups of the members that give the same color. All members call it.
    pub fn fmpl_comm_split(comm: c_int, color: c_int, key: c_int, part: Out<'_, c_int>) -> c_int {
        with_fmpl_alone(|fmpl| {
            part.required("the group to be given")?;
            part.give(NO_COMM);
            let color = match color {
                NO_COLOR => None,
                color => Some(count(color, "the color")? as u64),
            };
            let made = fmpl.comm(comm)?.group().split(color, key.into())?;
            part.give(fmpl.enter(made)?);
            Ok(())
        })
    }
}

impl Fmpl {
    /// Makes the slots of a group that this rank joins, if it does; gives the group's number.
    fn enter(&mut self, group: Option<Group<'static>>) -> Outcome<c_int> {
        let Some(group) = group else { return Ok(NO_COMM) };
        let made = Comm::new(group, self.slots, self.comms.is_full())?;
        made.set_sending(self.sending.get())?;
        Ok(self.comms.add(made).expect("there is room"))
    }
}

exported! {
    /// Frees a group. All its members call it.
    pub fn fmpl_comm_free(comm: InOut<'_, c_int>) -> c_int {
        with_fmpl_alone(|fmpl| {
            let number = comm.read("the group")?;
            if number == WORLD {
                return Err(Trouble::World);
            }
            refuse_in_fork()?;
            if !fmpl.comm(number)?.is_idle() {
                return Err(Trouble::UnderWay("fmpl_comm_free"));
            }
            let freed = fmpl.comms.remove(number).ok_or(Trouble::Comm(number))?;
            fmpl.orphan_transfers(number);
            comm.give(NO_COMM);
            freed.free()
        })
    }
}
