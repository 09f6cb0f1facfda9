//! Transfers whose description never changes: set up once, started many times (F16).
//!
//! A prepared transfer owns its buffer, and its slot belongs to it as long as it exists, so that a start has nothing to
//! check and nothing to look up.

use super::Messages;
use super::pending::Way;
use super::receive::ReceiveOp;
use super::send::SendOp;
use super::short::SHORT_MAX;
use super::spot::Buffer;
use crate::error::Result;
use bytemuck::Pod;

/// A send that can be started again and again; see [`Messages::prepare_send`].
#[derive(Debug)]
pub struct PreparedSend<'m, T: Pod> {
    messages: &'m Messages<'m>,
    data: Box<[T]>,
    op: SendOp,
}

/// A receive that can be started again and again; see [`Messages::prepare_recv`].
#[derive(Debug)]
pub struct PreparedReceive<'m, T: Pod> {
    messages: &'m Messages<'m>,
    data: Box<[T]>,
    op: ReceiveOp,
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
        self.core.check(rank, slot)?;
        let data = data.into();
        // SAFETY: the box stays until the prepared send is dropped, which ends the operation.
        let op = unsafe { self.core.begin_send(Buffer::of(bytemuck::cast_slice(&data)), rank, slot)? };
        self.core.state(rank).borrow_mut().sends[slot].reserved = true;
        Ok(PreparedSend { messages: self, data, op })
    }

    /// Prepares receives into `data` from slot `slot` of `rank`. No other receive may use the slot until it is dropped.
    pub fn prepare_recv<T: Pod>(
        &self,
        data: impl Into<Box<[T]>>,
        rank: usize,
        slot: usize,
    ) -> Result<PreparedReceive<'_, T>> {
        self.core.check(rank, slot)?;
        let mut data = data.into();
        let buffer = Buffer::of_mut(bytemuck::cast_slice_mut(&mut data));
        // SAFETY: the box stays until the prepared receive is dropped, which ends the operation.
        let op = unsafe { self.core.begin_receive(buffer, rank, slot)? };
        self.core.state(rank).borrow_mut().receives[slot].reserved = true;
        Ok(PreparedReceive { messages: self, data, op })
    }
}

impl<T: Pod> PreparedSend<'_, T> {
    /// Starts the send. Fails while the last one is under way.
    #[inline]
    pub fn start(&mut self) -> Result<()> {
        let (core, op) = (&self.messages.core, &self.op);
        let data = bytemuck::cast_slice(&self.data);
        if data.len() <= SHORT_MAX && core.send_short(data, op.member, op.entry, true) {
            return Ok(());
        }
        self.check_idle()?;
        core.enter(op.member);
        // A pointer of this start: those of earlier ones ended when the data were lent out.
        let next = op.again(Buffer::of(data));
        // SAFETY: the box stays, and is not changed while the operation is under way.
        unsafe { core.start_out(next).map(drop) }
    }

    /// Waits until the send has ended; at once if none is under way.
    pub fn wait(&mut self) -> Result<()> {
        self.messages.wait_flight(self.op.member, self.op.entry, Way::Out).map(drop)
    }

    /// Whether the send has ended.
    pub fn test(&mut self) -> Result<bool> {
        self.messages.test_flight(self.op.member, self.op.entry, Way::Out).map(|ended| ended.is_some())
    }

    /// What is sent.
    pub fn data(&self) -> &[T] {
        &self.data
    }

    /// The same, to change it; fails while a send is under way.
    pub fn data_mut(&mut self) -> Result<&mut [T]> {
        self.check_idle()?;
        Ok(&mut self.data)
    }

    #[inline(always)]
    fn check_idle(&self) -> Result<()> {
        let (core, op) = (&self.messages.core, &self.op);
        let idle = core.state(op.member).borrow().sends[op.entry].under_way.is_none();
        if idle { Ok(()) } else { Err(core.slot_busy(op.member, op.entry)) }
    }
}

impl<T: Pod> PreparedReceive<'_, T> {
    /// Starts the receive; the send can begin at once. Fails while the last one is under way.
    #[inline]
    pub fn start(&mut self) -> Result<()> {
        let (core, op) = (&self.messages.core, &self.op);
        core.enter(op.member);
        let peer = core.state(op.member).borrow();
        if peer.receives[op.entry].under_way.is_some() {
            return Err(core.slot_busy(op.member, op.entry));
        }
        let buffer = Buffer::of_mut(bytemuck::cast_slice_mut(&mut self.data));
        let next = op.again(buffer, peer.receives[op.entry].taken + 1);
        drop(peer);
        // SAFETY: the box stays, and is not used while the operation is under way.
        unsafe { core.start_in(next) };
        Ok(())
    }

    /// Waits until the receive has ended; gives what came, nothing if none was under way.
    pub fn wait(&mut self) -> Result<&[T]> {
        let bytes = self.messages.wait_flight(self.op.member, self.op.entry, Way::In)?;
        Ok(&self.data[..bytes / size_of::<T>().max(1)])
    }

    /// What came, once the receive has ended.
    pub fn test(&mut self) -> Result<Option<&[T]>> {
        let ended = self.messages.test_flight(self.op.member, self.op.entry, Way::In)?;
        Ok(ended.map(|bytes| &self.data[..bytes / size_of::<T>().max(1)]))
    }
}

impl<T: Pod> Drop for PreparedSend<'_, T> {
    fn drop(&mut self) {
        let core = &self.messages.core;
        core.abandon(self.op.member, self.op.entry, Way::Out);
        core.state(self.op.member).borrow_mut().sends[self.op.entry].reserved = false;
    }
}

impl<T: Pod> Drop for PreparedReceive<'_, T> {
    fn drop(&mut self) {
        let core = &self.messages.core;
        core.abandon(self.op.member, self.op.entry, Way::In);
        core.state(self.op.member).borrow_mut().receives[self.op.entry].reserved = false;
    }
}
