//! Blocks of different lengths: gatherv, allgatherv, scatterv, alltoallv, reduce_scatter.
//!
//! Where not all members know all lengths, they first agree: in gatherv and scatterv the root hears how many bytes each member has
//! and tells all what the longest block is, or who does not fit; in alltoallv every two members compare, and all hear of it. Then
//! the blocks go as those of one length do, in as many rounds as the longest needs. So members that do not fit together all get the
//! same error, which says what is wrong, and nothing was moved. In allgatherv and reduce_scatter all give all counts, and compare a
//! checksum of them as they compare everything else.

use super::group::Group;
use super::label::{Kind, Label, REFUSED_BYTES};
use super::operation::{Combination, Marked, Operation};
use super::room::Scratch;
use super::spread::{self, Blocks, Spread};
use crate::error::{Error, Result};
use bytemuck::Pod;
use std::ops::Range;

impl Group<'_> {
    /// Collects the `mine` of all members, of any lengths, in `all` of member `root`, where `blocks` says how many elements come from
    /// whom, and where they go. The others may give an empty `all`, and their `blocks` do not matter.
    ///
    /// ```
    /// hikyaku::local(3, |job| {
    ///     let world = job.world()?;
    ///     // Rank 0 has no element, rank 1 has one, rank 2 two.
    ///     let mine = vec![job.rank(); job.rank()];
    ///     let mut all = [0; 3];
    ///     world.gatherv(&mine, &mut all, &[0, 1, 2], 0)?;
    ///     if job.rank() == 0 {
    ///         assert_eq!(all, [1, 2, 2]);
    ///     }
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    #[track_caller]
    pub fn gatherv<'b, T: Pod>(
        &self,
        mine: &[T],
        all: &mut [T],
        blocks: impl Into<Blocks<'b>>,
        root: usize,
    ) -> Result<()> {
        self.begin(&"gatherv")?;
        self.run_gatherv(mine, all, blocks.into(), root)
    }

    pub(super) fn run_gatherv<T: Pod>(&self, mine: &[T], all: &mut [T], blocks: Blocks<'_>, root: usize) -> Result<()> {
        let label = Label::new(Kind::Gatherv, 0).root(root);
        self.check_root(label)?;
        let ranges = if self.rank() == root { self.ranges_apart(label, blocks, all)? } else { Vec::new() };
        let longest = self.agree_with_root(label, size_of_val(mine), &ranges)?;
        let (mine, all): (&[u8], &mut [u8]) = (bytemuck::cast_slice(mine), bytemuck::cast_slice_mut(all));
        self.reach().gather(label, mine, all, Spread::Uneven { ranges: &ranges, longest })
    }

    /// Collects the `mine` of all members, of any lengths, in `all` of every member. All know how many elements come from whom; where
    /// they go may differ.
    ///
    /// ```
    /// hikyaku::local(3, |job| {
    ///     let world = job.world()?;
    ///     let mine = vec![job.rank(); job.rank()];
    ///     let mut all = [0; 3];
    ///     world.allgatherv(&mine, &mut all, &[0, 1, 2])?;
    ///     assert_eq!(all, [1, 2, 2]);
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    #[track_caller]
    pub fn allgatherv<'b, T: Pod>(&self, mine: &[T], all: &mut [T], blocks: impl Into<Blocks<'b>>) -> Result<()> {
        self.begin(&"allgatherv")?;
        self.run_allgatherv(mine, all, blocks.into())
    }

    pub(super) fn run_allgatherv<T: Pod>(&self, mine: &[T], all: &mut [T], blocks: Blocks<'_>) -> Result<()> {
        let label = Label::new(Kind::Allgatherv, 0);
        let ranges = self.ranges_apart(label, blocks, all)?;
        self.check_own(label, size_of_val(mine), &ranges)?;
        // Blocks that lie apart have no more bytes than the memory they are in.
        let (total, sum) = (ranges.iter().map(Range::len).sum(), spread::checksum(&ranges));
        let label = Label::new(Kind::Allgatherv, total).root(sum as usize & 0xFFFF).code((sum >> 16) as u8);
        let (mine, all): (&[u8], &mut [u8]) = (bytemuck::cast_slice(mine), bytemuck::cast_slice_mut(all));
        self.reach().allgatherv(label, mine, all, &ranges)
    }

    /// Gives each member its block of the `all` of member `root`, where `blocks` says which that is. Each `mine` has the length of its
    /// block. Others than the root may give an empty `all`, and their `blocks` do not matter.
    ///
    /// ```
    /// hikyaku::local(3, |job| {
    ///     let world = job.world()?;
    ///     let mut mine = vec![0; job.rank()];
    ///     world.scatterv(&[7, 8, 9], &[0, 1, 2], &mut mine, 0)?;
    ///     assert_eq!(mine, [&[][..], &[7], &[8, 9]][job.rank()]);
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    #[track_caller]
    pub fn scatterv<'b, T: Pod>(
        &self,
        all: &[T],
        blocks: impl Into<Blocks<'b>>,
        mine: &mut [T],
        root: usize,
    ) -> Result<()> {
        self.begin(&"scatterv")?;
        self.run_scatterv(all, blocks.into(), mine, root)
    }

    pub(super) fn run_scatterv<T: Pod>(
        &self,
        all: &[T],
        blocks: Blocks<'_>,
        mine: &mut [T],
        root: usize,
    ) -> Result<()> {
        let label = Label::new(Kind::Scatterv, 0).root(root);
        self.check_root(label)?;
        let ranges = if self.rank() == root { self.ranges(label, blocks, all)? } else { Vec::new() };
        let longest = self.agree_with_root(label, size_of_val(mine), &ranges)?;
        let (mine, all): (&mut [u8], &[u8]) = (bytemuck::cast_slice_mut(mine), bytemuck::cast_slice(all));
        self.reach().scatter(label, all, mine, Spread::Uneven { ranges: &ranges, longest })
    }

    /// Gives every member its block of the `from` of every member, of any lengths: block `m` of member `k`, as its `given` says, becomes
    /// block `k` of the `into` of member `m`, as its `taken` says. Each two must agree on how many elements that is.
    ///
    /// ```
    /// hikyaku::local(2, |job| {
    ///     let world = job.world()?;
    ///     // Rank 0 keeps one element and gives two; rank 1 gives none and keeps one.
    ///     let (from, given, taken): (&[u8], _, _) = match job.rank() {
    ///         0 => (&[1, 2, 3], [1, 2], [1, 0]),
    ///         _ => (&[4], [0, 1], [2, 1]),
    ///     };
    ///     let mut into = vec![0; taken.iter().sum()];
    ///     world.alltoallv(from, &given, &mut into, &taken)?;
    ///     assert_eq!(into, [&[1][..], &[2, 3, 4]][job.rank()]);
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    #[track_caller]
    pub fn alltoallv<'g, 't, T: Pod>(
        &self,
        from: &[T],
        given: impl Into<Blocks<'g>>,
        into: &mut [T],
        taken: impl Into<Blocks<'t>>,
    ) -> Result<()> {
        self.begin(&"alltoallv")?;
        self.run_alltoallv(from, given.into(), into, taken.into())
    }

    pub(super) fn run_alltoallv<T: Pod>(
        &self,
        from: &[T],
        given: Blocks<'_>,
        into: &mut [T],
        taken: Blocks<'_>,
    ) -> Result<()> {
        let label = Label::new(Kind::Alltoallv, 0);
        let (given, taken) = (self.ranges(label, given, from)?, self.ranges_apart(label, taken, into)?);
        let longest = self.agree_in_pairs(label, &given, &taken)?;
        let (from, into): (&[u8], &mut [u8]) = (bytemuck::cast_slice(from), bytemuck::cast_slice_mut(into));
        let spread = |ranges| Spread::Uneven { ranges, longest };
        self.reach().alltoall(label, (from, spread(&given)), (into, spread(&taken)))
    }

    /// Combines the `data` of all members, and gives each member its block of the result in `mine`. `counts` says how many elements
    /// each gets, one after the other, and is the same at all members; together they are all of `data`.
    ///
    /// ```
    /// use hikyaku::collective::Sum;
    ///
    /// hikyaku::local(3, |job| {
    ///     let world = job.world()?;
    ///     let data = [1u64, 2, 3];
    ///     let mut mine = vec![0; job.rank()];
    ///     world.reduce_scatter(&data, &mut mine, &[0, 1, 2], Sum)?;
    ///     assert_eq!(mine, [&[][..], &[3], &[6, 9]][job.rank()]);
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    #[track_caller]
    pub fn reduce_scatter<T: Pod, O: Operation<T>>(
        &self,
        data: &[T],
        mine: &mut [T],
        counts: &[usize],
        operation: O,
    ) -> Result<()> {
        self.begin(&"reduce_scatter")?;
        self.run_reduce_scatter(data, mine, counts, Marked::new(operation))
    }

    pub(super) fn run_reduce_scatter<T: Pod, O: Operation<T>>(
        &self,
        data: &[T],
        mine: &mut [T],
        counts: &[usize],
        operation: O,
    ) -> Result<()> {
        const { assert!(align_of::<T>() <= align_of::<Scratch>()) };
        let label = Label::new(Kind::ReduceScatter, size_of_val(data)).code(O::CODE).element(size_of::<T>());
        let combine = |total: &mut [u8], input: &[u8]| {
            operation.combine(bytemuck::cast_slice_mut(total), bytemuck::cast_slice(input))
        };
        let how = Combination { element: size_of::<T>(), combine: &combine };
        self.run_scattered(label, bytemuck::cast_slice(data), bytemuck::cast_slice_mut(mine), counts, &how)
    }

    /// [`Group::reduce_scatter`] of blocks that all have the length of `mine`.
    ///
    /// ```
    /// use hikyaku::collective::Max;
    ///
    /// hikyaku::local(2, |job| {
    ///     let world = job.world()?;
    ///     let data = [1, 2, 3, 4].map(|number| number * (job.rank() as i64 * 2 - 1));
    ///     let mut mine = [0; 2];
    ///     world.reduce_scatter_block(&data, &mut mine, Max)?;
    ///     assert_eq!(mine, [[1, 2], [3, 4]][job.rank()]);
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    #[track_caller]
    pub fn reduce_scatter_block<T: Pod, O: Operation<T>>(
        &self,
        data: &[T],
        mine: &mut [T],
        operation: O,
    ) -> Result<()> {
        self.begin(&"reduce_scatter_block")?;
        self.run_reduce_scatter_block(data, mine, Marked::new(operation))
    }

    pub(super) fn run_reduce_scatter_block<T: Pod, O: Operation<T>>(
        &self,
        data: &[T],
        mine: &mut [T],
        operation: O,
    ) -> Result<()> {
        self.run_reduce_scatter(data, mine, &vec![mine.len(); self.size()], operation)
    }

    /// A reduce_scatter of elements that are bytes; the label lacks the counts.
    pub(super) fn run_scattered(
        &self,
        label: Label,
        data: &[u8],
        mine: &mut [u8],
        counts: &[usize],
        how: &Combination<'_>,
    ) -> Result<()> {
        self.check_elements(label, data.len(), how.element)?;
        let elements = data.len() / how.element;
        let ranges = Blocks::from(counts).ranges(self.size(), elements, how.element);
        let ranges = ranges.map_err(|reason| self.refuse(label, reason))?;
        let end = ranges.last().map_or(0, |last| last.end);
        if end != data.len() {
            let reason = format!("counts of {} elements in all for {elements} elements", end / how.element);
            return Err(self.refuse(label, reason));
        }
        self.check_own(label, mine.len(), &ranges)?;
        let label = label.root(spread::checksum(&ranges) as usize & 0xFFFF);
        self.quit_on_panic(|| self.reach().reduce_scatter(label, data, mine, &ranges, how))
    }

    /// Where blocks lie in a slice, in bytes; refuses those that do not lie in it.
    fn ranges<T: Pod>(&self, label: Label, blocks: Blocks<'_>, slice: &[T]) -> Result<Vec<Range<usize>>> {
        let ranges = blocks.ranges(self.size(), slice.len(), size_of::<T>());
        ranges.map_err(|reason| self.refuse(label, reason))
    }

    /// Likewise of blocks that are written, which do not overlap.
    fn ranges_apart<T: Pod>(&self, label: Label, blocks: Blocks<'_>, slice: &[T]) -> Result<Vec<Range<usize>>> {
        let ranges = self.ranges(label, blocks, slice)?;
        match spread::overlap(&ranges) {
            None => Ok(ranges),
            Some((one, other)) => Err(self.refuse(label, format!("blocks {one} and {other} overlap"))),
        }
    }

    /// Refuses a buffer of this member that is not as long as its own count says.
    fn check_own(&self, label: Label, bytes: usize, ranges: &[Range<usize>]) -> Result<()> {
        let count = ranges[self.rank()].len();
        match count == bytes {
            true => Ok(()),
            false => Err(self.refuse(label, format!("the own block has {bytes} bytes, and its count says {count}"))),
        }
    }

    /// Finds out whether the root, which has `ranges`, and each member, which has `bytes`, mean the same; the longest block.
    fn agree_with_root(&self, label: Label, bytes: usize, ranges: &[Range<usize>]) -> Result<usize> {
        let is_root = self.rank() == label.root;
        let mut told = vec![0u64; if is_root { self.size() } else { 0 }];
        let all = bytemuck::cast_slice_mut(&mut told);
        self.reach().gather(label, bytemuck::bytes_of(&(bytes as u64)), all, Spread::Even(size_of::<u64>()))?;
        let mut verdict = Verdict::default();
        if is_root {
            verdict.longest = spread::longest(ranges) as u64;
            let counts = ranges.iter().map(|range| range.len() as u64);
            if let Some((member, (bytes, count))) = told.into_iter().zip(counts).enumerate().find(|(_, (a, b))| a != b)
            {
                (verdict.odd, verdict.theirs, verdict.count) = (member as u64 + 1, bytes, count);
            }
        }
        self.reach().broadcast(label, bytemuck::bytes_of_mut(&mut verdict))?;
        match self.member(verdict.odd) {
            None => Ok(bounded(verdict.longest)),
            Some(member) if label.kind == Kind::Gatherv => {
                Err(self.differ("gatherv", (member, verdict.theirs), (label.root, verdict.count)))
            }
            Some(member) => Err(self.differ("scatterv", (label.root, verdict.count), (member, verdict.theirs))),
        }
    }

    /// Finds out whether every two members mean the same; the longest block of all.
    fn agree_in_pairs(&self, label: Label, given: &[Range<usize>], taken: &[Range<usize>]) -> Result<usize> {
        let mine: Vec<u64> = given.iter().map(|range| range.len() as u64).collect();
        let mut theirs = vec![0u64; self.size()];
        let spread = Spread::Even(size_of::<u64>());
        let into = bytemuck::cast_slice_mut(&mut theirs);
        self.reach().alltoall(label, (bytemuck::cast_slice(&mine), spread), (into, spread))?;
        let mut verdict = Verdict { longest: spread::longest(given) as u64, ..Verdict::default() };
        let counts = taken.iter().map(|range| range.len() as u64);
        if let Some((member, (bytes, count))) = theirs.into_iter().zip(counts).enumerate().find(|(_, (a, b))| a != b) {
            (verdict.odd, verdict.theirs, verdict.count) = (member as u64 + 1, bytes, count);
        }
        let mut verdicts = vec![Verdict::default(); self.size()];
        self.reach().allgather(label, bytemuck::bytes_of(&verdict), bytemuck::cast_slice_mut(&mut verdicts))?;
        let odd =
            verdicts.iter().enumerate().find_map(|(taker, verdict)| Some((taker, self.member(verdict.odd)?, verdict)));
        match odd {
            None => Ok(bounded(verdicts.iter().map(|verdict| verdict.longest).max().unwrap_or(0))),
            Some((taker, giver, verdict)) => {
                Err(self.differ("alltoallv", (giver, verdict.theirs), (taker, verdict.count)))
            }
        }
    }

    /// The member that a verdict names.
    fn member(&self, odd: u64) -> Option<usize> {
        odd.checked_sub(1).map(|member| member as usize % self.size())
    }

    /// A member gives other than so many bytes to one that takes so many: all members know.
    #[cold]
    fn differ(&self, call: &'static str, (giver, gives): (usize, u64), (taker, takes): (usize, u64)) -> Error {
        let [from, to] = [giver, taker].map(|member| self.members[member].rank);
        let giving = format!("{call}({gives} bytes for rank {to})");
        let taking = format!("{call}({takes} bytes from rank {from})");
        let (rank, mine, theirs, my_call, their_call) = match self.rank() {
            me if me == giver => (to, gives, takes, giving, taking),
            me if me == taker => (from, takes, gives, taking, giving),
            _ => (from, takes, gives, format!("{call} and rank {to} {taking}"), giving),
        };
        self.fail(Error::Mismatch { operation: call, rank, mine, theirs, my_call, their_call })
    }
}

/// A length that another member told: no more than a member can have, so that a wrong one only takes long.
fn bounded(longest: u64) -> usize {
    (longest as usize).min(REFUSED_BYTES)
}

/// What members tell each other before blocks of different lengths move.
#[derive(Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Verdict {
    /// Bytes of the longest block.
    longest: u64,
    /// Number of a member that does not fit, from 1 on; 0: all do.
    odd: u64,
    /// Bytes that it says, and that its counterpart says.
    theirs: u64,
    count: u64,
}
