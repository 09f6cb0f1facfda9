//! Parts of a range, cut into what fits a packet: packed one behind the other, with what says where they belong.

use super::operation::{Act, Data};
use super::shape::{Blocks, Shape};
use crate::error::Result;
use crate::memory::parts::marks::Marks;
use crate::memory::parts::{copy_blocks, pack_marked};

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// How far behind the begin of the range it begins there.
    pub offset: usize,
    /// How many bytes it has when it is packed.
    pub bytes: usize,
    pub form: PieceForm,
    pub is_last: bool,
}

/// How its bytes belong to places there.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PieceForm {
    /// One behind the other.
    Plain,
    /// In blocks, each a distance after the one before.
    Blocks { block: usize, distance: usize },
    /// Marks of so many units, then those that are marked.
    Marked { unit: usize, units: usize },
}

impl PieceForm {
    /// The operation that writes them.
    pub fn push(self, data: Data<'_>) -> Act<'_> {
        match self {
            PieceForm::Plain => Act::Push(data),
            PieceForm::Blocks { block, distance } => {
                Act::PushBlocks { data, block: block as u64, distance: distance as u64 }
            }
            PieceForm::Marked { unit, units } => Act::PushMarked { data, unit: unit as u64, units: units as u64 },
        }
    }
}

/// Packs a piece to where there is room for it.
pub(crate) type Pack<'a> = &'a dyn Fn(*mut u8);

impl Shape<'_> {
    /// Whether several parts fit a packet, so that they are packed; otherwise each fills packets by itself.
    pub fn is_packed(&self, max: usize) -> bool {
        match *self {
            Shape::Blocks(blocks) => blocks.block <= max,
            Shape::Marked { unit, .. } => 8 + 64 * unit <= max,
        }
    }

    /// Calls `each` with every piece and with what packs it, until one fails. There is something to move, and it [is
    /// packed](Shape::is_packed).
    ///
    /// # Safety
    /// All parts can be read from `data` on; peers may change them meanwhile. `each` packs to places with room for the piece.
    pub unsafe fn try_pieces(
        &self,
        max: usize,
        data: *const u8,
        each: impl FnMut(Piece, Pack<'_>) -> Result<()>,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match *self {
                Shape::Blocks(blocks) => blocks_in_pieces(max, blocks, data, each),
                Shape::Marked { unit, marks } => marked_in_pieces(max, unit, marks, data, each),
            }
        }
    }
}

/// # Safety
/// As above.
unsafe fn blocks_in_pieces(
    max: usize,
    Blocks { block, count, here, there }: Blocks,
    data: *const u8,
    mut each: impl FnMut(Piece, Pack<'_>) -> Result<()>,
) -> Result<()> {
    let most = max / block;
    for first in (0..count).step_by(most) {
        let part = most.min(count - first);
        // SAFETY: the caller's promise.
        let pack = |room| unsafe { copy_blocks((room, block), (data.wrapping_add(first * here), here), block, part) };
        let form = PieceForm::Blocks { block, distance: there };
        each(Piece { offset: first * there, bytes: part * block, form, is_last: first + part == count }, &pack)?;
    }
    Ok(())
}

/// # Safety
/// As above.
unsafe fn marked_in_pieces(
    max: usize,
    unit: usize,
    marks: Marks<'_>,
    data: *const u8,
    mut each: impl FnMut(Piece, Pack<'_>) -> Result<()>,
) -> Result<()> {
    let has_any = |word: &usize| marks.word(*word) != 0;
    let last = (0..marks.words()).rfind(has_any).unwrap_or(0);
    let mut word = 0;
    while let Some(begin) = (word..=last).find(has_any) {
        let mut bytes = 0;
        word = begin;
        while word <= last {
            let more = 8 + unit * marks.word(word).count_ones() as usize;
            if bytes + more > max {
                break;
            }
            bytes += more;
            word += 1;
        }
        let end = (begin..word).rfind(has_any).map_or(word, |last| last + 1);
        let units = (64 * (end - begin)).min(marks.units() - 64 * begin);
        let part = marks.part(64 * begin, units);
        let offset = 64 * begin * unit;
        let pack = |room: *mut u8| {
            for index in 0..part.words() {
                // SAFETY: there is room for the marks; the caller's promise.
                unsafe { room.add(8 * index).cast::<[u8; 8]>().write(part.word(index).to_le_bytes()) };
            }
            // SAFETY: there is room for the marked units behind the marks; the caller's promise.
            unsafe { pack_marked(room.add(8 * part.words()), data.wrapping_add(offset), unit, part) };
        };
        let bytes = 8 * (end - begin) + unit * part.count();
        each(Piece { offset, bytes, form: PieceForm::Marked { unit, units }, is_last: end == last + 1 }, &pack)?;
    }
    Ok(())
}
