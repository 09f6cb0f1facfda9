//! What a message begins with: one line, of which its number takes the first word.
//!
//! ```text
//!   word 0        1                  2      3 to 7
//!   the number    length and kind    tag    the message, if it is short
//! ```

/// Bytes of a frame but its number, and of the message in it.
pub(super) const FRAME_BYTES: usize = 56;
pub(super) const SHORT_MAX: usize = FRAME_BYTES - HEAD_BYTES;
pub(super) const HEAD_BYTES: usize = 16;

/// The lowest bits of the first word.
const KIND_BITS: u32 = 8;
const SHORT: u64 = 0;
const MIDDLE: u64 = 1;
/// And from here on long ones, by their slots.
const LONG: u64 = 2;

/// Slots between every two ranks for long messages.
pub(super) const SLOTS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub tag: u64,
    pub bytes: usize,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The message follows.
    Short,
    /// It is in the ring of bytes.
    Middle,
    /// It comes through this slot.
    Long(usize),
}

impl Frame {
    #[inline(always)]
    pub fn words(self) -> [u64; 2] {
        let kind = match self.kind {
            Kind::Short => SHORT,
            Kind::Middle => MIDDLE,
            Kind::Long(slot) => LONG + slot as u64,
        };
        [(self.bytes as u64) << KIND_BITS | kind, self.tag]
    }

    /// What a sender has written, if it can be so. A middle one has at most `middle` bytes.
    #[inline(always)]
    pub fn read([first, tag]: [u64; 2], middle: usize) -> Option<Frame> {
        let bytes = usize::try_from(first >> KIND_BITS).ok()?;
        let (kind, max) = match first % (1 << KIND_BITS) {
            SHORT => (Kind::Short, SHORT_MAX),
            MIDDLE => (Kind::Middle, middle),
            kind => (Kind::Long((kind - LONG) as usize), usize::MAX),
        };
        let is_possible = bytes <= max && !matches!(kind, Kind::Long(slot) if slot >= SLOTS);
        is_possible.then_some(Frame { tag, bytes, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_say_what_was_written_and_nonsense_nothing() {
        let middle = 4096;
        for (kind, bytes) in [(Kind::Short, 40), (Kind::Middle, middle), (Kind::Long(3), 1 << 40), (Kind::Short, 0)] {
            let frame = Frame { tag: u64::MAX - 5, bytes, kind };
            assert_eq!(Frame::read(frame.words(), middle), Some(frame));
        }
        for (kind, bytes) in
            [(Kind::Short, 41), (Kind::Middle, middle + 1), (Kind::Long(SLOTS), 1), (Kind::Long(253), 1)]
        {
            assert_eq!(Frame::read(Frame { tag: 1, bytes, kind }.words(), middle), None);
        }
    }
}
