//! Pushes and pulls of some parts of a range: the same shapes in place, by a system call, and by packets.
//!
//! However many parts there are, they are one operation: in place one kernel, otherwise few system calls or packets, each full of parts.

use super::initiator::Initiator;
use crate::error::Result;
use crate::memory::parts::{copy_blocks, marks::Marks, pack_marked};
use crate::ni::reach::opened::Opened;
use crate::ni::state::account::StatusWord;
use crate::ni::state::form::Form;
use crate::ni::state::inside::refuse_in_handler;
use crate::ni::wire::operation::{Act, Data, Manner, Operation};
use crate::ni::wire::shape::{Blocks, Shape};
use crate::ni::wire::target::Target;
use crate::transport::shm::cross::{Direction, Pieces};

/// In an area.
impl Initiator {
    /// Pushes parts to an area; `status` is written when they are there.
    ///
    /// # Safety
    /// All parts can be read from `data` on; peers may change them meanwhile. Their places there were found to be inside the area.
    pub unsafe fn push_parts_area(
        &self,
        (area, offset): (&Opened, usize),
        shape: &Shape<'_>,
        data: *const u8,
        status: Option<StatusWord>,
    ) -> Result<()> {
        let ni = &*self.ni;
        let inside = self.guard_at(area.rank).enter(ni.fences);
        area.check(ni)?;
        if let Some(target) = area.pointer(ni, offset) {
            // SAFETY: in bounds by the resolution, live by the key checked inside the guard; the caller's promise.
            unsafe { shape.push(target, data) };
        } else if let Some(process) = ni.crossing(area.rank) {
            let there = area.start + offset as u64;
            // SAFETY: the caller's promise.
            let written = unsafe { cross_parts(Direction::Write, process, there, data.cast_mut(), shape) };
            if let Err(error) = written {
                // Whoever revokes an area must not wait for the news too.
                drop(inside);
                return Err(ni.why_unreached(area.rank, error));
            }
        } else {
            drop(inside);
            // SAFETY: the caller's promise.
            return unsafe { self.push_parts_routed(area.target(offset), shape, data, status) };
        }
        drop(inside);
        if let Some((word, value)) = status {
            ni.set_status(word, value);
        }
        Ok(())
    }

    /// Pulls parts of an area.
    ///
    /// # Safety
    /// All parts can be written from `into` on; peers may change them meanwhile. Their places there were found to be inside the area.
    pub unsafe fn pull_parts_area(
        &self,
        (area, offset): (&Opened, usize),
        shape: &Shape<'_>,
        into: *mut u8,
    ) -> Result<()> {
        let ni = &*self.ni;
        let inside = self.guard_at(area.rank).enter(ni.fences);
        area.check(ni)?;
        if let Some(source) = area.pointer(ni, offset) {
            // SAFETY: in bounds by the resolution, live by the key checked inside the guard; the caller's promise.
            unsafe { shape.pull(into, source) };
            return Ok(());
        }
        if let Some(process) = ni.crossing(area.rank) {
            // SAFETY: the caller's promise.
            let read = unsafe { cross_parts(Direction::Read, process, area.start + offset as u64, into, shape) };
            drop(inside);
            return read.map_err(|error| ni.why_unreached(area.rank, error));
        }
        drop(inside);
        // SAFETY: the caller's promise.
        unsafe { self.pull_parts_routed(area.target(offset), shape, into) }.map_err(|error| area.why(error))
    }
}

/// By packets.
impl Initiator {
    /// # Safety
    /// All parts can be read from `data` on; peers may change them meanwhile.
    pub unsafe fn push_parts_routed(
        &self,
        to: Target,
        shape: &Shape<'_>,
        data: *const u8,
        status: Option<StatusWord>,
    ) -> Result<()> {
        let max = self.ni.payload_max(to.rank);
        match *shape {
            _ if shape.is_empty() => self.push_routed(to, Data::EMPTY, status),
            Shape::Blocks(blocks) if blocks.block <= max => {
                // SAFETY: the caller's promise.
                unsafe { self.push_blocks(to, blocks, data, status) }
            }
            Shape::Marked { unit, marks } if 8 + 64 * unit <= max => {
                // SAFETY: the caller's promise.
                unsafe { self.push_marked(to, unit, marks, data, status) }
            }
            // Each part fills packets by itself.
            _ => {
                shape.try_parts(|here, there, bytes| {
                    // SAFETY: the caller's promise.
                    let part = unsafe { Data::shared(data.wrapping_add(here), bytes) };
                    self.push_routed(to.plus(there), part, None)
                })?;
                match status {
                    // Operations of a port arrive in order.
                    Some(_) => self.push_routed(to, Data::EMPTY, status),
                    None => Ok(()),
                }
            }
        }
    }

    /// # Safety
    /// All blocks can be read; one fits a packet.
    unsafe fn push_blocks(
        &self,
        to: Target,
        Blocks { block, count, here, there }: Blocks,
        data: *const u8,
        status: Option<StatusWord>,
    ) -> Result<()> {
        let most = self.ni.payload_max(to.rank) / block;
        let mut packed = Scratch::of(self);
        for first in (0..count).step_by(most) {
            let part = most.min(count - first);
            let room = packed.room(part * block);
            // SAFETY: there is room for that many blocks; the caller's promise.
            unsafe { copy_blocks((room, block), (data.wrapping_add(first * here), here), block, part) };
            let act = Act::PushBlocks { data: packed.data(), block: block as u64, distance: there as u64 };
            let piece = Operation { at: to.plus(first * there), act, manner: Manner::Plain };
            self.count(piece, status.filter(|_| first + part == count))?;
        }
        Ok(())
    }

    /// # Safety
    /// All marked units can be read; 64 of them, with their marks, fit a packet.
    unsafe fn push_marked(
        &self,
        to: Target,
        unit: usize,
        marks: Marks<'_>,
        data: *const u8,
        status: Option<StatusWord>,
    ) -> Result<()> {
        let max = self.ni.payload_max(to.rank);
        let has_any = |word: &usize| marks.word(*word) != 0;
        let last = (0..marks.words()).rfind(has_any).unwrap_or(0);
        let mut packed = Scratch::of(self);
        let mut word = 0;
        while let Some(begin) = (word..=last).find(has_any) {
            let mut bytes = 0;
            word = begin;
            while word <= last {
                let more = 8 + unit * marks.word(word).count_ones() as usize;
                if bytes + more > max {
                    break;
                }
                bytes += more;
                word += 1;
            }
            let end = (begin..word).rfind(has_any).map_or(word, |last| last + 1);
            let units = (64 * (end - begin)).min(marks.units() - 64 * begin);
            let part = marks.part(64 * begin, units);
            let room = packed.room(8 * (end - begin) + unit * part.count());
            for index in 0..part.words() {
                // SAFETY: there is room for the marks, and then for the marked units; the caller's promise.
                unsafe { room.add(8 * index).cast::<[u8; 8]>().write(part.word(index).to_le_bytes()) };
            }
            let offset = 64 * begin * unit;
            // SAFETY: as above.
            unsafe { pack_marked(room.add(8 * part.words()), data.wrapping_add(offset), unit, part) };
            let act = Act::PushMarked { data: packed.data(), unit: unit as u64, units: units as u64 };
            let piece = Operation { at: to.plus(offset), act, manner: Manner::Plain };
            self.count(piece, status.filter(|_| end == last + 1))?;
        }
        Ok(())
    }

    /// # Safety
    /// All parts can be written from `into` on; peers may change them meanwhile.
    pub unsafe fn pull_parts_routed(&self, from: Target, shape: &Shape<'_>, into: *mut u8) -> Result<()> {
        refuse_in_handler()?;
        if self.ni.is_near(from.rank) {
            self.settle(from.rank)?;
        }
        let max = self.ni.payload_max(from.rank);
        let form = match *shape {
            _ if shape.is_empty() => return Ok(()),
            Shape::Blocks(blocks) if blocks.block <= max => {
                Form::Blocks { into, blocks, piece: (max / blocks.block).min(u32::MAX as usize) }
            }
            Shape::Marked { unit, marks } if 64 * unit <= max => {
                let piece = max / unit / 64 * 64;
                Form::Marked { into, unit, units: marks.units(), words: marks.as_ptr(), piece }
            }
            // Each part fills packets by itself.
            _ => {
                return shape.try_parts(|here, there, bytes| {
                    // SAFETY: the caller's promise.
                    unsafe { self.pull_routed(from.plus(there), into.wrapping_add(here), bytes) }
                });
            }
        };
        // SAFETY: the caller's promise; marks are borrowed during the call.
        unsafe { self.pull_form(from, form) }
    }
}

/// Room to pack parts in, of a port, which uses it again and again.
struct Scratch<'i> {
    by: &'i Initiator,
    bytes: Vec<u8>,
}

impl<'i> Scratch<'i> {
    /// A call in a handler, while this one waits for room, has another one.
    fn of(by: &'i Initiator) -> Scratch<'i> {
        Scratch { by, bytes: by.scratch.take() }
    }

    /// Room for so many bytes.
    fn room(&mut self, bytes: usize) -> *mut u8 {
        self.bytes.resize(bytes, 0);
        self.bytes.as_mut_ptr()
    }

    /// What was packed.
    fn data(&self) -> Data<'_> {
        self.bytes[..].into()
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        self.by.scratch.replace(std::mem::take(&mut self.bytes));
    }
}

/// Moves parts between this process and another one.
///
/// # Safety
/// Those here can be read, or for [`Direction::Read`] written; peers may change them meanwhile.
unsafe fn cross_parts(direction: Direction, process: i32, there: u64, here: *mut u8, shape: &Shape<'_>) -> Result<()> {
    let mut pieces = Pieces::default();
    shape.try_parts(|here_at, there_at, bytes| {
        let (here, there) = (here.wrapping_add(here_at), there.wrapping_add(there_at as u64));
        if bytes > 0 && !pieces.add(here, there, bytes) {
            // SAFETY: the caller's promise.
            unsafe { pieces.move_all(direction, process)? };
            pieces.add(here, there, bytes);
        }
        Ok(())
    })?;
    // SAFETY: the caller's promise.
    unsafe { pieces.move_all(direction, process) }
}
