//! Contributions of some kilobytes, which others read piece by piece while they are still written.
//!
//! ```text
//!   member                              peer
//!   first piece
//!   entry: what I ask for     ------->  reads the first piece
//!   second piece
//!   its mark = n              ------->  reads the second piece
//!   ...
//! ```
//! Where members share cores they are written whole: a writer that loses its core in the middle would be waited for twice.

use super::group::Group;
use super::part::BUFFER_BYTES;
use super::round::Round;
use crate::error::Result;
use crate::memory::copy;
use crate::message::slot::{Marks, PIECE_COUNT};

/// Bytes that are written, and read, at a time. The first piece comes with the entry; the others have marks, as those of a
/// message, which bear the number of the call.
pub(super) const PIECE_BYTES: usize = BUFFER_BYTES / PIECE_COUNT;

impl Group<'_> {
    /// Whether a contribution of so many bytes goes in pieces: all members say the same.
    #[inline(always)]
    pub(super) fn goes_in_pieces(&self, bytes: usize) -> bool {
        bytes > PIECE_BYTES && !self.crowded
    }

    /// Writes this member's contribution, and shows what it asks for with the first piece.
    pub(super) fn contribute_in_pieces(&self, round: &Round, data: &[u8]) {
        let marks = &self.part(self.rank()).pieces[round.slot];
        for (index, piece) in data.chunks(PIECE_BYTES).enumerate() {
            self.put_in_buffer(round, self.rank(), index * PIECE_BYTES, piece);
            match index {
                0 => self.publish(round),
                _ => marks.set(index, round.number),
            }
        }
    }

    /// Fetches the piece at `offset` of another member's contribution if it is there: it will be read after what was read
    /// before is combined.
    #[inline(always)]
    fn expect_piece(&self, round: &Round, member: usize, offset: usize) {
        let index = offset / PIECE_BYTES;
        let marks = &self.part(member).pieces[round.slot];
        if (1..PIECE_COUNT).contains(&index) && marks.has(index, round.number) {
            let bytes = (index + 1) * PIECE_BYTES - offset;
            copy::expect_read(self.members[member].buffer(round.slot).part(offset, bytes).start(), bytes);
        }
    }

    /// Fetches the marks of a contribution that will most likely be written.
    #[inline(always)]
    pub(super) fn expect_pieces(&self, slot: usize, bytes: usize) {
        let marks = &raw const self.part(self.rank()).pieces[slot];
        if self.goes_in_pieces(bytes) {
            copy::expect_write(marks.cast_mut().cast(), size_of::<Marks>());
        }
    }

    /// Copies what lies at `offset` of another member's contribution, as its pieces come.
    pub(super) fn take_in_pieces(&self, round: &Round, member: usize, offset: usize, into: &mut [u8]) -> Result<()> {
        let marks = &self.part(member).pieces[round.slot];
        let mut rest = into;
        let mut at = offset;
        while !rest.is_empty() {
            let index = at / PIECE_BYTES;
            let (piece, behind) = rest.split_at_mut(rest.len().min((index + 1) * PIECE_BYTES - at));
            if index > 0 {
                self.wait(*round, || marks.has(index, round.number).then_some(()))?;
            }
            self.take_from_buffer(round, member, at, piece);
            at += piece.len();
            rest = behind;
        }
        self.expect_piece(round, member, at);
        Ok(())
    }
}
