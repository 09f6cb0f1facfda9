//! The memory that a member has for a formation: one part of its heap.
//!
//! ```text
//!   marks of those who left | words, buffers of the group of all | those of each team ... | messages
//! ```
//! A program may have thousands of formations of which few are used. So only marks and words are there from the beginning, some
//! kilobytes; buffers come with the first call that may need them, messages with the first one sent. And a program may make and give up
//! formations all the time, so some that were given up are kept: taking one of those needs no call to the system.

use crate::collective::group::{Group, part_bytes};
use crate::collective::part::{PART_BYTES, WORD_BYTES};
use crate::error::Result;
use crate::memory::segment::PAGE_BYTES;
use crate::message::Messages;
use crate::ni::{Ni, Port};
use crate::sync::atomic::{AtomicU64, Ordering};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Formations whose memory is kept for the next one like it. When there are more, most of them are given back at once: what lies side
/// by side goes by one call to the system.
const SPARES_MAX: usize = 64;
/// Of those that stay then, and of those whose buffers are there.
const SPARES_WARM: usize = 4;

/// What lies where in it. The same at all members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    size: usize,
    /// Bytes of the part of a group, of which so many are there from the beginning.
    part_bytes: usize,
    present_bytes: usize,
    groups: usize,
    message_bytes: usize,
}

/// The memory of a formation of this rank.
#[derive(Debug)]
pub(super) struct Memory {
    pub plan: Plan,
    /// Where it begins in the own heap.
    pub start: usize,
    /// Which groups have their buffers already, by their numbers.
    pub buffered: u32,
    spares: Rc<Spares>,
}

/// What was given up, and is ready to be used again.
pub(super) struct Spares {
    ni: Arc<Ni>,
    list: RefCell<Vec<Spare>>,
}

#[derive(Debug)]
struct Spare {
    plan: Plan,
    start: usize,
    buffered: u32,
}

/// What a member that has left writes to the others: it touches nothing of theirs any more.
const LEFT: u64 = 1;
/// Likewise, after it has used messages.
const LEFT_USED: u64 = 2;

impl Plan {
    /// For `size` members, groups of all and of `teams` teams, and so many slots.
    pub fn new(port: &Port, size: usize, teams: usize, slots: usize) -> Result<Plan> {
        let part_bytes = part_bytes(port, size)?.next_multiple_of(PAGE_BYTES);
        // Members of other hosts are found out later, and use parts in another way.
        let present_bytes = if port.ni().spans_hosts() { PART_BYTES } else { WORD_BYTES };
        Ok(Plan {
            size,
            part_bytes,
            present_bytes,
            groups: 1 + teams,
            message_bytes: Messages::bytes_for(slots, size)?,
        })
    }

    /// Where the part of a group is: that of all has number 0.
    pub fn group(&self, number: usize) -> usize {
        self.marks_bytes() + number * self.part_bytes
    }

    /// Where the messages are.
    pub fn messages(&self) -> usize {
        self.group(self.groups)
    }

    /// Where all of it ends.
    pub fn bytes(&self) -> usize {
        self.messages() + self.message_bytes
    }

    fn marks_bytes(&self) -> usize {
        (self.size * size_of::<AtomicU64>()).next_multiple_of(PAGE_BYTES)
    }
}

impl Memory {
    /// Takes memory for a formation, zeroed as far as its members expect it.
    pub fn take(spares: &Rc<Spares>, plan: Plan) -> Result<Memory> {
        let mut list = spares.list.borrow_mut();
        if let Some(index) = list.iter().rposition(|spare| spare.plan == plan) {
            let Spare { start, buffered, .. } = list.remove(index);
            clear(&spares.ni, start, plan.group(0));
            (0..plan.groups).for_each(|number| clear(&spares.ni, start + plan.group(number), WORD_BYTES));
            return Ok(Memory { plan, start, buffered, spares: spares.clone() });
        }
        let (ni, bytes) = (&spares.ni, plan.bytes());
        let start = ni.take_sparse(bytes)?;
        let commit = || -> Result<()> {
            ni.commit_heap(start, plan.group(0) + plan.present_bytes)?;
            (1..plan.groups).try_for_each(|number| ni.commit_heap(start + plan.group(number), plan.present_bytes))
        };
        commit().inspect_err(|_| ni.give_heap(start, bytes))?;
        let buffered = if plan.present_bytes == PART_BYTES { u32::MAX } else { 0 };
        Ok(Memory { plan, start, buffered, spares: spares.clone() })
    }

    /// Gives it back, of which nobody else knows.
    pub fn give(self) {
        self.spares.ni.give_heap(self.start, self.plan.bytes());
    }

    /// A group has its buffers if it has made a call that may need them.
    pub fn note_buffers(&mut self, number: usize, group: &Group<'_>) {
        self.buffered |= u32::from(group.has_buffers.get()) << number;
    }

    /// Tells all others, who are near, that member `me` does not touch their parts any more.
    pub fn leave(&self, all: &Group<'_>, messages: &Messages<'_>) {
        let said = if messages.were_used() { LEFT_USED } else { LEFT };
        for member in all.members.iter().filter(|member| member.rank != all.port.rank()) {
            let mark = member.start - self.plan.group(0) + all.rank() * size_of::<AtomicU64>();
            let span = self.spares.ni.near_span(member.rank, mark as u64, size_of::<AtomicU64>() as u64);
            let mark: &AtomicU64 = span.expect("a part of the heap of a near member").at(0);
            mark.store(said, Ordering::Release);
        }
    }

    /// Whether nobody else touches the part of this rank any more: all others, who are near, have left, or have ended.
    pub fn is_left_alone(&self, all: &Group<'_>) -> bool {
        let has_ended = |member: usize| self.spares.ni.state_of(all.members[member].rank).is_over();
        (0..self.plan.size).all(|member| member == all.rank() || self.mark(member) != 0 || has_ended(member))
    }

    fn mark(&self, member: usize) -> u64 {
        let marks = self.spares.ni.own_memory(self.start, self.plan.marks_bytes());
        marks.at::<AtomicU64>(member * size_of::<AtomicU64>()).load(Ordering::Acquire)
    }

    /// Keeps it for the next formation, or gives it back: nobody else touches it any more. This rank was member `me`, and has
    /// used messages or not.
    pub fn give_up(self, me: usize, used: bool) {
        let Memory { plan, start, buffered, ref spares } = self;
        let ni = &spares.ni;
        let is_warm = buffered != 0 && spares.list.borrow().len() >= SPARES_WARM;
        if is_warm || ni.is_forked() {
            return ni.give_heap(start, plan.bytes());
        }
        // Whoever has ended without a word may have used them too.
        if used || (0..plan.size).any(|member| member != me && self.mark(member) != LEFT) {
            ni.release_heap(start + plan.messages(), plan.message_bytes);
        }
        spares.add(Spare { plan, start, buffered });
    }
}

/// Makes whole pages zero.
fn clear(ni: &Ni, start: usize, bytes: usize) {
    let pages = ni.own_memory(start, bytes);
    for page in (0..bytes).step_by(PAGE_BYTES) {
        pages.part(page, PAGE_BYTES).copy_in(&[0; PAGE_BYTES]);
    }
}

impl Spares {
    pub fn new(ni: &Arc<Ni>) -> Rc<Spares> {
        Rc::new(Spares { ni: ni.clone(), list: RefCell::default() })
    }

    fn add(&self, spare: Spare) {
        let mut list = self.list.borrow_mut();
        list.push(spare);
        if list.len() > SPARES_MAX {
            let stays = list.split_off(SPARES_MAX - SPARES_WARM);
            self.give(std::mem::replace(&mut *list, stays));
        }
    }

    /// Gives memory back, of neighbours together.
    fn give(&self, mut list: Vec<Spare>) {
        list.sort_by_key(|spare| spare.start);
        for row in list.chunk_by(|one, next| one.start + one.plan.bytes() == next.start) {
            self.ni.give_heap(row[0].start, row.iter().map(|spare| spare.plan.bytes()).sum());
        }
    }
}

impl Drop for Spares {
    fn drop(&mut self) {
        self.give(self.list.take());
    }
}

impl std::fmt::Debug for Spares {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spares").field("list", &self.list).finish_non_exhaustive()
    }
}
