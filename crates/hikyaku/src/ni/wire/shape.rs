//! Which parts of a range an operation moves: blocks at a distance, or marked units.

use crate::memory::parts::marks::Marks;
use crate::memory::parts::{copy_blocks, copy_marked};

/// Parts of memory of this rank (here) and of another one (there). Every length and distance is in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape<'a> {
    /// Blocks of equal length. On each side one begins a distance after the one before.
    Blocks(Blocks),
    /// Units at the same places on both sides.
    Marked { unit: usize, marks: Marks<'a> },
}

/// See [`Shape::Blocks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    pub block: usize,
    pub count: usize,
    pub here: usize,
    pub there: usize,
}

impl Shape<'_> {
    /// Whether nothing is moved.
    pub fn is_empty(&self) -> bool {
        match self {
            Shape::Blocks(blocks) => blocks.block == 0 || blocks.count == 0,
            Shape::Marked { marks, .. } => marks.count() == 0,
        }
    }

    /// Calls `each` with every part that is in one piece on both sides: where it is here and there, and how long. Until one fails.
    pub fn try_parts<E>(&self, mut each: impl FnMut(usize, usize, usize) -> Result<(), E>) -> Result<(), E> {
        match self {
            Shape::Blocks(Blocks { block: 0, .. }) => Ok(()),
            Shape::Blocks(Blocks { block, count, here, there }) => {
                (0..*count).try_for_each(|number| each(number * here, number * there, *block))
            }
            Shape::Marked { unit, marks } => {
                let mut result = Ok(());
                marks.runs(|first, count| {
                    if result.is_ok() {
                        result = each(first * unit, first * unit, count * unit);
                    }
                });
                result
            }
        }
    }

    /// Copies from here to there, where that is mapped.
    ///
    /// # Safety
    /// All parts can be read and written; the two sides do not overlap. Others may use the bytes meanwhile.
    pub unsafe fn push(&self, there: *mut u8, here: *const u8) {
        // SAFETY: the caller's promise.
        unsafe {
            match *self {
                Shape::Blocks(parts) => copy_blocks((there, parts.there), (here, parts.here), parts.block, parts.count),
                Shape::Marked { unit, marks } => copy_marked(there, here, unit, marks),
            }
        }
    }

    /// Copies from there, where that is mapped, to here.
    ///
    /// # Safety
    /// As for [`Shape::push`].
    pub unsafe fn pull(&self, here: *mut u8, there: *const u8) {
        // SAFETY: the caller's promise.
        unsafe {
            match *self {
                Shape::Blocks(parts) => copy_blocks((here, parts.here), (there, parts.there), parts.block, parts.count),
                Shape::Marked { unit, marks } => copy_marked(here, there, unit, marks),
            }
        }
    }
}
