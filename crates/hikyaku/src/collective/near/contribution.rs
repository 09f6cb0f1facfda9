//! What members contribute to a call, and what they take of the contributions of others.
//!
//! Those of some kilobytes are read piece by piece while they are still written.
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

use super::group::NearGroup;
use crate::collective::part::{BUFFER_BYTES, INLINE_MAX};
use crate::collective::round::Round;
use crate::collective::words::SLOT_COUNT;
use crate::error::Result;
use crate::memory::copy;
use crate::memory::span::Span;
use crate::message::wire::slot::{Marks, PIECE_COUNT};
use bytemuck::Pod;

/// Bytes that are written, and read, at a time. The first piece comes with the entry; the others have marks, as those of a
/// message, which bear the number of the call.
pub(in crate::collective) const PIECE_BYTES: usize = BUFFER_BYTES / PIECE_COUNT;

impl<'g> NearGroup<'g, '_> {
    /// Shows what this member asks for, with a contribution of at most [`BUFFER_BYTES`].
    #[inline(always)]
    pub(in crate::collective) fn contribute(self, round: &Round, data: &[u8]) {
        if self.goes_in_pieces(data.len()) {
            self.contribute_in_pieces(round, data);
        } else {
            self.put(round, self.rank(), data);
            self.publish(round);
        }
        if data.len() > INLINE_MAX {
            self.expect_next(round, data.len());
        }
    }

    /// Fetches the lines that the next contribution will most likely be written to, which others have read since they
    /// were last written: members contribute in every call, or take turns. Not while others may still read them.
    #[inline(always)]
    fn expect_next(self, round: &Round, bytes: usize) {
        let stride = round.number - self.contributed.replace(round.number);
        let next = round.number + stride;
        if stride >= SLOT_COUNT {
            return;
        }
        if self.floor.lacks(next, 0).is_some() {
            // Now, while others read what was contributed: where every member has a core it costs nothing to know.
            self.look_how_far_all_are();
        }
        if self.floor.lacks(next, 0).is_none() {
            let slot = (next % SLOT_COUNT) as usize;
            copy::expect_write(self.members[self.rank()].buffer(slot).start(), bytes);
            self.expect_pieces(slot, bytes);
        }
    }

    /// Copies into the place for a contribution (or result) of `data.len()` bytes in the slot of a member.
    #[inline(always)]
    pub(in crate::collective) fn put(self, round: &Round, member: usize, data: &[u8]) {
        self.contribution(round, member, data.len()).copy_in(data);
    }

    /// Copies into a part of the place for this member's contribution of `bytes` bytes.
    pub(in crate::collective) fn put_part(self, round: &Round, bytes: usize, offset: usize, data: &[u8]) {
        self.contribution(round, self.rank(), bytes).part(offset, data.len()).copy_in(data);
    }

    /// Where the contribution of a member lies, if it has `bytes` bytes.
    #[inline(always)]
    pub(in crate::collective) fn contribution(self, round: &Round, member: usize, bytes: usize) -> Span<'g> {
        match bytes <= INLINE_MAX {
            true => self.entry(member, round).payload().part(0, bytes),
            false => self.members[member].buffer(round.slot).part(0, bytes),
        }
    }

    /// Copies `into.len()` bytes at `offset` of a contribution of `bytes` bytes out. Waits for what is still to come of one
    /// that goes in pieces.
    #[inline(always)]
    pub(in crate::collective) fn take(
        self,
        round: &Round,
        member: usize,
        bytes: usize,
        offset: usize,
        into: &mut [u8],
    ) -> Result<()> {
        assert!(offset + into.len() <= bytes);
        if self.goes_in_pieces(bytes) && member != self.rank() {
            return self.take_in_pieces(round, member, offset, into);
        }
        self.contribution(round, member, bytes).part(offset, into.len()).copy_out(into);
        Ok(())
    }

    /// The value that a member has contributed: short enough to have come with its entry.
    pub(in crate::collective) fn value_of<T: Pod>(self, round: &Round, member: usize) -> T {
        const { assert!(size_of::<T>() <= PIECE_BYTES) };
        let mut value = T::zeroed();
        self.contribution(round, member, size_of::<T>()).copy_out(bytemuck::bytes_of_mut(&mut value));
        value
    }

    /// Copies into the buffer of a member, at `offset`, whatever the size.
    pub(in crate::collective) fn put_in_buffer(self, round: &Round, member: usize, offset: usize, data: &[u8]) {
        self.members[member].buffer(round.slot).part(offset, data.len()).copy_in(data);
    }

    /// Copies out of the buffer of a member.
    pub(in crate::collective) fn take_from_buffer(self, round: &Round, member: usize, offset: usize, into: &mut [u8]) {
        self.members[member].buffer(round.slot).part(offset, into.len()).copy_out(into);
    }

    /// Whether a contribution of so many bytes goes in pieces: all members say the same.
    #[inline(always)]
    pub(in crate::collective) fn goes_in_pieces(self, bytes: usize) -> bool {
        bytes > PIECE_BYTES && !self.crowded
    }

    /// Writes this member's contribution, and shows what it asks for with the first piece.
    pub(in crate::collective) fn contribute_in_pieces(self, round: &Round, data: &[u8]) {
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
    fn expect_piece(self, round: &Round, member: usize, offset: usize) {
        let index = offset / PIECE_BYTES;
        let marks = &self.part(member).pieces[round.slot];
        if (1..PIECE_COUNT).contains(&index) && marks.has(index, round.number) {
            let bytes = (index + 1) * PIECE_BYTES - offset;
            copy::expect_read(self.members[member].buffer(round.slot).part(offset, bytes).start(), bytes);
        }
    }

    /// Fetches the marks of a contribution that will most likely be written.
    #[inline(always)]
    pub(in crate::collective) fn expect_pieces(self, slot: usize, bytes: usize) {
        let marks = &raw const self.part(self.rank()).pieces[slot];
        if self.goes_in_pieces(bytes) {
            copy::expect_write(marks.cast_mut().cast(), size_of::<Marks>());
        }
    }

    /// Copies what lies at `offset` of another member's contribution, as its pieces come.
    pub(in crate::collective) fn take_in_pieces(
        self,
        round: &Round,
        member: usize,
        offset: usize,
        into: &mut [u8],
    ) -> Result<()> {
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
