//! The part of a matrix that a call is about, as a stream of elements in column-major order.
//!
//! On the way from one process to another there is only the stream, so sender and receiver may have different shapes.
//! What lies in one piece is never copied together.

use hikyaku::message::Columns;
use std::ops::Range;
use std::ptr::NonNull;

/// Bytes of a column from which it is faster to move each from where it is than to copy them together.
pub const COLUMN_MIN: usize = 2048;

/// Which part of a rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// All of it.
    General,
    /// The upper trapezoid, with or without its diagonal.
    Upper {
        /// The diagonal is left out.
        unit: bool,
    },
    /// The lower trapezoid, likewise.
    Lower {
        /// The diagonal is left out.
        unit: bool,
    },
}

impl Shape {
    /// What `UPLO` and `DIAG` say, in either case.
    pub fn trapezoid(uplo: u8, diag: u8) -> Shape {
        let unit = diag.eq_ignore_ascii_case(&b'u');
        if uplo.eq_ignore_ascii_case(&b'u') { Shape::Upper { unit } } else { Shape::Lower { unit } }
    }
}

/// A part of a column-major matrix in memory that somebody else owns.
#[derive(Clone, Copy, Debug)]
pub struct Matrix {
    start: *mut u8,
    /// Bytes of an element.
    element: usize,
    rows: usize,
    columns: usize,
    /// Elements from one column to the next.
    stride: usize,
    shape: Shape,
}

impl Matrix {
    /// # Safety
    /// While the matrix is used, the elements it says are the caller's to read, and to write if they are received into.
    pub unsafe fn new(start: *mut u8, element: usize, m: i32, n: i32, lda: i32, shape: Shape) -> Matrix {
        let (rows, columns) = (m.max(0) as usize, n.max(0) as usize);
        let stride = (lda.max(0) as usize).max(rows);
        Matrix { start, element, rows, columns: if rows == 0 { 0 } else { columns }, stride, shape }
    }

    /// A matrix of one column of bytes.
    ///
    /// # Safety
    /// As for [`Matrix::new`].
    pub unsafe fn bytes_of(data: &mut [u8]) -> Matrix {
        let (rows, columns) = (data.len(), !data.is_empty() as usize);
        Matrix { start: data.as_mut_ptr(), element: 1, rows, columns, stride: rows, shape: Shape::General }
    }

    /// Rows, columns.
    pub fn size(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// Rows of column `j` that belong to the part.
    fn column(&self, j: usize) -> Range<usize> {
        let (m, n) = (self.rows, self.columns);
        match self.shape {
            Shape::General => 0..m,
            // The diagonal ends in the lower right corner of the trapezoid.
            Shape::Upper { unit } => 0..(m.saturating_sub(n) + j + !unit as usize).min(m),
            // It begins in the upper left corner, or where the last m columns do.
            Shape::Lower { unit } if j >= n.saturating_sub(m) => (j - n.saturating_sub(m) + unit as usize).min(m)..m,
            Shape::Lower { .. } => 0..m,
        }
    }

    /// Bytes of the stream.
    pub fn bytes(&self) -> usize {
        let elements = match self.shape {
            Shape::General => self.rows * self.columns,
            _ => (0..self.columns).map(|j| self.column(j).len()).sum(),
        };
        elements * self.element
    }

    fn address(&self, row: usize, column: usize) -> *mut u8 {
        self.start.wrapping_add((column * self.stride + row) * self.element)
    }

    /// The stream as it lies in memory, if it does in one piece. Never null: a program may pass no matrix at all where none
    /// of it is wanted.
    pub fn run(&self) -> Option<*mut u8> {
        const NOWHERE: *mut u8 = NonNull::dangling().as_ptr();
        match self.columns {
            0 => Some(NOWHERE),
            1 if self.column(0).is_empty() => Some(NOWHERE),
            1 => Some(self.address(self.column(0).start, 0)),
            _ => (self.shape == Shape::General && self.stride == self.rows).then_some(self.start),
        }
    }

    /// Columns that are all alike, in equal parts of at most so many bytes: bytes of a part.
    pub fn share_of_column(&self, most: usize) -> Option<usize> {
        let parts = (self.rows * self.element).div_ceil(most).max(1);
        (self.shape == Shape::General).then(|| self.rows.div_ceil(parts) * self.element)
    }

    /// A way through the stream, from its beginning.
    pub fn walk(&self) -> Walk {
        Walk { matrix: *self, column: 0, passed: 0 }
    }
}

/// A place in the stream of a matrix.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    matrix: Matrix,
    column: usize,
    /// Bytes of the column that were passed.
    passed: usize,
}

impl Walk {
    /// The next piece in memory, of at most so many bytes.
    fn next(&mut self, most: usize) -> Option<(*mut u8, usize)> {
        while self.column < self.matrix.columns {
            let rows = self.matrix.column(self.column);
            let bytes = rows.len() * self.matrix.element;
            if self.passed < bytes {
                let piece = (bytes - self.passed).min(most);
                let start = self.matrix.address(rows.start, self.column).wrapping_add(self.passed);
                self.passed += piece;
                return Some((start, piece));
            }
            self.column += 1;
            self.passed = 0;
        }
        None
    }

    /// Bytes of the stream up to the end of a column that is not passed yet.
    pub fn left_of_column(&mut self) -> usize {
        match self.next(0) {
            Some(_) => self.matrix.column(self.column).len() * self.matrix.element - self.passed,
            None => 0,
        }
    }

    /// Passes the next bytes of the stream, if they lie in one piece: where.
    pub fn pass(&mut self, bytes: usize) -> Option<*mut u8> {
        if self.left_of_column() < bytes {
            return None;
        }
        self.next(bytes).map(|(start, _)| start)
    }

    /// The next bytes of the stream as they lie in memory, if they begin with a column, and columns are alike and long enough.
    pub fn columns(&mut self, bytes: usize) -> Option<Columns> {
        let matrix = self.matrix;
        let (column, pitch) = (matrix.rows * matrix.element, matrix.stride * matrix.element);
        let begins = self.left_of_column() == column && matrix.shape == Shape::General;
        let start = matrix.address(0, self.column);
        (begins && column >= COLUMN_MIN && pitch <= u32::MAX as usize).then_some(Columns {
            start,
            bytes,
            column,
            pitch,
        })
    }

    /// Passes the next bytes of the stream, as many as there are.
    pub fn skip(&mut self, mut bytes: usize) {
        while let Some((_, passed)) = self.next(bytes).filter(|(_, passed)| *passed > 0) {
            bytes -= passed;
        }
    }

    /// Copies the next bytes of the stream, as many as there are, together.
    pub fn gather(&mut self, mut into: &mut [u8]) {
        while let Some((from, bytes)) = self.next(into.len()).filter(|(_, bytes)| *bytes > 0) {
            // SAFETY: elements of the matrix, the caller's to read; `next` gives no more than there is room for.
            unsafe { std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), bytes) };
            into = &mut into[bytes..];
        }
    }

    /// Copies bytes to where the next ones of the stream belong; as many as fit.
    pub fn scatter(&mut self, mut from: &[u8]) {
        while let Some((into, bytes)) = self.next(from.len()).filter(|(_, bytes)| *bytes > 0) {
            // SAFETY: elements of the matrix, the caller's to write; `next` gives no more than there is.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), into, bytes) };
            from = &from[bytes..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The part as a picture, column by column.
    fn picture(m: i32, n: i32, lda: i32, shape: Shape) -> Vec<String> {
        let mut data = vec![0u8; (lda.max(m) * n) as usize];
        // SAFETY: as large as said.
        let matrix = unsafe { Matrix::new(data.as_mut_ptr(), 1, m, n, lda, shape) };
        let bytes = matrix.bytes();
        matrix.walk().scatter(&vec![1; bytes + 5]);
        assert_eq!(data.iter().map(|byte| *byte as usize).sum::<usize>(), bytes);
        let letter = |byte: &u8| if *byte == 1 { 'x' } else { '.' };
        data.chunks(lda.max(m) as usize).map(|column| column.iter().map(letter).collect()).collect()
    }

    #[test]
    fn trapezoids() {
        let (upper, lower) = (Shape::Upper { unit: false }, Shape::Lower { unit: false });
        assert_eq!(picture(2, 3, 4, Shape::General), ["xx..", "xx..", "xx.."]);
        assert_eq!(picture(4, 2, 0, upper), ["xxx.", "xxxx"]);
        assert_eq!(picture(2, 4, 2, upper), ["x.", "xx", "xx", "xx"]);
        assert_eq!(picture(4, 2, 5, lower), ["xxxx.", ".xxx."]);
        assert_eq!(picture(2, 4, 2, lower), ["xx", "xx", "xx", ".x"]);
        assert_eq!(picture(3, 3, 3, Shape::Upper { unit: true }), ["...", "x..", "xx."]);
        assert_eq!(picture(2, 3, 2, Shape::Lower { unit: true }), ["xx", ".x", ".."]);
        assert_eq!(picture(1, 1, 1, Shape::Lower { unit: true }), ["."]);
    }

    #[test]
    fn streams_pass_through_pieces_of_any_size() {
        let mut data: Vec<u8> = (0..60).collect();
        // SAFETY: 5 columns of 6 elements of 2 bytes.
        let matrix = unsafe { Matrix::new(data.as_mut_ptr(), 2, 4, 5, 6, Shape::Upper { unit: false }) };
        let mut whole = vec![0; matrix.bytes()];
        matrix.walk().gather(&mut whole);
        let mut pieces = Vec::new();
        let mut walk = matrix.walk();
        for size in [1, 5, 2, 9, 100] {
            let mut piece = vec![0; size.min(whole.len() - pieces.len())];
            walk.gather(&mut piece);
            pieces.extend(piece);
        }
        assert_eq!(pieces, whole);
        assert_eq!(whole[..6], [0, 1, 12, 13, 14, 15]);
    }

    #[test]
    fn columns_are_passed_in_place() {
        let mut data = [0u8; 60];
        // SAFETY: 3 columns of 20 elements.
        let matrix = unsafe { Matrix::new(data.as_mut_ptr(), 1, 10, 3, 20, Shape::General) };
        let start = |at: usize| Some(data.as_ptr().wrapping_add(at).cast_mut());
        let mut walk = matrix.walk();
        assert_eq!((walk.left_of_column(), walk.pass(6)), (10, start(0)));
        assert_eq!((walk.left_of_column(), walk.pass(6)), (4, None));
        assert_eq!(walk.pass(4), start(6));
        assert_eq!((walk.left_of_column(), walk.pass(10)), (10, start(20)));
        walk.skip(3);
        assert_eq!(walk.pass(7), start(43));
        assert_eq!((walk.left_of_column(), walk.pass(1)), (0, None));
        assert_eq!([3, 5, 9, 10].map(|most| matrix.share_of_column(most)), [3, 5, 5, 10].map(Some));
        // SAFETY: as large.
        let triangle = unsafe { Matrix::new(data.as_mut_ptr(), 1, 7, 7, 7, Shape::Upper { unit: false }) };
        assert_eq!(triangle.share_of_column(7), None);
    }

    #[test]
    fn what_lies_in_one_piece_is_known_to() {
        let mut data = [0u8; 100];
        let mut run = |m, n, lda, shape| {
            // SAFETY: large enough for all of them.
            unsafe { Matrix::new(data.as_mut_ptr(), 1, m, n, lda, shape) }.run().map(|run| run as usize)
        };
        let start = run(5, 5, 5, Shape::General).unwrap();
        assert_eq!(run(5, 5, 6, Shape::General), None);
        assert_eq!(run(5, 1, 9, Shape::General), Some(start));
        assert_eq!(run(5, 5, 5, Shape::Upper { unit: false }), None);
        assert_eq!(run(5, 1, 9, Shape::Lower { unit: true }), Some(start + 1));
    }

    #[test]
    fn no_matrix_at_all_has_an_empty_stream() {
        for (m, n, shape) in [(0, 5, Shape::General), (5, 0, Shape::General), (1, 1, Shape::Upper { unit: true })] {
            // SAFETY: none of it is used.
            let matrix = unsafe { Matrix::new(std::ptr::null_mut(), 8, m, n, 1, shape) };
            assert_eq!(matrix.bytes(), 0);
            assert!(matrix.run().is_some_and(|run| !run.is_null()));
        }
    }
}
