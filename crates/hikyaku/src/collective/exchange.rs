//! Moving blocks between members: gather, allgather, scatter, alltoall.
//!
//! All go in pieces of a buffer: whoever has something puts it there (in a scatter the root into the buffers of the
//! others), and whoever wants it copies it out. Buffers are used in turn, so that filling one and emptying another go on
//! at the same time. An alltoall that does not fit the buffers of a part goes through larger ones (see `stage`): each round
//! is a meeting of all, which costs more than the bytes where members share cores.

use super::group::Group;
use super::label::{Kind, Label};
use super::part::BUFFER_BYTES;
use super::round::Round;
use super::source::{Source, Way};
use super::stage::HALF_BYTES;
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

    /// Gathers for a call that is no `allgather` of the program: members that make one meanwhile do not take part.
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
        if blocks.len() > BUFFER_BYTES && self.alltoall_staged(label, block, blocks, into)? {
            return Ok(());
        }
        trips(size, block, BUFFER_BYTES).try_for_each(|trip| self.exchange(label, &trip, block, blocks, into))
    }

    /// Through the larger buffers of all members; false, and then nothing was exchanged, if a member has none.
    fn alltoall_staged(&self, label: Label, block: usize, blocks: &[u8], into: &mut [u8]) -> Result<bool> {
        for trip in trips(self.size(), block, HALF_BYTES) {
            if !self.exchange_staged(label, &trip, block, blocks, into)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// One round of an alltoall.
    fn exchange(&self, label: Label, trip: &Trip, block: usize, blocks: &[u8], into: &mut [u8]) -> Result<()> {
        let round = self.enter(label)?;
        for (offset, data) in trip.given(self.rank(), block, blocks) {
            self.put_in_buffer(&round, self.rank(), offset, data);
        }
        self.publish(&round);
        self.await_all(&round)?;
        if let Some(offset) = trip.offset_of(self.rank()) {
            for member in self.others_in_turn() {
                self.take_from_buffer(&round, member, offset, trip.place(member, block, into));
            }
            trip.keep(self.rank(), block, blocks, into);
        }
        self.saw_everyone(&round);
        self.finish(&round);
        Ok(())
    }

    /// One round of an alltoall through larger buffers. Each member tells where its own is, so that all know whether all have
    /// one; which they find out in the first round.
    fn exchange_staged(&self, label: Label, trip: &Trip, block: usize, blocks: &[u8], into: &mut [u8]) -> Result<bool> {
        let (half, stage) = (self.next_half(), self.stage());
        if stage.is_some() {
            self.await_half(half)?;
            for (offset, data) in trip.given(self.rank(), block, blocks) {
                self.fill(half * HALF_BYTES + offset, data);
            }
        }
        let span = |start| self.job.ni.own_span(start + half * HALF_BYTES, HALF_BYTES);
        let mine = stage.map_or(Source::in_rounds(), |start| Source::staged(span(start)));
        let round = self.enter(label)?;
        self.use_half(half, &round);
        self.contribute(&round, bytemuck::bytes_of(&mine));
        self.await_all(&round)?;
        let told = |member: usize| self.value_of::<Source>(&round, member);
        let is_staged = |member: usize| told(member).way == Way::Staged as u64;
        // What this member knows itself it does not read from where others may write.
        let all = stage.is_some() && self.others_in_turn().all(is_staged);
        let taken = match trip.offset_of(self.rank()).filter(|_| all) {
            Some(offset) => self.others_in_turn().try_for_each(|member| {
                let (rank, target) = (self.members[member].rank, trip.place(member, block, into));
                told(member).read_mapped(false, &self.job.ni, rank, HALF_BYTES, offset, target)
            }),
            None => Ok(()),
        };
        if all {
            trip.keep(self.rank(), block, blocks, into);
        }
        self.saw_everyone(&round);
        self.finish(&round);
        taken.map_err(|error| self.fail(error))?;
        Ok(all)
    }

    /// Waits until all members have entered a call that this one has published. Where they share cores, only the last one
    /// wakes the others: each of them could do nothing but go to sleep again.
    fn await_all(&self, round: &Round) -> Result<()> {
        if self.crowded && self.size() > 2 {
            if self.arrive(round)? {
                self.notify_all();
            } else {
                self.await_arrivals(round)?;
            }
        } else {
            self.notify_all();
        }
        self.await_members(round, self.size())
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

/// What one round of an alltoall moves: a piece of the blocks for some members.
struct Trip {
    takers: Range<usize>,
    piece: Range<usize>,
}

/// The rounds of an alltoall of blocks of `block` bytes through buffers of `buffer` bytes, each of which holds a piece for every
/// member; of a very large group, for some of them.
fn trips(size: usize, block: usize, buffer: usize) -> impl Iterator<Item = Trip> {
    let window = size.min(buffer / 64);
    (0..size).step_by(window).flat_map(move |first| {
        let takers = first..(first + window).min(size);
        pieces(block, buffer / window).map(move |piece| Trip { takers: takers.clone(), piece })
    })
}

impl Trip {
    /// What `giver` puts into its buffer, and where.
    fn given<'b>(&self, giver: usize, block: usize, blocks: &'b [u8]) -> impl Iterator<Item = (usize, &'b [u8])> {
        let (takers, piece) = (self.takers.clone(), self.piece.clone());
        let others = takers.enumerate().filter(move |(_, taker)| *taker != giver);
        others.map(move |(place, taker)| (place * piece.len(), &blocks[taker * block..][piece.clone()]))
    }

    /// Where in the buffer of any other the piece for `taker` lies, if there is one.
    fn offset_of(&self, taker: usize) -> Option<usize> {
        self.takers.contains(&taker).then(|| (taker - self.takers.start) * self.piece.len())
    }

    /// Where the piece of `giver` belongs.
    fn place<'b>(&self, giver: usize, block: usize, into: &'b mut [u8]) -> &'b mut [u8] {
        &mut into[giver * block..][self.piece.clone()]
    }

    /// Copies the piece of `rank` for itself, if there is one.
    fn keep(&self, rank: usize, block: usize, blocks: &[u8], into: &mut [u8]) {
        if self.takers.contains(&rank) {
            self.place(rank, block, into).copy_from_slice(&blocks[rank * block..][self.piece.clone()]);
        }
    }
}

/// The pieces of a block: one, though empty, if it is empty.
fn pieces(bytes: usize, max: usize) -> impl Iterator<Item = Range<usize>> {
    let count = bytes.div_ceil(max).max(1);
    (0..count).map(move |index| index * max..((index + 1) * max).min(bytes))
}
