//! How the bytes of a buffer lie in memory: in one piece, or in columns with gaps between them. On the way there is only the
//! stream of bytes, so the two sides of a message may differ.

use std::ops::Range;

/// See above. Small, since every operation under way has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::message) struct Shape {
    /// Bytes of a column.
    pub column: u32,
    /// From the beginning of one column to that of the next.
    pub pitch: u32,
}

impl Shape {
    /// All in one piece: one column without end.
    pub const WHOLE: Shape = Shape { column: u32::MAX, pitch: 0 };

    #[inline(always)]
    pub fn is_whole(self) -> bool {
        self.column == u32::MAX
    }

    /// As it is told to a peer.
    pub fn word(self) -> u64 {
        (self.column as u64) << 32 | self.pitch as u64
    }

    /// As a peer told it: any number.
    pub fn of_word(word: u64) -> Shape {
        Shape { column: (word >> 32) as u32, pitch: word as u32 }
    }

    /// Where byte `at` lies, from the first, and how many bytes follow it in one piece, with itself.
    #[inline]
    fn place(self, at: usize) -> (usize, usize) {
        let (column, pitch) = (self.column as usize, self.pitch as usize);
        match self.is_whole() {
            true => (at, usize::MAX),
            false => (at / column * pitch + at % column, column - at % column),
        }
    }

    /// From the first of so many bytes to behind the last; `None` if that is no distance in memory, or this no shape: a peer
    /// may have told it.
    pub fn extent(self, bytes: usize) -> Option<usize> {
        let Some(last) = bytes.checked_sub(1) else { return Some(0) };
        if self.is_whole() {
            return Some(bytes);
        }
        // Columns that overlap would end elsewhere than the last one does.
        if self.pitch < self.column {
            return None;
        }
        let (column, pitch) = (self.column as usize, self.pitch as usize);
        let columns = last.checked_div(column)?.checked_mul(pitch)?;
        columns.checked_add(last % column)?.checked_add(1).filter(|extent| *extent <= isize::MAX as usize)
    }
}

/// Bytes of a stream that lie in one piece on both sides of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::message) struct Run {
    pub bytes: usize,
    /// Where they begin on each side, from the first byte there.
    pub starts: [usize; 2],
}

/// The runs of a part of the stream. Both shapes have an extent for all of it.
pub(in crate::message) fn runs(part: Range<usize>, sides: [Shape; 2]) -> impl Iterator<Item = Run> {
    let mut at = part.start;
    std::iter::from_fn(move || {
        let left = part.end.checked_sub(at).filter(|left| *left > 0)?;
        let [(one, follow_one), (other, follow_other)] = sides.map(|shape| shape.place(at));
        let bytes = left.min(follow_one).min(follow_other);
        at += bytes;
        Some(Run { bytes, starts: [one, other] })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(column: u32, pitch: u32) -> Shape {
        Shape { column, pitch }
    }

    #[test]
    fn extents() {
        assert_eq!(Shape::WHOLE.extent(10), Some(10));
        assert_eq!(columns(4, 10).extent(0), Some(0));
        assert_eq!([1, 4, 5, 8, 9].map(|bytes| columns(4, 10).extent(bytes).unwrap()), [1, 4, 11, 14, 21]);
    }

    #[test]
    fn what_a_peer_tells_may_be_no_shape() {
        assert_eq!(columns(0, 10).extent(10), None);
        assert_eq!(columns(1, u32::MAX).extent(1 << 32), None);
        assert_eq!(columns(1, u32::MAX).extent(1 << 40), None);
        assert_eq!(columns(100, 99).extent(150), None);
        assert_eq!(columns(u32::MAX - 1, 1).extent(usize::MAX), None);
    }

    #[test]
    fn runs_meet_every_byte_of_both_sides_once() {
        let shapes = [Shape::WHOLE, columns(4, 10), columns(7, 7), columns(3, 4)];
        for (one, other) in shapes.iter().flat_map(|one| shapes.map(|other| (*one, other))) {
            for part in [0..0, 0..1, 0..100, 13..77] {
                let place = |shape: Shape, at: usize| shape.place(at).0;
                let bytes = runs(part.clone(), [one, other]).flat_map(|run| (0..run.bytes).map(move |at| (run, at)));
                let met: Vec<_> = bytes.map(|(run, at)| run.starts.map(|start| start + at)).collect();
                let expected: Vec<_> = part.map(|at| [place(one, at), place(other, at)]).collect();
                assert_eq!(met, expected, "{one:?} {other:?}");
            }
        }
    }
}
