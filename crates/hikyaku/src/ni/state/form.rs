//! What a transfer moves, and how it is cut into pieces: each is an operation whose answer says by a position which it was.

use super::packed::Packed;
use crate::memory::copy;
use crate::memory::parts::marks::Marks;
use crate::memory::parts::{copy_blocks, unpack_marked};
use crate::ni::wire::onward::ONWARD_BYTES;
use crate::ni::wire::operation::{Act, Data};
use crate::ni::wire::shape::Blocks;
use crate::planted::{Bug, planted};

/// What a transfer does with bytes of this rank.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Local {
    /// A pull writes them.
    Into(*mut u8),
    /// A push reads them.
    From(*const u8),
}

/// What a transfer moves. Addresses are followed only while it is open: then whoever opened it keeps the bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// So many bytes, in pieces of so many.
    Plain { local: Local, bytes: usize, piece: usize },
    /// A push of parts that were packed, in so many pieces.
    Packed { packed: *const Packed, pieces: usize },
    /// A copy of so many bytes to another rank, which the owner of the bytes sends on, in pieces of so many. Where to is told in as many
    /// bytes as that takes ([`ONWARD_BYTES`]).
    Copy { onward: *const u8, bytes: usize, piece: usize },
    /// A pull of so many bytes from where a pointer leads, in pieces of so many.
    Through { into: *mut u8, bytes: usize, piece: usize },
    /// A pull of blocks, so many in a piece.
    Blocks { into: *mut u8, blocks: Blocks, piece: usize },
    /// A pull of the marked ones of so many units, in pieces of so many units, which is a multiple of 64.
    Marked { into: *mut u8, unit: usize, units: usize, words: *const u64, piece: usize },
}

/// A piece: what is asked for, and how far behind the begin of the target.
pub(crate) struct Cut<'a> {
    pub act: Act<'a>,
    pub offset: usize,
}

impl Form {
    /// How many pieces it has.
    pub fn total(&self) -> usize {
        let (all, piece) = self.extent();
        all.div_ceil(piece)
    }

    /// How many bytes, blocks or units it has, and how many make a piece.
    fn extent(&self) -> (usize, usize) {
        match *self {
            Form::Plain { bytes, piece, .. } | Form::Copy { bytes, piece, .. } => (bytes, piece),
            Form::Through { bytes, piece, .. } => (bytes, piece),
            Form::Packed { pieces, .. } => (pieces, 1),
            Form::Blocks { blocks, piece, .. } => (blocks.count, piece),
            Form::Marked { units, piece, .. } => (units, piece),
        }
    }

    /// What piece `number` begins with, and how much is in it.
    fn part(&self, number: usize) -> (usize, usize) {
        let (all, piece) = self.extent();
        (number * piece, piece.min(all - number * piece))
    }

    /// Piece `number`.
    ///
    /// # Safety
    /// The transfer is open as long as the operation is used.
    pub unsafe fn cut<'a>(&self, number: usize) -> Cut<'a> {
        let (first, count) = self.part(number);
        let position = first as u64;
        match *self {
            Form::Plain { local: Local::Into(_), .. } => {
                Cut { act: Act::Pull { bytes: count as u64, position }, offset: first }
            }
            Form::Plain { local: Local::From(start), .. } => {
                // SAFETY: they can be read while the transfer is open.
                let data = unsafe { Data::shared(start.add(first), count) };
                Cut { act: Act::Push(data), offset: first }
            }
            Form::Packed { packed, .. } => {
                // SAFETY: it is kept while the transfer is open.
                let (data, form, offset) = unsafe { (*packed).piece(number) };
                Cut { act: form.push(data), offset }
            }
            Form::Through { .. } => Cut { act: Act::PullThrough { bytes: count as u64, skip: position }, offset: 0 },
            Form::Copy { onward, bytes, .. } => {
                // SAFETY: as many can be read while the transfer is open.
                let onward = unsafe { Data::shared(onward, ONWARD_BYTES) };
                let is_last = if planted(Bug::CopyWordEarly) { first == 0 } else { first + count == bytes };
                Cut { act: Act::Copy { bytes: count as u64, position, is_last, onward }, offset: first }
            }
            Form::Blocks { blocks: Blocks { block, there, .. }, .. } => {
                let (block, count, distance) = (block as u32, count as u32, there as u64);
                Cut { act: Act::PullBlocks { block, count, distance, position }, offset: first * there }
            }
            Form::Marked { unit, words, .. } => {
                // SAFETY: the marks can be read while the transfer is open.
                let marks = unsafe { Data::shared(words.add(first / 64).cast(), count.div_ceil(64) * 8) };
                let act = Act::PullMarked { marks, unit: unit as u32, units: count as u32, position };
                Cut { act, offset: first * unit }
            }
        }
    }

    /// Whether there is nothing to ask for in piece `number`.
    ///
    /// # Safety
    /// The transfer is open.
    pub unsafe fn is_empty(&self, number: usize) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.marks(number) }.is_some_and(|marks| marks.count() == 0)
    }

    /// # Safety
    /// The transfer is open as long as they are used.
    unsafe fn marks<'a>(&self, number: usize) -> Option<Marks<'a>> {
        let Form::Marked { words, .. } = *self else { return None };
        let (first, count) = self.part(number);
        // SAFETY: the marks can be read while the transfer is open, and are nobody's but its caller's, who waits.
        let words = unsafe { std::slice::from_raw_parts(words.add(first / 64), count.div_ceil(64)) };
        Some(Marks::new(words, count))
    }

    /// The piece at this position has come; false if that cannot be.
    ///
    /// # Safety
    /// The transfer is open.
    pub unsafe fn take(&self, position: u64, bytes: &[u8]) -> bool {
        if let Form::Plain { local: Local::From(_), .. } | Form::Packed { .. } = self {
            return bytes.is_empty();
        }
        if let Form::Copy { .. } = self {
            return true;
        }
        let (all, piece) = self.extent();
        let first = usize::try_from(position).ok().filter(|first| *first < all && first.is_multiple_of(piece));
        let Some(first) = first else { return false };
        let count = piece.min(all - first);
        // SAFETY: inside the bytes of the transfer, which stay while it is open.
        unsafe {
            match *self {
                Form::Plain { local: Local::Into(into), .. } if bytes.len() == count => {
                    let at = if planted(Bug::PullMisplaced) { 0 } else { first };
                    copy::copy(into.add(at), bytes.as_ptr(), count);
                }
                Form::Through { into, .. } if bytes.len() == count => {
                    copy::copy(into.add(first), bytes.as_ptr(), count)
                }
                Form::Blocks { into, blocks: Blocks { block, here, .. }, .. } if bytes.len() == count * block => {
                    copy_blocks((into.add(first * here), here), (bytes.as_ptr(), block), block, count);
                }
                Form::Marked { into, unit, .. } => {
                    let marks = self.marks(first / piece).filter(|marks| marks.count() * unit == bytes.len());
                    let Some(marks) = marks else { return false };
                    unpack_marked(into.add(first * unit), bytes.as_ptr(), unit, marks);
                }
                _ => return false,
            }
        }
        true
    }
}
