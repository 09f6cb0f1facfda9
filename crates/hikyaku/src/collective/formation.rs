//! Groups of some ranks, made and given up without the others.
//!
//! [`Group::split`] is a call of all members of a group. Here only those take part who shall be members: each tells every
//! other, by messages that exist already, where its parts are. One exchange makes a group of all of them, groups of some
//! of them, and slots between all of them.
//!
//! Giving them up waits for nobody either: a member that has told all others that it will not touch their parts any more
//! is done, and its own parts are free once all others have told it the same ([`Retired`]). Messages to members that have
//! given up too are received by nobody, so they are given up as well. Whoever ends without a word touches nothing any more.

use super::group::{Group, part_bytes};
use super::part::Member;
use crate::error::{Error, Refusal, Result};
use crate::job::Job;
use crate::message::{EAGER_MAX, Messages};
use crate::ni::{Port, refuse_in_handler};
use bytemuck::{Pod, Zeroable};
use memory::{Memory, Plan, Spares};
use std::rc::Rc;

mod memory;

/// Groups that are formed together at most, besides the one of all members.
pub const TEAMS_MAX: usize = 4;

/// Slots between all ranks by which some of them form groups. Programs send nothing there: what a member tells leads the others
/// to its memory.
#[derive(Debug)]
pub struct FormationChannel<'j> {
    messages: Messages<'j>,
    spares: Rc<Spares>,
}

impl<'j> FormationChannel<'j> {
    /// A channel with so many slots: in each, a pair of ranks takes part in one formation at a time. All ranks call it together.
    pub fn new(job: &'j Job, slots: usize) -> Result<FormationChannel<'j>> {
        job.channel(slots).map(FormationChannel::over)
    }

    /// A channel in slots that nothing else uses.
    pub(super) fn over(messages: Messages<'j>) -> FormationChannel<'j> {
        FormationChannel { spares: Spares::new(messages.port().ni()), messages }
    }

    /// The port that it uses.
    pub fn port(&self) -> &'j Port {
        self.messages.port()
    }
}

/// What was formed. Its parts belong together until all members have given them up, so none can be taken out.
///
/// ```compile_fail,E0451
/// # hikyaku::local(2, |job| {
/// # let messages = job.messages(1)?;
/// hikyaku::collective::Formation { all: job.world()?, teams: vec![], messages }.retire().try_free()
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct Formation<'j> {
    all: Group<'j>,
    teams: Vec<Option<Group<'j>>>,
    messages: Messages<'j>,
    memory: Memory,
}

/// A formation that this rank uses no more.
#[derive(Debug)]
pub struct Retired<'j> {
    formation: Option<Formation<'j>>,
    /// The others know.
    told: bool,
}

/// What a member tells the others. A short message.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Parts {
    /// A checksum of what is formed, so that members who mean different things find out.
    plan: u64,
    /// What the program says about it.
    note: u64,
    /// Where its memory begins; 0 if it has none.
    start: u64,
    /// Of each team, a checksum of its list: members of a team that number themselves differently would be in each other's way.
    lists: [u64; TEAMS_MAX],
}

impl<'j> Formation<'j> {
    /// The operation of an [`Error::Mismatch`] about what members note.
    pub const NOTE: &'static str = "note of a formation";

    /// Forms groups of `members`, given by their ranks in the job, who all call this with the same list, and nobody else. They
    /// talk in `slot` of `channel`.
    ///
    /// Besides the group of all of them, in the order of the list, there may be up to four teams, each a list of indices
    /// into `members` with this rank among them: those on a list of one member have the same list at the same place.
    ///
    /// ```
    /// use hikyaku::collective::{FormationChannel, Formation, Sum};
    ///
    /// hikyaku::local(5, |job| {
    ///     let channel = FormationChannel::new(job, 1)?;
    ///     if job.rank() == 2 {
    ///         return Ok(());
    ///     }
    ///     // Rows and columns of 2 x 2 ranks.
    ///     let members = [4, 3, 1, 0];
    ///     let me = members.iter().position(|rank| *rank == job.rank()).unwrap();
    ///     let row = [me / 2 * 2, me / 2 * 2 + 1];
    ///     let column = [me % 2, me % 2 + 2];
    ///     let formed = Formation::new(&channel, 0, &members, &[&row, &column], 1)?;
    ///     let mut sum = [me as u64];
    ///     formed.team(0).unwrap().allreduce(&mut sum, Sum)?;
    ///     assert_eq!(sum[0] as usize, row[0] + row[1]);
    ///     let mut retired = formed.retire();
    ///     while !retired.try_free()? {}
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    pub fn new(
        channel: &FormationChannel<'j>,
        slot: usize,
        members: &[usize],
        teams: &[&[usize]],
        slots: usize,
    ) -> Result<Formation<'j>> {
        Formation::noted(channel, slot, members, teams, slots, 0)
    }

    /// Likewise with a number that shall be the same at all members: where it is not, [`Error::Mismatch`] of the operation
    /// [`Formation::NOTE`] has that of this rank and that of the other.
    ///
    /// ```
    /// use hikyaku::Error;
    /// use hikyaku::collective::{Formation, FormationChannel};
    ///
    /// hikyaku::local(2, |job| {
    ///     let channel = FormationChannel::new(job, 1)?;
    ///     let note = 70 + job.rank() as u64;
    ///     match Formation::noted(&channel, 0, &[0, 1], &[], 1, note) {
    ///         Err(Error::Mismatch { operation: Formation::NOTE, mine, theirs, .. }) => assert_eq!((mine, theirs), (note, 141 - note)),
    ///         other => panic!("{other:?}"),
    ///     }
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    pub fn noted(
        FormationChannel { messages: channel, spares }: &FormationChannel<'j>,
        slot: usize,
        members: &[usize],
        teams: &[&[usize]],
        slots: usize,
        note: u64,
    ) -> Result<Formation<'j>> {
        let port = channel.port();
        let ranks = members.iter().map(|member| channel.rank_of(*member)).collect::<Result<Vec<usize>>>()?;
        let me = check_plan(port, &ranks, teams)?;
        let plan = Plan::new(port, members.len(), teams.len(), slots)?;
        // Before memory is taken.
        refuse_in_handler()?;
        channel.check_slot(slot)?;
        let memory = Memory::take(spares, plan).ok();
        let own = Parts { note, ..Parts::new(members, teams, slots, memory.as_ref()) };
        // On an error the memory stays taken: others may know of it.
        let mut all = own.exchange(channel, slot, members)?;
        // Of itself it believes nothing that it reads where others may write.
        all[me] = own;
        // All see the same, so all give up or none.
        match (memory, all.iter().position(|parts| parts.start == 0)) {
            (Some(memory), None) => form(port, &ranks, me, teams, slots, &all, memory),
            (memory, lacking) => {
                memory.into_iter().for_each(Memory::give);
                let rank = ranks[lacking.unwrap_or(me)];
                Err(Error::Refused { rank, reason: Refusal::OutOfMemory })
            }
        }
    }

    /// The group of all members.
    #[inline(always)]
    pub fn all(&self) -> &Group<'j> {
        &self.all
    }

    /// A group of some of them, by its number in the order they were asked for; `None` for a group of this rank alone.
    #[inline(always)]
    pub fn team(&self, number: usize) -> Option<&Group<'j>> {
        self.teams.get(number)?.as_ref()
    }

    /// Slots between all members.
    #[inline(always)]
    pub fn messages(&self) -> &Messages<'j> {
        &self.messages
    }

    /// Moves the sends on that go on by themselves; gives how many were not taken yet and may still be.
    pub fn sends_left(&self) -> Result<usize> {
        self.messages.drop_sends_to(|member| self.is_deaf(member));
        Ok(self.messages.check_spool()?.remaining)
    }

    /// Whether a member receives nothing any more, as far as can be seen from here.
    fn is_deaf(&self, member: usize) -> bool {
        self.all.near().is_some_and(|all| all.part(member).deaf.get() != 0)
    }

    /// Gives everything up, also receives under way. Sends under way, and those that were promised to go on by themselves,
    /// still do, while [`Retired::try_free`] is called or this rank waits for anything, until their receivers have given up
    /// too.
    pub fn retire(self) -> Retired<'j> {
        self.messages.withdraw_receives();
        if let Some(all) = self.all.near() {
            all.part(all.rank()).deaf.set(1);
        }
        Retired { formation: Some(self), told: false }
    }

    /// Nobody uses it any more.
    fn give_up(self) {
        let Formation { all, teams, messages, mut memory } = self;
        let (me, used) = (all.rank(), messages.were_used());
        for (number, mut group) in [Some(all)].into_iter().chain(teams).enumerate() {
            if let Some(group) = &mut group {
                memory.note_buffers(number, group);
                group.give_extras();
            }
        }
        messages.give_extras();
        memory.give_up(me, used);
    }
}

impl Retired<'_> {
    /// As [`Formation::sends_left`], with the sends under way that nobody can ask for any more.
    pub fn sends_left(&self) -> Result<usize> {
        // Once the others know, none is left, and their parts may be gone.
        let Some(formation) = self.formation.as_ref().filter(|_| !self.told) else { return Ok(0) };
        let under_way = formation.messages.sends_under_way(|member| formation.is_deaf(member));
        Ok(under_way + formation.sends_left()?)
    }

    /// Takes the way to the end as far as it goes now; true once all memory was given back, or is given back with the job
    /// because some members are far.
    pub fn try_free(&mut self) -> Result<bool> {
        let Some(formation) = &self.formation else { return Ok(true) };
        let port = formation.messages.port();
        port.ni().check_rank(port.rank())?;
        if !self.told {
            if self.sends_left()? > 0 {
                return Ok(false);
            }
            if formation.all.near().is_none() {
                // Nobody can tell the others without their help: the memory stays taken until the job ends.
                self.formation = None;
                return Ok(true);
            }
            formation.memory.leave(&formation.all, &formation.messages);
            self.told = true;
        }
        // From here on only the own parts are touched: those of the others may be gone.
        if !formation.memory.is_left_alone(&formation.all) {
            return Ok(false);
        }
        if let Some(formation) = self.formation.take() {
            formation.give_up();
        }
        Ok(true)
    }
}

impl Parts {
    fn new(members: &[usize], teams: &[&[usize]], slots: usize, memory: Option<&Memory>) -> Parts {
        // Those who ask for other teams would look for what they share elsewhere.
        let plan = checksum(members, slots * (TEAMS_MAX + 1) + teams.len());
        let mut parts =
            Parts { plan, note: 0, start: memory.map_or(0, |memory| memory.start as u64), lists: [0; TEAMS_MAX] };
        for (list, team) in parts.lists.iter_mut().zip(teams) {
            *list = checksum(team, team.len());
        }
        parts
    }

    /// Tells all others, and hears what they tell.
    fn exchange(&self, channel: &Messages<'_>, slot: usize, members: &[usize]) -> Result<Vec<Parts>> {
        const { assert!(size_of::<Parts>() <= EAGER_MAX) };
        for member in members {
            // In whatever mode, and whoever has ended: nobody shall wait for what a member did not tell any more.
            channel.send_owned(bytemuck::bytes_of(self).into(), *member, slot)?;
        }
        let mut all = vec![Parts::zeroed(); members.len()];
        for (theirs, member) in all.iter_mut().zip(members) {
            channel.recv(bytemuck::bytes_of_mut(theirs), *member, slot)?;
        }
        // All were heard, so nothing is left in the slot whatever they said.
        if let Some((theirs, member)) = all.iter().zip(members).find(|(theirs, _)| theirs.note != self.note) {
            return Err(unlike(Formation::NOTE, channel.rank_of(*member)?, self.note, theirs.note));
        }
        match all.iter().zip(members).find(|(theirs, _)| theirs.plan != self.plan) {
            None => Ok(all),
            Some((&Parts { plan: theirs, .. }, member)) => {
                let (rank, mine) = (channel.rank_of(*member)?, self.plan);
                Err(unlike("formation", rank, mine, theirs))
            }
        }
    }
}

/// Formations are compared by checksums, of which only that they differ can be told.
fn unlike(operation: &'static str, rank: usize, mine: u64, theirs: u64) -> Error {
    let (my_call, their_call) = (format!("Formation::new with this {operation}"), "Formation::new with another".into());
    Error::Mismatch { operation, rank, mine, theirs, my_call, their_call }
}

/// Makes the groups out of what all have told.
fn form<'j>(
    port: &'j Port,
    ranks: &[usize],
    me: usize,
    teams: &[&[usize]],
    slots: usize,
    all: &[Parts],
    memory: Memory,
) -> Result<Formation<'j>> {
    let plan = memory.plan;
    for (rank, parts) in ranks.iter().zip(all) {
        port.ni().check_own_part(*rank, parts.start, plan.bytes())?;
    }
    let part = part_bytes(port, ranks.len())?;
    let group = |list: &[usize], number: usize| -> Result<Group<'j>> {
        let start = |member: usize| all[member].start as usize + plan.group(number);
        let find = |member: &usize| Member::find(port.ni(), ranks[*member], start(*member) as u64, part);
        let members = list.iter().map(find).collect::<Result<_>>()?;
        let group = Group::over(port, members, start(me), ranks.len())?;
        group.has_buffers.set(memory.buffered >> number & 1 != 0);
        Ok(group)
    };
    for (index, team) in teams.iter().enumerate() {
        let mine = all[me].lists[index];
        if let Some(member) = team.iter().find(|member| all[**member].lists[index] != mine) {
            let (rank, theirs) = (ranks[*member], all[*member].lists[index]);
            return Err(unlike("team of a formation", rank, mine, theirs));
        }
    }
    let everyone: Vec<usize> = (0..ranks.len()).collect();
    let made = teams.iter().enumerate().map(|(index, team)| match **team == [me] {
        true => Ok(None),
        false => group(team, 1 + index).map(Some),
    });
    let place = |(rank, parts): (&usize, &Parts)| (*rank, parts.start as usize + plan.messages());
    let places: Vec<(usize, usize)> = ranks.iter().zip(all).map(place).collect();
    Ok(Formation {
        teams: made.collect::<Result<_>>()?,
        all: group(&everyone, 0)?,
        messages: Messages::over(port, slots, &places, me),
        memory,
    })
}

/// Refuses impossible lists, before anybody is told of them; gives the place of this rank.
fn check_plan(port: &Port, ranks: &[usize], teams: &[&[usize]]) -> Result<usize> {
    let once = |list: &[usize]| (1..list.len()).all(|index| !list[..index].contains(&list[index]));
    let me = ranks.iter().position(|rank| *rank == port.rank());
    let me = me.filter(|_| once(ranks) && teams.len() <= TEAMS_MAX);
    let fits = |me: &usize| {
        teams.iter().all(|team| once(team) && team.contains(me) && team.iter().all(|index| *index < ranks.len()))
    };
    me.filter(fits).ok_or_else(|| {
        Error::Invalid(format!(
            "members and teams are lists without repetitions with this rank among them, and at most {TEAMS_MAX} teams"
        ))
    })
}

/// FNV-1a of a list and a number.
fn checksum(list: &[usize], number: usize) -> u64 {
    let mix = |sum: u64, value: &usize| (sum ^ *value as u64).wrapping_mul(0x100_0000_01b3);
    list.iter().chain([&number]).fold(0xcbf2_9ce4_8422_2325, mix)
}

#[cfg(test)]
mod tests;
