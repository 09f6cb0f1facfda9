//! A lane: a ring of items of one length from one rank to another, in the memory of the one that reads.
//!
//! Slot `n` of the ring has item `n`, `n + slots`, and so on: the stamp, which is the item's number plus one, then the item. Zeroed memory
//! has no stamp that is awaited, and neither has an earlier lap.

use crate::error::{Error, Result};
use crate::job::Job;
use crate::memory::span::Span;
use crate::ni::{Hold, Place, Port, Symmetric};
use crate::planted::{Bug, planted};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};

const STAMP_BYTES: usize = size_of::<u64>();
const LINE_BYTES: usize = 64;
/// Items that are put together before they are written go at most so far.
const BATCH_BYTES: usize = 4096;

/// How many items of how many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// A power of two.
    slots: usize,
    item: usize,
    stride: usize,
}

impl Shape {
    /// Room for `capacity` items that were not read, though the reader tells only of each quarter of the ring. `None` if that is too much
    /// for any memory, or nothing.
    pub fn new(capacity: usize, item: usize) -> Option<Shape> {
        let slots = capacity.checked_mul(4)?.div_ceil(3).max(4).checked_next_power_of_two()?;
        let stride = item.checked_next_multiple_of(STAMP_BYTES)?.checked_add(STAMP_BYTES)?;
        stride.checked_mul(slots)?.checked_add(LINE_BYTES)?;
        (capacity > 0 && item > 0).then_some(Shape { slots, item, stride })
    }

    /// How many bytes a lane takes: whole lines.
    pub fn bytes(self) -> usize {
        (self.slots * self.stride).next_multiple_of(LINE_BYTES)
    }

    pub fn stride(self) -> usize {
        self.stride
    }

    pub fn item(self) -> usize {
        self.item
    }

    /// After how many items the reader tells how far it has come.
    fn quarter(self) -> u64 {
        self.slots as u64 / 4
    }

    fn index(self, number: u64) -> usize {
        number as usize & (self.slots - 1)
    }

    fn slot(self, number: u64) -> usize {
        self.index(number) * self.stride
    }

    /// How many of some items, from this number on, lie one behind the other.
    fn in_a_row(self, number: u64, count: usize) -> usize {
        count.min(self.slots - self.index(number))
    }
}

/// What a reader tells a writer: how many items it has read, and whether it looks at the lane without being asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told(pub u64);

impl Told {
    pub fn new(read: u64, is_awake: bool) -> Told {
        Told(read << 1 | is_awake as u64)
    }

    pub fn read(self) -> u64 {
        self.0 >> 1
    }

    pub fn is_awake(self) -> bool {
        self.0 & 1 != 0
    }
}

/// Symmetric memory with lanes in it, as bytes and as words.
#[derive(Debug)]
pub(crate) struct Memory {
    pub bytes: Symmetric<u8>,
    words: Symmetric<u64>,
}

impl Memory {
    pub fn new(bytes: Symmetric<u8>) -> Memory {
        let words = bytes.part(0, bytes.len() / size_of::<u64>());
        Memory { bytes, words }
    }

    pub fn word(&self, rank: usize, offset: usize) -> Place<'_, u64> {
        self.words.at(rank, offset / size_of::<u64>())
    }

    /// A word of this rank's own part.
    pub fn own_word<'p>(&self, port: &'p Port, offset: usize) -> Result<(&'p AtomicU64, u64)> {
        port.own_word(self.words.here(offset / size_of::<u64>()))
    }

    /// Some bytes of this rank's own part.
    #[inline(always)]
    pub fn own<'p>(&self, port: &'p Port, offset: usize, bytes: usize) -> Span<'p> {
        port.ni().own_memory(self.bytes.start + offset, bytes)
    }
}

/// The side that writes.
#[derive(Debug)]
pub(crate) struct Writer {
    shape: Shape,
    reader: usize,
    /// Where the lane begins in the reader's part of the memory.
    start: usize,
    /// Where the reader tells how far it has come, in this rank's part.
    told: usize,
    written: Cell<u64>,
    read: Cell<u64>,
    /// Several items, as they are to lie in memory.
    image: RefCell<Vec<u8>>,
    /// An item is being written. A handler that runs meanwhile would take the same slot.
    is_busy: Cell<bool>,
}

impl Writer {
    pub fn new(shape: Shape, reader: usize, start: usize, told: usize) -> Writer {
        let (written, read, image) = (Cell::new(0), Cell::new(0), RefCell::default());
        Writer { shape, reader, start, told, written, read, image, is_busy: Cell::new(false) }
    }

    pub fn reader(&self) -> usize {
        self.reader
    }

    /// How many items were written.
    #[inline(always)]
    pub fn written(&self) -> u64 {
        self.written.get()
    }

    /// How many items the reader is known to have read.
    #[inline(always)]
    pub fn read(&self) -> u64 {
        self.read.get()
    }

    /// For how many items there is room, as far as is known.
    #[inline(always)]
    fn known_room(&self) -> usize {
        self.shape.slots - (self.written.get() - self.read.get()) as usize
    }

    /// For how many items there is room.
    #[inline(always)]
    pub fn room(&self, port: &Port, memory: &Memory) -> Result<usize> {
        match self.known_room() {
            0 => self.refresh(port, memory),
            room => Ok(room),
        }
    }

    /// Asks how far the reader has come; for how many items there is room.
    pub fn refresh(&self, port: &Port, memory: &Memory) -> Result<usize> {
        let read = self.told(port, memory)?.read();
        // Never more than were written, nor so few that there would be more than there are slots.
        let unread = self.written.get().wrapping_sub(read);
        if unread > self.shape.slots as u64 {
            return Err(misread(self.reader));
        }
        self.read.set(read);
        Ok(self.known_room())
    }

    /// What the reader has told last.
    #[inline(always)]
    pub fn told(&self, port: &Port, memory: &Memory) -> Result<Told> {
        let (word, _) = memory.own_word(port, self.told)?;
        Ok(Told(word.load(Ordering::Acquire)))
    }

    /// The word in which the reader tells it, by the name under which it is waited for.
    pub fn watch(&self, port: &Port, memory: &Memory) -> Result<u64> {
        memory.own_word(port, self.told).map(|(_, watch)| watch)
    }

    /// Writes an item, for which there is room.
    #[inline(always)]
    pub fn write(&self, port: &Port, memory: &Memory, item: &[u8]) -> Result<()> {
        debug_assert!(item.len() <= self.shape.item && self.known_room() > 0);
        let _busy = self.begin(port)?;
        let number = self.written.get();
        let slot = self.start + self.shape.slot(number);
        let stamp = memory.word(self.reader, slot);
        let place = memory.bytes.at(self.reader, slot + STAMP_BYTES);
        if planted(Bug::StampBeforeItem) {
            port.word(stamp, number + 1)?;
        }
        port.push_notify(place, item, stamp, number + 1)?;
        self.written.set(number + 1);
        Ok(())
    }

    /// Writes items one behind the other, as far as there is room; how many. The stamp of the first is written last: whoever sees that sees
    /// all of them, since nobody looks at the others before.
    pub fn write_many(&self, port: &Port, memory: &Memory, items: &[u8]) -> Result<usize> {
        let Shape { item, stride, .. } = self.shape;
        let mut done = 0;
        while done * item < items.len() {
            let left = items.len() / item - done;
            let room = match self.known_room() {
                room if room < left => self.refresh(port, memory)?,
                room => room,
            };
            let number = self.written.get();
            let fit = left.min(room).min((BATCH_BYTES / stride).max(1));
            let count = self.shape.in_a_row(number, fit);
            if count == 0 {
                break;
            }
            let first = &items[done * item..(done + count) * item];
            if count == 1 {
                self.write(port, memory, first)?;
            } else {
                self.write_row(port, memory, first, count)?;
            }
            done += count;
        }
        Ok(done)
    }

    #[inline(always)]
    fn begin(&self, port: &Port) -> Result<Busy<'_>> {
        match self.is_busy.replace(true) {
            // Where memory is mapped, handlers run before anything is written. On the way to a far rank they may run when it is sent, so
            // a panic of one waits: what was sent is counted.
            false => Ok(Busy { of: &self.is_busy, _hold: (!port.ni().is_near(self.reader)).then(Hold::enter) }),
            true => Err(Error::InHandler),
        }
    }

    fn write_row(&self, port: &Port, memory: &Memory, items: &[u8], count: usize) -> Result<()> {
        let _busy = self.begin(port)?;
        let Shape { item, stride, .. } = self.shape;
        let number = self.written.get();
        let mut image = self.image.borrow_mut();
        image.resize(count * stride, 0);
        let slots = image.chunks_exact_mut(stride).zip(items.chunks_exact(item));
        for (at, (slot, item)) in slots.enumerate() {
            let (stamp, room) = slot.split_at_mut(STAMP_BYTES);
            stamp.copy_from_slice(&(number + at as u64 + 1).to_ne_bytes());
            room[..item.len()].copy_from_slice(item);
        }
        let slot = self.start + self.shape.slot(number);
        let place = memory.bytes.at(self.reader, slot + STAMP_BYTES);
        port.push_notify(place, &image[STAMP_BYTES..], memory.word(self.reader, slot), number + 1)?;
        self.written.set(number + count as u64);
        Ok(())
    }
}

/// Until it is dropped, by a panic too.
struct Busy<'w> {
    of: &'w Cell<bool>,
    _hold: Option<Hold>,
}

impl Drop for Busy<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.of.set(false);
    }
}

#[cold]
fn misread(rank: usize) -> Error {
    Error::PeerMisbehaved { rank, what: "more items read than were written" }
}

/// The side that reads.
#[derive(Debug)]
pub(crate) struct Reader {
    shape: Shape,
    writer: usize,
    /// Where the lane begins in this rank's part of the memory.
    start: usize,
    /// Where the writer is told how far this one has come, in its part.
    told: usize,
    read: u64,
    /// What the writer was told last.
    said: u64,
    /// It could not be told where nothing can be waited for.
    is_owed: bool,
}

impl Reader {
    pub fn new(shape: Shape, writer: usize, start: usize, told: usize) -> Reader {
        Reader { shape, writer, start, told, read: 0, said: 0, is_owed: false }
    }

    /// How many items were read.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// Whether the item is there that comes so many after the next.
    #[inline(always)]
    pub fn has(&self, port: &Port, memory: &Memory, ahead: u64) -> bool {
        let number = self.read + ahead;
        let stamp: &AtomicU64 = memory.own(port, self.start + self.shape.slot(number), STAMP_BYTES).at(0);
        ahead < self.shape.slots as u64 && stamp.load(Ordering::Acquire) == number + 1
    }

    /// How many items are there, up to `max`, that lie one behind the other.
    pub fn count(&self, port: &Port, memory: &Memory, max: usize) -> usize {
        (0..self.shape.in_a_row(self.read, max)).take_while(|ahead| self.has(port, memory, *ahead as u64)).count()
    }

    /// The item that comes so many after the next, which is there.
    #[inline(always)]
    pub fn item<'p>(&self, port: &'p Port, memory: &Memory, ahead: u64) -> Span<'p> {
        memory.own(port, self.start + self.shape.slot(self.read + ahead) + STAMP_BYTES, self.shape.item)
    }

    /// So many items were read. Their room is the writer's again, when it is told.
    #[inline(always)]
    pub fn advance(&mut self, job: &Job, memory: &Memory, count: u64) {
        self.read += count;
        if self.read - self.said >= self.shape.quarter() {
            self.tell(job, memory, true);
        }
    }

    /// Tells the writer how far this rank has come. One that has ended need not know.
    #[cold]
    pub fn tell(&mut self, job: &Job, memory: &Memory, is_awake: bool) {
        // Also where an item is dropped by a panic: one of a handler waits.
        let _hold = Hold::enter();
        let ahead = if planted(Bug::RoomToldEarly) { self.shape.quarter() / 2 } else { 0 };
        let told = Told::new(self.read + ahead, is_awake);
        self.said = self.read;
        let told = job.hint(memory.word(self.writer, self.told), told.0);
        self.is_owed = matches!(told, Err(Error::InHandler | Error::InFunction));
    }

    /// Tells the writer now, if that could not be done in a function that combines: there may have been no room on the way to a far rank.
    #[inline(always)]
    pub fn tell_owed(&mut self, job: &Job, memory: &Memory) {
        if self.is_owed {
            self.tell(job, memory, true);
        }
    }
}
