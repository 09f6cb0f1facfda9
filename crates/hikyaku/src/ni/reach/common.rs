//! Finding the bytes that a target names: in memory that all ranks of this host have mapped, or in this rank's own.

use crate::error::Refusal;
use crate::ni::base::Base;
use crate::ni::wire::target::Target;
use crate::planted::{Bug, planted};

impl Base {
    /// Bytes in the heap or the meeting place of a rank that is near.
    pub(crate) fn common_bytes(&self, at: &Target, bytes: u64) -> Option<*mut u8> {
        if at.is_heap() {
            return self.near_bytes(at.rank, at.offset, bytes).filter(|_| self.is_near(at.rank));
        }
        if !at.is_meeting() {
            return None;
        }
        let hearings = &self.near_block(at.rank)?.hearings;
        let end = at.offset.checked_add(bytes)?;
        let start = hearings.as_ptr() as *mut u8;
        // Made of atomics, so it may be written though it is shared.
        (end <= size_of_val(hearings) as u64).then(|| start.wrapping_add(at.offset as usize))
    }

    /// Whether a target is memory that all ranks of this host have mapped.
    pub(crate) fn is_common(&self, at: &Target) -> bool {
        at.is_shared() && self.is_near(at.rank)
    }

    /// Bytes of this rank that a peer named, outside of windows.
    pub(crate) fn own_target(&self, at: &Target, bytes: u64) -> Result<*mut u8, Refusal> {
        let Some(id) = at.area() else {
            return self.common_bytes(at, bytes).ok_or(Refusal::OutOfBounds);
        };
        let area = self.look_up(self.rank, id).map_err(|_| Refusal::UnknownArea)?;
        if area.key != at.key() && !planted(Bug::KeyUnread) {
            return Err(Refusal::UnknownArea);
        }
        let inside = at.offset.checked_add(bytes).is_some_and(|end| end <= area.bytes as u64);
        let found = if inside { area.pointer(self, at.offset as usize) } else { None };
        found.ok_or(Refusal::OutOfBounds)
    }
}
