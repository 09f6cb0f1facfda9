//! Data in pieces of a short message.

use crate::message::EAGER_MAX;
use std::ops::Range;

/// What a member asks for, before the data of each message.
pub(super) const LABEL_BYTES: usize = 16;
/// Data of a message.
pub(super) const PIECE_BYTES: usize = EAGER_MAX - LABEL_BYTES;

/// How many pieces so many bytes are: one, though empty, if there are none.
pub(super) fn piece_count(bytes: usize) -> usize {
    bytes.div_ceil(PIECE_BYTES).max(1)
}

/// Where a piece lies in so many bytes.
pub(super) fn piece_range(index: usize, bytes: usize) -> Range<usize> {
    index * PIECE_BYTES..((index + 1) * PIECE_BYTES).min(bytes)
}

/// The pieces of some bytes, and their numbers.
pub(super) fn pieces(bytes: usize) -> impl Iterator<Item = (usize, Range<usize>)> {
    (0..piece_count(bytes)).map(move |index| (index, piece_range(index, bytes)))
}
