//! Trees of messages over the hosts: a binomial tree of one member per host, and on each host its members below that one.
//!
//! ```text
//!   host a:  0 <- 2, 4, 6          reductions go up, members of a host first, neighbours first
//!            ^
//!   host b:  1 <- 3, 5             broadcasts go down, to the farthest first, which has the most to pass on
//! ```
//! Data go in pieces of a short message, in several slots in turn, so that pieces follow each other through the tree. Long
//! broadcasts go straight from buffer to buffer, see `long`.

use super::branch::Branch;
use super::group::FarGroup;
use super::long::is_long;
use super::pieces::PIECE_BYTES;
use crate::collective::operation::Combination;
use crate::collective::room::Room;
use crate::collective::round::Round;
use crate::error::Result;

impl FarGroup<'_, '_> {
    /// Combines what the members below have with the own data, in their order, and passes it on.
    pub(super) fn pass_up(self, round: &Round, branch: &Branch, data: &mut [u8], how: &Combination<'_>) -> Result<()> {
        let step = PIECE_BYTES / how.element * how.element;
        let mut input = Room::of(if branch.children.is_empty() { 0 } else { data.len().min(step) });
        each_piece(data, step, |index, piece| {
            for child in branch.children.iter().rev() {
                let input = &mut input.bytes()[..piece.len()];
                self.hear(round, *child, index, input)?;
                (how.combine)(piece, input);
            }
            branch.parent.map_or(Ok(()), |parent| self.tell(round, parent, index, piece))
        })
    }

    /// Passes the data of the first member on to all.
    pub(super) fn pass_down(self, round: &Round, branch: &Branch, data: &mut [u8]) -> Result<()> {
        if is_long(data.len()) {
            return self.pass_down_long(round, branch, data);
        }
        each_piece(data, PIECE_BYTES, |index, piece| {
            branch.parent.map_or(Ok(()), |parent| self.hear(round, parent, index, piece))?;
            branch.children.iter().try_for_each(|child| self.tell(round, *child, index, piece))
        })
    }
}

/// Each piece and its number: one, though empty, if there are no data.
fn each_piece(data: &mut [u8], bytes: usize, mut each: impl FnMut(usize, &mut [u8]) -> Result<()>) -> Result<()> {
    if data.len() <= bytes {
        return each(0, data);
    }
    data.chunks_mut(bytes).enumerate().try_for_each(|(index, piece)| each(index, piece))
}
