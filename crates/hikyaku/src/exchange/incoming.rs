//! What one rank has sent.

use super::buffers::Layout;
use super::frame::{Frame, HEAD_BYTES, Kind, SLOTS};
use super::kept::{Content, Kept, Shelf};
use crate::error::{Error, Result};
use crate::job::Job;
use crate::matching::Keys;
use crate::memory::span::Span;
use crate::planted::{Bug, planted};
use crate::queue::lane::{Memory, Reader};
use std::collections::VecDeque;

/// So much of one sender is set aside at most.
const KEPT_MAX: usize = 1 << 20;
/// And so much with what is fetched because it is before a message that is wanted.
const FETCHED_MAX: usize = 2 * KEPT_MAX;
/// More long messages than any sender announces before some were received: in each slot there may be one that needs no receive, and one
/// whose receive was given up.
const OFFERS_MAX: usize = 4 * SLOTS;

/// What this rank keeps of a rank that sends to it.
#[derive(Debug)]
pub(super) struct Incoming {
    frames: Reader,
    layout: Layout,
    source: usize,
    /// Where its ring is in this rank's part of the memory.
    ring: usize,
    /// To where the ring was looked at.
    position: u64,
    /// Frames that were looked at and are not given back.
    looked: VecDeque<Looked>,
    /// Bytes of the ring that were given back since the sender was told.
    untold: usize,
    pub kept: Shelf,
    /// What it has sent makes no sense: nothing of it is read any more.
    spoilt: Option<&'static str>,
}

/// A frame that waits until its room is given back.
#[derive(Clone, Copy, Debug)]
struct Looked {
    /// How much of the ring goes with it.
    bytes: usize,
    /// Nobody needs it any more: only those before it do.
    is_free: bool,
}

/// A message that a receive may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub number: u64,
    pub tag: u64,
    pub bytes: usize,
    pub place: Where,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// In the next frame, or in the ring from there on; to where the ring is read with it.
    Next(Kind, usize, u64),
    /// Set aside.
    Kept,
    /// Set aside, but with its sender: in this slot.
    Offered(usize),
}

impl Incoming {
    pub fn new(layout: Layout, me: usize, source: usize) -> Incoming {
        Incoming {
            frames: Reader::new(layout.frames, source, layout.lane(source), layout.told(me)),
            layout,
            source,
            ring: layout.ring_start(source),
            position: 0,
            looked: VecDeque::new(),
            untold: 0,
            kept: Shelf::default(),
            spoilt: None,
        }
    }

    /// The first message that has one of these tags, if it is there. What comes before it is set aside.
    #[inline(always)]
    pub fn find(&mut self, job: &Job, memory: &Memory, tags: Keys) -> Result<Option<Found>> {
        if !self.kept.is_empty()
            && let Some((number, Kept { tag, bytes, content })) = self.kept.first(tags)
        {
            let place = if let Content::Offered(slot) = *content { Where::Offered(slot) } else { Where::Kept };
            return Ok(Some(Found { number, tag: *tag, bytes: *bytes, place }));
        }
        while let Some((frame, at, end)) = self.look(job, memory)? {
            if tags.matches(frame.tag) && !matches!(frame.kind, Kind::Long(_)) {
                let Frame { tag, bytes, kind } = frame;
                return Ok(Some(Found { number: self.number(), tag, bytes, place: Where::Next(kind, at, end) }));
            }
            let number = self.number();
            self.set_aside(job, memory, frame, at, end)?;
            if let Kind::Long(slot) = frame.kind
                && tags.matches(frame.tag)
            {
                return Ok(Some(Found { number, tag: frame.tag, bytes: frame.bytes, place: Where::Offered(slot) }));
            }
        }
        Ok(None)
    }

    /// Sets everything aside that is there, while there is room for it.
    pub fn drain(&mut self, job: &Job, memory: &Memory) -> Result<()> {
        while self.kept.cost() < KEPT_MAX
            && let Some((frame, at, end)) = self.look(job, memory)?
        {
            self.set_aside(job, memory, frame, at, end)?;
        }
        Ok(())
    }

    /// Where there would be too much private memory taken by a message that is fetched for one behind it: the limit.
    pub fn check_fetched(&self, bytes: usize) -> Result<()> {
        let available = FETCHED_MAX.saturating_sub(self.kept.cost());
        match bytes <= available {
            true => Ok(()),
            false => Err(Error::NoMemory {
                needed: bytes as u64,
                available: available as u64,
                limit: "memory for messages that a rank has sent and this one has not received",
            }),
        }
    }

    /// What its sender says makes no sense.
    #[cold]
    pub fn spoil(&mut self, what: &'static str) -> Error {
        self.spoilt = Some(what);
        // Nobody knows what would come.
        self.kept.forget_offers();
        Error::PeerMisbehaved { rank: self.source, what }
    }

    /// The number of the next frame that was not looked at.
    fn number(&self) -> u64 {
        self.frames.read() + self.looked.len() as u64
    }

    /// The next frame, if it is there, where its bytes begin in the ring, and to where the ring is read with it.
    #[inline(always)]
    fn look(&mut self, job: &Job, memory: &Memory) -> Result<Option<(Frame, usize, u64)>> {
        let ahead = self.looked.len() as u64;
        if self.spoilt.is_some() || !self.frames.has(job, memory, ahead) {
            self.frames.tell_owed(job, memory);
            return match self.spoilt {
                Some(what) => Err(self.spoil(what)),
                None => Ok(None),
            };
        }
        let mut words = [0u64; HEAD_BYTES / 8];
        self.frames.item(job, memory, ahead).copy_out(bytemuck::bytes_of_mut(&mut words));
        let Some(frame) = Frame::read(words, self.layout.middle_max()) else {
            return Err(self.spoil("a frame that makes no sense"));
        };
        let (at, end) = match frame.kind {
            Kind::Middle => self.layout.place(self.position, frame.bytes),
            Kind::Short | Kind::Long(_) => (0, self.position),
        };
        Ok(Some((frame, at, end)))
    }

    /// The bytes of a message that is not long, in the buffer.
    fn bytes_of<'j>(&self, job: &'j Job, memory: &Memory, ahead: u64, kind: Kind, at: usize, bytes: usize) -> Span<'j> {
        match kind {
            Kind::Middle => memory.own(job, self.ring + at, bytes),
            _ => self.frames.item(job, memory, ahead).part(HEAD_BYTES, bytes),
        }
    }

    #[inline(never)]
    fn set_aside(&mut self, job: &Job, memory: &Memory, frame: Frame, at: usize, end: u64) -> Result<()> {
        let (number, ahead) = (self.number(), self.looked.len() as u64);
        let Frame { tag, bytes, kind } = frame;
        if let Kind::Long(slot) = kind {
            if self.kept.offers() >= OFFERS_MAX {
                return Err(self.spoil("more announcements of long messages than it can have under way"));
            }
            self.kept.add(number, Kept { tag, bytes, content: Content::Offered(slot) });
            self.pass(job, memory, end, true);
            return Ok(());
        }
        if self.kept.cost() >= KEPT_MAX && !planted(Bug::KeptUnbounded) {
            let at = if kind == Kind::Middle { at } else { usize::MAX };
            self.kept.add(number, Kept { tag, bytes, content: Content::InPlace(number, at) });
            self.pass(job, memory, end, false);
            return Ok(());
        }
        let mut data = vec![0; bytes].into_boxed_slice();
        self.bytes_of(job, memory, ahead, kind, at, bytes).copy_out(&mut data);
        if !planted(Bug::SetAsideLost) {
            self.kept.add(number, Kept { tag, bytes, content: Content::Here(data) });
        }
        self.pass(job, memory, end, true);
        Ok(())
    }

    /// The next frame was looked at, with which the ring is read to `end`; whether its room may be given back.
    #[inline(always)]
    fn pass(&mut self, job: &Job, memory: &Memory, end: u64, is_free: bool) {
        let bytes = (end - self.position) as usize;
        self.position = end;
        match self.looked.is_empty() && is_free {
            true => self.give_back(job, memory, 1, bytes),
            false => self.looked.push_back(Looked { bytes, is_free }),
        }
    }

    fn give_back_looked(&mut self, job: &Job, memory: &Memory) {
        let count = self.looked.iter().take_while(|looked| looked.is_free).count();
        let bytes = self.looked.drain(..count).map(|looked| looked.bytes).sum();
        self.give_back(job, memory, count as u64, bytes);
    }

    /// So many frames are the sender's again, with so many bytes of the ring.
    #[inline(always)]
    fn give_back(&mut self, job: &Job, memory: &Memory, count: u64, bytes: usize) {
        self.frames.advance(job, memory, count);
        self.untold += bytes;
        if self.untold >= self.layout.ring / 4 {
            self.untold = 0;
            self.frames.tell(job, memory, true);
        }
    }

    /// Copies a message that was found to where it is wanted, and gives its room back. `into` may be shorter: then nothing is written, and
    /// the message is gone.
    #[inline(always)]
    pub fn take(&mut self, job: &Job, memory: &Memory, found: Found, into: &mut [u8]) {
        let Found { number, bytes, place, .. } = found;
        let Where::Next(kind, at, end) = place else { return self.take_kept(job, memory, number, into) };
        if let Some(into) = into.get_mut(..bytes) {
            self.bytes_of(job, memory, self.looked.len() as u64, kind, at, bytes).copy_out(into);
        }
        self.pass(job, memory, end, true);
    }

    #[inline(never)]
    fn take_kept(&mut self, job: &Job, memory: &Memory, number: u64, into: &mut [u8]) {
        let Some(Kept { bytes, content, .. }) = self.kept.remove(number) else { return };
        let into = into.get_mut(..bytes);
        match content {
            Content::Here(data) => into.into_iter().for_each(|into| into.copy_from_slice(&data)),
            Content::InPlace(frame, at) => {
                let ahead = frame - self.frames.read();
                let (kind, at) = if at == usize::MAX { (Kind::Short, 0) } else { (Kind::Middle, at) };
                let span = self.bytes_of(job, memory, ahead, kind, at, bytes);
                into.into_iter().for_each(|into| span.copy_out(into));
                self.looked[ahead as usize].is_free = true;
                self.give_back_looked(job, memory);
            }
            Content::Offered(_) => {}
        }
    }
}
