//! Making, splitting and freeing groups.

use super::group::{Group, part_bytes, take_part};
use super::label::{Kind, Label};
use super::near::group::NearGroup;
use super::part::{Member, PART_BYTES, STAGE_BYTES};
use crate::error::{Error, Refusal, Result};
use crate::job::Job;
use crate::ni::{Port, Wait, refuse_in_handler};
use crate::transport::shm::layout::State;
use bytemuck::{Pod, Zeroable};

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
    /// Makes a group of the ranks for which `joins` is true, in the order of their ranks. All ranks of the job call it together; those
    /// that do not join get `None`.
    ///
    /// ```
    /// # hikyaku::local(4, |job| {
    /// // Of the ranks that join; all ranks make the call.
    /// if let Some(odd) = job.group(job.rank() % 2 == 1)? {
    ///     assert_eq!((odd.size(), odd.world_rank(0)), (2, Some(1)));
    ///     odd.barrier()?;
    /// }
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
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
    /// Frees the group: its memory can be used again. All members call it together. A group that is only dropped keeps
    /// its memory until the job ends.
    pub fn free(self) -> Result<()> {
        match self.near().is_some() {
            true => self.free_near(),
            false => self.free_far(),
        }
    }

    fn free_near(mut self) -> Result<()> {
        if let Some(messages) = self.slots.take() {
            self.free_messages(messages)?;
        }
        // Finds out whether all want it.
        self.barrier_of(Kind::Free)?;
        NearGroup(&self).await_leavers()?;
        self.give_part();
        Ok(())
    }

    /// Without shared memory: when all have come, and what this member sent was taken, nobody writes to its part any more.
    fn free_far(mut self) -> Result<()> {
        self.barrier_of(Kind::Free)?;
        if let Some(messages) = self.slots.take() {
            messages.await_taken()?;
        }
        self.port.ni().give_heap(self.start, self.part_bytes);
        Ok(())
    }

    /// Gives back the memory of a group that no member uses any more.
    pub(super) fn give_part(mut self) {
        self.give_extras();
        self.port.ni().give_heap(self.start, self.part_bytes);
    }

    /// Gives back what it has besides its part.
    pub(super) fn give_extras(&mut self) {
        if let Some(messages) = self.slots.take() {
            messages.give_part();
        }
        if let Some(start) = self.stage.take() {
            self.port.ni().give_heap(start, STAGE_BYTES);
        }
    }
}

impl<'j> Group<'j> {
    /// Splits the group: members of the same color form a new group, ordered by key, then by rank in this group. A member whose color is
    /// `None` joins no group and gets `None`. All members call it together.
    ///
    /// ```
    /// # hikyaku::local(4, |job| {
    /// let world = job.world()?;
    /// // One group of the even ranks and one of the odd ones, in reverse order.
    /// let half = world.split(Some(job.rank() as u64 % 2), -(job.rank() as i64))?.expect("it has a color");
    /// assert_eq!((half.size(), half.world_rank(0)), (2, Some(2 + job.rank() % 2)));
    /// # job.barrier() }).unwrap().into_iter().for_each(Result::unwrap);
    /// ```
    #[track_caller]
    pub fn split(&self, color: Option<u64>, key: i64) -> Result<Option<Group<'j>>> {
        self.begin(&"split")?;
        self.check_usable()?;
        let application = Application::new(self.port.get(), color, key, self.size());
        let label = Label::new(Kind::Split, size_of::<Application>());
        let ranks: Vec<usize> = self.members.iter().map(|member| member.rank).collect();
        let mut all = vec![Application::zeroed(); self.size()];
        self.reach().allgather(label, bytemuck::bytes_of(&application), bytemuck::cast_slice_mut(&mut all))?;
        application.form(self.port.get(), &ranks, &all)
    }
}

impl NearGroup<'_, '_> {
    /// Leaves the parts of all others, and waits until they have left that of this member.
    fn await_leavers(self) -> Result<()> {
        for peer in (0..self.size()).filter(|peer| *peer != self.rank()) {
            self.part(peer).leavers.add(1);
            self.notify(peer);
        }
        // From here on only the own part is touched: those of the others may be gone.
        let leavers = &self.part(self.rank()).leavers;
        let left = || (leavers.get() as usize >= self.size() - 1).then_some(());
        let gone = || {
            let state = |rank: usize| self.port.ni().state_of(rank);
            let dead = self.members.iter().find(|member| state(member.rank) == State::Dead);
            dead.map(|member| Error::PeerDead { rank: member.rank })
        };
        let freed = || left().map(Ok).or_else(|| gone().map(|error| left().ok_or(error)));
        self.port.wait_until(Wait::on_rank(self.port.ni().rank), freed)?
    }
}

impl Application {
    /// This rank's: with memory for its part, if it joins, as one of at most `room` members.
    fn new(port: &Port, color: Option<u64>, key: i64, room: usize) -> Application {
        let part = color.map(|_| take_part(port, room));
        let (answer, start) = match part {
            None => (Answer::Stays, 0),
            Some(Ok(start)) => (Answer::Joins, start as u64),
            Some(Err(_)) => (Answer::NoMemory, 0),
        };
        Application { answer: answer as u64, color: color.unwrap_or(0), key, start }
    }

    /// Forms the group that this rank joins, out of what `ranks` have told.
    fn form<'j>(&self, port: &'j Port, ranks: &[usize], all: &[Application]) -> Result<Option<Group<'j>>> {
        if self.answer == Answer::Stays as u64 {
            return Ok(None);
        }
        // Of itself it believes nothing that it reads where others may write.
        let mut all = all.to_vec();
        all.iter_mut().zip(ranks).filter(|(_, rank)| **rank == port.rank()).for_each(|(own, _)| *own = *self);
        let applies = |theirs: &Application| theirs.answer != Answer::Stays as u64 && theirs.color == self.color;
        let mut chosen: Vec<usize> = (0..all.len()).filter(|index| applies(&all[*index])).collect();
        chosen.sort_by_key(|index| (all[*index].key, *index));
        // All that apply see the same, so all give up or none.
        let part_bytes = part_bytes(port, all.len())?;
        if let Some(index) = chosen.iter().find(|index| all[**index].answer != Answer::Joins as u64) {
            if self.answer == Answer::Joins as u64 {
                port.ni().give_heap(self.start as usize, part_bytes);
            }
            return Err(Error::Refused { rank: ranks[*index], reason: Refusal::OutOfMemory });
        }
        let members: Vec<Member> = chosen
            .iter()
            .map(|index| Member::find(port.ni(), ranks[*index], all[*index].start, part_bytes))
            .collect::<Result<_>>()?;
        Group::over(port, members, self.start as usize, all.len()).map(Some)
    }
}
