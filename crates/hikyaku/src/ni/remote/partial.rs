//! Pushes and pulls of some parts of a range: the same shapes in place, by a system call, and by packets.
//!
//! However many parts there are, they are one operation: in place one kernel, otherwise few system calls or packets, each full of parts.

use super::initiator::Initiator;
use crate::error::Result;
use crate::ni::reach::opened::Opened;
use crate::ni::state::account::StatusWord;
use crate::ni::state::form::Form;
use crate::ni::state::inside::refuse_in_handler;
use crate::ni::state::packed::Packed;
use crate::ni::wire::operation::{Data, Manner, Operation};
use crate::ni::wire::pieces::{Pack, Piece};
use crate::ni::wire::shape::Shape;
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
        if shape.is_empty() {
            return self.push_routed(to, Data::EMPTY, status);
        }
        if shape.is_packed(max) {
            let mut packed = Scratch::of(self);
            let push = |piece: Piece, pack: Pack<'_>| {
                pack(packed.room(piece.bytes));
                let act = piece.form.push(packed.data());
                let operation = Operation { at: to.plus(piece.offset), act, manner: Manner::Plain };
                self.count(operation, status.filter(|_| piece.is_last))
            };
            // SAFETY: the caller's promise; there is room for each piece.
            return unsafe { shape.try_pieces(max, data, push) };
        }
        // Each part fills packets by itself.
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

/// Beside the program.
impl Initiator {
    /// Fails in a handler, and where the rank is gone.
    pub fn may_start(&self, rank: usize) -> Result<()> {
        refuse_in_handler()?;
        self.check_peer(rank)
    }

    /// Starts a push of what was packed; its token, until [`Initiator::end_transfer`].
    pub fn start_packed(&self, scope: u32, to: Target, packed: Packed) -> Result<u64> {
        self.may_start(to.rank)?;
        let token = self.desk().open_packed((self.index, scope), to, packed)?;
        self.start_pieces(to.rank, token)
    }

    /// Starts a pull of parts; its token, as above. Nothing if each part fills packets by itself: such a pull is not started.
    ///
    /// # Safety
    /// All parts can be written from `into` on until the transfer has ended; peers may change them meanwhile.
    pub unsafe fn start_pull_parts(
        &self,
        scope: u32,
        from: Target,
        shape: &Shape<'_>,
        into: *mut u8,
    ) -> Result<Option<u64>> {
        let (max, owner) = (self.ni.payload_max(from.rank), (self.index, scope));
        self.may_start(from.rank)?;
        // SAFETY: the caller's promise.
        let token = unsafe {
            match *shape {
                Shape::Blocks(blocks) if blocks.block <= max => {
                    let piece = (max / blocks.block).min(u32::MAX as usize);
                    self.desk().open(owner, from, Form::Blocks { into, blocks, piece })?
                }
                Shape::Marked { unit, marks } if 64 * unit <= max => {
                    self.desk().open_marked(owner, from, (into, unit, max / unit / 64 * 64), marks)?
                }
                _ => return Ok(None),
            }
        };
        self.start_pieces(from.rank, token).map(Some)
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
