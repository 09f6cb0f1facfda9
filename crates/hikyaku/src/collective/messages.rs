//! Messages between the members of a group.

use super::group::Group;
use super::label::Kind;
use crate::error::{Error, Refusal, Result};
use crate::message::Messages;
use crate::ni::refuse_in_handler;
use std::mem::ManuallyDrop;

impl<'j> Group<'j> {
    /// Prepares `slots` slots between every two members, who are named by their ranks in the group. All members call it
    /// together. Slots of different groups have nothing to do with each other.
    ///
    /// ```
    /// hikyaku::local(4, |job| {
    ///     let half = job.world()?.split(Some(job.rank() as u64 / 2), 0)?.unwrap();
    ///     let messages = half.messages(1)?;
    ///     let peer = 1 - half.rank();
    ///     messages.send(&[job.rank()], peer, 0)?;
    ///     let mut got = [0];
    ///     messages.recv(&mut got, peer, 0)?;
    ///     assert_eq!(got[0], half.world_rank(peer).unwrap());
    ///     half.free_messages(messages)
    /// })
    /// .unwrap();
    /// ```
    #[track_caller]
    pub fn messages(&self, slots: usize) -> Result<Messages<'j>> {
        self.begin(&"messages")?;
        self.run_messages(Kind::Messages, slots)
    }

    /// Makes slots for a `kind` of call: what one member makes for itself and another for the program does not fit together.
    pub(super) fn run_messages(&self, kind: Kind, slots: usize) -> Result<Messages<'j>> {
        self.check_usable()?;
        let ni = self.port.ni();
        let taken = Messages::bytes_for(slots, self.size()).and_then(|bytes| Ok((ni.take_sparse(bytes)?, bytes)));
        let start = taken.as_ref().map_or(0, |(start, _)| *start as u64);
        let mut all = vec![[0u64; 2]; self.size()];
        // On an error the memory stays taken: others may know of it, and have all they need.
        self.gather_everywhere(kind, &[[start, slots as u64]], &mut all)?;
        // All see the same, so all give up or none.
        match (taken, self.parts(slots, &all)) {
            (Ok(_), Ok(members)) => Ok(Messages::over(self.port.get(), slots, &members, self.rank())),
            (taken, formed) => {
                if let Ok((start, bytes)) = taken {
                    ni.give_heap(start, bytes);
                }
                Err(taken.err().or(formed.err()).expect("one of them failed"))
            }
        }
    }

    /// Frees the slots between the members, so that their memory can be used again. All members call it together. Sends from the spare
    /// buffer advance until all members have called it. After that nobody can receive: messages in slots and in spare buffers are lost,
    /// and operations that were not waited for are given up. `Messages` that are only dropped keep their memory until the job ends.
    ///
    /// All members give the same messages, which are between them and nobody else; otherwise all get an error, and the messages
    /// are as if only dropped.
    #[track_caller]
    pub fn free_messages(&self, messages: Messages<'j>) -> Result<()> {
        refuse_in_handler()?;
        self.port.ni().check_rank(self.port.rank())?;
        // Others may still receive what goes on by itself, until all agree.
        if let Err(error) = self.begin(&"free_messages").and_then(|()| self.agree_on(&messages)) {
            // Nobody can be waited for: they may have had the same error.
            messages.drop_at_once();
            return Err(error);
        }
        // On an error others may still read it.
        let stopped = ManuallyDrop::new(messages.stop());
        messages.await_arrived()?;
        // Afterwards nobody touches the parts of others any more, nor what they sent from.
        self.barrier()?;
        messages.give_stopped(ManuallyDrop::into_inner(stopped));
        messages.give_part();
        Ok(())
    }

    /// Waits for all members, who must mean the same messages of theirs: what one frees and another does not, is still written to.
    fn agree_on(&self, messages: &Messages<'j>) -> Result<()> {
        if self.port.initiator.has_routed() {
            self.port.initiator.complete()?;
        }
        let same_rank = |member: usize| messages.rank_of(member).ok() == self.world_rank(member);
        let ours = std::ptr::eq(messages.port(), self.port.get())
            && messages.size() == self.size()
            && (0..self.size()).all(same_rank);
        let mine = messages.identity().filter(|_| ours).unwrap_or(0);
        let mut all = vec![0; self.size()];
        self.gather_everywhere(Kind::FreeMessages, &[mine], &mut all)?;
        if mine == 0 {
            return Err(Error::Invalid(
                "these messages are not between the members of this group, or the port's own".into(),
            ));
        }
        match all.iter().position(|theirs| *theirs != mine) {
            None => Ok(()),
            Some(member) => {
                let (rank, theirs) = (self.members[member].rank, all[member]);
                let (my_call, their_call) = ("free_messages of these", "free_messages of others");
                let (my_call, their_call) = (my_call.into(), their_call.into());
                Err(Error::Mismatch { operation: "free_messages", rank, mine, theirs, my_call, their_call })
            }
        }
    }

    /// (rank, part) of every member, out of what they have told: (part, slots).
    fn parts(&self, slots: usize, all: &[[u64; 2]]) -> Result<Vec<(usize, usize)>> {
        let mut parts = Vec::with_capacity(all.len());
        for (member, &[start, theirs]) in self.members.iter().zip(all) {
            let rank = member.rank;
            if theirs != slots as u64 {
                let (mine, [my_call, their_call]) =
                    (slots as u64, [slots as u64, theirs].map(|slots| format!("messages({slots} slots)")));
                return Err(Error::Mismatch { operation: "messages", rank, mine, theirs, my_call, their_call });
            }
            if start == 0 {
                return Err(Error::Refused { rank, reason: Refusal::OutOfMemory });
            }
            let bytes = Messages::bytes_for(slots, all.len())?;
            self.port.ni().check_own_part(rank, start, bytes)?;
            parts.push((rank, start as usize));
        }
        Ok(parts)
    }
}
