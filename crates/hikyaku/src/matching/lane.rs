//! Short messages between ranks of one host: each sender writes them into a lane of lines in the receiver's memory, where the receiver's
//! own thread looks while it waits. No handler runs for them.
//!
//! ```text
//!   the first line     how many lines were read: written by the receiver, read by a sender that finds no room
//!   a frame: a line    stamp   bytes, told   key   up to 40 bytes
//!     and up to two    -       56 bytes more each
//! ```
//! The stamp is the number of the line plus one, written last. Zeroed memory has no stamp that is awaited, and neither has an earlier lap.
//! No bytes of messages are where stamps can be.
//!
//! What finds no room in a lane, and what is longer, goes by active messages, as everything to other hosts does. Order is kept by counts:
//! a frame tells how many messages its sender had sent by active messages before (`told`), and each of those how many lines it had
//! written before. The receiver takes neither before as many of the other kind were taken.

use crate::error::Result;
use crate::memory::span::Span;
use crate::ni::Ni;
use crate::sync::bell::ANY;
use crate::sync::line::Line;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a message in the first line of its frame, and in each other one.
const FIRST_BYTES: usize = 40;
const MORE_BYTES: usize = 56;
const MORE_LINES: usize = 2;
/// The longest message in a frame.
pub(super) const SHORT_MAX: usize = FIRST_BYTES + MORE_LINES * MORE_BYTES;
/// Bytes of a lane: a page, so that what nobody writes to takes no memory.
pub(super) const LANE_BYTES: usize = 4096;
const LINE_BYTES: usize = 64;
/// Those of its lines that are for frames.
pub(super) const LINES: u64 = (LANE_BYTES / LINE_BYTES) as u64 - 1;
/// Lines that are read until their writer is told.
const TOLD_EVERY: u64 = LINES / 4;
const LENGTH_BITS: u32 = 16;

type Words = Line<[AtomicU64; LINE_BYTES / 8]>;

/// The lines of a frame.
#[inline(always)]
fn lines_of(bytes: usize) -> u64 {
    match bytes <= FIRST_BYTES {
        true => 1,
        false => 1 + (bytes - FIRST_BYTES).div_ceil(MORE_BYTES) as u64,
    }
}

/// Writes up to as many bytes as words have.
#[inline(always)]
fn put<const COUNT: usize>(into: &[AtomicU64], data: &[u8]) {
    let mut words = [0u64; COUNT];
    bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..data.len()].copy_from_slice(data);
    for (to, word) in into.iter().zip(words) {
        to.store(word, Ordering::Relaxed);
    }
}

/// Where a line is in its lane.
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

    /// How many lines were written.
    #[inline(always)]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Writes a message of at most [`SHORT_MAX`] bytes, before which so many were sent otherwise; false if there is no room.
    #[inline]
    pub fn try_write(&mut self, ni: &Ni, key: u64, data: &[u8], told: u64) -> bool {
        let Some(lane) = self.lane(ni) else { return false };
        let lines = lines_of(data.len());
        if self.written - self.read + lines > LINES {
            let read = lane.at::<AtomicU64>(0).load(Ordering::Acquire);
            // What no reader says makes no room.
            if read <= self.read || read > self.written {
                return false;
            }
            self.read = read;
            if self.written - read + lines > LINES {
                return false;
            }
        }
        let frame: &Words = lane.at(self.spot.0);
        frame[1].store(data.len() as u64 | told << LENGTH_BITS, Ordering::Relaxed);
        frame[2].store(key, Ordering::Relaxed);
        let (first, more) = data.split_at(data.len().min(FIRST_BYTES));
        put::<{ FIRST_BYTES / 8 }>(&frame[3..], first);
        self.spot = self.spot.next();
        for part in more.chunks(MORE_BYTES) {
            let line: &Words = lane.at(self.spot.0);
            put::<{ MORE_BYTES / 8 }>(&line[1..], part);
            self.spot = self.spot.next();
        }
        frame[0].store(self.written + 1, Ordering::Release);
        self.written += lines;
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
    /// How many lines the writer knows to be read.
    said: u64,
}

/// A message as it lies in a frame.
pub(super) struct Frame {
    /// How many messages were sent otherwise before.
    pub told: u64,
    pub key: u64,
    /// Of a message that is longer than any sender says, what there can be.
    bytes: usize,
    first: [u64; FIRST_BYTES / 8],
}

impl Frame {
    #[inline(always)]
    pub fn lines(&self) -> u64 {
        lines_of(self.bytes)
    }
}

impl Reader {
    /// Of the lane of a rank that has begun to write. `start` is where the lanes of all senders begin.
    pub fn new(start: usize, writer: usize) -> Reader {
        Reader { writer, start: start + writer * LANE_BYTES, spot: Spot::FIRST, read: 0, said: 0 }
    }

    /// How many lines were read.
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
        let sizes = line[1].load(Ordering::Relaxed);
        Some(Frame {
            told: sizes >> LENGTH_BITS,
            key: line[2].load(Ordering::Relaxed),
            bytes: ((sizes % (1 << LENGTH_BITS)) as usize).min(SHORT_MAX),
            first: std::array::from_fn(|word| line[3 + word].load(Ordering::Relaxed)),
        })
    }

    /// Shows the message of the next frame.
    #[inline(always)]
    pub fn show<R>(&self, ni: &Ni, frame: &Frame, to: impl FnOnce(&[u8]) -> R) -> R {
        match frame.bytes <= FIRST_BYTES {
            true => to(&bytemuck::bytes_of(&frame.first)[..frame.bytes]),
            false => self.gather(ni, frame, to),
        }
    }

    /// The same of several lines.
    #[inline(never)]
    fn gather<R>(&self, ni: &Ni, frame: &Frame, to: impl FnOnce(&[u8]) -> R) -> R {
        let lane = ni.own_memory(self.start, LANE_BYTES);
        let mut words = [0u64; SHORT_MAX / 8];
        let (first, more) = words.split_at_mut(frame.first.len());
        first.copy_from_slice(&frame.first);
        let mut spot = self.spot;
        for part in more.chunks_mut(MORE_BYTES / 8).take(frame.lines() as usize - 1) {
            spot = spot.next();
            let line: &Words = lane.at(spot.0);
            part.iter_mut().zip(&line[1..]).for_each(|(into, word)| *into = word.load(Ordering::Relaxed));
        }
        to(&bytemuck::cast_slice(&words)[..frame.bytes])
    }

    /// The next frame was taken, which had so many lines.
    #[inline(always)]
    pub fn advance(&mut self, ni: &Ni, lines: u64) {
        self.read += lines;
        (0..lines).for_each(|_| self.spot = self.spot.next());
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

    fn fill(ni: &Ni, writer: &mut Writer, bytes: impl Fn(u64) -> usize) -> u64 {
        let begin = writer.written();
        let write = |writer: &mut Writer| {
            let number = writer.written();
            writer.try_write(ni, number, &vec![number as u8; bytes(number)], 7)
        };
        while write(writer) {}
        writer.written() - begin
    }

    fn empty(ni: &Ni, reader: &mut Reader, bytes: impl Fn(u64) -> usize) -> u64 {
        let begin = reader.read();
        while let Some(frame) = reader.next(ni) {
            let number = reader.read();
            assert_eq!((frame.key, frame.told, frame.lines()), (number, 7, lines_of(bytes(number))));
            reader.show(ni, &frame, |data| assert_eq!(data, vec![number as u8; bytes(number)]));
            reader.advance(ni, frame.lines());
        }
        reader.read() - begin
    }

    #[test]
    fn a_lane_holds_so_many_lines_and_then_as_many_again() {
        let told = TOLD_EVERY * (LINES / TOLD_EVERY);
        let expected = |turn| if turn == 0 { LINES } else { told };
        in_turn(
            |turn, ni, writer| assert_eq!(fill(ni, writer, |_| 8), expected(turn)),
            |turn, ni, reader| assert_eq!(empty(ni, reader, |_| 8), expected(turn)),
        );
    }

    #[test]
    fn messages_of_several_lines_go_over_the_end_of_a_lane() {
        let bytes = |number: u64| [0, 40, 41, 96, 97, 150, SHORT_MAX][number as usize % 7];
        let written = AtomicU64::new(0);
        in_turn(
            |_, ni, writer| written.store(fill(ni, writer, bytes), Ordering::Release),
            |_, ni, reader| {
                let written = written.load(Ordering::Acquire);
                assert!(written > LINES / 2);
                assert_eq!(empty(ni, reader, bytes), written);
            },
        );
    }

    #[test]
    fn what_a_reader_says_that_cannot_be_makes_no_room() {
        let says = [u64::MAX, LINES + 1];
        in_turn(
            |turn, ni, writer| assert_eq!(fill(ni, writer, |_| 8), if turn == 0 { LINES } else { 0 }),
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
            |_, ni, reader| {
                let frame = reader.next(ni).unwrap();
                reader.show(ni, &frame, |data| assert_eq!(data.len(), SHORT_MAX));
            },
        );
    }
}
