//! Sending to one rank.

use super::buffers::Layout;
use super::frame::{FRAME_BYTES, Frame, HEAD_BYTES, Kind, SHORT_MAX, SLOTS};
use crate::error::Result;
use crate::ni::Port;
use crate::planted::{Bug, planted};
use crate::queue::lane::{Memory, Writer};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// What this rank keeps of a rank that it sends to.
#[derive(Debug)]
pub(super) struct Outgoing {
    frames: Writer,
    layout: Layout,
    /// Where its ring is at the receiver.
    ring: usize,
    /// How far the ring was written, and how far it was given back.
    written: Cell<u64>,
    returned: Cell<u64>,
    /// For each frame with bytes in the ring that may be unread: its number, and how far the ring was written with it.
    marks: RefCell<VecDeque<(u64, u64)>>,
    /// How many long ones were sent.
    offers: Cell<usize>,
}

impl Outgoing {
    pub fn new(layout: Layout, me: usize, to: usize) -> Outgoing {
        Outgoing {
            frames: Writer::new(layout.frames, to, layout.lane(me), layout.told(to)),
            layout,
            ring: layout.ring_start(me),
            written: Cell::new(0),
            returned: Cell::new(0),
            marks: RefCell::default(),
            offers: Cell::new(0),
        }
    }

    /// The slot of the next long message, which goes with its frame.
    pub fn next_slot(&self) -> usize {
        self.offers.get() % SLOTS
    }

    /// Sends a message that is not long, if there is room for it.
    #[inline(always)]
    pub fn try_send(&self, port: &Port, memory: &Memory, data: &[u8], tag: u64) -> Result<bool> {
        if self.frames.room(port, memory)? == 0 {
            return Ok(false);
        }
        if data.len() <= SHORT_MAX {
            let frame = Frame { tag, bytes: data.len(), kind: Kind::Short };
            self.write(port, memory, frame, data)?;
            return Ok(true);
        }
        self.try_send_middle(port, memory, data, tag)
    }

    #[inline(never)]
    fn try_send_middle(&self, port: &Port, memory: &Memory, data: &[u8], tag: u64) -> Result<bool> {
        let (at, end) = self.layout.place(self.written.get(), data.len());
        let fits = || end - self.returned.get() <= self.layout.ring as u64 || planted(Bug::RingOverrun);
        if !fits() {
            self.frames.refresh(port, memory)?;
            self.give_back();
            if !fits() {
                return Ok(false);
            }
        }
        port.push(memory.bytes.at(self.frames.reader(), self.ring + at), data)?;
        let number = self.frames.written();
        self.write(port, memory, Frame { tag, bytes: data.len(), kind: Kind::Middle }, &[])?;
        self.written.set(end);
        self.marks.borrow_mut().push_back((number, end));
        Ok(true)
    }

    /// Announces a long message, if there is room for that.
    pub fn try_offer(&self, port: &Port, memory: &Memory, bytes: usize, tag: u64) -> Result<bool> {
        if self.frames.room(port, memory)? == 0 {
            return Ok(false);
        }
        self.write(port, memory, Frame { tag, bytes, kind: Kind::Long(self.next_slot()) }, &[])?;
        self.offers.set(self.offers.get().wrapping_add(1));
        Ok(true)
    }

    #[inline(always)]
    fn write(&self, port: &Port, memory: &Memory, frame: Frame, data: &[u8]) -> Result<()> {
        let mut bytes = [0; FRAME_BYTES];
        let (head, body) = bytes.split_at_mut(HEAD_BYTES);
        let [first, second] = frame.words();
        head[..8].copy_from_slice(&first.to_ne_bytes());
        head[8..].copy_from_slice(&second.to_ne_bytes());
        if data.len() <= 8 {
            // By far the most frequent: without a call.
            data.iter().zip(body).for_each(|(byte, to)| *to = *byte);
            return self.frames.write(port, memory, &bytes[..HEAD_BYTES + 8]);
        }
        body[..data.len()].copy_from_slice(data);
        self.frames.write(port, memory, &bytes)
    }

    /// The bytes of frames that were read are free.
    fn give_back(&self) {
        let mut marks = self.marks.borrow_mut();
        while let Some((_, end)) = marks.front().copied().filter(|(number, _)| *number < self.frames.read()) {
            self.returned.set(end);
            marks.pop_front();
        }
    }
}
