//! Reductions of a near group.
//!
//! Long vectors are combined where they are (see `share`), or where that cannot be, in pieces of a buffer. Who combines a piece:
//!
//! * reduce of short pieces, or of few, or where members share cores: the root, when all have come; the others go on
//!   at once.
//! * allreduce of what fits an entry: everybody for itself (see `short`).
//! * allreduce of short pieces, or of two: everybody for itself, from what all others show.
//! * allreduce where members share cores: the last to arrive, for all. The others wait once.
//! * reduce_scatter: each member its own block, from what all others show.
//! * longer pieces: each member one part of the piece for all, and then all, or the root, read the parts.

use super::contribution::PIECE_BYTES;
use super::group::NearGroup;
use crate::collective::label::{Kind, Label};
use crate::collective::operation::Combination;
use crate::collective::part::{BUFFER_BYTES, INLINE_MAX};
use crate::collective::room::{SCRATCH_BYTES, Scratch};
use crate::collective::round::Round;
use crate::collective::spread::pieces;
use crate::error::Result;
use crate::job::choice::{Call, Version};
use std::ops::Range;

/// Up to so many bytes, everybody combines everything for itself.
const DIRECT_MAX: usize = 1024;
/// Up to so many members, the root of a reduce combines everything.
const ROOT_MEMBERS_MAX: usize = 3;
/// Up to so many bytes of all contributions, the last to arrive combines them where members share cores.
const LAST_MAX: usize = 512 * 1024;

/// What the members below `end` have contributed to a call, each `bytes` bytes.
struct Contributions<'r, 'j> {
    group: NearGroup<'r, 'j>,
    round: &'r Round,
    end: usize,
    bytes: usize,
}

impl NearGroup<'_, '_> {
    /// Combines what all members give, where the elements are only bytes.
    #[inline(always)]
    pub(in crate::collective) fn near_combine(
        self,
        label: Label,
        data: &mut [u8],
        how: &Combination<'_>,
    ) -> Result<()> {
        match self.is_short(label) {
            true => self.allreduce_short(label, data, how),
            false => self.combine_bytes(label, data, how),
        }
    }

    #[inline(always)]
    fn combine_bytes(self, label: Label, data: &mut [u8], how: &Combination<'_>) -> Result<()> {
        let long = data.len() > BUFFER_BYTES;
        let done = match label.kind {
            Kind::Reduce => self.combine_otherwise(Call::Reduce, label, data, how, long)?,
            Kind::Allreduce => self.combine_otherwise(Call::Allreduce, label, data, how, long)?,
            _ => false,
        };
        if done {
            return Ok(());
        }
        self.note(Version::Buffers);
        let one = |piece: &mut [u8]| match label.kind {
            Kind::Reduce => self.reduce_piece(label, piece, how),
            Kind::Allreduce => self.allreduce_piece(label, piece, how),
            _ => self.scan_piece(label, piece, how),
        };
        // Whole elements; a division costs too much where it is not needed.
        if long { data.chunks_mut(BUFFER_BYTES / how.element * how.element).try_for_each(one) } else { one(data) }
    }

    /// By a tree, or where the data are, if that is the version for them; false if not.
    #[inline(always)]
    fn combine_otherwise(
        self,
        call: Call,
        label: Label,
        data: &mut [u8],
        how: &Combination<'_>,
        long: bool,
    ) -> Result<bool> {
        if self.choice.is_tree(call, data.len()) {
            return match call {
                Call::Reduce => self.tree_reduce(label, data, how),
                _ => self.tree_allreduce(label, data, how),
            };
        }
        let root = (call == Call::Reduce).then_some(label.root);
        let shares = long && self.choice.chosen(call, data.len()) != Some(Version::Buffers);
        Ok(shares && self.combine_shares(label, data, how, root)?)
    }

    fn reduce_piece(self, label: Label, data: &mut [u8], how: &Combination<'_>) -> Result<()> {
        let round = self.enter(label)?;
        if !self.crowded && self.size() > ROOT_MEMBERS_MAX && data.len() > DIRECT_MAX {
            self.contribute(&round, data);
            self.combine_in_parts(&round, data, how, Some(label.root))?;
            self.saw_everyone(&round);
        } else if self.rank() != label.root {
            self.contribute(&round, data);
            self.notify(label.root);
        } else {
            self.publish(&round);
            self.await_members(&round, self.size())?;
            self.of_all(&round, data.len()).fold(data, 0, how)?;
            self.saw_everyone(&round);
        }
        self.finish(&round);
        Ok(())
    }

    fn scan_piece(self, label: Label, data: &mut [u8], how: &Combination<'_>) -> Result<()> {
        let round = self.enter(label)?;
        self.contribute(&round, data);
        (self.rank() + 1..self.size()).for_each(|member| self.notify(member));
        self.await_members(&round, self.rank())?;
        let (bytes, end) = (data.len(), self.rank() + (label.kind == Kind::Scan) as usize);
        Contributions { group: self, round: &round, end, bytes }.fold(data, 0, how)?;
        self.finish(&round);
        Ok(())
    }

    fn allreduce_piece(self, label: Label, data: &mut [u8], how: &Combination<'_>) -> Result<()> {
        let round = self.enter(label)?;
        self.contribute(&round, data);
        let size = self.size();
        if self.crowded && size > 2 && data.len() * size <= LAST_MAX {
            self.combine_as_last(&round, data, how)?;
        } else if size <= 2 || data.len() <= DIRECT_MAX {
            self.notify_all();
            self.await_members(&round, size)?;
            self.of_all(&round, data.len()).fold(data, 0, how)?;
        } else {
            self.combine_in_parts(&round, data, how, None)?;
        }
        self.saw_everyone(&round);
        self.finish(&round);
        Ok(())
    }

    /// This member gets its `share` of what all have, in `mine`.
    pub(in crate::collective) fn near_reduce_scatter(
        self,
        label: Label,
        data: &[u8],
        mine: &mut [u8],
        share: &Range<usize>,
        how: &Combination<'_>,
    ) -> Result<()> {
        let by_buffers = self.choice.chosen(Call::Allreduce, data.len()) == Some(Version::Buffers);
        if data.len() > BUFFER_BYTES && !by_buffers && self.scatter_shares(label, data, mine, share, how)? {
            return Ok(());
        }
        self.note(Version::Buffers);
        for piece in pieces(data.len(), BUFFER_BYTES / how.element * how.element) {
            let round = self.enter(label)?;
            self.contribute(&round, &data[piece.clone()]);
            self.notify_all();
            self.await_members(&round, self.size())?;
            let part = share.start.clamp(piece.start, piece.end)..share.end.clamp(piece.start, piece.end);
            if !part.is_empty() {
                let into = &mut mine[part.start - share.start..part.end - share.start];
                into.copy_from_slice(&data[part.clone()]);
                self.of_all(&round, piece.len()).fold(into, part.start - piece.start, how)?;
            }
            self.saw_everyone(&round);
            self.finish(&round);
        }
        Ok(())
    }

    /// The last to arrive combines everything, and puts the result in the place of the first member's contribution,
    /// which nobody else reads.
    fn combine_as_last(self, round: &Round, data: &mut [u8], how: &Combination<'_>) -> Result<()> {
        let result = &self.part(0).results[round.slot];
        if self.arrive(round)? {
            self.await_members(round, self.size())?;
            self.of_all(round, data.len()).fold(data, 0, how)?;
            self.put(round, 0, data);
            result.set(round.number);
            self.notify_all();
        } else {
            self.wait(*round, || (result.get() == round.number).then_some(()))?;
            self.take(round, 0, data.len(), 0, data)?;
        }
        Ok(())
    }

    /// Each member combines one part, and puts the result in the place of that part of its own contribution, which
    /// nobody else reads. All read the results, or only the root, if there is one.
    fn combine_in_parts(
        self,
        round: &Round,
        data: &mut [u8],
        how: &Combination<'_>,
        root: Option<usize>,
    ) -> Result<()> {
        let (bytes, size, rank) = (data.len(), self.size(), self.rank());
        let elements = bytes / how.element;
        let start = |member: usize| member * elements / size * how.element;
        let part = start(rank)..start(rank + 1);
        self.notify_all();
        self.await_members(round, size)?;
        let reads = root.is_none_or(|root| root == rank);
        let kept = (!reads).then(|| data[part.clone()].to_vec());
        self.of_all(round, bytes).fold(&mut data[part.clone()], part.start, how)?;
        self.put_part(round, bytes, part.start, &data[part.clone()]);
        self.part(rank).results[round.slot].set(round.number);
        root.map_or_else(|| self.notify_all(), |root| self.notify(root));
        if let Some(kept) = kept {
            data[part].copy_from_slice(&kept);
            return Ok(());
        }
        for distance in 1..size {
            // Each begins with another, so that they do not all read the same lines.
            let member = (rank + distance) % size;
            let result = &self.part(member).results[round.slot];
            self.wait(*round, || (result.get() == round.number).then_some(()))?;
            let part = start(member)..start(member + 1);
            self.take(round, member, bytes, part.start, &mut data[part])?;
        }
        Ok(())
    }

    fn of_all<'r>(&'r self, round: &'r Round, bytes: usize) -> Contributions<'r, 'r> {
        Contributions { group: *self, round, end: self.size(), bytes }
    }
}

impl Contributions<'_, '_> {
    /// Combines the contributions of several members, this one's among them, in their order; of each the part at `offset`.
    /// `data` holds this member's, and then the result.
    fn fold(&self, data: &mut [u8], offset: usize, how: &Combination<'_>) -> Result<()> {
        if data.len() <= INLINE_MAX {
            let [mut total, mut input] = [const { Scratch([0; INLINE_MAX]) }; 2];
            return self.fold_step(data, offset, how, [&mut total.0, &mut input.0]);
        }
        // A piece is combined while the next one comes; where cores are shared they come whole.
        let step = if self.group.crowded { SCRATCH_BYTES } else { PIECE_BYTES };
        let step = (step / how.element).max(1) * how.element;
        let mut scratch =
            self.group.scratch.take().unwrap_or_else(|| Box::new([const { Scratch([0; SCRATCH_BYTES]) }; 2]));
        let [total, input] = &mut *scratch;
        for (index, data) in data.chunks_mut(step).enumerate() {
            self.fold_step(data, offset + index * step, how, [&mut total.0, &mut input.0])?;
        }
        self.group.scratch.set(Some(scratch));
        Ok(())
    }

    /// Folds a part that fits the scratch memory. The first member's contribution starts the total, which at that
    /// member grows in place.
    #[inline(always)]
    fn fold_step(&self, data: &mut [u8], offset: usize, how: &Combination<'_>, scratch: [&mut [u8]; 2]) -> Result<()> {
        let Contributions { group, round, end, bytes } = *self;
        let [total, input] = scratch.map(|scratch| &mut scratch[..data.len()]);
        if group.rank() == 0 {
            return (1..end).try_for_each(|member| {
                group.take(round, member, bytes, offset, input)?;
                (how.combine)(data, input);
                Ok(())
            });
        }
        group.take(round, 0, bytes, offset, total)?;
        for member in 1..end {
            if member == group.rank() {
                (how.combine)(total, data);
            } else {
                group.take(round, member, bytes, offset, input)?;
                (how.combine)(total, input);
            }
        }
        data.copy_from_slice(total);
        Ok(())
    }
}
