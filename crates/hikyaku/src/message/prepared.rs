//! Transfers whose description never changes: set up once, started many times (F16).
//!
//! A prepared transfer owns its buffer, and its slot belongs to it as long as it exists, so that a start has next to nothing
//! to check and nothing to look up. Interfaces to other languages reserve the slot alone.

use super::pending::Way;
use super::spot::Buffer;
use super::{Core, Messages};
use crate::error::Result;
use bytemuck::Pod;

/// A send that can be started again and again; see [`Messages::prepare_send`].
#[derive(Debug)]
pub struct PreparedSend<'m, T: Pod> {
    messages: &'m Messages<'m>,
    data: Box<[T]>,
    member: usize,
    entry: usize,
}

/// A receive that can be started again and again; see [`Messages::prepare_recv`].
#[derive(Debug)]
pub struct PreparedReceive<'m, T: Pod> {
    messages: &'m Messages<'m>,
    data: Box<[T]>,
    member: usize,
    entry: usize,
}

impl Core {
    /// Keeps a slot for prepared transfers; fails if it is in use.
    fn reserve(&self, member: usize, entry: usize, way: Way) -> Result<()> {
        let mut peer = self.state(member).borrow_mut();
        let (is_open, reserved) = match way {
            Way::Out => (peer.sends[entry].is_open(false), &mut peer.sends[entry].reserved),
            Way::In => (peer.receives[entry].is_open(false), &mut peer.receives[entry].reserved),
        };
        if !is_open {
            return Err(self.slot_busy(member, entry));
        }
        *reserved = true;
        Ok(())
    }

    /// Ends what is under way there, and gives the slot back.
    fn release(&self, member: usize, entry: usize, way: Way) {
        self.abandon(member, entry, way);
        let mut peer = self.state(member).borrow_mut();
        match way {
            Way::Out => peer.sends[entry].reserved = false,
            Way::In => peer.receives[entry].reserved = false,
        }
    }

    /// Whether no send of a reserved slot is under way.
    #[inline(always)]
    fn check_idle(&self, member: usize, entry: usize) -> Result<()> {
        let is_idle = self.state(member).borrow().sends[entry].under_way.is_none();
        if is_idle { Ok(()) } else { Err(self.slot_busy(member, entry)) }
    }
}

impl Messages<'_> {
    /// Prepares sends of `data`, which may change between them, to slot `slot` of `rank`. No other send may use the slot
    /// until it is dropped.
    ///
    /// ```
    /// hikyaku::local(2, |job| {
    ///     let messages = job.messages(1)?;
    ///     if job.rank() == 0 {
    ///         let mut send = messages.prepare_send(vec![0u64; 100], 1, 0)?;
    ///         for step in 0..10 {
    ///             send.data_mut()?.fill(step);
    ///             send.start()?;
    ///             // Compute something here.
    ///             send.wait()?;
    ///         }
    ///     } else {
    ///         let mut receive = messages.prepare_recv(vec![0u64; 100], 0, 0)?;
    ///         for step in 0..10 {
    ///             receive.start()?;
    ///             assert_eq!(receive.wait()?, [step; 100]);
    ///         }
    ///     }
    ///     job.barrier()
    /// })
    /// .unwrap();
    /// ```
    pub fn prepare_send<T: Pod>(
        &self,
        data: impl Into<Box<[T]>>,
        rank: usize,
        slot: usize,
    ) -> Result<PreparedSend<'_, T>> {
        self.reserve_send(rank, slot)?;
        Ok(PreparedSend { messages: self, data: data.into(), member: rank, entry: slot })
    }

    /// Prepares receives into `data` from slot `slot` of `rank`. No other receive may use the slot until it is dropped.
    pub fn prepare_recv<T: Pod>(
        &self,
        data: impl Into<Box<[T]>>,
        rank: usize,
        slot: usize,
    ) -> Result<PreparedReceive<'_, T>> {
        self.reserve_recv(rank, slot)?;
        Ok(PreparedReceive { messages: self, data: data.into(), member: rank, entry: slot })
    }

    /// Reserves a slot for sends from memory that no borrow protects: the ground of [`Messages::prepare_send`], for
    /// interfaces to other languages. Other sends of the slot fail until [`Messages::release_send`].
    pub fn reserve_send(&self, rank: usize, slot: usize) -> Result<()> {
        self.core.check(rank, slot)?;
        self.core.reserve(rank, slot, Way::Out)
    }

    /// Reserves a slot for receives likewise, until [`Messages::release_recv`].
    pub fn reserve_recv(&self, rank: usize, slot: usize) -> Result<()> {
        self.core.check(rank, slot)?;
        self.core.reserve(rank, slot, Way::In)
    }

    /// Gives up the send under way from a reserved slot, if there is one, and makes the slot free for others.
    pub fn release_send(&self, rank: usize, slot: usize) -> Result<()> {
        self.core.check(rank, slot)?;
        self.core.release(rank, slot, Way::Out);
        Ok(())
    }

    /// The same for receives.
    pub fn release_recv(&self, rank: usize, slot: usize) -> Result<()> {
        self.core.check(rank, slot)?;
        self.core.release(rank, slot, Way::In);
        Ok(())
    }

    /// [`Messages::isend`] of a slot that was reserved; fails while the last one is under way.
    ///
    /// # Safety
    /// As for [`Messages::isend`].
    pub unsafe fn isend_reserved(&self, data: *const u8, bytes: usize, rank: usize, slot: usize) -> Result<()> {
        self.core.check(rank, slot)?;
        // SAFETY: the caller's promise.
        unsafe { self.core.start_out(Buffer::whole(data.cast_mut(), bytes), rank, slot, true).map(drop) }
    }

    /// [`Messages::irecv`] of a slot that was reserved; fails while the last one is under way.
    ///
    /// # Safety
    /// As for [`Messages::irecv`].
    pub unsafe fn irecv_reserved(&self, into: *mut u8, bytes: usize, rank: usize, slot: usize) -> Result<()> {
        self.core.check(rank, slot)?;
        // SAFETY: the caller's promise.
        unsafe { self.core.start_in(Buffer::whole(into, bytes), rank, slot, true) }
    }
}

impl<T: Pod> PreparedSend<'_, T> {
    /// Starts the send. Fails while the last one is under way.
    #[inline]
    pub fn start(&mut self) -> Result<()> {
        self.messages.core.check(self.member, self.entry)?;
        // A pointer of this start: those of earlier ones ended when the data were lent out.
        let buffer = Buffer::of(bytemuck::cast_slice(&self.data));
        // SAFETY: the box stays, and is not changed while the operation is under way.
        unsafe { self.messages.core.start_out(buffer, self.member, self.entry, true).map(drop) }
    }

    /// Waits until the send has ended; at once if none is under way.
    pub fn wait(&mut self) -> Result<()> {
        self.messages.wait_flight(self.member, self.entry, Way::Out).map(drop)
    }

    /// Whether the send has ended.
    pub fn test(&mut self) -> Result<bool> {
        self.messages.test_flight(self.member, self.entry, Way::Out).map(|ended| ended.is_some())
    }

    /// What is sent.
    pub fn data(&self) -> &[T] {
        &self.data
    }

    /// The same, to change it; fails while a send is under way.
    pub fn data_mut(&mut self) -> Result<&mut [T]> {
        self.messages.core.check_idle(self.member, self.entry)?;
        Ok(&mut self.data)
    }
}

impl<T: Pod> PreparedReceive<'_, T> {
    /// Starts the receive; the send can begin at once. Fails while the last one is under way.
    #[inline]
    pub fn start(&mut self) -> Result<()> {
        self.messages.core.check(self.member, self.entry)?;
        let buffer = Buffer::of_mut(bytemuck::cast_slice_mut(&mut self.data));
        // SAFETY: the box stays, and is not used while the operation is under way.
        unsafe { self.messages.core.start_in(buffer, self.member, self.entry, true) }
    }

    /// Waits until the receive has ended; gives what came, nothing if none was under way.
    pub fn wait(&mut self) -> Result<&[T]> {
        let bytes = self.messages.wait_flight(self.member, self.entry, Way::In)?;
        Ok(&self.data[..bytes / size_of::<T>().max(1)])
    }

    /// What came, once the receive has ended.
    pub fn test(&mut self) -> Result<Option<&[T]>> {
        let ended = self.messages.test_flight(self.member, self.entry, Way::In)?;
        Ok(ended.map(|bytes| &self.data[..bytes / size_of::<T>().max(1)]))
    }
}

impl<T: Pod> Drop for PreparedSend<'_, T> {
    fn drop(&mut self) {
        self.messages.core.release(self.member, self.entry, Way::Out);
    }
}

impl<T: Pod> Drop for PreparedReceive<'_, T> {
    fn drop(&mut self) {
        self.messages.core.release(self.member, self.entry, Way::In);
    }
}
