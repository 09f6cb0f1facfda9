//! The words a far pair meets on, per slot: each is written by packets of the other side and read here.
//!
//! Packets write the words of one place in one go, the first one last: whoever sees it sees the others.

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::shared;
use std::mem::offset_of;

shared! {
    /// What lies in a rank's memory for one slot and one far peer.
    #[derive(Debug, Default)]
    #[repr(align(64))]
    pub struct FarSlot {
        /// number, what it is, messages the sender has taken in the other direction.
        notice: [AtomicU64; 3],
        _rest: AtomicU64,
        /// number, bytes, messages taken.
        landed: [AtomicU64; 3],
        _more: AtomicU64,
        /// messages taken and whether a receive waits; its window, its bytes; the last message that was refused.
        post: [AtomicU64; 4],
        _end: [AtomicU64; 4],
        line: [AtomicU64; 8],
    }
}

/// Where the bytes of a message are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FarPlace {
    /// In the line of the slot.
    Line,
    /// In a bounce buffer.
    Bounce(usize),
    /// With the sender, who waits for a header.
    Offer,
}

/// What a sender tells of a message that does not go straight into its receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    pub number: u64,
    pub place: FarPlace,
    pub bytes: usize,
    /// Messages the sender has taken from us in this slot.
    pub taken: u64,
}

/// What a sender tells of a message that lies in the receive's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Landed {
    pub number: u64,
    pub bytes: usize,
    pub taken: u64,
}

/// What a receiver tells of its receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FarPost {
    pub taken: u64,
    /// A receive waits for the next message, in this window of so many bytes.
    pub waiting: bool,
    pub window: u64,
    pub bytes: u64,
    /// The last message that did not fit its receive.
    pub refused: u64,
}

const LINE: u64 = 0x10;
const OFFER: u64 = 0x11;

impl Notice {
    pub fn words(&self) -> [u64; 3] {
        let place = match self.place {
            FarPlace::Bounce(buffer) => buffer as u64,
            FarPlace::Line => LINE,
            FarPlace::Offer => OFFER,
        };
        [self.number, (self.bytes as u64) << 8 | place, self.taken]
    }
}

impl Landed {
    pub fn words(&self) -> [u64; 3] {
        [self.number, self.bytes as u64, self.taken]
    }
}

impl FarPost {
    pub fn word(&self) -> u64 {
        self.taken << 1 | self.waiting as u64
    }

    pub fn words(&self) -> [u64; 4] {
        [self.word(), self.window, self.bytes, self.refused]
    }
}

fn load<const COUNT: usize>(words: &[AtomicU64; COUNT]) -> [u64; COUNT] {
    let first = words[0].load(Ordering::Acquire);
    std::array::from_fn(|index| if index == 0 { first } else { words[index].load(Ordering::Relaxed) })
}

impl FarSlot {
    /// Offsets of what packets write.
    pub const NOTICE: usize = offset_of!(FarSlot, notice);
    pub const LANDED: usize = offset_of!(FarSlot, landed);
    pub const POST: usize = offset_of!(FarSlot, post);
    pub const LINE: usize = offset_of!(FarSlot, line);

    /// The notice of message `number`, if it has come. What it says is a peer's.
    pub fn notice(&self, number: u64) -> Option<Notice> {
        let [told, what, taken] = load(&self.notice);
        let place = match what & 0xff {
            LINE => FarPlace::Line,
            OFFER => FarPlace::Offer,
            buffer => FarPlace::Bounce(buffer as usize),
        };
        (told == number).then_some(Notice { number, place, bytes: (what >> 8) as usize, taken })
    }

    /// Message `number`, if it has landed.
    pub fn landed(&self, number: u64) -> Option<Landed> {
        let [told, bytes, taken] = load(&self.landed);
        (told == number).then_some(Landed { number, bytes: bytes as usize, taken })
    }

    pub fn post(&self) -> FarPost {
        let [word, window, bytes, refused] = load(&self.post);
        FarPost { taken: word >> 1, waiting: word & 1 == 1, window, bytes, refused }
    }

    /// The first byte of the line.
    pub fn line(&self) -> *const u8 {
        self.line.as_ptr().cast()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn store(words: &[AtomicU64], values: &[u64]) {
        words.iter().zip(values).for_each(|(word, value)| word.store(*value, Ordering::Relaxed));
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let slot = FarSlot::default();
        assert_eq!((slot.notice(1), slot.landed(1), slot.post()), (None, None, FarPost::default()));
        for place in [FarPlace::Line, FarPlace::Bounce(7), FarPlace::Offer] {
            let notice = Notice { number: 1 << 40, place, bytes: 1 << 41, taken: u64::MAX };
            store(&slot.notice, &notice.words());
            assert_eq!(slot.notice(1 << 40), Some(notice));
            assert_eq!(slot.notice(0), None);
        }
        let landed = Landed { number: 5, bytes: 0, taken: 4 };
        store(&slot.landed, &landed.words());
        assert_eq!((slot.landed(5), slot.landed(4)), (Some(landed), None));
        let post = FarPost { taken: 9, waiting: true, window: 1, bytes: 2, refused: 3 };
        store(&slot.post, &post.words());
        assert_eq!(slot.post(), post);
    }
}
