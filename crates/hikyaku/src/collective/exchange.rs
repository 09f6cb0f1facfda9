//! Moving blocks between members: gather, allgather, scatter, alltoall.
//!
//! All go in pieces of a buffer: whoever has something puts it there (in a scatter the root into the buffers of the
//! others), and whoever wants it copies it out. Buffers are used in turn, so that filling one and emptying another go on
//! at the same time.

use super::group::Group;
use super::label::{Kind, Label};
use super::part::BUFFER_BYTES;
use crate::error::Result;
use bytemuck::Pod;
use std::ops::Range;

impl Group<'_> {
    /// Collects the `mine` of all members in `all` of member `root`, in the order of ranks. `all` has room for as many
    /// elements from every member at the root; the others may give an empty one.
    ///
    /// ```
    /// hikyaku::local(3, |job| {
    ///     let world = job.world()?;
    ///     let mine = [job.rank() as u32, 7];
    ///     let mut all = [0; 6];
    ///     world.gather(&mine, &mut all, 1)?;
    ///     if job.rank() == 1 {
    ///         assert_eq!(all, [0, 7, 1, 7, 2, 7]);
    ///     }
    ///     world.allgather(&mine, &mut all)?;
    ///     assert_eq!(all, [0, 7, 1, 7, 2, 7]);
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    pub fn gather<T: Pod>(&self, mine: &[T], all: &mut [T], root: usize) -> Result<()> {
        self.settle()?;
        self.run_gather(mine, all, root)
    }

    pub(super) fn run_gather<T: Pod>(&self, mine: &[T], all: &mut [T], root: usize) -> Result<()> {
        let label = Label::new(Kind::Gather, size_of_val(mine)).root(root);
        self.check_root(label)?;
        let is_root = self.rank() == root;
        if is_root {
            self.check_blocks(label, mine.len(), all.len())?;
        }
        let (mine, all): (&[u8], &mut [u8]) = (bytemuck::cast_slice(mine), bytemuck::cast_slice_mut(all));
        if self.is_far() {
            return self.far_gather(label, mine, all);
        }
        for piece in pieces(mine.len(), BUFFER_BYTES) {
            let round = self.enter(label)?;
            if !is_root {
                self.contribute(&round, &mine[piece]);
                self.notify(root);
            } else {
                self.publish(&round);
                for member in 0..self.size() {
                    let target = &mut all[member * mine.len()..][piece.clone()];
                    if member == root {
                        target.copy_from_slice(&mine[piece.clone()]);
                    } else {
                        self.await_member(&round, member)?;
                        self.take(&round, member, piece.len(), 0, target)?;
                    }
                }
                self.saw_everyone(&round);
            }
            self.finish(&round);
        }
        Ok(())
    }

    /// Collects the `mine` of all members in `all` of every member, in the order of ranks.
    pub fn allgather<T: Pod>(&self, mine: &[T], all: &mut [T]) -> Result<()> {
        self.settle()?;
        self.run_allgather(mine, all)
    }

    pub(super) fn run_allgather<T: Pod>(&self, mine: &[T], all: &mut [T]) -> Result<()> {
        self.gather_everywhere(Kind::Allgather, mine, all)
    }

    /// The same for a call that is no `allgather` of the program: members that make one meanwhile do not take part.
    pub(super) fn gather_everywhere<T: Pod>(&self, kind: Kind, mine: &[T], all: &mut [T]) -> Result<()> {
        let label = Label::new(kind, size_of_val(mine));
        self.check_blocks(label, mine.len(), all.len())?;
        let (mine, all): (&[u8], &mut [u8]) = (bytemuck::cast_slice(mine), bytemuck::cast_slice_mut(all));
        if self.is_far() {
            return self.far_allgather(label, mine, all);
        }
        for piece in pieces(mine.len(), BUFFER_BYTES) {
            let round = self.enter(label)?;
            self.contribute(&round, &mine[piece.clone()]);
            self.notify_all();
            self.await_members(&round, self.size())?;
            for member in self.others_in_turn() {
                let target = &mut all[member * mine.len()..][piece.clone()];
                self.take(&round, member, piece.len(), 0, target)?;
            }
            all[self.rank() * mine.len()..][piece.clone()].copy_from_slice(&mine[piece]);
            self.saw_everyone(&round);
            self.finish(&round);
        }
        Ok(())
    }

    /// Gives each member its block of the `all` of member `root`: `mine.len()` elements, in the order of ranks. Others
    /// than the root may give an empty `all`.
    ///
    /// ```
    /// hikyaku::local(3, |job| {
    ///     let world = job.world()?;
    ///     let mut mine = [0; 2];
    ///     let all = if job.rank() == 0 { vec![1, 2, 3, 4, 5, 6] } else { vec![] };
    ///     world.scatter(&all, &mut mine, 0)?;
    ///     assert_eq!(mine, [2 * job.rank() + 1, 2 * job.rank() + 2]);
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    pub fn scatter<T: Pod>(&self, all: &[T], mine: &mut [T], root: usize) -> Result<()> {
        self.settle()?;
        self.run_scatter(all, mine, root)
    }

    pub(super) fn run_scatter<T: Pod>(&self, all: &[T], mine: &mut [T], root: usize) -> Result<()> {
        let label = Label::new(Kind::Scatter, size_of_val(mine)).root(root);
        self.check_root(label)?;
        let is_root = self.rank() == root;
        if is_root {
            self.check_blocks(label, mine.len(), all.len())?;
        }
        let (mine, all): (&mut [u8], &[u8]) = (bytemuck::cast_slice_mut(mine), bytemuck::cast_slice(all));
        if self.is_far() {
            return self.far_scatter(label, all, mine);
        }
        for piece in pieces(mine.len(), BUFFER_BYTES) {
            if is_root {
                let round = self.enter_keeping(label, 1)?;
                for member in self.others_in_turn() {
                    // The buffer, not the entry, of which the member itself is the only writer.
                    self.put_in_buffer(&round, member, 0, &all[member * mine.len()..][piece.clone()]);
                }
                self.publish(&round);
                self.notify_all();
                let own = root * mine.len();
                mine[piece.clone()].copy_from_slice(&all[own..][piece]);
                self.finish(&round);
            } else {
                let round = self.enter(label)?;
                self.publish(&round);
                self.await_member(&round, root)?;
                self.take_from_buffer(&round, self.rank(), 0, &mut mine[piece]);
                self.saw_keeper(&round);
                self.finish(&round);
            }
        }
        Ok(())
    }

    /// Gives every member its block of the `blocks` of every member: block `m` of member `k` becomes block `k` of the
    /// `into` of member `m`. Both have the same length, a multiple of the number of members.
    ///
    /// ```
    /// hikyaku::local(2, |job| {
    ///     let world = job.world()?;
    ///     let blocks = [10 * job.rank(), 10 * job.rank() + 1];
    ///     let mut into = [0; 2];
    ///     world.alltoall(&blocks, &mut into)?;
    ///     assert_eq!(into, [job.rank(), 10 + job.rank()]);
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    pub fn alltoall<T: Pod>(&self, blocks: &[T], into: &mut [T]) -> Result<()> {
        self.settle()?;
        self.run_alltoall(blocks, into)
    }

    pub(super) fn run_alltoall<T: Pod>(&self, blocks: &[T], into: &mut [T]) -> Result<()> {
        let size = self.size();
        let label = Label::new(Kind::Alltoall, size_of_val(blocks) / size);
        if !blocks.len().is_multiple_of(size) {
            let reason = format!("{} elements make no equal blocks for {size} members", blocks.len());
            return Err(self.refuse(label, reason));
        }
        self.check_blocks(label, blocks.len() / size, into.len())?;
        let (blocks, into): (&[u8], &mut [u8]) = (bytemuck::cast_slice(blocks), bytemuck::cast_slice_mut(into));
        if self.is_far() {
            return self.far_alltoall(label, blocks, into);
        }
        let block = blocks.len() / size;
        // A buffer holds a piece for every member; of a very large group, for some of them.
        let window = size.min(BUFFER_BYTES / 64);
        for first in (0..size).step_by(window) {
            let takers = first..(first + window).min(size);
            for piece in pieces(block, BUFFER_BYTES / window) {
                self.exchange(label, &takers, &piece, block, blocks, into)?;
            }
        }
        Ok(())
    }

    /// One round of an alltoall: a piece of the blocks for `takers`.
    fn exchange(
        &self,
        label: Label,
        takers: &Range<usize>,
        piece: &Range<usize>,
        block: usize,
        blocks: &[u8],
        into: &mut [u8],
    ) -> Result<()> {
        let round = self.enter(label)?;
        for (place, taker) in takers.clone().enumerate().filter(|(_, taker)| *taker != self.rank()) {
            let data = &blocks[taker * block..][piece.clone()];
            self.put_in_buffer(&round, self.rank(), place * piece.len(), data);
        }
        self.publish(&round);
        self.notify_all();
        self.await_members(&round, self.size())?;
        if takers.contains(&self.rank()) {
            let place = self.rank() - takers.start;
            for member in self.others_in_turn() {
                let target = &mut into[member * block..][piece.clone()];
                self.take_from_buffer(&round, member, place * piece.len(), target);
            }
            let own = self.rank() * block;
            into[own..][piece.clone()].copy_from_slice(&blocks[own..][piece.clone()]);
        }
        self.saw_everyone(&round);
        self.finish(&round);
        Ok(())
    }

    /// The other members, beginning with the next one: so that they do not all read the same at once.
    fn others_in_turn(&self) -> impl Iterator<Item = usize> {
        let (rank, size) = (self.rank(), self.size());
        (1..size).map(move |distance| (rank + distance) % size)
    }

    /// Refuses a slice that does not hold one block per member.
    fn check_blocks(&self, label: Label, block: usize, all: usize) -> Result<()> {
        match block.checked_mul(self.size()) == Some(all) {
            true => Ok(()),
            false => {
                let members = self.size();
                Err(self.refuse(label, format!("{members} blocks of {block} elements do not make {all} elements")))
            }
        }
    }
}

/// The pieces of a block: one, though empty, if it is empty.
fn pieces(bytes: usize, max: usize) -> impl Iterator<Item = Range<usize>> {
    let count = bytes.div_ceil(max).max(1);
    (0..count).map(move |index| index * max..((index + 1) * max).min(bytes))
}
