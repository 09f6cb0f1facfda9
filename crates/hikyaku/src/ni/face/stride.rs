//! Blocks at a distance from each other.

use crate::error::{Error, Result};
use crate::ni::wire::shape::{Blocks, Shape};

/// Blocks of elements that lie at equal distances: a column of a matrix, say.
///
/// ```
/// use hikyaku::Stride;
///
/// // Of each of 50 rows of 100 elements two: a part of two columns, wide as on the other side.
/// let columns = Stride::new(2, 100, 50);
/// // The same, from a packed slice into a matrix with rows of 400.
/// let packed = columns.here(2).there(400);
/// assert_eq!((packed.elements(), packed.span_here(), packed.span_there()), (100, 100, 49 * 400 + 2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stride {
    block: usize,
    count: usize,
    here: usize,
    there: usize,
}

impl Stride {
    /// `count` blocks of `block` elements. On both sides each begins `distance` elements after the one before.
    pub fn new(block: usize, distance: usize, count: usize) -> Stride {
        Stride { block, count, here: distance, there: distance }
    }

    /// The same blocks, which lie `distance` elements apart in the memory of this rank. With the length of a block they are packed.
    pub fn here(self, distance: usize) -> Stride {
        Stride { here: distance, ..self }
    }

    /// The same blocks, which lie `distance` elements apart in the memory of the other rank.
    pub fn there(self, distance: usize) -> Stride {
        Stride { there: distance, ..self }
    }

    /// How many elements are in all blocks.
    pub fn elements(&self) -> usize {
        self.block.saturating_mul(self.count)
    }

    /// How many elements there are from the first of the first block to the last of the last one, here.
    pub fn span_here(&self) -> usize {
        self.span(self.here)
    }

    /// How many elements there are from the first of the first block to the last of the last one, there.
    pub fn span_there(&self) -> usize {
        self.span(self.there)
    }

    /// Elements of a block, how many blocks there are, and from one to the next in the memory of the other rank.
    pub(super) fn parts_there(&self) -> [usize; 3] {
        [self.block, self.count, self.there]
    }

    /// One that cannot be counted is longer than anything.
    fn span(&self, distance: usize) -> usize {
        match self.count {
            0 => 0,
            count => (count - 1).saturating_mul(distance).saturating_add(self.block),
        }
    }

    /// Of elements of so many bytes. What cannot be counted is in no memory, so it is refused later; or there is but one block.
    pub(super) fn shape(&self, element: usize) -> Shape<'static> {
        let [block, here, there] = [self.block, self.here, self.there].map(|count| count.saturating_mul(element));
        Shape::Blocks(Blocks { block, count: self.count, here, there })
    }

    /// Its shape in elements of a slice of this rank. Fails if its blocks overlap or are not all in the slice.
    pub(super) fn checked_shape<T>(&self, local: &[T]) -> Result<Shape<'static>> {
        self.check()?;
        match self.span_here() <= local.len() {
            true => Ok(self.shape(size_of::<T>())),
            false => Err(Error::OutOfBounds { index: 0, count: self.span_here(), len: local.len() }),
        }
    }

    /// The same where only this rank's side counts.
    fn alone(&self) -> Stride {
        Stride { there: self.here, ..*self }
    }

    /// Elements of a block, from one to the next in a slice of this rank, and how many there are. Fails as above.
    pub(crate) fn checked_here<T>(&self, local: &[T]) -> Result<(usize, usize, usize)> {
        self.alone().checked_shape(local)?;
        Ok((self.block, self.here, self.count))
    }

    /// The same of memory whose length nobody knows. Fails if blocks overlap.
    pub(crate) fn here_anywhere(&self) -> Result<(usize, usize, usize)> {
        self.alone().check()?;
        Ok((self.block, self.here, self.count))
    }

    /// Whether its blocks lie apart.
    pub(super) fn check(&self) -> Result<()> {
        let Stride { block, count, here, there } = *self;
        if count > 1 && (here < block || there < block) {
            return Err(Error::Invalid(format!(
                "blocks of {block} elements that begin every {} elements overlap; the distance is counted from the begin of one to \
                 the begin of the next",
                here.min(there)
            )));
        }
        Ok(())
    }
}
