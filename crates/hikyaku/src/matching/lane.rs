//! Short messages between ranks of one host: each sender writes them into a lane of lines in the receiver's memory, where the receiver's
//! own thread looks while it waits. No handler runs for them.
//!
//! ```text
//!   the first line     how many frames were read: written by the receiver, read by a sender that finds no room
//!   a frame, a line    stamp   bytes, told   key   up to 40 bytes
//! ```
//! The stamp is the number of the frame plus one, written last. Zeroed memory has no stamp that is awaited, and neither has an earlier lap.
//!
//! What finds no room in a lane, and what is longer, goes by active messages, as everything to other hosts does. Order is kept by counts:
//! a frame tells how many messages its sender had sent by active messages before (`told`), and each of those how many frames it had
//! written before. The receiver takes neither before as many of the other kind were taken.

use crate::error::Result;
use crate::memory::span::Span;
use crate::ni::Ni;
use crate::sync::bell::ANY;
use crate::sync::line::Line;
use std::sync::atomic::{AtomicU64, Ordering};

/// The longest message in a frame.
pub(super) const SHORT_MAX: usize = 40;
/// Bytes of a lane: a page, so that what nobody writes to takes no memory.
pub(super) const LANE_BYTES: usize = 4096;
const LINE_BYTES: usize = 64;
/// What it holds.
pub(super) const FRAMES: u64 = (LANE_BYTES / LINE_BYTES) as u64 - 1;
/// Frames that are read until their writer is told.
const TOLD_EVERY: u64 = FRAMES / 4;
const LENGTH_BITS: u32 = 8;

type Words = Line<[AtomicU64; LINE_BYTES / 8]>;

/// Where a frame is in its lane.
#[derive(Clone, Copy, Debug)]
struct Spot(usize);

impl Spot {
    const FIRST: Spot = Spot(LINE_BYTES);

    #[inline(always)]
    fn next(self) -> Spot {
        if self.0 + LINE_BYTES < LANE_BYTES { Spot(self.0 + LINE_BYTES) } else { Spot::FIRST }
    }
}

/// The side that sends.
#[derive(Debug)]
pub(super) struct Writer {
    reader: usize,
    /// Where the lane begins in the reader's heap.
    start: usize,
    spot: Spot,
    written: u64,
    read: u64,
}

impl Writer {
    /// Takes memory for the lane to a rank, which is near. `start` is where the lanes of all senders begin.
    pub fn open(ni: &Ni, start: usize, reader: usize) -> Result<Writer> {
        let start = start + ni.rank * LANE_BYTES;
        ni.commit_near(reader, start, LANE_BYTES)?;
        Ok(Writer { reader, start, spot: Spot::FIRST, written: 0, read: 0 })
    }

    #[inline(always)]
    fn lane<'n>(&self, ni: &'n Ni) -> Option<Span<'n>> {
        ni.near_span(self.reader, self.start as u64, LANE_BYTES as u64)
    }

    /// How many frames were written.
    #[inline(always)]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Writes a message of at most [`SHORT_MAX`] bytes, before which so many were sent otherwise; false if there is no room.
    #[inline]
    pub fn try_write(&mut self, ni: &Ni, key: u64, data: &[u8], told: u64) -> bool {
        let Some(lane) = self.lane(ni) else { return false };
        if self.written - self.read == FRAMES {
            let read = lane.at::<AtomicU64>(0).load(Ordering::Acquire);
            // What no reader says makes no room.
            if read <= self.read || read > self.written {
                return false;
            }
            self.read = read;
        }
        let mut words = [0; SHORT_MAX / 8];
        bytemuck::bytes_of_mut(&mut words)[..data.len()].copy_from_slice(data);
        let frame: &Words = lane.at(self.spot.0);
        frame[1].store(data.len() as u64 | told << LENGTH_BITS, Ordering::Relaxed);
        frame[2].store(key, Ordering::Relaxed);
        for (to, word) in frame[3..].iter().zip(words) {
            to.store(word, Ordering::Relaxed);
        }
        self.spot = self.spot.next();
        self.written += 1;
        frame[0].store(self.written, Ordering::Release);
        ni.notify(self.reader, ANY);
        true
    }
}

/// The side that receives.
#[derive(Debug)]
pub(super) struct Reader {
    pub writer: usize,
    start: usize,
    spot: Spot,
    read: u64,
    said: u64,
}

/// A message as it lies in a frame.
pub(super) struct Frame {
    /// How many messages were sent otherwise before.
    pub told: u64,
    pub key: u64,
    words: [u64; SHORT_MAX / 8],
    bytes: usize,
}

impl Frame {
    /// The message. Of one that is longer than any sender says, what there is.
    #[inline(always)]
    pub fn data(&self) -> &[u8] {
        &bytemuck::bytes_of(&self.words)[..self.bytes.min(SHORT_MAX)]
    }
}

#[cfg(test)]
impl Frame {
    pub fn of(key: u64, number: u64, told: u64) -> Frame {
        Frame { told, key, words: [number, 0, 0, 0, 0], bytes: 8 }
    }
}

impl Reader {
    /// Of the lane of a rank that has begun to write. `start` is where the lanes of all senders begin.
    pub fn new(start: usize, writer: usize) -> Reader {
        Reader { writer, start: start + writer * LANE_BYTES, spot: Spot::FIRST, read: 0, said: 0 }
    }

    /// How many frames were read.
    #[inline(always)]
    pub fn read(&self) -> u64 {
        self.read
    }

    /// The next frame, if it is there.
    #[inline(always)]
    pub fn next(&self, ni: &Ni) -> Option<Frame> {
        let line: &Words = ni.own_memory(self.start + self.spot.0, LINE_BYTES).at(0);
        if line[0].load(Ordering::Acquire) != self.read + 1 {
            return None;
        }
        let first = line[1].load(Ordering::Relaxed);
        Some(Frame {
            told: first >> LENGTH_BITS,
            key: line[2].load(Ordering::Relaxed),
            words: std::array::from_fn(|word| line[3 + word].load(Ordering::Relaxed)),
            bytes: (first % (1 << LENGTH_BITS)) as usize,
        })
    }

    /// The next frame was taken.
    #[inline(always)]
    pub fn advance(&mut self, ni: &Ni) {
        self.read += 1;
        self.spot = self.spot.next();
        if self.read - self.said >= TOLD_EVERY {
            self.tell(ni);
        }
    }

    fn tell(&mut self, ni: &Ni) {
        self.said = self.read;
        ni.own_memory(self.start, LINE_BYTES).at::<AtomicU64>(0).store(self.read, Ordering::Release);
        ni.notify(self.writer, ANY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Job;

    /// Rank 0 writes to the lane of rank 1; each does its part in turn.
    fn in_turn(sends: impl Fn(usize, &Ni, &mut Writer) + Sync, reads: impl Fn(usize, &Ni, &mut Reader) + Sync) {
        crate::local(2, |job: &Job| {
            let memory = job.symmetric::<u8>(2 * LANE_BYTES)?;
            let (mut writer, mut reader) = (Writer::open(&job.ni, memory.start, 1)?, Reader::new(memory.start, 0));
            for turn in 0..3 {
                if job.rank() == 0 {
                    sends(turn, &job.ni, &mut writer);
                }
                job.barrier()?;
                if job.rank() == 1 {
                    reads(turn, &job.ni, &mut reader);
                }
                job.barrier()?;
            }
            Ok(())
        })
        .unwrap()
        .into_iter()
        .for_each(|ended: Result<()>| ended.unwrap());
    }

    fn fill(ni: &Ni, writer: &mut Writer) -> u64 {
        let begin = writer.written();
        while writer.try_write(ni, writer.written(), &writer.written().to_le_bytes(), 7) {}
        writer.written() - begin
    }

    fn empty(ni: &Ni, reader: &mut Reader) -> u64 {
        let begin = reader.read();
        while let Some(frame) = reader.next(ni) {
            assert_eq!((frame.key, frame.told, frame.data()), (reader.read(), 7, &reader.read().to_le_bytes()[..]));
            reader.advance(ni);
        }
        reader.read() - begin
    }

    #[test]
    fn a_lane_holds_so_many_frames_and_then_as_many_again() {
        let told = TOLD_EVERY * (FRAMES / TOLD_EVERY);
        in_turn(
            |turn, ni, writer| assert_eq!(fill(ni, writer), if turn == 0 { FRAMES } else { told }),
            |turn, ni, reader| assert_eq!(empty(ni, reader), if turn == 0 { FRAMES } else { told }),
        );
    }

    #[test]
    fn what_a_reader_says_that_cannot_be_makes_no_room() {
        let says = [u64::MAX, FRAMES + 1];
        in_turn(
            |turn, ni, writer| assert_eq!(fill(ni, writer), if turn == 0 { FRAMES } else { 0 }),
            |turn, ni, reader| {
                let said = says[turn % says.len()];
                ni.own_memory(reader.start, LINE_BYTES).at::<AtomicU64>(0).store(said, Ordering::Release);
            },
        );
    }

    #[test]
    fn of_a_frame_that_says_more_than_it_holds_there_is_what_it_holds() {
        in_turn(
            |_, ni, writer| {
                let lane = writer.lane(ni).unwrap();
                let frame: &Words = lane.at(writer.spot.0);
                frame[1].store(u64::MAX, Ordering::Relaxed);
                frame[0].store(writer.written + 1, Ordering::Release);
            },
            |_, ni, reader| assert_eq!(reader.next(ni).unwrap().data().len(), SHORT_MAX),
        );
    }
}
