//! Which ranks belong together, and where their parts are.

use super::choice::Row;
use super::far::state::{self, Far};
use super::part::{Member, PART_BYTES};
use super::queue::Queue;
use super::room::Scratch;
use super::slots::{SLOTS, Slots};
use super::words::Floor;
use crate::error::{Error, Result};
use crate::job::choice::{Call, Version};
use crate::job::keep::Anchor;
use crate::message::Messages;
use crate::ni::Port;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::Ordering;

/// Some ranks of a job that make collective calls. Members are numbered from 0.
///
/// All members must make the same calls on a group in the same order, with matching arguments. Otherwise calls fail with
/// [`Error::Mismatch`], and the group cannot be used any more. Errors name ranks of the job, not of the group.
///
/// ```
/// use hikyaku::collective::Sum;
///
/// hikyaku::local(4, |job| {
///     let world = job.world()?;
///     let mut total = [world.rank() as u64];
///     world.allreduce(&mut total, Sum)?;
///     assert_eq!(total, [6]);
///
///     // The odd ranks, and the even ones, the highest first.
///     let half = world.split(Some(world.rank() as u64 % 2), -(world.rank() as i64))?.unwrap();
///     assert_eq!(half.size(), 2);
///     assert_eq!(half.world_rank(0), Some(2 + job.rank() % 2));
///     half.free()?;
///
///     // Some of the ranks of the job.
///     if let Some(group) = job.group(job.rank() > 0)? {
///         assert_eq!(group.rank(), job.rank() - 1);
///         group.barrier()?;
///     }
///     hikyaku::Result::Ok(())
/// })
/// .unwrap();
/// ```
pub struct Group<'j> {
    pub(super) port: Anchor<'j>,
    pub(super) members: Vec<Member<'j>>,
    rank: usize,
    /// Members share cores, so that each round through the scheduler counts.
    pub(super) crowded: bool,
    /// Offset of the own part in the own heap, and its size.
    pub(super) start: usize,
    pub(super) part_bytes: usize,
    /// Whether there is memory behind the buffers of the own part.
    pub(super) has_buffers: Cell<bool>,
    /// Of a group over several hosts.
    pub(super) far: Option<Far>,
    /// Calls entered.
    pub(super) number: Cell<u64>,
    /// The last of them in which this member wrote to a buffer of its part.
    pub(super) contributed: Cell<u64>,
    /// A checksum of them.
    pub(super) history: Cell<u16>,
    /// Every member has finished this call.
    pub(super) floor: Floor,
    /// The counter of arrivals when all have arrived at the calls of this member that use it.
    pub(super) arrivals: Cell<u64>,
    /// Whether every member reaches the private memory of every other, if that was found out.
    pub(super) reached: Cell<Option<bool>>,
    /// The own larger buffers, once they were needed; see `stage`.
    pub(super) stage: Cell<Option<usize>>,
    /// The last call that used each of them.
    pub(super) staged: Cell<[u64; 2]>,
    /// Where contributions are combined from.
    pub(super) scratch: Cell<Option<Box<[Scratch; 2]>>>,
    /// Which version of a call is used.
    pub(super) choice: Row,
    /// Messages between the members, for trees.
    pub(super) slots: Slots<'j>,
    /// Non-blocking calls under way.
    pub(super) queue: Rc<Queue>,
    /// Why the group is of no use any more.
    pub(super) broken: RefCell<Option<Error>>,
    /// By which version the last call was done.
    #[cfg(test)]
    pub(super) noted: Cell<Option<Version>>,
}

impl std::fmt::Debug for Group<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Group").field("rank", &self.rank).field("size", &self.size()).finish_non_exhaustive()
    }
}

impl<'j> Group<'j> {
    /// This rank's number in the group.
    #[inline(always)]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Number of members.
    #[inline(always)]
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// The rank in the job of a member; `None` if there is no such member.
    ///
    /// ```
    /// # hikyaku::local(4, |job| {
    /// let last = job.group(job.rank() > 0)?;
    /// if let Some(last) = last {
    ///     assert_eq!(last.world_rank(0), Some(1)); // the first member is rank 1 of the job
    ///     assert_eq!(last.world_rank(3), None);    // there are three
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    pub fn world_rank(&self, member: usize) -> Option<usize> {
        self.members.get(member).map(|member| member.rank)
    }

    /// The version that a call of `bytes` bytes of private memory uses.
    #[doc(hidden)]
    pub fn version(&self, call: Call, bytes: usize) -> Version {
        if let Some(far) = &self.far {
            let default = || call.default_far_version(far.host_count(), bytes);
            return self.choice.chosen_far(call, bytes).unwrap_or_else(default);
        }
        let default = || call.default_version(self.size(), bytes, self.crowded);
        self.choice.chosen(call, bytes).unwrap_or_else(default)
    }

    /// Notes, for tests alone, by which version a call is done.
    #[inline(always)]
    pub(super) fn note(&self, _version: Version) {
        #[cfg(test)]
        self.noted.set(Some(_version));
    }
}

impl<'j> Group<'j> {
    /// A group of `members`, to which this rank belongs with the part at `start` of its heap, which was taken for a group
    /// of at most `room` members.
    pub(super) fn over(port: &'j Port, members: Vec<Member<'j>>, start: usize, room: usize) -> Result<Group<'j>> {
        let rank = members.iter().position(|member| member.rank == port.rank()).expect("this rank joins");
        let crowded = port.is_crowded() && !port.ni().assumes_own_cores.load(Ordering::Relaxed);
        let slots = Slots::default();
        let far = match members.iter().any(|member| member.is_far()) {
            false => None,
            true => {
                let parts: Vec<_> = members.iter().map(|member| (member.rank, member.start)).collect();
                slots.set(Some(Messages::over(port, SLOTS, &parts, rank)));
                Some(Far::new(port, &members, rank, room)?)
            }
        };
        Ok(Group {
            port: Anchor::new(port),
            rank,
            crowded,
            start,
            part_bytes: part_bytes(port, room)?,
            has_buffers: Cell::new(true),
            far,
            number: Cell::new(0),
            contributed: Cell::new(0),
            history: Cell::new(0),
            floor: Floor::default(),
            arrivals: Cell::new(0),
            reached: Cell::new(None),
            stage: Cell::new(None),
            staged: Cell::default(),
            scratch: Cell::new(None),
            choice: Row::of(port, members.len(), crowded),
            slots,
            queue: Rc::default(),
            broken: RefCell::new(None),
            #[cfg(test)]
            noted: Cell::new(None),
            members,
        })
    }
}

/// Takes memory for a part of a group of at most `room` members.
pub(super) fn take_part(port: &Port, room: usize) -> Result<usize> {
    let bytes = part_bytes(port, room)?;
    let start = port.ni().take_sparse(bytes)?;
    // What members of one host use of it must be there; which they are is not known yet.
    port.ni().commit_heap(start, PART_BYTES).inspect_err(|_| port.ni().give_heap(start, bytes))?;
    Ok(start)
}

/// Bytes of a part of a group of at most `room` members, which may all be near, or not.
pub(super) fn part_bytes(port: &Port, room: usize) -> Result<usize> {
    if port.ni().spans_hosts() { Ok(state::part_bytes(port, room)?.max(PART_BYTES)) } else { Ok(PART_BYTES) }
}
