//! The buffers of all pairs.

use super::frame::FRAME_BYTES;
use crate::error::Error;
use crate::queue::lane::Shape;

const LINE_BYTES: usize = 64;
/// A rank has so much for all its senders together, unless they are so many that each would have next to nothing.
const TOTAL_BYTES: usize = 4 << 20;
const BYTES_MAX: usize = 32 << 10;
const BYTES_MIN: usize = 4 << 10;

/// How much each rank may send to each other one before that receives: so many messages, and so many bytes of those that are longer than
/// 40. All ranks say the same. Memory is taken when it is first used, so ranks that never speak to each other take none.
///
/// Messages longer than a quarter of the bytes move from the sender's buffer to the receiver's, and their send waits for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// Messages; rounded up.
    pub messages: usize,
    /// Bytes; rounded up.
    pub bytes: usize,
}

impl Buffers {
    /// What a job of so many ranks has unless it says something else: 32 KB for each sender, and less where there are many.
    pub fn of(size: usize) -> Buffers {
        let bytes = (TOTAL_BYTES / size.max(1)).clamp(BYTES_MIN, BYTES_MAX);
        Buffers { messages: bytes / 512, bytes: bytes.next_power_of_two() }
    }

    /// What is wrong with them, if anything is.
    pub(crate) fn wrong(self) -> Option<Error> {
        Layout::new(self).is_none().then(|| self.impossible())
    }

    #[cold]
    pub(super) fn impossible(self) -> Error {
        let Buffers { messages, bytes } = self;
        Error::Invalid(format!("{messages} messages and {bytes} bytes make no buffer: too many, or none"))
    }
}

/// Where the buffer of a rank lies in another's memory: the word of acknowledgements, the lane of frames, the ring of bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub frames: Shape,
    pub ring: usize,
}

impl Layout {
    /// `None` if that is too much for any memory, or nothing.
    pub fn new(buffers: Buffers) -> Option<Layout> {
        let ring = buffers.bytes.max(4 * LINE_BYTES).checked_next_multiple_of(4 * LINE_BYTES)?;
        let frames = Shape::new(buffers.messages, FRAME_BYTES)?;
        frames.bytes().checked_add(ring)?.checked_add(LINE_BYTES)?;
        Some(Layout { frames, ring })
    }

    /// Of each pair.
    pub fn bytes(self) -> usize {
        LINE_BYTES + self.frames.bytes() + self.ring
    }

    /// The longest message in a ring: it fits though a quarter of the ring is not given back yet, and another one is left out at its end.
    pub fn middle_max(self) -> usize {
        self.ring / 4
    }

    pub fn told(self, rank: usize) -> usize {
        rank * self.bytes()
    }

    pub fn lane(self, rank: usize) -> usize {
        self.told(rank) + LINE_BYTES
    }

    pub fn ring_start(self, rank: usize) -> usize {
        self.lane(rank) + self.frames.bytes()
    }

    /// Where a message of so many bytes begins in the ring, if the ones before have come to `position`; and to where it comes. Both sides
    /// reckon alike.
    #[inline(always)]
    pub fn place(self, position: u64, bytes: usize) -> (usize, u64) {
        let lines = bytes.next_multiple_of(LINE_BYTES);
        let at = (position % self.ring as u64) as usize;
        match at + lines <= self.ring {
            true => (at, position + lines as u64),
            // It does not begin before the end of the ring.
            false => (0, position + (self.ring - at + lines) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_inside_and_never_overlap() {
        let layout = Layout::new(Buffers { messages: 10, bytes: 1000 }).unwrap();
        assert_eq!(layout.ring, 1024);
        let (mut position, mut before) = (0, 0);
        for bytes in (0..500).map(|turn| turn * 37 % layout.middle_max() + 1) {
            let (at, end) = layout.place(position, bytes);
            assert!(at + bytes <= layout.ring && at % LINE_BYTES == 0);
            assert!(at as u64 == before % 1024 || at == 0);
            assert!(end - position <= 2 * layout.middle_max() as u64);
            (position, before) = (end, end);
        }
    }

    #[test]
    fn many_ranks_take_no_more_together() {
        for size in [1, 2, 16, 128, 1024] {
            let buffers = Buffers::of(size);
            let bytes = Layout::new(buffers).unwrap().bytes();
            assert!(bytes * size <= 2 * TOTAL_BYTES || buffers.bytes == BYTES_MIN, "{size}: {bytes}");
        }
        assert!(Layout::new(Buffers { messages: 0, bytes: 1 }).is_none());
        assert!(Layout::new(Buffers { messages: 1, bytes: usize::MAX }).is_none());
    }
}
