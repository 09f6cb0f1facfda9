//! From one process to one other.

use crate::error::Outcome;
use crate::grid::Grid;
use crate::matrix::Matrix;

impl Grid<'_> {
    /// Sends a matrix to the process at (`row`, `column`). Never waits for it.
    pub fn send(&self, matrix: &Matrix, row: i32, column: i32) -> Outcome<()> {
        let member = self.position.member(row, column, ["RDEST", "CDEST"])?;
        self.point_channel().send(self.messages(), matrix, matrix.bytes(), member)
    }

    /// Receives the next message of the process at (`row`, `column`). A shorter one fills the beginning of the matrix.
    pub fn receive(&self, matrix: &Matrix, row: i32, column: i32) -> Outcome<()> {
        let member = self.position.member(row, column, ["RSRC", "CSRC"])?;
        self.point_channel().receive(self.messages(), matrix, member).map(drop)
    }
}
