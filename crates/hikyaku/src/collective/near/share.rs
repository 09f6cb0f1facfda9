//! Long reductions: each member combines its share of the elements straight from the buffers of all, and writes the
//! result straight into the buffers that shall have it.
//!
//! ```text
//!   member                                                  peer
//!   entry[n] = where my buffer is                 ------->  entry[n] = where my buffer is
//!   block by block of my share: read it from all in the order of ranks, combine, write it to all (or to the root)
//!   done = n                                      ------->  all are done: the buffer is complete, and mine again
//! ```
//! A share of any buffer is touched by one member only, so nobody waits for anybody in between. In a reduce_scatter the shares are the
//! members' blocks, nobody writes to any buffer, and each keeps its result.
//!
//! A member that cannot go on shuts its buffer before it is done, so nobody takes what is there for the result, and
//! returns when nobody is at its buffer any more; see `direct`.

use super::group::NearGroup;
use super::source::{Access, Source};
use crate::collective::label::Label;
use crate::collective::operation::Combination;
use crate::collective::room::Room;
use crate::collective::round::Round;
use crate::error::Result;
use crate::job::choice::{Call, Version};
use std::ops::Range;
use std::sync::atomic::{Ordering, fence};

/// Bytes that are combined at a time where buffers are mapped: they stay in the nearest cache.
const MAPPED_BLOCK: usize = 16 * 1024;
/// Bytes that are combined at a time where each block is a system call.
const PRIVATE_BLOCK: usize = 256 * 1024;

/// What one long reduction is about.
struct Shares<'a, 'j> {
    group: NearGroup<'a, 'j>,
    round: Round,
    /// The own buffer; reached through this pointer alone.
    start: *mut u8,
    bytes: usize,
    sources: Vec<Source>,
    how: &'a Combination<'a>,
    /// Who gets the result; `None`: all.
    root: Option<usize>,
}

impl NearGroup<'_, '_> {
    /// Does a long reduction in this way if all buffers can be reached; false if not, and then nothing was done.
    pub(in crate::collective) fn combine_shares(
        self,
        label: Label,
        data: &mut [u8],
        how: &Combination<'_>,
        root: Option<usize>,
    ) -> Result<bool> {
        let (start, bytes) = (data.as_mut_ptr(), data.len());
        let call = if root.is_some() { Call::Reduce } else { Call::Allreduce };
        self.share_out(label, (start, bytes), call, |round, sources| {
            Shares { group: self, round, start, bytes, sources, how, root }.combine_mine()
        })
    }

    /// Likewise: this member gets its `share` of what all have, in `mine`.
    pub(in crate::collective) fn scatter_shares(
        self,
        label: Label,
        data: &[u8],
        mine: &mut [u8],
        share: &Range<usize>,
        how: &Combination<'_>,
    ) -> Result<bool> {
        let (start, bytes) = (data.as_ptr().cast_mut(), data.len());
        self.share_out(label, (start, bytes), Call::Allreduce, |round, sources| {
            let shares = Shares { group: self, round, start, bytes, sources, how, root: None };
            shares.combine_for_me(data, share, mine)
        })
    }

    /// Shows the own buffer to all, does its part of the call if all buffers can be reached, and waits until nobody is at the own
    /// one any more; false if they cannot.
    fn share_out(
        self,
        label: Label,
        (start, bytes): (*mut u8, usize),
        call: Call,
        combine: impl FnOnce(Round, Vec<Source>) -> Result<()>,
    ) -> Result<bool> {
        let private = self.all_reach_all(label)?;
        let round = self.enter(label)?;
        let mine = Source::of(self.port.ni(), start, bytes);
        // From here on others may use the buffer.
        self.contribute(&round, bytemuck::bytes_of(&mine));
        fence(Ordering::SeqCst);
        self.notify_all();
        let mut ending = Ending { group: self, round, succeeded: false };
        self.await_members(&round, self.size())?;
        let sources: Vec<Source> = (0..self.size()).map(|member| self.value_of(&round, member)).collect();
        self.saw_everyone(&round);
        let mapped = |source: &Source| source.way == Access::Mapped as u64;
        let worth = self.port.ni().threads || private && self.version(call, bytes) == Version::Direct;
        let direct = sources.iter().all(|source| mapped(source) || worth);
        if direct {
            self.note(Version::Direct);
            combine(round, sources)?;
        }
        self.finish(&round);
        if direct {
            self.await_done(round.number)?;
            self.check_open(&round)?;
        }
        ending.succeeded = true;
        Ok(direct)
    }

    /// Fails if a member has shut its buffer.
    fn check_open(self, round: &Round) -> Result<()> {
        let shut = |member: &usize| self.part(*member).closed.get() >= round.number;
        match (0..self.size()).filter(|member| *member != self.rank()).find(shut) {
            Some(member) => Err(self.fail(self.closed_by(round, self.members[member].rank))),
            None => Ok(()),
        }
    }
}

impl Shares<'_, '_> {
    /// Combines this member's share.
    fn combine_mine(&self) -> Result<()> {
        let group = self.group;
        let (size, rank, element) = (group.size(), group.rank(), self.how.element);
        let elements = self.bytes / element;
        let start = |member: usize| boundary(member, size, self.root, elements) * element;
        let block = self.block();
        let (mut total, mut input) = (Room::of(block), Room::of(block));
        let mut next = start(rank);
        while next < start(rank + 1) {
            let range = next..(next + block).min(start(rank + 1));
            let len = range.len();
            group.check_open(&self.round)?;
            self.combine_block(&range, &mut total.bytes()[..len], &mut input.bytes()[..len])?;
            next = range.end;
        }
        Ok(())
    }

    /// Combines this member's `share` for itself; `data` is the own buffer, to which nobody writes.
    fn combine_for_me(&self, data: &[u8], share: &Range<usize>, mine: &mut [u8]) -> Result<()> {
        let (group, block) = (self.group, self.block());
        let mut input = Room::of(block.min(share.len()));
        for (index, total) in mine.chunks_mut(block).enumerate() {
            let start = share.start + index * block;
            let (range, input) = (start..start + total.len(), &mut input.bytes()[..total.len()]);
            group.check_open(&self.round)?;
            for member in 0..group.size() {
                let into = if member == 0 { &mut *total } else { &mut *input };
                match member == group.rank() {
                    true => into.copy_from_slice(&data[range.clone()]),
                    false => self.read_block(member, &range, into)?,
                }
                if member > 0 {
                    (self.how.combine)(total, input);
                }
            }
        }
        Ok(())
    }

    /// Bytes that are combined at a time.
    fn block(&self) -> usize {
        let mapped = self.sources.iter().all(|source| source.way == Access::Mapped as u64);
        let bytes = if mapped || self.group.port.ni().threads { MAPPED_BLOCK } else { PRIVATE_BLOCK };
        bytes / self.how.element * self.how.element
    }

    /// Combines one block and hands the result out.
    fn combine_block(&self, range: &Range<usize>, total: &mut [u8], input: &mut [u8]) -> Result<()> {
        let group = self.group;
        let (ni, rank) = (&**group.port.ni(), group.rank());
        let gets = |member: usize| self.root.is_none_or(|root| root == member);
        // SAFETY: within the own buffer, in the share that nobody else touches.
        let own = unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) };
        if rank == 0 && gets(0) {
            for member in 1..group.size() {
                self.read_block(member, range, input)?;
                (self.how.combine)(own, input);
            }
        } else {
            match rank {
                0 => total.copy_from_slice(own),
                _ => self.read_block(0, range, total)?,
            }
            for member in 1..group.size() {
                if member == rank {
                    (self.how.combine)(total, own);
                } else {
                    self.read_block(member, range, input)?;
                    (self.how.combine)(total, input);
                }
            }
            if gets(rank) {
                own.copy_from_slice(total);
            }
        }
        let result = if rank == 0 && gets(0) { &*own } else { &*total };
        (1..group.size()).map(|distance| (rank + distance) % group.size()).filter(|member| gets(*member)).try_for_each(
            |member| {
                let peer = group.members[member].rank;
                let source = self.sources[member];
                // SAFETY: the member keeps its buffer, of the same size by the label, until this one is done, and nobody
                // else touches this share of it.
                // Its lines are in this core's cache: they were just read.
                let written = unsafe { source.write(false, ni, peer, self.bytes, range.start, result) };
                written.map_err(|error| group.unreachable(peer, error))
            },
        )
    }

    fn read_block(&self, member: usize, range: &Range<usize>, into: &mut [u8]) -> Result<()> {
        let group = self.group;
        let (ni, peer) = (&**group.port.ni(), group.members[member].rank);
        // SAFETY: the member keeps its buffer, of the same size by the label, until this one is done, and nobody else
        // touches this share of it.
        let read = unsafe { self.sources[member].read(false, ni, peer, self.bytes, range.start, into) };
        read.map_err(|error| group.unreachable(peer, error))
    }
}

/// The first element of a member's share. A root need not write its result to anybody, so it combines more: the shares
/// are such that all read and write as much.
fn boundary(member: usize, size: usize, root: Option<usize>, elements: usize) -> usize {
    match root {
        None => member * elements / size,
        Some(root) => {
            let before = member * (size - 1) + (member > root) as usize;
            before * elements / (size * (size - 1) + 1)
        }
    }
}

/// However it ends, nobody is at the buffer afterwards.
struct Ending<'g, 'j> {
    group: NearGroup<'g, 'j>,
    round: Round,
    succeeded: bool,
}

impl Drop for Ending<'_, '_> {
    fn drop(&mut self) {
        if self.succeeded {
            return;
        }
        let group = self.group;
        if std::thread::panicking() {
            group.quit_after_panic();
        }
        group.shut(&self.round);
        group.finish(&self.round);
        group.await_readers(&self.round);
    }
}

#[cfg(test)]
mod tests {
    use super::boundary;

    #[test]
    fn shares_cover_all_elements_and_a_root_has_more() {
        for size in 1..9 {
            for root in (0..size).map(Some).chain([None]) {
                let starts: Vec<usize> = (0..=size).map(|member| boundary(member, size, root, 10_000)).collect();
                assert!(starts[0] == 0 && starts[size] == 10_000 && starts.is_sorted());
                let share = |member: usize| starts[member + 1] - starts[member];
                assert!((0..size).all(|member| share(member) >= 10_000 / size * 2 / 3));
                assert!(root.is_none_or(|root| (0..size).all(|member| share(root) >= share(member))));
            }
        }
        assert_eq!(boundary(1, 2, Some(0), 9), 6);
    }
}
