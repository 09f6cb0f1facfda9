//! Groups over several hosts: the same calls, inside a host by mapped memory, between hosts by one member of each.
//!
//! Everything goes by messages between the members, which carry what their sender asks for before the data, so a member compares
//! with whom it hears from. Messages of near members go through mapped memory, those of far ones are packets; a call chooses
//! only *who* talks to whom. Data go in pieces of a short message, in several slots in turn; long ones straight from buffer to
//! buffer. A member that finds out that a call can never be complete alarms all others: they may wait for somebody who waits.
//!
//! # Types
//! * `Hosts`, made with the group, says which members are on which host. A `View` of it is what a call uses: the hosts as they
//!   are, or flat, as if each member were alone on one.
//! * A `Team` is a list of members in a call: those of a host, one of each host, all. Algorithms are written once, for a team:
//!   barrier and short allreduce (`doubling`), reduce-scatter and allgather (`shares`). A `Branch` is what one member of a tree
//!   over the hosts talks to (`tree`, `long`).
//! * All of them borrow from the group, which owns the slots, the alarm, and the number of the call. There are no groups inside
//!   of groups: a call is one call, whoever takes part in which step, so its errors are those of any other.
//!
//! # An allreduce over two hosts
//! ```text
//!   host a: 0 1          host b: 2 3
//!   short    1 -> 0   3 -> 2      each leader combines its host, in the order of members
//!            0 <-----> 2          leaders exchange, and combine in the order of hosts
//!            0 -> 1   2 -> 3
//! ```
//! *Leader 2 dies half way.* 3 waits for 2, and 0 waits for 2: both see the end of any member in every wait, so both return
//! `PeerDead` with its rank. 1 waits for 0, which is alive: it sees the death of 2 in the same way, whether or not it ever hears
//! from it. If host b is cut off instead, 0 gets `Unreachable` and alarms all others; 1 has it from the alarm in its own memory;
//! 3 hears nothing of 0 and gets `Unreachable` from its own network. If 2 leaves, 0 and 3 alarm the others, who wait a moment for
//! an alarm before they take the end of a neighbour for the cause. A call that fails at one member fails at all that still wait;
//! who has its result keeps it, and gets the error in the next call.
//!
//! # The order of reductions
//! Contributions are combined in the order of members, with brackets in places that depend on version, size and hosts only:
//! so all members get the same bits, every time. If the members of a host are not neighbours, hosts are combined one after the
//! other all the same where only rounding can tell (`Sum`, `Product`, `Max` and `Min` of integers, logical and bit operations);
//! where the order can matter (functions of the program, `AbsMax`, the largest of numbers that may be NaN) such a group is seen flat.
//!
//! # What speaks against it
//! * *A near group of each host would use the near protocols*, which combine in place. It would also have alarms, numbers and
//!   buffers of its own, and every error would have to cross from one group to the other in each step, both ways. Messages of near
//!   members are one line, or one copy, and a leader hears them while it waits for the slowest anyway.
//! * *Leaders are a bottleneck* for long data: so these go by shares, where everyone works.
//! * *Not all calls gain.* Gather, scatter and alltoall move each byte between hosts once in any case, and a scan needs the order of
//!   members: they are flat.
//!
//! | file | concept |
//! |---|---|
//! | `hosts` | which members are on which host |
//! | `team` | the members that take part in a step, and messages between them |
//! | `transfer` | bytes of any length from one member to another |
//! | `doubling` | barrier and short allreduce of a team |
//! | `tree` | broadcast and reduction by a tree over the hosts |
//! | `long` | broadcast of much data by a tree |
//! | `shares` | long reductions |
//! | `calls` | which of these a call is made of; scan, gather, allgather, scatter, alltoall |
//! | `gate` | the network's own barrier |
//! | `cast` | broadcast by the network's multicast |
//! | `alarm` | calls that do not fit together, members that end |

mod alarm;
mod calls;
mod cast;
mod doubling;
mod gate;
mod hosts;
mod long;
mod shares;
mod team;
mod transfer;
mod tree;

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
use crate::sync::Shared;
use cast::Cast;
use hosts::{Hosts, View};
use std::ops::Range;
use transfer::Spare;

/// What a member asks for, before the data of each message.
const LABEL_BYTES: usize = 16;
/// Data of a message.
const PIECE_BYTES: usize = EAGER_MAX - LABEL_BYTES;

/// What a group has instead of shared parts.
pub(super) struct Far {
    /// Where the alarm lies in each member's part: behind the slots.
    alarm: usize,
    /// Where the parts of all ranks of the job lie in their heaps, if all are members and it is the same place.
    common_start: Option<usize>,
    /// For broadcasts by the network.
    cast: Option<Cast>,
    hosts: Hosts,
    spare: Spare,
}

/// What each of at most `members` members takes from its heap: slots, a page with its alarm, and what the network needs.
pub(super) fn part_bytes(job: &Job, members: usize) -> Result<usize> {
    Ok(Messages::bytes_for(SLOTS, members)? + PAGE_BYTES + cast::part_bytes(job, members))
}

impl Far {
    /// Of these members, of which this one is number `me`, with parts for at most `room`.
    pub fn new(job: &Job, members: &[Member<'_>], me: usize, room: usize) -> Result<Far> {
        let alarm = Messages::bytes_for(SLOTS, room)?;
        let first = members[0].start;
        let is_common = members.len() == job.size() && members.iter().all(|member| member.start == first);
        let cast = if is_common { Cast::new(job, alarm + PAGE_BYTES) } else { None };
        let hosts = Hosts::new(&job.ni, members.iter().map(|member| member.rank), me);
        Ok(Far { alarm, common_start: is_common.then_some(first), cast, hosts, spare: Spare::default() })
    }

    /// How many hosts the members are on.
    pub fn host_count(&self) -> usize {
        View::Hosts(&self.hosts).host_count()
    }
}

impl<'j> Group<'j> {
    /// Whether members are on several hosts.
    #[inline(always)]
    pub(super) fn is_far(&self) -> bool {
        self.far.is_some()
    }

    fn far(&self) -> &Far {
        self.far.as_ref().expect("a far group")
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
        self.members[self.rank()].span().at(offset)
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
}

/// How many pieces so many bytes are: one, though empty, if there are none.
fn piece_count(bytes: usize) -> usize {
    bytes.div_ceil(PIECE_BYTES).max(1)
}

/// Where a piece lies in so many bytes.
fn piece_range(index: usize, bytes: usize) -> Range<usize> {
    index * PIECE_BYTES..((index + 1) * PIECE_BYTES).min(bytes)
}

/// The pieces of some bytes, and their numbers.
fn pieces(bytes: usize) -> impl Iterator<Item = (usize, Range<usize>)> {
    (0..piece_count(bytes)).map(move |index| (index, piece_range(index, bytes)))
}
