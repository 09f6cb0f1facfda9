//! Messages by addresses, for interfaces to other languages: the ground of what scopes and prepared transfers do safely.

use crate::error::Result;
use crate::message::buffer::spot::Buffer;
use crate::message::messages::Messages;
use crate::message::state::pending::Way;

/// Messages of memory that no borrow protects, and of slots that no type keeps for anyone: the caller promises what safe code has
/// from the compiler.
pub trait RawMessages: sealed::Sealed {
    /// Starts a send from memory that no borrow protects: the ground of [`Messages::scope`], for interfaces to other
    /// languages.
    ///
    /// # Safety
    /// The `bytes` bytes at `data` stay as they are until [`RawMessages::isend_wait`] or [`RawMessages::isend_test`] says
    /// that the send has ended.
    unsafe fn isend(&self, data: *const u8, bytes: usize, rank: usize, slot: usize) -> Result<()>;

    /// Starts a receive into memory that no borrow protects; a send of that slot can begin at once.
    ///
    /// # Safety
    /// The `bytes` bytes at `into` stay, and nobody else uses them, until [`RawMessages::irecv_wait`] or
    /// [`RawMessages::irecv_test`] says that the receive has ended.
    unsafe fn irecv(&self, into: *mut u8, bytes: usize, rank: usize, slot: usize) -> Result<()>;

    /// Waits until the send under way to a slot has ended; at once if there is none.
    ///
    /// # Safety
    /// What is under way there was not started in a scope or by a prepared transfer.
    unsafe fn isend_wait(&self, rank: usize, slot: usize) -> Result<()>;

    /// Waits until the receive under way from a slot has ended; gives the bytes that came, 0 if there is none.
    ///
    /// # Safety
    /// What is under way there was not started in a scope or by a prepared transfer.
    unsafe fn irecv_wait(&self, rank: usize, slot: usize) -> Result<usize>;

    /// Whether no send is under way to a slot any more.
    ///
    /// # Safety
    /// What is under way there was not started in a scope or by a prepared transfer.
    unsafe fn isend_test(&self, rank: usize, slot: usize) -> Result<bool>;

    /// The bytes that came, once the receive under way from a slot has ended.
    ///
    /// # Safety
    /// What is under way there was not started in a scope or by a prepared transfer.
    unsafe fn irecv_test(&self, rank: usize, slot: usize) -> Result<Option<usize>>;

    /// Reserves a slot for sends from memory that no borrow protects: the ground of [`Messages::prepare_send`]. Other sends of
    /// the slot fail until [`RawMessages::release_send`].
    fn reserve_send(&self, rank: usize, slot: usize) -> Result<()>;

    /// Reserves a slot for receives likewise, until [`RawMessages::release_recv`].
    fn reserve_recv(&self, rank: usize, slot: usize) -> Result<()>;

    /// Gives up the send under way from a reserved slot, if there is one, and makes the slot free for others.
    ///
    /// # Safety
    /// The slot was reserved by [`RawMessages::reserve_send`].
    unsafe fn release_send(&self, rank: usize, slot: usize) -> Result<()>;

    /// Gives up the receive under way from a reserved slot, if there is one, and makes the slot free for others.
    ///
    /// # Safety
    /// The slot was reserved by [`RawMessages::reserve_recv`]. Safe code cannot take the slot of a prepared receive away, whose
    /// wait would then be for another one's message:
    ///
    /// ```compile_fail,E0133
    /// # use hikyaku::ffi::RawMessages;
    /// # hikyaku::local(1, |job| {
    /// # let messages = job.messages(1)?;
    /// let receive = messages.prepare_recv(vec![0u8; 8], 0, 0)?;
    /// messages.release_recv(0, 0)
    /// # }).unwrap();
    /// ```
    unsafe fn release_recv(&self, rank: usize, slot: usize) -> Result<()>;

    /// [`RawMessages::isend`] of a slot that was reserved; fails while the last one is under way.
    ///
    /// # Safety
    /// As for [`RawMessages::isend`]; the slot was reserved by [`RawMessages::reserve_send`].
    unsafe fn isend_reserved(&self, data: *const u8, bytes: usize, rank: usize, slot: usize) -> Result<()>;

    /// [`RawMessages::irecv`] of a slot that was reserved; fails while the last one is under way.
    ///
    /// # Safety
    /// As for [`RawMessages::irecv`]; the slot was reserved by [`RawMessages::reserve_recv`].
    unsafe fn irecv_reserved(&self, into: *mut u8, bytes: usize, rank: usize, slot: usize) -> Result<()>;
}

impl RawMessages for Messages<'_> {
    unsafe fn isend(&self, data: *const u8, bytes: usize, rank: usize, slot: usize) -> Result<()> {
        self.core.check(rank, slot)?;
        // SAFETY: the caller's promise.
        unsafe { self.core.start_out(Buffer::whole(data.cast_mut(), bytes), rank, slot, false).map(drop) }
    }

    unsafe fn irecv(&self, into: *mut u8, bytes: usize, rank: usize, slot: usize) -> Result<()> {
        self.core.check(rank, slot)?;
        // SAFETY: the caller's promise.
        unsafe { self.core.start_in(Buffer::whole(into, bytes), rank, slot, false) }
    }

    unsafe fn isend_wait(&self, rank: usize, slot: usize) -> Result<()> {
        self.core.check(rank, slot)?;
        self.wait_flight(rank, slot, Way::Out).map(drop)
    }

    unsafe fn irecv_wait(&self, rank: usize, slot: usize) -> Result<usize> {
        self.core.check(rank, slot)?;
        self.wait_flight(rank, slot, Way::In)
    }

    unsafe fn isend_test(&self, rank: usize, slot: usize) -> Result<bool> {
        self.core.check(rank, slot)?;
        self.test_flight(rank, slot, Way::Out).map(|ended| ended.is_some())
    }

    unsafe fn irecv_test(&self, rank: usize, slot: usize) -> Result<Option<usize>> {
        self.core.check(rank, slot)?;
        self.test_flight(rank, slot, Way::In)
    }

    fn reserve_send(&self, rank: usize, slot: usize) -> Result<()> {
        self.core.check(rank, slot)?;
        self.core.reserve(rank, slot, Way::Out)
    }

    fn reserve_recv(&self, rank: usize, slot: usize) -> Result<()> {
        self.core.check(rank, slot)?;
        self.core.reserve(rank, slot, Way::In)
    }

    unsafe fn release_send(&self, rank: usize, slot: usize) -> Result<()> {
        self.core.check(rank, slot)?;
        self.core.release(rank, slot, Way::Out);
        Ok(())
    }

    unsafe fn release_recv(&self, rank: usize, slot: usize) -> Result<()> {
        self.core.check(rank, slot)?;
        self.core.release(rank, slot, Way::In);
        Ok(())
    }

    unsafe fn isend_reserved(&self, data: *const u8, bytes: usize, rank: usize, slot: usize) -> Result<()> {
        self.core.check(rank, slot)?;
        // SAFETY: the caller's promise.
        unsafe { self.core.start_out(Buffer::whole(data.cast_mut(), bytes), rank, slot, true).map(drop) }
    }

    unsafe fn irecv_reserved(&self, into: *mut u8, bytes: usize, rank: usize, slot: usize) -> Result<()> {
        self.core.check(rank, slot)?;
        // SAFETY: the caller's promise.
        unsafe { self.core.start_in(Buffer::whole(into, bytes), rank, slot, true) }
    }
}

/// Memory that nobody uses otherwise.
#[cfg(test)]
impl Messages<'_> {
    pub(crate) fn isend_for_good(&self, data: &'static [u8], rank: usize, slot: usize) -> Result<()> {
        // SAFETY: it stays as it is for ever.
        unsafe { self.isend(data.as_ptr(), data.len(), rank, slot) }
    }

    pub(crate) fn irecv_for_good(&self, into: &'static mut [u8], rank: usize, slot: usize) -> Result<()> {
        // SAFETY: it stays for ever, and nobody else has it.
        unsafe { self.irecv(into.as_mut_ptr(), into.len(), rank, slot) }
    }
}

mod sealed {
    /// Only messages of the library have it.
    pub trait Sealed {}

    impl Sealed for super::Messages<'_> {}
}
