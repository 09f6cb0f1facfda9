//! Groups over several hosts: the same calls, by messages between the members, whichever of them share memory.
//!
//! Each message carries what its sender asks for, before the data, so a member compares with whom it hears from. Data go in
//! pieces of a short message, in several slots in turn; long broadcasts in longer ones, straight from buffer to buffer. A
//! member that finds out that a call can never be complete alarms all others: they may wait for somebody who waits.
//!
//! | file | concept |
//! |---|---|
//! | `calls` | barrier, scan, gather, allgather, scatter, alltoall; broadcast and reductions are trees, as elsewhere |
//! | `gate` | the network's own barrier |
//! | `cast` | broadcast by the network's multicast |
//! | `long` | broadcast of much data by a tree |
//! | `alarm` | calls that do not fit together, members that end |

mod alarm;
mod calls;
mod cast;
mod gate;
mod long;

use super::group::Group;
use super::label::Label;
use super::part::Member;
use super::round::Round;
use super::tree::SLOTS;
use crate::error::Result;
use crate::job::Job;
use crate::memory::segment::PAGE_BYTES;
use crate::message::{EAGER_MAX, Messages};
use crate::ni::message::refuse_in_handler;
use crate::planted::{Bug, planted};
use crate::sync::Shared;
use cast::Cast;
use std::ops::Range;

/// What a member asks for, before the data of each message.
const LABEL_BYTES: usize = 16;
/// Data of a message.
pub(super) const PIECE_BYTES: usize = EAGER_MAX - LABEL_BYTES;

/// What a group has instead of shared parts.
pub(super) struct Far {
    /// Where the alarm lies in each member's part: behind the slots.
    alarm: usize,
    /// Where the parts of all ranks of the job lie in their heaps, if all are members and it is the same place.
    common_start: Option<usize>,
    /// For broadcasts by the network.
    cast: Option<Cast>,
}

/// What each of at most `members` members takes from its heap: slots, a page with its alarm, and what the network needs.
pub(super) fn part_bytes(job: &Job, members: usize) -> Result<usize> {
    Ok(Messages::bytes_for(SLOTS, members)? + PAGE_BYTES + cast::part_bytes(job, members))
}

impl Far {
    /// Of these members, with parts for at most `room`.
    pub fn new(job: &Job, members: &[Member], room: usize) -> Result<Far> {
        let alarm = Messages::bytes_for(SLOTS, room)?;
        let first = members[0].start;
        let is_common = members.len() == job.size() && members.iter().all(|member| member.start == first);
        let cast = if is_common { Cast::new(job, alarm + PAGE_BYTES) } else { None };
        Ok(Far { alarm, common_start: is_common.then_some(first), cast })
    }
}

impl<'j> Group<'j> {
    /// Whether members are on several hosts.
    #[inline(always)]
    pub(super) fn is_far(&self) -> bool {
        self.far.is_some()
    }

    /// The slots between the members, made with the group.
    fn far_slots(&self) -> &Messages<'j> {
        self.slots.get().expect("made with the group")
    }

    /// Where the part of each member lies in its heap, in a group of all ranks that has one place.
    fn common_start(&self) -> usize {
        self.far.as_ref().and_then(|far| far.common_start).expect("asked before")
    }

    /// Something in the own part.
    fn own<T: Shared>(&self, offset: usize) -> &T {
        // SAFETY: inside this rank's own part, by the layout of it, at a multiple of 8; made of atomics.
        unsafe { &*self.members[self.rank()].at::<T>(offset) }
    }

    /// Begins the next call.
    pub(super) fn begin(&self, label: Label) -> Result<Round> {
        refuse_in_handler()?;
        self.job.ni.check_rank(self.job.ni.rank)?;
        if self.broken.borrow().is_some() {
            return Err(self.why_broken());
        }
        let number = self.number.get() + 1;
        let round = Round::new(label, number, self.history.get());
        self.number.set(number);
        self.history.set(round.checksum());
        self.show(&round);
        Ok(round)
    }

    /// Sends a piece of a call.
    pub(super) fn tell(&self, round: &Round, member: usize, index: usize, data: &[u8]) -> Result<()> {
        let messages = self.far_slots();
        let message = [bytemuck::bytes_of(&[round.head, round.argument]), data].concat();
        let sent = || messages.try_send(&message, member, index % SLOTS).map(|sent| sent.then_some(())).transpose();
        self.wait_for_member(round, member, sent)
    }

    /// Receives a piece of a call, which must be one of the same call and of that length.
    pub(super) fn hear(&self, round: &Round, member: usize, index: usize, into: &mut [u8]) -> Result<()> {
        let messages = self.far_slots();
        let mut message = vec![0u8; EAGER_MAX];
        let came = || messages.try_recv(&mut message, member, index % SLOTS).transpose();
        let bytes = self.wait_for_member(round, member, came)?;
        let (label, data) = message[..bytes].split_at(LABEL_BYTES.min(bytes));
        let theirs: [u64; 2] = bytemuck::try_pod_read_unaligned(label).unwrap_or_default();
        let agrees = theirs == [round.head, round.argument] || planted(Bug::LabelUnread);
        if !agrees || data.len() != into.len() {
            return Err(self.disagree(round, member, theirs));
        }
        into.copy_from_slice(data);
        Ok(())
    }
}

/// The pieces of some bytes, and their numbers: one, though empty, if there are none.
fn pieces(bytes: usize) -> impl Iterator<Item = (usize, Range<usize>)> {
    let count = bytes.div_ceil(PIECE_BYTES).max(1);
    (0..count).map(move |index| (index, index * PIECE_BYTES..((index + 1) * PIECE_BYTES).min(bytes)))
}
