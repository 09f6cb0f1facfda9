//! Transfers whose description never changes: set up once, started many times (F16).
//!
//! A prepared transfer owns its buffer, and its slot belongs to it as long as it exists, so that a start has next to nothing
//! to check and nothing to look up. Interfaces to other languages reserve the slot alone.

use crate::error::Result;
use crate::message::buffer::spot::Buffer;
use crate::message::messages::Messages;
use crate::message::state::core::Core;
use crate::message::state::peer::Owner;
use crate::message::state::pending::Way;
use bytemuck::Pod;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// A send that can be started again and again; see [`Messages::prepare_send`].
pub struct PreparedSend<'m, T: Pod> {
    messages: &'m Messages<'m>,
    data: Lent<T>,
    member: usize,
    entry: usize,
}

/// A receive that can be started again and again; see [`Messages::prepare_recv`].
pub struct PreparedReceive<'m, T: Pod> {
    messages: &'m Messages<'m>,
    data: Lent<T>,
    member: usize,
    entry: usize,
}

/// A boxed slice that peers may be reading or writing. A box would promise that nobody but its holder does.
struct Lent<T>(NonNull<[T]>, PhantomData<Box<[T]>>);

impl<T: Pod> Lent<T> {
    fn new(data: Box<[T]>) -> Lent<T> {
        Lent(NonNull::from(Box::leak(data)), PhantomData)
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    /// For an operation.
    fn buffer(&self) -> Buffer {
        Buffer::whole(self.0.as_ptr().cast(), self.len() * size_of::<T>())
    }

    /// # Safety
    /// Nobody writes it meanwhile.
    unsafe fn get(&self) -> &[T] {
        // SAFETY: it stays while this does; the caller's promise.
        unsafe { self.0.as_ref() }
    }

    /// # Safety
    /// Nobody else uses it meanwhile.
    unsafe fn get_mut(&mut self) -> &mut [T] {
        // SAFETY: it stays while this does; the caller's promise.
        unsafe { self.0.as_mut() }
    }
}

impl<T> Drop for Lent<T> {
    fn drop(&mut self) {
        // SAFETY: it was a box; whoever held this has given all operations up.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// What it is, never the data: peers may be writing them.
fn describe(f: &mut std::fmt::Formatter<'_>, name: &str, member: usize, entry: usize, len: usize) -> std::fmt::Result {
    f.debug_struct(name).field("rank", &member).field("slot", &entry).field("len", &len).finish_non_exhaustive()
}

impl<T: Pod> std::fmt::Debug for PreparedSend<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        describe(f, "PreparedSend", self.member, self.entry, self.data.len())
    }
}

impl<T: Pod> std::fmt::Debug for PreparedReceive<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        describe(f, "PreparedReceive", self.member, self.entry, self.data.len())
    }
}

impl Core {
    /// Keeps a slot for prepared transfers; fails if it is in use.
    pub(super) fn reserve(&self, member: usize, entry: usize, way: Way) -> Result<()> {
        let mut peer = self.state(member).borrow_mut();
        let is_open = match way {
            Way::Out => peer.slots[entry].send.is_open(false),
            Way::In => peer.slots[entry].receive.is_open(false),
        };
        if !is_open {
            return Err(self.slot_busy(member, entry));
        }
        match way {
            Way::Out => peer.slots[entry].send.reserved = true,
            Way::In => peer.slots[entry].receive.owner = Owner::Prepared,
        }
        Ok(())
    }

    /// Ends what is under way there, and gives the slot back.
    pub(super) fn release(&self, member: usize, entry: usize, way: Way) {
        self.withdraw(member, entry, way);
        let mut peer = self.state(member).borrow_mut();
        match way {
            Way::Out => peer.slots[entry].send.reserved = false,
            Way::In => peer.slots[entry].receive.owner = Owner::Nobody,
        }
    }

    /// Whether no send of a reserved slot is under way.
    #[inline(always)]
    fn check_idle(&self, member: usize, entry: usize) -> Result<()> {
        let is_idle = self.state(member).borrow().slots[entry].send.under_way.is_none();
        if is_idle { Ok(()) } else { Err(self.slot_busy(member, entry)) }
    }
}

impl Messages<'_> {
    /// Prepares sends of `data` to `rank` in slot `slot`. The data may be changed between sends. Until this is dropped, no other send may
    /// use the slot. A send that is under way at that time continues from a copy, for as long as the [`Messages`] exist.
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
        let data = Lent::new(data.into());
        self.core.check(rank, slot)?;
        self.core.reserve(rank, slot, Way::Out)?;
        Ok(PreparedSend { messages: self, data, member: rank, entry: slot })
    }

    /// Prepares receives into `data` from `rank` in slot `slot`. Until this is dropped, no other receive may use the slot. A receive that
    /// is under way at that time is given up, and its message stays for the next receive unless it had arrived already.
    pub fn prepare_recv<T: Pod>(
        &self,
        data: impl Into<Box<[T]>>,
        rank: usize,
        slot: usize,
    ) -> Result<PreparedReceive<'_, T>> {
        let data = Lent::new(data.into());
        self.core.check(rank, slot)?;
        self.core.reserve(rank, slot, Way::In)?;
        Ok(PreparedReceive { messages: self, data, member: rank, entry: slot })
    }
}

impl<T: Pod> PreparedSend<'_, T> {
    /// Starts the send. Fails while the last one is under way.
    #[inline]
    pub fn start(&mut self) -> Result<()> {
        self.messages.core.check(self.member, self.entry)?;
        // SAFETY: the data stay, and are not changed while the operation is under way.
        unsafe { self.messages.core.start_out(self.data.buffer(), self.member, self.entry, true).map(drop) }
    }

    /// Waits until the send has ended; at once if none is under way.
    #[track_caller]
    pub fn wait(&mut self) -> Result<()> {
        self.messages.wait_flight(self.member, self.entry, Way::Out).map(drop)
    }

    /// Whether the send has ended.
    pub fn test(&mut self) -> Result<bool> {
        self.messages.test_flight(self.member, self.entry, Way::Out).map(|ended| ended.is_some())
    }

    /// What is sent.
    pub fn data(&self) -> &[T] {
        // SAFETY: peers only read, and this is borrowed, so nobody changes it.
        unsafe { self.data.get() }
    }

    /// What is sent, to change it; fails while a send is under way.
    pub fn data_mut(&mut self) -> Result<&mut [T]> {
        self.messages.core.check_idle(self.member, self.entry)?;
        // SAFETY: no send is under way, and none can be started while this is borrowed.
        Ok(unsafe { self.data.get_mut() })
    }
}

impl<T: Pod> PreparedReceive<'_, T> {
    /// Starts the receive; the send can begin at once. Fails while the last one is under way.
    #[inline]
    pub fn start(&mut self) -> Result<()> {
        self.messages.core.check(self.member, self.entry)?;
        // SAFETY: the data stay, and are not used while the operation is under way.
        unsafe { self.messages.core.start_in(self.data.buffer(), self.member, self.entry, true) }
    }

    /// Waits until the receive has ended; gives what came, nothing if none was under way.
    #[track_caller]
    pub fn wait(&mut self) -> Result<&[T]> {
        let bytes = self.messages.wait_flight(self.member, self.entry, Way::In)?;
        self.ended(bytes)
    }

    /// What came, once the receive has ended.
    pub fn test(&mut self) -> Result<Option<&[T]>> {
        let ended = self.messages.test_flight(self.member, self.entry, Way::In)?;
        ended.map(|bytes| self.ended(bytes)).transpose()
    }

    /// What came: `bytes` bytes, by an operation that has ended.
    fn ended(&self, bytes: usize) -> Result<&[T]> {
        let len = self.messages.whole(bytes, size_of::<T>(), self.member, self.entry)?;
        // SAFETY: no receive is under way, and none can be started while this is borrowed.
        Ok(unsafe { &self.data.get()[..len] })
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
