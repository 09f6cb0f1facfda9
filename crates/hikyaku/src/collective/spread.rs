//! Blocks of one slice, one for each member: how the program describes them, and where they lie.

use crate::planted::{Bug, planted};
use std::borrow::Cow;
use std::ops::Range;

/// Blocks of different lengths in one slice, one per member, in the order of ranks, for [`crate::Group::gatherv`] and its like.
///
/// Made of a list of counts alone, they lie one after the other: calls take `&counts` for that. [`Blocks::at`] also says where each
/// begins. Counts and beginnings are in elements.
///
/// ```
/// use hikyaku::collective::Blocks;
///
/// hikyaku::local(2, |job| {
///     let world = job.world()?;
///     let mine = vec![job.rank() as u8 + 1; job.rank() + 1];
///     let mut all = [0; 5];
///     // The block of rank 1 first, then a gap.
///     world.allgatherv(&mine, &mut all, Blocks::at(&[1, 2], &[4, 0]))?;
///     assert_eq!(all, [2, 2, 0, 0, 1]);
///     hikyaku::Result::Ok(())
/// })
/// .unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Blocks<'b> {
    counts: Cow<'b, [usize]>,
    starts: Option<Cow<'b, [usize]>>,
}

impl<'b> Blocks<'b> {
    /// Blocks of so many elements that begin at these elements. Where they are written, they may not overlap.
    pub fn at(counts: &'b [usize], starts: &'b [usize]) -> Blocks<'b> {
        Blocks { counts: Cow::Borrowed(counts), starts: Some(Cow::Borrowed(starts)) }
    }

    /// Blocks that keep their lists, for calls that do not block and whose lists would end before them. Without `starts` they lie one
    /// after the other.
    ///
    /// ```
    /// use hikyaku::collective::Blocks;
    ///
    /// hikyaku::local(2, |job| {
    ///     let world = job.world()?;
    ///     let (mine, mut all) = ([job.rank()], [9; 2]);
    ///     world.scope(|scope| {
    ///         let blocks = Blocks::owned(vec![1; world.size()], None);
    ///         scope.wait(scope.iallgatherv(&mine, &mut all, blocks)?)
    ///     })?;
    ///     assert_eq!(all, [0, 1]);
    ///     hikyaku::Result::Ok(())
    /// })
    /// .unwrap();
    /// ```
    pub fn owned(counts: Vec<usize>, starts: Option<Vec<usize>>) -> Blocks<'static> {
        Blocks { counts: Cow::Owned(counts), starts: starts.map(Cow::Owned) }
    }

    /// How many elements a slice must have to hold them; `None` if no slice can.
    ///
    /// ```
    /// use hikyaku::collective::Blocks;
    ///
    /// assert_eq!(Blocks::from(&[1, 0, 2]).extent(), Some(3));
    /// assert_eq!(Blocks::at(&[1, 0, 2], &[9, 0, 4]).extent(), Some(10));
    /// assert_eq!(Blocks::from(&[usize::MAX, 1]).extent(), None);
    /// ```
    pub fn extent(&self) -> Option<usize> {
        match &self.starts {
            None => self.counts.iter().try_fold(0usize, |end, count| end.checked_add(*count)),
            Some(starts) => {
                let mut ends = starts.iter().zip(&self.counts[..]).map(|(start, count)| start.checked_add(*count));
                ends.try_fold(0, |extent, end| Some(extent.max(end?)))
            }
        }
    }

    /// Two of them that have elements in common, if there are such: they can be read, but not written. Of blocks that some slice can
    /// hold.
    ///
    /// ```
    /// use hikyaku::collective::Blocks;
    ///
    /// assert_eq!(Blocks::at(&[2, 2, 2], &[0, 4, 3]).overlap(), Some((2, 1)));
    /// assert_eq!(Blocks::from(&[2, 2, 2]).overlap(), None);
    /// ```
    pub fn overlap(&self) -> Option<(usize, usize)> {
        let extent = self.extent()?;
        self.ranges(self.counts.len(), extent, 1).ok().and_then(|ranges| overlap(&ranges))
    }

    /// Where they lie in `len` elements of `element` bytes each, in bytes; or what is wrong with them.
    pub(super) fn ranges(&self, members: usize, len: usize, element: usize) -> Result<Vec<Range<usize>>, String> {
        let (counts, starts) = (&self.counts[..], self.starts.as_deref());
        if counts.len() != members {
            return Err(format!("{} counts for {members} members: each needs one", counts.len()));
        }
        if let Some(starts) = starts.filter(|starts| starts.len() != members) {
            return Err(format!("{} beginnings of blocks for {members} members: each needs one", starts.len()));
        }
        let mut next = 0usize;
        let range = |(member, &count): (usize, &usize)| {
            let start = starts.map_or(next, |starts| starts[member]);
            let end = start.checked_add(count).filter(|end| *end <= len);
            next = end.unwrap_or(next);
            end.map(|end| start * element..end * element).ok_or_else(|| {
                format!("block {member}, of {count} elements from element {start} on, is not within {len} elements")
            })
        };
        counts.iter().enumerate().map(range).collect()
    }
}

impl<'b> From<&'b [usize]> for Blocks<'b> {
    fn from(counts: &'b [usize]) -> Blocks<'b> {
        Blocks { counts: Cow::Borrowed(counts), starts: None }
    }
}

impl<'b> From<&'b Vec<usize>> for Blocks<'b> {
    fn from(counts: &'b Vec<usize>) -> Blocks<'b> {
        Blocks::from(&counts[..])
    }
}

impl<'b, const N: usize> From<&'b [usize; N]> for Blocks<'b> {
    fn from(counts: &'b [usize; N]) -> Blocks<'b> {
        Blocks::from(&counts[..])
    }
}

/// Two blocks that have bytes in common, if there are such.
pub(super) fn overlap(ranges: &[Range<usize>]) -> Option<(usize, usize)> {
    let mut order: Vec<usize> = (0..ranges.len()).filter(|member| !ranges[*member].is_empty()).collect();
    order.sort_by_key(|member| ranges[*member].start);
    order.windows(2).find(|pair| ranges[pair[1]].start < ranges[pair[0]].end).map(|pair| (pair[0], pair[1]))
}

/// The bytes of the longest block.
pub(super) fn longest(ranges: &[Range<usize>]) -> usize {
    ranges.iter().map(Range::len).max().unwrap_or(0)
}

/// The lengths of blocks, in 24 bits, by which members find out that theirs differ.
pub(super) fn checksum(ranges: &[Range<usize>]) -> u32 {
    let mix =
        |sum: u64, range: &Range<usize>| (sum ^ range.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    (ranges.iter().fold(1, mix) >> 40) as u32
}

/// Where the blocks of the members lie in a buffer, in bytes.
#[derive(Clone, Copy)]
pub(super) enum Spread<'s> {
    /// All of so many bytes, one after the other.
    Even(usize),
    /// Here, of at most so many bytes each; a member that does not need to know where has no ranges.
    Uneven { ranges: &'s [Range<usize>], longest: usize },
}

impl Spread<'_> {
    /// Bytes of the longest block of any member: so many go in as many rounds at all of them.
    #[inline(always)]
    pub fn longest(self) -> usize {
        match self {
            Spread::Even(bytes) => bytes,
            Spread::Uneven { longest, .. } => longest,
        }
    }

    /// The block of a member.
    #[inline(always)]
    pub fn block(self, member: usize) -> Range<usize> {
        match self {
            Spread::Even(bytes) => member * bytes..(member + 1) * bytes,
            Spread::Uneven { ranges, .. } if planted(Bug::BlocksExchanged) => {
                ranges[(member + 1) % ranges.len()].clone()
            }
            Spread::Uneven { ranges, .. } => ranges[member].clone(),
        }
    }

    /// What the block of a member has of a piece of the longest.
    #[inline(always)]
    pub fn piece(self, member: usize, piece: &Range<usize>) -> Range<usize> {
        let block = self.block(member);
        let piece = clip(piece, block.len());
        block.start + piece.start..block.start + piece.end
    }
}

/// What a block of so many bytes has of a piece.
#[inline(always)]
pub(super) fn clip(piece: &Range<usize>, bytes: usize) -> Range<usize> {
    piece.start.min(bytes)..piece.end.min(bytes)
}

/// The pieces of a block, of at most `max` bytes: one, though empty, if it is empty.
#[inline(always)]
pub(super) fn pieces(bytes: usize, max: usize) -> impl Iterator<Item = Range<usize>> {
    let count = bytes.div_ceil(max).max(1);
    (0..count).map(move |index| index * max..((index + 1) * max).min(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_where_the_program_says() {
        let packed = Blocks::from(&[2, 0, 3]).ranges(3, 6, 8).unwrap();
        assert_eq!(packed, [0..16, 16..16, 16..40]);
        let apart = Blocks::at(&[2, 0, 3], &[4, 9, 0]).ranges(3, 9, 1).unwrap();
        assert_eq!(apart, [4..6, 9..9, 0..3]);
        assert_eq!((overlap(&apart), longest(&apart)), (None, 3));
        assert_eq!(overlap(&[4..6, 5..5, 0..5]), Some((2, 0)));
        assert_ne!(checksum(&packed), checksum(&[0..16, 16..24, 24..40]));
        // Where they lie is each member's own affair.
        assert_eq!(checksum(&[0..16, 16..16, 16..40]), checksum(&[24..40, 0..0, 0..24]));
    }

    #[test]
    fn what_is_wrong_is_told() {
        let told = |blocks: Blocks<'_>| blocks.ranges(2, 5, 8).unwrap_err();
        assert_eq!(told(Blocks::from(&[1])), "1 counts for 2 members: each needs one");
        assert_eq!(told(Blocks::at(&[1, 2], &[0])), "1 beginnings of blocks for 2 members: each needs one");
        let beyond = "block 1, of 3 elements from element 3 on, is not within 5 elements";
        assert_eq!(told(Blocks::from(&[3, 3])), beyond);
        assert!(Blocks::at(&[1, usize::MAX], &[0, 1]).ranges(2, 5, 8).is_err());
        assert!(Blocks::from(&[usize::MAX, 2]).ranges(2, 5, 0).is_err());
    }

    #[test]
    fn pieces_of_short_blocks_end_with_them() {
        let ranges = [0..10, 10..10, 10..30];
        let spread = Spread::Uneven { ranges: &ranges, longest: 20 };
        let of = |member: usize| {
            pieces(spread.longest(), 8).map(move |piece| spread.piece(member, &piece)).collect::<Vec<_>>()
        };
        assert_eq!(of(0), [0..8, 8..10, 10..10]);
        assert_eq!(of(1), [10..10, 10..10, 10..10]);
        assert_eq!(of(2), [10..18, 18..26, 26..30]);
        assert_eq!(Spread::Even(20).piece(2, &(8..16)), 48..56);
    }
}
