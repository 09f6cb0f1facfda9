//! Parts of the program's memory, packed for a push that goes on beside the program: their places are the program's again at once.

use crate::ni::wire::operation::Data;
use crate::ni::wire::pieces::{Piece, PieceForm};
use crate::ni::wire::shape::Shape;

/// What is pushed, in pieces that fit packets.
#[derive(Debug)]
pub(crate) struct Packed {
    bytes: Vec<u8>,
    /// Each with where it begins in the bytes.
    pieces: Vec<(usize, Piece)>,
    /// What fits a packet.
    max: usize,
}

impl Packed {
    /// Nothing yet, for packets of so many bytes.
    pub fn new(max: usize) -> Packed {
        Packed { bytes: Vec::new(), pieces: Vec::new(), max }
    }

    /// Packs parts of a range that begins so many bytes behind the target.
    ///
    /// # Safety
    /// All of them can be read from `data` on; peers may change them meanwhile.
    pub unsafe fn add(&mut self, at: usize, shape: &Shape<'_>, data: *const u8) {
        let Packed { bytes, pieces, max } = self;
        let mut add = |piece: Piece, pack: &dyn Fn(*mut u8)| {
            let begin = bytes.len();
            bytes.resize(begin + piece.bytes, 0);
            pack(bytes[begin..].as_mut_ptr());
            pieces.push((begin, Piece { offset: at + piece.offset, ..piece }));
            Ok(())
        };
        // Nothing fails.
        let _ = match shape.is_packed(*max) {
            _ if shape.is_empty() => Ok(()),
            // SAFETY: the caller's promise; there is room for each.
            true => unsafe { shape.try_pieces(*max, data, add) },
            false => shape.try_parts(|here, there, length| {
                (0..length).step_by(*max).try_for_each(|from| {
                    let part = (*max).min(length - from);
                    let source = data.wrapping_add(here + from);
                    // SAFETY: the caller's promise; there is room for it.
                    let pack = |room: *mut u8| unsafe { crate::memory::copy::copy(room, source, part) };
                    let piece = Piece { offset: there + from, bytes: part, form: PieceForm::Plain, is_last: false };
                    add(piece, &pack)
                })
            }),
        };
    }

    /// How many pieces there are.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Piece `number`: its bytes, how they belong to places, and how far behind the target.
    pub fn piece(&self, number: usize) -> (Data<'_>, PieceForm, usize) {
        let (begin, piece) = self.pieces[number];
        (self.bytes[begin..begin + piece.bytes].into(), piece.form, piece.offset)
    }
}
