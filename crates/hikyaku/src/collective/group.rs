//! Which ranks belong together, and where their parts are.

use super::choice::Row;
use super::far::{self, Far};
use super::label::{Kind, Label};
use super::part::{Member, PART_BYTES};
use super::queue::Queue;
use super::reduce::Scratch;
use super::tree::{SLOTS, Slots};
use super::words::Floor;
use crate::error::{Error, Refusal, Result};
use crate::job::Job;
use crate::message::Messages;
use crate::ni::message::refuse_in_handler;
use crate::ni::wait::{By, Progress};
use crate::sync::bell::ANY;
use crate::transport::shm::layout::State;
use bytemuck::{Pod, Zeroable};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Some ranks of a job, numbered from 0, that do things together.
///
/// All members make the same calls on a group in the same order, with arguments that fit together; otherwise they get
/// [`Error::Mismatch`], and the group is of no use any more. Errors name ranks of the job.
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
    pub(super) job: &'j Job,
    pub(super) members: Vec<Member<'j>>,
    rank: usize,
    /// Members share cores, so that each round through the scheduler counts.
    pub(super) crowded: bool,
    /// Offset of the own part in the own heap, and its size.
    start: usize,
    part_bytes: usize,
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
    pub(super) noted: Cell<Option<super::Version>>,
}

impl std::fmt::Debug for Group<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Group").field("rank", &self.rank).field("size", &self.size()).finish_non_exhaustive()
    }
}

/// What a rank tells the others about itself when a group is made.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Application {
    /// An [`Answer`].
    answer: u64,
    color: u64,
    key: i64,
    /// Offset of its part in its heap.
    start: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
enum Answer {
    Stays = 1,
    Joins = 2,
    NoMemory = 3,
}

impl Job {
    /// The group of all ranks. All ranks call it together.
    pub fn world(&self) -> Result<Group<'_>> {
        let group = self.group(true)?;
        Ok(group.expect("this rank joins"))
    }

    /// A group of those ranks that say so, in the order of their ranks. All ranks of the job call it together; those
    /// that do not join get `None`.
    pub fn group(&self, joins: bool) -> Result<Option<Group<'_>>> {
        // Before memory is taken that others may get to know of.
        refuse_in_handler()?;
        self.ni.check_rank(self.rank())?;
        let application = Application::new(self, joins.then_some(0), self.rank() as i64, self.size());
        let ranks: Vec<usize> = (0..self.size()).collect();
        if self.ni.spans_hosts() {
            return application.form(self, &ranks, &self.share(application)?);
        }
        let table = self.symmetric_for_group::<Application>(1).inspect_err(|_| {
            // Nobody knows of the part.
            if application.answer == Answer::Joins as u64 {
                self.ni.give_heap(application.start as usize, PART_BYTES);
            }
        })?;
        table.set(0, application);
        let gathered = self.barrier().and_then(|()| {
            let mut all = vec![Application::zeroed(); self.size()];
            for (rank, theirs) in all.iter_mut().enumerate() {
                self.pull(table.at(rank, 0), std::slice::from_mut(theirs))?;
            }
            // Nobody reads the table any more when it is freed: that is a barrier of its own.
            self.free(table)?;
            Ok(all)
        });
        // On an error the part stays taken: others may know of it.
        let all = gathered?;
        application.form(self, &ranks, &all)
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
    pub fn world_rank(&self, member: usize) -> Option<usize> {
        self.members.get(member).map(|member| member.rank)
    }

    /// Frees the group: its memory can be used again. All members call it together. A group that is only dropped keeps
    /// its memory until the job ends.
    pub fn free(mut self) -> Result<()> {
        if self.is_far() {
            return self.free_far();
        }
        if let Some(messages) = self.slots.take() {
            self.free_messages(messages)?;
        }
        // Finds out whether all want it.
        self.barrier_of(Kind::Free)?;
        for peer in (0..self.size()).filter(|peer| *peer != self.rank) {
            self.part(peer).leavers.add(1);
            self.notify(peer);
        }
        // From here on only the own part is touched: those of the others may be gone.
        let leavers = &self.part(self.rank).leavers;
        let left = || (leavers.get() as usize >= self.size() - 1).then_some(());
        let gone = || {
            let state = |rank: usize| self.job.ni.state_of(rank);
            let dead = self.members.iter().find(|member| state(member.rank) == State::Dead);
            dead.map(|member| Error::PeerDead { rank: member.rank })
        };
        let freed = || left().map(Ok).or_else(|| gone().map(|error| left().ok_or(error)));
        let myself = By::Rank(self.job.ni.rank);
        self.job.wait_until(myself, None, ANY, Progress::Seldom, freed)??;
        self.give_part();
        Ok(())
    }

    /// Without shared memory: when all have come, and what this member sent was taken, nobody writes to its part any more.
    fn free_far(mut self) -> Result<()> {
        self.barrier_of(Kind::Free)?;
        if let Some(messages) = self.slots.take() {
            messages.await_taken()?;
        }
        self.job.ni.give_heap(self.start, self.part_bytes);
        Ok(())
    }
}

impl<'j> Group<'j> {
    /// Splits the group: members of the same color form a new group, ordered by key, then by rank in this group.
    /// `None` joins none. All members call it together.
    pub fn split(&self, color: Option<u64>, key: i64) -> Result<Option<Group<'j>>> {
        self.settle()?;
        self.check_usable()?;
        let application = Application::new(self.job, color, key, self.size());
        let label = Label::new(Kind::Split, size_of::<Application>());
        let ranks: Vec<usize> = self.members.iter().map(|member| member.rank).collect();
        if self.is_far() {
            let mut all = vec![Application::zeroed(); self.size()];
            self.far_allgather(label, bytemuck::bytes_of(&application), bytemuck::cast_slice_mut(&mut all))?;
            return application.form(self.job, &ranks, &all);
        }
        let round = self.enter(label)?;
        self.contribute(&round, bytemuck::bytes_of(&application));
        self.notify_all();
        self.await_members(&round, self.size())?;
        let all: Vec<Application> = (0..self.size()).map(|member| self.value_of(&round, member)).collect();
        self.saw_everyone(&round);
        self.finish(&round);
        application.form(self.job, &ranks, &all)
    }
}

impl Application {
    /// This rank's: with memory for its part, if it joins, as one of at most `room` members.
    fn new(job: &Job, color: Option<u64>, key: i64, room: usize) -> Application {
        let part = color.map(|_| take_part(job, room));
        let (answer, start) = match part {
            None => (Answer::Stays, 0),
            Some(Ok(start)) => (Answer::Joins, start as u64),
            Some(Err(_)) => (Answer::NoMemory, 0),
        };
        Application { answer: answer as u64, color: color.unwrap_or(0), key, start }
    }

    /// Forms the group that this rank joins, out of what `ranks` have told.
    fn form<'j>(&self, job: &'j Job, ranks: &[usize], all: &[Application]) -> Result<Option<Group<'j>>> {
        if self.answer == Answer::Stays as u64 {
            return Ok(None);
        }
        // Of itself it believes nothing that it reads where others may write.
        let mut all = all.to_vec();
        all.iter_mut().zip(ranks).filter(|(_, rank)| **rank == job.rank()).for_each(|(own, _)| *own = *self);
        let applies = |theirs: &Application| theirs.answer != Answer::Stays as u64 && theirs.color == self.color;
        let mut chosen: Vec<usize> = (0..all.len()).filter(|index| applies(&all[*index])).collect();
        chosen.sort_by_key(|index| (all[*index].key, *index));
        // All that apply see the same, so all give up or none.
        let part_bytes = part_bytes(job, all.len())?;
        if let Some(index) = chosen.iter().find(|index| all[**index].answer != Answer::Joins as u64) {
            if self.answer == Answer::Joins as u64 {
                job.ni.give_heap(self.start as usize, part_bytes);
            }
            return Err(Error::Refused { rank: ranks[*index], reason: Refusal::OutOfMemory });
        }
        let members: Vec<Member<'j>> = chosen
            .iter()
            .map(|index| Member::find(&job.ni, ranks[*index], all[*index].start, part_bytes))
            .collect::<Result<_>>()?;
        Group::over(job, members, self.start as usize, all.len()).map(Some)
    }
}

impl<'j> Group<'j> {
    /// A group of `members`, to which this rank belongs with the part at `start` of its heap, which was taken for a group
    /// of at most `room` members.
    pub(super) fn over(job: &'j Job, members: Vec<Member<'j>>, start: usize, room: usize) -> Result<Group<'j>> {
        let rank = members.iter().position(|member| member.rank == job.rank()).expect("this rank joins");
        let crowded = job.is_crowded() && !job.assumes_own_cores.get();
        let slots = Slots::default();
        let far = match members.iter().any(|member| member.is_far()) {
            false => None,
            true => {
                let parts: Vec<_> = members.iter().map(|member| (member.rank, member.start)).collect();
                slots.set(Some(Messages::over(job, SLOTS, &parts, rank)));
                Some(Far::new(job, &members, rank, room)?)
            }
        };
        Ok(Group {
            job,
            rank,
            crowded,
            start,
            part_bytes: part_bytes(job, room)?,
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
            choice: Row::of(job, members.len(), crowded),
            slots,
            queue: Rc::default(),
            broken: RefCell::new(None),
            #[cfg(test)]
            noted: Cell::new(None),
            members,
        })
    }

    /// Gives back the memory of a group that no member uses any more.
    pub(super) fn give_part(mut self) {
        if let Some(messages) = self.slots.take() {
            messages.give_part();
        }
        self.job.ni.give_heap(self.start, self.part_bytes);
        self.give_stage();
    }
}

/// Takes memory for a part of a group of at most `room` members.
pub(super) fn take_part(job: &Job, room: usize) -> Result<usize> {
    let bytes = part_bytes(job, room)?;
    let start = job.ni.take_sparse(bytes)?;
    // What members of one host use of it must be there; which they are is not known yet.
    job.ni.commit_heap(start, PART_BYTES).inspect_err(|_| job.ni.give_heap(start, bytes))?;
    Ok(start)
}

/// Bytes of a part of a group of at most `room` members, which may all be near, or not.
pub(super) fn part_bytes(job: &Job, room: usize) -> Result<usize> {
    if job.ni.spans_hosts() { Ok(far::part_bytes(job, room)?.max(PART_BYTES)) } else { Ok(PART_BYTES) }
}
