//! A long broadcast by a tree: straight from buffer to buffer, in pieces of which the next is expected while one is passed on.
//!
//! First of all each member hears from its parent what that asks for, so that pieces need no label.

use super::branch::Branch;
use super::group::FarGroup;
use super::pieces::PIECE_BYTES;
use crate::collective::round::Round;
use crate::collective::slots::SLOTS;
use crate::error::Result;

/// Pieces of a broadcast, unless they are too short or too long: each so long that what is done for it does not count, and so
/// many that all levels of the tree are busy.
const PIECE_COUNT: usize = 16;
const PIECE_MIN: usize = 64 * 1024;
const PIECE_MAX: usize = 1024 * 1024;

/// Whether so many bytes are worth it: shorter ones follow each other in messages.
pub(super) fn is_long(bytes: usize) -> bool {
    bytes > PIECE_COUNT * PIECE_BYTES
}

impl FarGroup<'_, '_> {
    /// Passes the data of the first member of a tree on to all.
    pub(super) fn pass_down_long(self, round: &Round, branch: &Branch, data: &mut [u8]) -> Result<()> {
        let children = &branch.children;
        let piece_bytes = (data.len() / PIECE_COUNT).clamp(PIECE_MIN, PIECE_MAX);
        let Some(parent) = branch.parent else {
            children.iter().try_for_each(|child| self.tell(round, *child, 0, &[]))?;
            let mut pieces = data.chunks(piece_bytes).enumerate();
            return pieces.try_for_each(|(index, piece)| self.pass_on(round, children, index, piece));
        };
        self.hear(round, parent, 0, &mut [])?;
        children.iter().try_for_each(|child| self.tell(round, *child, 0, &[]))?;
        let mut pieces = data.chunks_mut(piece_bytes).enumerate();
        let mut expect =
            || pieces.next().map(|(index, into)| self.far_slots().expect(into, parent, index % SLOTS)).transpose();
        let mut next = expect()?;
        for index in 0.. {
            let Some(mut expected) = std::mem::replace(&mut next, expect()?) else { break };
            let came = self.wait_for_member(round, parent, || expected.poke().transpose())?;
            let Some(piece) = expected.complete(came) else { return Err(self.odd_piece(parent)) };
            self.pass_on(round, children, index, piece)?;
        }
        Ok(())
    }

    fn pass_on(self, round: &Round, children: &[usize], index: usize, piece: &[u8]) -> Result<()> {
        children.iter().try_for_each(|child| {
            let wait = |sent: &mut dyn FnMut() -> _| self.wait_for_member(round, *child, sent);
            self.far_slots().send_to_waiting(piece, *child, index % SLOTS, wait)
        })
    }
}
