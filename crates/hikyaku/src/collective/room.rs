//! Private bytes that are aligned for the elements of every reduction.

use bytemuck::{Pod, Zeroable};

/// Alignment of [`Room`].
pub(super) const ALIGN: usize = 64;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Aligned([u8; ALIGN]);

/// See above.
pub(super) struct Room {
    lines: Vec<Aligned>,
    len: usize,
}

impl Room {
    pub fn of(len: usize) -> Room {
        Room { lines: vec![Aligned::zeroed(); len.div_ceil(ALIGN)], len }
    }

    pub fn copy_of(data: &[u8]) -> Room {
        let mut room = Room::of(data.len());
        room.bytes().copy_from_slice(data);
        room
    }

    pub fn bytes(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }
}

/// Contributions are combined out of a private copy of so many bytes at a time.
pub(super) const SCRATCH_BYTES: usize = 4096;

/// Private bytes, aligned for every element.
#[repr(C, align(64))]
pub(super) struct Scratch<const BYTES: usize = SCRATCH_BYTES>(pub [u8; BYTES]);
